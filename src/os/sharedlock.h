/* A lock in memory that several processes share, which survives the death of any of them.
 *
 * A process may die while it holds the lock and has changed the guarded data in part. The next process that takes
 * the lock learns this, once, and repairs the data. */
#ifndef VS_OS_SHAREDLOCK_H
#define VS_OS_SHAREDLOCK_H

#include <vramscope/base.h>

enum { VS_SHAREDLOCK_SIZE = 4096 }; /* the first page of the shared memory, which is always enough */

/* Makes a lock at `place`, aligned as malloc aligns. The process that creates the memory calls this once, before it
 * shares the memory; there is no deinit. Fails: VS_UNSUPPORTED  this system has no such locks. */
VS_MUST_CHECK vs_status vs_sharedlock_init(void *place);

/* Whether there is a lock of this build of the library: for processes that map existing memory. */
bool vs_sharedlock_is_ours(const void *place);

typedef enum vs_sharedlock_answer {
  VS_SHAREDLOCK_HELD,
  VS_SHAREDLOCK_LEFT, /* held, and the owner before died with it: repair the data, then call vs_sharedlock_mended */
  VS_SHAREDLOCK_BROKEN, /* not held: this thread holds it already (in a signal handler), so waiting would never end */
} vs_sharedlock_answer;

/* Waits until no other thread or process holds it. Not recursive. */
VS_MUST_CHECK vs_sharedlock_answer vs_sharedlock_take(void *place);
/* After VS_SHAREDLOCK_LEFT, once the data is repaired. If this process dies before, the next one gets
 * VS_SHAREDLOCK_LEFT. */
void vs_sharedlock_mended(void *place);
void vs_sharedlock_give(void *place);

#endif
