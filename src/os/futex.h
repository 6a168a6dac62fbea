/* Sleeping until a word of memory changes: the slow path of a lock. The fast path is the caller's own atomic
 * operations. */
#ifndef VS_OS_FUTEX_H
#define VS_OS_FUTEX_H

#include <stdatomic.h>
#include <vramscope/base.h>

/* Sleeps while *word is `expected`. Returns after a wake-up, if the word has another value, and sometimes spuriously. */
void vs_futex_wait(_Atomic uint32_t *word, uint32_t expected);

/* The same, for `timeout_ns` at most. */
void vs_futex_wait_for(_Atomic uint32_t *word, uint32_t expected, uint64_t timeout_ns);

/* Wakes one of the threads that sleep on the word, if there is one. */
void vs_futex_wake(_Atomic uint32_t *word);

/* For loops that poll memory: gives the core's other hardware thread a moment. */
static inline void vs_cpu_pause(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

#endif
