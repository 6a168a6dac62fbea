/* Waiting for a word of memory to change: the slow half of a lock, whose fast half is its owner's own atomics. */
#ifndef VS_OS_PARK_H
#define VS_OS_PARK_H

#include <stdatomic.h>
#include <vramscope/base.h>

/* Sleeps while *word is `expected`. Returns when it is woken, when the word is another, and sometimes for no reason. */
void vs_park_wait(_Atomic uint32_t *word, uint32_t expected);

/* Wakes one thread that sleeps there, if one does. */
void vs_park_wake(_Atomic uint32_t *word);

/* Lets another thread run that waits for a processor. */
void vs_park_yield(void);

/* A moment of doing nothing, in a loop that looks at memory: the processor's other thread may have it. */
static inline void vs_park_pause(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

#endif
