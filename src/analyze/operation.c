#include "analyze/operation.h"

/* "addmm" of "at::_ops::addmm::call(...)" and "addmm.out" of "at::_ops::addmm_out::call(...)" as PyTorch writes it; empty for others. */
static vs_str dispatched(vs_str function) {
  const vs_str prefix = VS_STR("at::_ops::");
  if (!vs_str_starts(function, prefix)) return VS_STR("");
  const vs_str rest = {function.data + prefix.size, function.size - prefix.size};
  size_t size = 0;
  while (size < rest.size && rest.data[size] != ':') size++;
  const vs_str behind = {rest.data + size, rest.size - size};
  const bool runs =
      vs_str_starts(behind, VS_STR("::call(")) || vs_str_starts(behind, VS_STR("::redispatch("));
  return runs ? (vs_str){rest.data, size} : VS_STR("");
}

static bool is_python(vs_frame_kind kind) {
  return kind == VS_FRAME_KIND_user || kind == VS_FRAME_KIND_library;
}

typedef struct callees {
  vs_str dispatched;         /* the outermost below the innermost frame of Python */
  uint32_t backward, native; /* innermost ones; VS_NO_FRAME: none */
  uint32_t python;
} callees;

static callees look(vs_frames *frames, vs_list stack) {
  callees found = {
      .dispatched = VS_STR(""), .backward = VS_NO_FRAME, .native = VS_NO_FRAME, .python = VS_NO_FRAME};
  for (uint32_t i = 0; i < stack.count && found.python == VS_NO_FRAME; i++) {
    const uint32_t frame = stack.items[i];
    const vs_frame_kind kind = vs_frames_kind(frames, frame);
    if (vs_frames_is_border(frames, frame)) break;
    if (kind == VS_FRAME_KIND_noise) continue;
    const vs_str name =
        dispatched(vs_snapshot_string(frames->snapshot, frames->snapshot->stacks.frames.data[frame].name));
    if (name.size != 0) found.dispatched = name;
    if (kind == VS_FRAME_KIND_backward && found.backward == VS_NO_FRAME) found.backward = frame;
    if (kind == VS_FRAME_KIND_native && found.native == VS_NO_FRAME) found.native = frame;
    if (is_python(kind)) found.python = frame;
  }
  return found;
}

void vs_put_operation(vs_frames *frames, vs_text *text, uint32_t stack) {
  const callees found = look(frames, vs_stacks_at(&frames->snapshot->stacks, stack));
  if (found.dispatched.size != 0) {
    vs_text_cstr(text, "aten::");
    vs_text_str(text, found.dispatched);
    return;
  }
  const uint32_t frame = found.backward != VS_NO_FRAME ? found.backward
                         : found.python != VS_NO_FRAME ? found.python
                                                       : found.native;
  if (frame != VS_NO_FRAME) vs_frames_put_name(frames, text, frame);
}
