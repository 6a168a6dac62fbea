#include "base/path.h"

vs_str vs_path_base(vs_str path) {
  size_t start = path.size;
  if (start == 0) return path; /* an empty text may have no bytes to point to */
  while (start > 0 && path.data[start - 1] != '/' && path.data[start - 1] != '\\') start--;
  return (vs_str){path.data + start, path.size - start};
}

bool vs_path_ends_with(vs_str path, vs_str end) {
  if (path.size < end.size || end.size == 0) return false;
  const size_t before = path.size - end.size;
  if (!vs_str_equal((vs_str){path.data + before, end.size}, end)) return false;
  return before == 0 || path.data[before - 1] == '/' || path.data[before - 1] == '\\';
}

bool vs_path_is_library(vs_str path) {
  static const char *const parts[] = {"site-packages", "dist-packages", "/torch/",        "\\torch\\",
                                      "lib/python3",   "\\Lib\\",       "torchinductor_", "__torch__"};
  static const char *const starts[] = {"torch/", "torch\\", "<frozen", "<string>", "<eval_with_key>", "<__"};
  if (vs_str_contains_any(path, parts, sizeof parts / sizeof *parts)) return true;
  for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
    if (vs_str_starts(path, vs_str_from(starts[i]))) return true;
  return false;
}
