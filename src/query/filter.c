#include "query/filter.h"
#include "base/double_text.h"
#include "base/human.h"
#include "base/nearest.h"

typedef enum key_type { KEY_BYTES, KEY_NUMBER, KEY_POOL, KEY_NAME, KEY_LINE, KEY_TIME, KEY_THING } key_type;

static const struct {
  const char *name;
  key_type type;
} keys[] = {
#define VS_FILTER_KEY(name_, TYPE, sentence) {.name = #name_, .type = KEY_##TYPE},
#include "query/filter_keys.def"
#undef VS_FILTER_KEY
};

static const struct {
  const char *name;
  vs_comparison comparison;
} operators[] = {
    /* the longer ones first */
    {"!=", VS_NOT_EQUAL}, {"<=", VS_AT_MOST}, {">=", VS_AT_LEAST},
    {"=", VS_EQUAL},      {"<", VS_BELOW},    {">", VS_ABOVE},
};

/* ---- reading --------------------------------------------------------------------------------------------------- */

static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

static vs_str tail(vs_str s, size_t start) { return (vs_str){s.data + start, s.size - start}; }

static vs_status bad(vs_error *error, vs_str word, const char *expected) {
  if (word.size > 60) word.size = 60;
  return vs_fail(error, VS_BAD_ARGUMENT, VS_NO_OFFSET, "filter '%S': %s", word, expected);
}

static bool read_hex(vs_str s, uint64_t *value) {
  *value = 0;
  if (s.size < 3 || s.size > 18 || s.data[0] != '0' || (s.data[1] | 0x20) != 'x') return false;
  for (size_t i = 2; i < s.size; i++) {
    const uint8_t byte = (uint8_t)s.data[i], lower = byte | 0x20;
    if (byte >= '0' && byte <= '9') *value = *value << 4 | (uint64_t)(byte - '0');
    else if (lower >= 'a' && lower <= 'f') *value = *value << 4 | (uint64_t)(lower - 'a' + 10);
    else return false;
  }
  return true;
}

static bool read_number(vs_str s, uint64_t *value) { return vs_parse_u64(s, value) || read_hex(s, value); }

bool vs_read_duration(vs_str text, int64_t *us) {
  static const struct {
    const char *name;
    double us;
  } units[] = {
      {"us", 1}, {"ms", 1e3}, {"min", 60e6}, {"s", 1e6}}; /* "s" is last, because "us" and "ms" end with it */
  for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
    const vs_str unit = vs_str_from(units[i].name);
    if (text.size <= unit.size || !vs_str_equal((vs_str){text.data + text.size - unit.size, unit.size}, unit))
      continue;
    double number;
    if (!vs_parse_f64((vs_str){text.data, text.size - unit.size}, &number)) return false;
    number *= units[i].us;
    if (!(number >= 0 && number < 9e18)) return false;
    *us = (int64_t)(number + 0.5);
    return true;
  }
  return false;
}

/* "0,1", "(0,1)" or "none". */
static bool read_pool(vs_str s, vs_term *term) {
  term->is_none = vs_str_equal(s, VS_STR("none"));
  if (term->is_none) return true;
  if (s.size >= 2 && s.data[0] == '(' && s.data[s.size - 1] == ')') s = (vs_str){s.data + 1, s.size - 2};
  size_t comma = 0;
  while (comma < s.size && s.data[comma] != ',') comma++;
  return comma < s.size && vs_parse_u64((vs_str){s.data, comma}, &term->number) &&
         vs_parse_u64(tail(s, comma + 1), &term->number2);
}

/* "b7f0000_2", "s7f0000_0". */
static bool read_name(vs_str s, vs_term *term) {
  size_t line = 0;
  char hex[18] = "0x";
  while (line < s.size && s.data[line] != '_') line++;
  if (line < 2 || line - 1 > 16 || (s.data[0] != 'b' && s.data[0] != 's')) return false;
  memcpy(hex + 2, s.data + 1, line - 1);
  term->is_segment = s.data[0] == 's';
  return read_hex((vs_str){hex, line + 1}, &term->number) && line < s.size &&
         vs_parse_u64(tail(s, line + 1), &term->number2);
}

static vs_status read_operand(vs_term *term, vs_str word, vs_str value, vs_error *error) {
  const bool is_order = term->comparison > VS_NOT_EQUAL;
  int64_t us;
  switch (keys[term->key].type) {
    case KEY_BYTES:
      return vs_parse_bytes(value, &term->number)
                 ? VS_OK
                 : bad(error, word, "a size is a number, perhaps with B, KiB, MiB, GiB");
    case KEY_NUMBER:
      return read_number(value, &term->number) ? VS_OK : bad(error, word, "this is compared with a number");
    case KEY_THING:
      if (is_order) break;
      return read_name(value, term) ? VS_OK : bad(error, word, "a name is written b7f0000_2 or s7f0000_0");
    case KEY_TIME:
      if (!vs_read_duration(value, &us)) return bad(error, word, "a time is a number with us, ms, s or min");
      term->number = (uint64_t)us;
      return VS_OK;
    case KEY_POOL:
      if (is_order) return bad(error, word, "pools have no order, only = and !=");
      return read_pool(value, term) ? VS_OK : bad(error, word, "a pool is written 0,1 or none");
    case KEY_NAME:
    case KEY_LINE: break;
  }
  return is_order ? bad(error, word, "names have no order, only = and !=") : VS_OK;
}

static size_t name_length(vs_str word) {
  size_t length = 0;
  while (length < word.size && is_letter(word.data[length])) length++;
  return length;
}

/* The operator at the beginning of `text`: its length, 0 if there is none. */
static size_t read_operator(vs_str text, vs_term *term) {
  for (size_t i = 0; i < sizeof operators / sizeof *operators; i++) {
    const vs_str op = vs_str_from(operators[i].name);
    if (!vs_str_starts(text, op)) continue;
    term->comparison = (uint8_t)operators[i].comparison;
    return op.size;
  }
  return 0;
}

static vs_status unknown_key(vs_error *error, vs_str word, vs_str name) {
  char sentence[160];
  vs_nearest nearest = vs_nearest_to(name);
  for (unsigned i = 0; i < VS_FILTER_TEXT; i++) vs_nearest_offer(&nearest, vs_str_from(keys[i].name));
  if (nearest.best.size == 0) vs_format(sentence, sizeof sentence, "unknown key");
  else vs_format(sentence, sizeof sentence, "unknown key; did you mean '%S'?", nearest.best);
  const size_t used = strlen(sentence);
  vs_format(sentence + used, sizeof sentence - used, " (put text that contains = < > in double quotes)");
  return bad(error, word, sentence);
}

/* A word is KEY OPERATOR VALUE, or text. */
static vs_status split(vs_str word, vs_term *term, vs_str *value, vs_error *error) {
  const size_t length = name_length(word);
  const vs_str name = {word.data, length};
  const size_t size = length == 0 ? 0 : read_operator(tail(word, length), term);
  if (size == 0) return VS_OK;
  *value = tail(word, length + size);
  for (unsigned i = 0; i < VS_FILTER_TEXT; i++)
    if (vs_str_equal(name, vs_str_from(keys[i].name))) term->key = (uint8_t)i;
  return term->key == VS_FILTER_TEXT ? unknown_key(error, word, name) : VS_OK;
}

/* For a word whose value begins with a quote: extends both to the closing quote; false if there is none. */
static bool unquote(vs_str text, vs_str *word, vs_str *value) {
  size_t end = (size_t)(value->data - text.data) + 1;
  *value = (vs_str){text.data + end, 0};
  for (; end < text.size && text.data[end] != '"'; end++) value->size++;
  if (end == text.size) return false;
  word->size = end + 1;
  return true;
}

/* Reads the term at the beginning of `text`; *used is its number of bytes. */
static vs_status read_term(vs_filter *filter, vs_str text, size_t *used, vs_error *error) {
  vs_term term = {.key = VS_FILTER_TEXT};
  size_t end = 0;
  vs_str value;
  VS_ASSERT(text.size > 0 && text.data[0] != ' ');
  if (text.data[0] == '"') {
    for (end = 1; end < text.size && text.data[end] != '"'; end++) {
    }
    if (end == text.size) return bad(error, text, "the quote is not closed");
    value = (vs_str){text.data + 1, end - 1};
    *used = end + 1;
  } else {
    while (end < text.size && text.data[end] != ' ') end++;
    vs_str word = {text.data, end};
    value = word;
    VS_TRY(split(word, &term, &value, error));
    const bool has_key = term.key != VS_FILTER_TEXT;
    if (has_key && value.size > 0 && value.data[0] == '"')
      if (!unquote(text, &word, &value)) return bad(error, word, "the quote is not closed");
    if (has_key) VS_TRY(read_operand(&term, word, value, error));
    *used = word.size;
  }
  term.start = (size_t)(value.data - filter->text.data);
  term.size = value.size;
  VS_ASSERT(*used > 0 && *used <= text.size && term.start + term.size <= filter->text.count);
  VS_TRY(vs_vec_reserve(filter->host, &filter->terms, 1));
  filter->terms.data[filter->terms.count++] = term;
  return VS_OK;
}

static vs_status read_terms(vs_filter *filter, vs_str text, vs_error *error) {
  if (text.size == 0) return VS_OK;
  VS_TRY(vs_vec_reserve(filter->host, &filter->text, text.size));
  memcpy(filter->text.data, text.data, text.size);
  filter->text.count = text.size;
  for (size_t at = 0, used; at < text.size; at += used) {
    used = 1;
    if (text.data[at] != ' ')
      VS_TRY(read_term(filter, (vs_str){filter->text.data + at, text.size - at}, &used, error));
  }
  return VS_OK;
}

vs_status vs_filter_init(vs_filter *filter, const vs_host *host, vs_str text, vs_error *error) {
  *filter = (vs_filter){.host = host};
  const vs_status status = read_terms(filter, text, error);
  if (status != VS_OK) vs_filter_deinit(filter);
  return status;
}

void vs_filter_deinit(vs_filter *filter) {
  vs_vec_free(filter->host, &filter->text);
  vs_vec_free(filter->host, &filter->terms);
  vs_vec_free(filter->host, &filter->seen);
}

static vs_str text_of(const vs_filter *filter, const vs_term *term) {
  VS_ASSERT(term->start + term->size <= filter->text.count);
  return (vs_str){filter->text.data + term->start, term->size};
}

static vs_status unknown_name(vs_error *error, const char *what, const vs_nearest *nearest) {
  const bool has_hint = nearest->best.size != 0;
  return vs_fail(error, VS_BAD_ARGUMENT, VS_NO_OFFSET, "filter: unknown %s '%S'%s%S%s", what,
                 (vs_str){nearest->typed.data, nearest->typed.size < 60 ? nearest->typed.size : 60},
                 has_hint ? "; did you mean '" : "", nearest->best, has_hint ? "'?" : "");
}

/* Accepts the actions that PyTorch writes, and all others that are in the file. */
static vs_status check_action(const vs_snapshot *s, vs_str action, vs_error *error) {
  vs_nearest nearest = vs_nearest_to(action);
  for (size_t i = 0; i < s->actions.count; i++) {
    const vs_str known = vs_snapshot_string(s, s->actions.data[i]);
    if (vs_str_equal(known, action)) return VS_OK;
    vs_nearest_offer(&nearest, known);
  }
  return unknown_name(error, "action", &nearest);
}

/* The same for states of blocks. */
static vs_status check_state(const vs_snapshot *s, vs_str state, vs_error *error) {
  vs_nearest nearest = vs_nearest_to(state);
  for (int i = 0; i < VS_BLOCK_UNKNOWN; i++) {
    const vs_str known = vs_str_from(vs_block_state_name((vs_block_state)i));
    if (vs_str_equal(known, state)) return VS_OK;
    vs_nearest_offer(&nearest, known);
  }
  for (size_t i = 0; i < s->blocks.count; i++)
    if (vs_str_equal(vs_snapshot_string(s, s->blocks.data[i].state_name), state)) return VS_OK;
  return unknown_name(error, "state", &nearest);
}

vs_status vs_filter_allow(const vs_filter *filter, const vs_snapshot *snapshot, uint32_t allowed,
                          const char *rows, vs_error *error) {
  for (size_t i = 0; i < filter->terms.count; i++) {
    const vs_term *term = &filter->terms.data[i];
    if (term->key != VS_FILTER_TEXT && (allowed >> term->key & 1) == 0)
      return vs_fail(error, VS_BAD_ARGUMENT, VS_NO_OFFSET, "filter: %s have no '%s'", rows,
                     keys[term->key].name);
    if (term->key == VS_FILTER_action) VS_TRY(check_action(snapshot, text_of(filter, term), error));
    if (term->key == VS_FILTER_state) VS_TRY(check_state(snapshot, text_of(filter, term), error));
  }
  return VS_OK;
}

/* ---- matching -------------------------------------------------------------------------------------------------- */

enum { NOT_SEEN, SEEN_NO, SEEN_YES };

static size_t seen_by_term(const vs_snapshot *snapshot) {
  return (size_t)vs_strings_count(&snapshot->strings) + vs_lists_count(&snapshot->stacks.lists);
}

/* Whether results of a term are remembered in `seen`: those about stacks, because there are far fewer stacks than
 * rows. */
static bool is_remembered(const vs_term *term) {
  return term->key == VS_FILTER_TEXT || term->key == VS_FILTER_line || term->key == VS_FILTER_innermost;
}

bool vs_filter_asks(const vs_filter *filter, vs_filter_key key) {
  for (size_t i = 0; i < filter->terms.count; i++)
    if (filter->terms.data[i].key == (uint8_t)key) return true;
  return false;
}

vs_status vs_filter_prepare(vs_filter *filter, const vs_snapshot *snapshot, vs_frames *frames) {
  size_t texts = 0, size;
  filter->frames = frames;
  for (size_t i = 0; i < filter->terms.count; i++) texts += is_remembered(&filter->terms.data[i]);
  if (!vs_mul_size(texts, seen_by_term(snapshot), &size)) return VS_NO_MEMORY;
  filter->seen.count = 0;
  VS_TRY(vs_vec_reserve(filter->host, &filter->seen, size));
  if (size != 0) memset(filter->seen.data, NOT_SEEN, size);
  filter->seen.count = size;
  return VS_OK;
}

static bool string_has(const vs_snapshot *snapshot, uint8_t *seen, uint32_t string, vs_str text) {
  VS_ASSERT(string < vs_strings_count(&snapshot->strings));
  if (seen[string] == NOT_SEEN)
    seen[string] = vs_str_contains(vs_snapshot_string(snapshot, string), text) ? SEEN_YES : SEEN_NO;
  return seen[string] == SEEN_YES;
}

static bool stack_has(const vs_snapshot *snapshot, uint8_t *seen, uint32_t stack, vs_str text) {
  VS_ASSERT(stack < vs_lists_count(&snapshot->stacks.lists));
  uint8_t *answer = &seen[vs_strings_count(&snapshot->strings) + stack];
  if (*answer != NOT_SEEN) return *answer == SEEN_YES;
  const vs_list list = vs_stacks_at(&snapshot->stacks, stack);
  *answer = SEEN_NO;
  for (uint32_t i = 0; i < list.count && *answer == SEEN_NO; i++) {
    const vs_frame *frame = &snapshot->stacks.frames.data[list.items[i]];
    if (string_has(snapshot, seen, frame->name, text) || string_has(snapshot, seen, frame->file, text))
      *answer = SEEN_YES;
  }
  return *answer == SEEN_YES;
}

/* Whether `text` names the frame: "train.py:42", "backward pass of train.py:42", or its function if it has no line. */
static bool is_line(vs_frames *frames, uint32_t frame, vs_str text) {
  if (frame == VS_NO_FRAME) return false;
  const vs_snapshot *snapshot = frames->snapshot;
  const vs_frame *f = &snapshot->stacks.frames.data[frame];
  if ((f->is_forward != 0) != vs_str_starts(text, VS_STR(VS_BACKWARD_OF))) return false;
  if (f->is_forward != 0) text = tail(text, sizeof VS_BACKWARD_OF - 1);
  if (!vs_frames_is_by_line(frames, frame)) return vs_str_equal(vs_snapshot_string(snapshot, f->name), text);
  size_t colon = text.size;
  while (colon > 0 && text.data[colon - 1] != ':') colon--;
  int64_t line;
  return colon > 1 && vs_parse_i64(tail(text, colon), &line) && line == f->line &&
         vs_path_ends_with(vs_snapshot_string(snapshot, f->file), (vs_str){text.data, colon - 1});
}

static bool line_matches(const vs_filter *filter, const vs_snapshot *snapshot, const vs_term *term,
                         uint8_t *seen, uint32_t stack) {
  uint8_t *answer = &seen[vs_strings_count(&snapshot->strings) + stack];
  VS_ASSERT(stack < vs_lists_count(&snapshot->stacks.lists));
  if (*answer == NOT_SEEN) {
    const uint32_t frame = term->key == VS_FILTER_line ? vs_frames_user(filter->frames, stack)
                                                       : vs_frames_innermost(filter->frames, stack);
    *answer = is_line(filter->frames, frame, text_of(filter, term)) ? SEEN_YES : SEEN_NO;
  }
  return (*answer == SEEN_YES) == (term->comparison == VS_EQUAL);
}

static bool compare(uint8_t comparison, uint64_t a, uint64_t b) {
  switch (comparison) {
    case VS_EQUAL: return a == b;
    case VS_NOT_EQUAL: return a != b;
    case VS_BELOW: return a < b;
    case VS_AT_MOST: return a <= b;
    case VS_ABOVE: return a > b;
    default: return a >= b;
  }
}

static bool pool_matches(const vs_snapshot *snapshot, const vs_term *term, uint32_t pool) {
  if (pool == 0 || term->is_none) return (pool == 0) == term->is_none;
  VS_ASSERT(pool <= snapshot->pools.count);
  const vs_pool_id id = snapshot->pools.data[pool - 1];
  return id.a == term->number && id.b == term->number2;
}

static bool item_bitmaps(const vs_term *term, const vs_filter_row *row) {
  return row->is_segment == term->is_segment && row->item_address == term->number &&
         row->version == term->number2;
}

static bool name_matches(const vs_filter *filter, const vs_term *term, vs_str name) {
  return vs_str_equal(name, text_of(filter, term)) == (term->comparison == VS_EQUAL);
}

static bool term_keeps(const vs_filter *filter, const vs_snapshot *snapshot, const vs_term *term,
                       uint8_t *seen, const vs_filter_row *row) {
  const bool is_of_stack = is_remembered(term) || term->key == VS_FILTER_stack;
  if (!is_of_stack && (row->has >> term->key & 1) == 0)
    return false; /* an unknown value matches no term, not even != */
  switch (term->key) {
    case VS_FILTER_size: return compare(term->comparison, row->size, term->number);
    case VS_FILTER_address: return compare(term->comparison, row->address, term->number);
    case VS_FILTER_event: return compare(term->comparison, row->event, term->number);
    case VS_FILTER_stream:
      return compare(term->comparison, snapshot->streams.data[row->stream], term->number);
    case VS_FILTER_pool: return pool_matches(snapshot, term, row->pool) == (term->comparison == VS_EQUAL);
    case VS_FILTER_action: return name_matches(filter, term, row->action);
    case VS_FILTER_state: return name_matches(filter, term, row->state);
    case VS_FILTER_category: return name_matches(filter, term, row->category);
    case VS_FILTER_metadata: return name_matches(filter, term, row->metadata);
    case VS_FILTER_row: return compare(term->comparison, row->number, term->number);
    case VS_FILTER_name: return item_bitmaps(term, row) == (term->comparison == VS_EQUAL);
    case VS_FILTER_annotation: return name_matches(filter, term, row->annotation);
    case VS_FILTER_stack: return compare(term->comparison, row->stack, term->number);
    case VS_FILTER_lifetime: return compare(term->comparison, row->lifetime_us, term->number);
    case VS_FILTER_line:
    case VS_FILTER_innermost: return line_matches(filter, snapshot, term, seen, row->stack);
    default: return stack_has(snapshot, seen, row->stack, text_of(filter, term));
  }
}

bool vs_filter_keeps(const vs_filter *filter, const vs_snapshot *snapshot, const vs_filter_row *row) {
  uint8_t *seen = filter->seen.data;
  VS_ASSERT(filter->terms.count == 0 || filter->frames != NULL);
  for (size_t i = 0; i < filter->terms.count; i++) {
    const vs_term *term = &filter->terms.data[i];
    if (!term_keeps(filter, snapshot, term, seen, row)) return false;
    if (is_remembered(term)) seen += seen_by_term(snapshot);
    VS_ASSERT((size_t)(seen - filter->seen.data) <= filter->seen.count);
  }
  return true;
}
