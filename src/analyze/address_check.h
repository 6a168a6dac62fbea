/* Follows addresses over the whole trace (mapped ranges, and the live blocks in them) and counts contradictions. A
 * part of trust.h. */
#ifndef VS_ANALYZE_ADDRESS_CHECK_H
#define VS_ANALYZE_ADDRESS_CHECK_H

#include "analyze/lifetimes.h"
#include "analyze/ranges.h"

typedef struct vs_address_check {
  vs_tally overlap;         /* allocations that overlap a live block */
  vs_tally outside_segment; /* allocations outside of every mapped range */
  vs_tally double_map;      /* ranges that are mapped while a part of them is mapped */
  vs_tally unmap_unknown;   /* ranges that are unmapped but were not mapped as a whole */
  vs_tally unmap_live;      /* ranges that are unmapped while a block in them is live */
} vs_address_check;

VS_MUST_CHECK vs_status vs_address_check_run(const vs_host *host, const vs_lifetimes *lifetimes,
                                             vs_address_check *out);

/* The mapped ranges at a moment >= VS_AT_START: those of the end state, with all later events undone. */
VS_MUST_CHECK vs_status vs_mapped_at(const vs_host *host, const vs_slice *slice, vs_moment moment,
                                     vs_ranges *out);

#endif
