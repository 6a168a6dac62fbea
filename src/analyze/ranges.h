/* A set of addresses as ordered ranges, which are joined where they touch. Used for the reserved memory of a moment. */
#ifndef VS_ANALYZE_RANGES_H
#define VS_ANALYZE_RANGES_H

#include "base/ordmap.h"

typedef struct vs_range {
  uint64_t start, end; /* start < end */
} vs_range;

/* Invariant: the values of by_start are indices into list, the keys are list[value].start; no two ranges touch.
 * Entries of list that no value names are no longer used. */
typedef struct vs_ranges {
  vs_ordmap by_start;
  VS_VEC(vs_range) list;
} vs_ranges;

void vs_ranges_deinit(const vs_host *host, vs_ranges *ranges);

/* Adds or removes [start, end); an empty range changes nothing. */
VS_MUST_CHECK vs_status vs_ranges_add(const vs_host *host, vs_ranges *ranges, uint64_t start, uint64_t end);
VS_MUST_CHECK vs_status vs_ranges_cut(const vs_host *host, vs_ranges *ranges, uint64_t start, uint64_t end);

/* Whether one range contains all of [start, end), start <= end; an empty one may be at the end of a range. On
 * success *in (may be NULL) is that range. */
bool vs_ranges_cover(const vs_ranges *ranges, uint64_t start, uint64_t end, vs_range *in);

/* Whether any address of [start, end) is in the set; for an empty range, whether it is strictly inside of one. */
bool vs_ranges_meet(const vs_ranges *ranges, uint64_t start, uint64_t end);

#endif
