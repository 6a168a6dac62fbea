#include "os/thread.h"
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

_Static_assert(sizeof(pthread_t) <= sizeof(uint64_t), "a thread's handle has room");

/* ---- threads */

static void *run_thread(void *memory) {
  const vs_thread *thread = memory;
  (void)pthread_setname_np(pthread_self(), thread->name);
  thread->run(thread->ctx);
  return NULL;
}

/* A thread inherits the mask of who starts it: all signals are blocked for that moment. */
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

uint64_t vs_thread_id(void) { return (uint64_t)syscall(SYS_gettid); }

void vs_thread_name(char name[static VS_THREAD_NAME]) {
  memset(name, 0, VS_THREAD_NAME);
  (void)prctl(PR_GET_NAME, name);
}

/* ---- notes */

_Static_assert(sizeof(pthread_key_t) <= sizeof(uint32_t), "a key has room");

vs_status vs_thread_note_make(vs_thread_note *note, void (*left)(void *value)) {
  pthread_key_t key;
  *note = (vs_thread_note){0};
  if (pthread_key_create(&key, left) != 0) return VS_NO_MEMORY;
  *note = (vs_thread_note){.key = (uint32_t)key, .is_made = true};
  return VS_OK;
}

void vs_thread_note_free(vs_thread_note *note) {
  if (note->is_made) (void)pthread_key_delete((pthread_key_t)note->key);
  note->is_made = false;
}

void vs_thread_note_set(const vs_thread_note *note, void *value) {
  if (note->is_made) (void)pthread_setspecific((pthread_key_t)note->key, value);
}

/* ---- lock and sign: one word each, and the kernel only where somebody has to sleep */

static void futex_wait(_Atomic uint32_t *word, uint32_t while_it_is, const struct timespec *timeout) {
  (void)syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, while_it_is, timeout, NULL, 0);
}

static void futex_wake_one(_Atomic uint32_t *word) {
  (void)syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

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
    futex_wait(&lock->state, wanted, NULL);
  }
}

void vs_lock_give(vs_lock *lock) {
  const uint32_t before = atomic_exchange_explicit(&lock->state, lock_state(UNLOCKED), memory_order_release);
  if ((before & STATE_MASK) == LOCKED_AND_WANTED) futex_wake_one(&lock->state);
}

enum { NOT_GIVEN = 0, GIVEN = 1, SLEEPING = 2 };

void vs_sign_give(vs_sign *sign) {
  if (atomic_load_explicit(&sign->state, memory_order_relaxed) == GIVEN) return;
  const int number = errno; /* the giver may be a signal handler */
  if (atomic_exchange_explicit(&sign->state, GIVEN, memory_order_release) == SLEEPING)
    futex_wake_one(&sign->state);
  errno = number;
}

void vs_sign_wait(vs_sign *sign, uint64_t timeout_ns) {
  uint32_t expected = NOT_GIVEN;
  if (atomic_compare_exchange_strong(&sign->state, &expected, SLEEPING)) {
    const struct timespec time = {.tv_sec = (time_t)(timeout_ns / 1000000000),
                                  .tv_nsec = (long)(timeout_ns % 1000000000)};
    futex_wait(&sign->state, SLEEPING, &time);
  }
  atomic_exchange_explicit(&sign->state, NOT_GIVEN, memory_order_acquire);
}

/* ---- fork */

_Atomic uint32_t vs_fork_count;

static void count_fork(void) { atomic_fetch_add_explicit(&vs_fork_count, 1, memory_order_relaxed); }
static void begin_to_count(void) { (void)pthread_atfork(NULL, NULL, count_fork); }

void vs_fork_watch(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  (void)pthread_once(&once, begin_to_count);
}
