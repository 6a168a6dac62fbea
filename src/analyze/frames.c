#include "analyze/frames.h"
#include "base/text.h"

/* What is known of a string, as a function's or as a file's name. */
enum { ASKED = 1, NOISE = 2, NATIVE = 4, LIBRARY = 8, BACKWARD = 16 };

/* Noise: PyTorch's own viewers drop frames by these parts of names and paths (torch/cuda/_memory_viz.py). The last two
 * are the allocators, which every stack asks. Paths count for C++ only, and "_start" only as a whole name: a user's
 * on_train_start() is no noise. */
static const char *const NOISE_IN_NAME[] = {
    "unwind::unwind",
    "CapturedTraceback::gather",
    "gather_with_cpp",
    "__libc_start_main",
    "PyEval_",
    "PyObject_",
    "PyFunction_",
    "CachingAllocator",
    "CachingHostAllocator",
};
static const char *const NOISE_IN_FILE[] = {
    "core/boxing",
    "/Register",
    "/Redispatch",
    "pythonrun.c",
    "Modules/main.c",
    "Objects/call.c",
    "Objects/methodobject.c",
    "pycore_ceval.h",
    "ceval.c",
    "cpython/abstract.h",
};
static const char *const NATIVE_ENDS[] = {
    ".so", ".o", ".a", ".cpp", ".cc", ".cxx", ".c", ".h", ".hpp", ".cu", ".cuh", ".dll", ".pyd", ".dylib",
};
static const char *const LIBRARY_PARTS[] = {
    "site-packages", "dist-packages", "/torch/",        "\\torch\\",
    "lib/python3",   "\\Lib\\",       "torchinductor_", "__torch__",
};
static const char *const LIBRARY_STARTS[] = {"torch/",   "torch\\",         "<frozen",
                                             "<string>", "<eval_with_key>", "<__"};

#define COUNT(list) (sizeof(list) / sizeof *(list))

static bool contains_any(vs_str text, const char *const *parts, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (vs_str_contains(text, vs_str_from(parts[i]))) return true;
  return false;
}

static bool starts_with_any(vs_str text, const char *const *parts, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (vs_str_starts(text, vs_str_from(parts[i]))) return true;
  return false;
}

static bool ends_with_any(vs_str text, const char *const *ends, size_t count) {
  for (size_t i = 0; i < count; i++) {
    const vs_str end = vs_str_from(ends[i]);
    if (text.size >= end.size && vs_str_equal((vs_str){text.data + text.size - end.size, end.size}, end))
      return true;
  }
  return false;
}

vs_str vs_path_base(vs_str path) {
  size_t start = path.size;
  while (start > 0 && path.data[start - 1] != '/' && path.data[start - 1] != '\\') start--;
  return (vs_str){path.data + start, path.size - start};
}

/* No Python function's name has a bracket or two colons; C++ ones with their arguments do. Of what has no name there is the
 * library and the offset. */
static bool is_native_name(vs_str name) {
  return vs_str_contains(name, VS_STR("::")) || vs_str_contains(name, VS_STR("(")) ||
         vs_str_contains(name, VS_STR("+0x")) || vs_str_equal(name, VS_STR("??"));
}

/* A program without extension is a script ("torchrun"), unless it is the interpreter. */
static bool is_native_file(vs_str file) {
  if (file.size == 0 || vs_str_equal(file, VS_STR("??"))) return true;
  if (ends_with_any(file, NATIVE_ENDS, COUNT(NATIVE_ENDS)) || vs_str_contains(file, VS_STR(".so.")))
    return true;
  const vs_str base = vs_path_base(file), py = VS_STR(".py");
  const bool is_script =
      base.size >= py.size && vs_str_equal((vs_str){base.data + base.size - py.size, py.size}, py);
  return vs_str_starts(base, VS_STR("python")) && !is_script;
}

static uint8_t judge_name(vs_str name) {
  uint8_t found = ASKED;
  if (contains_any(name, NOISE_IN_NAME, COUNT(NOISE_IN_NAME)) || vs_str_equal(name, VS_STR("_start")))
    found |= NOISE;
  if (is_native_name(name)) found |= NATIVE;
  if (vs_str_contains(name, VS_STR("torch::autograd::")) && vs_str_contains(name, VS_STR("::apply(")))
    found |= BACKWARD;
  return found;
}

static uint8_t judge_file(vs_str file) {
  uint8_t found = ASKED;
  if (is_native_file(file)) found |= NATIVE;
  if ((found & NATIVE) != 0 && contains_any(file, NOISE_IN_FILE, COUNT(NOISE_IN_FILE))) found |= NOISE;
  if (contains_any(file, LIBRARY_PARTS, COUNT(LIBRARY_PARTS))) found |= LIBRARY;
  if (starts_with_any(file, LIBRARY_STARTS, COUNT(LIBRARY_STARTS))) found |= LIBRARY;
  return found;
}

bool vs_frame_is_python(const vs_snapshot *snapshot, uint32_t frame) {
  const vs_frame *f = &snapshot->stacks.frames.data[frame];
  return !is_native_name(vs_snapshot_string(snapshot, f->name)) &&
         !is_native_file(vs_snapshot_string(snapshot, f->file));
}

static const char *const SOURCE_ENDS[] = {
    ".c", ".cc", ".cpp", ".cxx", ".cu", ".h", ".hh", ".hpp", ".cuh", ".inl",
};

/* A recording of ours has a source file only where the debug information said it, with its line. */
bool vs_frame_has_line(const vs_snapshot *snapshot, uint32_t frame) {
  const vs_frame *f = &snapshot->stacks.frames.data[frame];
  if (f->line <= 0) return false;
  if (snapshot->format == VS_FORMAT_VRAM && snapshot->recording.pid != 0 &&
      ends_with_any(vs_snapshot_string(snapshot, f->file), SOURCE_ENDS, COUNT(SOURCE_ENDS)))
    return true;
  return vs_frame_is_python(snapshot, frame);
}

/* ---- the table ----------------------------------------------------------------------------------------- */

static void clear(uint8_t *bytes, size_t size) {
  if (size > 0) memset(bytes, 0, size);
}

vs_status vs_frames_init(const vs_host *host, const vs_snapshot *snapshot, vs_frames *frames) {
  const size_t strings = vs_strings_count(&snapshot->strings),
               stacks = vs_lists_count(&snapshot->stacks.lists);
  *frames = (vs_frames){.snapshot = snapshot};
  vs_status status = vs_vec_reserve(host, &frames->names, strings);
  if (status == VS_OK) status = vs_vec_reserve(host, &frames->files, strings);
  if (status == VS_OK) status = vs_vec_reserve(host, &frames->users, stacks);
  if (status != VS_OK) {
    vs_frames_deinit(host, frames);
    return status;
  }
  frames->names.count = frames->files.count = strings;
  frames->users.count = stacks;
  clear(frames->names.data, strings);
  clear(frames->files.data, strings);
  clear((uint8_t *)frames->users.data, stacks * sizeof *frames->users.data);
  return VS_OK;
}

void vs_frames_deinit(const vs_host *host, vs_frames *frames) {
  vs_vec_free(host, &frames->names);
  vs_vec_free(host, &frames->files);
  vs_vec_free(host, &frames->users);
}

static uint8_t meaning(vs_frames *frames, uint32_t frame, uint8_t *of_file) {
  const vs_frame *f = &frames->snapshot->stacks.frames.data[frame];
  uint8_t *name = &frames->names.data[f->name], *file = &frames->files.data[f->file];
  if (*name == 0) *name = judge_name(vs_snapshot_string(frames->snapshot, f->name));
  if (*file == 0) *file = judge_file(vs_snapshot_string(frames->snapshot, f->file));
  *of_file = *file;
  return *name;
}

bool vs_frames_is_noise(vs_frames *frames, uint32_t frame) {
  uint8_t file;
  const uint8_t name = meaning(frames, frame, &file);
  return ((name | file) & NOISE) != 0;
}

bool vs_frames_is_library(vs_frames *frames, uint32_t frame) {
  uint8_t file;
  const uint8_t name = meaning(frames, frame, &file);
  return ((name | file) & NATIVE) == 0 && (file & LIBRARY) != 0;
}

static uint32_t find_user(vs_frames *frames, vs_list stack) {
  uint32_t library = VS_NO_FRAME, native = VS_NO_FRAME, backward = VS_NO_FRAME;
  for (uint32_t i = 0; i < stack.count; i++) {
    uint8_t file;
    const uint8_t name = meaning(frames, stack.items[i], &file), all = name | file;
    if ((all & NOISE) != 0) continue;
    if ((all & NATIVE) != 0) {
      if (native == VS_NO_FRAME) native = stack.items[i];
      if (backward == VS_NO_FRAME && (name & BACKWARD) != 0) backward = stack.items[i];
    } else if ((file & LIBRARY) != 0) {
      if (library == VS_NO_FRAME) library = stack.items[i];
    } else {
      return stack.items[i];
    }
  }
  return library != VS_NO_FRAME ? library : backward != VS_NO_FRAME ? backward : native;
}

uint32_t vs_frames_user(vs_frames *frames, uint32_t stack) {
  uint32_t *known = &frames->users.data[stack];
  if (*known == 0) {
    const uint32_t frame = find_user(frames, vs_stacks_at(&frames->snapshot->stacks, stack));
    *known = frame == VS_NO_FRAME ? 1 : frame + 2;
  }
  return *known == 1 ? VS_NO_FRAME : *known - 2;
}
