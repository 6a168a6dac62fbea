#include "codec/json_writer.h"
#include "base/double_text.h"
#include "base/utf8.h"
#include "codec/json_text.h"

void vs_jsonw_begin(vs_jsonw *w, vs_text *text, uint32_t indent) {
  *w = (vs_jsonw){.text = text, .indent = indent};
}

void vs_jsonw_end(vs_jsonw *w) {
  VS_ASSERT(w->depth == 0 && w->has_items);
  if (w->indent != 0) vs_text_byte(w->text, '\n');
}

static bool in_object(const vs_jsonw *w) { return w->depth != 0 && (w->objects >> (w->depth - 1) & 1) != 0; }

static void new_line(vs_jsonw *w) {
  if (w->indent == 0) return;
  vs_text_byte(w->text, '\n');
  for (uint64_t n = (uint64_t)w->indent * w->depth; n > 0; n--) vs_text_byte(w->text, ' ');
}

/* Writes the separator before the next item. */
static void separate(vs_jsonw *w) {
  if (w->has_items) vs_text_byte(w->text, ',');
  if (w->depth != 0) new_line(w);
  w->has_items = true;
}

static void before_value(vs_jsonw *w) {
  VS_ASSERT(w->has_key == in_object(w));
  VS_ASSERT(w->depth != 0 || !w->has_items);
  if (!w->has_key) separate(w);
  w->has_key = false;
}

static void begin_container(vs_jsonw *w, bool is_object) {
  before_value(w);
  VS_ASSERT(w->depth < VS_JSONW_DEPTH);
  const uint64_t bit = UINT64_C(1) << w->depth++;
  w->objects = is_object ? w->objects | bit : w->objects & ~bit;
  w->has_items = false;
  vs_text_byte(w->text, is_object ? '{' : '[');
}

static void end_container(vs_jsonw *w, bool is_object) {
  VS_ASSERT(w->depth != 0 && in_object(w) == is_object && !w->has_key);
  w->depth--;
  if (w->has_items) new_line(w);
  w->has_items = true;
  vs_text_byte(w->text, is_object ? '}' : ']');
}

void vs_jsonw_object_begin(vs_jsonw *w) { begin_container(w, true); }
void vs_jsonw_object_end(vs_jsonw *w) { end_container(w, true); }
void vs_jsonw_array_begin(vs_jsonw *w) { begin_container(w, false); }
void vs_jsonw_array_end(vs_jsonw *w) { end_container(w, false); }

static void put_unit(vs_text *text, uint32_t utf16) {
  const char *hex = "0123456789abcdef";
  const char escape[6] = {
      '\\', 'u', hex[utf16 >> 12 & 15], hex[utf16 >> 8 & 15], hex[utf16 >> 4 & 15], hex[utf16 & 15]};
  vs_text_put(text, escape, sizeof escape);
}

static void put_control(vs_text *text, uint8_t byte) {
  static const char letters[] = {['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n', ['\f'] = 'f', ['\r'] = 'r'};
  if (byte < sizeof letters && letters[byte] != 0) {
    vs_text_byte(text, '\\');
    vs_text_byte(text, (uint8_t)letters[byte]);
  } else {
    put_unit(text, byte);
  }
}

/* Escapes the first character of `s`, and returns its length. */
static size_t put_special(vs_text *text, vs_str s) {
  VS_ASSERT(s.size != 0);
  const uint8_t first = (uint8_t)s.data[0];
  if (first == '"' || first == '\\') {
    vs_text_byte(text, '\\');
    vs_text_byte(text, first);
    return 1;
  }
  if (first < 0x20) {
    put_control(text, first);
    return 1;
  }
  if (vs_utf8_length(s) == 0) {
    put_unit(text, 0xdc00u + first);
    return 1;
  }
  put_unit(text,
           0xd000u | ((uint8_t)s.data[1] & 0x3fu) << 6 | ((uint8_t)s.data[2] & 0x3fu)); /* a surrogate */
  return 3;
}

/* The length of the first character of `s`, 0 if it has to be escaped. */
static size_t plain_length(vs_str s) {
  const uint8_t first = (uint8_t)s.data[0];
  if (first < 0x80) return !vs_json_is_special(first);
  const size_t length = vs_utf8_length(s);
  const bool surrogate = length == 3 && first == 0xed && (uint8_t)s.data[1] >= 0xa0;
  return surrogate ? 0 : length;
}

static void put_string(vs_text *text, vs_str s) {
  vs_text_byte(text, '"');
  while (s.size != 0) {
    size_t plain = 0, length = 0;
    do {
      plain += vs_json_plain_run(s.data + plain, s.size - plain, true);
      length = plain == s.size ? 0 : plain_length((vs_str){s.data + plain, s.size - plain});
      plain += length;
    } while (length != 0);
    vs_text_put(text, s.data, plain);
    s = (vs_str){s.data + plain, s.size - plain};
    if (s.size == 0) break;
    length = put_special(text, s);
    s = (vs_str){s.data + length, s.size - length};
  }
  vs_text_byte(text, '"');
}

void vs_jsonw_key(vs_jsonw *w, vs_str key) {
  VS_ASSERT(in_object(w) && !w->has_key);
  separate(w);
  put_string(w->text, key);
  vs_text_byte(w->text, ':');
  if (w->indent != 0) vs_text_byte(w->text, ' ');
  w->has_key = true;
}

void vs_jsonw_u64(vs_jsonw *w, uint64_t value) {
  before_value(w);
  vs_text_u64(w->text, value);
}

void vs_jsonw_i64(vs_jsonw *w, int64_t value) {
  before_value(w);
  vs_text_i64(w->text, value);
}

void vs_jsonw_f64(vs_jsonw *w, double value) {
  if (!vs_f64_is_finite(value)) {
    vs_jsonw_null(w);
    return;
  }
  before_value(w);
  vs_text_f64(w->text, value);
}

void vs_jsonw_bool(vs_jsonw *w, bool value) {
  before_value(w);
  vs_text_cstr(w->text, value ? "true" : "false");
}

void vs_jsonw_null(vs_jsonw *w) {
  before_value(w);
  vs_text_cstr(w->text, "null");
}

void vs_jsonw_str(vs_jsonw *w, vs_str value) {
  before_value(w);
  put_string(w->text, value);
}
