#include "codec/toml_scalars.h"
#include "base/double_text.h"

enum { MOST_DIGITS = 512 };

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static char at(vs_str text, size_t i) { return i < text.size ? text.data[i] : 0; }

static vs_str behind(vs_str text, size_t from) { return (vs_str){text.data + from, text.size - from}; }

/* ---- dates and times: fixed numbers of digits */

/* The number of `digits` digits at `from`; -1: there are fewer. */
static int number_at(vs_str text, size_t from, size_t digits) {
  int value = 0;
  for (size_t i = 0; i < digits; i++) {
    if (!is_digit(at(text, from + i))) return -1;
    value = value * 10 + (text.data[from + i] - '0');
  }
  return value;
}

static int days_of(int year, int month) {
  static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  const bool is_leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
  return days[month - 1] + (month == 2 && is_leap);
}

/* The size of a date at the beginning; 0: there is none. */
static size_t date_size(vs_str text) {
  enum { SIZE = 10 };
  const int year = number_at(text, 0, 4), month = number_at(text, 5, 2), day = number_at(text, 8, 2);
  if (year < 1 || month < 1 || month > 12 || day < 1 || at(text, 4) != '-' || at(text, 7) != '-') return 0;
  return day <= days_of(year, month) ? SIZE : 0;
}

static bool is_hour_and_minute(vs_str text) {
  const int hour = number_at(text, 0, 2), minute = number_at(text, 3, 2);
  return hour >= 0 && hour <= 23 && at(text, 2) == ':' && minute >= 0 && minute <= 59;
}

static size_t time_size(vs_str text) {
  size_t size = 8;
  if (!is_hour_and_minute(text) || at(text, 5) != ':') return 0;
  const int second = number_at(text, 6, 2);
  if (second < 0 || second > 59) return 0;
  if (at(text, size) != '.' || !is_digit(at(text, size + 1))) return size;
  for (size++; is_digit(at(text, size));) size++;
  return size;
}

static size_t offset_size(vs_str text) {
  if (at(text, 0) == 'Z' || at(text, 0) == 'z') return 1;
  const bool has_sign = at(text, 0) == '+' || at(text, 0) == '-';
  return has_sign && is_hour_and_minute(behind(text, 1)) ? 6 : 0;
}

static size_t moment_size(vs_str text) {
  const size_t date = date_size(text);
  if (date == 0) return time_size(text);
  const char between = at(text, date);
  if (between != 'T' && between != 't' && between != ' ') return date;
  const size_t time = time_size(behind(text, date + 1));
  if (time == 0) return date;
  const size_t end = date + 1 + time;
  return end + offset_size(behind(text, end));
}

/* ---- integers with a base */

static int digit_of(char c, int base) {
  const char lower = c >= 'A' && c <= 'F' ? (char)(c + 32) : c;
  const int value = is_digit(c) ? c - '0' : lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : 99;
  return value < base ? value : -1;
}

static int base_of(char c) { return c == 'x' ? 16 : c == 'o' ? 8 : c == 'b' ? 2 : 0; }

/* 0xdead_beef: an underscore stands between two digits. */
static vs_toml_scalar based(vs_str text) {
  const int base = base_of(at(text, 1));
  vs_toml_scalar found = {.kind = VS_TOML_IS_INTEGER, .size = 2};
  if (digit_of(at(text, 2), base) < 0) return (vs_toml_scalar){.kind = VS_TOML_IS_NONE};
  for (;;) {
    if (at(text, found.size) == '_' && digit_of(at(text, found.size + 1), base) >= 0) found.size++;
    const int digit = digit_of(at(text, found.size), base);
    if (digit < 0) return found;
    if (__builtin_mul_overflow(found.integer, base, &found.integer) ||
        __builtin_add_overflow(found.integer, digit, &found.integer))
      found.kind = VS_TOML_IS_TOO_LARGE;
    found.size++;
  }
}

/* ---- decimal numbers */

/* The digits of a number without its underscores. */
typedef struct digits {
  char text[MOST_DIGITS];
  size_t count;
  bool is_too_long;
} digits;

static void keep(digits *d, char c) {
  if (d->count < MOST_DIGITS) d->text[d->count++] = c;
  else d->is_too_long = true;
}

/* Digits with underscores between; how many bytes. */
static size_t take_digits(vs_str text, digits *d) {
  size_t size = 0;
  while (is_digit(at(text, size)) || (size > 0 && at(text, size) == '_' && is_digit(at(text, size + 1)))) {
    if (text.data[size] != '_') keep(d, text.data[size]);
    size++;
  }
  return size;
}

static size_t take_fraction(vs_str text, digits *d) {
  if (at(text, 0) != '.' || !is_digit(at(text, 1))) return 0;
  keep(d, '.');
  return 1 + take_digits(behind(text, 1), d);
}

static size_t take_exponent(vs_str text, digits *d) {
  if (at(text, 0) != 'e' && at(text, 0) != 'E') return 0;
  const size_t sign = at(text, 1) == '+' || at(text, 1) == '-';
  if (!is_digit(at(text, 1 + sign))) return 0;
  keep(d, 'e');
  if (sign != 0) keep(d, text.data[1]);
  return 1 + sign + take_digits(behind(text, 1 + sign), d);
}

static void finish_number(vs_toml_scalar *found, const digits *d, bool is_real) {
  const vs_str text = {d->text, d->count};
  if (!is_real) {
    found->kind =
        !d->is_too_long && vs_parse_i64(text, &found->integer) ? VS_TOML_IS_INTEGER : VS_TOML_IS_TOO_LARGE;
    return;
  }
  const bool is_number = !d->is_too_long && vs_parse_f64(text, &found->real);
  found->kind = is_number && vs_f64_is_finite(found->real) ? VS_TOML_IS_REAL : VS_TOML_IS_NOT_JSON;
}

static vs_toml_scalar decimal(vs_str text) {
  vs_toml_scalar found = {.kind = VS_TOML_IS_NONE};
  digits d = {.count = 0};
  const size_t sign = at(text, 0) == '+' || at(text, 0) == '-';
  if (sign != 0 && text.data[0] == '-') keep(&d, '-');
  const vs_str number = behind(text, sign);
  if (!is_digit(at(number, 0))) return found;
  size_t size = 1;
  if (number.data[0] == '0') keep(&d, '0');
  else size = take_digits(number, &d);
  const size_t fraction = take_fraction(behind(number, size), &d);
  const size_t exponent = take_exponent(behind(number, size + fraction), &d);
  found.size = sign + size + fraction + exponent;
  finish_number(&found, &d, fraction + exponent != 0);
  return found;
}

/* ---- */

static bool begins(vs_str text, const char *word) { return vs_str_starts(text, vs_str_from(word)); }

static vs_toml_scalar word_at(vs_str text) {
  const size_t sign = at(text, 0) == '+' || at(text, 0) == '-';
  const vs_str word = behind(text, sign);
  if (begins(word, "inf") || begins(word, "nan"))
    return (vs_toml_scalar){.kind = VS_TOML_IS_NOT_JSON, .size = sign + 3};
  if (begins(text, "true")) return (vs_toml_scalar){.kind = VS_TOML_IS_BOOL, .size = 4, .integer = 1};
  if (begins(text, "false")) return (vs_toml_scalar){.kind = VS_TOML_IS_BOOL, .size = 5};
  return (vs_toml_scalar){.kind = VS_TOML_IS_NONE};
}

vs_toml_scalar vs_toml_scalar_at(vs_str text) {
  const size_t moment = moment_size(text);
  if (moment != 0) return (vs_toml_scalar){.kind = VS_TOML_IS_TIME, .size = moment};
  const vs_toml_scalar word = word_at(text);
  if (word.kind != VS_TOML_IS_NONE) return word;
  if (at(text, 0) == '0' && base_of(at(text, 1)) != 0) return based(text);
  return decimal(text);
}
