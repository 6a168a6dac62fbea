/* "marks": the points of interest on the axis of a picture. */
#include "analyze/ooms.h"
#include "query/reply.h"

static void write_moment(const vs_call *call, const char *key, vs_moment moment, int64_t bytes) {
  vs_reply_object_begin(call->json, key);
  vs_jsonw_member_i64(call->json, "event", moment);
  vs_reply_time(call->json, "time_us", vs_slice_time(call->device->slice, moment));
  vs_jsonw_member_i64(call->json, "bytes", bytes);
  vs_jsonw_object_end(call->json);
}

static void write_peaks(const vs_call *call, const vs_curves *curves) {
  const vs_curve *requested = &curves->curve[VS_CURVE_REQUESTED],
                 *reserved = &curves->curve[VS_CURVE_RESERVED];
  write_moment(call, "peak", requested->peak_at, requested->peak);
  if (vs_reply_knows_segments(call)) write_moment(call, "peak_reserved", reserved->peak_at, reserved->peak);
  else vs_jsonw_member_null(call->json, "peak_reserved");
  write_moment(call, "end", vs_slice_end(call->device->slice), requested->end);
}

static void write_rise(const vs_call *call, const vs_rise *rise) {
  vs_reply_object_begin(call->json, "rise");
  vs_jsonw_member_i64(call->json, "from_event", rise->from);
  vs_jsonw_member_i64(call->json, "to_event", rise->to);
  vs_jsonw_member_u64(call->json, "bytes", rise->bytes);
  vs_jsonw_object_end(call->json);
}

/* The request that failed, and what the process had reserved and could reserve then; without segments what it had allocated. */
static void write_failure(const vs_call *call, uint32_t event, vs_curve_reader *reserved) {
  const vs_slice *slice = call->device->slice;
  const int64_t bytes = vs_curve_reader_at(reserved, event);
  uint64_t capacity = 0;
  const bool is_known = vs_oom_capacity(slice, event, bytes > 0 ? (uint64_t)bytes : 0, &capacity);
  vs_jsonw_member_u64(call->json, "requested_bytes",
                      vs_events_size(&slice->snapshot->events, vs_slice_row(slice, event)));
  vs_jsonw_member_i64(call->json, "reserved_bytes", bytes);
  vs_reply_u64_or_null(call->json, "capacity_bytes", is_known, capacity);
}

/* Writes the first `top` events of a kind, and the number of all. */
static void write_events(const vs_call *call, const char *key, const char *count_key, vs_event_kind kind,
                         const vs_curve_index *reserved) {
  const vs_slice *slice = call->device->slice;
  const uint64_t top = call->request->top == 0 ? UINT64_MAX : call->request->top;
  uint64_t count = 0;
  vs_curve_reader reader;
  vs_curve_reader_init(&reader, reserved);
  vs_reply_array_begin(call->json, key);
  for (uint32_t i = 0; i < slice->other_count; i++) {
    const uint32_t event = slice->others[i];
    if (vs_events_kind(&slice->snapshot->events, vs_slice_row(slice, event)) != kind) continue;
    if (count++ >= top) continue;
    vs_jsonw_object_begin(call->json);
    vs_jsonw_member_u64(call->json, "event", event);
    vs_reply_time(call->json, "time_us", vs_slice_time(slice, event));
    if (kind == VS_EVENT_OOM) write_failure(call, event, &reader);
    vs_jsonw_object_end(call->json);
  }
  vs_jsonw_array_end(call->json);
  vs_jsonw_member_u64(call->json, count_key, count);
}

/* The last moment at or before a time. */
static vs_moment moment_at(const vs_times *times, int64_t time_us) {
  return time_us == INT64_MAX ? vs_slice_end(times->slice) : vs_times_first(times, time_us + 1) - 1;
}

static void write_annotation(const vs_call *call, const vs_times *times, const vs_named_range *range) {
  vs_jsonw *json = call->json;
  const bool has_end = range->to_us != INT64_MAX, has_times = times->first_us != VS_NO_TIME;
  vs_jsonw_object_begin(json);
  vs_reply_string(call, "name", range->name);
  vs_jsonw_member_u64(json, "depth", range->depth);
  vs_reply_i64_or_null(json, "begin_event", has_times, has_times ? moment_at(times, range->from_us) : 0);
  vs_reply_i64_or_null(json, "end_event", has_times && has_end,
                       has_times && has_end ? moment_at(times, range->to_us) : 0);
  vs_jsonw_member_i64(json, "begin_us", range->from_us);
  vs_reply_i64_or_null(json, "end_us", has_end, range->to_us);
  vs_jsonw_object_end(json);
}

static void write_annotations(const vs_call *call, const vs_times *times, const vs_named_ranges *named) {
  const size_t count = named->ranges.count, shown = vs_reply_at_most(call, count);
  vs_reply_array_begin(call->json, "annotations");
  for (size_t i = 0; i < shown; i++) write_annotation(call, times, &named->ranges.data[i]);
  vs_jsonw_array_end(call->json);
  vs_jsonw_member_u64(call->json, "annotation_count", count);
}

vs_status vs_method_marks(vs_call *call) {
  vs_device_cache *device = call->device;
  const vs_times *times;
  const vs_named_ranges *named;
  const vs_curve_index *curves;
  VS_TRY(vs_cached_times(call->engine->host, device, &times));
  VS_TRY(vs_cached_ranges(call->engine->host, device, &named));
  VS_TRY(vs_cached_curve_indexes(call->engine->host, device, &curves));
  const vs_rise rise = vs_curve_index_rise(&curves[VS_CURVE_REQUESTED]);
  VS_ASSERT(rise.from <= rise.to);
  vs_reply_device(call, device);
  write_peaks(call, vs_cached_curves(device));
  write_rise(call, &rise);
  write_events(call, "ooms", "oom_count", VS_EVENT_OOM, &curves[VS_CURVE_RESERVED]);
  write_events(call, "snapshots", "snapshot_count", VS_EVENT_SNAPSHOT, &curves[VS_CURVE_RESERVED]);
  write_annotations(call, times, named);
  vs_reply_time(call->json, "first_us", times->first_us);
  vs_reply_time(call->json, "last_us", times->last_us);
  vs_jsonw_member_u64(call->json, "event_count", device->slice->event_count);
  return VS_OK;
}
