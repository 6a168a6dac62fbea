/* The grammar of settings:
 *
 *   settings := [pair ("," pair)*]        pair := key ":" value
 *   value    := word | "[" item ("," item)* "]"       item := word ":" word
 *
 * White space may stand between all of these. A word is anything without , : [ ] and white space. */
#include "alloc/settings.h"
#include "base/nearest.h"
#include "base/double_text.h"

/* ---- words --------------------------------------------------------------------------------------------- */

/* `text` is scanned to its end; offsets of errors count from its beginning. */
typedef struct scanner {
  vs_str text;
  size_t at;
  vs_error *error;
} scanner;

/* A word, and its offset. */
typedef struct word {
  vs_str text;
  uint64_t at;
} word;

static bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
static bool is_mark(char c) { return c == ',' || c == ':' || c == '[' || c == ']'; }

static void skip_space(scanner *s) {
  while (s->at < s->text.size && is_space(s->text.data[s->at])) s->at++;
}

static bool at_end(scanner *s) {
  skip_space(s);
  return s->at == s->text.size;
}

static bool take(scanner *s, char mark) {
  if (at_end(s) || s->text.data[s->at] != mark) return false;
  s->at++;
  return true;
}

/* The word that begins here; empty before a mark and at the end. */
static word take_word(scanner *s) {
  skip_space(s);
  const size_t begin = s->at;
  while (s->at < s->text.size && !is_space(s->text.data[s->at]) && !is_mark(s->text.data[s->at])) s->at++;
  return (word){{s->text.data + begin, s->at - begin}, begin};
}

/* The word, mark or end at the scanner, for a message. */
static vs_str peek(scanner *s) {
  if (at_end(s)) return VS_STR("the end");
  const size_t begin = s->at;
  const word found = take_word(s);
  s->at = begin;
  return found.text.size != 0 ? found.text : (vs_str){s->text.data + begin, 1};
}

static vs_str shortened(vs_str text) {
  enum { MOST_QUOTED = 48 };
  return text.size > MOST_QUOTED ? (vs_str){text.data, MOST_QUOTED} : text;
}

static vs_status expected(scanner *s, const char *what, vs_str behind) {
  const vs_str found = shortened(peek(s));
  return vs_fail(s->error, VS_BAD_FORMAT, s->at, "expected %s behind '%S', not %s%S%s", what,
                 shortened(behind), at_end(s) ? "" : "'", found, at_end(s) ? "" : "'");
}

/* ---- values -------------------------------------------------------------------------------------------- */

/* One setting that is parsed into `to`. */
typedef struct job {
  vs_alloc_settings *to;
  const vs_alloc_setting *row;
  scanner value; /* its text ends where the value ends */
  bool is_list;
  bool is_of_run; /* see vs_alloc_settings_parse_run */
} job;

static vs_status refuse(const job *j, word found) {
  return vs_fail(j->value.error, VS_BAD_FORMAT, found.at, "%s: expected %s, not '%S'", j->row->key,
                 j->row->bounds, shortened(found.text));
}

static void *field(const job *j) { return (char *)j->to + j->row->offset; }

static vs_status choose(const job *j, word found, const char *const *names, size_t count, size_t *chosen) {
  vs_nearest nearest = vs_nearest_to(found.text);
  for (*chosen = 0; *chosen < count; ++*chosen) {
    if (vs_str_equal(found.text, vs_str_from(names[*chosen]))) return VS_OK;
    vs_nearest_offer(&nearest, vs_str_from(names[*chosen]));
  }
  if (nearest.best.size == 0) return refuse(j, found);
  return vs_fail(j->value.error, VS_BAD_FORMAT, found.at, "%s: expected %s, not '%S': did you mean '%S'?",
                 j->row->key, j->row->bounds, shortened(found.text), nearest.best);
}

static vs_status set_profile(const job *j, word found) {
  const char *names[8];
  uint32_t count;
  size_t chosen;
  const vs_alloc_rules *rules = vs_alloc_rules_list(&count);
  VS_ASSERT(count <= sizeof names / sizeof *names);
  for (uint32_t i = 0; i < count; i++) names[i] = rules[i].name;
  VS_TRY(choose(j, found, names, count, &chosen));
  j->to->rules = &rules[chosen];
  return VS_OK;
}

static vs_status set_backend(const job *j, word found) {
  static const char *const names[] = {"native", "cudaMallocAsync", "hipMallocAsync"};
  size_t chosen;
  VS_TRY(choose(j, found, names, 3, &chosen));
  j->to->backend = chosen == 0 ? VS_ALLOC_NATIVE : VS_ALLOC_ASYNC;
  return VS_OK;
}

static vs_status set_flag(const job *j, word found) {
  static const char *const names[] = {"False", "True"};
  size_t chosen;
  VS_TRY(choose(j, found, names, 2, &chosen));
  *(bool *)field(j) = chosen == 1;
  return VS_OK;
}

/* The smallest number of MiB that the setting takes. */
static uint64_t least_mib(const job *j) {
  switch (j->row->kind) {
    case VS_ALLOC_SEGMENT_MIB: return 11;
    case VS_ALLOC_ABOVE_SEGMENT: return j->to->large_segment_size / VS_MIB + !j->to->rules->may_equal_segment;
    case VS_ALLOC_SOME_MIB: return 1;
    default: return 0;
  }
}

static vs_status set_mib(const job *j, word found) {
  const uint64_t least = least_mib(j), most = UINT64_MAX / VS_MIB;
  uint64_t mib;
  bool is_number = found.text.size != 0;
  for (size_t i = 0; i < found.text.size; i++)
    is_number = is_number && found.text.data[i] >= '0' && found.text.data[i] <= '9';
  if (!is_number) return refuse(j, found);
  if (!vs_parse_u64(found.text, &mib) || mib > most)
    return vs_fail(j->value.error, VS_BAD_FORMAT, found.at, "%s: %S is too large, %U is the most",
                   j->row->key, shortened(found.text), most);
  if (mib < least)
    return vs_fail(j->value.error, VS_BAD_FORMAT, found.at, "%s: %U is too small, %U is the least%s",
                   j->row->key, mib, least,
                   j->row->kind == VS_ALLOC_ABOVE_SEGMENT ? " with this large_segment_size_mb" : "");
  *(uint64_t *)field(j) = mib * VS_MIB;
  return VS_OK;
}

static bool is_power_of_two(uint64_t number) { return number != 0 && (number & (number - 1)) == 0; }

static vs_status set_threads(const job *j, word found) {
  uint64_t threads;
  if (!vs_parse_u64(found.text, &threads) || !is_power_of_two(threads) || threads > 128)
    return refuse(j, found);
  *(uint64_t *)field(j) = threads;
  return VS_OK;
}

/* A decimal number; ".5" and "1." are numbers as well. */
static bool read_real(vs_str text, double *number) {
  char padded[64];
  if (text.size == 0 || text.size > sizeof padded - 2) return false;
  size_t size = 0;
  if (text.data[0] == '.') padded[size++] = '0';
  memcpy(padded + size, text.data, text.size);
  size += text.size;
  if (text.data[text.size - 1] == '.') padded[size++] = '0';
  return vs_parse_f64((vs_str){padded, size}, number) && vs_f64_is_finite(*number);
}

static vs_status set_fraction(const job *j, word found) {
  const bool is_open = j->row->kind == VS_ALLOC_OPEN_FRACTION;
  double number;
  if (!read_real(found.text, &number)) return refuse(j, found);
  if (is_open ? !(number > 0 && number < 1) : !(number >= 0 && number <= 1)) return refuse(j, found);
  *(double *)field(j) = number;
  return VS_OK;
}

static vs_status read_reserve(const job *j, word found, vs_alloc_reserve *reserve) {
  vs_str number = found.text;
  *reserve = (vs_alloc_reserve){.is_set = true, .is_fraction = true};
  if (number.size != 0 && (number.data[number.size - 1] == 'G' || number.data[number.size - 1] == 'g')) {
    reserve->is_fraction = false;
    number.size--;
  }
  if (read_real(number, &reserve->value) && reserve->value > 0) return VS_OK;
  return vs_fail(j->value.error, VS_BAD_FORMAT, found.at,
                 "%s: expected a fraction of the GPU's memory such as 0.5, or GiB such as 40G, not '%S'",
                 j->row->key, shortened(found.text));
}

/* ---- lists --------------------------------------------------------------------------------------------- */

typedef struct item {
  word name, value;
} item;

/* The next "name:value" of a list; *is_last is set if the closing bracket follows. */
static vs_status next_item(job *j, item *out, bool *is_last) {
  scanner *s = &j->value;
  out->name = take_word(s);
  if (out->name.text.size == 0)
    return vs_fail(s->error, VS_BAD_FORMAT, s->at, "%s: expected an item such as %s, not '%S'", j->row->key,
                   j->row->kind == VS_ALLOC_RESERVE_LIST ? "class:0.5" : "256:4", peek(s));
  if (!take(s, ':')) return expected(s, "':'", out->name.text);
  out->value = take_word(s);
  if (out->value.text.size == 0) return expected(s, "a value", VS_STR(":"));
  *is_last = take(s, ']');
  if (!*is_last && !take(s, ',')) return expected(s, "',' or ']'", out->value.text);
  return VS_OK;
}

/* The entry of the table for sizes from `mib` on. */
static uint32_t interval_of(uint64_t mib) {
  VS_ASSERT(mib > 0);
  const uint32_t power = 63 - (uint32_t)__builtin_clzll(mib);
  return power < VS_ALLOC_DIVISIONS ? power : VS_ALLOC_DIVISIONS - 1;
}

static vs_status read_divisions(const job *j, word found, uint64_t *divisions) {
  const bool may_be_zero = j->is_list && j->to->rules->has_zero_divisions;
  if (vs_parse_u64(found.text, divisions) &&
      (is_power_of_two(*divisions) || (*divisions == 0 && may_be_zero)))
    return VS_OK;
  return vs_fail(j->value.error, VS_BAD_FORMAT, found.at,
                 "%s: the number of divisions has to be a power of two%s, not '%S'", j->row->key,
                 may_be_zero ? " or 0" : "", shortened(found.text));
}

/* The first item also counts for all smaller sizes, and ">" for all sizes above the last one named. Sizes between
 * two that are named have no divisions. */
static vs_status set_division_list(job *j) {
  uint64_t *table = j->to->roundup_divisions;
  uint32_t last = 0;
  bool is_first = true, is_last = false;
  while (!is_last) {
    item it;
    uint64_t divisions, mib;
    VS_TRY(next_item(j, &it, &is_last));
    VS_TRY(read_divisions(j, it.value, &divisions));
    if (vs_str_equal(it.name.text, VS_STR(">"))) {
      for (uint32_t i = last + j->to->rules->rest_is_behind; i < VS_ALLOC_DIVISIONS; i++)
        table[i] = divisions;
      continue;
    }
    if (!vs_parse_u64(it.name.text, &mib) || !is_power_of_two(mib))
      return vs_fail(j->value.error, VS_BAD_FORMAT, it.name.at,
                     "%s: sizes are powers of two in MiB, or '>', not '%S'", j->row->key,
                     shortened(it.name.text));
    last = interval_of(mib);
    for (uint32_t i = is_first ? 0 : last; i <= last; i++) table[i] = divisions;
    is_first = false;
  }
  return VS_OK;
}

static vs_status set_divisions(job *j, word found) {
  uint64_t divisions;
  if (j->is_list && !j->to->rules->has_division_list)
    return vs_fail(j->value.error, VS_BAD_FORMAT, found.at, "%s: %s takes one number, not a list",
                   j->row->key, j->to->rules->name);
  if (j->is_list) return set_division_list(j);
  VS_TRY(read_divisions(j, found, &divisions));
  for (size_t i = 0; i < VS_ALLOC_DIVISIONS; i++) j->to->roundup_divisions[i] = divisions;
  return VS_OK;
}

/* Whether the name can be printed in a message and stored in a C string. */
static bool is_name(vs_str name) {
  for (size_t i = 0; i < name.size; i++)
    if ((uint8_t)name.data[i] <= ' ' || name.data[i] == 0x7f) return false;
  return name.size > 0;
}

/* A list replaces the one before. */
static vs_status set_reserve_list(job *j, word found) {
  vs_alloc_settings *to = j->to;
  bool is_last = false;
  if (!j->is_list) return refuse(j, found);
  for (to->class_count = 0; !is_last; to->class_count++) {
    item it;
    VS_TRY(next_item(j, &it, &is_last));
    if (to->class_count == VS_ALLOC_MOST_CLASSES || it.name.text.size >= VS_ALLOC_CLASS_NAME)
      return vs_fail(j->value.error, VS_LIMIT, it.name.at,
                     "%s: at most %d classes with names of at most %d bytes", j->row->key,
                     VS_ALLOC_MOST_CLASSES, VS_ALLOC_CLASS_NAME - 1);
    if (!is_name(it.name.text))
      return vs_fail(j->value.error, VS_BAD_FORMAT, it.name.at,
                     "%s: the name of a class is plain text, not '%S'", j->row->key, it.name.text);
    for (uint32_t i = 0; i < to->class_count; i++)
      if (vs_str_equal(it.name.text, vs_str_from(to->classes[i].name)))
        return vs_fail(j->value.error, VS_BAD_FORMAT, it.name.at, "%s: class '%S' is named twice",
                       j->row->key, it.name.text);
    VS_TRY(read_reserve(j, it.value, &to->classes[to->class_count].reserve));
    memcpy(to->classes[to->class_count].name, it.name.text.data, it.name.text.size);
    to->classes[to->class_count].name[it.name.text.size] = 0;
  }
  VS_ASSERT(to->class_count <= VS_ALLOC_MOST_CLASSES);
  return VS_OK;
}

/* ---- settings ------------------------------------------------------------------------------------------ */

/* The function that sets what the key does, in all versions; NULL: there is none. */
static const char *function_of(const vs_alloc_setting *row) {
#define VS_ALLOC_SETTING(key, KIND, field, fallback, bounds, since, until, WHERE, sentence)
#define VS_ALLOC_ALIAS(alias, key)
#define VS_ALLOC_FUNCTION(key_, function) \
  if (vs_str_equal(vs_str_from(row->key), VS_STR(key_))) return function;
#include "alloc/settings.def"
#undef VS_ALLOC_FUNCTION
#undef VS_ALLOC_ALIAS
#undef VS_ALLOC_SETTING
  return NULL;
}

static vs_status check_version(const job *j, uint64_t at) {
  uint32_t count;
  const vs_alloc_rules *rules = vs_alloc_rules_list(&count), *mine = j->to->rules, *known = NULL;
  const char *function = function_of(j->row);
  if (mine->version >= j->row->since && mine->version <= j->row->until) return VS_OK;
  if (j->is_of_run && function != NULL) return VS_OK;
  for (uint32_t i = 0; i < count; i++)
    if (rules[i].version >= j->row->since && rules[i].version <= j->row->until)
      known = &rules[i]; /* the oldest */
  VS_ASSERT(known != NULL);
  return vs_fail(j->value.error, VS_BAD_FORMAT, at, "%s: %s does not know it, %s does%s%s%s", j->row->key,
                 mine->name, known->name, function == NULL ? "" : "; there the function is ",
                 function == NULL ? "" : function, function == NULL ? "" : "()");
}

/* Reads the whole value at the scanner. */
static vs_status apply(job *j) {
  scanner *s = &j->value;
  const size_t begin = s->at;
  j->is_list = take(s, '[');
  const word found = j->is_list ? (word){VS_STR("["), begin} : take_word(s);
  switch (j->row->kind) {
    case VS_ALLOC_DIVISION_LIST: VS_TRY(set_divisions(j, found)); break;
    case VS_ALLOC_RESERVE_LIST: VS_TRY(set_reserve_list(j, found)); break;
    case VS_ALLOC_PROFILE: VS_TRY(set_profile(j, found)); break;
    case VS_ALLOC_BACKEND: VS_TRY(set_backend(j, found)); break;
    case VS_ALLOC_FLAG: VS_TRY(set_flag(j, found)); break;
    case VS_ALLOC_SEGMENT_MIB:
    case VS_ALLOC_ABOVE_SEGMENT:
    case VS_ALLOC_MIB:
    case VS_ALLOC_SOME_MIB: VS_TRY(set_mib(j, found)); break;
    case VS_ALLOC_THREADS: VS_TRY(set_threads(j, found)); break;
    case VS_ALLOC_OPEN_FRACTION:
    case VS_ALLOC_CLOSED_FRACTION: VS_TRY(set_fraction(j, found)); break;
    case VS_ALLOC_RESERVE: VS_TRY(read_reserve(j, found, &j->to->reserve)); break;
  }
  return at_end(s) ? VS_OK : expected(s, "',' or the end", found.text);
}

/* A pair of a settings string: the setting, and the offsets of its value. */
typedef struct pair {
  const vs_alloc_setting *row;
  word key;
  size_t value, end;
} pair;

static const vs_alloc_setting *find_setting(vs_str key, vs_nearest *nearest) {
  uint32_t count;
  const vs_alloc_setting *rows = vs_alloc_setting_list(&count);
#define VS_ALLOC_SETTING(key, KIND, field, fallback, bounds, since, until, WHERE, sentence)
#define VS_ALLOC_ALIAS(alias, key_) \
  if (vs_str_equal(key, VS_STR(alias))) key = VS_STR(key_);
#define VS_ALLOC_FUNCTION(key, function)
#include "alloc/settings.def"
#undef VS_ALLOC_FUNCTION
#undef VS_ALLOC_ALIAS
#undef VS_ALLOC_SETTING
  *nearest = vs_nearest_to(key);
  for (uint32_t i = 0; i < count; i++) {
    if (vs_str_equal(key, vs_str_from(rows[i].key))) return &rows[i];
    vs_nearest_offer(nearest, vs_str_from(rows[i].key));
  }
  return NULL;
}

static vs_status find_or_fail(word key, const vs_alloc_setting **row, vs_error *error) {
  vs_nearest nearest;
  *row = find_setting(key.text, &nearest);
  if (*row != NULL) return VS_OK;
  if (nearest.best.size != 0)
    return vs_fail(error, VS_BAD_FORMAT, key.at, "there is no setting '%S': did you mean '%S'?",
                   shortened(key.text), nearest.best);
  return vs_fail(error, VS_BAD_FORMAT, key.at, "there is no setting '%S'", shortened(key.text));
}

/* Recognises "key=value", the form of other programs, and cuts the key off. */
static bool cut_equals(word *key) {
  for (size_t i = 1; i < key->text.size; i++)
    if (key->text.data[i] == '=') {
      key->text.size = i;
      return true;
    }
  return false;
}

static vs_status take_pair(scanner *s, pair *out) {
  out->key = take_word(s);
  if (out->key.text.size == 0)
    return vs_fail(s->error, VS_BAD_FORMAT, s->at, "expected the name of a setting, not %s%S%s",
                   at_end(s) ? "" : "'", peek(s), at_end(s) ? "" : "'");
  const bool has_equals = cut_equals(&out->key);
  VS_TRY(find_or_fail(out->key, &out->row, s->error));
  if (has_equals)
    return vs_fail(s->error, VS_BAD_FORMAT, out->key.at + out->key.text.size,
                   "expected ':' behind '%S', not '='", out->key.text);
  if (!take(s, ':')) return expected(s, "':'", out->key.text);
  skip_space(s);
  out->value = s->at;
  if (take(s, '[')) {
    while (s->at < s->text.size && s->text.data[s->at] != ']') s->at++;
    if (!take(s, ']'))
      return vs_fail(s->error, VS_BAD_FORMAT, out->value, "%s: '[' is never closed", out->row->key);
  } else if (take_word(s).text.size == 0) {
    return vs_fail(s->error, VS_BAD_FORMAT, s->at, "%s: expected %s, not %s%S%s", out->row->key,
                   out->row->bounds, at_end(s) ? "" : "'", peek(s), at_end(s) ? "" : "'");
  }
  out->end = s->at;
  return VS_OK;
}

/* The order of parsing: the bounds of other settings depend on the version and the size of large segments. */
static int turn_of(const vs_alloc_setting *row) {
  return row->kind == VS_ALLOC_PROFILE ? 0 : row->kind == VS_ALLOC_SEGMENT_MIB ? 1 : 2;
}

/* Parses the settings of one turn, in the order of the text. */
static vs_status parse_turn(vs_alloc_settings *to, vs_str text, int turn, bool is_of_run, vs_error *error) {
  scanner s = {.text = text, .error = error};
  while (!at_end(&s)) {
    pair p;
    VS_TRY(take_pair(&s, &p));
    job j = {.to = to,
             .row = p.row,
             .value = {.text = {text.data, p.end}, .at = p.value, .error = error},
             .is_of_run = is_of_run};
    if (turn_of(p.row) == turn) {
      VS_TRY(check_version(&j, p.key.at));
      VS_TRY(apply(&j));
    }
    if (at_end(&s)) return VS_OK;
    const vs_str value = {text.data + p.value, p.end - p.value};
    if (!take(&s, ',')) return expected(&s, "','", value);
    if (at_end(&s)) return expected(&s, "the name of a setting", VS_STR(","));
  }
  return VS_OK;
}

static vs_status parse_all(vs_alloc_settings *settings, vs_str text, bool is_of_run, vs_error *error) {
  vs_alloc_settings parsed = *settings, defaults;
  vs_alloc_settings_init(&defaults);
  parsed.max_split_size = defaults.max_split_size;
  parsed.roundup_bypass = defaults.roundup_bypass;
  parsed.garbage_collection_threshold = defaults.garbage_collection_threshold;
  memcpy(parsed.roundup_divisions, defaults.roundup_divisions, sizeof parsed.roundup_divisions);
  for (int turn = 0; turn < 3; turn++) {
    if (turn == 2 && parsed.rules->resets_non_split)
      parsed.max_non_split_rounding = parsed.large_segment_size;
    VS_TRY(parse_turn(&parsed, text, turn, is_of_run, error));
  }
  parsed.text_size = (uint16_t)(text.size < VS_ALLOC_TEXT ? text.size : VS_ALLOC_TEXT);
  if (parsed.text_size != 0) memcpy(parsed.text, text.data, parsed.text_size);
  *settings = parsed;
  return VS_OK;
}

vs_status vs_alloc_settings_parse(vs_alloc_settings *settings, vs_str text, vs_error *error) {
  return parse_all(settings, text, false, error);
}

vs_status vs_alloc_settings_accepted(vs_str text, vs_error *error) {
  if (vs_str_contains(text, VS_STR("profile:")))
    return vs_fail(error, VS_BAD_FORMAT, VS_NO_OFFSET,
                   "profile is no setting of PyTorch's: the program's own version decides");
  uint32_t count;
  const vs_alloc_rules *rules = vs_alloc_rules_list(&count);
  vs_error older;
  vs_status newest = VS_OK;
  for (uint32_t i = 0; i < count; i++) {
    vs_alloc_settings settings;
    vs_alloc_settings_init(&settings);
    settings.rules = &rules[i];
    const vs_status status = vs_alloc_settings_parse(&settings, text, i == 0 ? error : &older);
    if (status == VS_OK) return VS_OK;
    if (i == 0) newest = status;
  }
  error->offset = VS_NO_OFFSET; /* the sentence quotes the text, which is short */
  return newest;
}

vs_status vs_alloc_settings_parse_run(vs_alloc_settings *settings, vs_str text, vs_error *error) {
  return parse_all(settings, text, true, error);
}

vs_status vs_alloc_settings_set(vs_alloc_settings *settings, vs_str key, vs_str value, vs_error *error) {
  vs_alloc_settings changed = *settings;
  job j = {.to = &changed, .value = {.text = value, .error = error}};
  VS_TRY(find_or_fail((word){key, VS_NO_OFFSET}, &j.row, error));
  VS_TRY(check_version(&j, VS_NO_OFFSET));
  VS_TRY(apply(&j));
  *settings = changed;
  return VS_OK;
}
