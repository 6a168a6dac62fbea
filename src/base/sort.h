/* Sorting: stable, never slower than n log n, not recursive. Scratch memory, as large as what is sorted, comes
 * from the host and goes back before the return; without it nothing is moved and the answer is VS_NO_MEMORY. */
#ifndef VS_BASE_SORT_H
#define VS_BASE_SORT_H

#include "base/host.h"

/* Whether row `a` has to stand before row `b`; false for equals. An answer that contradicts another one gives an
 * arbitrary order, nothing worse. */
typedef bool (*vs_sort_before)(const void *ctx, uint32_t a, uint32_t b);

/* Sorts row numbers. Costs count - 1 comparisons where they are in order already. */
VS_MUST_CHECK vs_status vs_sort_rows(const vs_host *host, uint32_t *rows, size_t count, vs_sort_before before,
                                     const void *ctx);

typedef struct vs_sort_pair {
  uint64_t key;
  uint32_t value;
} vs_sort_pair;

/* Sorts by rising key, byte by byte of the key without comparisons; bytes that all keys share cost nothing. For
 * falling order take the complement as key. */
VS_MUST_CHECK vs_status vs_sort_pairs(const vs_host *host, vs_sort_pair *pairs, size_t count);

#endif
