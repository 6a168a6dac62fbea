#include "live/lock.h"
#include "os/thread.h"

/* Polling seldom makes it fast: the holder can make several calls in a row before the guarded memory has to move to
 * another processor's cache. Measured with two threads on two processors that do nothing else, in millions of events per
 * second for a training loop and for serving (which moves more memory), by the most pauses between two polls: 64: 14 and
 * 6, 256: 19 and 8.5, 512: 20 and 9, 1024: 22 and 10, 2048: 22 and 11; one thread alone: 30 and 16. More pauses make the
 * other thread wait longer: 1024 take some 16 us there, and 50 us where a pause is slowest. */
enum { FIRST_PAUSES = 64, MOST_PAUSES = 1024, LOOKS = 16, YIELDS = 32 };

static bool is_free(vs_live_lock *lock) {
  return atomic_load_explicit(&lock->state, memory_order_relaxed) == 0 && vs_live_lock_try(lock);
}

bool vs_live_lock_poll(vs_live_lock *lock) {
  int pauses = FIRST_PAUSES;
  for (int i = 0; i < LOOKS; i++) {
    for (int pause = 0; pause < pauses; pause++) vs_cpu_pause();
    if (is_free(lock)) return true;
    if (pauses < MOST_PAUSES) pauses *= 2;
  }
  for (int i = 0; i < YIELDS; i++) {
    vs_thread_yield();
    if (is_free(lock)) return true;
  }
  return false;
}

void vs_live_lock_wait(vs_live_lock *lock) {
  if (vs_live_lock_poll(lock)) return;
  /* After a sleep the thread cannot know whether others still sleep, so it takes the lock as 2. */
  while (atomic_exchange_explicit(&lock->state, 2, memory_order_acquire) != 0) vs_futex_wait(&lock->state, 2);
}
