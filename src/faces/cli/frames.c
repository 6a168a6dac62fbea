#include "faces/cli/frames.h"
#include "faces/cli/screen.h"

/* "MulBackward0" of "torch::autograd::generated::MulBackward0::apply(...)": the step of the backward pass that a function
 * runs, empty for all others. */
static vs_str backward_step(vs_str function) {
  static const vs_str apply = {"::apply(", 8}, autograd = {"torch::autograd::", 17};
  if (!vs_str_starts(function, autograd)) return VS_STR("");
  size_t start = 0;
  for (size_t i = 0; i + apply.size <= function.size && function.data[i] != '('; i++) {
    const vs_str rest = {function.data + i, function.size - i};
    if (vs_str_starts(rest, apply)) return (vs_str){function.data + start, i - start};
    if (vs_str_starts(rest, VS_STR("::"))) start = i + 2;
  }
  return VS_STR("");
}

vs_frame_kind vs_frame_kind_of(vs_json frame) {
  const vs_str kind = vs_reply_str(frame, "kind");
  if (vs_str_equal(kind, VS_STR("noise"))) return VS_FRAME_NOISE;
  if (vs_reply_is_unknown(vs_reply_at(frame, "line"))) {
    return backward_step(vs_reply_str(frame, "function")).size != 0 ? VS_FRAME_BACKWARD : VS_FRAME_NATIVE;
  }
  return vs_str_equal(kind, VS_STR("user")) ? VS_FRAME_USER : VS_FRAME_LIBRARY;
}

/* The last part of a path, of either slash. */
static vs_str base_name(vs_str path) {
  size_t start = path.size;
  while (start > 0 && path.data[start - 1] != '/' && path.data[start - 1] != '\\') start--;
  return (vs_str){path.data + start, path.size - start};
}

/* The name of a C++ function without its arguments, those of its templates, and what it returns:
 * "at::native::empty_cuda". */
static void put_native(vs_text *text, vs_str name) {
  static const vs_str anonymous = {"(anonymous namespace)::", 23};
  vs_text shortened;
  vs_text_init(&shortened, text->host, NULL);
  unsigned depth = 0;
  for (size_t i = 0; i < name.size; i++) {
    const vs_str rest = {name.data + i, name.size - i};
    if (depth == 0 && vs_str_starts(rest, anonymous)) i += anonymous.size - 1;
    else if (depth == 0 && *rest.data == '(' && shortened.bytes.count != 0) break;
    else if (*rest.data == '<') depth++;
    else if (*rest.data == '>' && depth > 0) depth--;
    else if (depth == 0 && *rest.data == ' ') shortened.bytes.count = 0;
    else if (depth == 0) vs_text_byte(&shortened, (uint8_t)*rest.data);
  }
  const vs_str view = vs_text_view(&shortened);
  vs_screen_safe(text, view.size != 0 ? view : name);
  vs_text_deinit(&shortened);
}

void vs_frame_put(vs_text *text, vs_json frame) {
  const vs_str function = vs_reply_str(frame, "function"), file = base_name(vs_reply_str(frame, "file"));
  const vs_json line = vs_reply_at(frame, "line");
  if (vs_reply_is_unknown(line)) {
    const vs_str step = backward_step(function);
    if (step.size != 0) vs_text_cstr(text, "backward pass, ");
    if (step.size != 0) vs_screen_safe(text, step);
    else if (function.size != 0) put_native(text, function);
    else vs_screen_safe(text, file.size != 0 ? file : VS_STR("??"));
    return;
  }
  vs_screen_safe(text, file);
  vs_text_format(text, ":%D", vs_json_i64(line, 0));
  if (function.size != 0) vs_text_byte(text, ' ');
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
  if (vs_json_is_absent(frame)) vs_text_cstr(text, "(no stack recorded)");
  else vs_frame_put(text, frame);
}

void vs_frame_put_group(vs_text *text, vs_json group) {
  const vs_json key = vs_reply_at(group, "key");
  const bool is_frame =
      vs_json_kind(key) == VS_JSON_OBJECT && !vs_json_is_absent(vs_reply_at(key, "function"));
  if (is_frame && vs_reply_is_unknown(vs_reply_at(key, "line"))) vs_frame_put(text, key);
  else vs_screen_safe(text, vs_reply_str(group, "label"));
}
