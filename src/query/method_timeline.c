/* "timeline": the curves of a device in as many pieces as somebody wants to draw. */
#include "query/reply.h"

typedef VS_VEC(vs_curve_piece) pieces;

/* What the pieces cover: by event (first, first + count), by time [from_us, to_us). */
typedef struct span {
  vs_moment from, to;
  uint32_t first, count; /* events */
  int64_t from_us, to_us;
  uint32_t pieces;
} span;

enum { MOST_PIECES = 1 << 20 };

static vs_status find_span(const vs_call *call, vs_view *view, span *s) {
  const vs_request *request = call->request;
  VS_TRY(vs_view_moment(view, request->from, &s->from, call->error));
  VS_TRY(vs_view_moment(view, request->to, &s->to, call->error));
  if (s->to < s->from) return vs_fail(call->error, VS_BAD_ARGUMENT, VS_NO_OFFSET, "'from' lies behind 'to'");
  s->first = (uint32_t)(s->from + 1);
  s->count = (uint32_t)(s->to - s->from);
  const uint64_t points =
      request->points == 0 || request->points > MOST_PIECES ? MOST_PIECES : request->points;
  s->pieces = (uint32_t)vs_min_u64(points, s->count);
  if (s->pieces == 0) s->pieces = 1;
  if (request->axis == VS_AXIS_event) return VS_OK;

  int64_t first_us, last_us;
  if (!vs_view_times(view, &first_us, &last_us))
    return vs_fail(call->error, VS_NOT_FOUND, VS_NO_OFFSET, "this trace has no times");
  s->from_us = vs_slice_time(view->slice, s->from);
  s->to_us = vs_slice_time(view->slice, s->to);
  if (s->from_us == VS_NO_TIME) s->from_us = first_us;
  if (s->to_us == VS_NO_TIME) s->to_us = s->to == VS_AT_START ? first_us : last_us;
  s->to_us = vs_sat_add_i64(s->to_us, 1);
  if (s->to_us <= s->from_us) s->to_us = s->from_us + (s->from_us < INT64_MAX);
  return VS_OK;
}

/* The last event of piece `p`, by events. */
static vs_moment event_at(const span *s, uint32_t p) {
  return s->from + (vs_moment)(((uint64_t)p + 1) * s->count / s->pieces);
}

/* The end of piece `p`, by time: the first pieces are one microsecond longer where the span is no multiple. */
static int64_t time_at(const span *s, uint32_t p) {
  const uint64_t whole = (uint64_t)s->to_us - (uint64_t)s->from_us;
  const uint64_t width = whole / s->pieces, longer = whole % s->pieces;
  const uint64_t until = ((uint64_t)p + 1) * width + vs_min_u64((uint64_t)p + 1, longer);
  return (int64_t)((uint64_t)s->from_us + until - (until != 0));
}

static void write_axis(const vs_call *call, const vs_slice *slice, const span *s) {
  vs_jsonw *json = call->json;
  const bool by_time = call->request->axis == VS_AXIS_time;
  vs_moment event = VS_AT_START;
  vs_reply_array_begin(json, "event");
  for (uint32_t p = 0; p < s->pieces; p++) {
    if (!by_time) event = event_at(s, p);
    /* Times may go backwards for a while: an event without a later time counts with those before it. */
    while (by_time && event < vs_slice_end(slice) && vs_slice_time(slice, event + 1) <= time_at(s, p))
      event++;
    vs_jsonw_i64(json, event);
  }
  vs_jsonw_array_end(json);
  vs_reply_array_begin(json, "time_us");
  for (uint32_t p = 0; p < s->pieces; p++) {
    const int64_t time = by_time ? time_at(s, p) : vs_slice_time(slice, event_at(s, p));
    if (time == VS_NO_TIME) vs_jsonw_null(json);
    else vs_jsonw_i64(json, time);
  }
  vs_jsonw_array_end(json);
}

typedef enum part { PART_LAST, PART_HIGH, PART_LOW } part;

static void write_column(vs_jsonw *json, const char *key, const pieces *drawn, part which) {
  vs_reply_array_begin(json, key);
  for (size_t p = 0; p < drawn->count; p++) {
    const vs_curve_piece *piece = &drawn->data[p];
    vs_jsonw_i64(json, which == PART_LAST ? piece->last : which == PART_HIGH ? piece->high : piece->low);
  }
  vs_jsonw_array_end(json);
}

static void draw(const vs_call *call, const vs_slice *slice, const span *s, const vs_curve *curve,
                 const int64_t *column, pieces *out) {
  const int64_t before = s->from == VS_AT_START ? curve->baseline : column[s->from];
  out->count = s->pieces;
  if (call->request->axis == VS_AXIS_time)
    vs_curve_by_time(slice, column, curve->baseline, s->from_us, s->to_us, out->data, s->pieces);
  else vs_curve_by_event(column, s->first, s->count, before, out->data, s->pieces);
}

static void write_curves(vs_call *call, vs_view *view, const span *s, const vs_curve_columns *columns,
                         pieces *drawn) {
  static const char *const keys[VS_CURVE_KINDS][3] = {
      [VS_CURVE_REQUESTED] = {"requested_bytes", "requested_high_bytes", "requested_low_bytes"},
      [VS_CURVE_HELD] = {"held_bytes", "held_high_bytes", "held_low_bytes"},
      [VS_CURVE_RESERVED] = {"reserved_bytes", "reserved_high_bytes", "reserved_low_bytes"},
  };
  const vs_curves *curves = vs_view_curves(view);
  for (size_t kind = 0; kind < VS_CURVE_KINDS; kind++) {
    draw(call, view->slice, s, &curves->curve[kind], columns->column[kind], drawn);
    for (size_t i = 0; i < 3; i++) write_column(call->json, keys[kind][i], drawn, (part)i);
  }
}

vs_status vs_method_timeline(vs_call *call) {
  const vs_host *host = call->engine->host;
  vs_jsonw *json = call->json;
  vs_view *view = call->view;
  span s = {0};
  const vs_curve_columns *columns;
  pieces drawn = {0};
  VS_TRY(find_span(call, view, &s));
  VS_TRY(vs_view_columns(call->engine, view, &columns));
  VS_TRY(vs_vec_reserve(host, &drawn, s.pieces));
  vs_reply_device(call, view);
  vs_jsonw_member_str(json, "axis", call->request->axis == VS_AXIS_time ? VS_STR("time") : VS_STR("event"));
  vs_reply_moment(call, view, "from", s.from);
  vs_reply_moment(call, view, "to", s.to);
  vs_reply_object_begin(json, "columns");
  write_axis(call, view->slice, &s);
  write_curves(call, view, &s, columns, &drawn);
  vs_jsonw_object_end(json);
  vs_vec_free(host, &drawn);
  return VS_OK;
}
