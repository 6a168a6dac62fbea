#include "check/settings.h"
#include "base/double_text.h"
#include "base/human.h"
#include "base/nearest.h"
#include "check/ranges.h"

static const char *const texts[] = {
#define VS_CHECK_TEXT(key) key,
#include "check/settings.def"
#undef VS_CHECK_TEXT
};
enum { TEXTS = sizeof texts / sizeof *texts };

/* ---- patterns */

bool vs_pattern_matches(vs_str pattern, vs_str text) {
  size_t p = 0, t = 0, star = SIZE_MAX, from = 0; /* the last *, and where the text that it stands for ends */
  while (t < text.size) {
    if (p < pattern.size && pattern.data[p] == '*') {
      star = p++;
      from = t;
    } else if (p < pattern.size && (pattern.data[p] == '?' || pattern.data[p] == text.data[t])) {
      p++, t++;
    } else if (star != SIZE_MAX) {
      p = star + 1;
      t = ++from;
    } else {
      return false;
    }
  }
  while (p < pattern.size && pattern.data[p] == '*') p++;
  return p == pattern.size;
}

/* ---- bounds */

static vs_str behind(vs_str text, size_t at) { return (vs_str){text.data + at, text.size - at}; }

static bool parse_bound(vs_bound *bound, vs_str text) {
  *bound = (vs_bound){.is_given = true, .text = text};
  bound->is_more = text.size > 0 && text.data[0] == '+';
  if (bound->is_more) text = behind(text, 1);
  bound->is_percent = text.size > 0 && text.data[text.size - 1] == '%';
  if (!bound->is_percent) return vs_parse_bytes(text, &bound->bytes);
  return vs_parse_f64((vs_str){text.data, text.size - 1}, &bound->percent) && bound->percent >= 0 &&
         bound->percent <= 1e6;
}

uint64_t vs_bound_most(const vs_bound *bound, uint64_t baseline) {
  if (!bound->is_more) return bound->bytes;
  if (!bound->is_percent) return vs_sat_add_u64(baseline, bound->bytes);
  const double more = (double)baseline * (bound->percent / 100);
  return more < 18e18 ? vs_sat_add_u64(baseline, (uint64_t)more) : UINT64_MAX;
}

/* ---- reading */

typedef struct reading {
  vs_check_settings *settings;
  vs_check_budget *budget; /* which one is read */
  vs_error *error;
} reading;

static vs_status wrong(const reading *r, vs_str key, const char *expected) {
  if (r->budget->name.size == 0)
    return vs_fail(r->error, VS_BAD_ARGUMENT, VS_NO_OFFSET, "%S %s", key, expected);
  return vs_fail(r->error, VS_BAD_ARGUMENT, VS_NO_OFFSET, "budgets.%S: %S %s", r->budget->name, key,
                 expected);
}

/* "unknown key", with the one that was probably meant. */
static vs_status unknown_key(const reading *r, vs_str key) {
  char text[128];
  vs_nearest nearest = vs_nearest_to(key);
  for (size_t i = 0; i < VS_FACT_COUNT; i++) vs_nearest_offer(&nearest, vs_str_from(vs_fact_kinds[i].key));
  for (size_t i = 0; i < TEXTS; i++) vs_nearest_offer(&nearest, vs_str_from(texts[i]));
  static const char *const more[] = {"tolerance", "budgets", "owner", "program", "steps", "max"};
  for (size_t i = 0; i < sizeof more / sizeof *more; i++) vs_nearest_offer(&nearest, vs_str_from(more[i]));
  if (nearest.best.size == 0) vs_format(text, sizeof text, "is no key of a check");
  else vs_format(text, sizeof text, "is no key of a check; did you mean %S?", nearest.best);
  return wrong(r, key, text);
}

static bool is_text(vs_json json) {
  const vs_str none = {NULL, 0};
  return vs_json_str(json, none).data != NULL;
}

/* A number of bytes, or a text such as "8GiB". */
static vs_status read_bytes(const reading *r, vs_str key, vs_json json, uint64_t *bytes) {
  const uint64_t number = vs_json_u64(json, UINT64_MAX);
  if (number != UINT64_MAX) {
    *bytes = number;
    return VS_OK;
  }
  if (is_text(json) && vs_parse_bytes(vs_json_str(json, VS_STR("")), bytes)) return VS_OK;
  return wrong(r, key, "takes a size, such as \"8GiB\"");
}

static vs_status read_fact(const reading *r, vs_fact_id id, vs_str key, vs_json json) {
  if (id == VS_FACT_OOMS) {
    const uint32_t kind = vs_json_kind(json);
    if (kind != VS_VALUE_BOOL) return wrong(r, key, "takes true or false");
    r->budget->has_most[id] = vs_json_bool(json, false);
    r->budget->most[id] = 0;
    return VS_OK;
  }
  r->budget->has_most[id] = true;
  if (vs_fact_kinds[id].is_bytes) return read_bytes(r, key, json, &r->budget->most[id]);
  const vs_str text = vs_json_str(json, VS_STR(""));
  r->budget->most[id] = vs_json_u64(json, UINT64_MAX);
  if (r->budget->most[id] != UINT64_MAX || vs_parse_u64(text, &r->budget->most[id])) return VS_OK;
  return wrong(r, key, "takes a number");
}

static vs_status read_text(const reading *r, vs_str key, vs_json json, vs_str *text) {
  if (!is_text(json)) return wrong(r, key, "takes a text");
  *text = vs_json_str(json, VS_STR(""));
  return text->size == 0 ? wrong(r, key, "is empty") : VS_OK;
}

static vs_status read_steps(const reading *r, vs_str key, vs_json json, vs_str *steps) {
  uint64_t first, last;
  *steps = vs_json_str(json, VS_STR(""));
  if (vs_parse_range(*steps, &first, &last)) return VS_OK;
  return wrong(r, key, "takes a range of steps as a text: \"4\", \"1-2\", \"3-\" or \"-2\"");
}

static vs_status read_bound(const reading *r, vs_str key, vs_json json, vs_bound *bound,
                            const char *expected) {
  const uint64_t number = vs_json_u64(json, UINT64_MAX);
  if (number != UINT64_MAX) *bound = (vs_bound){.is_given = true, .bytes = number, .text = VS_STR("")};
  else if (!is_text(json) || !parse_bound(bound, vs_json_str(json, VS_STR(""))))
    return wrong(r, key, expected);
  return VS_OK;
}

static bool is_key(vs_str key, const char *name) { return vs_str_equal(key, vs_str_from(name)); }

static vs_status read_limit(const reading *r, vs_str key, vs_json json, bool *was_read) {
  *was_read = true;
  for (vs_fact_id id = 0; id < VS_FACT_COUNT; id++)
    if (is_key(key, vs_fact_kinds[id].key)) return read_fact(r, id, key, json);
  *was_read = false;
  return VS_OK;
}

static vs_status read_budget_key(const reading *r, vs_str key, vs_json json) {
  bool was_read;
  VS_TRY(read_limit(r, key, json, &was_read));
  if (was_read) return VS_OK;
  if (is_key(key, "owner")) return read_text(r, key, json, &r->budget->owner);
  if (is_key(key, "program")) return read_text(r, key, json, &r->budget->program);
  if (is_key(key, "steps")) return read_steps(r, key, json, &r->budget->steps);
  if (is_key(key, "max"))
    return read_bound(
        r, key, json, &r->budget->max,
        "takes a size, such as \"8GiB\", or what the owner may have more than in the baseline, such "
        "as \"+5%\" or \"+64MiB\"");
  return unknown_key(r, key);
}

static vs_status read_budget(reading *r, vs_str name, vs_json json) {
  vs_check_settings *settings = r->settings;
  bool limits = false;
  VS_TRY(vs_vec_reserve(settings->host, &settings->budgets, 1));
  r->budget = &settings->budgets.data[settings->budgets.count++];
  *r->budget = (vs_check_budget){.name = name};
  if (vs_json_kind(json) != VS_JSON_OBJECT) return wrong(r, VS_STR("it"), "takes a table of keys");
  for (size_t i = 0; i < vs_json_count(json); i++)
    VS_TRY(read_budget_key(r, vs_json_name_at(json, i), vs_json_at(json, i)));
  if ((r->budget->owner.size == 0) == r->budget->max.is_given)
    return wrong(r, VS_STR("owner and max"), "belong together: whose memory, and how much");
  for (vs_fact_id id = 0; id < VS_FACT_COUNT; id++) {
    limits |= r->budget->has_most[id];
    if (r->budget->steps.size != 0 && r->budget->has_most[id] && !vs_check_has_range(id))
      return wrong(
          r, vs_str_from(vs_fact_kinds[id].key),
          "is about the whole run: steps limit max-allocated, max-reserved, and the max of an owner");
  }
  if (!limits && !r->budget->max.is_given) return wrong(r, VS_STR("it"), "limits nothing");
  return VS_OK;
}

static vs_status read_budgets(reading *r, vs_json json) {
  if (vs_json_kind(json) != VS_JSON_OBJECT)
    return wrong(r, VS_STR("budgets"), "takes tables, such as [budgets.optimizer]");
  for (size_t i = 0; i < vs_json_count(json); i++)
    VS_TRY(read_budget(r, vs_json_name_at(json, i), vs_json_at(json, i)));
  r->budget = &r->settings->budgets.data[0];
  return VS_OK;
}

static vs_status read_key(reading *r, vs_str key, vs_json json) {
  bool was_read;
  VS_TRY(read_limit(r, key, json, &was_read));
  if (was_read) return VS_OK;
  for (size_t i = 0; i < TEXTS; i++) {
    vs_str ignored;
    if (is_key(key, texts[i])) return read_text(r, key, json, &ignored);
  }
  if (is_key(key, "budgets")) return read_budgets(r, json);
  if (!is_key(key, "tolerance")) return unknown_key(r, key);
  VS_TRY(read_bound(r, key, json, &r->settings->tolerance,
                    "takes a share or a size, such as \"2%\" or \"64MiB\""));
  r->settings->tolerance.is_more = true;
  return VS_OK;
}

vs_status vs_check_settings_init(vs_check_settings *settings, const vs_host *host, vs_json json,
                                 vs_error *error) {
  *settings = (vs_check_settings){.host = host};
  settings->tolerance.is_more = true;
  VS_TRY(vs_vec_reserve(host, &settings->budgets, 1));
  settings->budgets.data[settings->budgets.count++] = (vs_check_budget){.name = VS_STR("")};
  reading r = {.settings = settings, .budget = &settings->budgets.data[0], .error = error};
  for (size_t i = 0; i < vs_json_count(json); i++)
    VS_TRY(read_key(&r, vs_json_name_at(json, i), vs_json_at(json, i)));
  return VS_OK;
}

void vs_check_settings_deinit(vs_check_settings *settings) {
  vs_vec_free(settings->host, &settings->budgets);
}
