#include "diff/files.h"
#include "base/path.h"

static bool is_slash(char c) { return c == '/' || c == '\\'; }

static bool is_absolute(vs_str path) {
  const bool has_drive = path.size > 2 && path.data[1] == ':' && is_slash(path.data[2]);
  return has_drive || (path.size > 0 && is_slash(path.data[0]));
}

static vs_str behind(vs_str path, size_t from) { return (vs_str){path.data + from, path.size - from}; }

/* ---- the user's folder ------------------------------------------------------------------------------------------ */

static vs_str folder_of(vs_str path) {
  const vs_str base = vs_path_base(path);
  return (vs_str){path.data, path.size - base.size};
}

/* The longest folder that both have in common. */
static vs_str common_folder(vs_str folder, vs_str path) {
  size_t same = 0, end = 0;
  while (same < folder.size && same < path.size && folder.data[same] == path.data[same]) {
    same++;
    if (is_slash(folder.data[same - 1])) end = same;
  }
  return (vs_str){folder.data, end};
}

vs_str vs_files_root(const vs_side *side) {
  vs_str root = {NULL, 0};
  for (size_t i = 0; i < side->frames.count; i++) {
    const vs_side_frame *frame = &side->frames.data[i];
    if (!frame->is_user || !is_absolute(frame->file)) continue;
    root = root.data == NULL ? folder_of(frame->file) : common_folder(root, frame->file);
  }
  return root.data == NULL ? VS_STR("") : root;
}

/* ---- names ------------------------------------------------------------------------------------------------------- */

/* Where `part` ends in the path for the last time; 0 if it does not occur. */
static size_t end_of_last(vs_str path, vs_str part) {
  for (size_t at = path.size >= part.size ? path.size - part.size + 1 : 0; at-- > 0;)
    if (vs_str_equal((vs_str){path.data + at, part.size}, part)) return at + part.size;
  return 0;
}

/* Behind the folder whose name begins with the end of `part`: "lib/python3" is the beginning of "lib/python3.12/". */
static size_t behind_folder(vs_str path, const char *part) {
  size_t at = end_of_last(path, vs_str_from(part));
  if (at == 0) return 0;
  while (at < path.size && !is_slash(path.data[at])) at++;
  return at < path.size ? at + 1 : 0;
}

static vs_str library_name(vs_str path) {
  static const char *const folders[] = {"site-packages", "dist-packages", "torchinductor_", "lib/python3",
                                        "\\Lib"};
  if (vs_path_is_generated(path)) return vs_path_generated_name(path);
  for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
    const size_t at = behind_folder(path, folders[i]);
    if (at != 0) return behind(path, at);
  }
  const size_t torch = end_of_last(path, VS_STR("/torch/")); /* a checkout of PyTorch */
  return torch == 0 ? path : behind(path, torch - (sizeof "torch/" - 1));
}

static vs_str name_of(vs_str root, const vs_side_frame *frame) {
  const vs_str file = frame->file;
  if (frame->is_user) return root.size != 0 && vs_str_starts(file, root) ? behind(file, root.size) : file;
  if (frame->is_python) return library_name(file);
  return frame->line == VS_SIDE_NO_LINE ? VS_STR("") : file;
}

void vs_files_put(vs_text *text, vs_str root, const vs_side_frame *frame) {
  const vs_str name = name_of(root, frame);
  for (size_t i = 0; i < name.size; i++)
    vs_text_byte(text, name.data[i] == '\\' ? '/' : (uint8_t)name.data[i]);
}

vs_status vs_files_intern(const vs_host *host, vs_strings *strings, vs_str root, const vs_side_frame *frame,
                          uint32_t *id) {
  vs_text text;
  vs_text_init(&text, host, NULL);
  vs_files_put(&text, root, frame);
  vs_status status = text.status;
  if (status == VS_OK) status = vs_strings_intern(host, strings, vs_text_view(&text), id);
  vs_text_deinit(&text);
  return status;
}
