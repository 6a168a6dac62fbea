/* What a thread set for itself: its stack, its metadata, its last failure. Only that thread reads it, so there is no
 * lock, and nothing to clean up when the thread ends.
 *
 * A process may have VS_LIVE_MAX_OPEN objects open at a time. Each object has a slot, and each thread a small record
 * for each slot. Objects have rising serials: a record with another serial was left by an earlier object of the
 * slot, and counts as empty. */
#ifndef VS_LIVE_THREAD_H
#define VS_LIVE_THREAD_H

#include "alloc/alloc.h"

enum { VS_LIVE_MAX_OPEN = 16 };

/* Identifies an open object; constant while it is open. */
typedef struct vs_live_identity {
  uint64_t serial; /* from 1 on; never used twice in a process */
  uint32_t slot;   /* below VS_LIVE_MAX_OPEN */
} vs_live_identity;

/* Fails: VS_LIMIT (VS_LIVE_MAX_OPEN are open) */
VS_MUST_CHECK vs_status vs_live_identity_take(vs_live_identity *identity);
void vs_live_identity_give(const vs_live_identity *identity);

typedef struct vs_live_thread {
  uint64_t serial;
  vs_context stack;  /* VS_CONTEXT_NONE: the thread set none */
  uint32_t metadata; /* text of record/stacks.h; 0: none */
} vs_live_thread;

/* The calling thread's record. _of returns NULL if it set nothing yet, _make makes an empty record then. */
vs_live_thread *vs_live_thread_of(const vs_live_identity *identity);
vs_live_thread *vs_live_thread_make(const vs_live_identity *identity);

/* A number of the calling thread that no other thread of the process ever has. */
uint64_t vs_live_thread_number(void);

/* The last failure of the calling thread; NULL where it had none with this object. */
void vs_live_thread_failed(const vs_live_identity *identity, uint32_t device, const vs_alloc_oom *oom);
const vs_alloc_oom *vs_live_thread_failure(const vs_live_identity *identity, uint32_t *device);

/* The sentence of the calling thread's last failure with this object, "" if it had none; _new returns
 * VS_LIVE_SENTENCE_SIZE bytes for the next one. */
const char *vs_live_thread_sentence(const vs_live_identity *identity);
char *vs_live_thread_sentence_new(const vs_live_identity *identity);
enum { VS_LIVE_SENTENCE_SIZE = 256 };

/* The observer of failures that this thread is calling, NULL for none. Failures inside it are not reported. */
const void *vs_live_thread_observer(void);
void vs_live_thread_observer_set(const void *observer);

#endif
