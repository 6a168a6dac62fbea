#include "faces/exporter/exposition.h"
#include "base/check.h"
#include "base/utf8.h"

const char *vs_exposition_type(vs_exposition_format format) {
  return format == VS_EXPOSITION_OPENMETRICS ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
                                             : "text/plain; version=0.0.4; charset=utf-8";
}

/* The length of the character at the beginning; 0: no character that readers accept, which refuse encoded surrogates. */
static size_t character(vs_str s) {
  const size_t length = vs_utf8_length(s);
  const bool is_surrogate = length == 3 && (uint8_t)s.data[0] == 0xed && (uint8_t)s.data[1] >= 0xa0;
  return is_surrogate ? 0 : length;
}

static void put_escaped(vs_text *text, vs_str s) {
  enum { REPLACEMENT = 0xfffd };
  while (s.size != 0) {
    const size_t length = character(s);
    const char first = *s.data;
    if (length == 0) vs_text_code_point(text, REPLACEMENT);
    else if (first == '\n') vs_text_cstr(text, "\\n");
    else if (first == '"' || first == '\\') vs_text_format(text, "\\%c", first);
    else vs_text_put(text, s.data, length);
    const size_t step = length == 0 ? 1 : length;
    s = (vs_str){s.data + step, s.size - step};
  }
}

/* ---- families */

/* The older format has no family apart from its samples, and knows neither units nor infos. */
static const char *suffix_of(vs_family_type type) {
  return type == VS_FAMILY_COUNTER ? "_total" : type == VS_FAMILY_INFO ? "_info" : "";
}

static const char *type_word(const vs_exposition *e, vs_family_type type) {
  if (type == VS_FAMILY_COUNTER) return "counter";
  return type == VS_FAMILY_INFO && e->format == VS_EXPOSITION_OPENMETRICS ? "info" : "gauge";
}

static void put_head(vs_exposition *e, const char *what, const vs_family *family) {
  vs_text_format(e->text, "# %s %s%s ", what, family->name,
                 e->format == VS_EXPOSITION_OPENMETRICS ? "" : suffix_of(family->type));
}

void vs_exposition_family(vs_exposition *e, const vs_family *family) {
  put_head(e, "TYPE", family);
  vs_text_format(e->text, "%s\n", type_word(e, family->type));
  if (e->format == VS_EXPOSITION_OPENMETRICS && family->unit[0] != 0) {
    put_head(e, "UNIT", family);
    vs_text_format(e->text, "%s\n", family->unit);
  }
  put_head(e, "HELP", family);
  put_escaped(e->text, vs_str_from(family->help));
  vs_text_byte(e->text, '\n');
}

/* ---- samples */

void vs_exposition_begin(vs_exposition *e, const vs_family *family) {
  vs_text_format(e->text, "%s%s", family->name, suffix_of(family->type));
  e->has_labels = false;
}

void vs_exposition_label(vs_exposition *e, const char *name, vs_str value) {
  vs_text_format(e->text, "%c%s=\"", e->has_labels ? ',' : '{', name);
  put_escaped(e->text, value);
  vs_text_byte(e->text, '"');
  e->has_labels = true;
}

static void put_decimal(vs_text *text, vs_decimal value) {
  uint64_t unit = 1, digits = value.digits < 0 ? 0 - (uint64_t)value.digits : (uint64_t)value.digits;
  VS_ASSERT(value.places <= 9);
  for (uint32_t i = 0; i < value.places; i++) unit *= 10;
  if (value.digits < 0) vs_text_byte(text, '-');
  vs_text_u64(text, digits / unit);
  digits %= unit;
  if (digits != 0) vs_text_byte(text, '.');
  while (digits != 0) {
    unit /= 10;
    vs_text_u64(text, digits / unit);
    digits %= unit;
  }
}

void vs_exposition_value(vs_exposition *e, vs_decimal value) {
  vs_text_cstr(e->text, e->has_labels ? "} " : " ");
  put_decimal(e->text, value);
  vs_text_byte(e->text, '\n');
}

void vs_exposition_end(vs_exposition *e) {
  if (e->format == VS_EXPOSITION_OPENMETRICS) vs_text_cstr(e->text, "# EOF\n");
}
