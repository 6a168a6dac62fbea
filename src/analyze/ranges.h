/* A set of addresses as ranges: joined where they touch, in order. For what the driver has given at a moment. */
#ifndef VS_ANALYZE_RANGES_H
#define VS_ANALYZE_RANGES_H

#include "base/ordmap.h"

typedef struct vs_range {
  uint64_t start, end; /* start < end */
} vs_range;

/* Invariant: the values of by_start are indices into list, the keys are list[value].start; no two ranges touch.
 * Entries of list that no value names are leftovers. */
typedef struct vs_ranges {
  vs_ordmap by_start;
  VS_VEC(vs_range) list;
} vs_ranges;

void vs_ranges_deinit(const vs_host *host, vs_ranges *ranges);

/* Empty ones change nothing. */
VS_MUST_CHECK vs_status vs_ranges_add(const vs_host *host, vs_ranges *ranges, uint64_t start, uint64_t end);
VS_MUST_CHECK vs_status vs_ranges_cut(const vs_host *host, vs_ranges *ranges, uint64_t start, uint64_t end);

/* Whether one range holds all of [start, end]; an empty one may lie at a range's very end. On success *in (may be NULL)
 * is that range. */
bool vs_ranges_cover(const vs_ranges *ranges, uint64_t start, uint64_t end, vs_range *in);

/* Whether any address is in both; for an empty one, whether it lies strictly inside a range. */
bool vs_ranges_meet(const vs_ranges *ranges, uint64_t start, uint64_t end);

#endif
