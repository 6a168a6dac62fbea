#include "codec/pickle_writer.h"
#include "base/double_text.h"
#include "base/utf8.h"

/* The opcodes written here; PyTorch's viewer knows all of them. */
enum opcode {
  OP_MARK = '(',
  OP_STOP = '.',
  OP_BINFLOAT = 'G',
  OP_BININT = 'J',
  OP_BININT1 = 'K',
  OP_BININT2 = 'M',
  OP_NONE = 'N',
  OP_BINUNICODE = 'X',
  OP_EMPTY_LIST = ']',
  OP_APPENDS = 'e',
  OP_BINGET = 'h',
  OP_LONG_BINGET = 'j',
  OP_BINPUT = 'q',
  OP_LONG_BINPUT = 'r',
  OP_SETITEMS = 'u',
  OP_EMPTY_DICT = '}',
  OP_PROTO = 0x80,
  OP_TUPLE2 = 0x86,
  OP_NEWTRUE = 0x88,
  OP_NEWFALSE = 0x89,
  OP_LONG1 = 0x8a,
  OP_SHORT_BINUNICODE = 0x8c,
};

enum { PROTOCOL = 4 };

static void put_op(vs_picklew *w, enum opcode op) { vs_text_byte(w->text, (uint8_t)op); }

/* An opcode and its argument, the low `size` bytes of `value` from the lowest on. */
static void put_op_with(vs_picklew *w, enum opcode op, uint64_t value, size_t size) {
  uint8_t out[1 + sizeof value] = {(uint8_t)op};
  VS_ASSERT(size <= sizeof value);
  for (size_t i = 0; i < size; i++, value >>= 8) out[1 + i] = (uint8_t)value;
  vs_text_put(w->text, out, 1 + size);
}

void vs_picklew_begin(vs_picklew *w, vs_text *text) {
  *w = (vs_picklew){.text = text, .seldom = VS_PICKLEW_OFTEN};
  put_op_with(w, OP_PROTO, PROTOCOL, 1);
}

void vs_picklew_end(vs_picklew *w) {
  VS_ASSERT(w->depth == 0);
  put_op(w, OP_STOP);
}

/* ---- containers */

static void end_batch(vs_picklew *w, vs_picklew_level *level) {
  if (level->batched == 0) return;
  VS_ASSERT(!level->is_dict || level->batched % 2 == 0); /* a key without value */
  put_op(w, level->is_dict ? OP_SETITEMS : OP_APPENDS);
  level->batched = 0;
}

/* A full batch ends only before the next value, so that its last value can still be memoized. */
static void before_value(vs_picklew *w) {
  if (w->depth == 0) return;
  vs_picklew_level *level = &w->levels[w->depth - 1];
  if (level->batched == VS_PICKLEW_BATCH * (level->is_dict ? 2u : 1u)) end_batch(w, level);
  if (level->batched++ == 0) put_op(w, OP_MARK);
  VS_ASSERT(level->batched <= VS_PICKLEW_BATCH * (level->is_dict ? 2u : 1u));
}

static void begin_container(vs_picklew *w, bool is_dict) {
  before_value(w);
  VS_ASSERT(w->depth < VS_PICKLEW_DEPTH);
  w->levels[w->depth++] = (vs_picklew_level){.is_dict = is_dict};
  put_op(w, is_dict ? OP_EMPTY_DICT : OP_EMPTY_LIST);
}

static void end_container(vs_picklew *w, bool is_dict) {
  VS_ASSERT(w->depth != 0 && w->levels[w->depth - 1].is_dict == is_dict);
  end_batch(w, &w->levels[w->depth - 1]);
  w->depth--;
}

void vs_picklew_dict_begin(vs_picklew *w) { begin_container(w, true); }
void vs_picklew_dict_end(vs_picklew *w) { end_container(w, true); }
void vs_picklew_list_begin(vs_picklew *w) { begin_container(w, false); }
void vs_picklew_list_end(vs_picklew *w) { end_container(w, false); }

/* ---- numbers */

/* How many bytes of two's complement a number takes, its sign bit included. */
static size_t bytes_of(int64_t value) {
  const uint64_t magnitude = (uint64_t)(value < 0 ? ~value : value);
  size_t size = 1;
  while (size < 8 && magnitude >> (8 * size - 1) != 0) size++;
  return size;
}

static void put_long(vs_picklew *w, uint64_t low, bool has_ninth, size_t size) {
  VS_ASSERT(size >= 1 && size <= 8 && (!has_ninth || size == 8));
  vs_text_byte(w->text, OP_LONG1);
  vs_text_byte(w->text, (uint8_t)(size + has_ninth));
  for (size_t i = 0; i < size; i++, low >>= 8) vs_text_byte(w->text, (uint8_t)low);
  if (has_ninth) vs_text_byte(w->text, 0);
}

static void put_int(vs_picklew *w, int64_t value) {
  if (value >= 0 && value <= UINT8_MAX) put_op_with(w, OP_BININT1, (uint64_t)value, 1);
  else if (value >= 0 && value <= UINT16_MAX) put_op_with(w, OP_BININT2, (uint64_t)value, 2);
  else if (value >= INT32_MIN && value <= INT32_MAX) put_op_with(w, OP_BININT, (uint64_t)value, 4);
  else put_long(w, (uint64_t)value, false, bytes_of(value));
}

static void put_uint(vs_picklew *w, uint64_t value) {
  if (value <= INT64_MAX) put_int(w, (int64_t)value);
  else put_long(w, value, true, 8);
}

void vs_picklew_i64(vs_picklew *w, int64_t value) {
  before_value(w);
  put_int(w, value);
}

void vs_picklew_u64(vs_picklew *w, uint64_t value) {
  before_value(w);
  put_uint(w, value);
}

void vs_picklew_f64(vs_picklew *w, double value) {
  before_value(w);
  put_op_with(w, OP_BINFLOAT, __builtin_bswap64(vs_f64_to_bits(value)), 8);
}

void vs_picklew_pair(vs_picklew *w, uint64_t a, uint64_t b) {
  before_value(w);
  put_uint(w, a);
  put_uint(w, b);
  put_op(w, OP_TUPLE2);
}

void vs_picklew_none(vs_picklew *w) {
  before_value(w);
  put_op(w, OP_NONE);
}

void vs_picklew_bool(vs_picklew *w, bool value) {
  before_value(w);
  put_op(w, value ? OP_NEWTRUE : OP_NEWFALSE);
}

/* ---- strings */

static void put_size(vs_picklew *w, uint64_t size) {
  if (size <= UINT8_MAX) put_op_with(w, OP_SHORT_BINUNICODE, size, 1);
  else if (size <= UINT32_MAX) put_op_with(w, OP_BINUNICODE, size, 4);
  else if (w->text->status == VS_OK) w->text->status = VS_LIMIT;
}

static size_t count_strays(vs_str s) {
  size_t strays = 0;
  for (size_t at = vs_utf8_valid(s); at < s.size; strays++) {
    at++;
    at += vs_utf8_valid((vs_str){s.data + at, s.size - at});
  }
  return strays;
}

/* Writes text in which each invalid byte becomes the three bytes of a lone surrogate. */
static void put_mended(vs_picklew *w, vs_str s) {
  while (s.size != 0) {
    const size_t valid = vs_utf8_valid(s);
    vs_text_put(w->text, s.data, valid);
    s = (vs_str){s.data + valid, s.size - valid};
    if (s.size == 0) return;
    char surrogate[4];
    vs_text_put(w->text, surrogate, vs_utf8_encode(surrogate, 0xdc00u + (uint8_t)s.data[0]));
    s = (vs_str){s.data + 1, s.size - 1};
  }
}

void vs_picklew_str(vs_picklew *w, vs_str value) {
  before_value(w);
  put_size(w, (uint64_t)value.size + 2 * (uint64_t)count_strays(value));
  put_mended(w, value);
}

/* ---- the memo */

static void put_index(vs_picklew *w, enum opcode short_op, enum opcode long_op, uint32_t index) {
  if (index <= UINT8_MAX) put_op_with(w, short_op, index, 1);
  else put_op_with(w, long_op, index, 4);
}

uint32_t vs_picklew_memoize(vs_picklew *w, bool often) {
  VS_ASSERT(w->seldom < UINT32_MAX);
  const uint32_t index = often && w->often < VS_PICKLEW_OFTEN ? w->often++ : w->seldom++;
  put_index(w, OP_BINPUT, OP_LONG_BINPUT, index);
  return index;
}

void vs_picklew_get(vs_picklew *w, uint32_t index) {
  VS_ASSERT(index < w->often || (index >= VS_PICKLEW_OFTEN && index < w->seldom));
  before_value(w);
  put_index(w, OP_BINGET, OP_LONG_BINGET, index);
}

void vs_picklew_shared_str(vs_picklew *w, vs_str value, bool often, uint32_t *memo) {
  if (*memo != 0) {
    vs_picklew_get(w, *memo - 1);
    return;
  }
  vs_picklew_str(w, value);
  *memo = vs_picklew_memoize(w, often) + 1;
}
