#include "faces/smi/fields.h"
#include "base/check.h"
#include "base/nearest.h"

/* ---- the lists */

#define VS_NUMBER(id) .source = VS_SMI_FROM_NUMBER, .number = VS_METRIC_ID_##id
#define VS_BIT(id, b) .source = VS_SMI_FROM_NUMBER, .number = VS_METRIC_ID_##id, .bit = (b)
#define VS_WORDS(id)  .source = VS_SMI_FROM_WORDS, .number = VS_METRIC_TEXT_ID_##id
#define VS_HERE(what) .source = VS_SMI_FROM_HERE, .number = VS_SMI_##what
#define VS_APP(what)  .source = VS_SMI_FROM_APP, .number = VS_SMI_APP_##what
#define VS_PASSED     .source = VS_SMI_FROM_NOTHING
#define VS_GONE       .source = VS_SMI_FROM_GONE
#define VS_ROW(name_, alias_, unit_, form_, sentence_, own, ...) \
  {.name = name_,                                                \
   .alias = alias_,                                              \
   .unit = unit_,                                                \
   .form = VS_SMI_##form_,                                       \
   .sentence = sentence_,                                        \
   .is_own = own,                                                \
   __VA_ARGS__},

static const vs_smi_field gpu_fields[] = {
#define VS_SMI_FIELD(name, alias, unit, form, source, sentence) \
  VS_ROW(name, alias, unit, form, sentence, false, source)
#define VS_SMI_OWN(name, alias, unit, form, source, sentence) \
  VS_ROW(name, alias, unit, form, sentence, true, source)
#include "faces/smi/fields.def"
#undef VS_SMI_FIELD
#undef VS_SMI_OWN
};

static const vs_smi_field app_fields[] = {
#define VS_SMI_APP(name, alias, unit, form, source, sentence) \
  VS_ROW(name, alias, unit, form, sentence, false, source)
#define VS_SMI_APP_OWN(name, alias, unit, form, source, sentence) \
  VS_ROW(name, alias, unit, form, sentence, true, source)
#define VS_SMI_ACCOUNTED(name, alias, unit, form, source, sentence)
#include "faces/smi/apps.def"
#undef VS_SMI_APP
#undef VS_SMI_APP_OWN
#undef VS_SMI_ACCOUNTED
};

static const vs_smi_field accounted_fields[] = {
#define VS_SMI_APP(name, alias, unit, form, source, sentence)
#define VS_SMI_APP_OWN(name, alias, unit, form, source, sentence)
#define VS_SMI_ACCOUNTED(name, alias, unit, form, source, sentence) \
  VS_ROW(name, alias, unit, form, sentence, false, source)
#include "faces/smi/apps.def"
#undef VS_SMI_APP
#undef VS_SMI_APP_OWN
#undef VS_SMI_ACCOUNTED
};

static const struct {
  const vs_smi_field *rows;
  size_t count;
  const char *option;
} lists[VS_SMI_QUERY_COUNT] = {
    [VS_SMI_QUERY_GPU] = {gpu_fields, sizeof gpu_fields / sizeof gpu_fields[0], "--query-gpu"},
    [VS_SMI_QUERY_APPS] = {app_fields, sizeof app_fields / sizeof app_fields[0], "--query-compute-apps"},
    [VS_SMI_QUERY_ACCOUNTED] = {accounted_fields, sizeof accounted_fields / sizeof accounted_fields[0],
                                "--query-accounted-apps"},
};

const vs_smi_field *vs_smi_list(vs_smi_query query, size_t *count) {
  VS_ASSERT(query < VS_SMI_QUERY_COUNT);
  *count = lists[query].count;
  return lists[query].rows;
}

/* ---- names */

static const vs_smi_field *find(vs_smi_query query, vs_str name) {
  VS_ASSERT(query < VS_SMI_QUERY_COUNT);
  for (size_t i = 0; i < lists[query].count; i++) {
    const vs_smi_field *field = &lists[query].rows[i];
    if (vs_str_equal(vs_str_from(field->name), name)) return field;
    if (field->alias != NULL && vs_str_equal(vs_str_from(field->alias), name)) return field;
  }
  return NULL;
}

static vs_str trim(vs_str text) {
  while (text.size != 0 && text.data[0] == ' ') text = (vs_str){text.data + 1, text.size - 1};
  while (text.size != 0 && text.data[text.size - 1] == ' ') text.size--;
  return text;
}

vs_status vs_smi_fields_parse(const vs_host *host, vs_smi_query query, vs_str text, vs_smi_fields *fields,
                              vs_str *unknown) {
  for (size_t at = 0, end = 0; at <= text.size; at = end + 1) {
    for (end = at; end < text.size && text.data[end] != ',';) end++;
    *unknown = trim((vs_str){text.data + at, end - at});
    const vs_smi_field *field = find(query, *unknown);
    if (field == NULL) return VS_BAD_ARGUMENT;
    VS_TRY(vs_vec_reserve(host, fields, 1));
    fields->data[fields->count++] = field;
  }
  return VS_OK;
}

vs_str vs_smi_fields_nearest(vs_smi_query query, vs_str name) {
  VS_ASSERT(query < VS_SMI_QUERY_COUNT);
  vs_nearest nearest = vs_nearest_to(name);
  for (size_t i = 0; i < lists[query].count; i++) {
    const vs_smi_field *field = &lists[query].rows[i];
    vs_nearest_offer(&nearest, vs_str_from(field->name));
    if (field->alias != NULL) vs_nearest_offer(&nearest, vs_str_from(field->alias));
  }
  return nearest.best;
}

/* ---- help */

void vs_smi_fields_help(vs_text *text, vs_smi_query query) {
  VS_ASSERT(query < VS_SMI_QUERY_COUNT);
  vs_text_format(text, "The fields of %s:\n", lists[query].option);
  for (size_t i = 0; i < lists[query].count; i++) {
    const vs_smi_field *field = &lists[query].rows[i];
    vs_text_format(text, "\n\"%s\"", field->name);
    if (field->alias != NULL) vs_text_format(text, " or \"%s\"", field->alias);
    vs_text_format(text, "\n%c%s",
                   field->sentence[0] -
                       ('a' <= field->sentence[0] && field->sentence[0] <= 'z' ? 'a' - 'A' : 0),
                   field->sentence + 1);
    if (field->unit != NULL) vs_text_format(text, " [%s]", field->unit);
    if (field->source == VS_SMI_FROM_NOTHING) vs_text_cstr(text, " (not queried)");
    if (field->source == VS_SMI_FROM_GONE) vs_text_cstr(text, " (given up by the driver)");
    if (field->is_own) vs_text_cstr(text, " (vramscope's own)");
    vs_text_cstr(text, ".\n");
  }
}
