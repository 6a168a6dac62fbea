/* "allocation": everything about one allocation, or one segment. */
#include "query/picture_query.h"
#include "query/reply.h"

static vs_status find_row(const vs_call *call, const vs_items *items, uint32_t *row) {
  const uint64_t asked = call->request->row;
  *row = (uint32_t)asked;
  if (asked < items->count) return VS_OK;
  return vs_fail(call->error, VS_NOT_FOUND, VS_NO_OFFSET, "there is no row %U: this device has %u %s", asked,
                 items->count, vs_items_name(items->drawn));
}

/* ---- when ------------------------------------------------------------------------------------------------------ */

static void write_times(const vs_call *call, const vs_item *item) {
  vs_jsonw *json = call->json;
  const vs_slice *slice = call->device->slice;
  const int64_t from = item->start == VS_NO_EVENT ? VS_NO_TIME : vs_slice_time(slice, item->start);
  const int64_t to = item->end == VS_NO_EVENT ? VS_NO_TIME : vs_slice_time(slice, item->end);
  const bool has_both = from != VS_NO_TIME && to != VS_NO_TIME;
  const bool has_events = item->start != VS_NO_EVENT && item->end != VS_NO_EVENT;
  vs_reply_event(json, "start_event", item->start);
  vs_reply_time(json, "start_us", from);
  vs_reply_event(json, "free_requested_event", item->free_requested);
  vs_reply_event(json, "end_event", item->end);
  vs_reply_time(json, "end_us", to);
  vs_reply_u64_or_null(json, "lifetime_us", has_both,
                       has_both && to > from ? (uint64_t)to - (uint64_t)from : 0);
  vs_reply_u64_or_null(json, "lifetime_events", has_events, has_events ? item->end - item->start : 0);
  vs_jsonw_member_bool(json, "live_at_end", item->end == VS_NO_EVENT);
}

/* ---- where ----------------------------------------------------------------------------------------------------- */

/* "offset_bytes": the bytes below it in the picture at the moment `at`; null if it is not alive then, or without
 * `at`. */
static vs_status write_offset(vs_call *call, const vs_items *items, const vs_item *item) {
  const vs_picture_query query = {.items = *items};
  const vs_spans *spans;
  vs_moment moment;
  uint64_t offset = 0;
  bool is_there = false;
  if (call->request->at.kind != VS_WHEN_NONE) {
    VS_TRY(vs_find_moment(call->engine->host, call->device, call->request->at, &moment, call->error));
    VS_TRY(vs_picture_query_spans(call, &query, &spans));
    is_there = vs_spans_offset(spans, item->row, moment, &offset);
  }
  vs_reply_u64_or_null(call->json, "offset_bytes", is_there, offset);
  return VS_OK;
}

/* "segment": the mapping that contains an allocation when it begins; null if there is none. */
static void write_segment(const vs_call *call, const vs_items *items, const vs_item *item) {
  vs_jsonw *json = call->json;
  const vs_mappings *mappings = items->mappings;
  const vs_moment at = item->start == VS_NO_EVENT ? VS_AT_START : (vs_moment)item->start;
  for (size_t i = 0; i < mappings->rows.count && items->drawn == VS_DRAWN_allocations; i++) {
    const vs_mapping *mapping = &mappings->rows.data[i];
    if (item->address - mapping->address >= mapping->size || !vs_mapping_is_live(mapping, at)) continue;
    vs_reply_object_begin(json, "segment");
    vs_jsonw_member_u64(json, "row", i);
    vs_jsonw_member_u64(json, "address", mapping->address);
    vs_jsonw_member_u64(json, "size_bytes", mapping->size);
    vs_jsonw_member_str(json, "kind", vs_str_from(vs_segment_kind_name((vs_segment_kind)mapping->kind)));
    vs_jsonw_member_bool(json, "is_expandable", mapping->is_expandable);
    vs_jsonw_object_end(json);
    return;
  }
  vs_jsonw_member_null(json, "segment");
}

/* ---- owner ----------------------------------------------------------------------------------------------------- */

/* Writes a stack as the member `key`. */
static void write_stack(vs_call *call, const char *key, uint32_t stack) {
  vs_jsonw_key(call->json, vs_str_from(key));
  vs_reply_stack_value(call, stack);
}

static void write_forward(const vs_call *call, uint32_t texts) {
  const vs_snapshot *s = call->engine->snapshot;
  vs_jsonw *json = call->json;
  vs_jsonw_key(json, VS_STR("forward_stack"));
  if (texts == VS_LIST_NONE) {
    vs_jsonw_null(json);
    return;
  }
  const vs_list list = vs_lists_at(&s->texts, texts);
  vs_jsonw_array_begin(json);
  for (uint32_t i = 0; i < list.count; i++) vs_jsonw_str(json, vs_snapshot_string(s, list.items[i]));
  vs_jsonw_array_end(json);
}

/* The texts and stacks of its first event, or, for an allocation without events, of its block at the end. */
static void write_origin(vs_call *call, const vs_items *items, const vs_item *item) {
  const vs_slice *slice = items->slice;
  const vs_snapshot *s = slice->snapshot;
  const bool is_segment = items->drawn == VS_DRAWN_segments;
  const uint32_t block = is_segment ? VS_NO_ROW : items->lifetimes->rows.data[item->row].block;
  const uint32_t event = item->start != VS_NO_EVENT ? item->start : VS_NO_EVENT;
  const uint32_t row = event == VS_NO_EVENT ? VS_NO_ROW : vs_slice_row(slice, event);
  const uint32_t ended_by = item->free_requested != VS_NO_EVENT ? item->free_requested : item->end;
  vs_reply_string(call, "category", item->category);
  vs_reply_string(call, "user_metadata",
                  row == VS_NO_ROW ? VS_STRING_NONE : vs_events_user_metadata(&s->events, row));
  vs_reply_string(call, "compile_context",
                  row == VS_NO_ROW ? VS_STRING_NONE : vs_events_compile_context(&s->events, row));
  vs_reply_owner(call, item->stack, item->start == VS_NO_EVENT);
  vs_reply_stack(call, item->stack);
  write_stack(call, "free_stack",
              ended_by == VS_NO_EVENT ? VS_LIST_NONE
                                      : vs_events_stack(&s->events, vs_slice_row(slice, ended_by)));
  write_forward(call, row != VS_NO_ROW     ? vs_events_forward_frames(&s->events, row)
                      : block != VS_NO_ROW ? s->blocks.data[block].forward_frames
                                           : VS_LIST_NONE);
}

static void write_size(const vs_call *call, const vs_items *items, const vs_item *item) {
  const bool is_segment = items->drawn == VS_DRAWN_segments;
  const uint32_t block = is_segment ? VS_NO_ROW : items->lifetimes->rows.data[item->row].block;
  const vs_snapshot *s = call->engine->snapshot;
  vs_reply_u64_or_null(call->json, "address",
                       block == VS_NO_ROW || vs_block_has_address(s, &s->blocks.data[block]), item->address);
  vs_jsonw_member_u64(call->json, "size_bytes", item->size);
  vs_reply_u64_or_null(call->json, "rounded_bytes", block != VS_NO_ROW,
                       block == VS_NO_ROW ? 0 : s->blocks.data[block].size);
}

vs_status vs_method_allocation(vs_call *call) {
  vs_items items;
  uint32_t row;
  VS_TRY(vs_items_init(call->engine->host, call->device, call->request->drawn, &items));
  VS_TRY(find_row(call, &items, &row));
  const vs_item item = vs_item_at(&items, row);
  VS_ASSERT(item.row == row);
  vs_reply_device(call, call->device);
  vs_reply_drawn(call, items.drawn);
  vs_jsonw_member_u64(call->json, "row", row);
  VS_TRY(vs_reply_item_name(call, &items, &item));
  write_size(call, &items, &item);
  write_times(call, &item);
  vs_reply_stream(call, item.stream);
  vs_reply_pool(call, item.pool);
  VS_TRY(write_offset(call, &items, &item));
  write_segment(call, &items, &item);
  write_origin(call, &items, &item);
  return VS_OK;
}
