/* Threads, a lock for slow paths, a wakeup that one thread sends another, and forks. */
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

/* Starts `run(ctx)` on a new thread called `name` (15 bytes at most). The thread blocks all signals, so the program's
 * handlers never run on it. Fails: VS_NO_MEMORY (or too many threads) */
VS_MUST_CHECK vs_status vs_thread_start(vs_thread *thread, const char *name, void (*run)(void *ctx),
                                        void *ctx);
/* Does nothing if the thread does not run. */
void vs_thread_join(vs_thread *thread);

/* Lets another thread run that waits for a processor. */
void vs_thread_yield(void);

/* On how many processors this thread may run, at least 1. */
size_t vs_thread_processors(void);

/* The kernel's number of the calling thread. */
uint64_t vs_thread_id(void);

/* The calling thread's name, as debuggers show it. */
void vs_thread_name(char name[static VS_THREAD_NAME]);

/* A function that runs on every thread that ends after it set a value: `exits(value)`, with the last value that it set,
 * unless that is NULL. A process has a few hundred of these for all its libraries. Fails: VS_NO_MEMORY */
typedef struct vs_thread_exit_hook {
  uint32_t key;
  bool is_made;
} vs_thread_exit_hook;
VS_MUST_CHECK vs_status vs_thread_exit_hook_make(vs_thread_exit_hook *hook, void (*exits)(void *value));
/* `exits` is not called any more, whichever thread ends. */
void vs_thread_exit_hook_free(vs_thread_exit_hook *hook);
void vs_thread_exit_hook_set(const vs_thread_exit_hook *hook, void *value);

/* ---- a lock for slow paths: held briefly, never across a callback. Zero is unlocked.
 *
 * If a thread holds it while another one forks, it is unlocked in the child, and the data that it guards are as the
 * holder left them. So a change has to be made in an order that is consistent after each step. */
typedef struct vs_lock {
  _Atomic uint32_t state; /* generation of the fork x 4 + state */
} vs_lock;
void vs_lock_take(vs_lock *lock);
void vs_lock_give(vs_lock *lock);
/* Takes it if no thread holds it. */
bool vs_lock_try(vs_lock *lock);

/* ---- a wakeup: one thread waits for it, any thread sends it. Zero is "not sent".
 *
 * Sending makes a system call only if the waiting thread sleeps. */
typedef struct vs_wakeup {
  _Atomic uint32_t state;
} vs_wakeup;
/* Safe in a signal handler. */
void vs_wakeup_send(vs_wakeup *wakeup);
/* Waits until it is sent, or for `timeout_ns`, and takes it. */
void vs_wakeup_wait(vs_wakeup *wakeup, uint64_t timeout_ns);

/* ---- fork: how many forks lie between this process and the one that began to count. Only the thread that calls fork
 * exists in the child. */
extern _Atomic uint32_t vs_fork_count; /* read it with vs_fork_generation */
static inline uint32_t vs_fork_generation(void) {
  return atomic_load_explicit(&vs_fork_count, memory_order_relaxed);
}
/* Begins to count; only the first call in a process has an effect. Any thread may call it. */
void vs_fork_watch(void);

#endif
