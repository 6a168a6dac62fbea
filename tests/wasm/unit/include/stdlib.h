#ifndef VS_WASM_STDLIB_H
#define VS_WASM_STDLIB_H
#include <stddef.h>
void *malloc(size_t size);
void *calloc(size_t count, size_t size);
void *realloc(void *old, size_t size);
void *aligned_alloc(size_t alignment, size_t size);
void free(void *memory);
_Noreturn void abort(void);
#endif
