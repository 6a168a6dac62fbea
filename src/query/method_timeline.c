/* "timeline": the curves of a device in a requested number of pieces. */
#include "query/reply.h"

/* The range that the pieces cover: by event (from, to], by time [from_us, to_us). */
typedef struct span {
  vs_moment from, to;
  int64_t from_us, to_us;
  const vs_times *times;
  vs_moment before; /* the last moment before the first piece */
  uint32_t pieces;
} span;

typedef VS_VEC(vs_moment) moments;       /* the last one of each piece */
typedef VS_VEC(vs_curve_extent) extents; /* of each piece, including the value before it */

enum { MOST_PIECES = 1 << 20 };

static vs_moment last_before(const vs_times *times, int64_t time_us) {
  return vs_times_first(times, time_us) - 1;
}

static vs_status find_span(const vs_call *call, vs_device_cache *device, span *s) {
  const vs_request *request = call->request;
  VS_TRY(vs_find_moment(call->engine->host, device, request->from, &s->from, call->error));
  VS_TRY(vs_find_moment(call->engine->host, device, request->to, &s->to, call->error));
  if (s->to < s->from) return vs_fail(call->error, VS_BAD_ARGUMENT, VS_NO_OFFSET, "'from' lies behind 'to'");
  const uint64_t points =
      request->points == 0 || request->points > MOST_PIECES ? MOST_PIECES : request->points;
  s->pieces = (uint32_t)vs_min_u64(points, (uint64_t)(s->to - s->from));
  s->before = s->from;
  if (s->pieces == 0) s->pieces = 1;
  if (request->axis == VS_AXIS_event) return VS_OK;

  VS_TRY(vs_cached_times(call->engine->host, device, &s->times));
  const vs_times *times = s->times;
  if (times->first_us == VS_NO_TIME)
    return vs_fail(call->error, VS_NOT_FOUND, VS_NO_OFFSET, "this trace has no times");
  s->from_us = vs_slice_time(device->slice, s->from);
  s->to_us = vs_slice_time(device->slice, s->to);
  if (s->from_us == VS_NO_TIME) s->from_us = times->first_us;
  if (s->to_us == VS_NO_TIME) s->to_us = s->to == VS_AT_START ? times->first_us : times->last_us;
  s->to_us = vs_sat_add_i64(s->to_us, 1);
  if (s->to_us <= s->from_us) s->to_us = s->from_us + (s->from_us < INT64_MAX);
  s->before = last_before(times, s->from_us);
  return VS_OK;
}

/* The last event of piece `p`, by events. */
static vs_moment event_at(const span *s, uint32_t p) {
  VS_ASSERT(p < s->pieces);
  return s->from + (vs_moment)(((uint64_t)p + 1) * (uint64_t)(s->to - s->from) / s->pieces);
}

/* The end of piece `p`, by time. The first pieces are one microsecond longer if the span is not a multiple of their
 * number. */
static int64_t time_at(const span *s, uint32_t p) {
  const uint64_t whole = (uint64_t)s->to_us - (uint64_t)s->from_us;
  VS_ASSERT(p < s->pieces && s->from_us <= s->to_us);
  const uint64_t width = whole / s->pieces, longer = whole % s->pieces;
  const uint64_t until = ((uint64_t)p + 1) * width + vs_min_u64((uint64_t)p + 1, longer);
  return (int64_t)((uint64_t)s->from_us + until - (until != 0));
}

static vs_status find_moments(const vs_host *host, const span *s, moments *out) {
  VS_TRY(vs_vec_reserve(host, out, s->pieces));
  for (uint32_t p = 0; p < s->pieces; p++)
    out->data[out->count++] = s->times == NULL ? event_at(s, p) : last_before(s->times, time_at(s, p) + 1);
  return VS_OK;
}

static void write_axis(const vs_call *call, const vs_slice *slice, const span *s, const moments *ends) {
  vs_jsonw *json = call->json;
  vs_reply_array_begin(json, "event");
  for (size_t p = 0; p < ends->count; p++) vs_jsonw_i64(json, ends->data[p]);
  vs_jsonw_array_end(json);
  vs_reply_array_begin(json, "time_us");
  for (uint32_t p = 0; p < s->pieces; p++) {
    const int64_t time = s->times != NULL ? time_at(s, p) : vs_slice_time(slice, event_at(s, p));
    if (time == VS_NO_TIME) vs_jsonw_null(json);
    else vs_jsonw_i64(json, time);
  }
  vs_jsonw_array_end(json);
}

typedef enum part { PART_LAST, PART_HIGH, PART_LOW } part;

static void write_column(vs_jsonw *json, const char *key, const extents *drawn, part which, bool is_known) {
  vs_reply_array_begin(json, key);
  for (size_t p = 0; p < drawn->count; p++) {
    const vs_curve_extent *piece = &drawn->data[p];
    if (!is_known) vs_jsonw_null(json);
    else vs_jsonw_i64(json, which == PART_LAST ? piece->last : which == PART_HIGH ? piece->high : piece->low);
  }
  vs_jsonw_array_end(json);
}

static void write_curve(const vs_call *call, const char *const keys[3], const vs_curve_index *curve,
                        const span *s, const moments *ends, extents *drawn, bool is_known) {
  vs_curve_reader reader;
  vs_moment before = s->before;
  vs_curve_reader_init(&reader, curve);
  drawn->count = 0;
  for (size_t p = 0; p < ends->count; p++) {
    VS_ASSERT(before <= ends->data[p]);
    drawn->data[drawn->count++] = vs_curve_reader_between(&reader, before, ends->data[p]);
    before = ends->data[p];
  }
  for (size_t i = 0; i < 3; i++) write_column(call->json, keys[i], drawn, (part)i, is_known);
}

static void write_timeline(const vs_call *call, const vs_device_cache *device, const span *s,
                           const vs_curve_index *curves, const moments *ends, extents *drawn) {
  static const char *const keys[VS_CURVE_KINDS][3] = {
      [VS_CURVE_REQUESTED] = {"requested_bytes", "requested_high_bytes", "requested_low_bytes"},
      [VS_CURVE_HELD] = {"held_bytes", "held_high_bytes", "held_low_bytes"},
      [VS_CURVE_RESERVED] = {"reserved_bytes", "reserved_high_bytes", "reserved_low_bytes"},
  };
  vs_jsonw *json = call->json;
  vs_reply_device(call, device);
  vs_jsonw_member_str(json, "axis", call->request->axis == VS_AXIS_time ? VS_STR("time") : VS_STR("event"));
  vs_reply_moment(call, device, "from", s->from);
  vs_reply_moment(call, device, "to", s->to);
  vs_reply_object_begin(json, "columns");
  write_axis(call, device->slice, s, ends);
  for (size_t kind = 0; kind < VS_CURVE_KINDS; kind++)
    write_curve(call, keys[kind], &curves[kind], s, ends, drawn,
                kind != VS_CURVE_RESERVED || vs_reply_knows_segments(call));
  vs_jsonw_object_end(json);
}

vs_status vs_method_timeline(vs_call *call) {
  const vs_host *host = call->engine->host;
  vs_device_cache *device = call->device;
  span s = {0};
  const vs_curve_index *curves;
  moments ends = {0};
  extents drawn = {0};
  VS_TRY(find_span(call, device, &s));
  VS_TRY(vs_cached_curve_indexes(call->engine->host, device, &curves));
  vs_status status = find_moments(host, &s, &ends);
  if (status == VS_OK) status = vs_vec_reserve(host, &drawn, s.pieces);
  if (status == VS_OK) write_timeline(call, device, &s, curves, &ends, &drawn);
  vs_vec_free(host, &ends);
  vs_vec_free(host, &drawn);
  return status;
}
