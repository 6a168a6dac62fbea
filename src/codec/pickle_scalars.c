/* Numbers and strings of all protocols, and reading their bytes. */
#include "base/double_text.h"
#include "base/utf8.h"
#include "codec/pickle_machine.h"

/* Takes a line argument, without its newline. Borrowed until the next read. */
vs_status vs_pickle__take_line(vs_pickle_machine *m, vs_str *line) {
  for (size_t size = 0;; size++) {
    VS_TRY(vs_pickle__need(m, size + 1));
    if (vs_pickle__cursor(m)[size] == '\n') {
      *line = (vs_str){(const char *)vs_pickle__cursor(m), size};
      m->in->pos += size + 1;
      return VS_OK;
    }
    if (size >= VS_PICKLE_MAX_TEXT)
      return vs_pickle__fail(m, VS_LIMIT, "a line of over %d bytes", VS_PICKLE_MAX_TEXT);
  }
}

/* `size` bytes of the input, borrowed until the next read. */
vs_status vs_pickle__take_bytes(vs_pickle_machine *m, uint64_t size, vs_str *bytes) {
  if (size > VS_PICKLE_MAX_TEXT)
    return vs_pickle__fail(m, VS_LIMIT, "%s of %U bytes; at most %d are read", vs_pickle__opcode_name(m->op),
                           size, VS_PICKLE_MAX_TEXT);
  VS_TRY(vs_pickle__need(m, (size_t)size));
  *bytes = (vs_str){(const char *)vs_pickle__cursor(m), (size_t)size};
  m->in->pos += (size_t)size;
  return VS_OK;
}

/* ---- scalars --------------------------------------------------------------------------------------------------- */

static vs_status push_string(vs_pickle_machine *m, vs_str text) {
  vs_value value = {0};
  VS_TRY(m->fold->string(m->fold->ctx, text, &value, m->error));
  return vs_pickle__push(m, value);
}

vs_status vs_pickle__sized_string(vs_pickle_machine *m, size_t length_size) {
  uint64_t size;
  vs_str text;
  VS_TRY(vs_pickle__take_uint(m, length_size, &size));
  VS_TRY(vs_pickle__take_bytes(m, size, &text));
  return push_string(m, text);
}

vs_status vs_pickle__sized_bytes(vs_pickle_machine *m, size_t length_size) {
  uint64_t size;
  vs_str bytes;
  VS_TRY(vs_pickle__take_uint(m, length_size, &size));
  VS_TRY(vs_pickle__take_bytes(m, size, &bytes));
  return vs_pickle__push_kind(m, VS_VALUE_BYTES, 0);
}

/* A little-endian two's complement number of any length. */
vs_status vs_pickle__long_int(vs_pickle_machine *m, size_t length_size) {
  uint64_t size, bits = 0;
  vs_str bytes;
  VS_TRY(vs_pickle__take_uint(m, length_size, &size));
  VS_TRY(vs_pickle__take_bytes(m, size, &bytes));
  const uint8_t *p = (const uint8_t *)bytes.data;
  size_t used = bytes.size;
  const uint8_t sign = used > 0 && p[used - 1] >= 0x80 ? 0xff : 0;
  while (used > 0 && p[used - 1] == sign) used--; /* bytes that only repeat the sign */
  if (used > 8) return vs_pickle__push_kind(m, VS_VALUE_BIG, 0);
  VS_ASSERT(used <= sizeof bits);
  for (size_t i = 0; i < used; i++) bits |= (uint64_t)p[i] << (8 * i);
  if (sign != 0 && used < 8) bits |= UINT64_MAX << (8 * used);
  if (sign != 0 && bits <= INT64_MAX) return vs_pickle__push_kind(m, VS_VALUE_BIG, 0);
  return vs_pickle__push_kind(m, sign == 0 && bits > INT64_MAX ? VS_VALUE_UINT : VS_VALUE_INT, bits);
}

/* Decimal digits of INT and LONG. */
static vs_status decimal(vs_pickle_machine *m, vs_str digits) {
  int64_t value;
  uint64_t large;
  if (vs_parse_i64(digits, &value)) return vs_pickle__push_kind(m, VS_VALUE_INT, (uint64_t)value);
  if (vs_parse_u64(digits, &large)) return vs_pickle__push_kind(m, VS_VALUE_UINT, large);
  const size_t sign = digits.size > 0 && (digits.data[0] == '-' || digits.data[0] == '+');
  for (size_t i = sign; i < digits.size; i++)
    if (digits.data[i] < '0' || digits.data[i] > '9')
      return vs_pickle__fail(m, VS_BAD_FORMAT, "a number that is none");
  if (digits.size == sign) return vs_pickle__fail(m, VS_BAD_FORMAT, "a number that is none");
  return vs_pickle__push_kind(m, VS_VALUE_BIG, 0);
}

vs_status vs_pickle__int_line(vs_pickle_machine *m) {
  vs_str line;
  VS_TRY(vs_pickle__take_line(m, &line));
  if (vs_str_equal(line, VS_STR("00"))) return vs_pickle__push_kind(m, VS_VALUE_BOOL, 0);
  if (vs_str_equal(line, VS_STR("01"))) return vs_pickle__push_kind(m, VS_VALUE_BOOL, 1);
  return decimal(m, line);
}

vs_status vs_pickle__long_line(vs_pickle_machine *m) {
  vs_str line;
  VS_TRY(vs_pickle__take_line(m, &line));
  if (line.size > 0 && line.data[line.size - 1] == 'L') line.size--;
  return decimal(m, line);
}

vs_status vs_pickle__float_line(vs_pickle_machine *m) {
  vs_str line;
  double value;
  VS_TRY(vs_pickle__take_line(m, &line));
  if (!vs_parse_f64(line, &value)) {
    const bool minus = line.size > 0 && line.data[0] == '-';
    const vs_str word = {line.data + minus, line.size - minus};
    if (vs_str_equal(word, VS_STR("inf")))
      return vs_pickle__push_kind(m, VS_VALUE_REAL, UINT64_C(0x7ff) << 52 | (uint64_t)minus << 63);
    if (vs_str_equal(word, VS_STR("nan")))
      return vs_pickle__push_kind(m, VS_VALUE_REAL, UINT64_C(0x7ff8) << 48);
    return vs_pickle__fail(m, VS_BAD_FORMAT, "a float that is none");
  }
  return vs_pickle__push_kind(m, VS_VALUE_REAL, vs_f64_to_bits(value));
}

vs_status vs_pickle__binary_float(vs_pickle_machine *m) {
  uint64_t little;
  VS_TRY(vs_pickle__take_uint(m, 8, &little));
  return vs_pickle__push_kind(m, VS_VALUE_REAL, __builtin_bswap64(little));
}

static int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

/* Reads `count` hexadecimal digits at text[at]; false if they are not there. */
static bool hex_number(vs_str text, size_t at, size_t count, uint32_t *value) {
  *value = 0;
  if (at + count > text.size) return false;
  for (size_t i = 0; i < count; i++) {
    const int digit = hex_digit(text.data[at + i]);
    if (digit < 0) return false;
    *value = *value << 4 | (uint32_t)digit;
  }
  return true;
}

/* The text line of UNICODE: Latin-1 with \uXXXX and \UXXXXXXXX, to UTF-8. */
vs_status vs_pickle__unicode_line(vs_pickle_machine *m) {
  vs_str line;
  VS_TRY(vs_pickle__take_line(m, &line));
  vs_text utf8;
  vs_text_init(&utf8, m->host, NULL);
  for (size_t i = 0; i < line.size; i++) {
    uint32_t point = (uint8_t)line.data[i];
    if (point == '\\' && i + 1 < line.size && (line.data[i + 1] == 'u' || line.data[i + 1] == 'U')) {
      const size_t count = line.data[i + 1] == 'u' ? 4 : 8;
      if (!hex_number(line, i + 2, count, &point)) {
        vs_text_deinit(&utf8);
        return vs_pickle__fail(m, VS_BAD_FORMAT, "a broken \\u escape");
      }
      i += count + 1;
    }
    char out[4];
    vs_text_put(&utf8, out, vs_utf8_encode(out, point > 0x10ffff ? 0xfffd : point)); /* surrogates too */
  }
  vs_status status = utf8.status;
  if (status == VS_OK) status = push_string(m, vs_text_view(&utf8));
  vs_text_deinit(&utf8);
  return status;
}

/* The text line of STRING: a quoted literal of Python 2 with its backslash escapes. */
vs_status vs_pickle__quoted_line(vs_pickle_machine *m) {
  vs_str line;
  VS_TRY(vs_pickle__take_line(m, &line));
  if (line.size < 2 || (line.data[0] != '\'' && line.data[0] != '"') ||
      line.data[line.size - 1] != line.data[0])
    return vs_pickle__fail(m, VS_BAD_FORMAT, "a STRING without its quotes");
  vs_text out;
  vs_text_init(&out, m->host, NULL);
  for (size_t i = 1; i + 1 < line.size; i++) {
    char c = line.data[i];
    uint32_t code;
    if (c == '\\' && i + 2 < line.size) {
      c = line.data[++i];
      if (c == 'n') c = '\n';
      else if (c == 't') c = '\t';
      else if (c == 'r') c = '\r';
      else if (c == 'x' && hex_number(line, i + 1, 2, &code)) {
        c = (char)(uint8_t)code;
        i += 2;
      }
    }
    vs_text_put(&out, &c, 1);
  }
  vs_status status = out.status;
  if (status == VS_OK) status = push_string(m, vs_text_view(&out));
  vs_text_deinit(&out);
  return status;
}

vs_status vs_pickle__take_int(vs_pickle_machine *m, size_t size) {
  uint64_t value;
  VS_TRY(vs_pickle__take_uint(m, size, &value));
  if (size == 4) value = (uint64_t)(int64_t)(int32_t)(uint32_t)value;
  return vs_pickle__push_kind(m, VS_VALUE_INT, value);
}
