/* Threads, a lock, and a sign that one thread gives another. */
#ifndef VS_OS_THREAD_H
#define VS_OS_THREAD_H

#include <stdatomic.h>
#include <vramscope/base.h>

enum { VS_THREAD_NAME = 16 };

/* It may not move while the thread runs. */
typedef struct vs_thread {
  uint64_t handle;
  bool is_running;
  void (*run)(void *ctx);
  void *ctx;
  char name[VS_THREAD_NAME];
} vs_thread;

/* Starts `run(ctx)` on a thread of its own, called `name` (15 bytes at most). No signal of the program is
 * ever handled there. Fails: VS_NO_MEMORY (or too many threads) */
VS_MUST_CHECK vs_status vs_thread_start(vs_thread *thread, const char *name, void (*run)(void *ctx),
                                        void *ctx);
void vs_thread_join(vs_thread *thread); /* fine where none runs */

/* The number by which the system knows the calling thread. */
uint64_t vs_thread_id(void);

/* Its name, as debuggers show it. */
void vs_thread_name(char name[static VS_THREAD_NAME]);

/* What a thread leaves behind: `left(value)` runs on a thread when it ends, with the value that it set
 * last unless that is NULL. Few of them exist in a process (hundreds, for everybody). Fails: VS_NO_MEMORY */
typedef struct vs_thread_note {
  uint32_t key;
  bool is_made;
} vs_thread_note;
VS_MUST_CHECK vs_status vs_thread_note_make(vs_thread_note *note, void (*left)(void *value));
void vs_thread_note_free(vs_thread_note *note); /* `left` is not called for anybody any more */
void vs_thread_note_set(const vs_thread_note *note, void *value);

/* ---- a lock for slow paths: held for short, never across a callback. Zero is unlocked.
 *
 * A thread that holds it does not live on in the child of a fork: there it is free, and what it guards is
 * as that thread left it. So whoever changes something puts the step that makes it count last. */
typedef struct vs_lock {
  _Atomic uint32_t state; /* generation of the fork x 4 + state */
} vs_lock;
void vs_lock_take(vs_lock *lock);
void vs_lock_give(vs_lock *lock);

/* ---- a sign: one thread waits for it, any thread gives it. Zero is "not given".
 *
 * The giver pays a system call only if the other one sleeps. */
typedef struct vs_sign {
  _Atomic uint32_t state;
} vs_sign;
void vs_sign_give(vs_sign *sign);
/* Waits until it is given, or for `timeout_ns`, and takes it. */
void vs_sign_wait(vs_sign *sign, uint64_t timeout_ns);

/* ---- fork: how often this process came out of one. Its threads but the calling one stayed behind. */
extern _Atomic uint32_t vs_fork_count; /* see vs_fork_generation */
static inline uint32_t vs_fork_generation(void) {
  return atomic_load_explicit(&vs_fork_count, memory_order_relaxed);
}
/* Begins to count; the first call does it, from whichever thread. */
void vs_fork_watch(void);

#endif
