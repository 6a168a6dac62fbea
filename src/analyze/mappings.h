/* Every stretch of memory that the driver gave, as one row: when it came, when it went, where, how large.
 *
 * A stretch is as much as came with one event and went with one event: where pages of an expandable segment are mapped
 * together and unmapped one by one, each is a row. Rebuilt backwards from the end state, as state.h does it:
 *   at each moment the rows that are alive do not overlap, and together they are what was reserved then
 * Where the trace contradicts itself:
 *   map of what is mapped     the stretch begins at the later map
 *   unmap of what is mapped afterwards without a map in between    another stretch begins at the unmap
 *   map of what is never unmapped and not in the end state         no row */
#ifndef VS_ANALYZE_MAPPINGS_H
#define VS_ANALYZE_MAPPINGS_H

#include "analyze/end_state.h"

enum { VS_SMALL_PAGE = 2 * 1024 * 1024, VS_LARGE_PAGE = 20 * 1024 * 1024 }; /* of expandable segments */

typedef struct vs_mapping {
  uint64_t address, size;
  uint32_t start;   /* event that gave it; VS_NO_EVENT: before the trace */
  uint32_t end;     /* event that took it; VS_NO_EVENT: still there at the end */
  uint32_t segment; /* row of snapshot->segments if it is there at the end, else VS_NO_ROW */
  uint32_t stream;  /* index into streams */
  uint32_t pool;    /* 0 (nobody knows), or 1 + index into pools */
  uint32_t version; /* its name is s<address in hex>_<version>: mappings of this address that ended before */
  uint8_t kind;     /* vs_segment_kind; by size where it is gone at the end */
  bool is_expandable;
} vs_mapping;

/* Invariant: rows without a start come first; starts never fall, of equal ones addresses rise;
 * start < end where both are events; gets and gives rise. */
typedef struct vs_mappings {
  const vs_slice *slice;
  VS_VEC(vs_mapping) rows;
  VS_VEC(uint32_t) gets;  /* events: segment_alloc and segment_map, contradictory ones included */
  VS_VEC(uint32_t) gives; /* events: segment_free and segment_unmap */
} vs_mappings;

VS_MUST_CHECK vs_status vs_mappings_build(const vs_host *host, const vs_slice *slice, vs_mappings *out);
void vs_mappings_deinit(const vs_host *host, vs_mappings *mappings);

/* Whether the row counts at a moment. */
static inline bool vs_mapping_is_live(const vs_mapping *row, vs_moment moment) {
  return (row->start == VS_NO_EVENT || (vs_moment)row->start <= moment) &&
         (row->end == VS_NO_EVENT || (vs_moment)row->end > moment);
}

/* The stack of the event that gave it, else of its end segment, else of the event that took it. */
uint32_t vs_mapping_stack(const vs_mappings *mappings, const vs_mapping *row);

/* How many of `events` (rising, such as gets) are in [first, end). */
uint32_t vs_count_events(const uint32_t *events, size_t count, uint32_t first, uint32_t end);

/* Executes the invariant; NULL if it holds, else the sentence that does not. */
const char *vs_mappings_check(const vs_mappings *mappings);

#endif
