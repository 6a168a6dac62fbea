/* "info": the contents of the file, without any analysis. */
#include "base/double_text.h"
#include "query/reply.h"

static void write_annotations(const vs_call *call, const vs_named_ranges *named) {
  vs_jsonw *json = call->json;
  const size_t shown = vs_reply_at_most(call, named->ranges.count);
  vs_reply_array_begin(json, "annotations");
  for (size_t i = 0; i < shown; i++) {
    const vs_named_range *range = &named->ranges.data[i];
    vs_jsonw_object_begin(json);
    vs_reply_string(call, "name", range->name);
    vs_jsonw_member_i64(json, "start_us", range->from_us);
    vs_reply_i64_or_null(json, "end_us", range->to_us != INT64_MAX, range->to_us);
    vs_jsonw_member_u64(json, "depth", range->depth);
    vs_jsonw_object_end(json);
  }
  vs_jsonw_array_end(json);
  vs_jsonw_member_u64(json, "annotation_count", named->ranges.count);
}

static vs_status write_device(const vs_call *call, vs_device_cache *device) {
  const vs_slice *slice = device->slice;
  const vs_snapshot *s = slice->snapshot;
  vs_jsonw *json = call->json;
  const vs_named_ranges *named;
  uint64_t blocks = 0;
  const vs_times *times;
  for (uint32_t i = 0; i < slice->segment_count; i++)
    blocks += s->segments.data[slice->segments[i]].block_count;
  VS_TRY(vs_cached_times(call->engine->host, device, &times));
  VS_TRY(vs_cached_ranges(call->engine->host, device, &named));
  vs_jsonw_object_begin(json);
  vs_reply_device(call, device);
  vs_jsonw_member_u64(json, "events", slice->event_count);
  vs_reply_cached(call, "segments", slice->segment_count);
  vs_jsonw_member_u64(json, "blocks", blocks);
  vs_reply_cached(call, "reserved_bytes", device->reserved);
  vs_reply_reserved(call, "peak_reserved_bytes", vs_cached_curves(device)->curve[VS_CURVE_RESERVED].peak);
  vs_jsonw_member_u64(json, "ooms", vs_cached_failures(device)->count);
  vs_reply_time(json, "first_time_us", times->first_us);
  vs_reply_time(json, "last_time_us", times->last_us);
  write_annotations(call, named);
  vs_jsonw_object_end(json);
  return VS_OK;
}

static vs_status write_devices(const vs_call *call) {
  vs_engine *engine = call->engine;
  vs_device_cache *host = NULL;
  vs_reply_array_begin(call->json, "devices");
  for (size_t i = 0; i < engine->devices.count; i++) {
    vs_device_cache *device = &engine->devices.data[i];
    if (device->slice->device == VS_DEVICE_HOST) host = device;
    else VS_TRY(write_device(call, device));
  }
  vs_jsonw_array_end(call->json);
  vs_jsonw_key(call->json, VS_STR("host"));
  if (host != NULL) return write_device(call, host);
  vs_jsonw_null(call->json);
  return VS_OK;
}

static void write_setting(const vs_call *call, const vs_setting *setting) {
  vs_jsonw *json = call->json;
  switch ((vs_setting_kind)setting->kind) {
    case VS_SETTING_NONE: vs_jsonw_null(json); break;
    case VS_SETTING_BOOL: vs_jsonw_bool(json, setting->bits != 0); break;
    case VS_SETTING_INT: vs_jsonw_i64(json, (int64_t)setting->bits); break;
    case VS_SETTING_REAL: vs_jsonw_f64(json, vs_f64_from_bits(setting->bits)); break;
    case VS_SETTING_STRING:
      vs_jsonw_str(json, vs_snapshot_string(call->engine->snapshot, (uint32_t)setting->bits));
      break;
    case VS_SETTING_DICT: vs_jsonw_object_begin(json); break;
  }
}

/* The entries of a nested dict follow it with depth one more. */
static void write_settings(const vs_call *call) {
  const vs_snapshot *s = call->engine->snapshot;
  if ((s->has & VS_HAS_SETTINGS) == 0) {
    vs_jsonw_member_null(call->json, "settings");
    return;
  }
  vs_reply_object_begin(call->json, "settings");
  uint32_t depth = 0;
  for (size_t i = 0; i < s->settings.count; i++) {
    const vs_setting *setting = &s->settings.data[i];
    for (; depth > setting->depth; depth--) vs_jsonw_object_end(call->json);
    VS_ASSERT(depth == setting->depth);
    vs_jsonw_key(call->json, vs_snapshot_string(s, setting->key));
    write_setting(call, setting);
    depth += setting->kind == VS_SETTING_DICT;
  }
  for (; depth > 0; depth--) vs_jsonw_object_end(call->json);
  vs_jsonw_object_end(call->json);
}

vs_status vs_method_info(vs_call *call) {
  const vs_snapshot *s = call->engine->snapshot;
  const vs_device_cache *best = vs_default_device(&call->engine->devices);
  vs_reply_file(call);
  vs_reply_i64_or_null(call->json, "default_device", best != NULL, best != NULL ? best->slice->device : 0);
  VS_TRY(write_devices(call));
  write_settings(call);
  vs_jsonw_member_u64(call->json, "frames", s->stacks.frames.count);
  vs_jsonw_member_u64(call->json, "stacks", vs_lists_count(&s->stacks.lists) - VS_LIST_EMPTY - 1);
  vs_jsonw_member_u64(call->json, "trailing_bytes", s->trailing_bytes);
  return VS_OK;
}
