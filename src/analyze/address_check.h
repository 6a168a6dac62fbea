/* Counts contradictions between the addresses of a trace: it follows the mapped ranges, while the scan that calls it follows the live
 * blocks (allocated.c). A part of trust.h. */
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

static inline bool vs_changes_ranges(vs_event_kind kind) {
  return kind >= VS_EVENT_SEGMENT_ALLOC && kind <= VS_EVENT_SEGMENT_UNMAP;
}

/* The state of the check. The scan calls it for each allocation and each change of the ranges, in their order. */
typedef struct vs_address_checker {
  const vs_host *host;
  vs_address_check *out;
  vs_ranges mapped;  /* before the next event */
  vs_range last;     /* the mapped range that held the last block; empty after the ranges changed */
  bool knows_ranges; /* the trace has segment events at all */
} vs_address_checker;

VS_MUST_CHECK vs_status vs_address_check_begin(const vs_host *host, const vs_slice *slice,
                                               vs_address_check *out, vs_address_checker *checker);
void vs_address_check_end(vs_address_checker *checker);

/* Counts a block that is outside of `last`, if it is outside of all mapped ranges. */
void vs_address_check_outside(vs_address_checker *checker, uint32_t event, uint64_t start, uint64_t end);

/* `overlaps`: a live block of another address reaches into it. */
static inline void vs_address_check_alloc(vs_address_checker *checker, uint32_t event,
                                          const vs_lifetime *life, bool overlaps) {
  const uint64_t end = vs_sat_add_u64(life->address, life->size);
  const bool is_inside = checker->last.start <= life->address && end <= checker->last.end;
  if (!is_inside && checker->knows_ranges) vs_address_check_outside(checker, event, life->address, end);
  if (overlaps) vs_tally_note(&checker->out->overlap, event);
}

/* An event that vs_changes_ranges, at an address. `lives_in`: a live block has bytes in the range. */
VS_MUST_CHECK vs_status vs_address_check_range(vs_address_checker *checker, uint32_t event,
                                               vs_event_kind kind, vs_range range, bool lives_in);

/* The mapped ranges at a moment >= VS_AT_START: those of the end state, with all later events undone. */
VS_MUST_CHECK vs_status vs_mapped_at(const vs_host *host, const vs_slice *slice, vs_moment moment,
                                     vs_ranges *out);

#endif
