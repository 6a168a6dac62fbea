/* The rows of each table. A time, address or id that is unknown is a null. */
#include "query/table_rows.h"
#include "query/export.h"
#include "query/picture_query.h"
#include "query/rows.h"

/* The rows of one table while they are made: batches of them go to the sink. */
typedef struct table {
  vs_call *call;
  const vs_table_rows_sink *sink;
  vs_records rows;
  vs_status status; /* of the sink */
} table;

static void put_batch(table *t) {
  if (t->status == VS_OK) t->status = t->rows.status;
  if (t->status == VS_OK) t->status = t->sink->take(t->sink->ctx, &t->rows);
  vs_records_clear(&t->rows);
}

static void end_row(table *t) {
  vs_records_row_end(&t->rows);
  if (vs_records_is_full(&t->rows)) put_batch(t);
}

/* ---- values */

static void put_known(table *t, bool is_known, uint64_t value) {
  if (is_known) vs_records_u64(&t->rows, value);
  else vs_records_null(&t->rows);
}

static void put_truth(table *t, bool is_known, bool value) {
  if (is_known) vs_records_bool(&t->rows, value);
  else vs_records_null(&t->rows);
}

static void put_event_number(table *t, uint32_t event) { put_known(t, event != VS_NO_EVENT, event); }

static void put_time(table *t, int64_t time_us) {
  if (time_us == VS_NO_TIME) vs_records_null(&t->rows);
  else vs_records_i64(&t->rows, time_us);
}

static void put_string(table *t, uint32_t string) {
  if (string == VS_STRING_NONE) vs_records_null(&t->rows);
  else vs_records_str(&t->rows, vs_snapshot_string(t->call->engine->snapshot, string));
}

static void put_stream_and_pool(table *t, uint32_t stream, uint32_t pool) {
  const vs_snapshot *s = t->call->engine->snapshot;
  VS_ASSERT(pool <= s->pools.count);
  put_known(t, stream < s->streams.count, stream < s->streams.count ? s->streams.data[stream] : 0);
  put_known(t, pool != 0, pool != 0 ? s->pools.data[pool - 1].a : 0);
  put_known(t, pool != 0, pool != 0 ? s->pools.data[pool - 1].b : 0);
}

/* stack_id and place. */
static void put_stack(table *t, uint32_t stack) {
  vs_text *place = &t->call->scratch;
  VS_ASSERT(place->bytes.count == 0);
  put_known(t, stack != VS_LIST_NONE, stack);
  vs_put_stack_place(t->call, place, stack);
  if (place->bytes.count == 0) vs_records_null(&t->rows);
  else vs_records_str(&t->rows, vs_text_view(place));
  place->bytes.count = 0;
}

/* ---- events ---------------------------------------------------------------------------------------------------- */

static const vs_field event_fields[] = {
    {"device", VS_FIELD_I64},         {"event", VS_FIELD_U64},
    {"action", VS_FIELD_TEXT},        {"address", VS_FIELD_U64},
    {"size_bytes", VS_FIELD_U64},     {"stream", VS_FIELD_U64},
    {"pool_a", VS_FIELD_U64},         {"pool_b", VS_FIELD_U64},
    {"time_us", VS_FIELD_I64},        {"device_free_bytes", VS_FIELD_U64},
    {"category", VS_FIELD_TEXT},      {"compile_context", VS_FIELD_TEXT},
    {"user_metadata", VS_FIELD_TEXT}, {"stack_id", VS_FIELD_U64},
    {"place", VS_FIELD_TEXT},
};

static void put_event(table *t, const vs_slice *slice, uint32_t event) {
  const vs_snapshot *s = slice->snapshot;
  const uint32_t row = vs_slice_row(slice, event);
  const bool is_oom = vs_events_kind(&s->events, row) == VS_EVENT_OOM;
  uint64_t address;
  const bool has_address = vs_event_address(&s->events, row, &address);
  VS_ASSERT(has_address || address == 0);
  vs_records_i64(&t->rows, slice->device);
  vs_records_u64(&t->rows, event);
  put_string(t, s->actions.data[vs_events_action(&s->events, row)]);
  put_known(t, has_address && !is_oom, address);
  vs_records_u64(&t->rows, vs_events_size(&s->events, row));
  put_stream_and_pool(t, vs_events_stream(&s->events, row), vs_events_pool(&s->events, row));
  put_time(t, vs_events_time_us(&s->events, row));
  put_known(t, has_address && is_oom, address);
  put_string(t, vs_events_category(&s->events, row));
  put_string(t, vs_events_compile_context(&s->events, row));
  put_string(t, vs_events_user_metadata(&s->events, row));
  put_stack(t, vs_events_stack(&s->events, row));
  end_row(t);
}

static void put_events(table *t, const vs_slice *slice) {
  const vs_filter *filter = &t->call->request->filter;
  for (uint32_t event = 0; event < slice->event_count; event++) {
    if (!vs_filter_is_empty(filter)) {
      const vs_filter_row row = vs_row_of_event(slice, event);
      if (!vs_filter_keeps(filter, slice->snapshot, &row)) continue;
    }
    put_event(t, slice, event);
  }
}

/* ---- blocks and segments of the end state ---------------------------------------------------------------------- */

static const vs_field block_fields[] = {
    {"device", VS_FIELD_I64},     {"segment_address", VS_FIELD_U64}, {"address", VS_FIELD_U64},
    {"size_bytes", VS_FIELD_U64}, {"requested_bytes", VS_FIELD_U64}, {"state", VS_FIELD_TEXT},
    {"stream", VS_FIELD_U64},     {"pool_a", VS_FIELD_U64},          {"pool_b", VS_FIELD_U64},
    {"stack_id", VS_FIELD_U64},   {"place", VS_FIELD_TEXT},
};

static void put_blocks_of(table *t, const vs_segment *segment) {
  const vs_snapshot *s = t->call->engine->snapshot;
  for (uint32_t i = 0; i < segment->block_count; i++) {
    const vs_block *block = &s->blocks.data[segment->first_block + i];
    const vs_filter_row row = vs_row_of_block(s, segment, block);
    if (!vs_filter_keeps(&t->call->request->filter, s, &row)) continue;
    vs_records_i64(&t->rows, segment->device);
    put_known(t, (vs_snapshot_lacks(s) & VS_LACKS_SEGMENTS) == 0, segment->address);
    put_known(t, vs_block_has_address(s, block), block->address);
    vs_records_u64(&t->rows, block->size);
    vs_records_u64(&t->rows, block->requested_size);
    put_string(t, block->state_name);
    put_stream_and_pool(t, segment->stream, segment->pool);
    put_stack(t, block->stack);
    end_row(t);
  }
}

static const vs_field segment_fields[] = {
    {"device", VS_FIELD_I64},
    {"address", VS_FIELD_U64},
    {"reserved_bytes", VS_FIELD_U64},
    {"allocated_bytes", VS_FIELD_U64},
    {"active_bytes", VS_FIELD_U64},
    {"requested_bytes", VS_FIELD_U64},
    {"largest_hole_bytes", VS_FIELD_U64},
    {"blocks", VS_FIELD_U64},
    {"active_blocks", VS_FIELD_U64},
    {"stream", VS_FIELD_U64},
    {"pool_a", VS_FIELD_U64},
    {"pool_b", VS_FIELD_U64},
    {"segment_type", VS_FIELD_TEXT},
    {"is_expandable", VS_FIELD_BOOL},
    {"stack_id", VS_FIELD_U64},
    {"place", VS_FIELD_TEXT},
};

static void put_segment(table *t, const vs_segment *segment) {
  const vs_snapshot *s = t->call->engine->snapshot;
  const vs_end_sums sums = vs_segment_sums(s, segment);
  const vs_filter_row row = vs_row_of_segment(s, segment, sums.reserved);
  if (!vs_filter_keeps(&t->call->request->filter, s, &row)) return;
  vs_records_i64(&t->rows, segment->device);
  vs_records_u64(&t->rows, segment->address);
  vs_records_u64(&t->rows, sums.reserved);
  vs_records_u64(&t->rows, sums.allocated);
  vs_records_u64(&t->rows, sums.active);
  vs_records_u64(&t->rows, sums.requested);
  vs_records_u64(&t->rows, vs_largest_hole_of(s, segment));
  vs_records_u64(&t->rows, segment->block_count);
  vs_records_u64(&t->rows, sums.allocated_blocks + sums.pending_blocks);
  put_stream_and_pool(t, segment->stream, segment->pool);
  put_string(t, segment->type);
  put_truth(t, (segment->has & VS_SEGMENT_HAS_EXPANDABLE) != 0, segment->is_expandable);
  put_stack(t, segment->stack);
  end_row(t);
}

/* ---- live allocations at a moment ------------------------------------------------------------------------------ */

static const vs_field live_fields[] = {
    {"device", VS_FIELD_I64},       {"address", VS_FIELD_U64},       {"requested_bytes", VS_FIELD_U64},
    {"size_bytes", VS_FIELD_U64},   {"state", VS_FIELD_TEXT},        {"stream", VS_FIELD_U64},
    {"pool_a", VS_FIELD_U64},       {"pool_b", VS_FIELD_U64},        {"category", VS_FIELD_TEXT},
    {"alloc_event", VS_FIELD_U64},  {"alloc_time_us", VS_FIELD_I64}, {"free_event", VS_FIELD_U64},
    {"free_time_us", VS_FIELD_I64}, {"stack_id", VS_FIELD_U64},      {"place", VS_FIELD_TEXT},
};

static void put_event_and_time(table *t, const vs_slice *slice, uint32_t event) {
  put_event_number(t, event);
  put_time(t, event == VS_NO_EVENT ? VS_NO_TIME : vs_slice_time(slice, event));
}

static void put_live_block(table *t, const vs_selection *selection, const vs_lifetime *row) {
  const vs_slice *slice = selection->lifetimes->slice;
  const bool is_at_end = row->block != VS_NO_ROW;
  VS_ASSERT(!is_at_end || row->block < slice->snapshot->blocks.count);
  vs_records_i64(&t->rows, slice->device);
  put_known(t, !is_at_end || vs_block_has_address(slice->snapshot, &slice->snapshot->blocks.data[row->block]),
            row->address);
  vs_records_u64(&t->rows, row->size);
  put_known(t, is_at_end, is_at_end ? slice->snapshot->blocks.data[row->block].size : 0);
  vs_records_str(&t->rows, vs_selection_state(selection, row));
  put_stream_and_pool(t, vs_lifetime_stream(selection->lifetimes, row),
                      vs_lifetime_pool(selection->lifetimes, selection->items.segments, row));
  put_string(t, vs_selection_category(selection, row));
  put_event_and_time(t, slice, row->start);
  put_event_and_time(t, slice, row->free_requested != VS_NO_EVENT ? row->free_requested : row->end);
  put_stack(t, vs_lifetime_stack(selection->lifetimes, row));
  end_row(t);
}

static vs_status put_live(table *t) {
  vs_call *call = t->call;
  vs_selection selection;
  vs_rows rows;
  VS_TRY(vs_selection_build(call, call->device, &selection));
  const vs_status status = vs_selection_by_size(call, &selection, &rows);
  if (status == VS_OK) {
    for (size_t i = 0; i < rows.count; i++)
      put_live_block(t, &selection, &selection.lifetimes->rows.data[rows.data[i]]);
    vs_vec_free(call->engine->host, &rows);
  }
  vs_selection_deinit(call, &selection);
  return status;
}

/* ---- the owners of what is live at a moment: the groups of the method "live" by line -------------------------- */

static const vs_field owner_fields[] = {
    {"device", VS_FIELD_I64},   {"owner", VS_FIELD_TEXT},      {"requested_bytes", VS_FIELD_U64},
    {"blocks", VS_FIELD_U64},   {"block_bytes", VS_FIELD_U64}, {"filter", VS_FIELD_TEXT},
    {"stack_id", VS_FIELD_U64}, {"place", VS_FIELD_TEXT},
};

/* Takes what is in the scratch text. */
static void put_scratch(table *t, bool is_known) {
  vs_text *text = &t->call->scratch;
  if (is_known) vs_records_str(&t->rows, vs_text_view(text));
  else vs_records_null(&t->rows);
  text->bytes.count = 0;
}

static void put_owner(table *t, const vs_group *group) {
  VS_ASSERT(t->call->scratch.bytes.count == 0);
  vs_records_i64(&t->rows, t->call->device->slice->device);
  vs_put_group_label(t->call, VS_BY_LINE, group);
  put_scratch(t, true);
  vs_records_u64(&t->rows, group->bytes);
  vs_records_u64(&t->rows, group->count);
  put_known(t, group->each != 0, group->each);
  put_scratch(t, vs_put_group_filter(t->call, VS_BY_LINE, group));
  put_stack(t, group->stack);
  end_row(t);
}

static vs_status put_owners(table *t) {
  vs_call *call = t->call;
  vs_selection selection;
  vs_groups groups;
  VS_TRY(vs_selection_build(call, call->device, &selection));
  const vs_status status = vs_selection_groups(call, &selection, VS_BY_LINE, &groups);
  if (status == VS_OK) {
    for (size_t i = 0; i < groups.list.count; i++) put_owner(t, &groups.list.data[i]);
    vs_groups_deinit(call->engine->host, &groups);
  }
  vs_selection_deinit(call, &selection);
  return status;
}

/* ---- all allocations, in the order of the method "allocations" by row ------------------------------------------ */

static const vs_field allocation_fields[] = {
    {"device", VS_FIELD_I64},          {"row", VS_FIELD_U64},         {"address", VS_FIELD_U64},
    {"requested_bytes", VS_FIELD_U64}, {"stream", VS_FIELD_U64},      {"pool_a", VS_FIELD_U64},
    {"pool_b", VS_FIELD_U64},          {"category", VS_FIELD_TEXT},   {"alloc_event", VS_FIELD_U64},
    {"alloc_time_us", VS_FIELD_I64},   {"free_event", VS_FIELD_U64},  {"free_time_us", VS_FIELD_I64},
    {"end_event", VS_FIELD_U64},       {"end_time_us", VS_FIELD_I64}, {"stack_id", VS_FIELD_U64},
    {"place", VS_FIELD_TEXT},
};

static void put_allocation(table *t, const vs_items *items, uint32_t row) {
  const vs_item item = vs_item_at(items, row);
  const uint32_t block = items->lifetimes->rows.data[row].block;
  const vs_snapshot *s = items->slice->snapshot;
  vs_records_i64(&t->rows, items->slice->device);
  vs_records_u64(&t->rows, row);
  put_known(t, block == VS_NO_ROW || vs_block_has_address(s, &s->blocks.data[block]), item.address);
  vs_records_u64(&t->rows, item.size);
  put_stream_and_pool(t, item.stream, item.pool);
  put_string(t, item.category);
  put_event_and_time(t, items->slice, item.start);
  put_event_and_time(t, items->slice, item.free_requested != VS_NO_EVENT ? item.free_requested : item.end);
  put_event_and_time(t, items->slice, item.end);
  put_stack(t, item.stack);
  end_row(t);
}

static vs_status put_allocations_of(table *t, vs_device_cache *device) {
  vs_call *call = t->call;
  vs_device_cache *const asked = call->device;
  vs_picture_query query;
  call->request->drawn = VS_DRAWN_allocations;
  call->device = device; /* of the query */
  const vs_status status = vs_picture_query_build(call, &query);
  for (uint32_t row = 0; status == VS_OK && row < query.items.count; row++)
    if (query.bitmap == NULL || vs_filter_bitmap_has(query.bitmap, row)) put_allocation(t, &query.items, row);
  call->device = asked;
  return status;
}

static vs_status put_allocations(table *t) {
  vs_call *call = t->call;
  for (size_t i = 0; i < call->engine->devices.count; i++)
    if (vs_export_covers(call, &call->engine->devices.data[i]))
      VS_TRY(put_allocations_of(t, &call->engine->devices.data[i]));
  return VS_OK;
}

/* ---- a table --------------------------------------------------------------------------------------------------- */

static void put_view(table *t, const vs_slice *slice) {
  const vs_what what = t->call->request->what;
  if (what == VS_WHAT_events) {
    put_events(t, slice);
    return;
  }
  for (uint32_t i = 0; i < slice->segment_count; i++) {
    const vs_segment *segment = &slice->snapshot->segments.data[slice->segments[i]];
    if (what == VS_WHAT_blocks) put_blocks_of(t, segment);
    else put_segment(t, segment);
  }
}

#define TYPE(name, fields) \
  { name, fields, sizeof fields / sizeof *fields }
static const struct {
  vs_record_type type;
  uint32_t keys; /* that a filter may have; 0: those of allocations, which the selection checks */
} tables[] = {
    [VS_WHAT_events] = {TYPE("events", event_fields), VS_EVENT_KEYS},
    [VS_WHAT_blocks] = {TYPE("blocks", block_fields), VS_BLOCK_KEYS},
    [VS_WHAT_segments] = {TYPE("segments", segment_fields), VS_SEGMENT_KEYS},
    [VS_WHAT_live] = {TYPE("live", live_fields), 0},
    [VS_WHAT_owners] = {TYPE("owners", owner_fields), 0},
    [VS_WHAT_allocations] = {TYPE("allocations", allocation_fields), 0},
};
#undef TYPE

const vs_record_type *vs_table_rows_type(vs_what what) {
  VS_ASSERT((size_t)what < sizeof tables / sizeof *tables);
  return &tables[what].type;
}

static vs_status put_all(table *t) {
  vs_call *call = t->call;
  const vs_what what = call->request->what;
  if (what == VS_WHAT_live) return put_live(t);
  if (what == VS_WHAT_owners) return put_owners(t);
  if (what == VS_WHAT_allocations) return put_allocations(t);
  VS_TRY(vs_filter_allow(&call->request->filter, call->engine->snapshot, tables[what].keys,
                         vs_table_rows_type(what)->name, call->error));
  VS_TRY(vs_filter_prepare(&call->request->filter, call->engine->snapshot, &call->engine->frames));
  for (size_t i = 0; i < call->engine->devices.count; i++)
    if (vs_export_covers(call, &call->engine->devices.data[i]))
      put_view(t, call->engine->devices.data[i].slice);
  return VS_OK;
}

vs_status vs_table_rows_put(vs_call *call, const vs_table_rows_sink *sink) {
  table t = {.call = call, .sink = sink, .status = VS_OK};
  vs_records_init(&t.rows, call->engine->host, vs_table_rows_type(call->request->what));
  const vs_status status = put_all(&t);
  if (status == VS_OK) put_batch(&t);
  vs_records_deinit(&t.rows);
  return status == VS_OK ? t.status : status;
}
