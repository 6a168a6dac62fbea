/* Rows of the file's own tables, for filters and exports. */
#ifndef VS_QUERY_ROWS_H
#define VS_QUERY_ROWS_H

#include "analyze/slice.h"
#include "query/filter.h"

/* The keys of filters that each table has: bits 1 << vs_filter_key. */
enum {
  VS_STACK_KEYS = 1 << VS_FILTER_stack | 1 << VS_FILTER_line | 1 << VS_FILTER_innermost,
  VS_EVENT_KEYS = VS_STACK_KEYS | 1 << VS_FILTER_size | 1 << VS_FILTER_stream | 1 << VS_FILTER_address |
                  1 << VS_FILTER_event | 1 << VS_FILTER_pool | 1 << VS_FILTER_action |
                  1 << VS_FILTER_category | 1 << VS_FILTER_metadata,
  VS_SEGMENT_KEYS = VS_STACK_KEYS | 1 << VS_FILTER_size | 1 << VS_FILTER_stream | 1 << VS_FILTER_address |
                    1 << VS_FILTER_pool,
  VS_BLOCK_KEYS = VS_SEGMENT_KEYS | 1 << VS_FILTER_state,
};

vs_filter_row vs_row_of_event(const vs_slice *slice, uint32_t event);
vs_filter_row vs_row_of_segment(const vs_snapshot *snapshot, const vs_segment *segment, uint64_t reserved);
vs_filter_row vs_row_of_block(const vs_snapshot *snapshot, const vs_segment *segment, const vs_block *block);

/* The address of an event, or of an OOM the free bytes of the device; false where it has neither. */
static inline bool vs_event_address(const vs_events *events, uint32_t row, uint64_t *address) {
  *address = vs_events_address(events, row);
  return (vs_events_missing(events, row) & VS_EVENT_NO_ADDRESS) == 0;
}

/* The bytes of the longest run of inactive blocks. */
uint64_t vs_largest_hole_of(const vs_snapshot *snapshot, const vs_segment *segment);

#endif
