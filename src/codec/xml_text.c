#include "codec/xml_text.h"
#include "base/glyph.h"
#include "base/utf8.h"

enum { REPLACEMENT = 0xfffd, ELLIPSIS = 0x2026 };

/* The character that is written for the first one of `s`, whose bytes are *length. */
static uint32_t first_of(vs_str s, size_t *length) {
  *length = vs_utf8_length(s);
  if (*length == 0) {
    *length = 1;
    return REPLACEMENT;
  }
  const uint32_t point = vs_glyph_decode(s.data, *length);
  return vs_glyph_is_unsafe(point) || (point & 0xfffe) == 0xfffe ? REPLACEMENT : point;
}

static size_t columns_of(vs_str s) {
  size_t columns = 0;
  for (size_t at = 0, length; at < s.size; at += length)
    columns += vs_glyph_columns(first_of((vs_str){s.data + at, s.size - at}, &length));
  return columns;
}

static void put(vs_text *text, uint32_t point) {
  if (point == '&' || point == '<' || point == '>' || point == '"' || point == '\'')
    vs_text_format(text, "&#%u;", (unsigned)point);
  else vs_text_code_point(text, point);
}

void vs_xml_text(vs_text *text, vs_str s, size_t columns) {
  const bool is_cut = columns_of(s) > columns;
  size_t left = is_cut ? columns - (columns != 0) : columns;
  for (size_t at = 0, length; at < s.size; at += length) {
    const uint32_t point = first_of((vs_str){s.data + at, s.size - at}, &length);
    if (vs_glyph_columns(point) > left) break;
    left -= vs_glyph_columns(point);
    put(text, point);
  }
  if (is_cut && columns != 0) vs_text_code_point(text, ELLIPSIS);
}
