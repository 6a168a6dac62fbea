/* "libraries": what libraries other than PyTorch's allocator took from the driver, over the time of a recording. */
#include "analyze/library_course.h"
#include "query/reply.h"

static void write_row(const vs_call *call, const vs_library_row *row) {
  vs_jsonw *json = call->json;
  vs_jsonw_object_begin(json);
  vs_jsonw_member_str(json, "library", row->name);
  vs_jsonw_member_u64(json, "at_peak_bytes", row->at_peak);
  vs_jsonw_member_u64(json, "peak_bytes", row->peak);
  vs_jsonw_member_u64(json, "end_bytes", row->now);
  vs_jsonw_object_end(json);
}

static void write_card(const vs_call *call, int32_t device) {
  const vs_recording *recording = &call->engine->snapshot->recording;
  vs_recorded_device card = {.name = VS_STRING_NONE};
  for (size_t i = 0; i < recording->devices.count; i++)
    if (recording->devices.data[i].device == device) card = recording->devices.data[i];
  vs_reply_string(call, "card_name", card.name);
  vs_reply_u64_or_null(call->json, "card_bytes", card.total_bytes != 0, card.total_bytes);
}

/* Microseconds from the beginning of the recording; null where a time is missing. */
static void write_since(const vs_call *call, int64_t time_us) {
  const int64_t wall_us = call->engine->snapshot->recording.wall_us;
  const bool is_known = time_us != VS_NO_TIME && wall_us != VS_NO_TIME && time_us >= wall_us;
  vs_reply_u64_or_null(call->json, "peak_after_us", is_known,
                       is_known ? (uint64_t)time_us - (uint64_t)wall_us : 0);
}

static vs_status write_device(const vs_call *call, int32_t device) {
  vs_engine *engine = call->engine;
  vs_jsonw *json = call->json;
  vs_library_course course;
  const bool has_pytorch = vs_find_device(&engine->devices, device) != NULL;
  VS_TRY(vs_library_course_build(engine->host, engine->snapshot, device, has_pytorch, &course));
  vs_jsonw_object_begin(json);
  vs_jsonw_member_i64(json, "device", device);
  vs_jsonw_member_bool(json, "has_pytorch", has_pytorch);
  write_card(call, device);
  vs_reply_u64_or_null(json, "peak_bytes", course.is_complete, course.peak);
  vs_reply_time(json, "peak_time_us", course.peak_us);
  write_since(call, course.peak_us);
  vs_reply_u64_or_null(json, "end_bytes", course.is_complete, course.end);
  if (course.is_complete) vs_reply_array_begin(json, "libraries");
  else vs_jsonw_member_null(json, "libraries");
  for (size_t i = 0; i < course.list.count; i++) write_row(call, &course.list.data[i]);
  if (course.is_complete) vs_jsonw_array_end(json);
  vs_jsonw_object_end(json);
  vs_library_course_deinit(engine->host, &course);
  return VS_OK;
}

vs_status vs_method_libraries(vs_call *call) {
  const vs_engine *engine = call->engine;
  vs_library_devices devices;
  vs_status status = vs_library_devices_list(engine->host, engine->snapshot, &devices);
  if (status != VS_OK) return status;
  vs_jsonw_member_bool(call->json, "has_pytorch", engine->devices.count != 0);
  vs_reply_array_begin(call->json, "devices");
  for (size_t i = 0; i < devices.count && status == VS_OK; i++) status = write_device(call, devices.data[i]);
  vs_jsonw_array_end(call->json);
  vs_vec_free(engine->host, &devices);
  return status;
}
