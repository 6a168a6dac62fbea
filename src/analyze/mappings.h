/* Every range of memory obtained from the driver as one row: its first and last event, its address and size.
 *
 * A row is a range that was mapped by one event and unmapped by one event: where pages of an expandable segment are
 * mapped together and unmapped one by one, each page is a row. The rows are rebuilt backwards from the end state, as in
 * state.h:
 *   at each moment the rows that are alive do not overlap, and together they are the reserved memory of that moment
 * Where the trace contradicts itself:
 *   map of a mapped range                                          the row begins at the later map
 *   unmap of a range that is mapped later without a map between    another row begins at the unmap
 *   map of a range that is never unmapped, nor in the end state    no row */
#ifndef VS_ANALYZE_MAPPINGS_H
#define VS_ANALYZE_MAPPINGS_H

#include "analyze/end_state.h"

enum { VS_SMALL_PAGE = 2 * 1024 * 1024, VS_LARGE_PAGE = 20 * 1024 * 1024 }; /* of expandable segments */

typedef struct vs_mapping {
  uint64_t address, size;
  uint32_t start;   /* event that mapped it; VS_NO_EVENT: before the trace */
  uint32_t end;     /* event that unmapped it; VS_NO_EVENT: mapped at the end */
  uint32_t segment; /* row of snapshot->segments if it is mapped at the end, else VS_NO_ROW */
  uint32_t stream;  /* index into streams */
  uint32_t pool;    /* 0 (unknown), or 1 + index into pools */
  uint32_t version; /* its name is s<address in hex>_<version>: earlier rows of this address */
  uint8_t kind;     /* vs_segment_kind; by size where it is not in the end state */
  bool is_expandable;
} vs_mapping;

/* Invariant: rows without a start come first; starts never fall, and among equal ones addresses rise; start < end where
 * both are events; gets and gives rise. */
typedef struct vs_mappings {
  const vs_slice *slice;
  VS_VEC(vs_mapping) rows;
  VS_VEC(uint32_t) gets;  /* events: segment_alloc and segment_map, contradictory ones included */
  VS_VEC(uint32_t) gives; /* events: segment_free and segment_unmap */
} vs_mappings;

VS_MUST_CHECK vs_status vs_mappings_build(const vs_host *host, const vs_slice *slice, vs_mappings *out);
void vs_mappings_deinit(const vs_host *host, vs_mappings *mappings);

/* Whether the row is mapped at a moment. */
static inline bool vs_mapping_is_live(const vs_mapping *row, vs_moment moment) {
  return (row->start == VS_NO_EVENT || (vs_moment)row->start <= moment) &&
         (row->end == VS_NO_EVENT || (vs_moment)row->end > moment);
}

/* The stack of the event that mapped it, else of its end segment, else of the event that unmapped it. */
uint32_t vs_mapping_stack(const vs_mappings *mappings, const vs_mapping *row);

/* The number of `events` (rising, such as gets) in [first, end). */
uint32_t vs_count_events(const uint32_t *events, size_t count, uint32_t first, uint32_t end);

/* Executes the invariant; NULL if it holds, else the sentence that does not. */
const char *vs_mappings_check(const vs_mappings *mappings);

#endif
