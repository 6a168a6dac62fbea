#include "base/human.h"
#include "base/double_text.h"

/* ---- a quantity in a unit, rounded to a number of decimal places */

typedef enum rounding { HALF_UP, UP } rounding;

typedef struct rounded {
  uint64_t whole;
  uint64_t decimals; /* below 10^places */
} rounded;

/* value / unit. The remainder is below unit <= 2^60, so ten times it fits; digit by digit nothing overflows. */
static rounded divide(uint64_t value, uint64_t unit, unsigned places, rounding how) {
  VS_ASSERT(unit != 0 && unit <= UINT64_C(1) << 60);
  rounded r = {.whole = value / unit};
  uint64_t rest = value % unit, scale = 1;
  for (unsigned i = 0; i < places; i++, scale *= 10) {
    r.decimals = r.decimals * 10 + rest * 10 / unit;
    rest = rest * 10 % unit;
  }
  if (how == UP ? rest != 0 : rest >= unit - rest) r.decimals++;
  if (r.decimals == scale) {
    r.decimals = 0;
    r.whole++;
  }
  return r;
}

static void put_digits(vs_text *text, uint64_t value, unsigned width) {
  uint64_t scale = 1;
  for (unsigned i = 1; i < width; i++) scale *= 10;
  for (; scale != 0; scale /= 10) vs_text_byte(text, (uint8_t)('0' + value / scale % 10));
}

static void put_rounded(vs_text *text, rounded r, unsigned places) {
  vs_text_u64(text, r.whole);
  if (places == 0) return;
  vs_text_byte(text, '.');
  put_digits(text, r.decimals, places);
}

/* ---- bytes */

enum { UNIT_COUNT = 7 };

/* The places that leave four digits; decided after rounding, so that 99.996 becomes 100.0. */
static rounded four_digits(uint64_t value, uint64_t unit, unsigned *places, rounding how) {
  static const uint64_t too_large[] = {UINT64_MAX, 1000, 100};
  for (*places = 2;; --*places) {
    const rounded r = divide(value, unit, *places, how);
    if (r.whole < too_large[*places]) return r;
  }
}

static void put_scaled(vs_text *text, uint64_t bytes, uint64_t step, const char *const *names, rounding how) {
  uint64_t unit = step;
  unsigned places, name = 1;
  rounded r = four_digits(bytes, unit, &places, how);
  while (r.whole >= step && name + 1 < UNIT_COUNT) {
    unit *= step;
    name++;
    r = four_digits(bytes, unit, &places, how);
  }
  put_rounded(text, r, places);
  vs_text_byte(text, ' ');
  vs_text_cstr(text, names[name]);
}

static void put_bytes(vs_text *text, uint64_t bytes, vs_unit unit, rounding how) {
  static const char *const binary[UNIT_COUNT] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  static const char *const si[UNIT_COUNT] = {"B", "kB", "MB", "GB", "TB", "PB", "EB"};
  const uint64_t step = unit == VS_UNIT_BINARY ? 1024 : 1000;
  if (unit != VS_UNIT_PLAIN && bytes >= step) {
    put_scaled(text, bytes, step, unit == VS_UNIT_BINARY ? binary : si, how);
  } else {
    vs_text_count(text, bytes);
    vs_text_cstr(text, " B");
  }
}

void vs_text_bytes(vs_text *text, uint64_t bytes, vs_unit unit) { put_bytes(text, bytes, unit, HALF_UP); }
void vs_text_bytes_up(vs_text *text, uint64_t bytes, vs_unit unit) { put_bytes(text, bytes, unit, UP); }

void vs_text_bytes_change(vs_text *text, int64_t bytes, vs_unit unit) {
  if (bytes != 0) vs_text_byte(text, bytes < 0 ? '-' : '+');
  vs_text_bytes(text, bytes < 0 ? 0 - (uint64_t)bytes : (uint64_t)bytes, unit);
}

void vs_text_count(vs_text *text, uint64_t count) {
  uint64_t scale = 1;
  while (count / scale >= 1000) scale *= 1000;
  vs_text_u64(text, count / scale);
  while (scale > 1) {
    scale /= 1000;
    vs_text_byte(text, ',');
    put_digits(text, count / scale % 1000, 3);
  }
}

/* ---- durations */

static const uint64_t MILLISECOND = 1000, SECOND = 1000000;

/* "5 min 07 s": whole units of `large`, and below them of `small`. */
static void put_two_units(vs_text *text, uint64_t value, uint64_t per_large, const char *large,
                          const char *small) {
  vs_text_format(text, "%U %s ", value / per_large, large);
  put_digits(text, value % per_large, 2);
  vs_text_format(text, " %s", small);
}

static void put_decimal(vs_text *text, uint64_t value, uint64_t unit, unsigned places, const char *name) {
  put_rounded(text, divide(value, unit, places, HALF_UP), places);
  vs_text_byte(text, ' ');
  vs_text_cstr(text, name);
}

void vs_text_counted(vs_text *text, uint64_t count, const char *noun) {
  const size_t size = strlen(noun);
  const bool is_entry = count != 1 && size > 2 && noun[size - 1] == 'y' && noun[size - 2] != 'e';
  vs_text_count(text, count);
  vs_text_byte(text, ' ');
  vs_text_put(text, noun, size - is_entry);
  vs_text_cstr(text, is_entry ? "ies" : count == 1 ? "" : "s");
}

/* Each bound is the value at which the text would round up to the next unit's. */
void vs_text_duration(vs_text *text, uint64_t microseconds) {
  const uint64_t seconds = divide(microseconds, SECOND, 0, HALF_UP).whole,
                 minutes = divide(microseconds, 60 * SECOND, 0, HALF_UP).whole,
                 hours = divide(microseconds, 3600 * SECOND, 0, HALF_UP).whole;
  if (microseconds < MILLISECOND) vs_text_format(text, "%U us", microseconds);
  else if (microseconds < 9950) put_decimal(text, microseconds, MILLISECOND, 1, "ms");
  else if (microseconds < 999500) put_decimal(text, microseconds, MILLISECOND, 0, "ms");
  else if (microseconds < 9995000) put_decimal(text, microseconds, SECOND, 2, "s");
  else if (microseconds < 59950000) put_decimal(text, microseconds, SECOND, 1, "s");
  else if (seconds < 3600) put_two_units(text, seconds, 60, "min", "s");
  else if (minutes < 24 * 60) put_two_units(text, minutes, 60, "h", "min");
  else put_two_units(text, hours, 24, "d", "h");
}

/* ---- shares */

void vs_text_percent(vs_text *text, uint64_t part, uint64_t whole) {
  if (whole == 0) {
    vs_text_cstr(text, "-%");
    return;
  }
  const unsigned excess = whole >> 60 != 0 ? 4 : 0; /* divide() wants a unit of at most 2^60 */
  const rounded share = divide(part >> excess, whole >> excess, 3, HALF_UP);
  const uint64_t permille = vs_min_u64(share.whole, UINT64_MAX / 1000 - 1) * 1000 + share.decimals;
  if (permille == 0 && part != 0) vs_text_cstr(text, "<0.1%");
  else if (permille >= 1000 && part < whole) vs_text_cstr(text, ">99.9%");
  else vs_text_format(text, "%U.%U%%", permille / 10, permille % 10);
}

/* ---- reading ---- */

typedef struct unit {
  const char *name;
  uint64_t value;
} unit;

/* A number with one of the units behind it, rounded to a whole one. */
static bool parse_units(vs_str s, const unit *units, size_t count, uint64_t *value) {
  size_t digits = 0;
  while (digits < s.size && (s.data[digits] == '.' || (s.data[digits] >= '0' && s.data[digits] <= '9')))
    digits++;
  const vs_str number = {s.data, digits}, name = {s.data + digits, s.size - digits};
  for (size_t i = 0; i < count; i++) {
    if (!vs_str_equal(name, vs_str_from(units[i].name))) continue;
    if (vs_parse_u64(number, value)) return !__builtin_mul_overflow(*value, units[i].value, value);
    double real;
    if (!vs_parse_f64(number, &real)) return false;
    real *= (double)units[i].value;
    if (!(real < 18e18)) return false;
    *value = (uint64_t)(real + 0.5);
    return true;
  }
  return false;
}

bool vs_parse_bytes(vs_str s, uint64_t *value) {
  static const unit units[] = {
      {"", 1},
      {"B", 1},
      {"K", UINT64_C(1) << 10},
      {"KiB", UINT64_C(1) << 10},
      {"KB", 1000},
      {"M", UINT64_C(1) << 20},
      {"MiB", UINT64_C(1) << 20},
      {"MB", 1000 * 1000},
      {"G", UINT64_C(1) << 30},
      {"GiB", UINT64_C(1) << 30},
      {"GB", 1000 * 1000 * 1000},
      {"T", UINT64_C(1) << 40},
      {"TiB", UINT64_C(1) << 40},
      {"TB", UINT64_C(1000) * 1000 * 1000 * 1000},
  };
  return parse_units(s, units, sizeof units / sizeof *units, value);
}

bool vs_parse_seconds(vs_str s, uint64_t *value) {
  static const unit units[] = {{"s", 1}, {"min", 60}, {"h", 3600}, {"d", 86400}};
  return parse_units(s, units, sizeof units / sizeof *units, value);
}
