#include "base/text.h"
#include "base/utf8.h"

enum { FLUSH_SIZE = 64 * 1024 };

bool vs_str_contains(vs_str text, vs_str part) {
  if (part.size == 0) return true;
  for (size_t i = 0; i + part.size <= text.size; i++)
    if (text.data[i] == part.data[0] && memcmp(text.data + i, part.data, part.size) == 0) return true;
  return false;
}

/* Whether a text that ends with a NUL is the beginning of another. */
static bool begins(vs_str text, const char *with) {
  size_t i = 0;
  while (with[i] != '\0' && i < text.size && text.data[i] == with[i]) i++;
  return with[i] == '\0';
}

bool vs_str_contains_any(vs_str text, const char *const *parts, size_t count) {
  bool is_first[UINT8_MAX + 1] = {false}; /* bytes with which a part begins */
  for (size_t part = 0; part < count; part++) is_first[(uint8_t)parts[part][0]] = true;
  for (size_t i = 0; i < text.size; i++)
    for (size_t part = 0; is_first[(uint8_t)text.data[i]] && part < count; part++)
      if (begins((vs_str){text.data + i, text.size - i}, parts[part])) return true;
  return false;
}

int vs_str_compare(vs_str a, vs_str b) {
  const size_t common = a.size < b.size ? a.size : b.size;
  const int order = common == 0 ? 0 : memcmp(a.data, b.data, common);
  if (order != 0) return order;
  return a.size < b.size ? -1 : a.size > b.size;
}

void vs_text_init(vs_text *text, const vs_host *host, const vs_writer *writer) {
  *text = (vs_text){.host = host, .writer = writer, .status = VS_OK};
}

void vs_text_deinit(vs_text *text) { vs_vec_free(text->host, &text->bytes); }

static void flush(vs_text *text) {
  if (text->status != VS_OK || text->writer == NULL || text->bytes.count == 0) return;
  text->status = text->writer->write(text->writer->ctx, text->bytes.data, text->bytes.count);
  text->bytes.count = 0;
}

static vs_status put_bytes(void *ctx, const void *data, size_t size) {
  vs_text *text = ctx;
  vs_text_put(text, data, size);
  return text->status;
}

vs_writer vs_text_writer(vs_text *text) { return (vs_writer){.ctx = text, .write = put_bytes}; }

vs_status vs_text_finish(vs_text *text) {
  flush(text);
  return text->status;
}

/* Room for `size` more bytes, which the caller fills and then adds; NULL after a failure. */
static char *room(vs_text *text, size_t size) {
  if (text->status == VS_OK) text->status = vs_vec_reserve(text->host, &text->bytes, size);
  return text->status == VS_OK ? text->bytes.data + text->bytes.count : NULL;
}

static void add(vs_text *text, size_t size) {
  VS_ASSERT(text->status == VS_OK && size <= text->bytes.capacity - text->bytes.count);
  text->bytes.count += size;
  if (text->bytes.count >= FLUSH_SIZE) flush(text);
}

void vs_text_put(vs_text *text, const void *data, size_t size) {
  char *to = size == 0 ? NULL : room(text, size);
  if (to == NULL) return;
  memcpy(to, data, size);
  add(text, size);
}

void vs_text_byte(vs_text *text, uint8_t byte) {
  char *to = room(text, 1);
  if (to == NULL) return;
  *to = (char)byte;
  add(text, 1);
}

void vs_text_code_point(vs_text *text, uint32_t point) {
  char out[4];
  if (point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff)) point = 0xfffd;
  vs_text_put(text, out, vs_utf8_encode(out, point));
}

/* The length of the character at the beginning of `s`; 0 if there is none, or if it is half of a surrogate pair. */
static size_t character(vs_str s) {
  const size_t length = vs_utf8_length(s);
  const bool is_surrogate = length == 3 && (uint8_t)s.data[0] == 0xed && (uint8_t)s.data[1] >= 0xa0;
  return is_surrogate ? 0 : length;
}

void vs_text_clean(vs_text *text, vs_str s) {
  while (s.size != 0) {
    size_t plain = 0, length;
    while (plain < s.size && (length = character((vs_str){s.data + plain, s.size - plain})) != 0)
      plain += length;
    vs_text_put(text, s.data, plain);
    VS_ASSERT(plain <= s.size);
    if (plain < s.size) {
      vs_text_code_point(text, 0xfffd);
      plain++;
    }
    s = (vs_str){s.data + plain, s.size - plain};
  }
}

/* Digits of `value` in `base`, written backwards to the end of a 20 byte array; returns where they begin. Inline, so that the base is a
 * constant. */
static inline size_t digits(char out[static 20], uint64_t value, unsigned base) {
  size_t at = 20;
  VS_ASSERT(base == 10 || base == 16);
  do {
    out[--at] = "0123456789abcdef"[value % base];
    value /= base;
  } while (value != 0);
  return at;
}

void vs_text_u64(vs_text *text, uint64_t value) {
  char out[20];
  const size_t at = digits(out, value, 10);
  vs_text_put(text, out + at, sizeof out - at);
}

void vs_text_i64(vs_text *text, int64_t value) {
  if (value < 0) vs_text_byte(text, '-');
  vs_text_u64(text, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
}

void vs_text_hex(vs_text *text, uint64_t value) {
  char out[20];
  const size_t at = digits(out, value, 16);
  vs_text_put(text, out + at, sizeof out - at);
}

/* The destination of formatted text: a vs_text, or a fixed array whose last byte is reserved for the NUL. */
typedef struct sink {
  vs_text *text;
  char *to;
  size_t room;
} sink;

static void put(sink *s, const char *data, size_t size) {
  if (s->text != NULL) {
    vs_text_put(s->text, data, size);
    return;
  }
  if (size > s->room) size = s->room;
  if (size == 0) return;
  memcpy(s->to, data, size);
  s->to += size;
  s->room -= size;
}

static void put_number(sink *s, uint64_t value, unsigned base, bool negative) {
  char out[20];
  const uint64_t magnitude = negative ? 0 - value : value;
  const size_t at = base == 16 ? digits(out, magnitude, 16) : digits(out, magnitude, 10);
  if (negative) put(s, "-", 1);
  put(s, out + at, sizeof out - at);
}

static void put_escaped(sink *s, vs_str str) {
  for (size_t i = 0; i < str.size; i++) {
    const uint8_t byte = (uint8_t)str.data[i];
    if (byte >= 0x20 && byte != 0x7f) {
      put(s, &str.data[i], 1);
    } else {
      const char escaped[4] = {'\\', 'x', "0123456789abcdef"[byte >> 4], "0123456789abcdef"[byte & 15]};
      put(s, escaped, sizeof escaped);
    }
  }
}

static void format_to(sink *s, const char *format, va_list arguments) {
  for (; *format != 0; format++) {
    if (*format != '%') {
      put(s, format, 1);
      continue;
    }
    switch (*++format) {
      case 's': {
        const char *text = va_arg(arguments, const char *);
        put(s, text, strlen(text));
        break;
      }
      case 'S': put_escaped(s, va_arg(arguments, vs_str)); break;
      case 'd': {
        const int value = va_arg(arguments, int);
        put_number(s, (uint64_t)(int64_t)value, 10, value < 0);
        break;
      }
      case 'u': put_number(s, va_arg(arguments, unsigned), 10, false); break;
      case 'D': {
        const int64_t value = va_arg(arguments, int64_t);
        put_number(s, (uint64_t)value, 10, value < 0);
        break;
      }
      case 'U': put_number(s, va_arg(arguments, uint64_t), 10, false); break;
      case 'x': put_number(s, va_arg(arguments, uint64_t), 16, false); break;
      case 'c': {
        const char byte = (char)va_arg(arguments, int);
        put(s, &byte, 1);
        break;
      }
      case '%': put(s, "%", 1); break;
      default: __builtin_trap();
    }
  }
}

void vs_text_format(vs_text *text, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  format_to(&(sink){.text = text}, format, arguments);
  va_end(arguments);
}

void vs_format_list(char *to, size_t capacity, const char *format, va_list arguments) {
  if (capacity == 0) return;
  sink s = {.to = to, .room = capacity - 1};
  format_to(&s, format, arguments);
  *s.to = 0;
}

void vs_format(char *to, size_t capacity, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vs_format_list(to, capacity, format, arguments);
  va_end(arguments);
}

bool vs_parse_u64(vs_str s, uint64_t *value) {
  *value = 0;
  for (size_t i = 0; i < s.size; i++) {
    const unsigned digit = (unsigned)(uint8_t)s.data[i] - '0';
    if (digit > 9 || __builtin_mul_overflow(*value, 10, value) ||
        __builtin_add_overflow(*value, digit, value))
      return false;
  }
  return s.size != 0;
}

bool vs_parse_i64(vs_str s, int64_t *value) {
  if (s.size == 0) return false; /* data may be NULL then */
  const bool negative = s.data[0] == '-';
  uint64_t magnitude;
  if (!vs_parse_u64((vs_str){s.data + negative, s.size - negative}, &magnitude)) return false;
  if (magnitude > (uint64_t)INT64_MAX + negative) return false;
  *value = (int64_t)(negative ? 0 - magnitude : magnitude);
  return true;
}

/* A number from 1 on, or nothing. */
static bool parse_end(vs_str s, uint64_t open, uint64_t *value) {
  if (s.size != 0) return vs_parse_u64(s, value) && *value != 0;
  *value = open;
  return true;
}

bool vs_parse_range(vs_str s, uint64_t *first, uint64_t *last) {
  size_t dash = 0;
  while (dash < s.size && s.data[dash] != '-') dash++;
  if (s.size <= 1 && dash < s.size) return false; /* "-" */
  if (!parse_end((vs_str){s.data, dash}, 0, first)) return false;
  *last = *first;
  if (dash == s.size) return s.size != 0;
  return parse_end((vs_str){s.data + dash + 1, s.size - dash - 1}, UINT64_MAX, last) && *first <= *last;
}

vs_status vs_fail(vs_error *error, vs_status status, uint64_t offset, const char *format, ...) {
  if (error != NULL) {
    error->status = status;
    error->offset = offset;
    va_list arguments;
    va_start(arguments, format);
    vs_format_list(error->text, sizeof error->text, format, arguments);
    va_end(arguments);
  }
  return status;
}
