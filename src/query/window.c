#include "query/window.h"
#include "query/reply.h"

vs_status vs_find_window(vs_call *call, uint64_t columns, const char *name, vs_window *out) {
  const vs_request *request = call->request;
  const vs_times *times = NULL;
  if (columns == 0 || columns > VS_MOST_COLUMNS)
    return vs_fail(call->error, VS_BAD_ARGUMENT, VS_NO_OFFSET, "parameter '%s' has to be from 1 to %d", name,
                   VS_MOST_COLUMNS);
  if (request->axis == VS_AXIS_time) {
    VS_TRY(vs_cached_times(call->engine->host, call->device, &times));
    if (times->first_us == VS_NO_TIME)
      return vs_fail(call->error, VS_NOT_FOUND, VS_NO_OFFSET, "this trace has no times");
  }
  *out = vs_window_whole(call->device->slice, times, (uint32_t)columns);
  VS_ASSERT(out->x0 < out->x1 && out->columns == columns);
  if (request->x0.is_given) out->x0 = request->x0.value;
  if (request->x1.is_given) out->x1 = request->x1.value;
  if (out->x0 < out->x1) return VS_OK;
  return vs_fail(call->error, VS_BAD_ARGUMENT, VS_NO_OFFSET, "'x0' has to be below 'x1'");
}

vs_moment vs_window_moment(const vs_window *window, uint32_t column, vs_moment end) {
  vs_moment first, last;
  if (vs_window_column(window, column, &first, &last)) return last;
  return vs_window_edge(window, column) > vs_window_place(window, VS_AT_START) ? end : VS_AT_START;
}

/* Rounds down and limits to [0, INT64_MAX], above all sizes of memory. */
static uint64_t bytes_of(double value) {
  return value <= 0 ? 0 : value < 9e18 ? (uint64_t)value : (uint64_t)INT64_MAX;
}

vs_status vs_find_bytes(const vs_call *call, uint64_t otherwise, uint64_t *y0, uint64_t *y1) {
  const vs_real low = call->request->y0, high = call->request->y1;
  if (high.is_given && !(low.value < high.value))
    return vs_fail(call->error, VS_BAD_ARGUMENT, VS_NO_OFFSET, "'y0' has to be below 'y1'");
  *y0 = bytes_of(low.value);
  *y1 = high.is_given ? bytes_of(high.value) : otherwise;
  if (*y1 <= *y0) *y1 = *y0 + 1;
  VS_ASSERT(*y0 < *y1);
  return VS_OK;
}

void vs_reply_window(const vs_call *call, const vs_window *window) {
  vs_jsonw *json = call->json;
  const vs_window whole = vs_window_whole(call->device->slice, window->times, 1);
  vs_jsonw_member_str(json, "axis", window->times != NULL ? VS_STR("time") : VS_STR("event"));
  vs_jsonw_member_f64(json, "x0", window->x0);
  vs_jsonw_member_f64(json, "x1", window->x1);
  vs_reply_object_begin(json, "whole");
  vs_jsonw_member_f64(json, "x0", whole.x0);
  vs_jsonw_member_f64(json, "x1", whole.x1);
  vs_jsonw_object_end(json);
}
