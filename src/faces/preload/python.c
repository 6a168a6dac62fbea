#include "faces/preload/python.h"
#include "base/hash.h"
#include "base/text.h"
#include "faces/preload/python_code.h"
#include "os/library.h"
#include "os/thread.h"
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <unistd.h>

static const vs_python_layout layouts[] = {
#define VS_PYTHON_LAYOUT(...) {__VA_ARGS__},
#include "faces/preload/python_layouts.def"
#undef VS_PYTHON_LAYOUT
};

#define INLINED __attribute__((always_inline))

/* Constant once `state` is not UNKNOWN. */
static struct {
  const vs_python_layout *layout;
  void *(*this_thread)(void);
  int (*is_finalizing)(void);
  uint64_t code_type, text_type, bytes_type;
  char version[32];
} python;
static _Atomic uint8_t state; /* vs_python_state */

vs_python_state vs_python_state_of(void) {
  return (vs_python_state)atomic_load_explicit(&state, memory_order_acquire);
}

const char *vs_python_version(void) { return python.version; }

/* ---- frames */

static uint64_t first_frame(uint64_t thread) {
  const vs_python_layout *l = python.layout;
  if (l->thread_frames >= 0) thread = vs_python_word(thread, l->thread_frames);
  return vs_python_word(thread, l->current_frame);
}

/* Frames of C functions have no code; frames of functions that have not begun are not shown by Python either. */
static inline bool is_shown(uint64_t frame, uint64_t code, uint64_t instruction) {
  const vs_python_layout *l = python.layout;
  if (vs_python_word(code, PYTHON_TYPE) != python.code_type) return false;
  const uint64_t traceable = (uint64_t)(int64_t)vs_python_int(code, l->code_first_traceable);
  const uint64_t first = code + (uint64_t)l->code_instructions + traceable * PYTHON_INSTRUCTION;
  return instruction >= first ||
         *(const char *)(uintptr_t)(frame + (uint64_t)l->frame_owner) == PYTHON_OWNER_GENERATOR;
}

/* ---- the cache: an entry is read and written under its own sequence number, which is odd while it is written */

typedef struct entry {
  _Alignas(64) _Atomic uint32_t sequence;
  int32_t first_line;
  uint64_t code, instruction, file, name, lines, mark;
  uint64_t word;
} entry;
_Static_assert(sizeof(entry) == 64, "an entry is a cache line");

enum { CACHE_BITS = 13 };
static entry cache[1 << CACHE_BITS];

/* In a word of the cache: the code has no file, and `mark` is of its whole table of lines, too. */
#define WAS_MADE (UINT64_C(1) << 62)

static bool has_no_file(uint64_t file) {
  const char *text = (const char *)(uintptr_t)(file + (uint64_t)python.layout->ascii_size);
  return vs_python_word(file, PYTHON_LENGTH) != 0 &&
         *text == '<'; /* of other text than ASCII it does not matter */
}

/* Frames that follow each other are often of one file. */
typedef struct last_file {
  uint64_t file, mark;
} last_file;

static inline INLINED entry make_key(const vs_python_layout *l, uint64_t code, uint64_t instruction,
                                     last_file *last) {
  entry key = {.first_line = vs_python_int(code, l->code_first_line),
               .code = code,
               .instruction = instruction,
               .file = vs_python_word(code, l->code_file),
               .name = vs_python_word(code, l->code_name),
               .lines = vs_python_word(code, l->code_lines)};
  if (key.file != last->file) *last = (last_file){key.file, vs_python_text_mark(l, key.file)};
  key.mark = last->mark * 3 + vs_python_text_mark(l, key.name) * 5 + vs_python_bytes_mark(key.lines);
  return key;
}

/* Whether `a` of the cache is about `b`. */
static inline bool are_equal(const entry *a, const entry *b) {
  return a->code == b->code && a->instruction == b->instruction && a->first_line == b->first_line &&
         a->file == b->file && a->name == b->name && a->lines == b->lines &&
         ((a->word & WAS_MADE) == 0 ? a->mark == b->mark
                                    : a->mark == (b->mark ^ vs_python_bytes_hash(b->lines)));
}

static inline entry *slot_of(uint64_t code, uint64_t instruction) {
  return &cache[vs_hash_u64(code ^ instruction << 20) >> (64 - CACHE_BITS)];
}

static inline bool find_word(const entry *slot, const entry *key, uint64_t *word) {
  const uint32_t before = atomic_load_explicit(&slot->sequence, memory_order_acquire);
  const bool is_it = (before & 1) == 0 && are_equal(slot, key);
  *word = slot->word & ~WAS_MADE;
  atomic_thread_fence(memory_order_acquire);
  return is_it && atomic_load_explicit(&slot->sequence, memory_order_relaxed) == before;
}

static void keep_word(entry *slot, const entry *key, uint64_t word) {
  uint32_t before = atomic_load_explicit(&slot->sequence, memory_order_relaxed);
  if ((before & 1) != 0 || !atomic_compare_exchange_strong(&slot->sequence, &before, before + 1)) return;
  atomic_thread_fence(memory_order_release);
  slot->first_line = key->first_line;
  slot->code = key->code;
  slot->instruction = key->instruction;
  slot->file = key->file;
  slot->name = key->name;
  slot->lines = key->lines;
  slot->mark = key->mark;
  slot->word = word;
  atomic_store_explicit(&slot->sequence, before + 2, memory_order_release);
}

/* ---- words */

enum { MOST_TEXT = 2048 };

static bool __attribute__((noinline)) make_word(vs_record_stacks *stacks, const entry *key, uint64_t *word) {
  char file[MOST_TEXT], name[MOST_TEXT];
  const vs_python_layout *l = python.layout;
  const int line =
      vs_python_line(l, key->code, key->instruction - key->code - (uint64_t)l->code_instructions);
  const vs_record_frame frame = {
      .function = {name, vs_python_text(l, key->name, name, sizeof name)},
      .file = {file, vs_python_text(l, key->file, file, sizeof file)},
      .line = line < 0 ? 0 : line,
  };
  return vs_record_frame_intern(stacks, &frame, word) == VS_OK;
}

static bool __attribute__((noinline))
add_word(vs_record_stacks *stacks, entry *slot, const entry *seen, uint64_t *word) {
  entry key = *seen;
  if (!make_word(stacks, &key, word)) return false;
  const bool was_made = has_no_file(key.file);
  if (was_made) key.mark ^= vs_python_bytes_hash(key.lines);
  keep_word(slot, &key, *word | (was_made ? WAS_MADE : 0));
  return true;
}

/* Frames that the cache has are shown ones, so that is asked of the others only. */
static inline INLINED bool take_frame(const vs_python_layout *l, vs_record_stacks *stacks, uint64_t frame,
                                      last_file *last, uint64_t *words, uint32_t *count) {
  const uint64_t code = vs_python_word(frame, l->frame_code),
                 instruction = vs_python_word(frame, l->frame_instruction);
  entry *slot = slot_of(code, instruction);
  const bool is_known = slot->code == code && slot->instruction == instruction;
  if (__builtin_expect(!is_known, 0) && !is_shown(frame, code, instruction)) return true;
  const entry key = make_key(l, code, instruction, last);
  if (__builtin_expect(!find_word(slot, &key, &words[*count]), 0) &&
      !add_word(stacks, slot, &key, &words[*count]))
    return false;
  (*count)++;
  return true;
}

static inline INLINED vs_context walk_by(const vs_python_layout *l, vs_record_stacks *stacks,
                                         uint64_t frame) {
  uint64_t words[VS_RECORD_DEPTH_MOST];
  uint32_t count = 0;
  last_file last = {.file = 0};
  for (; frame != 0 && count < VS_RECORD_DEPTH_MOST; frame = vs_python_word(frame, l->frame_outside))
    if (!take_frame(l, stacks, frame, &last, words, &count)) return VS_CONTEXT_NONE;
  return count == 0 ? VS_CONTEXT_NONE : vs_record_intern(stacks, words, count);
}

/* A walk for each version, with its offsets as constants. */
typedef vs_context walk_function(vs_record_stacks *stacks, uint64_t frame);
#define VS_PYTHON_LAYOUT(major, minor, ...)                                            \
  static vs_context walk_##major##_##minor(vs_record_stacks *stacks, uint64_t frame) { \
    static const vs_python_layout layout = {major, minor, __VA_ARGS__};                \
    return walk_by(&layout, stacks, frame);                                            \
  }
#include "faces/preload/python_layouts.def"
#undef VS_PYTHON_LAYOUT
static walk_function *const walks[] = {
#define VS_PYTHON_LAYOUT(major, minor, ...) walk_##major##_##minor,
#include "faces/preload/python_layouts.def"
#undef VS_PYTHON_LAYOUT
};

/* ---- the check of a layout: reads that fail instead of crashing, by a pipe, into which the kernel copies them */

typedef struct probe {
  int from, to;
  bool has_failed;
} probe;

static uint64_t read_word(probe *p, uint64_t address) {
  uint64_t word = 0;
  p->has_failed = p->has_failed ||
                  write(p->to, (const void *)(uintptr_t)address, sizeof word) != sizeof word ||
                  read(p->from, &word, sizeof word) != sizeof word;
  return p->has_failed ? 0 : word;
}

static bool has_type(probe *p, uint64_t object, uint64_t type) {
  return read_word(p, object + PYTHON_TYPE) == type && !p->has_failed;
}

static bool is_text(probe *p, uint64_t text) {
  return has_type(p, text, python.text_type) && (read_word(p, text + PYTHON_TEXT_STATE), !p->has_failed) &&
         vs_python_is_text(text);
}

static bool check_code(probe *p, uint64_t code, uint64_t instruction) {
  const vs_python_layout *l = python.layout;
  const uint64_t lines = read_word(p, code + (uint64_t)l->code_lines),
                 size = read_word(p, code + PYTHON_LENGTH) * PYTHON_INSTRUCTION,
                 first = code + (uint64_t)l->code_instructions;
  const uint64_t traceable = (uint32_t)read_word(p, code + (uint64_t)l->code_first_traceable);
  if (!is_text(p, read_word(p, code + (uint64_t)l->code_file)) ||
      !is_text(p, read_word(p, code + (uint64_t)l->code_name)) || !has_type(p, lines, python.bytes_type))
    return false;
  return instruction + PYTHON_INSTRUCTION >= first && instruction < first + size &&
         traceable * PYTHON_INSTRUCTION <= size &&
         (int32_t)read_word(p, code + (uint64_t)l->code_first_line) >= 0;
}

/* The whole stack has to be one, and to have a line for each frame that is shown, but for few. */
static bool check_frames(probe *p, uint64_t thread) {
  enum { MOST = 1 << 16 };
  const vs_python_layout *l = python.layout;
  if (l->thread_frames >= 0) thread = read_word(p, thread + (uint64_t)l->thread_frames);
  uint64_t frame = read_word(p, thread + (uint64_t)l->current_frame);
  uint32_t codes = 0, lines = 0;
  for (uint32_t i = 0; frame != 0 && !p->has_failed && i < MOST; i++) {
    const uint64_t code = read_word(p, frame + (uint64_t)l->frame_code),
                   instruction = read_word(p, frame + (uint64_t)l->frame_instruction);
    (void)read_word(p, (frame + (uint64_t)l->frame_owner) & ~UINT64_C(7)); /* it can be read */
    if (has_type(p, code, python.code_type)) {
      if (!check_code(p, code, instruction)) return false;
      const bool is_counted = is_shown(frame, code, instruction);
      codes += is_counted;
      lines += is_counted && vs_python_line(l, code, instruction - code - (uint64_t)l->code_instructions) > 0;
    }
    frame = read_word(p, frame + (uint64_t)l->frame_outside);
  }
  return frame == 0 && !p->has_failed && codes != 0 && lines >= codes - codes / 4;
}

static bool check_layout(uint64_t thread) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return false;
  probe p = {.from = ends[0], .to = ends[1]};
  const bool is_right = check_frames(&p, thread);
  (void)close(ends[0]);
  (void)close(ends[1]);
  return is_right;
}

/* ---- the first stack */

static uint64_t symbol(const char *name) { return (uint64_t)(uintptr_t)vs_library_loaded_symbol(NULL, name); }

/* "3.11.7 (main, ...) [GCC ...]". A build without the GIL says so there. */
static void find_layout(const char *version) {
  const vs_str text = vs_str_from(version);
  size_t size = 0;
  while (size < text.size && size + 1 < sizeof python.version && version[size] != ' ') size++;
  memcpy(python.version, version, size);
  if (vs_str_contains(text, VS_STR("free-threading"))) return;
  for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
    char prefix[16];
    vs_format(prefix, sizeof prefix, "%D.%D.", (int64_t)layouts[i].major, (int64_t)layouts[i].minor);
    if (vs_str_starts(text, vs_str_from(prefix))) python.layout = &layouts[i];
  }
}

static vs_python_state look_up(void) {
  const char *(*version)(void) = NULL;
  vs_library_loaded_function(NULL, "Py_GetVersion", &version);
  vs_library_loaded_function(NULL, "PyGILState_GetThisThreadState", &python.this_thread);
  if (version == NULL || python.this_thread == NULL) return VS_PYTHON_ABSENT;
  vs_library_loaded_function(NULL, "Py_IsFinalizing", &python.is_finalizing);
  if (python.is_finalizing == NULL)
    vs_library_loaded_function(NULL, "_Py_IsFinalizing", &python.is_finalizing);
  python.code_type = symbol("PyCode_Type");
  python.text_type = symbol("PyUnicode_Type");
  python.bytes_type = symbol("PyBytes_Type");
  find_layout(version());
  const bool is_known = python.layout != NULL && python.is_finalizing != NULL && python.code_type != 0 &&
                        python.text_type != 0 && python.bytes_type != 0 && sizeof(void *) == 8;
  return is_known ? VS_PYTHON_UNKNOWN : VS_PYTHON_UNTRUSTED;
}

/* Decides with the first thread that has frames. */
static bool __attribute__((noinline)) decide(void) {
  static vs_lock lock;
  static bool is_looked_up;
  const int before = errno;
  vs_lock_take(&lock);
  vs_python_state now = vs_python_state_of();
  if (now == VS_PYTHON_UNKNOWN && !is_looked_up) now = look_up();
  is_looked_up = true;
  void *const thread = now == VS_PYTHON_UNKNOWN ? python.this_thread() : NULL;
  if (thread != NULL)
    now = check_layout((uint64_t)(uintptr_t)thread) ? VS_PYTHON_TRUSTED : VS_PYTHON_UNTRUSTED;
  atomic_store_explicit(&state, (uint8_t)now, memory_order_release);
  vs_lock_give(&lock);
  errno = before;
  return now == VS_PYTHON_TRUSTED;
}

vs_context vs_python_capture(vs_record_stacks *stacks) {
  const vs_python_state now = vs_python_state_of();
  if (__builtin_expect(now != VS_PYTHON_TRUSTED, 0) && (now != VS_PYTHON_UNKNOWN || !decide()))
    return VS_CONTEXT_NONE;
  void *const thread = python.this_thread();
  if (thread == NULL || python.is_finalizing() != 0) return VS_CONTEXT_NONE;
  return walks[python.layout - layouts](stacks, first_frame((uint64_t)(uintptr_t)thread));
}
