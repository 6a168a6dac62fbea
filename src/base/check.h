/* Assertions and checked arithmetic.
 *
 * VS_ASSERT states an invariant of our own code, never a property of outside bytes; it runs in the hostile build. */
#ifndef VS_BASE_CHECK_H
#define VS_BASE_CHECK_H

#include "base/mem.h"
#include <stdbool.h>
#include <stdint.h>
#include <vramscope/base.h>

#if VS_HOSTILE
#define VS_ASSERT(condition) ((condition) ? (void)0 : __builtin_trap())
#else
#define VS_ASSERT(condition) ((void)(0 && (condition)))
#endif

/* Returns the status of `expression` to the caller if it is a failure. The only macro of the project that returns,
 * so it is never used while the function holds something that it has to release. */
#define VS_TRY(expression)                            \
  do {                                                \
    const vs_status vs_try_status = (expression);     \
    if (vs_try_status != VS_OK) return vs_try_status; \
  } while (0)

/* false when the exact result does not fit; *out is then undefined. */
static inline bool vs_add_u64(uint64_t a, uint64_t b, uint64_t *out) {
  return !__builtin_add_overflow(a, b, out);
}
static inline bool vs_mul_size(size_t a, size_t b, size_t *out) { return !__builtin_mul_overflow(a, b, out); }

/* Sums and products over untrusted numbers: stop at the largest or smallest value instead of wrapping. */
static inline uint64_t vs_sat_add_u64(uint64_t a, uint64_t b) {
  uint64_t sum;
  return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}
static inline uint64_t vs_sat_mul_u64(uint64_t a, uint64_t b) {
  uint64_t product;
  return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}
static inline int64_t vs_sat_add_i64(int64_t a, int64_t b) {
  int64_t sum;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return b > 0 ? INT64_MAX : INT64_MIN;
}

static inline uint64_t vs_min_u64(uint64_t a, uint64_t b) { return a < b ? a : b; }
static inline uint64_t vs_max_u64(uint64_t a, uint64_t b) { return a > b ? a : b; }

#endif
