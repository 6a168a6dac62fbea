/* A lock that lies in memory which several processes share, and survives any of them being killed.
 *
 * A process that dies while it holds the lock leaves it, and whatever it guards, half-changed. The next
 * one to take it is told so, once: it makes the guarded data right again, and goes on. */
#ifndef VS_OS_SHAREDLOCK_H
#define VS_OS_SHAREDLOCK_H

#include <vramscope/base.h>

enum { VS_SHAREDLOCK_SIZE = 4096 }; /* what it needs at most: the first page of the shared memory */

/* Makes a lock at `place`, aligned as malloc aligns. Whoever creates the memory does this once, before
 * anybody else can know of it; there is nothing to end. Fails: VS_UNSUPPORTED  this system has no such
 * locks. */
VS_MUST_CHECK vs_status vs_sharedlock_init(void *place);

/* Whether a lock of this build of the library is there: for those who were handed the memory. */
bool vs_sharedlock_is_ours(const void *place);

typedef enum vs_sharedlock_answer {
  VS_SHAREDLOCK_HELD,
  VS_SHAREDLOCK_LEFT,   /* held, and its owner before died with it: mend what it guards, then call mended */
  VS_SHAREDLOCK_BROKEN, /* not held, and waiting would not help: this thread has it (below a signal) */
} vs_sharedlock_answer;

/* Waits until nobody else holds it. Not recursive. */
VS_MUST_CHECK vs_sharedlock_answer vs_sharedlock_take(void *place);
/* After VS_SHAREDLOCK_LEFT, once the data is right again: until then a death of this process passes the
 * duty on. */
void vs_sharedlock_mended(void *place);
void vs_sharedlock_give(void *place);

#endif
