/* What a thread set for itself: where it is, its metadata, its last failure. Nobody else reads it, so there is no lock and
 * nothing to clean up when a thread ends.
 *
 * A process may have VS_LIVE_MAX_OPEN objects open at a time. Each has a slot number, and each thread a small record for each
 * slot. `serial` says whose it is: objects have rising serials, so the record that an earlier object left in the slot is
 * told from this one's, and reads as nothing set. */
#ifndef VS_LIVE_THREAD_H
#define VS_LIVE_THREAD_H

#include "alloc/alloc.h"

enum { VS_LIVE_MAX_OPEN = 16 };

/* Which object: constant while it is open. */
typedef struct vs_live_identity {
  uint64_t serial; /* from 1 on; never used twice in a process */
  uint32_t slot;   /* below VS_LIVE_MAX_OPEN */
} vs_live_identity;

/* Fails: VS_LIMIT (VS_LIVE_MAX_OPEN are open) */
VS_MUST_CHECK vs_status vs_live_identity_take(vs_live_identity *identity);
void vs_live_identity_give(const vs_live_identity *identity);

typedef struct vs_live_thread {
  uint64_t serial;
  vs_context stack;  /* VS_CONTEXT_NONE: nobody knows */
  uint32_t metadata; /* text of record/stacks.h; 0: none */
} vs_live_thread;

/* The calling thread's record. _of is NULL where it set nothing yet. */
vs_live_thread *vs_live_thread_of(const vs_live_identity *identity);
vs_live_thread *vs_live_thread_make(const vs_live_identity *identity);

/* A number that no other thread of the process ever has. */
uint64_t vs_live_thread_number(void);

/* The last failure of the calling thread; NULL where it had none with this object. */
void vs_live_thread_failed(const vs_live_identity *identity, uint32_t device, const vs_alloc_oom *oom);
const vs_alloc_oom *vs_live_thread_failure(const vs_live_identity *identity, uint32_t *device);

/* The sentence of the calling thread's last failure, "" where it had none with this object; and where to write the next one. */
const char *vs_live_thread_sentence(const vs_live_identity *identity);
char *vs_live_thread_sentence_new(const vs_live_identity *identity);
enum { VS_LIVE_SENTENCE_SIZE = 256 };

/* The observer of failures that this thread is in; NULL for none. What fails in there is told to nobody. */
const void *vs_live_thread_observer(void);
void vs_live_thread_observer_set(const void *observer);

#endif
