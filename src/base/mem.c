/* The four functions to which a freestanding compiler may generate calls, and strlen. Empty in a hosted build.
 *
 * WebAssembly has one instruction each for copies and fills, which calls a function of the browser: fast for
 * kilobytes, slow for the dozens of bytes that most copies here have. So the modules are compiled without these
 * instructions, and call these functions, which use them only for long ranges. */
#include "base/mem.h"

#if VS_FREESTANDING
#include <stdbool.h>
#include <stdint.h>

#undef memcpy
#undef memmove
#undef memset
#undef memcmp

enum { LANE = 16, LONG = 128 };

/* Unaligned parts of memory of any type. */
typedef uint8_t lane __attribute__((vector_size(LANE), aligned(1), may_alias));
typedef uint64_t word __attribute__((aligned(1), may_alias));
typedef uint32_t half __attribute__((aligned(1), may_alias));

static lane lane_at(const void *start, size_t offset) {
  return *(const lane *)((const char *)start + offset);
}
static void put_lane(void *start, size_t offset, lane value) { *(lane *)((char *)start + offset) = value; }

/* Copies of at most two lanes: both ends are read before either is written, so ranges may overlap. */
static void move_short(uint8_t *to, const uint8_t *from, size_t size) {
  if (size >= LANE) {
    const lane first = lane_at(from, 0), last = lane_at(from, size - LANE);
    put_lane(to, 0, first);
    put_lane(to, size - LANE, last);
  } else if (size >= 8) {
    const uint64_t first = *(const word *)from, last = *(const word *)(from + size - 8);
    *(word *)to = first;
    *(word *)(to + size - 8) = last;
  } else if (size >= 4) {
    const uint32_t first = *(const half *)from, last = *(const half *)(from + size - 4);
    *(half *)to = first;
    *(half *)(to + size - 4) = last;
  } else if (size > 0) {
    const uint8_t first = from[0], middle = from[size / 2], last = from[size - 1];
    to[0] = first;
    to[size / 2] = middle;
    to[size - 1] = last;
  }
}

void *memmove(void *to, const void *from, size_t size) {
  if (size <= 2 * LANE) move_short(to, from, size);
  else __builtin_memmove(to, from, size);
  return to;
}

void *memcpy(void *restrict to, const void *restrict from, size_t size) {
  if (size <= 2 * LANE) {
    move_short(to, from, size);
  } else if (size > LONG) {
    __builtin_memcpy(to, from, size);
  } else {
    const size_t last = size - LANE;
    for (size_t i = 0; i < last; i += LANE) put_lane(to, i, lane_at(from, i));
    put_lane(to, last, lane_at(from, last));
  }
  return to;
}

void *memset(void *to, int byte, size_t size) {
  const lane filled = (lane){0} + (uint8_t)byte;
  if (size < LANE) {
    move_short(to, (const uint8_t *)&filled, size);
  } else if (size > LONG) {
    __builtin_memset(to, byte, size);
  } else {
    const size_t last = size - LANE;
    for (size_t i = 0; i < last; i += LANE) put_lane(to, i, filled);
    put_lane(to, last, filled);
  }
  return to;
}

static int compare_bytes(const uint8_t *x, const uint8_t *y, size_t size) {
  for (size_t i = 0; i < size; i++)
    if (x[i] != y[i]) return x[i] < y[i] ? -1 : 1;
  return 0;
}

static bool lanes_differ(const void *a, const void *b, size_t offset) {
  const lane difference = lane_at(a, offset) ^ lane_at(b, offset);
  return __builtin_wasm_any_true_v128((signed char __attribute__((vector_size(LANE))))difference) != 0;
}

int memcmp(const void *a, const void *b, size_t size) {
  const uint8_t *const x = a, *const y = b;
  if (size < LANE) return compare_bytes(x, y, size);
  const size_t last = size - LANE; /* its lane may overlap the one before */
  for (size_t i = 0; i < last; i += LANE)
    if (lanes_differ(a, b, i)) return compare_bytes(x + i, y + i, LANE);
  return lanes_differ(a, b, last) ? compare_bytes(x + last, y + last, LANE) : 0;
}

size_t strlen(const char *text) {
  size_t n = 0;
  while (text[n] != 0) n++;
  return n;
}
#else
typedef int vs_mem_is_libc; /* ISO C requires a declaration in each translation unit */
#endif
