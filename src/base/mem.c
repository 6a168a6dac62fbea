/* The four functions that a freestanding compiler may call behind our back, and strlen. Empty in a hosted build. */
#include "base/mem.h"

#if VS_FREESTANDING
#include <stdint.h>

/* With bulk memory the compiler turns the builtins into one instruction each. */
void *memcpy(void *restrict to, const void *restrict from, size_t size) {
  return __builtin_memcpy(to, from, size);
}
void *memmove(void *to, const void *from, size_t size) { return __builtin_memmove(to, from, size); }
void *memset(void *to, int byte, size_t size) { return __builtin_memset(to, byte, size); }

int memcmp(const void *a, const void *b, size_t size) {
  const uint8_t *x = a, *y = b;
  for (size_t i = 0; i < size; i++)
    if (x[i] != y[i]) return x[i] < y[i] ? -1 : 1;
  return 0;
}

size_t strlen(const char *text) {
  size_t n = 0;
  while (text[n] != 0) n++;
  return n;
}
#else
typedef int vs_mem_is_libc; /* ISO C wants one declaration in a translation unit */
#endif
