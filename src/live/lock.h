/* The lock of a card. It is held for some 30 ns, or for a call of the driver. So a thread that finds it held polls
 * it for about as long as the short kind takes, then yields, and only then sleeps. With a lock that sleeps at once
 * two threads are many times slower than one; a lock that only polls uses up the processor while a driver call runs.
 *
 *   state  0 free   1 held, no thread sleeps   2 held, a thread may sleep
 *
 * Not recursive, not fair. Zero is free. Order of locking, outermost first: cards in the order of their numbers
 * (device.h), the machine (machine.h), annotations (state.h), observers of failures (oom.c), the recorder's own. */
#ifndef VS_LIVE_LOCK_H
#define VS_LIVE_LOCK_H

#include "base/check.h"
#include "os/futex.h"

typedef struct vs_live_lock {
  _Atomic uint32_t state;
} vs_live_lock;

/* The slow path of vs_live_lock_take. */
void vs_live_lock_wait(vs_live_lock *lock);

static inline bool vs_live_lock_try(vs_live_lock *lock) {
  uint32_t free = 0;
  return atomic_compare_exchange_strong_explicit(&lock->state, &free, 1, memory_order_acquire,
                                                 memory_order_relaxed);
}

/* Polls it for some microseconds; false: it is still held. For a thread that must not sleep for it. */
bool vs_live_lock_poll(vs_live_lock *lock);

static inline void vs_live_lock_take(vs_live_lock *lock) {
  if (!vs_live_lock_try(lock)) vs_live_lock_wait(lock);
}

static inline void vs_live_lock_give(vs_live_lock *lock) {
  const uint32_t before = atomic_exchange_explicit(&lock->state, 0, memory_order_release);
  VS_ASSERT(before == 1 || before == 2);
  if (before == 2) vs_futex_wake(&lock->state);
}

#endif
