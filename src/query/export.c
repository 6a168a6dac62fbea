#include "query/export.h"

/* ---- text ------------------------------------------------------------------------------------------------------ */

void vs_put_stack_place(const vs_call *call, vs_text *text, uint32_t stack) {
  const uint32_t frame = vs_frames_user(&call->engine->frames, stack);
  if (frame != VS_NO_FRAME) vs_frames_put_owning(&call->engine->frames, text, frame, VS_PATH_SHORT);
}

/* ---- profiles -------------------------------------------------------------------------------------------------- */

vs_status vs_profile_build(vs_call *call, vs_profile *out) {
  vs_selection selection;
  out->device = call->device;
  VS_TRY(vs_selection_build(call, out->device, &selection));
  out->moment = selection.set.moment;
  VS_ASSERT(out->moment >= VS_AT_START && out->moment <= vs_slice_end(out->device->slice));
  const vs_status status =
      vs_groups_build(call->engine->host, selection.lifetimes, selection.set.rows.data,
                      selection.set.rows.count, VS_BY_STACK, &call->engine->frames, &out->groups);
  vs_selection_deinit(call, &selection);
  return status;
}

void vs_profile_deinit(const vs_call *call, vs_profile *profile) {
  vs_groups_deinit(call->engine->host, &profile->groups);
}

uint32_t vs_profile_frame(const vs_call *call, vs_list list, uint32_t at) {
  vs_frames *frames = &call->engine->frames;
  while (at < list.count && vs_frames_kind(frames, list.items[at]) == VS_FRAME_KIND_noise) at++;
  VS_ASSERT(at <= list.count);
  return at;
}

vs_owner_kind vs_profile_owner(const vs_group *group) {
  return group->key < VS_OWNER_frame ? (vs_owner_kind)group->key : VS_OWNER_unrecorded;
}
