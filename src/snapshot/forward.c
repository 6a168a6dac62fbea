#include "snapshot/forward.h"
#include "snapshot/model.h"

/* ---- lines of a traceback -------------------------------------------------------------------------------------- */

enum { SOURCE_INDENT = 4 }; /* a frame is indented by two spaces, its line of source by four */

static vs_str tail(vs_str text, size_t from) { return (vs_str){text.data + from, text.size - from}; }

/* The offset of the last `part` in `text`; text.size if there is none. The last one, because a path may contain
 * quotes. */
static size_t find_last(vs_str text, vs_str part) {
  for (size_t at = text.size < part.size ? 0 : text.size - part.size + 1; at-- > 0;)
    if (vs_str_starts(tail(text, at), part)) return at;
  return text.size;
}

bool vs_traceback_line(vs_str line, vs_str *file, int64_t *number, vs_str *function) {
  static const vs_str begin = {"File \"", 6}, middle = {"\", line ", 8}, before_function = {", in ", 5};
  size_t indent = 0;
  if (line.size == 0) return false; /* its data may be NULL */
  while (indent < line.size && line.data[indent] == ' ') indent++;
  line = tail(line, indent);
  if (indent >= SOURCE_INDENT || !vs_str_starts(line, begin)) return false;
  line = tail(line, begin.size);
  const size_t end = find_last(line, middle);
  if (end == line.size) return false;
  *file = (vs_str){line.data, end};
  const vs_str rest = tail(line, end + middle.size);
  VS_ASSERT(end + middle.size <= line.size);
  size_t digits = 0;
  while (digits < rest.size && rest.data[digits] >= '0' && rest.data[digits] <= '9') digits++;
  *function = tail(rest, digits);
  if (vs_str_starts(*function, before_function)) *function = tail(*function, before_function.size);
  else if (function->size != 0) return false;
  return vs_parse_i64((vs_str){rest.data, digits}, number) && *number > 0;
}

/* ---- joining --------------------------------------------------------------------------------------------------- */

/* The frames of one list of texts: frames[first .. first + count) of the joiner, innermost first. */
typedef struct run {
  size_t first, count;
  bool is_read;
} run;

typedef struct joiner {
  const vs_host *host;
  vs_snapshot *s;
  VS_VEC(run) runs; /* by id in texts */
  VS_VEC(uint32_t) frames;
  VS_VEC(uint32_t) scratch;
  VS_VEC(char) line; /* a copy of the line, because interning can move the text that it is in */
  vs_map joined;     /* stack << 32 | texts -> joined stack */
  uint32_t border;   /* frame */
} joiner;

static vs_status add_line(joiner *j, vs_str line) {
  vs_strings *strings = &j->s->strings;
  vs_str file, function;
  int64_t number;
  uint32_t file_id, name_id, frame;
  j->line.count = 0;
  VS_TRY(vs_vec_reserve(j->host, &j->line, line.size));
  if (line.size != 0) memcpy(j->line.data, line.data, line.size);
  if (!vs_traceback_line((vs_str){j->line.data, line.size}, &file, &number, &function)) return VS_OK;
  VS_TRY(vs_strings_intern(j->host, strings, file, &file_id));
  VS_TRY(vs_strings_intern(j->host, strings, function, &name_id));
  VS_TRY(vs_stacks_forward_frame(j->host, &j->s->stacks, name_id, file_id, number, &frame));
  VS_TRY(vs_vec_reserve(j->host, &j->frames, 1));
  j->frames.data[j->frames.count++] = frame;
  return VS_OK;
}

/* A text has one line or several: the line of source is often in the same text. */
static vs_status add_text(joiner *j, uint32_t string) {
  size_t start = 0;
  for (;;) {
    const vs_str text = vs_snapshot_string(j->s, string);
    size_t end = start;
    while (end < text.size && text.data[end] != '\n') end++;
    VS_ASSERT(start <= end && end <= text.size);
    VS_TRY(add_line(j, (vs_str){text.data + start, end - start}));
    if (end == text.size) return VS_OK;
    start = end + 1;
  }
}

/* Reverses frames: tracebacks have the outermost frame first, stacks the innermost. */
static void turn_round(uint32_t *frames, size_t count) {
  for (size_t i = 0; i < count / 2; i++) {
    const uint32_t other = frames[count - 1 - i];
    frames[count - 1 - i] = frames[i];
    frames[i] = other;
  }
}

static vs_status add_border(joiner *j) {
  uint32_t name;
  VS_TRY(vs_strings_intern(j->host, &j->s->strings, VS_STR(VS_FORWARD_BORDER), &name));
  return vs_stacks_forward_frame(j->host, &j->s->stacks, name, VS_STRING_EMPTY, 0, &j->border);
}

static vs_status read_run(joiner *j, uint32_t texts, run *out) {
  *out = j->runs.data[texts];
  VS_ASSERT(texts < vs_lists_count(&j->s->texts));
  if (out->is_read) return VS_OK;
  *out = (run){.first = j->frames.count, .is_read = true};
  for (uint32_t i = 0; i < vs_lists_at(&j->s->texts, texts).count; i++)
    VS_TRY(add_text(j, vs_lists_at(&j->s->texts, texts).items[i]));
  out->count = j->frames.count - out->first;
  if (out->count != 0) turn_round(j->frames.data + out->first, out->count);
  j->runs.data[texts] = *out;
  return VS_OK;
}

static vs_status make_stack(joiner *j, uint32_t recorded, run forward, uint32_t *stack) {
  vs_lists *lists = &j->s->stacks.lists;
  vs_forward *all = &j->s->forward;
  const vs_list list = vs_lists_at(lists, recorded);
  const size_t count = (size_t)list.count + 1 + forward.count;
  VS_ASSERT(recorded < all->first_stack && forward.count > 0);
  VS_TRY(vs_vec_reserve(j->host, &all->recorded, 1));
  j->scratch.count = 0;
  VS_TRY(vs_vec_reserve(j->host, &j->scratch, count));
  if (list.count != 0) memcpy(j->scratch.data, list.items, list.count * sizeof *list.items);
  uint32_t *outer = j->scratch.data + list.count;
  *outer = j->border;
  memcpy(outer + 1, j->frames.data + forward.first, forward.count * sizeof *outer);
  VS_TRY(vs_lists_intern(j->host, lists, j->scratch.data, count, stack));
  VS_ASSERT(*stack >= all->first_stack && *stack - all->first_stack <= all->recorded.count);
  /* The stack is not new if other texts named the same frames. */
  if (*stack - all->first_stack == all->recorded.count) all->recorded.data[all->recorded.count++] = recorded;
  return VS_OK;
}

static vs_status join(joiner *j, uint32_t *stack, uint32_t texts) {
  run forward;
  if (*stack == VS_LIST_NONE || texts <= VS_LIST_EMPTY) return VS_OK;
  VS_TRY(read_run(j, texts, &forward));
  if (forward.count == 0) return VS_OK;
  const uint64_t key = (uint64_t)*stack << 32 | texts;
  const size_t slot = vs_map_find(&j->joined, key);
  if (slot != VS_MAP_NONE) {
    *stack = j->joined.slots[slot].value;
    return VS_OK;
  }
  VS_TRY(vs_map_reserve(j->host, &j->joined));
  if (j->s->forward.recorded.count == 0) VS_TRY(add_border(j));
  VS_TRY(make_stack(j, *stack, forward, stack));
  vs_map_add(&j->joined, key, *stack);
  return VS_OK;
}

/* Writers give a block without a stack an empty one, so both are treated alike here. */
static vs_status join_block(joiner *j, vs_block *block) {
  const uint32_t recorded = block->stack == VS_LIST_NONE ? VS_LIST_EMPTY : block->stack;
  uint32_t stack = recorded;
  VS_TRY(join(j, &stack, block->forward_frames));
  if (stack != recorded) block->stack = stack;
  return VS_OK;
}

static vs_status join_all(joiner *j) {
  vs_snapshot *s = j->s;
  const size_t texts = vs_lists_count(&s->texts);
  s->forward.first_stack = vs_lists_count(&s->stacks.lists);
  VS_TRY(vs_vec_reserve(j->host, &j->runs, texts));
  memset(j->runs.data, 0, texts * sizeof *j->runs.data);
  if (s->events.forward_frames != NULL && s->events.stack != NULL)
    for (uint32_t row = 0; row < s->events.count; row++)
      VS_TRY(join(j, &s->events.stack[row], s->events.forward_frames[row]));
  for (size_t i = 0; i < s->segments.count; i++)
    VS_TRY(join(j, &s->segments.data[i].stack, s->segments.data[i].forward_frames));
  for (size_t i = 0; i < s->blocks.count; i++) VS_TRY(join_block(j, &s->blocks.data[i]));
  return VS_OK;
}

vs_status vs_forward_join(vs_snapshot *snapshot) {
  if (vs_lists_count(&snapshot->texts) <= VS_LIST_EMPTY + 1) return VS_OK;
  joiner j = {.host = snapshot->host, .s = snapshot};
  const vs_status status = join_all(&j);
  vs_vec_free(j.host, &j.runs);
  vs_vec_free(j.host, &j.frames);
  vs_vec_free(j.host, &j.scratch);
  vs_vec_free(j.host, &j.line);
  vs_map_deinit(j.host, &j.joined);
  return status;
}
