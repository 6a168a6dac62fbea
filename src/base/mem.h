/* memcpy and the like: from the C library in a hosted build, from mem.c in a freestanding one (WebAssembly). */
#ifndef VS_BASE_MEM_H
#define VS_BASE_MEM_H

#include <stddef.h>

#ifndef VS_FREESTANDING
#define VS_FREESTANDING 0
#endif
#ifndef VS_HOSTILE
#define VS_HOSTILE 0
#endif

#if !VS_FREESTANDING
#include <string.h>
#else
void *memcpy(void *restrict to, const void *restrict from, size_t size);
void *memmove(void *to, const void *from, size_t size);
void *memset(void *to, int byte, size_t size);
int memcmp(const void *a, const void *b, size_t size);
size_t strlen(const char *text);

/* A freestanding compiler takes these names for those of any functions. By its own names it knows what they do: a copy of a constant
 * number of bytes, if these are few, is a load and a store. All others call the functions above. */
#define memcpy(to, from, size) __builtin_memcpy(to, from, size)
#define memmove(to, from, size) __builtin_memmove(to, from, size)
#define memset(to, byte, size) __builtin_memset(to, byte, size)
#define memcmp(a, b, size) __builtin_memcmp(a, b, size)
#endif

#endif
