#include "analyze/passes.h"

vs_status vs_passes_init(const vs_host *host, vs_frames *frames, vs_passes *out) {
  const uint32_t stacks = vs_lists_count(&frames->snapshot->stacks.lists);
  *out = (vs_passes){.frames = frames};
  VS_TRY(vs_vec_reserve(host, &out->of_stack, stacks));
  memset(out->of_stack.data, 0, stacks);
  out->of_stack.count = stacks;
  return VS_OK;
}

void vs_passes_deinit(const vs_host *host, vs_passes *passes) { vs_vec_free(host, &passes->of_stack); }

/* Where the interpreter begins a program (script, -m) or a thread. */
static bool is_entry(const vs_snapshot *s, uint32_t frame) {
  const vs_str name = vs_snapshot_string(s, s->stacks.frames.data[frame].name);
  return vs_str_equal(name, VS_STR("<module>")) || vs_str_equal(name, VS_STR("_bootstrap")) ||
         vs_str_equal(name, VS_STR("_run_module_as_main"));
}

/* Whether Python was entered on a thread of autograd. */
static bool is_entered_by_autograd(vs_frames *frames, uint32_t stack) {
  const vs_list list = vs_stacks_at(&frames->snapshot->stacks, stack);
  const uint32_t root = list.count == 0 ? VS_NO_FRAME : list.items[list.count - 1];
  return root != VS_NO_FRAME && vs_frames_kind(frames, root) == VS_FRAME_KIND_library &&
         !is_entry(frames->snapshot, root);
}

static bool is_backward(vs_frames *frames, uint32_t stack) {
  uint32_t place;
  const vs_owner_kind owner = vs_frames_owner(frames, stack, false);
  if (owner != VS_OWNER_frame) return owner == VS_OWNER_backward;
  const uint32_t frame = vs_frames_user(frames, stack);
  return vs_frames_kind(frames, frame) == VS_FRAME_KIND_backward ||
         !vs_frames_user_place(frames, stack, &place) || /* a line of the forward pass, in anomaly mode */
         is_entered_by_autograd(frames, stack);
}

bool vs_passes_is_backward(vs_passes *passes, uint32_t stack) {
  VS_ASSERT(stack < passes->of_stack.count);
  uint8_t *known = &passes->of_stack.data[stack];
  if (*known == 0) *known = is_backward(passes->frames, stack) ? 2 : 1;
  return *known == 2;
}
