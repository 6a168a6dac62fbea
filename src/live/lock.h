/* The lock of a card. What it guards takes some 30 ns, and sometimes a call of the driver: so a thread that finds it held
 * looks again for about as long as the short kind takes, then lets others run, and only then sleeps. A lock that sleeps
 * at once makes two threads many times slower than one; one that never does burns the processor while a driver works.
 *
 *   state  0 free   1 held, nobody sleeps   2 held, and somebody may sleep
 *
 * Not recursive, not fair. Zero is free. Ranks, outermost first: cards in the order of their numbers (device.h), the
 * machine (machine.h), annotations (state.h), observers of failures (oom.c), the recorder's own. */
#ifndef VS_LIVE_LOCK_H
#define VS_LIVE_LOCK_H

#include "os/futex.h"

typedef struct vs_live_lock {
  _Atomic uint32_t state;
} vs_live_lock;

/* Behind vs_live_lock_take, where it is held. */
void vs_live_lock_wait(vs_live_lock *lock);

static inline bool vs_live_lock_try(vs_live_lock *lock) {
  uint32_t free = 0;
  return atomic_compare_exchange_strong_explicit(&lock->state, &free, 1, memory_order_acquire,
                                                 memory_order_relaxed);
}

static inline void vs_live_lock_take(vs_live_lock *lock) {
  if (!vs_live_lock_try(lock)) vs_live_lock_wait(lock);
}

static inline void vs_live_lock_give(vs_live_lock *lock) {
  if (atomic_exchange_explicit(&lock->state, 0, memory_order_release) == 2) vs_futex_wake(&lock->state);
}

#endif
