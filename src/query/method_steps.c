/* "steps": the steps of the training loop, each with its peaks. */
#include "analyze/allocated.h"
#include "query/reply.h"

/* Step i, from 1 on, is the moments from boundary i - 1 to the one before boundary i. */
static vs_moment_range range_of(const vs_steps *steps, size_t number) {
  return (vs_moment_range){.first = (vs_moment)steps->boundaries.data[number - 1],
                           .last = (vs_moment)steps->boundaries.data[number] - 1};
}

static void write_step(const vs_call *call, size_t number, vs_moment_range range, int64_t allocated,
                       const vs_curve_peaks *peaks) {
  const vs_slice *slice = call->device->slice;
  vs_jsonw *json = call->json;
  vs_jsonw_object_begin(json);
  vs_jsonw_member_u64(json, "step", number);
  vs_jsonw_member_i64(json, "first_event", range.first);
  vs_jsonw_member_i64(json, "last_event", range.last);
  vs_reply_time(json, "first_time_us", vs_slice_time(slice, range.first));
  vs_reply_time(json, "last_time_us", vs_slice_time(slice, range.last));
  vs_jsonw_member_i64(json, "peak_allocated_bytes", allocated);
  vs_jsonw_member_i64(json, "peak_requested_bytes", peaks->peak[VS_CURVE_REQUESTED]);
  vs_reply_reserved(call, "peak_reserved_bytes", peaks->peak[VS_CURVE_RESERVED]);
  vs_jsonw_object_end(json);
}

/* `ranges` and `allocated` have room for `count`. */
static vs_status write_steps(const vs_call *call, const vs_report *r, size_t count, vs_moment_range *ranges,
                             int64_t *allocated) {
  const vs_moment_index *moments;
  vs_curve_cursor cursor = vs_curve_cursor_at_start(call->device->slice, &r->curves);
  for (size_t i = 0; i < count; i++) ranges[i] = range_of(&r->steps, i + 1);
  VS_TRY(vs_cached_moments(call->engine->host, call->device, &moments));
  VS_TRY(vs_allocated_peaks_between(call->engine->host, r->lifetimes, &moments->mappings, ranges, count,
                                    allocated));
  for (size_t i = 0; i < count; i++) {
    const vs_curve_peaks peaks = vs_curve_cursor_peaks(&cursor, ranges[i].first, ranges[i].last);
    write_step(call, i + 1, ranges[i], allocated[i], &peaks);
  }
  return VS_OK;
}

static vs_status measure_and_write(const vs_call *call, const vs_report *r, size_t count) {
  const vs_host *host = call->engine->host;
  VS_VEC(vs_moment_range) ranges = {0};
  VS_VEC(int64_t) allocated = {0};
  vs_status status = vs_vec_reserve(host, &ranges, count);
  if (status == VS_OK) status = vs_vec_reserve(host, &allocated, count);
  if (status == VS_OK) status = write_steps(call, r, count, ranges.data, allocated.data);
  vs_vec_free(host, &allocated);
  vs_vec_free(host, &ranges);
  return status;
}

vs_status vs_method_steps(vs_call *call) {
  vs_report *r;
  vs_status status = VS_OK;
  VS_TRY(vs_cached_report(call->engine->host, call->device, &r));
  const size_t boundaries = r->steps.source == VS_STEPS_NONE ? 0 : r->steps.boundaries.count;
  vs_reply_device(call, call->device);
  if (boundaries == 0) vs_jsonw_member_null(call->json, "source");
  else vs_jsonw_member_str(call->json, "source", vs_str_from(vs_steps_source_name(r->steps.source)));
  vs_jsonw_member_bool(call->json, "allocated_is_exact", r->allocated.is_exact);
  vs_reply_array_begin(call->json, "steps");
  if (boundaries > 1) status = measure_and_write(call, r, boundaries - 1);
  vs_jsonw_array_end(call->json);
  return status;
}
