/* speedscope's own JSON: one sampled profile, in which each stack is a sample whose weight is its live bytes. */
#include "query/export.h"

static void write_frames(vs_call *call) {
  const vs_snapshot *s = call->engine->snapshot;
  vs_jsonw *json = call->json;
  vs_reply_object_begin(json, "shared");
  vs_reply_array_begin(json, "frames");
  for (int kind = 0; kind < VS_OWNER_frame;
       kind++) { /* entries for stacks without frames, before the frames */
    vs_jsonw_object_begin(json);
    vs_jsonw_member_str(json, "name", vs_str_from(vs_owner_words((vs_owner_kind)kind)));
    vs_jsonw_object_end(json);
  }
  for (uint32_t i = 0; i < s->stacks.frames.count; i++) {
    const vs_frame *frame = &s->stacks.frames.data[i];
    vs_jsonw_object_begin(json);
    vs_jsonw_member_str(json, "name", vs_snapshot_string(s, frame->name));
    vs_jsonw_member_str(json, "file", vs_snapshot_string(s, frame->file));
    if (vs_frames_has_line(&call->engine->frames, i)) vs_jsonw_member_i64(json, "line", frame->line);
    vs_jsonw_object_end(json);
  }
  vs_jsonw_array_end(json);
  vs_jsonw_object_end(json);
}

static void write_sample(vs_call *call, const vs_group *group) {
  const vs_list list = vs_stacks_at(&call->engine->snapshot->stacks, group->stack);
  bool is_empty = true;
  vs_jsonw_array_begin(call->json);
  for (uint32_t i = list.count; i-- > 0;) {
    if (vs_profile_frame(call, list, i) != i) continue;
    vs_jsonw_u64(call->json, (uint64_t)VS_OWNER_frame + list.items[i]);
    VS_ASSERT(list.items[i] < call->engine->snapshot->stacks.frames.count);
    is_empty = false;
  }
  if (is_empty) vs_jsonw_u64(call->json, vs_profile_owner(group));
  vs_jsonw_array_end(call->json);
}

static void write_name(vs_call *call, const char *key, const vs_profile *profile) {
  const vs_engine *engine = call->engine;
  vs_text_str(&call->scratch, (vs_str){engine->name.data, engine->name.count});
  if (profile->device->slice->device == VS_DEVICE_HOST) vs_text_cstr(&call->scratch, ", pinned host memory");
  else vs_text_format(&call->scratch, ", device %d", profile->device->slice->device);
  vs_text_format(&call->scratch, ", after event %D", profile->moment);
  vs_reply_scratch(call, key);
}

static void write_profile(vs_call *call, const vs_profile *profile) {
  vs_jsonw *json = call->json;
  const vs_groups *groups = &profile->groups;
  vs_reply_array_begin(json, "profiles");
  vs_jsonw_object_begin(json);
  vs_jsonw_member_str(json, "type", VS_STR("sampled"));
  write_name(call, "name", profile);
  vs_jsonw_member_str(json, "unit", VS_STR("bytes"));
  vs_jsonw_member_u64(json, "startValue", 0);
  vs_jsonw_member_u64(json, "endValue", groups->bytes);
  vs_reply_array_begin(json, "samples");
  for (size_t i = 0; i < groups->list.count; i++) write_sample(call, &groups->list.data[i]);
  vs_jsonw_array_end(json);
  vs_reply_array_begin(json, "weights");
  for (size_t i = 0; i < groups->list.count; i++) vs_jsonw_u64(json, groups->list.data[i].bytes);
  vs_jsonw_array_end(json);
  vs_jsonw_object_end(json);
  vs_jsonw_array_end(json);
}

vs_status vs_export_speedscope(vs_call *call) {
  vs_profile profile;
  vs_jsonw json;
  VS_TRY(vs_profile_build(call, &profile));
  vs_jsonw_begin(&json, call->text, 0);
  call->json = &json;
  vs_jsonw_object_begin(&json);
  vs_jsonw_member_str(&json, "$schema", VS_STR("https://www.speedscope.app/file-format-schema.json"));
  vs_jsonw_member_str(&json, "exporter", VS_STR("vramscope@" VS_VERSION_TEXT));
  write_name(call, "name", &profile);
  vs_jsonw_member_u64(&json, "activeProfileIndex", 0);
  write_frames(call);
  write_profile(call, &profile);
  vs_jsonw_object_end(&json);
  vs_jsonw_end(&json);
  vs_profile_deinit(call, &profile);
  return VS_OK;
}
