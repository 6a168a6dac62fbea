#include "base/path.h"

static bool is_slash(char c) { return c == '/' || c == '\\'; }

vs_str vs_path_base(vs_str path) {
  size_t start = path.size;
  if (start == 0) return path; /* an empty text may have no bytes to point to */
  while (start > 0 && !is_slash(path.data[start - 1])) start--;
  return (vs_str){path.data + start, path.size - start};
}

bool vs_path_ends_with(vs_str path, vs_str end) {
  if (path.size < end.size || end.size == 0) return false;
  const size_t before = path.size - end.size;
  if (!vs_str_equal((vs_str){path.data + before, end.size}, end)) return false;
  return before == 0 || is_slash(path.data[before - 1]);
}

static bool is_base_32(char c) { return (c >= 'a' && c <= 'z') || (c >= '2' && c <= '7'); }

enum { GENERATED_FOLDER = 3, GENERATED_KEY = 52, GENERATED_NAME = GENERATED_FOLDER + GENERATED_KEY + 3 };

vs_str vs_path_generated_name(vs_str path) {
  return (vs_str){path.data + path.size - GENERATED_NAME, GENERATED_NAME};
}

bool vs_path_is_generated(vs_str path) {
  if (path.size <= GENERATED_NAME || !vs_str_ends(path, VS_STR(".py"))) return false;
  const char *folder = vs_path_generated_name(path).data, *key = folder + GENERATED_FOLDER;
  if (!is_slash(folder[-1]) || !is_slash(folder[2]) || key[0] != 'c') return false;
  for (size_t i = 0; i < GENERATED_KEY; i++)
    if (!is_base_32(key[i])) return false;
  return key[1] == folder[0] && key[2] == folder[1];
}

bool vs_path_is_library(vs_str path) {
  static const char *const parts[] = {"site-packages", "dist-packages", "/torch/",        "\\torch\\",
                                      "lib/python3",   "\\Lib\\",       "torchinductor_", "__torch__"};
  static const char *const starts[] = {"torch/", "torch\\", "<frozen", "<string>", "<eval_with_key>", "<__"};
  if (vs_str_contains_any(path, parts, sizeof parts / sizeof *parts)) return true;
  for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
    if (vs_str_starts(path, vs_str_from(starts[i]))) return true;
  return vs_path_is_generated(path);
}
