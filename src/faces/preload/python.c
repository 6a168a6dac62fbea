#include "faces/preload/python.h"
#include "base/hash.h"
#include "base/hot.h"
#include "base/text.h"
#include "faces/preload/generated.h"
#include "faces/preload/inductor.h"
#include "faces/preload/python_code.h"
#include "faces/preload/python_paths.h"
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
} python VS_HOT;
static VS_HOT _Atomic uint8_t state; /* vs_python_state */

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

/* Its last bits tell how the frame holds its code, in some versions. */
static inline uint64_t code_in(const vs_python_layout *l, uint64_t word) {
  return word & ~(uint64_t)l->frame_tags;
}

static inline uint8_t owner_of(const vs_python_layout *l, uint64_t frame) {
  return *(const uint8_t *)(uintptr_t)(frame + (uint64_t)l->frame_owner);
}

/* Frames of C functions have no code; frames of functions that have not begun are not shown by Python either. */
static inline bool is_shown(uint64_t frame, uint64_t code, uint64_t instruction) {
  const vs_python_layout *l = python.layout;
  if (vs_python_word(code, PYTHON_TYPE) != python.code_type) return false;
  const uint64_t traceable = (uint64_t)(int64_t)vs_python_int(code, l->code_first_traceable);
  const uint64_t first = code + (uint64_t)l->code_instructions + traceable * PYTHON_INSTRUCTION;
  return instruction >= first || owner_of(l, frame) == PYTHON_OWNER_GENERATOR;
}

/* ---- whether code objects were made
 *
 * A code object can be freed, and another one come to lie at its address. Python reports to audit hooks before code is made, and before
 * it is run. The epoch also moves on when a generated file becomes known, as stacks with frames of it are others from then on. */

static VS_HOT _Atomic uint32_t epoch; /* moves on whenever code may have been made */
static VS_HOT _Atomic bool is_told;   /* the hook is there */

static void (*_Atomic on_import)(void);

void vs_python_on_import(void (*imported)(void)) { on_import = imported; }

static void begin_epoch(void) { atomic_fetch_add_explicit(&epoch, 1, memory_order_release); }

static int hear(const char *event, void *arguments, void *data) {
  static const char *const makers[] = {"compile", "exec", "marshal.loads", "code.__new__",
                                       "function.__new__"};
  (void)arguments, (void)data;
  bool is_new = vs_inductor_hear(strcmp(event, "exec") == 0);
  for (size_t i = 0; i < sizeof makers / sizeof *makers; i++) is_new |= strcmp(event, makers[i]) == 0;
  if (is_new) begin_epoch();
  if (strcmp(event, "import") == 0 && on_import != NULL) on_import();
  return 0;
}

static bool add_hook(void) {
  int (*add)(int (*hook)(const char *event, void *arguments, void *data), void *data) = NULL;
  vs_library_loaded_function(NULL, "PySys_AddAuditHook", &add);
  return add != NULL && add(hear, NULL) == 0;
}

bool vs_python_is_running(void) {
  int (*is_initialized)(void) = NULL;
  vs_library_loaded_function(NULL, "Py_IsInitialized", &is_initialized);
  return is_initialized != NULL && is_initialized() != 0;
}

void vs_python_prepare(void) { is_told = !vs_python_is_running() && add_hook(); }

/* What the cache has is from before the hook, so it holds no longer than that. */
void vs_python_prepare_late(void) {
  const bool is_new = !is_told && add_hook();
  if (vs_inductor_learn() || is_new) begin_epoch();
  if (is_new) is_told = true;
}

/* ---- the cache: an entry is read and written under its own sequence number, which is odd while it is written
 *
 * An entry is about `code` at `instruction` as long as the epoch is `epoch`. Then it is again if what the code object says is `content`. */

typedef struct entry {
  _Alignas(64) _Atomic uint32_t sequence;
  _Atomic uint32_t epoch;
  _Atomic uint64_t code, instruction, content, word;
} entry;

enum { CACHE_BITS = 13 };
static entry cache[1 << CACHE_BITS];

static inline entry *slot_of(uint64_t code, uint64_t instruction) {
  return &cache[vs_hash_u64(code ^ instruction << 20) >> (64 - CACHE_BITS)];
}

#define LOAD(member) atomic_load_explicit(&(member), memory_order_relaxed)

static inline bool find_word(const entry *slot, uint64_t code, uint64_t instruction, uint32_t now,
                             uint64_t *word) {
  const uint32_t before = atomic_load_explicit(&slot->sequence, memory_order_acquire);
  const bool is_it = (before & 1) == 0 && LOAD(slot->code) == code &&
                     LOAD(slot->instruction) == instruction && LOAD(slot->epoch) == now && LOAD(is_told);
  *word = LOAD(slot->word);
  atomic_thread_fence(memory_order_acquire);
  return is_it && LOAD(slot->sequence) == before;
}

typedef struct found {
  uint64_t code, instruction, content, word;
  uint32_t epoch;
} found;

static void keep_word(entry *slot, const found *f) {
  uint32_t before = LOAD(slot->sequence);
  if ((before & 1) != 0 || !atomic_compare_exchange_strong(&slot->sequence, &before, before + 1)) return;
  atomic_thread_fence(memory_order_release);
  atomic_store_explicit(&slot->epoch, f->epoch, memory_order_relaxed);
  atomic_store_explicit(&slot->code, f->code, memory_order_relaxed);
  atomic_store_explicit(&slot->instruction, f->instruction, memory_order_relaxed);
  atomic_store_explicit(&slot->content, f->content, memory_order_relaxed);
  atomic_store_explicit(&slot->word, f->word, memory_order_relaxed);
  atomic_store_explicit(&slot->sequence, before + 2, memory_order_release);
}

/* ---- words
 *
 * In the cache, the word of a frame of a generated file has a bit that words of stacks do not have. */

enum { MOST_TEXT = 2048 };
#define IS_GENERATED (UINT64_C(1) << 62)

static uint64_t mark(const vs_record_stacks *stacks, uint64_t word) {
  word &= ~IS_GENERATED;
  return vs_generated_find(vs_record_frame_at(stacks, word).file) == NULL ? word : word | IS_GENERATED;
}

/* A hash of all that a frame's function, file and line are made from. */
static uint64_t content_of(uint64_t code) {
  const vs_python_layout *l = python.layout;
  const uint64_t line = (uint64_t)(int64_t)vs_python_int(code, l->code_first_line);
  uint64_t hash = vs_hash_mix(line, vs_python_bytes_hash(vs_python_word(code, l->code_lines)));
  hash = vs_hash_mix(hash, vs_python_text_hash(l, vs_python_word(code, l->code_name)));
  return vs_hash_mix(hash, vs_python_text_hash(l, vs_python_word(code, l->code_file)));
}

static bool make_word(vs_record_stacks *stacks, uint64_t code, uint64_t instruction, uint64_t *word) {
  char file[MOST_TEXT], name[MOST_TEXT];
  const vs_python_layout *l = python.layout;
  const int line = vs_python_line(l, code, instruction - code - (uint64_t)l->code_instructions);
  const vs_record_frame frame = {
      .function = {name, vs_python_text(l, vs_python_word(code, l->code_name), name, sizeof name)},
      .file = {file, vs_python_text(l, vs_python_word(code, l->code_file), file, sizeof file)},
      .line = line < 0 ? 0 : line,
  };
  return vs_record_frame_intern(stacks, &frame, word) == VS_OK;
}

/* A frame that the cache does not have in this epoch. */
static bool __attribute__((noinline)) look_at(vs_record_stacks *stacks, entry *slot, uint64_t code,
                                              uint64_t instruction, uint32_t now, uint64_t *word) {
  found f = {.code = code, .instruction = instruction, .content = content_of(code), .epoch = now};
  const uint32_t before = atomic_load_explicit(&slot->sequence, memory_order_acquire);
  const bool is_same = (before & 1) == 0 && LOAD(slot->code) == code &&
                       LOAD(slot->instruction) == instruction && LOAD(slot->content) == f.content;
  f.word = LOAD(slot->word);
  atomic_thread_fence(memory_order_acquire);
  const bool is_known = is_same && LOAD(slot->sequence) == before;
  if (!is_known && !make_word(stacks, code, instruction, &f.word)) return false;
  f.word = mark(stacks, f.word);
  keep_word(slot, &f);
  *word = f.word;
  return true;
}

/* A frame of a generated file, and behind it those of the program that it was made from, for which there is room. */
static bool __attribute__((noinline))
take_generated(vs_record_stacks *stacks, uint64_t *words, uint32_t *count) {
  vs_record_frame frames[VS_RECORD_DEPTH_MOST];
  words[*count] &= ~IS_GENERATED;
  const vs_record_frame frame = vs_record_frame_at(stacks, words[(*count)++]);
  const vs_generated_file *file = vs_generated_find(frame.file);
  const uint32_t room = VS_RECORD_DEPTH_MOST - *count,
                 made_from = file == NULL ? 0 : vs_generated_frames(file, frame.line, frames, room);
  for (uint32_t i = 0; i < made_from; i++, (*count)++)
    if (vs_record_frame_intern(stacks, &frames[i], &words[*count]) != VS_OK) return false;
  return true;
}

/* Frames that the cache has are shown ones, so that is asked of the others only. */
static inline INLINED bool take_frame(const vs_python_layout *l, vs_record_stacks *stacks, uint64_t frame,
                                      uint32_t now, uint64_t *words, uint32_t *count) {
  const uint64_t code = code_in(l, vs_python_word(frame, l->frame_code)),
                 instruction = vs_python_word(frame, l->frame_instruction);
  entry *slot = slot_of(code, instruction);
  if (__builtin_expect(!find_word(slot, code, instruction, now, &words[*count]), 0)) {
    if (!is_shown(frame, code, instruction)) return true;
    if (!look_at(stacks, slot, code, instruction, now, &words[*count])) return false;
  }
  if (__builtin_expect((words[*count] & IS_GENERATED) != 0, 0)) return take_generated(stacks, words, count);
  (*count)++;
  return true;
}

static inline INLINED vs_context walk_by(const vs_python_layout *l, vs_record_stacks *stacks, uint64_t frame,
                                         uint32_t now) {
  uint64_t words[VS_RECORD_DEPTH_MOST];
  uint32_t count = 0;
  for (; frame != 0 && count < VS_RECORD_DEPTH_MOST; frame = vs_python_word(frame, l->frame_outside))
    if (!take_frame(l, stacks, frame, now, words, &count)) return VS_CONTEXT_NONE;
  return count == 0 ? VS_CONTEXT_NONE : vs_record_intern(stacks, words, count);
}

/* Where the frames of the last path were, whichever thread's. A frame says where the next one is, so a walk waits for each; with this the
 * processor fetches those ahead meanwhile. A wrong address costs that alone: a prefetch reads nothing. */
enum { AHEAD = 12, HINTS = 64 };
static _Atomic uint64_t hints[HINTS + AHEAD];

static inline INLINED void fetch(const vs_python_layout *l, uint32_t i) {
  __builtin_prefetch((const void *)(uintptr_t)(LOAD(hints[i]) + (uint64_t)l->frame_instruction));
}

static inline INLINED void fetch_ahead(const vs_python_layout *l, uint64_t frame, uint32_t i) {
  fetch(l, i + AHEAD);
  if (LOAD(hints[i]) != frame) atomic_store_explicit(&hints[i], frame, memory_order_relaxed);
}

/* False: it is longer than is worth the time. */
static inline INLINED bool read_path(const vs_python_layout *l, uint64_t frame, vs_python_path *path) {
  enum { MOST = 2 * VS_RECORD_DEPTH_MOST };
  for (uint32_t i = 0; i < AHEAD; i++) fetch(l, i);
  for (; frame != 0 && path->count < MOST; frame = vs_python_word(frame, l->frame_outside)) {
    if (path->count < HINTS) fetch_ahead(l, frame, path->count);
    vs_python_path_add(path, vs_python_word(frame, l->frame_instruction), owner_of(l, frame));
  }
  return frame == 0;
}

/* A path is known only as long as Python tells when code is made. */
static inline INLINED vs_context capture_by(const vs_python_layout *l, vs_record_stacks *stacks,
                                            uint64_t frame) {
  vs_python_path path = {.count = 0};
  vs_context stack;
  const uint32_t now = atomic_load_explicit(&epoch, memory_order_acquire);
  const bool is_whole = LOAD(is_told) && read_path(l, frame, &path);
  if (is_whole && vs_python_path_find(path, now, &stack)) return stack;
  stack = walk_by(l, stacks, frame, now);
  if (is_whole && stack != VS_CONTEXT_NONE) vs_python_path_keep(path, now, stack);
  return stack;
}

/* A capture for each version, with its offsets as constants. */
typedef vs_context capture_function(vs_record_stacks *stacks, uint64_t frame);
#define VS_PYTHON_LAYOUT(major, minor, ...)                                               \
  static vs_context capture_##major##_##minor(vs_record_stacks *stacks, uint64_t frame) { \
    static const vs_python_layout layout = {major, minor, __VA_ARGS__};                   \
    return capture_by(&layout, stacks, frame);                                            \
  }
#include "faces/preload/python_layouts.def"
#undef VS_PYTHON_LAYOUT
static capture_function *const captures[] = {
#define VS_PYTHON_LAYOUT(major, minor, ...) capture_##major##_##minor,
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

/* The whole stack has to be one, and to have a line for each frame that is shown, but for few. A thread without a frame tells nothing. */
static vs_python_state check_frames(probe *p, uint64_t thread) {
  enum { MOST = 1 << 16 };
  const vs_python_layout *l = python.layout;
  if (l->thread_frames >= 0) thread = read_word(p, thread + (uint64_t)l->thread_frames);
  uint64_t frame = read_word(p, thread + (uint64_t)l->current_frame);
  uint32_t codes = 0, lines = 0;
  if (frame == 0 && !p->has_failed) return VS_PYTHON_UNKNOWN;
  for (uint32_t i = 0; frame != 0 && !p->has_failed && i < MOST; i++) {
    const uint64_t code = code_in(l, read_word(p, frame + (uint64_t)l->frame_code)),
                   instruction = read_word(p, frame + (uint64_t)l->frame_instruction);
    (void)read_word(p, (frame + (uint64_t)l->frame_owner) & ~UINT64_C(7)); /* it can be read */
    if (has_type(p, code, python.code_type)) {
      if (!check_code(p, code, instruction)) return VS_PYTHON_UNTRUSTED;
      const bool is_counted = is_shown(frame, code, instruction);
      codes += is_counted;
      lines += is_counted && vs_python_line(l, code, instruction - code - (uint64_t)l->code_instructions) > 0;
    }
    frame = read_word(p, frame + (uint64_t)l->frame_outside);
  }
  const bool is_right = frame == 0 && !p->has_failed && codes != 0 && lines >= codes - codes / 4;
  return is_right ? VS_PYTHON_TRUSTED : VS_PYTHON_UNTRUSTED;
}

static vs_python_state check_layout(uint64_t thread) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return VS_PYTHON_UNTRUSTED;
  probe p = {.from = ends[0], .to = ends[1]};
  const vs_python_state decision = check_frames(&p, thread);
  (void)close(ends[0]);
  (void)close(ends[1]);
  return decision;
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
  if (thread != NULL) now = check_layout((uint64_t)(uintptr_t)thread);
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
  return captures[python.layout - layouts](stacks, first_frame((uint64_t)(uintptr_t)thread));
}
