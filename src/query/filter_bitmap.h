/* The rows of a table that a filter keeps, one bit each, so that the n-th of them, the next one and their number are
 * found without evaluating the filter again.
 *
 * Invariant: bit i % 64 of bits[i / 64] is set for the rows that are kept and clear from `size` on; before[b] = set
 * bits in words [0, b * VS_BITMAP_WORDS); `kept` = all set bits. */
#ifndef VS_QUERY_FILTER_BITMAP_H
#define VS_QUERY_FILTER_BITMAP_H

#include "query/filter.h"

enum { VS_BITMAP_WORDS = 8 };
#define VS_NO_MATCH UINT32_MAX

typedef struct vs_filter_bitmap {
  VS_VEC(char) filter; /* its text */
  bool is_folded;      /* of events: without those that vs_is_folded is true for */
  uint32_t size, kept;
  VS_VEC(uint64_t) bits;
  VS_VEC(uint32_t) before;
} vs_filter_bitmap;

/* Whether row `row` is kept. */
typedef bool (*vs_keeps_row)(void *ctx, uint32_t row);

VS_MUST_CHECK vs_status vs_filter_bitmap_build(const vs_host *host, const vs_filter *filter, bool is_folded,
                                               uint32_t size, vs_keeps_row keeps, void *ctx,
                                               vs_filter_bitmap *out);
void vs_filter_bitmap_deinit(const vs_host *host, vs_filter_bitmap *bitmap);
bool vs_filter_bitmap_is_of(const vs_filter_bitmap *bitmap, const vs_filter *filter, bool is_folded);

static inline bool vs_filter_bitmap_has(const vs_filter_bitmap *bitmap, uint32_t row) {
  VS_ASSERT(row < bitmap->size);
  return (bitmap->bits.data[row / 64] >> row % 64 & 1) != 0;
}

/* The number of kept rows before `row`, which may be `size`. */
uint32_t vs_filter_bitmap_before(const vs_filter_bitmap *bitmap, uint32_t row);
/* The first kept row at or behind `row`, the last one at or before it; VS_NO_MATCH if there is none. */
uint32_t vs_filter_bitmap_next(const vs_filter_bitmap *bitmap, uint32_t row);
uint32_t vs_filter_bitmap_previous(const vs_filter_bitmap *bitmap, uint32_t row);
/* The kept row with `n` kept rows before it; VS_NO_MATCH if there is none. */
uint32_t vs_filter_bitmap_nth(const vs_filter_bitmap *bitmap, uint32_t n);

/* Two bitmaps, so that two alternating filters do not replace each other. */
typedef struct vs_bitmap_cache {
  vs_filter_bitmap slots[2];
  bool is_built[2];
  uint8_t latest;
} vs_bitmap_cache;

void vs_bitmap_cache_deinit(const vs_host *host, vs_bitmap_cache *cache);
/* NULL if it is not in the cache. The bitmap that was found or put last is kept at the next put. */
const vs_filter_bitmap *vs_bitmap_cache_find(vs_bitmap_cache *cache, const vs_filter *filter, bool is_folded);
/* Takes ownership of `bitmap`; replaces the other slot. */
const vs_filter_bitmap *vs_bitmap_cache_put(const vs_host *host, vs_bitmap_cache *cache,
                                            const vs_filter_bitmap *bitmap);

#endif
