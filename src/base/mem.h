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
#endif

#endif
