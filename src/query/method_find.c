/* "find": from an event to the next one that a filter keeps. */
#include "query/event_list.h"
#include "query/reply.h"

/* The event at which the search begins. A number behind the end is allowed; find() limits it. */
static vs_status find_place(vs_call *call, vs_moment *out) {
  const vs_when when = call->request->event;
  *out = when.value;
  if (when.kind == VS_WHEN_EVENT) return VS_OK;
  return vs_find_moment(call->engine->host, call->device, when, out, call->error);
}

/* The number of kept events before the one that is searched; false if there is none. */
static bool find(const vs_call *call, const vs_filter_bitmap *bitmap, vs_moment from, uint32_t *ordinal) {
  const vs_slice *slice = call->device->slice;
  const vs_moment end = slice->event_count;
  if (call->request->backwards) {
    const uint32_t until = from < 0 ? 0 : (uint32_t)(from < end ? from + 1 : end);
    *ordinal = vs_event_list_before(slice, bitmap, until) - 1;
    return *ordinal != UINT32_MAX;
  }
  *ordinal = vs_event_list_before(slice, bitmap, (uint32_t)(from < 0 ? 0 : from < end ? from : end));
  return *ordinal < vs_event_list_count(slice, bitmap);
}

vs_status vs_method_find(vs_call *call) {
  const vs_slice *slice = call->device->slice;
  vs_jsonw *json = call->json;
  const vs_filter_bitmap *bitmap;
  vs_moment from;
  uint32_t ordinal;
  VS_TRY(find_place(call, &from));
  VS_TRY(vs_event_list_bitmap(call, &bitmap));
  const bool is_found = find(call, bitmap, from, &ordinal);
  VS_ASSERT(!is_found || ordinal < vs_event_list_count(slice, bitmap));
  vs_reply_device(call, call->device);
  vs_reply_u64_or_null(json, "event", is_found, is_found ? vs_event_list_nth(slice, bitmap, ordinal) : 0);
  vs_reply_u64_or_null(json, "ordinal", is_found, ordinal);
  vs_jsonw_member_u64(json, "count", vs_event_list_count(slice, bitmap));
  return VS_OK;
}
