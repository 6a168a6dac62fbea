#include "os/thread.h"
#include "base/hot.h"
#include "os/futex.h"
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

_Static_assert(sizeof(pthread_t) <= sizeof(uint64_t), "a thread's handle has room");

/* ---- threads */

static void *run_thread(void *memory) {
  const vs_thread *thread = memory;
  (void)pthread_setname_np(pthread_self(), thread->name);
  thread->run(thread->ctx);
  return NULL;
}

/* A thread inherits the signal mask of its creator, so all signals are blocked while it is created. */
static int start_masked(pthread_t *handle, vs_thread *thread) {
  sigset_t all, before;
  (void)sigfillset(&all);
  (void)pthread_sigmask(SIG_SETMASK, &all, &before);
  const int number = pthread_create(handle, NULL, run_thread, thread);
  (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
  return number;
}

vs_status vs_thread_start(vs_thread *thread, const char *name, void (*run)(void *ctx), void *ctx) {
  *thread = (vs_thread){.run = run, .ctx = ctx};
  strncpy(thread->name, name, sizeof thread->name - 1);
  pthread_t handle;
  if (start_masked(&handle, thread) != 0) return VS_NO_MEMORY;
  memcpy(&thread->handle, &handle, sizeof handle);
  thread->is_running = true;
  return VS_OK;
}

void vs_thread_join(vs_thread *thread) {
  if (!thread->is_running) return;
  pthread_t handle;
  memcpy(&handle, &thread->handle, sizeof handle);
  (void)pthread_join(handle, NULL);
  thread->is_running = false;
}

void vs_thread_yield(void) { sched_yield(); }

size_t vs_thread_processors(void) {
  cpu_set_t set;
  const int count = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
  return count < 1 ? 1 : (size_t)count;
}

uint64_t vs_thread_id(void) { return (uint64_t)syscall(SYS_gettid); }

void vs_thread_name(char name[static VS_THREAD_NAME]) {
  memset(name, 0, VS_THREAD_NAME);
  (void)prctl(PR_GET_NAME, name);
}

/* ---- exit hooks */

_Static_assert(sizeof(pthread_key_t) <= sizeof(uint32_t), "a key has room");

vs_status vs_thread_exit_hook_make(vs_thread_exit_hook *hook, void (*exits)(void *value)) {
  pthread_key_t key;
  *hook = (vs_thread_exit_hook){0};
  if (pthread_key_create(&key, exits) != 0) return VS_NO_MEMORY;
  *hook = (vs_thread_exit_hook){.key = (uint32_t)key, .is_made = true};
  return VS_OK;
}

void vs_thread_exit_hook_free(vs_thread_exit_hook *hook) {
  if (hook->is_made) (void)pthread_key_delete((pthread_key_t)hook->key);
  hook->is_made = false;
}

void vs_thread_exit_hook_set(const vs_thread_exit_hook *hook, void *value) {
  if (hook->is_made) (void)pthread_setspecific((pthread_key_t)hook->key, value);
}

/* ---- lock and wakeup: one word each; the kernel is called only if a thread has to sleep */

enum { UNLOCKED = 0, LOCKED = 1, LOCKED_AND_WANTED = 2, STATE_BITS = 2, STATE_MASK = 3 };

static uint32_t lock_state(uint32_t state) { return vs_fork_generation() << STATE_BITS | state; }

void vs_lock_take(vs_lock *lock) {
  uint32_t wanted = lock_state(LOCKED);
  for (;;) {
    uint32_t now = atomic_load_explicit(&lock->state, memory_order_relaxed);
    if ((now & STATE_MASK) == UNLOCKED || now >> STATE_BITS != wanted >> STATE_BITS) {
      if (atomic_compare_exchange_weak_explicit(&lock->state, &now, wanted, memory_order_acquire,
                                                memory_order_relaxed))
        return;
      continue;
    }
    wanted = lock_state(LOCKED_AND_WANTED);
    if (now != wanted && !atomic_compare_exchange_weak_explicit(&lock->state, &now, wanted,
                                                                memory_order_relaxed, memory_order_relaxed))
      continue;
    vs_futex_wait(&lock->state, wanted);
  }
}

bool vs_lock_try(vs_lock *lock) {
  const uint32_t wanted = lock_state(LOCKED);
  uint32_t now = atomic_load_explicit(&lock->state, memory_order_relaxed);
  if ((now & STATE_MASK) != UNLOCKED && now >> STATE_BITS == wanted >> STATE_BITS) return false;
  return atomic_compare_exchange_strong_explicit(&lock->state, &now, wanted, memory_order_acquire,
                                                 memory_order_relaxed);
}

void vs_lock_give(vs_lock *lock) {
  const uint32_t before = atomic_exchange_explicit(&lock->state, lock_state(UNLOCKED), memory_order_release);
  if ((before & STATE_MASK) == LOCKED_AND_WANTED) vs_futex_wake(&lock->state);
}

enum { NOT_SENT = 0, SENT = 1, SLEEPING = 2 };

void vs_wakeup_send(vs_wakeup *wakeup) {
  if (atomic_load_explicit(&wakeup->state, memory_order_relaxed) == SENT) return;
  const int number = errno; /* the sender may be a signal handler, which must not change errno */
  if (atomic_exchange_explicit(&wakeup->state, SENT, memory_order_release) == SLEEPING)
    vs_futex_wake(&wakeup->state);
  errno = number;
}

void vs_wakeup_wait(vs_wakeup *wakeup, uint64_t timeout_ns) {
  uint32_t expected = NOT_SENT;
  if (atomic_compare_exchange_strong(&wakeup->state, &expected, SLEEPING))
    vs_futex_wait_for(&wakeup->state, SLEEPING, timeout_ns);
  atomic_exchange_explicit(&wakeup->state, NOT_SENT, memory_order_acquire);
}

/* ---- fork */

VS_HOT _Atomic uint32_t vs_fork_count;

static void count_fork(void) { atomic_fetch_add_explicit(&vs_fork_count, 1, memory_order_relaxed); }
static void begin_to_count(void) { (void)pthread_atfork(NULL, NULL, count_fork); }

void vs_fork_watch(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  (void)pthread_once(&once, begin_to_count);
}
