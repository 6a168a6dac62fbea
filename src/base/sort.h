/* Sorting: stable, never slower than n log n, not recursive. It allocates scratch memory of the size of the input
 * while it runs; if that fails, it returns VS_NO_MEMORY and has moved nothing. */
#ifndef VS_BASE_SORT_H
#define VS_BASE_SORT_H

#include "base/host.h"

/* Whether row `a` comes before row `b`; false for equal ones. Contradictory answers only make the order arbitrary. */
typedef bool (*vs_sort_before)(const void *ctx, uint32_t a, uint32_t b);

/* Sorts row numbers. If they are in order already, it makes count - 1 comparisons. */
VS_MUST_CHECK vs_status vs_sort_rows(const vs_host *host, uint32_t *rows, size_t count, vs_sort_before before,
                                     const void *ctx);

typedef struct vs_sort_pair {
  uint64_t key;
  uint32_t value;
} vs_sort_pair;

/* Sorts by rising key, byte by byte of the key without comparisons; bytes that are equal in all keys are skipped.
 * For falling order use the complement as key. */
VS_MUST_CHECK vs_status vs_sort_pairs(const vs_host *host, vs_sort_pair *pairs, size_t count);

#endif
