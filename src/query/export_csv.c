/* Comma-separated values: one table. A time, address or id that is unknown is an empty field. */
#include "codec/csv_writer.h"
#include "query/export.h"
#include "query/rows.h"

static void put_header(vs_csv *csv, const char *const *names, size_t count) {
  for (size_t i = 0; i < count; i++) vs_csv_str(csv, vs_str_from(names[i]));
  vs_csv_row_end(csv);
}

static void put_known(vs_csv *csv, bool is_known, uint64_t value) {
  if (is_known) vs_csv_u64(csv, value);
  else vs_csv_unknown(csv);
}

static void put_event_number(vs_csv *csv, uint32_t event) { put_known(csv, event != VS_NO_EVENT, event); }

static void put_time(vs_csv *csv, int64_t time_us) {
  if (time_us == VS_NO_TIME) vs_csv_unknown(csv);
  else vs_csv_i64(csv, time_us);
}

static void put_string(const vs_call *call, vs_csv *csv, uint32_t string) {
  if (string == VS_STRING_NONE) vs_csv_unknown(csv);
  else vs_csv_str(csv, vs_snapshot_string(call->engine->snapshot, string));
}

static void put_stream_and_pool(const vs_call *call, vs_csv *csv, uint32_t stream, uint32_t pool) {
  const vs_snapshot *s = call->engine->snapshot;
  VS_ASSERT(pool <= s->pools.count);
  put_known(csv, stream < s->streams.count, stream < s->streams.count ? s->streams.data[stream] : 0);
  put_known(csv, pool != 0, pool != 0 ? s->pools.data[pool - 1].a : 0);
  put_known(csv, pool != 0, pool != 0 ? s->pools.data[pool - 1].b : 0);
}

/* stack_id and place. */
static void put_stack(vs_call *call, vs_csv *csv, uint32_t stack) {
  VS_ASSERT(call->scratch.bytes.count == 0);
  put_known(csv, stack != VS_LIST_NONE, stack);
  vs_put_stack_place(call, &call->scratch, stack);
  if (call->scratch.bytes.count == 0) vs_csv_unknown(csv);
  else vs_csv_str(csv, vs_text_view(&call->scratch));
  call->scratch.bytes.count = 0;
}

/* ---- events ---------------------------------------------------------------------------------------------------- */

static const char *const event_names[] = {
    "device",   "event",           "action",        "address",  "size_bytes",
    "stream",   "pool_a",          "pool_b",        "time_us",  "device_free_bytes",
    "category", "compile_context", "user_metadata", "stack_id", "place",
};

static void put_event(vs_call *call, vs_csv *csv, const vs_slice *slice, uint32_t event) {
  const vs_snapshot *s = slice->snapshot;
  const uint32_t row = vs_slice_row(slice, event);
  const bool is_oom = vs_events_kind(&s->events, row) == VS_EVENT_OOM;
  uint64_t address;
  const bool has_address = vs_event_address(&s->events, row, &address);
  VS_ASSERT(has_address || address == 0);
  vs_csv_i64(csv, slice->device);
  vs_csv_u64(csv, event);
  put_string(call, csv, s->actions.data[vs_events_action(&s->events, row)]);
  put_known(csv, has_address && !is_oom, address);
  vs_csv_u64(csv, vs_events_size(&s->events, row));
  put_stream_and_pool(call, csv, vs_events_stream(&s->events, row), vs_events_pool(&s->events, row));
  put_time(csv, vs_events_time_us(&s->events, row));
  put_known(csv, has_address && is_oom, address);
  put_string(call, csv, vs_events_category(&s->events, row));
  put_string(call, csv, vs_events_compile_context(&s->events, row));
  put_string(call, csv, vs_events_user_metadata(&s->events, row));
  put_stack(call, csv, vs_events_stack(&s->events, row));
  vs_csv_row_end(csv);
}

static void put_events(vs_call *call, vs_csv *csv, const vs_slice *slice) {
  const vs_filter *filter = &call->request->filter;
  for (uint32_t event = 0; event < slice->event_count; event++) {
    if (!vs_filter_is_empty(filter)) {
      const vs_filter_row row = vs_row_of_event(slice, event);
      if (!vs_filter_keeps(filter, slice->snapshot, &row)) continue;
    }
    put_event(call, csv, slice, event);
  }
}

/* ---- blocks and segments of the end state ---------------------------------------------------------------------- */

static const char *const block_names[] = {
    "device", "segment_address", "address", "size_bytes", "requested_bytes", "state",
    "stream", "pool_a",          "pool_b",  "stack_id",   "place",
};

static void put_blocks_of(vs_call *call, vs_csv *csv, const vs_segment *segment) {
  const vs_snapshot *s = call->engine->snapshot;
  for (uint32_t i = 0; i < segment->block_count; i++) {
    const vs_block *block = &s->blocks.data[segment->first_block + i];
    const vs_filter_row row = vs_row_of_block(s, segment, block);
    if (!vs_filter_keeps(&call->request->filter, s, &row)) continue;
    vs_csv_i64(csv, segment->device);
    put_known(csv, (vs_snapshot_lacks(s) & VS_LACKS_SEGMENTS) == 0, segment->address);
    put_known(csv, vs_block_has_address(s, block), block->address);
    vs_csv_u64(csv, block->size);
    vs_csv_u64(csv, block->requested_size);
    put_string(call, csv, block->state_name);
    put_stream_and_pool(call, csv, segment->stream, segment->pool);
    put_stack(call, csv, block->stack);
    vs_csv_row_end(csv);
  }
}

static const char *const segment_names[] = {
    "device",
    "address",
    "reserved_bytes",
    "allocated_bytes",
    "active_bytes",
    "requested_bytes",
    "largest_hole_bytes",
    "blocks",
    "active_blocks",
    "stream",
    "pool_a",
    "pool_b",
    "segment_type",
    "is_expandable",
    "stack_id",
    "place",
};

static void put_segment(vs_call *call, vs_csv *csv, const vs_segment *segment) {
  const vs_snapshot *s = call->engine->snapshot;
  const vs_end_sums sums = vs_segment_sums(s, segment);
  const vs_filter_row row = vs_row_of_segment(s, segment, sums.reserved);
  if (!vs_filter_keeps(&call->request->filter, s, &row)) return;
  vs_csv_i64(csv, segment->device);
  vs_csv_u64(csv, segment->address);
  vs_csv_u64(csv, sums.reserved);
  vs_csv_u64(csv, sums.allocated);
  vs_csv_u64(csv, sums.active);
  vs_csv_u64(csv, sums.requested);
  vs_csv_u64(csv, vs_largest_hole_of(s, segment));
  vs_csv_u64(csv, segment->block_count);
  vs_csv_u64(csv, sums.allocated_blocks + sums.pending_blocks);
  put_stream_and_pool(call, csv, segment->stream, segment->pool);
  put_string(call, csv, segment->type);
  put_known(csv, (segment->has & VS_SEGMENT_HAS_EXPANDABLE) != 0, segment->is_expandable);
  put_stack(call, csv, segment->stack);
  vs_csv_row_end(csv);
}

/* ---- live allocations at a moment ------------------------------------------------------------------------------ */

static const char *const live_names[] = {
    "device",        "address",    "requested_bytes", "size_bytes", "state",
    "stream",        "pool_a",     "pool_b",          "category",   "alloc_event",
    "alloc_time_us", "free_event", "free_time_us",    "stack_id",   "place",
};

static void put_event_and_time(vs_csv *csv, const vs_slice *slice, uint32_t event) {
  put_event_number(csv, event);
  put_time(csv, event == VS_NO_EVENT ? VS_NO_TIME : vs_slice_time(slice, event));
}

static void put_live_block(vs_call *call, vs_csv *csv, const vs_selection *selection,
                           const vs_lifetime *row) {
  const vs_slice *slice = selection->lifetimes->slice;
  const bool is_at_end = row->block != VS_NO_ROW;
  VS_ASSERT(!is_at_end || row->block < slice->snapshot->blocks.count);
  vs_csv_i64(csv, slice->device);
  put_known(csv,
            !is_at_end || vs_block_has_address(slice->snapshot, &slice->snapshot->blocks.data[row->block]),
            row->address);
  vs_csv_u64(csv, row->size);
  put_known(csv, is_at_end, is_at_end ? slice->snapshot->blocks.data[row->block].size : 0);
  vs_csv_str(csv, vs_selection_state(selection, row));
  put_stream_and_pool(call, csv, vs_lifetime_stream(selection->lifetimes, row),
                      vs_lifetime_pool(selection->lifetimes, selection->items.segments, row));
  put_string(call, csv, vs_selection_category(selection, row));
  put_event_and_time(csv, slice, row->start);
  put_event_and_time(csv, slice, row->free_requested != VS_NO_EVENT ? row->free_requested : row->end);
  put_stack(call, csv, vs_lifetime_stack(selection->lifetimes, row));
  vs_csv_row_end(csv);
}

static vs_status put_live(vs_call *call, vs_csv *csv) {
  vs_device_cache *device = call->device;
  vs_selection selection;
  vs_rows rows;
  VS_TRY(vs_selection_build(call, device, &selection));
  const vs_status status = vs_selection_by_size(call, &selection, &rows);
  if (status == VS_OK) {
    put_header(csv, live_names, sizeof live_names / sizeof *live_names);
    for (size_t i = 0; i < rows.count; i++)
      put_live_block(call, csv, &selection, &selection.lifetimes->rows.data[rows.data[i]]);
    vs_vec_free(call->engine->host, &rows);
  }
  vs_selection_deinit(call, &selection);
  return status;
}

/* ---- the file -------------------------------------------------------------------------------------------------- */

static void put_view(vs_call *call, vs_csv *csv, const vs_slice *slice) {
  if (call->request->what == VS_WHAT_events) {
    put_events(call, csv, slice);
    return;
  }
  for (uint32_t i = 0; i < slice->segment_count; i++) {
    const vs_segment *segment = &slice->snapshot->segments.data[slice->segments[i]];
    if (call->request->what == VS_WHAT_blocks) put_blocks_of(call, csv, segment);
    else put_segment(call, csv, segment);
  }
}

vs_status vs_export_csv(vs_call *call) {
  static const struct {
    const char *const *names;
    size_t count;
    uint32_t keys;
    const char *rows;
  } tables[] = {
      [VS_WHAT_events] = {event_names, sizeof event_names / sizeof *event_names, VS_EVENT_KEYS, "events"},
      [VS_WHAT_blocks] = {block_names, sizeof block_names / sizeof *block_names, VS_BLOCK_KEYS, "blocks"},
      [VS_WHAT_segments] = {segment_names, sizeof segment_names / sizeof *segment_names, VS_SEGMENT_KEYS,
                            "segments"},
  };
  vs_csv csv;
  vs_csv_begin(&csv, call->text);
  const vs_what what = call->request->what;
  if (what == VS_WHAT_live) return put_live(call, &csv);
  VS_ASSERT((size_t)what < sizeof tables / sizeof *tables);
  VS_TRY(vs_filter_allow(&call->request->filter, call->engine->snapshot, tables[what].keys, tables[what].rows,
                         call->error));
  VS_TRY(vs_filter_prepare(&call->request->filter, call->engine->snapshot, &call->engine->frames));
  put_header(&csv, tables[what].names, tables[what].count);
  for (size_t i = 0; i < call->engine->devices.count; i++)
    if (vs_export_covers(call, &call->engine->devices.data[i]))
      put_view(call, &csv, call->engine->devices.data[i].slice);
  return VS_OK;
}
