#include "device/sim/values.h"
#include "base/double_text.h"
#include "base/nearest.h"
#include "base/path.h"

typedef enum type_kind { UNSIGNED, SIGNED, FLOAT } type_kind;

static const struct value_type {
  const char *name;
  uint32_t size;
  type_kind kind;
  uint32_t exponent_bits, mantissa_bits;
} types[] = {
#define VS_VALUE_TYPE(id, name, size, kind, exponent_bits, mantissa_bits) \
  {name, size, kind, exponent_bits, mantissa_bits},
#include "device/sim/value_types.def"
#undef VS_VALUE_TYPE
};

static const char *const words[] = {"zeros", "true", "keep"};

const char *vs_values_word(vs_values values) {
  VS_ASSERT((size_t)values < sizeof words / sizeof *words);
  return words[values];
}

static bool find_word(vs_str text, vs_values *values) {
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    if (!vs_str_equal(text, vs_str_from(words[i]))) continue;
    *values = (vs_values)i;
    return true;
  }
  return false;
}

/* "; did you mean \"keep\"?", or nothing. */
static void put_hint(char hint[static 64], vs_str typed, bool are_types) {
  vs_nearest nearest = vs_nearest_to(typed);
  for (size_t i = 0; are_types && i < sizeof types / sizeof *types; i++)
    vs_nearest_offer(&nearest, vs_str_from(types[i].name));
  for (size_t i = 0; !are_types && i < sizeof words / sizeof *words; i++)
    vs_nearest_offer(&nearest, vs_str_from(words[i]));
  vs_format(hint, 64, nearest.best.size == 0 ? "" : "; did you mean \"%S\"?", nearest.best);
}

/* ---- numbers of a type */

/* The bits of a floating-point format with fewer bits than a double, rounded to nearest, ties to even. What is too large becomes
 * infinite. */
static uint64_t narrow_bits(double value, uint32_t exponent_bits, uint32_t mantissa_bits) {
  enum { MANTISSA = 52, BIAS = 1023 };
  const uint64_t bits = vs_f64_to_bits(value), sign = bits >> 63 << (exponent_bits + mantissa_bits);
  const uint64_t infinite = ((UINT64_C(1) << exponent_bits) - 1) << mantissa_bits;
  const int exponent = (int)(bits >> MANTISSA & 0x7ff) - BIAS;
  const int wanted = exponent + (1 << (exponent_bits - 1)) - 1; /* the biased exponent; below 1: subnormal */
  VS_ASSERT(mantissa_bits < MANTISSA);
  uint32_t shift = MANTISSA - mantissa_bits;
  if (exponent == BIAS + 1) return sign | infinite;
  if (wanted < 1) shift += (uint32_t)(1 - wanted);
  if (shift > MANTISSA + 1) return sign;
  const uint64_t whole = (bits & ((UINT64_C(1) << MANTISSA) - 1)) | UINT64_C(1) << MANTISSA;
  const uint64_t rest = whole & ((UINT64_C(1) << shift) - 1), half = UINT64_C(1) << (shift - 1);
  uint64_t result = whole >> shift;
  if (rest > half || (rest == half && (result & 1) != 0)) result++;
  if (wanted >= 1)
    result += (uint64_t)(wanted - 1) << mantissa_bits; /* its highest bit adds 1 to the exponent */
  return sign | (result < infinite ? result : infinite);
}

static void put_bytes(uint8_t *bytes, uint64_t value, uint64_t size) {
  VS_ASSERT(size <= 8);
  for (uint64_t i = 0; i < size; i++) bytes[i] = (uint8_t)(value >> (8 * i));
}

/* Whether an integer can be stored in `size` bytes, with or without a sign. */
static bool fits_signed(int64_t value, uint64_t size) {
  const int64_t limit = size >= 8 ? INT64_MAX : (INT64_C(1) << (8 * size - 1)) - 1;
  return value <= limit && value >= -limit - 1;
}
static bool fits_unsigned(int64_t value, uint64_t size) {
  return value >= 0 && (size >= 8 || value >> (8 * size) == 0);
}

static bool set_element(vs_given_value *value, const struct value_type *type) {
  uint64_t bits;
  if (type->kind == FLOAT) {
    bits = type->size == 8 ? vs_f64_to_bits(value->real)
                           : narrow_bits(value->real, type->exponent_bits, type->mantissa_bits);
    const uint64_t infinite = ((UINT64_C(1) << type->exponent_bits) - 1) << type->mantissa_bits;
    if ((bits & infinite) == infinite) return false;
  } else {
    if (value->kind != VS_GIVEN_INTEGER) return false;
    if (!(type->kind == SIGNED ? fits_signed(value->integer, type->size)
                               : fits_unsigned(value->integer, type->size)))
      return false;
    bits = (uint64_t)value->integer;
  }
  put_bytes(value->element, bits, type->size);
  value->kind = VS_GIVEN_ELEMENT;
  value->size = type->size;
  return true;
}

/* ---- one value */

static bool read_number(vs_str text, vs_given_value *value) {
  value->kind = VS_GIVEN_INTEGER;
  if (vs_parse_i64(text, &value->integer)) {
    value->real = (double)value->integer;
    return true;
  }
  value->kind = VS_GIVEN_REAL;
  return vs_parse_f64(text, &value->real) && vs_f64_is_finite(value->real);
}

static size_t find_last(vs_str text, char c) {
  size_t at = text.size;
  while (at > 0 && text.data[at - 1] != c) at--;
  return at == 0 ? text.size : at - 1;
}

static vs_status no_value(const vs_given_place *entry, vs_error *error) {
  char hint[64];
  put_hint(hint, entry->word, false);
  return vs_fail(error, VS_BAD_ARGUMENT, VS_NO_OFFSET,
                 "\"%S\" is no value: give zeros, true, keep, a number (1, 0.5) or a number with its type "
                 "(1:int64)%s",
                 entry->word, hint);
}

static vs_status read_typed(const vs_given_place *entry, size_t colon, vs_given_value *value,
                            vs_error *error) {
  const vs_str name = {entry->word.data + colon + 1, entry->word.size - colon - 1};
  if (!read_number((vs_str){entry->word.data, colon}, value)) return no_value(entry, error);
  for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
    if (!vs_str_equal(name, vs_str_from(types[i].name))) continue;
    if (set_element(value, &types[i])) return VS_OK;
    return vs_fail(error, VS_BAD_ARGUMENT, VS_NO_OFFSET, "%S does not fit %s",
                   (vs_str){entry->word.data, colon}, types[i].name);
  }
  char hint[64];
  put_hint(hint, name, true);
  return vs_fail(error, VS_BAD_ARGUMENT, VS_NO_OFFSET,
                 "\"%S\" is no type: give bool, int64, float32, bfloat16 or another of PyTorch's%s", name,
                 hint);
}

static vs_status read_value(vs_given_place *entry, vs_error *error) {
  vs_given_value *value = &entry->value;
  vs_values word;
  *value = (vs_given_value){.kind = VS_GIVEN_ZEROS};
  if (find_word(entry->word, &word)) {
    value->kind = word == VS_VALUES_ZEROS  ? VS_GIVEN_ZEROS
                  : word == VS_VALUES_KEEP ? VS_GIVEN_KEEP
                                           : VS_GIVEN_INTEGER;
    value->integer = word == VS_VALUES_TRUE;
    return VS_OK;
  }
  const size_t colon = find_last(entry->word, ':');
  if (colon != entry->word.size) return read_typed(entry, colon, value, error);
  return read_number(entry->word, value) ? VS_OK : no_value(entry, error);
}

/* ---- the list */

static vs_status read_place(vs_given_place *entry, vs_error *error) {
  const size_t equals = find_last(entry->text, '=');
  uint64_t line;
  entry->place = (vs_str){entry->text.data, equals};
  entry->word = (vs_str){entry->text.data + equals + 1, entry->text.size - equals - 1};
  const size_t colon = find_last(entry->place, ':');
  const bool has_line = colon != equals &&
                        vs_parse_u64((vs_str){entry->place.data + colon + 1, equals - colon - 1}, &line) &&
                        line != 0 && line <= INT32_MAX;
  if (!has_line || colon == 0)
    return vs_fail(error, VS_BAD_ARGUMENT, VS_NO_OFFSET,
                   "\"%S\" is no place: give a file and its line, as in train.py:88=%S", entry->place,
                   entry->word.size == 0 ? VS_STR("true") : entry->word);
  entry->file = (vs_str){entry->place.data, colon};
  entry->line = (uint32_t)line;
  return read_value(entry, error);
}

static vs_status no_word(vs_str entry, vs_error *error) {
  char hint[64];
  put_hint(hint, entry, false);
  return vs_fail(error, VS_BAD_ARGUMENT, VS_NO_OFFSET,
                 "not one of zeros|true|keep, and not FILE:LINE=VALUE: \"%S\"%s", entry, hint);
}

static vs_status take_entry(vs_str text, vs_given_values *given, vs_error *error) {
  if (find_last(text, '=') == text.size)
    return find_word(text, &given->values) ? VS_OK : no_word(text, error);
  if (given->count == VS_GIVEN_MOST)
    return vs_fail(error, VS_BAD_ARGUMENT, VS_NO_OFFSET, "%d places are the most", (int)VS_GIVEN_MOST);
  vs_given_place *entry = &given->places[given->count++];
  *entry = (vs_given_place){.text = text};
  return read_place(entry, error);
}

static vs_str trimmed(vs_str text) {
  while (text.size != 0 && text.data[0] == ' ') text = (vs_str){text.data + 1, text.size - 1};
  while (text.size != 0 && text.data[text.size - 1] == ' ') text.size--;
  return text;
}

vs_status vs_given_values_parse(vs_str text, vs_given_values *given, vs_error *error) {
  given->values = VS_VALUES_ZEROS;
  given->count = 0;
  if (trimmed(text).size == 0) return VS_OK;
  for (size_t at = 0; at <= text.size;) {
    size_t end = at;
    while (end < text.size && text.data[end] != ',') end++;
    VS_TRY(take_entry(trimmed((vs_str){text.data + at, end - at}), given, error));
    at = end + 1;
  }
  VS_ASSERT(given->count <= VS_GIVEN_MOST);
  return VS_OK;
}

const vs_given_place *vs_given_find(const vs_given_values *given, vs_str file, uint32_t line) {
  for (uint32_t i = given->count; i-- > 0;)
    if (given->places[i].line == line && vs_path_ends_with(file, given->places[i].file))
      return &given->places[i];
  return NULL;
}

bool vs_given_keeps(const vs_given_values *given) {
  for (uint32_t i = 0; i < given->count; i++)
    if (given->places[i].value.kind == VS_GIVEN_KEEP) return true;
  return false;
}

/* ---- filling */

static bool fill_elements(const vs_given_value *value, uint8_t *bytes, uint64_t size) {
  VS_ASSERT(value->size != 0);
  if (size % value->size != 0) return false;
  for (uint64_t i = 0; i < size; i++) bytes[i] = value->element[i % value->size];
  return true;
}

static bool fill_integer(int64_t integer, uint8_t *bytes, uint64_t size) {
  if (size != 1 && size != 2 && size != 4 && size != 8) return false;
  if (!fits_signed(integer, size) && !fits_unsigned(integer, size)) return false;
  put_bytes(bytes, (uint64_t)integer, size);
  return true;
}

static bool fill_real(double real, uint8_t *bytes, uint64_t size) {
  if (size != 4 && size != 8) return false; /* of 2 bytes there are two types */
  put_bytes(bytes, size == 8 ? vs_f64_to_bits(real) : narrow_bits(real, 8, 23), size);
  return true;
}

bool vs_given_fill(const vs_given_value *value, void *bytes, uint64_t size) {
  switch (value->kind) {
    case VS_GIVEN_ZEROS: memset(bytes, 0, (size_t)size); return true;
    case VS_GIVEN_INTEGER: return fill_integer(value->integer, bytes, size);
    case VS_GIVEN_REAL: return fill_real(value->real, bytes, size);
    case VS_GIVEN_ELEMENT: return fill_elements(value, bytes, size);
    case VS_GIVEN_KEEP: break;
  }
  return false;
}
