#include "faces/cli/frames.h"
#include "faces/cli/screen.h"

vs_frame_kind vs_frame_kind_of(vs_json frame) {
  const vs_str kind = vs_reply_str(frame, "kind");
  if (vs_str_equal(kind, VS_STR("user"))) return VS_FRAME_USER;
  if (vs_str_equal(kind, VS_STR("library"))) return VS_FRAME_LIBRARY;
  return vs_str_equal(kind, VS_STR("native")) ? VS_FRAME_NATIVE : VS_FRAME_NOISE;
}

/* The last part of a path, of either slash. */
static vs_str base_name(vs_str path) {
  size_t start = path.size;
  while (start > 0 && path.data[start - 1] != '/' && path.data[start - 1] != '\\') start--;
  return (vs_str){path.data + start, path.size - start};
}

void vs_frame_put(vs_text *text, vs_json frame) {
  const vs_str function = vs_reply_str(frame, "function"), file = base_name(vs_reply_str(frame, "file"));
  const vs_json line = vs_reply_at(frame, "line");
  if (!vs_reply_is_unknown(line)) {
    vs_screen_safe(text, file);
    vs_text_format(text, ":%D", vs_json_i64(line, 0));
    if (function.size != 0) vs_text_byte(text, ' ');
  } else if (function.size == 0) {
    vs_screen_safe(text, file.size != 0 ? file : VS_STR("??"));
  }
  vs_screen_safe(text, function);
}

vs_json vs_frame_of_stack(vs_json stack) {
  vs_json best = vs_json_at(stack, vs_json_count(stack)); /* absent */
  vs_frame_kind kind = VS_FRAME_NOISE;
  for (size_t i = 0; i < vs_json_count(stack) && kind != VS_FRAME_USER; i++) {
    const vs_json frame = vs_json_at(stack, i);
    const vs_frame_kind found = vs_frame_kind_of(frame);
    if (found <= kind) continue;
    best = frame;
    kind = found;
  }
  return best;
}

void vs_frame_put_stack(vs_text *text, vs_json stack) {
  const vs_json frame = vs_frame_of_stack(stack);
  if (!vs_json_is_absent(frame)) vs_frame_put(text, frame);
  else vs_text_cstr(text, "(no stack recorded)");
}
