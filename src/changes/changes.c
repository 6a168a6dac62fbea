#include "changes/changes.h"
#include "alloc/settings.h"
#include "codec/json_reply.h"

/* ---- the rows */

static const vs_change_row rows[] = {
#define VS_CHANGE(name_, results_, what_, how_, cost_, unsuited_, never_) \
  {.name = #name_,                                                        \
   .results = results_,                                                   \
   .what = what_,                                                         \
   .how = how_,                                                           \
   .cost = cost_,                                                         \
   .unsuited = unsuited_,                                                 \
   .never = never_},
#include "changes/changes.def"
};

static const vs_change_parameter parameters[] = {
#define VS_CHANGE_PARAMETER(change_, key_, kind_, least_, fallback_, what_) \
  {.change = VS_CHANGE_##change_,                                           \
   .key = key_,                                                             \
   .kind = kind_,                                                           \
   .least = least_,                                                         \
   .fallback = fallback_,                                                   \
   .what = what_},
#include "changes/changes.def"
};
enum { PARAMETERS = sizeof parameters / sizeof *parameters };

const vs_change_row *vs_change_row_of(vs_change_id id) {
  VS_ASSERT((size_t)id < VS_CHANGE_COUNT);
  return &rows[id];
}

const vs_change_parameter *vs_change_parameters(size_t *count) {
  *count = PARAMETERS;
  return parameters;
}

static const vs_attempt attempts[] = {
#define VS_CHANGE_ATTEMPT(change_, parameters_, price_, touches_, within_) \
  {.change = VS_CHANGE_##change_,                                          \
   .parameters = parameters_,                                              \
   .price = price_,                                                        \
   .touches = touches_,                                                    \
   .within_bytes = UINT64_C(within_) << 20},
#include "changes/changes.def"
};
_Static_assert(sizeof attempts / sizeof *attempts == VS_ATTEMPTS, "VS_ATTEMPTS counts the rows");

const vs_attempt *vs_attempt_of(size_t index) {
  VS_ASSERT(index < VS_ATTEMPTS);
  return &attempts[index];
}

const char *vs_results_word(vs_results results) {
  static const char *const words[] = {
      [VS_RESULTS_SAME] = "same", [VS_RESULTS_ROUNDING] = "rounding", [VS_RESULTS_OTHER] = "other"};
  return words[results];
}

/* ---- reading: one value */

static const vs_change_parameter *find_parameter(vs_change_id change, vs_str key) {
  for (size_t i = 0; i < PARAMETERS; i++)
    if (parameters[i].change == change && vs_str_equal(key, vs_str_from(parameters[i].key)))
      return &parameters[i];
  return NULL;
}

static bool is_text(vs_parameter_kind kind) { return kind != VS_PARAMETER_NUMBER; }

static vs_status check_text(const vs_change_parameter *p, vs_json value, vs_error *error) {
  const char *change = rows[p->change].name;
  const vs_str text = vs_json_str(value, VS_STR(""));
  if (vs_json_kind(value) != VS_VALUE_STRING || text.size < p->least || vs_str_contains(text, VS_STR("\0")))
    return vs_fail(error, VS_BAD_ARGUMENT, VS_NO_OFFSET, "%s: \"%s\" has to be a text", change, p->key);
  if (p->kind != VS_PARAMETER_SETTINGS) return VS_OK;
  vs_error cause;
  const vs_status status = vs_alloc_settings_accepted(text, &cause);
  if (status == VS_OK) return VS_OK;
  return vs_fail(error, VS_BAD_ARGUMENT, VS_NO_OFFSET, "%s: %s", change, cause.text);
}

static vs_status check_number(const vs_change_parameter *p, vs_json value, vs_error *error) {
  const uint64_t number = vs_json_u64(value, UINT64_MAX);
  if (number >= p->least && number <= UINT32_MAX) return VS_OK;
  return vs_fail(error, VS_BAD_ARGUMENT, VS_NO_OFFSET, "%s: \"%s\" has to be an integer, at least %U",
                 rows[p->change].name, p->key, p->least);
}

/* ---- reading: one change */

static vs_status check_members(vs_change_id change, vs_json entry, vs_error *error) {
  for (size_t i = 0; i < vs_json_count(entry); i++) {
    const vs_str key = vs_json_name_at(entry, i);
    if (vs_str_equal(key, VS_STR("name"))) continue;
    const vs_change_parameter *p = find_parameter(change, key);
    if (p == NULL)
      return vs_fail(error, VS_BAD_ARGUMENT, VS_NO_OFFSET, "%s has no \"%S\"", rows[change].name, key);
    const vs_json value = vs_json_member(entry, key); /* of several the last, which counts */
    VS_TRY(is_text(p->kind) ? check_text(p, value, error) : check_number(p, value, error));
  }
  return VS_OK;
}

static vs_status check_all_texts_given(vs_change_id change, vs_json entry, vs_error *error) {
  for (size_t i = 0; i < PARAMETERS; i++) {
    const vs_change_parameter *p = &parameters[i];
    if (p->change == change && is_text(p->kind) && vs_json_is_absent(vs_reply_at(entry, p->key)))
      return vs_fail(error, VS_BAD_ARGUMENT, VS_NO_OFFSET, "%s needs \"%s\": %s", rows[change].name, p->key,
                     p->what);
  }
  return VS_OK;
}

static bool is_in(const vs_changes *changes, vs_change_id id) {
  for (size_t i = 0; i < changes->count; i++)
    if (changes->ids[i] == id) return true;
  return false;
}

static vs_status find_change(vs_str name, vs_change_id *id, vs_error *error) {
  for (uint32_t i = 0; i < VS_CHANGE_COUNT; i++) {
    *id = (vs_change_id)i;
    if (vs_str_equal(name, vs_str_from(rows[i].name))) return VS_OK;
  }
  return vs_fail(error, VS_BAD_ARGUMENT, VS_NO_OFFSET, "there is no change \"%S\"", name);
}

static vs_status take_change(vs_changes *changes, vs_json entry, vs_error *error) {
  vs_change_id id;
  const vs_json name = vs_reply_at(entry, "name");
  if (vs_json_kind(entry) != VS_JSON_OBJECT || vs_json_kind(name) != VS_VALUE_STRING)
    return vs_fail(error, VS_BAD_ARGUMENT, VS_NO_OFFSET, "a change is an object with a \"name\"");
  VS_TRY(find_change(vs_json_str(name, VS_STR("")), &id, error));
  if (is_in(changes, id))
    return vs_fail(error, VS_BAD_ARGUMENT, VS_NO_OFFSET, "%s is there twice", rows[id].name);
  if (rows[id].results == VS_RESULTS_OTHER && !changes->allows_numerics)
    return vs_fail(error, VS_BAD_ARGUMENT, VS_NO_OFFSET,
                   "%s changes the numerics of the program: allow that with \"allows_numerics\": true",
                   rows[id].name);
  VS_TRY(check_members(id, entry, error));
  VS_TRY(check_all_texts_given(id, entry, error));
  changes->entries[changes->count] = entry;
  changes->ids[changes->count++] = id;
  return VS_OK;
}

/* Whether the two undo each other. */
static bool is_pair(vs_change_id a, vs_change_id b) {
  static const vs_change_id pairs[][2] = {{VS_CHANGE_foreach_off, VS_CHANGE_fused},
                                          {VS_CHANGE_fused, VS_CHANGE_adam_8bit},
                                          {VS_CHANGE_fused, VS_CHANGE_adam_paged},
                                          {VS_CHANGE_adam_paged, VS_CHANGE_adam_8bit}};
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
    if ((pairs[i][0] == a && pairs[i][1] == b) || (pairs[i][0] == b && pairs[i][1] == a)) return true;
  return false;
}

bool vs_changes_exclude(vs_change_id a, vs_change_id b) { return a == b || is_pair(a, b); }

static vs_status check_pairs(const vs_changes *changes, vs_error *error) {
  for (size_t i = 0; i < changes->count; i++)
    for (size_t k = i + 1; k < changes->count; k++)
      if (is_pair(changes->ids[i], changes->ids[k]))
        return vs_fail(error, VS_BAD_ARGUMENT, VS_NO_OFFSET,
                       "%s and %s are about the same optimizer: give one of the two",
                       rows[changes->ids[i]].name, rows[changes->ids[k]].name);
  return VS_OK;
}

/* ---- reading: the file */

static vs_status check_document(vs_json root, vs_error *error) {
  enum { SCHEMA = 1 };
  static const char *const keys[] = {"schema", "allows_numerics", "changes"};
  if (vs_json_kind(root) != VS_JSON_OBJECT || vs_json_kind(vs_reply_at(root, "changes")) != VS_JSON_ARRAY)
    return vs_fail(error, VS_BAD_ARGUMENT, VS_NO_OFFSET, "not a list of changes: it has no \"changes\"");
  if (vs_json_u64(vs_reply_at(root, "schema"), 0) != SCHEMA)
    return vs_fail(error, VS_BAD_ARGUMENT, VS_NO_OFFSET, "\"schema\" has to be %d", (int)SCHEMA);
  for (size_t i = 0; i < vs_json_count(root); i++) {
    const vs_str key = vs_json_name_at(root, i);
    size_t k = 0;
    while (k < sizeof keys / sizeof *keys && !vs_str_equal(key, vs_str_from(keys[k]))) k++;
    if (k == sizeof keys / sizeof *keys)
      return vs_fail(error, VS_BAD_ARGUMENT, VS_NO_OFFSET, "unknown key \"%S\"", key);
  }
  const vs_json allows = vs_reply_at(root, "allows_numerics");
  if (!vs_json_is_absent(allows) && vs_json_kind(allows) != VS_VALUE_BOOL)
    return vs_fail(error, VS_BAD_ARGUMENT, VS_NO_OFFSET, "\"allows_numerics\" has to be true or false");
  return VS_OK;
}

static vs_status take_document(vs_changes *changes, vs_error *error) {
  const vs_json root = vs_json_root(&changes->document), list = vs_reply_at(root, "changes");
  VS_TRY(check_document(root, error));
  changes->allows_numerics = vs_reply_bool(root, "allows_numerics");
  for (size_t i = 0; i < vs_json_count(list); i++) VS_TRY(take_change(changes, vs_json_at(list, i), error));
  return check_pairs(changes, error);
}

vs_status vs_changes_read(vs_changes *changes, const vs_host *host, vs_str text, vs_error *error) {
  *changes = (vs_changes){.count = 0};
  if (text.size > VS_CHANGES_LONGEST)
    return vs_fail(error, VS_BAD_ARGUMENT, VS_NO_OFFSET, "too large: a list of changes has at most %d bytes",
                   (int)VS_CHANGES_LONGEST);
  VS_TRY(vs_json_doc_init(&changes->document, host, text, error));
  const vs_status status = take_document(changes, error);
  if (status != VS_OK) vs_json_doc_deinit(&changes->document);
  else VS_ASSERT(vs_changes_check(changes));
  return status;
}

void vs_changes_deinit(vs_changes *changes) {
  vs_json_doc_deinit(&changes->document);
  changes->count = 0;
}

/* ---- values */

uint64_t vs_changes_number(const vs_changes *changes, size_t index, const vs_change_parameter *parameter) {
  VS_ASSERT(index < changes->count && parameter->change == changes->ids[index]);
  return vs_json_u64(vs_reply_at(changes->entries[index], parameter->key), parameter->fallback);
}

vs_str vs_changes_text(const vs_changes *changes, size_t index, const vs_change_parameter *parameter) {
  VS_ASSERT(index < changes->count && parameter->change == changes->ids[index]);
  return vs_reply_str(changes->entries[index], parameter->key);
}

static bool check_parameter(const vs_changes *changes, size_t index, const vs_change_parameter *p) {
  return is_text(p->kind) ? vs_changes_text(changes, index, p).size >= p->least
                          : vs_changes_number(changes, index, p) >= p->least;
}

bool vs_changes_check(const vs_changes *changes) {
  if (changes->count > VS_CHANGE_COUNT) return false;
  for (size_t i = 0; i < changes->count; i++) {
    if (rows[changes->ids[i]].results == VS_RESULTS_OTHER && !changes->allows_numerics) return false;
    for (size_t k = 0; k < i; k++)
      if (changes->ids[k] == changes->ids[i]) return false;
    for (size_t k = 0; k < PARAMETERS; k++)
      if (parameters[k].change == changes->ids[i] && !check_parameter(changes, i, &parameters[k]))
        return false;
  }
  return true;
}

/* ---- writing */

static void put_change(vs_jsonw *w, const vs_changes *changes, size_t index) {
  vs_jsonw_object_begin(w);
  vs_jsonw_member_str(w, "name", vs_str_from(rows[changes->ids[index]].name));
  for (size_t i = 0; i < PARAMETERS; i++) {
    const vs_change_parameter *p = &parameters[i];
    if (p->change != changes->ids[index]) continue;
    if (is_text(p->kind)) vs_jsonw_member_str(w, p->key, vs_changes_text(changes, index, p));
    else vs_jsonw_member_u64(w, p->key, vs_changes_number(changes, index, p));
  }
  vs_jsonw_object_end(w);
}

void vs_changes_put(vs_text *text, const vs_changes *changes) {
  vs_jsonw w;
  vs_jsonw_begin(&w, text, 0);
  vs_jsonw_object_begin(&w);
  vs_jsonw_member_u64(&w, "schema", 1);
  vs_jsonw_member_bool(&w, "allows_numerics", changes->allows_numerics);
  vs_jsonw_key(&w, VS_STR("changes"));
  vs_jsonw_array_begin(&w);
  for (size_t i = 0; i < changes->count; i++) put_change(&w, changes, i);
  vs_jsonw_array_end(&w);
  vs_jsonw_object_end(&w);
  vs_jsonw_end(&w);
}

/* Of a text always, of a number where it is not the row's own. */
static bool is_in_title(const vs_changes *changes, size_t index, const vs_change_parameter *p) {
  if (p->change != changes->ids[index]) return false;
  return is_text(p->kind) || vs_changes_number(changes, index, p) != p->fallback;
}

void vs_changes_put_title(vs_text *text, const vs_changes *changes, size_t index) {
  VS_ASSERT(index < changes->count);
  const char *before = " (";
  vs_text_cstr(text, rows[changes->ids[index]].name);
  for (size_t i = 0; i < PARAMETERS; i++) {
    const vs_change_parameter *p = &parameters[i];
    if (!is_in_title(changes, index, p)) continue;
    if (is_text(p->kind)) vs_text_format(text, "%s%S", before, vs_changes_text(changes, index, p));
    else vs_text_format(text, "%s%s %U", before, p->key, vs_changes_number(changes, index, p));
    before = ", ";
  }
  if (before[0] == ',') vs_text_byte(text, ')');
}
