/* Watches addresses over the whole trace: which ranges are mapped, which blocks live in them, and what cannot be. A part
 * of trust.h. */
#ifndef VS_ANALYZE_ADDRESS_CHECK_H
#define VS_ANALYZE_ADDRESS_CHECK_H

#include "analyze/lifetimes.h"
#include "analyze/ranges.h"

typedef struct vs_address_check {
  vs_tally overlap;         /* allocations over a block that is still there */
  vs_tally outside_segment; /* allocations where nothing is mapped */
  vs_tally double_map;      /* ranges that come while a part of them is there */
  vs_tally unmap_unknown;   /* ranges that go and were not there as a whole */
  vs_tally unmap_live;      /* ranges that go with a block in them */
} vs_address_check;

VS_MUST_CHECK vs_status vs_address_check_run(const vs_host *host, const vs_lifetimes *lifetimes,
                                             vs_address_check *out);

/* The mapped ranges at a moment, by undoing all that came later. */
VS_MUST_CHECK vs_status vs_mapped_at(const vs_host *host, const vs_slice *slice, vs_moment moment,
                                     vs_ranges *out);

#endif
