/* The reader is a machine of seven states. The state and the innermost open container say what may come next.
 * `items` has the items of all open containers, the outermost first. A container that ends is folded into one value,
 * which replaces its items and is an item of the container around it. */
#include "codec/json_reader.h"
#include "base/double_text.h"
#include "base/utf8.h"
#include "codec/json_text.h"

typedef enum state {
  VALUE,
  FIRST_ITEM, /* after [: a value or ] */
  KEY,
  FIRST_KEY, /* after {: a key or } */
  COLON,
  COMMA, /* after an item: , or the end of the container */
  DONE,
} state;

typedef struct container {
  size_t first; /* its items are items[first..] */
  bool is_object;
} container;

typedef struct reader {
  vs_input *input;
  const vs_fold *fold;
  vs_json_limits limits;
  vs_error *error;
  state state;
  VS_VEC(container) open;
  VS_VEC(vs_value) items;
} reader;

enum { END = -1 }; /* what peek returns at the end of the input */

/* Like vs_input_fill, but the end of the text is no failure: *is_there is false then. */
static vs_status fill(vs_input *input, size_t count, bool *is_there) {
  const vs_status status = vs_input_fill(input, count);
  *is_there = status == VS_OK;
  return status == VS_TRUNCATED && input->at_end ? VS_OK : status;
}

/* The next byte that is not white space; the input stays before it. */
static inline vs_status peek(vs_input *input, int *byte) {
  for (;;) {
    input->pos += vs_json_blank_run(input->data + input->pos, input->end - input->pos);
    if (input->pos < input->end) {
      *byte = input->data[input->pos];
      return VS_OK;
    }
    bool is_there;
    VS_TRY(fill(input, 1, &is_there));
    if (!is_there) {
      *byte = END;
      return VS_OK;
    }
  }
}

static vs_status expected(reader *r, const char *what, int found) {
  const uint64_t offset = vs_input_offset(r->input);
  if (found == END)
    return vs_fail(r->error, VS_TRUNCATED, offset, "the text ends where %s should stand", what);
  if (found > 0x20 && found < 0x7f)
    return vs_fail(r->error, VS_BAD_FORMAT, offset, "expected %s, found '%c'", what, found);
  return vs_fail(r->error, VS_BAD_FORMAT, offset, "expected %s, found byte 0x%x", what, (uint64_t)found);
}

/* Completes the error of the consumer, which sets the sentence, with the status and the offset. */
static vs_status placed(reader *r, vs_status status) {
  if (status != VS_OK) {
    r->error->status = status;
    r->error->offset = vs_input_offset(r->input);
  }
  return status;
}

static inline vs_status push(reader *r, vs_value value) {
  VS_TRY(vs_vec_reserve(r->input->host, &r->items, 1));
  r->items.data[r->items.count++] = value;
  return VS_OK;
}

/* A value is complete. The next state depends on whether it is in a container. */
static inline vs_status complete(reader *r, vs_value value) {
  VS_TRY(push(r, value));
  r->state = r->open.count == 0 ? DONE : COMMA;
  return VS_OK;
}

static vs_status open_container(reader *r, bool is_object) {
  if (r->open.count >= r->limits.nesting)
    return vs_fail(r->error, VS_LIMIT, vs_input_offset(r->input), "nested deeper than %u levels",
                   r->limits.nesting);
  VS_TRY(vs_vec_reserve(r->input->host, &r->open, 1));
  r->open.data[r->open.count++] = (container){.first = r->items.count, .is_object = is_object};
  r->input->pos++;
  r->state = is_object ? FIRST_KEY : FIRST_ITEM;
  return VS_OK;
}

static vs_status close_container(reader *r) {
  VS_ASSERT(r->open.count > 0);
  const container closed = r->open.data[--r->open.count];
  VS_ASSERT(closed.first <= r->items.count);
  const vs_value *items = r->items.data + closed.first;
  const size_t count = r->items.count - closed.first;
  VS_ASSERT(!closed.is_object || count % 2 == 0);
  vs_value value = {0};
  r->input->pos++;
  VS_TRY(placed(r, closed.is_object
                       ? r->fold->mapping(r->fold->ctx, items, count / 2, &value, r->error)
                       : r->fold->sequence(r->fold->ctx, items, count, false, &value, r->error)));
  r->items.count = closed.first;
  return complete(r, value);
}

/* ---- strings: found in the window, unescaped in place */

/* Brings the whole string at the input's position into the window. *size is the number of bytes between its quotes. */
static vs_status find_string(reader *r, size_t *size, bool *has_escapes) {
  vs_input *input = r->input;
  *has_escapes = false;
  for (size_t length = 0;;) {
    const uint8_t *text = input->data + input->pos + 1;
    const size_t there = input->end - input->pos - 1;
    length += vs_json_plain_run(text + length, there - length, false);
    if (length > r->limits.string_bytes)
      return vs_fail(r->error, VS_LIMIT, vs_input_offset(input), "a string of more than %u bytes",
                     r->limits.string_bytes);
    if (length < there && text[length] == '"') {
      *size = length;
      return VS_OK;
    }
    if (length < there && text[length] < 0x20)
      return vs_fail(r->error, VS_BAD_FORMAT, vs_input_offset(input) + 1 + length,
                     "a control byte in a string");
    if (length + 1 < there) {
      *has_escapes = true;
      length += 2;
      continue;
    }
    bool is_there;
    VS_TRY(fill(input, 1 + there + 1, &is_there));
    if (!is_there)
      return vs_fail(r->error, VS_TRUNCATED, vs_input_offset(input) + 1 + there,
                     "the text ends inside a string");
  }
}

/* Four hexadecimal digits, or false. */
static bool hex4(const uint8_t *text, size_t size, uint32_t *unit) {
  *unit = 0;
  for (size_t i = 0; i < 4; i++) {
    if (i >= size) return false;
    const unsigned digit = (unsigned)text[i] - '0', letter = ((unsigned)text[i] | 0x20) - 'a';
    if (digit > 9 && letter > 5) return false;
    *unit = *unit << 4 | (digit <= 9 ? digit : letter + 10);
  }
  return true;
}

/* Decodes the escape after a backslash into `out`, at most four bytes; returns its length without the backslash, 0
 * if it is invalid. */
static size_t read_escape(const uint8_t *text, size_t size, char out[static 4], size_t *out_size) {
  static const char simple[] = "\"\"\\\\//b\bf\fn\nr\rt\t";
  *out_size = 1;
  for (size_t i = 0; i + 1 < sizeof simple; i += 2) {
    if (text[0] == (uint8_t)simple[i]) {
      out[0] = simple[i + 1];
      return 1;
    }
  }
  uint32_t unit, low;
  if (text[0] != 'u' || !hex4(text + 1, size - 1, &unit)) return 0;
  const bool is_high = unit >= 0xd800 && unit <= 0xdbff;
  if (is_high && size >= 7 && text[5] == '\\' && text[6] == 'u' && hex4(text + 7, size - 7, &low) &&
      low >= 0xdc00 && low <= 0xdfff) {
    *out_size = vs_utf8_encode(out, 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00));
    return 11;
  }
  *out_size = vs_utf8_encode(out, unit); /* half a surrogate pair is kept, as in Python's strings */
  return 5;
}

/* Replaces the escapes of a string; none becomes longer. *size becomes the new size. */
static vs_status unescape(reader *r, uint8_t *text, size_t *size) {
  size_t to = 0;
  for (size_t from = 0; from < *size;) {
    if (text[from] != '\\') {
      const size_t run = vs_json_plain_run(text + from, *size - from, false);
      memmove(text + to, text + from, run);
      from += run;
      to += run;
      continue;
    }
    char out[4];
    size_t out_size;
    const size_t length = read_escape(text + from + 1, *size - from - 1, out, &out_size);
    if (length == 0)
      return vs_fail(r->error, VS_BAD_FORMAT, vs_input_offset(r->input) + 1 + from,
                     "a malformed escape in a string");
    VS_ASSERT(out_size <= length + 1 && to <= from);
    memcpy(text + to, out, out_size);
    from += 1 + length;
    to += out_size;
  }
  *size = to;
  return VS_OK;
}

static vs_status read_string(reader *r, vs_value *out) {
  size_t size = 0;
  bool has_escapes;
  VS_TRY(find_string(r, &size, &has_escapes));
  const size_t taken = size + 2;
  VS_ASSERT(taken <= r->input->end - r->input->pos);
  uint8_t *text = r->input->data + r->input->pos + 1;
  if (has_escapes) VS_TRY(unescape(r, text, &size));
  r->input->pos += taken;
  return placed(r, r->fold->string(r->fold->ctx, (vs_str){(const char *)text, size}, out, r->error));
}

/* ---- numbers and words */

static inline bool is_word_byte(uint8_t byte) {
  const unsigned letter = (byte | 0x20u) - 'a', digit = (unsigned)byte - '0';
  return digit <= 9 || letter < 26 || byte == '-' || byte == '+' || byte == '.';
}

/* Brings the whole run of letters, digits and signs into the window that begins at its position. */
static vs_status find_word(reader *r, vs_str *word) {
  vs_input *input = r->input;
  size_t size = 0;
  bool is_there = true;
  while (is_there) {
    const uint8_t *text = input->data + input->pos;
    const size_t there = input->end - input->pos;
    while (size < there && size <= r->limits.number_bytes && is_word_byte(text[size])) size++;
    if (size > r->limits.number_bytes)
      return vs_fail(r->error, VS_LIMIT, vs_input_offset(input), "a number of more than %u characters",
                     r->limits.number_bytes);
    if (size < there) break;
    VS_TRY(fill(input, size + 1, &is_there));
  }
  *word = (vs_str){(const char *)input->data + input->pos, size};
  return VS_OK;
}

/* Reads a word that is an integer; false if it is none. */
static bool read_integer(vs_str word, vs_value *out) {
  const bool negative = word.size != 0 && word.data[0] == '-';
  const vs_str digits = {word.data + negative, word.size - negative};
  if (digits.size == 0 || (digits.data[0] == '0' && digits.size > 1)) return false;
  uint64_t magnitude = 0;
  bool fits = true;
  for (size_t i = 0; i < digits.size; i++) {
    const unsigned digit = (unsigned)(uint8_t)digits.data[i] - '0';
    if (digit > 9) return false;
    if (i >= 19) { /* 19 digits always fit into 64 bits */
      fits = fits && !__builtin_mul_overflow(magnitude, 10, &magnitude) &&
             !__builtin_add_overflow(magnitude, digit, &magnitude);
    } else {
      magnitude = magnitude * 10 + digit;
    }
  }
  if (!fits || (negative && magnitude > (uint64_t)INT64_MAX + 1)) *out = (vs_value){.kind = VS_VALUE_BIG};
  else
    *out = (vs_value){.kind = negative || magnitude <= INT64_MAX ? VS_VALUE_INT : VS_VALUE_UINT,
                      .bits = negative ? 0 - magnitude : magnitude};
  return true;
}

static vs_value real(double value) {
  return (vs_value){.kind = VS_VALUE_REAL, .bits = vs_f64_to_bits(value)};
}

/* Reads a word that is a name of the language; false if it is none. */
static bool read_name(vs_str word, vs_value *out) {
  if (vs_str_equal(word, VS_STR("null"))) *out = (vs_value){.kind = VS_VALUE_NONE};
  else if (vs_str_equal(word, VS_STR("true"))) *out = (vs_value){.kind = VS_VALUE_BOOL, .bits = 1};
  else if (vs_str_equal(word, VS_STR("false"))) *out = (vs_value){.kind = VS_VALUE_BOOL, .bits = 0};
  else if (vs_str_equal(word, VS_STR("NaN"))) *out = real(vs_f64_from_bits(UINT64_C(0x7ff8000000000000)));
  else if (vs_str_equal(word, VS_STR("Infinity")))
    *out = real(vs_f64_from_bits(UINT64_C(0x7ff0000000000000)));
  else if (vs_str_equal(word, VS_STR("-Infinity")))
    *out = real(vs_f64_from_bits(UINT64_C(0xfff0000000000000)));
  else return false;
  return true;
}

static vs_status read_word(reader *r, vs_value *out) {
  vs_str word;
  VS_TRY(find_word(r, &word));
  double number;
  if (!read_integer(word, out) && !read_name(word, out)) {
    if (!vs_parse_f64(word, &number))
      return vs_fail(r->error, VS_BAD_FORMAT, vs_input_offset(r->input), "'%S' is no value", word);
    *out = real(number);
  }
  r->input->pos += word.size;
  return VS_OK;
}

/* ---- the machine */

static vs_status read_value(reader *r, int byte) {
  vs_value value;
  if (byte == '{' || byte == '[') return open_container(r, byte == '{');
  if (byte == '"') VS_TRY(read_string(r, &value));
  else if (byte != END && is_word_byte((uint8_t)byte)) VS_TRY(read_word(r, &value));
  else return expected(r, "a value", byte);
  return complete(r, value);
}

static vs_status read_key(reader *r, int byte) {
  if (byte != '"') return expected(r, r->state == KEY ? "a key after ','" : "a key or '}'", byte);
  vs_value key;
  VS_TRY(read_string(r, &key));
  r->state = COLON;
  return push(r, key);
}

static vs_status read_colon(reader *r, int byte) {
  if (byte != ':') return expected(r, "':' after a key", byte);
  r->input->pos++;
  r->state = VALUE;
  return VS_OK;
}

static vs_status read_comma(reader *r, int byte) {
  VS_ASSERT(r->open.count > 0);
  const bool in_object = r->open.data[r->open.count - 1].is_object;
  if (byte == (in_object ? '}' : ']')) return close_container(r);
  if (byte != ',')
    return expected(r, in_object ? "',' or '}' after a member" : "',' or ']' after an item", byte);
  r->input->pos++;
  r->state = in_object ? KEY : VALUE;
  return VS_OK;
}

static vs_status read_next(reader *r) {
  int byte = END;
  VS_TRY(peek(r->input, &byte));
  switch (r->state) {
    case FIRST_ITEM: return byte == ']' ? close_container(r) : read_value(r, byte);
    case VALUE: return read_value(r, byte);
    case FIRST_KEY: return byte == '}' ? close_container(r) : read_key(r, byte);
    case KEY: return read_key(r, byte);
    case COLON: return read_colon(r, byte);
    case COMMA: return read_comma(r, byte);
    case DONE: break;
  }
  return VS_OK;
}

static vs_status skip_byte_order_mark(vs_input *input) {
  bool is_there;
  VS_TRY(fill(input, 3, &is_there));
  if (is_there && memcmp(input->data + input->pos, "\xef\xbb\xbf", 3) == 0) input->pos += 3;
  return VS_OK;
}

/* After the value: white space, and zero bytes with which some tools pad files. */
static vs_status read_padding(reader *r) {
  int byte = END;
  do {
    if (byte == 0) r->input->pos++;
    VS_TRY(peek(r->input, &byte));
  } while (byte == 0);
  return byte == END ? VS_OK : expected(r, "the end of the text", byte);
}

static vs_status read_text(reader *r) {
  VS_TRY(vs_vec_reserve(r->input->host, &r->items, 1)); /* so that items.data is not NULL */
  VS_TRY(skip_byte_order_mark(r->input));
  while (r->state != DONE) VS_TRY(read_next(r));
  return read_padding(r);
}

vs_status vs_json_fold(vs_input *input, const vs_fold *fold, const vs_json_limits *limits, vs_value *root,
                       vs_error *error) {
  vs_error unwanted;
  reader r = {
      .input = input,
      .fold = fold,
      .limits = limits != NULL ? *limits : VS_JSON_LIMITS,
      .error = error != NULL ? error : &unwanted,
      .state = VALUE,
  };
  *r.error = (vs_error){.offset = VS_NO_OFFSET};
  const vs_status status = read_text(&r);
  VS_ASSERT(status != VS_OK || (r.items.count == 1 && r.open.count == 0));
  if (status == VS_OK) *root = r.items.data[0];
  else if (r.error->text[0] == 0)
    vs_fail(r.error, status, vs_input_offset(input), "%s", vs_status_text(status));
  vs_vec_free(input->host, &r.items);
  vs_vec_free(input->host, &r.open);
  return status;
}
