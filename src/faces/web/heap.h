/* The memory of the page's engine: a vs_host over one stretch of address space that can only grow at its end, which is
 * what a WebAssembly memory is.
 *
 * Sizes come back with every request (vs_host.resize), so blocks have no headers.
 *
 *   small   up to VS_HEAP_SMALL bytes: rounded up to a class (four for each doubling), cut from pages, and kept in the
 *           class's free list for ever
 *   large   whole pages. Free ranges are kept by address, neighbours joined. A block grows where it lies if what is behind
 *           it is free or is the end of the memory; else it moves, to where it has room to grow on: addresses cost nothing
 *           until they are touched, and copies of what grows to hundreds of megabytes do
 *
 * Invariant: start <= end; free ranges lie in [start, end), rise, and never touch; every byte of [start, end) belongs to
 * exactly one block, free range, small free list or to [bump, bump_end). `used` is the sum of the requested sizes of live
 * blocks. */
#ifndef VS_WEB_HEAP_H
#define VS_WEB_HEAP_H

#include <vramscope/base.h>

enum { VS_HEAP_PAGE = 64 * 1024, VS_HEAP_SMALL = 32 * 1024, VS_HEAP_CLASSES = 4 * 10 };

typedef struct vs_heap_range vs_heap_range;

typedef struct vs_heap {
  /* Makes the memory longer by so many bytes, a multiple of VS_HEAP_PAGE; false if that cannot be. */
  bool (*extend)(void *ctx, size_t bytes);
  void *ctx;
  unsigned char *start, *end;     /* aligned to 16 */
  vs_heap_range *ranges;          /* free ones, the lowest first */
  void *free[VS_HEAP_CLASSES];    /* blocks of each class, each beginning with a pointer to the next */
  unsigned char *bump, *bump_end; /* where small blocks are cut from */
  uint64_t used;
} vs_heap;

/* An empty heap that begins at `start`. */
void vs_heap_init(vs_heap *heap, void *start, bool (*extend)(void *ctx, size_t bytes), void *ctx);

/* A host whose ctx is the heap, which must not move. */
vs_host vs_heap_host(vs_heap *heap);

/* Checks the part of the invariant that can be checked without a list of the blocks. */
bool vs_heap_check(const vs_heap *heap);

#endif
