/* "find": from an event to the next one that a filter keeps. */
#include "query/reply.h"
#include "query/trace.h"

/* Where the search begins; a number behind the end is as good as the end. */
static vs_status find_place(vs_call *call, vs_moment *out) {
  const vs_when when = call->request->event;
  *out = when.value;
  if (when.kind == VS_WHEN_EVENT) return VS_OK;
  return vs_view_moment(call->engine, call->view, when, out, call->error);
}

/* How many of those that are kept stand before the one looked for; false: there is none. */
static bool find(const vs_call *call, const vs_matches *matches, vs_moment from, uint32_t *ordinal) {
  const vs_slice *slice = call->view->slice;
  const vs_moment end = slice->event_count;
  if (call->request->backwards) {
    const uint32_t until = from < 0 ? 0 : (uint32_t)(from < end ? from + 1 : end);
    *ordinal = vs_trace_before(slice, matches, until) - 1;
    return *ordinal != UINT32_MAX;
  }
  *ordinal = vs_trace_before(slice, matches, (uint32_t)(from < 0 ? 0 : from < end ? from : end));
  return *ordinal < vs_trace_count(slice, matches);
}

vs_status vs_method_find(vs_call *call) {
  const vs_slice *slice = call->view->slice;
  vs_jsonw *json = call->json;
  const vs_matches *matches;
  vs_moment from;
  uint32_t ordinal;
  VS_TRY(find_place(call, &from));
  VS_TRY(vs_trace_matches(call, &matches));
  const bool is_found = find(call, matches, from, &ordinal);
  vs_reply_device(call, call->view);
  vs_reply_u64_or_null(json, "event", is_found, is_found ? vs_trace_nth(slice, matches, ordinal) : 0);
  vs_reply_u64_or_null(json, "ordinal", is_found, ordinal);
  vs_jsonw_member_u64(json, "count", vs_trace_count(slice, matches));
  return VS_OK;
}
