/* Numbers that look random and are the same in every run (SplitMix64). */
#ifndef VS_TESTS_RANDOM_H
#define VS_TESTS_RANDOM_H

#include <stdint.h>

typedef struct test_random {
  uint64_t state;
} test_random;

static inline uint64_t random_u64(test_random *random) {
  uint64_t z = random->state += UINT64_C(0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  return z ^ (z >> 31);
}

/* From 0 up to, and without, `bound`. */
static inline uint64_t random_below(test_random *random, uint64_t bound) {
  return random_u64(random) % bound;
}

#endif
