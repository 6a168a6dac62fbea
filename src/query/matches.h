/* Which rows of a table a filter keeps, as one bit each, so that the n-th of them, the next one and their number are found
 * without looking at the rows again.
 *
 * Invariant: bit i % 64 of bits[i / 64] is set for the rows that are kept, those behind `size` are not; before[b] = set bits
 * in words [0, b * VS_MATCH_WORDS); `kept` = all of them. */
#ifndef VS_QUERY_MATCHES_H
#define VS_QUERY_MATCHES_H

#include "query/filter.h"

enum { VS_MATCH_WORDS = 8 };
#define VS_NO_MATCH UINT32_MAX

typedef struct vs_matches {
  VS_VEC(char) filter; /* its text, ... */
  bool is_folded;      /* ... and what else was asked for (events) */
  uint32_t size, kept;
  VS_VEC(uint64_t) bits;
  VS_VEC(uint32_t) before;
} vs_matches;

/* Whether row `row` is kept. */
typedef bool (*vs_match_row)(void *ctx, uint32_t row);

VS_MUST_CHECK vs_status vs_matches_build(const vs_host *host, const vs_filter *filter, bool is_folded,
                                         uint32_t size, vs_match_row keeps, void *ctx, vs_matches *out);
void vs_matches_deinit(const vs_host *host, vs_matches *matches);
bool vs_matches_are_of(const vs_matches *matches, const vs_filter *filter, bool is_folded);

static inline bool vs_matches_has(const vs_matches *matches, uint32_t row) {
  return (matches->bits.data[row / 64] >> row % 64 & 1) != 0;
}

/* How many are before `row`, which may be `size`. */
uint32_t vs_matches_before(const vs_matches *matches, uint32_t row);
/* The first one at or behind `row`, the last one at or before it; VS_NO_MATCH. */
uint32_t vs_matches_next(const vs_matches *matches, uint32_t row);
uint32_t vs_matches_previous(const vs_matches *matches, uint32_t row);
/* The one that has `n` before it; VS_NO_MATCH. */
uint32_t vs_matches_nth(const vs_matches *matches, uint32_t n);

/* Two of them, so that two questions in turn do not drive one another out. */
typedef struct vs_match_cache {
  vs_matches slots[2];
  bool is_built[2];
  uint8_t latest;
} vs_match_cache;

void vs_match_cache_deinit(const vs_host *host, vs_match_cache *cache);
/* NULL: not there. What was found or put last stays with the next put. */
const vs_matches *vs_match_cache_find(vs_match_cache *cache, const vs_filter *filter, bool is_folded);
/* Takes `matches` over. */
const vs_matches *vs_match_cache_put(const vs_host *host, vs_match_cache *cache, const vs_matches *matches);

#endif
