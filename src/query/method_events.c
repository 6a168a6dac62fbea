/* "events": the trace of a device, event by event. */
#include "query/reply.h"
#include "query/rows.h"

typedef struct range {
  vs_moment from, to;
  uint32_t first, end; /* events [first, end) */
} range;

static vs_status find_range(const vs_call *call, vs_view *view, range *r) {
  VS_TRY(vs_view_moment(view, call->request->from, &r->from, call->error));
  VS_TRY(vs_view_moment(view, call->request->to, &r->to, call->error));
  r->first = r->from < 0 ? 0 : (uint32_t)r->from;
  r->end = (uint32_t)(r->to + 1);
  if (r->end < r->first) r->end = r->first;
  return VS_OK;
}

static void write_event(const vs_call *call, const vs_slice *slice, uint32_t event,
                        const vs_curve_columns *columns) {
  vs_jsonw *json = call->json;
  const vs_events *events = &slice->snapshot->events;
  const uint32_t row = vs_slice_row(slice, event);
  const bool is_oom = vs_events_kind(events, row) == VS_EVENT_OOM;
  uint64_t address;
  const bool has_address = vs_event_address(events, row, &address);
  vs_jsonw_object_begin(json);
  vs_jsonw_member_u64(json, "event", event);
  vs_reply_string(call, "action", slice->snapshot->actions.data[vs_events_action(events, row)]);
  vs_reply_u64_or_null(json, "address", has_address && !is_oom, address);
  vs_jsonw_member_u64(json, "size_bytes", vs_events_size(events, row));
  vs_reply_stream(call, vs_events_stream(events, row));
  vs_reply_pool(call, vs_events_pool(events, row));
  vs_reply_time(json, "time_us", vs_events_time_us(events, row));
  vs_reply_u64_or_null(json, "device_free_bytes", has_address && is_oom, address);
  vs_reply_string(call, "category", vs_events_category(events, row));
  vs_reply_string(call, "compile_context", vs_events_compile_context(events, row));
  vs_reply_string(call, "user_metadata", vs_events_user_metadata(events, row));
  vs_jsonw_member_i64(json, "requested_after_bytes", columns->column[VS_CURVE_REQUESTED][event]);
  vs_jsonw_member_i64(json, "reserved_after_bytes", columns->column[VS_CURVE_RESERVED][event]);
  vs_reply_stack(call, vs_events_stack(events, row));
  vs_jsonw_object_end(json);
}

/* Writes the rows and returns how many the filter keeps. */
static uint64_t write_events(const vs_call *call, const vs_slice *slice, const range *r,
                             const vs_curve_columns *columns) {
  const vs_request *request = call->request;
  const bool keeps_all = vs_filter_is_empty(&request->filter);
  const uint64_t end = request->top == 0 ? UINT64_MAX : vs_sat_add_u64(request->offset, request->top);
  uint64_t kept = 0;
  for (uint32_t event = r->first; event < r->end; event++) {
    if (keeps_all && kept >= end) return r->end - r->first;
    if (!keeps_all) {
      const vs_filter_row row = vs_row_of_event(slice, event);
      if (!vs_filter_keeps(&request->filter, slice->snapshot, &row)) continue;
    }
    if (kept >= request->offset && kept < end) write_event(call, slice, event, columns);
    kept++;
  }
  return kept;
}

vs_status vs_method_events(vs_call *call) {
  vs_view *view = call->view;
  range r;
  const vs_curve_columns *columns;
  vs_jsonw *json = call->json;
  VS_TRY(find_range(call, view, &r));
  VS_TRY(vs_filter_allow(&call->request->filter, VS_EVENT_KEYS, "events", call->error));
  VS_TRY(vs_filter_prepare(&call->request->filter, call->engine->snapshot));
  VS_TRY(vs_view_columns(call->engine, view, &columns));
  vs_reply_device(call, view);
  vs_reply_moment(call, view, "from", r.from);
  vs_reply_moment(call, view, "to", r.to);
  vs_jsonw_member_u64(json, "offset", call->request->offset);
  vs_reply_array_begin(json, "events");
  const uint64_t count = write_events(call, view->slice, &r, columns);
  vs_jsonw_array_end(json);
  vs_jsonw_member_u64(json, "count", count);
  return VS_OK;
}
