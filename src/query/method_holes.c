/* The method `holes`: reserved and free memory over a window of the trace, and the free blocks by size. */
#include "analyze/holes.h"
#include "query/reply.h"
#include "query/window.h"

typedef VS_VEC(vs_holes_point) points;

static void choose_moments(const vs_window *window, vs_moment end, points *out) {
  for (uint32_t c = 0; c < window->columns; c++)
    out->data[out->count++] = (vs_holes_point){.moment = vs_window_moment(window, c, end)};
}

static void add_bytes(vs_call *call, const char *name, const points *list, size_t offset) {
  double *column = vs_columns_add(&call->columns, name, VS_COLUMN_F64, list->count);
  if (column == NULL) return;
  for (size_t i = 0; i < list->count; i++) {
    uint64_t value;
    memcpy(&value, (const char *)&list->data[i].holes + offset, sizeof value);
    column[i] = (double)value;
  }
}

static void add_columns(vs_call *call, const points *list) {
  vs_columns *columns = &call->columns;
  int32_t *event = vs_columns_add(columns, "point_event", VS_COLUMN_I32, list->count);
  add_bytes(call, "reserved", list, offsetof(vs_holes, reserved));
  add_bytes(call, "active", list, offsetof(vs_holes, active));
  add_bytes(call, "free", list, offsetof(vs_holes, free));
  add_bytes(call, "largest_hole", list, offsetof(vs_holes, largest_hole));
  add_bytes(call, "hole_count", list, offsetof(vs_holes, hole_count));
  add_bytes(call, "pinned", list, offsetof(vs_holes, pinned));
  add_bytes(call, "releasable", list, offsetof(vs_holes, releasable));
  double *classes = vs_columns_add(columns, "class_bytes", VS_COLUMN_F64, list->count * VS_HOLE_CLASSES);
  if (columns->status != VS_OK) return;
  for (size_t i = 0; i < list->count; i++) {
    event[i] = (int32_t)list->data[i].moment;
    for (size_t c = 0; c < VS_HOLE_CLASSES; c++)
      classes[i * VS_HOLE_CLASSES + c] = (double)list->data[i].class_bytes[c];
  }
}

static void write_classes(const vs_call *call) {
  vs_jsonw *json = call->json;
  vs_reply_array_begin(json, "classes");
  for (uint32_t c = 0; c < VS_HOLE_CLASSES; c++) {
    const bool is_last = c + 1 == VS_HOLE_CLASSES;
    vs_jsonw_object_begin(json);
    vs_jsonw_member_u64(json, "from_bytes", vs_hole_class_from(c));
    vs_reply_u64_or_null(json, "below_bytes", !is_last, is_last ? 0 : vs_hole_class_from(c + 1));
    vs_jsonw_object_end(json);
  }
  vs_jsonw_array_end(json);
}

vs_status vs_method_holes(vs_call *call) {
  const vs_host *host = call->engine->host;
  const vs_moment_index *moments;
  vs_window window;
  points list = {0};
  VS_TRY(vs_find_window(call, call->request->points, "points", &window));
  VS_TRY(vs_cached_moments(call->engine->host, call->device, &moments));
  VS_TRY(vs_vec_reserve(host, &list, window.columns));
  choose_moments(&window, vs_slice_end(call->device->slice), &list);
  const vs_status status = vs_holes_course(host, moments, list.data, list.count);
  if (status == VS_OK) {
    vs_reply_device(call, call->device);
    vs_reply_window(call, &window);
    write_classes(call);
    add_columns(call, &list);
  }
  vs_vec_free(host, &list);
  return status;
}
