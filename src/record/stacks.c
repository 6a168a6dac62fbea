#include "record/stacks.h"
#include "base/check.h"
#include "os/modules.h"
#include "os/pages.h"
#include "os/thread.h"
#include "record/intern.h"

/* ---- the tables
 *
 * Invariants
 *   stacks   stack i is words[stack[i].first .. + stack[i].count), innermost frame first; the next begins at word_count
 *   texts    text i (from 1) is bytes[text[i].first .. + text[i].size)
 *   numbers  entries below a count are complete and do not change. Counts only grow, under the lock */

typedef struct stack_row {
  uint64_t first;
  uint32_t count;
} stack_row;

typedef struct text_row {
  uint64_t first, size;
} text_row;

typedef struct frame_row {
  uint32_t function, file; /* texts */
  int64_t line;
} frame_row;

struct vs_record_stacks {
  uint64_t serial;      /* identifies these stacks in the note of a stack walk */
  uint32_t depth;       /* of native stacks */
  uint64_t depth_power; /* VS_STACKWALK_BASE to the power of depth */

  vs_lock lock;             /* held while adding */
  uint64_t modules_version; /* of the modules for which the rules of walks are valid */
  vs_intern by_stack, by_text, by_frame;
  stack_row *stack;
  uint64_t *words;
  text_row *text;
  char *bytes;
  frame_row *frame;
  uint64_t most_words, word_count, most_bytes, byte_count;
  uint32_t most_stacks;
  _Atomic uint32_t stack_count, text_count, frame_count;
  _Atomic uint64_t lost;
};

enum { MOST_STACKS = 1 << 20, MOST_NAMES = 1 << 20 };
#define FRAME_BYTES (UINT64_C(128) << 20)
#define TEXT_BYTES  (UINT64_C(16) << 20)

static vs_status map_array(size_t count, size_t size, void *array) {
  void *pages = NULL;
  size_t bytes;
  if (!vs_mul_size(count, size, &bytes)) return VS_NO_MEMORY;
  VS_TRY(vs_pages_map(bytes, VS_PAGES_LAZY, &pages));
  memcpy(array, &pages, sizeof pages);
  return VS_OK;
}

static vs_status map_tables(vs_record_stacks *s) {
  VS_TRY(vs_intern_init(&s->by_stack, s->most_stacks));
  VS_TRY(vs_intern_init(&s->by_text, MOST_NAMES));
  VS_TRY(vs_intern_init(&s->by_frame, MOST_NAMES));
  VS_TRY(map_array(s->most_stacks, sizeof *s->stack, &s->stack));
  VS_TRY(map_array((size_t)s->most_words, sizeof *s->words, &s->words));
  VS_TRY(map_array(MOST_NAMES, sizeof *s->text, &s->text));
  VS_TRY(map_array((size_t)s->most_bytes, 1, &s->bytes));
  return map_array(MOST_NAMES, sizeof *s->frame, &s->frame);
}

static uint64_t power(uint64_t base, uint32_t exponent) {
  uint64_t result = 1;
  while (exponent-- != 0) result *= base;
  return result;
}

vs_status vs_record_stacks_create(const vs_record_stacks_options *options, vs_record_stacks **out) {
  static _Atomic uint32_t serials;
  const vs_record_stacks_options none = {0}, *o = options == NULL ? &none : options;
  *out = NULL;
  if (o->depth > VS_RECORD_DEPTH_MOST) return VS_BAD_ARGUMENT;
  void *pages = NULL;
  VS_TRY(vs_pages_map(sizeof(vs_record_stacks), VS_PAGES_READY, &pages));
  vs_record_stacks *s = pages;
  s->serial = (uint64_t)atomic_fetch_add(&serials, 1) + 1;
  s->depth = o->depth == 0 ? VS_RECORD_DEPTH : o->depth;
  s->depth_power = power(VS_STACKWALK_BASE, s->depth);
  s->most_stacks = o->stacks == 0 ? MOST_STACKS : o->stacks;
  s->most_words = (o->frame_bytes == 0 ? FRAME_BYTES : o->frame_bytes) / sizeof *s->words;
  s->most_bytes = o->text_bytes == 0 ? TEXT_BYTES : o->text_bytes;
  s->text_count = 2; /* none, and the empty text */
  vs_fork_watch();
  s->modules_version = vs_modules_version();
  const vs_status status = map_tables(s);
  if (status == VS_OK) *out = s;
  else vs_record_stacks_destroy(s);
  return status;
}

void vs_record_stacks_destroy(vs_record_stacks *s) {
  if (s == NULL) return;
  vs_intern_deinit(&s->by_stack);
  vs_intern_deinit(&s->by_text);
  vs_intern_deinit(&s->by_frame);
  vs_pages_unmap(s->stack, s->most_stacks * sizeof *s->stack);
  vs_pages_unmap(s->words, (size_t)s->most_words * sizeof *s->words);
  vs_pages_unmap(s->text, MOST_NAMES * sizeof *s->text);
  vs_pages_unmap(s->bytes, (size_t)s->most_bytes);
  vs_pages_unmap(s->frame, MOST_NAMES * sizeof *s->frame);
  vs_pages_unmap(s, sizeof *s);
}

/* ---- stacks */

bool vs_record_native_is_supported(void) { return vs_stackwalk_is_supported(); }

static uint64_t hash_of_sum(uint64_t sum, uint32_t count) {
  return vs_intern_hash(
      vs_hash_mix(sum ^ UINT64_C(0xd6e8feb86659fd93), count + UINT64_C(0x9e3779b97f4a7c15)));
}

/* The place of a new stack of `count` frames; NULL: there is no room. Under the lock. */
static uint64_t *place_stack(vs_record_stacks *s, uint32_t count) {
  if (s->stack_count == s->most_stacks || vs_intern_is_full(&s->by_stack) ||
      count > s->most_words - s->word_count) {
    atomic_fetch_add_explicit(&s->lost, 1, memory_order_relaxed);
    return NULL;
  }
  return s->words + s->word_count;
}

static vs_context add_stack(vs_record_stacks *s, uint64_t hash, uint32_t count) {
  const uint32_t id = s->stack_count;
  VS_ASSERT(id < s->most_stacks && count <= s->most_words - s->word_count);
  s->stack[id] = (stack_row){.first = s->word_count, .count = count};
  s->word_count += count;
  atomic_store_explicit(&s->stack_count, id + 1, memory_order_release);
  vs_intern_add(&s->by_stack, hash, id);
  return id;
}

static bool find_stack(const vs_record_stacks *s, uint64_t hash, vs_context *id) {
  uint64_t place = hash;
  return vs_intern_find(&s->by_stack, hash, &place, id);
}

/* A new stack may come from a walk by the rules of code that was unloaded, so these are dropped if modules changed. */
static void check_modules(vs_record_stacks *s) {
  const uint64_t version = vs_modules_version();
  if (version == s->modules_version) return;
  s->modules_version = version;
  vs_stackwalk_forget();
}

/* Adds a new stack: the innermost `count` frames of the walk, in reverse order. */
static vs_context __attribute__((noinline))
intern_walk(vs_record_stacks *s, uint64_t hash, const vs_stackwalk_result *walk, uint32_t count) {
  vs_context id = VS_CONTEXT_NONE;
  vs_lock_take(&s->lock);
  check_modules(s);
  if (!find_stack(s, hash, &id)) {
    uint64_t *words = place_stack(s, count);
    for (uint32_t i = 0; words != NULL && i < count; i++)
      words[i] = walk->frames[walk->count - 1 - i].address;
    if (words != NULL) id = add_stack(s, hash, count);
  }
  vs_lock_give(&s->lock);
  return id;
}

static vs_context intern_native(vs_record_stacks *s, const vs_stackwalk_result *walk) {
  uint32_t count = walk->count;
  VS_ASSERT(count > 0);
  uint64_t sum = walk->frames[count - 1].sum;
  if (count > s->depth) {
    sum -= walk->frames[count - 1 - s->depth].sum * s->depth_power;
    count = s->depth;
  }
  const uint64_t hash = hash_of_sum(sum, count);
  vs_context id;
  return find_stack(s, hash, &id) ? id : intern_walk(s, hash, walk, count);
}

vs_context vs_record_capture_from(vs_record_stacks *s, vs_stackwalk_start start) {
  vs_stackwalk_result walk;
  const uint64_t known = vs_stackwalk_recall(start);
  if (known >> 32 == s->serial) return (vs_context)known;
  if (!vs_stackwalk_begin(start, &walk)) return VS_CONTEXT_NONE;
  if (*walk.note >> 32 != s->serial) *walk.note = s->serial << 32 | intern_native(s, &walk);
  const vs_context id = (vs_context)*walk.note;
  vs_stackwalk_end();
  return id;
}

__attribute__((noinline)) vs_context vs_record_capture(vs_record_stacks *s) {
  return vs_record_capture_from(s, vs_stackwalk_here());
}

vs_context vs_record_intern(vs_record_stacks *s, const uint64_t *frames, uint32_t count) {
  if (count > VS_RECORD_DEPTH_MOST) count = VS_RECORD_DEPTH_MOST;
  uint64_t sum = 0;
  for (uint32_t i = count; i != 0; i--) sum = sum * VS_STACKWALK_BASE + vs_hash_u64(frames[i - 1]);
  const uint64_t hash = hash_of_sum(sum, count);
  vs_context id = VS_CONTEXT_NONE;
  if (find_stack(s, hash, &id)) return id;
  vs_lock_take(&s->lock);
  if (!find_stack(s, hash, &id)) {
    uint64_t *words = place_stack(s, count);
    if (words != NULL && count != 0) memcpy(words, frames, count * sizeof *frames);
    if (words != NULL) id = add_stack(s, hash, count);
  }
  vs_lock_give(&s->lock);
  return id;
}

/* ---- texts and named frames */

static bool find_text(const vs_record_stacks *s, uint64_t hash, vs_str text, uint32_t *id) {
  for (uint64_t place = hash; vs_intern_find(&s->by_text, hash, &place, id);) {
    const text_row *row = &s->text[*id];
    if (row->size == text.size && memcmp(s->bytes + row->first, text.data, text.size) == 0) return true;
  }
  return false;
}

static vs_status add_text(vs_record_stacks *s, uint64_t hash, vs_str text, uint32_t *id) {
  const uint32_t next = s->text_count;
  if (next == MOST_NAMES || vs_intern_is_full(&s->by_text) || text.size > s->most_bytes - s->byte_count)
    return VS_LIMIT;
  memcpy(s->bytes + s->byte_count, text.data, text.size);
  s->text[next] = (text_row){.first = s->byte_count, .size = text.size};
  s->byte_count += text.size;
  atomic_store_explicit(&s->text_count, next + 1, memory_order_release);
  vs_intern_add(&s->by_text, hash, next);
  *id = next;
  return VS_OK;
}

enum { TEXT_EMPTY = 1 };

vs_status vs_record_text_intern(vs_record_stacks *s, vs_str text, uint32_t *id) {
  *id = TEXT_EMPTY;
  if (text.size == 0) return VS_OK;
  const uint64_t hash = vs_intern_hash(vs_hash_bytes(text.data, text.size));
  if (find_text(s, hash, text, id)) return VS_OK;
  vs_lock_take(&s->lock);
  const vs_status status = find_text(s, hash, text, id) ? VS_OK : add_text(s, hash, text, id);
  vs_lock_give(&s->lock);
  return status;
}

static bool find_frame(const vs_record_stacks *s, uint64_t hash, const frame_row *row, uint32_t *id) {
  for (uint64_t place = hash; vs_intern_find(&s->by_frame, hash, &place, id);)
    if (memcmp(&s->frame[*id], row, sizeof *row) == 0) return true;
  return false;
}

static vs_status add_frame(vs_record_stacks *s, uint64_t hash, const frame_row *row, uint32_t *id) {
  const uint32_t next = s->frame_count;
  if (next == MOST_NAMES || vs_intern_is_full(&s->by_frame)) return VS_LIMIT;
  s->frame[next] = *row;
  atomic_store_explicit(&s->frame_count, next + 1, memory_order_release);
  vs_intern_add(&s->by_frame, hash, next);
  *id = next;
  return VS_OK;
}

vs_status vs_record_frame_intern(vs_record_stacks *s, const vs_record_frame *frame, uint64_t *word) {
  frame_row row = {.line = frame->line};
  VS_TRY(vs_record_text_intern(s, frame->function, &row.function));
  VS_TRY(vs_record_text_intern(s, frame->file, &row.file));
  const uint64_t hash = vs_intern_hash(vs_hash_bytes(&row, sizeof row));
  uint32_t id = 0;
  vs_status status = VS_OK;
  if (!find_frame(s, hash, &row, &id)) {
    vs_lock_take(&s->lock);
    if (!find_frame(s, hash, &row, &id)) status = add_frame(s, hash, &row, &id);
    vs_lock_give(&s->lock);
  }
  *word = VS_RECORD_NAMED_FRAME | id;
  return status;
}

/* ---- reading */

uint32_t vs_record_stack_at(const vs_record_stacks *s, vs_context stack, const uint64_t **frames) {
  *frames = s->words;
  if (stack == VS_CONTEXT_NONE) return 0;
  VS_ASSERT(stack < s->stack_count);
  *frames = s->words + s->stack[stack].first;
  return s->stack[stack].count;
}

vs_str vs_record_text_at(const vs_record_stacks *s, uint32_t id) {
  VS_ASSERT(id < s->text_count);
  return (vs_str){s->bytes + s->text[id].first, (size_t)s->text[id].size};
}

vs_record_frame vs_record_frame_at(const vs_record_stacks *s, uint64_t word) {
  const uint64_t id = word & ~VS_RECORD_NAMED_FRAME;
  VS_ASSERT(id < s->frame_count && id != word);
  const frame_row *row = &s->frame[id];
  return (vs_record_frame){.function = vs_record_text_at(s, row->function),
                           .file = vs_record_text_at(s, row->file),
                           .line = row->line};
}

vs_record_stacks_figures vs_record_stacks_figures_of(const vs_record_stacks *s) {
  return (vs_record_stacks_figures){
      .stacks = s->stack_count, .frames = s->frame_count, .texts = s->text_count, .lost = s->lost};
}

/* ---- the check */

static const char *check_rows(const vs_record_stacks *s) {
  uint64_t words = 0, bytes = 0;
  for (uint32_t i = 0; i < s->stack_count; i++) {
    if (s->stack[i].first != words) return "stacks do not follow each other";
    words += s->stack[i].count;
  }
  for (uint32_t i = TEXT_EMPTY + 1; i < s->text_count; i++) {
    if (s->text[i].first != bytes) return "texts do not follow each other";
    bytes += s->text[i].size;
  }
  for (uint32_t i = 0; i < s->frame_count; i++)
    if (s->frame[i].function >= s->text_count || s->frame[i].file >= s->text_count)
      return "a frame has a text that does not exist";
  if (words != s->word_count || words > s->most_words) return "the number of words of stacks is wrong";
  return bytes == s->byte_count && bytes <= s->most_bytes ? NULL : "the number of bytes of texts is wrong";
}

const char *vs_record_stacks_check(vs_record_stacks *s) {
  vs_lock_take(&s->lock);
  const char *broken = check_rows(s);
  if (broken == NULL) broken = vs_intern_check(&s->by_stack, s->stack_count);
  if (broken == NULL) broken = vs_intern_check(&s->by_text, s->text_count);
  if (broken == NULL) broken = vs_intern_check(&s->by_frame, s->frame_count);
  if (broken == NULL && s->by_stack.count != s->stack_count) broken = "a stack is not in its table";
  if (broken == NULL && s->by_frame.count != s->frame_count) broken = "a frame is not in its table";
  if (broken == NULL && s->by_text.count != s->text_count - TEXT_EMPTY - 1)
    broken = "a text is not in its table";
  vs_lock_give(&s->lock);
  return broken;
}
