#include "query/rows.h"

static uint32_t stream_key(const vs_snapshot *s, uint32_t stream) {
  return stream < s->streams.count ? 1u << VS_FILTER_stream : 0;
}

vs_filter_row vs_row_of_event(const vs_slice *slice, uint32_t event) {
  const vs_snapshot *s = slice->snapshot;
  const uint32_t row = vs_slice_row(slice, event);
  const uint32_t category = vs_events_category(&s->events, row),
                 metadata = vs_event_metadata(&s->events, row);
  vs_filter_row r = {
      .size = vs_events_size(&s->events, row),
      .event = event,
      .stream = vs_events_stream(&s->events, row),
      .pool = vs_events_pool(&s->events, row),
      .stack = vs_events_stack(&s->events, row),
      .action = vs_snapshot_string(s, s->actions.data[vs_events_action(&s->events, row)]),
      .category = vs_snapshot_string(s, category),
      .metadata = vs_snapshot_string(s, metadata),
      .has = 1u << VS_FILTER_size | 1u << VS_FILTER_event | 1u << VS_FILTER_pool | 1u << VS_FILTER_action,
  };
  if (vs_event_address(&s->events, row, &r.address) && vs_events_kind(&s->events, row) != VS_EVENT_OOM)
    r.has |= 1u << VS_FILTER_address;
  if (category != VS_STRING_NONE) r.has |= 1u << VS_FILTER_category;
  if (metadata != VS_STRING_NONE) r.has |= 1u << VS_FILTER_metadata;
  r.has |= stream_key(s, r.stream);
  return r;
}

vs_filter_row vs_row_of_segment(const vs_snapshot *s, const vs_segment *segment, uint64_t reserved) {
  return (vs_filter_row){
      .size = reserved,
      .address = segment->address,
      .stream = segment->stream,
      .pool = segment->pool,
      .stack = segment->stack,
      .has = 1u << VS_FILTER_size | 1u << VS_FILTER_address | 1u << VS_FILTER_pool |
             stream_key(s, segment->stream),
  };
}

vs_filter_row vs_row_of_block(const vs_snapshot *s, const vs_segment *segment, const vs_block *block) {
  vs_filter_row r = vs_row_of_segment(s, segment, block->requested_size);
  r.address = block->address;
  r.stack = block->stack;
  r.state = vs_snapshot_string(s, block->state_name);
  r.has |= 1u << VS_FILTER_state;
  return r;
}

uint64_t vs_largest_hole_of(const vs_snapshot *s, const vs_segment *segment) {
  uint64_t hole = 0, largest = 0;
  for (uint32_t i = 0; i < segment->block_count; i++) {
    VS_ASSERT(segment->first_block + i < s->blocks.count);
    const vs_block *block = &s->blocks.data[segment->first_block + i];
    hole = vs_block_is_active(block) ? 0 : vs_sat_add_u64(hole, block->size);
    largest = vs_max_u64(largest, hole);
  }
  return largest;
}
