/* "events": the trace of a device, event by event. */
#include "query/advice.h"
#include "query/event_list.h"
#include "query/items.h"
#include "query/reply.h"
#include "query/rows.h"

typedef struct range {
  vs_moment from, to;
  uint32_t first, end; /* events [first, end) */
} range;

static vs_status find_range(const vs_call *call, vs_device_cache *device, range *r) {
  VS_TRY(vs_find_moment(call->engine->host, device, call->request->from, &r->from, call->error));
  VS_TRY(vs_find_moment(call->engine->host, device, call->request->to, &r->to, call->error));
  r->first = r->from < 0 ? 0 : (uint32_t)r->from;
  r->end = (uint32_t)(r->to + 1);
  if (r->end < r->first) r->end = r->first;
  VS_ASSERT(r->end <= device->slice->event_count || r->first == r->end);
  return VS_OK;
}

/* The tables that writing an event needs. */
typedef struct writer {
  vs_call *call;
  vs_items allocations, segments;
  vs_curve_reader requested, reserved;
} writer;

/* The allocation or segment that an event is about: "row" and "name"; row is VS_NO_ROW for none. */
static vs_status write_thing(const writer *w, const vs_items *items, uint32_t row) {
  vs_reply_u64_or_null(w->call->json, "row", row != VS_NO_ROW, row);
  if (row != VS_NO_ROW) {
    const vs_item item = vs_item_at(items, row);
    return vs_reply_item_name(w->call, items, &item);
  }
  vs_jsonw_member_null(w->call->json, "name");
  return VS_OK;
}

/* "label": the owner of the event's stack, and "frees": the owner of the allocation that it frees. Both are the
 * owner of the allocation if the event has no stack. */
static void write_owners(vs_call *call, vs_event_kind kind, uint32_t stack, const vs_items *items,
                         uint32_t row) {
  const bool frees =
      row != VS_NO_ROW && (kind == VS_EVENT_FREE_REQUESTED || kind == VS_EVENT_FREE_COMPLETED ||
                           kind == VS_EVENT_SEGMENT_FREE || kind == VS_EVENT_SEGMENT_UNMAP);
  const vs_item item = frees ? vs_item_at(items, row) : (vs_item){.stack = stack};
  const bool is_older = frees && item.start == VS_NO_EVENT;
  if (frees && stack == VS_LIST_NONE) vs_reply_owner(call, item.stack, is_older);
  else vs_reply_owner(call, stack, false);
  if (!frees) {
    vs_jsonw_member_null(call->json, "frees");
    return;
  }
  vs_frames_put_owner(&call->engine->frames, &call->scratch, item.stack, is_older, VS_PATH_SHORT);
  vs_reply_scratch(call, "frees");
}

static vs_status write_event(writer *w, const vs_slice *slice, uint32_t event) {
  vs_call *call = w->call;
  vs_jsonw *json = call->json;
  const vs_events *events = &slice->snapshot->events;
  const uint32_t row = vs_slice_row(slice, event);
  const vs_event_kind kind = vs_events_kind(events, row);
  const bool is_oom = kind == VS_EVENT_OOM;
  uint64_t address;
  const bool has_address = vs_event_address(events, row, &address);
  vs_jsonw_object_begin(json);
  vs_jsonw_member_u64(json, "event", event);
  vs_reply_string(call, "action", slice->snapshot->actions.data[vs_events_action(events, row)]);
  const vs_items *items = vs_is_of_segment(kind) ? &w->segments : &w->allocations;
  const uint32_t item = vs_row_of_event_item(call->device, event);
  VS_ASSERT(item == VS_NO_ROW || item < items->count);
  VS_TRY(write_thing(w, items, item));
  vs_reply_u64_or_null(json, "address", has_address && !is_oom, address);
  vs_jsonw_member_u64(json, "size_bytes", vs_events_size(events, row));
  vs_reply_stream(call, vs_events_stream(events, row));
  vs_reply_pool(call, vs_events_pool(events, row));
  vs_reply_time(json, "time_us", vs_events_time_us(events, row));
  vs_reply_u64_or_null(json, "device_free_bytes", has_address && is_oom, address);
  vs_reply_string(call, "category", vs_events_category(events, row));
  vs_reply_string(call, "compile_context", vs_events_compile_context(events, row));
  vs_reply_string(call, "user_metadata", vs_events_user_metadata(events, row));
  vs_jsonw_member_i64(json, "requested_after_bytes", vs_curve_reader_at(&w->requested, event));
  vs_reply_reserved(call, "reserved_after_bytes", vs_curve_reader_at(&w->reserved, event));
  if (call->request->folded)
    vs_jsonw_member_bool(json, "folded", event + 1 < slice->event_count && vs_is_folded(slice, event + 1));
  write_owners(call, kind, vs_events_stack(events, row), items, item);
  vs_reply_stack(call, vs_events_stack(events, row));
  vs_jsonw_object_end(json);
  return VS_OK;
}

/* Writes the events with numbers [first, end) among those that the filter keeps, which are the ones in the range. */
static vs_status write_events(writer *w, const vs_filter_bitmap *bitmap, uint64_t first, uint64_t end) {
  const vs_request *request = w->call->request;
  const vs_slice *slice = w->call->device->slice;
  first = vs_sat_add_u64(first, request->offset);
  if (request->top != 0) end = vs_min_u64(end, vs_sat_add_u64(first, request->top));
  for (uint64_t n = first; n < end; n++)
    VS_TRY(write_event(w, slice, vs_event_list_nth(slice, bitmap, (uint32_t)n)));
  return VS_OK;
}

static vs_status writer_init(writer *w, vs_call *call) {
  const vs_curve_index *curves;
  w->call = call;
  VS_TRY(vs_items_init(call->engine->host, call->device, VS_DRAWN_allocations, &w->allocations));
  VS_TRY(vs_items_init(call->engine->host, call->device, VS_DRAWN_segments, &w->segments));
  VS_TRY(vs_cached_curve_indexes(call->engine->host, call->device, &curves));
  vs_curve_reader_init(&w->requested, &curves[VS_CURVE_REQUESTED]);
  vs_curve_reader_init(&w->reserved, &curves[VS_CURVE_RESERVED]);
  return VS_OK;
}

static void write_advice(vs_call *call) {
  if (call->device->slice->event_count != 0) {
    vs_jsonw_member_null(call->json, "advice");
    return;
  }
  vs_text_cstr(&call->scratch, "No history was recorded.");
  if (vs_snapshot_lacks(call->engine->snapshot) == 0)
    vs_text_format(&call->scratch, " To record one, %s.", vs_advice_how_to_record);
  vs_reply_scratch(call, "advice");
}

vs_status vs_method_events(vs_call *call) {
  vs_device_cache *device = call->device;
  vs_jsonw *json = call->json;
  const vs_filter_bitmap *bitmap;
  range r;
  writer w;
  VS_TRY(find_range(call, device, &r));
  VS_TRY(vs_event_list_bitmap(call, &bitmap));
  VS_TRY(writer_init(&w, call));
  const uint32_t first = vs_event_list_before(device->slice, bitmap, r.first);
  const uint32_t end = vs_event_list_before(device->slice, bitmap, r.end);
  VS_ASSERT(first <= end && end <= vs_event_list_count(device->slice, bitmap));
  vs_reply_device(call, device);
  vs_reply_moment(call, device, "from", r.from);
  vs_reply_moment(call, device, "to", r.to);
  vs_jsonw_member_u64(json, "offset", call->request->offset);
  vs_reply_array_begin(json, "events");
  VS_TRY(write_events(&w, bitmap, first, end));
  vs_jsonw_array_end(json);
  vs_jsonw_member_u64(json, "count", end - first);
  write_advice(call);
  return VS_OK;
}
