#include "analyze/frames.h"
#include "base/sort.h"

/* Facts about a string as a function's name or as a file's name. NATIVE_... hold only in a frame that is not Python. */
enum {
  ASKED = 1,
  NOISE = 2,
  NATIVE = 4,
  LIBRARY = 8,
  BACKWARD = 16,
  NATIVE_NOISE = 32,
  NATIVE_LIBRARY = 64,
  HAS_LINES = 128 /* a source file, so a C++ frame's line is a line of it */
};

static const char *const KINDS[] = {
#define VS_FRAME_KIND(name, sentence) #name,
#include "analyze/frame_kinds.def"
#undef VS_FRAME_KIND
};

const char *vs_frame_kind_name(vs_frame_kind kind) {
  VS_ASSERT((size_t)kind < sizeof KINDS / sizeof *KINDS);
  return KINDS[kind];
}

/* Noise: PyTorch's own viewers drop frames by these parts of names and paths (torch/cuda/_memory_viz.py). The last
 * two are the allocators, which are in every stack. Paths count for C++ only. */
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
/* The beginnings of our own allocator's functions, and of the operations that only allocate, as profiler traces name them; and, as whole
 * names, the functions that start a program or a thread. Python functions may have the same names, so these count for C++ only. */
static const char *const NATIVE_NOISE_STARTS[] = {"vs_live_", "vs_torch_", "__libc_start_", "aten::empty"};
static const char *const NATIVE_NOISE_NAMES[] = {
    "_start",        "clone",        "clone3",
    "__clone",       "__clone3",     "__GI___clone",
    "__GI___clone3", "start_thread", "execute_native_thread_routine",
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
static const char *const SOURCE_ENDS[] = {
    ".c", ".cc", ".cpp", ".cxx", ".cu", ".h", ".hh", ".hpp", ".cuh", ".inl", ".rs", ".S",
};
static const char *const NATIVE_ENDS[] = {".so", ".o", ".a", ".dll", ".pyd", ".dylib"};
/* In a program without Python: names and paths that are not its own code. The last four paths are folders of glibc. */
static const char *const NATIVE_LIBRARY_NAMES[] = {
    "std::", "__gnu_cxx::", "at::", "c10::", "torch::", "caffe2::", "pybind11::", "thrust::", "cub::"};
static const char *const NATIVE_LIBRARY_FILES[] = {"/usr/", "../sysdeps/", "../csu/", "./nptl/", "./stdlib/"};

#define COUNT(list) (sizeof(list) / sizeof *(list))

static bool starts_with_any(vs_str text, const char *const *parts, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (vs_str_starts(text, vs_str_from(parts[i]))) return true;
  return false;
}

static bool ends_with_any(vs_str text, const char *const *ends, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (vs_str_ends(text, vs_str_from(ends[i]))) return true;
  return false;
}

/* Names of Python functions have no bracket and no "::"; those of C++ functions with their arguments have. A C++
 * function without a name is shown as library and offset. */
static bool is_native_name(vs_str name) {
  return vs_str_contains(name, VS_STR("::")) || vs_str_contains(name, VS_STR("(")) ||
         vs_str_contains(name, VS_STR("+0x")) || vs_str_equal(name, VS_STR("??"));
}

/* A file without extension is a script ("torchrun"), unless it is the interpreter. */
static bool is_native_file(vs_str file) {
  if (file.size == 0 || vs_str_equal(file, VS_STR("??"))) return true;
  if (ends_with_any(file, NATIVE_ENDS, COUNT(NATIVE_ENDS)) ||
      ends_with_any(file, SOURCE_ENDS, COUNT(SOURCE_ENDS)) || vs_str_contains(file, VS_STR(".so.")))
    return true;
  const vs_str base = vs_path_base(file), py = VS_STR(".py");
  const bool is_script =
      base.size >= py.size && vs_str_equal((vs_str){base.data + base.size - py.size, py.size}, py);
  return vs_str_starts(base, VS_STR("python")) && !is_script;
}

/* ---- names of C++ functions ----------------------------------------------------------------------------- */

static bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* The end of "operator<<", "operator()" or "operator bool" if one begins at `at`, because its brackets enclose no
 * arguments; else `at`. */
static size_t behind_operator(vs_str name, size_t at) {
  static const vs_str word = {"operator", 8}, call = {"()", 2};
  VS_ASSERT(at < name.size);
  if (name.data[at] != *word.data || !vs_str_starts((vs_str){name.data + at, name.size - at}, word))
    return at;
  size_t end = at + word.size;
  if ((at > 0 && is_word(name.data[at - 1])) || (end < name.size && is_word(name.data[end]))) return at;
  if (vs_str_starts((vs_str){name.data + end, name.size - end}, call)) return end + call.size;
  const bool converts = end < name.size && name.data[end] == ' '; /* "operator bool" */
  while (end < name.size && name.data[end] != '(' && (converts || name.data[end] != ' ')) end++;
  return end;
}

/* A walk over the characters of a C++ name that are outside of template arguments. */
typedef struct walk {
  vs_str name;
  size_t at, size; /* the current part: one character, or an operator with its brackets */
  unsigned depth;
} walk;

static inline bool step(walk *w) {
  static const vs_str anonymous = {"(anonymous namespace)::", 23};
  for (w->at += w->size; w->at < w->name.size; w->at += w->size) {
    const vs_str rest = {w->name.data + w->at, w->name.size - w->at};
    w->size = 1;
    if (w->depth == 0 && *rest.data == '(' && vs_str_starts(rest, anonymous)) {
      w->size = anonymous.size;
    } else if (w->depth == 0 && behind_operator(w->name, w->at) != w->at) {
      w->size = behind_operator(w->name, w->at) - w->at;
      return true;
    } else if (*rest.data == '<') {
      w->depth++;
    } else if (vs_str_starts(rest, VS_STR(" <"))) {
      /* the template arguments of an operator */
    } else if (*rest.data == '>' && w->depth > 0) {
      w->depth--;
    } else if (w->depth == 0) {
      return true;
    }
  }
  return false;
}

/* The qualified name, with template arguments, but without the return type and the arguments. */
static vs_str qualified(vs_str function) {
  size_t start = 0, end = function.size;
  for (walk w = {.name = function}; step(&w);) {
    const char c = function.data[w.at];
    if (w.size > 1) continue;
    if (c == ' ') start = w.at + 1;
    if (c != '(' || w.at == start) continue;
    end = w.at;
    break;
  }
  VS_ASSERT(start <= end && end <= function.size);
  return (vs_str){function.data + start, end - start};
}

void vs_put_function(vs_text *text, vs_str function) {
  const vs_str name = qualified(function);
  const size_t before = text->bytes.count;
  size_t from = 0, to = 0; /* the parts of a run are put at once */
  for (walk w = {.name = name}; step(&w); to = w.at + w.size) {
    if (w.at == to) continue;
    vs_text_put(text, name.data + from, to - from);
    from = w.at;
  }
  vs_text_put(text, name.data + from, to - from);
  if (text->bytes.count == before) vs_text_str(text, function);
}

/* vs_autograd_node of a qualified name. */
static vs_str node_of(vs_str name) {
  static const vs_str autograd = {"torch::autograd::", 17}, engine = {"Engine::", 8}, apply = {"apply", 5};
  size_t node = 0, node_end = 0, last = 0; /* offsets of the last two parts of the name */
  if (!vs_str_starts(name, autograd)) return VS_STR("");
  if (vs_str_starts((vs_str){name.data + autograd.size, name.size - autograd.size}, engine))
    return (vs_str){name.data + autograd.size, name.size - autograd.size};
  for (walk w = {.name = name}; step(&w);) {
    if (!vs_str_starts((vs_str){name.data + w.at, name.size - w.at}, VS_STR("::"))) continue;
    node = last;
    node_end = w.at;
    last = w.at + 2;
  }
  if (node < autograd.size || !vs_str_equal((vs_str){name.data + last, name.size - last}, apply))
    return VS_STR("");
  for (size_t i = node; i < node_end; i++)
    if (name.data[i] == '<') node_end = i;
  return (vs_str){name.data + node, node_end - node};
}

vs_str vs_autograd_node(vs_str function) { return node_of(qualified(function)); }

/* ---- what strings mean ------------------------------------------------------------------------------------ */

static uint8_t judge_name(vs_str name) {
  uint8_t found = ASKED;
  if (vs_str_contains_any(name, NOISE_IN_NAME, COUNT(NOISE_IN_NAME))) found |= NOISE;
  if (starts_with_any(name, NATIVE_NOISE_STARTS, COUNT(NATIVE_NOISE_STARTS))) found |= NATIVE_NOISE;
  for (size_t i = 0; i < COUNT(NATIVE_NOISE_NAMES); i++)
    if (vs_str_equal(name, vs_str_from(NATIVE_NOISE_NAMES[i]))) found |= NATIVE_NOISE;
  if (is_native_name(name)) found |= NATIVE;
  if ((found & NATIVE) == 0) return found;
  const vs_str plain = qualified(name);
  if (vs_str_contains(plain, VS_STR("::~")) || vs_str_starts(plain, VS_STR("c10::intrusive_ptr<")))
    found |= NATIVE_NOISE; /* destructors: they free memory, but name no operation */
  if (starts_with_any(plain, NATIVE_LIBRARY_NAMES, COUNT(NATIVE_LIBRARY_NAMES))) found |= NATIVE_LIBRARY;
  if (node_of(plain).size != 0) found |= BACKWARD;
  return found;
}

static uint8_t judge_file(vs_str file) {
  uint8_t found = ASKED;
  if (is_native_file(file)) found |= NATIVE;
  if ((found & NATIVE) != 0 && vs_str_contains_any(file, NOISE_IN_FILE, COUNT(NOISE_IN_FILE))) found |= NOISE;
  if (ends_with_any(file, SOURCE_ENDS, COUNT(SOURCE_ENDS))) found |= HAS_LINES;
  if (starts_with_any(file, NATIVE_LIBRARY_FILES, COUNT(NATIVE_LIBRARY_FILES))) found |= NATIVE_LIBRARY;
  if (vs_path_is_library(file)) found |= LIBRARY;
  return found;
}

/* Whether a frame is of a compiled program and not of a script: a path without extension, and no line. */
static bool is_program(vs_str file, int64_t line) {
  return line <= 0 && vs_str_contains(file, VS_STR("/")) && !vs_str_contains(vs_path_base(file), VS_STR("."));
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
  vs_vec_free(host, &frames->places);
}

static uint8_t meaning(vs_frames *frames, uint32_t frame) {
  VS_ASSERT(frame < frames->snapshot->stacks.frames.count);
  const vs_frame *f = &frames->snapshot->stacks.frames.data[frame];
  VS_ASSERT(f->name < frames->names.count && f->file < frames->files.count);
  uint8_t *name = &frames->names.data[f->name], *file = &frames->files.data[f->file];
  if (*name == 0) *name = judge_name(vs_snapshot_string(frames->snapshot, f->name));
  if (*file == 0) *file = judge_file(vs_snapshot_string(frames->snapshot, f->file));
  const uint8_t all = *name | *file;
  if ((all & NATIVE) != 0 || !is_program(vs_snapshot_string(frames->snapshot, f->file), f->line)) return all;
  return all | NATIVE;
}

static bool has_python(vs_frames *frames) {
  const uint32_t count = (uint32_t)frames->snapshot->stacks.frames.count;
  for (uint32_t i = 0; i < count && frames->has_python == 0; i++)
    if ((meaning(frames, i) & NATIVE) == 0) frames->has_python = 2;
  if (frames->has_python == 0) frames->has_python = 1;
  return frames->has_python == 2;
}

bool vs_frames_has_line(vs_frames *frames, uint32_t frame) {
  const uint8_t all = meaning(frames, frame);
  return frames->snapshot->stacks.frames.data[frame].line > 0 &&
         ((all & HAS_LINES) != 0 || (all & NATIVE) == 0);
}

bool vs_frames_is_border(const vs_frames *frames, uint32_t frame) {
  const vs_frame *f = &frames->snapshot->stacks.frames.data[frame];
  return f->is_forward != 0 && f->line == 0;
}

static bool is_forward_line(const vs_frames *frames, uint32_t frame) {
  return frames->snapshot->stacks.frames.data[frame].is_forward != 0 && !vs_frames_is_border(frames, frame);
}

vs_frame_kind vs_frames_kind(vs_frames *frames, uint32_t frame) {
  if (vs_frames_is_border(frames, frame)) return VS_FRAME_KIND_backward;
  const uint8_t all = meaning(frames, frame);
  if ((all & NOISE) != 0 || ((all & NATIVE) != 0 && (all & NATIVE_NOISE) != 0)) return VS_FRAME_KIND_noise;
  if ((all & BACKWARD) != 0) return VS_FRAME_KIND_backward;
  if ((all & NATIVE) == 0) return (all & LIBRARY) != 0 ? VS_FRAME_KIND_library : VS_FRAME_KIND_user;
  const bool is_own =
      vs_frames_has_line(frames, frame) && (all & (LIBRARY | NATIVE_LIBRARY)) == 0 && !has_python(frames);
  return is_own ? VS_FRAME_KIND_user : VS_FRAME_KIND_native;
}

bool vs_frames_is_by_line(vs_frames *frames, uint32_t frame) {
  return vs_frames_kind(frames, frame) != VS_FRAME_KIND_backward && vs_frames_has_line(frames, frame);
}

static uint32_t find_user(vs_frames *frames, vs_list stack) {
  uint32_t best = VS_NO_FRAME;
  vs_frame_kind most = VS_FRAME_KIND_noise;
  for (uint32_t i = 0; i < stack.count && most < VS_FRAME_KIND_user; i++) {
    const vs_frame_kind kind = vs_frames_kind(frames, stack.items[i]);
    if (kind <= most) continue;
    most = kind;
    best = stack.items[i];
  }
  return best;
}

uint32_t vs_frames_user(vs_frames *frames, uint32_t stack) {
  VS_ASSERT(stack < frames->users.count);
  uint32_t *known = &frames->users.data[stack];
  if (*known == 0) {
    const uint32_t frame = find_user(frames, vs_stacks_at(&frames->snapshot->stacks, stack));
    *known = frame == VS_NO_FRAME ? 1 : frame + 2;
  }
  return *known == 1 ? VS_NO_FRAME : *known - 2;
}

bool vs_frames_user_place(vs_frames *frames, uint32_t stack, uint32_t *place) {
  const vs_list list = vs_stacks_at(&frames->snapshot->stacks, stack);
  const uint32_t user = vs_frames_user(frames, stack);
  if (user == VS_NO_FRAME || frames->snapshot->stacks.frames.data[user].is_forward != 0) return false;
  for (*place = 0; list.items[*place] != user; ++*place) VS_ASSERT(*place + 1 < list.count);
  return true;
}

uint32_t vs_frames_innermost_place(vs_frames *frames, vs_list stack) {
  uint32_t best = stack.count;
  vs_frame_kind most = VS_FRAME_KIND_noise;
  for (uint32_t i = 0; i < stack.count && most < VS_FRAME_KIND_library; i++) {
    const vs_frame_kind kind = vs_frames_kind(frames, stack.items[i]);
    if (kind <= most) continue;
    most = kind;
    best = i;
  }
  return best;
}

uint32_t vs_frames_innermost(vs_frames *frames, uint32_t stack) {
  const vs_list list = vs_stacks_at(&frames->snapshot->stacks, stack);
  const uint32_t place = vs_frames_innermost_place(frames, list);
  VS_ASSERT((place == list.count) == (vs_frames_user(frames, stack) == VS_NO_FRAME));
  return place == list.count ? VS_NO_FRAME : list.items[place];
}

/* ---- files of one name ------------------------------------------------------------------------------------ */

static vs_str file_of(const vs_snapshot *s, uint32_t string) { return vs_snapshot_string(s, string); }

/* Orders paths by their characters from the end, so that paths with equal ends are neighbours. */
static bool ends_before(const void *ctx, uint32_t a, uint32_t b) {
  const vs_str x = file_of(ctx, a), y = file_of(ctx, b);
  for (size_t i = 1; i <= x.size && i <= y.size; i++) {
    const uint8_t cx = (uint8_t)x.data[x.size - i], cy = (uint8_t)y.data[y.size - i];
    if (cx != cy) return cx < cy;
  }
  return x.size < y.size;
}

static bool is_slash(char c) { return c == '/' || c == '\\'; }

/* Whether the last `size` bytes are whole parts of the path. */
static bool is_whole(vs_str path, size_t size) {
  VS_ASSERT(size <= path.size);
  return size == path.size || is_slash(path.data[path.size - 1 - size]);
}

/* The offset of the shortest end of `path` that consists of whole parts and is not an end of `other`. */
static uint32_t place_beside(vs_str path, vs_str other) {
  const size_t last = vs_path_base(path).size;
  size_t common = 0;
  while (common < path.size && common < other.size &&
         path.data[path.size - 1 - common] == other.data[other.size - 1 - common])
    common++;
  while (common > 0 && !(is_whole(path, common) && is_whole(other, common))) common--;
  if (common < last) return (uint32_t)(path.size - last);
  size_t start = path.size - common;
  if (start > 0) start--; /* the slash */
  while (start > 0 && !is_slash(path.data[start - 1])) start--;
  return (uint32_t)start;
}

vs_status vs_frames_tell_apart(const vs_host *host, vs_frames *frames) {
  const vs_snapshot *s = frames->snapshot;
  const size_t strings = vs_strings_count(&s->strings);
  VS_VEC(uint32_t) files = {0}; /* string ids, each once */
  VS_TRY(vs_vec_reserve(host, &frames->places, strings));
  frames->places.count = strings;
  clear((uint8_t *)frames->places.data, strings * sizeof *frames->places.data);
  vs_status status = VS_OK;
  for (uint32_t i = 0; i < s->stacks.frames.count && status == VS_OK; i++) {
    uint32_t *place = &frames->places.data[s->stacks.frames.data[i].file];
    if (*place != 0 || !vs_frames_has_line(frames, i)) continue;
    status = vs_vec_reserve(host, &files, 1);
    if (status == VS_OK) files.data[files.count++] = s->stacks.frames.data[i].file;
    *place = 1;
  }
  if (status == VS_OK) status = vs_sort_rows(host, files.data, files.count, ends_before, s);
  for (size_t i = 0; i < files.count && status == VS_OK; i++) {
    const vs_str path = file_of(s, files.data[i]);
    const vs_str before = i == 0 ? VS_STR("") : file_of(s, files.data[i - 1]);
    const vs_str after = i + 1 == files.count ? VS_STR("") : file_of(s, files.data[i + 1]);
    const uint32_t a = place_beside(path, before), b = place_beside(path, after);
    frames->places.data[files.data[i]] = a < b ? a : b;
  }
  vs_vec_free(host, &files);
  return status;
}

static vs_str shown_path(const vs_frames *frames, uint32_t string) {
  const vs_str path = file_of(frames->snapshot, string);
  if (frames->places.count == 0) return vs_path_base(path);
  const size_t start = frames->places.data[string];
  VS_ASSERT(start <= path.size);
  return start == 0 ? path : (vs_str){path.data + start, path.size - start};
}

/* ---- words ---------------------------------------------------------------------------------------------- */

static void put_place(vs_frames *frames, vs_text *text, uint32_t frame, vs_path_form path) {
  const vs_frame *f = &frames->snapshot->stacks.frames.data[frame];
  if (vs_frames_is_border(frames, frame)) return;
  if (vs_frames_kind(frames, frame) == VS_FRAME_KIND_backward) vs_text_cstr(text, VS_BACKWARD_WORDS);
  if (!vs_frames_is_by_line(frames, frame)) return;
  vs_text_str(text, path == VS_PATH_WHOLE ? file_of(frames->snapshot, f->file) : shown_path(frames, f->file));
  vs_text_byte(text, ':');
  vs_text_i64(text, f->line);
}

void vs_frames_put_place(vs_frames *frames, vs_text *text, uint32_t frame) {
  put_place(frames, text, frame, VS_PATH_SHORT);
}

void vs_frames_put_name(vs_frames *frames, vs_text *text, uint32_t frame) {
  const vs_snapshot *s = frames->snapshot;
  const vs_frame *f = &s->stacks.frames.data[frame];
  const vs_str function = vs_snapshot_string(s, f->name), file = vs_path_base(file_of(s, f->file));
  if (vs_frames_is_border(frames, frame)) vs_text_str(text, function);
  else if (vs_frames_kind(frames, frame) == VS_FRAME_KIND_backward)
    vs_text_str(text, vs_autograd_node(function));
  else if (function.size == 0 && !vs_frames_is_by_line(frames, frame))
    vs_text_str(text, file.size != 0 ? file : VS_STR("??"));
  else if ((meaning(frames, frame) & NATIVE) == 0) vs_text_str(text, function);
  else vs_put_function(text, function);
}

static void put_label(vs_frames *frames, vs_text *text, uint32_t frame, vs_path_form path) {
  const size_t before = text->bytes.count;
  put_place(frames, text, frame, path);
  const size_t place = text->bytes.count;
  if (place != before) {
    const bool is_backward = vs_frames_kind(frames, frame) == VS_FRAME_KIND_backward;
    vs_text_cstr(text, is_backward ? ", " : " ");
  }
  const size_t name = text->bytes.count;
  vs_frames_put_name(frames, text, frame);
  if (text->bytes.count == name) text->bytes.count = place; /* a line without a function */
  VS_ASSERT(text->bytes.count >= before);
}

void vs_frames_put_label(vs_frames *frames, vs_text *text, uint32_t frame) {
  put_label(frames, text, frame, VS_PATH_SHORT);
}

void vs_frames_put_owning(vs_frames *frames, vs_text *text, uint32_t frame, vs_path_form path) {
  if (is_forward_line(frames, frame)) vs_text_cstr(text, VS_BACKWARD_OF);
  put_label(frames, text, frame, path);
}

/* ---- owners --------------------------------------------------------------------------------------------- */

const char *vs_owner_words(vs_owner_kind kind) {
  static const char *const words[] = {
#define VS_OWNER(name, words) words,
#include "analyze/owners.def"
#undef VS_OWNER
      ""};
  VS_ASSERT(kind <= VS_OWNER_frame);
  return words[kind];
}

vs_owner_kind vs_frames_owner(vs_frames *frames, uint32_t stack, bool is_older) {
  const vs_snapshot *s = frames->snapshot;
  const bool has_stacks = vs_lists_count(&s->stacks.lists) > VS_LIST_EMPTY + 1;
  if (vs_frames_user(frames, stack) != VS_NO_FRAME) return VS_OWNER_frame;
  if (is_older && stack <= VS_LIST_EMPTY && (has_stacks || s->events.count != 0)) return VS_OWNER_before;
  return stack == VS_LIST_EMPTY && has_python(frames) ? VS_OWNER_backward : VS_OWNER_unrecorded;
}

void vs_frames_put_owner(vs_frames *frames, vs_text *text, uint32_t stack, bool is_older, vs_path_form path) {
  const vs_owner_kind kind = vs_frames_owner(frames, stack, is_older);
  if (kind == VS_OWNER_frame) vs_frames_put_owning(frames, text, vs_frames_user(frames, stack), path);
  else vs_text_cstr(text, vs_owner_words(kind));
}
