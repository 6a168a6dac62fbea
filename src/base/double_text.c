/* Reading: a decimal is a fraction of two integers, digits * 10^n over 1 or digits over 10^n; long division
 * gives its first 64 bits and whether there is a remainder, which is all that correct rounding needs.
 *
 * Writing: Steele and White's free-format algorithm. A double stands for all numbers between the middles to its
 * two neighbours. Digits are produced one by one, and the first that leaves us inside that interval is the
 * last. */
#include "base/double_text.h"
#include <float.h>

enum {
  FRACTION_BITS = 52,
  EXPONENT_BIAS = 1023,
  LEAST_EXPONENT = -1074, /* of the last bit of a subnormal */
  MOST_DIGITS = 17,       /* that a shortest decimal can have */
  /* No midpoint of two doubles has more than 767 digits, so later digits only decide whether a number is above it. */
  KEPT_DIGITS = 800,
};

/* ---- integers: below 10^1131 * 2^64 when reading, 2^1130 when writing */

enum { BIG_LIMBS = 128 };

/* Invariant: the value is the sum of limbs[i] * 2^(32 i), limbs[count - 1] != 0. */
typedef struct big {
  size_t count;
  uint32_t limbs[BIG_LIMBS];
} big;

static void big_set(big *b, uint64_t value) {
  b->limbs[0] = (uint32_t)value;
  b->limbs[1] = (uint32_t)(value >> 32);
  b->count = b->limbs[1] != 0 ? 2 : b->limbs[0] != 0;
}

/* b = b * factor + more */
static void big_mul_add(big *b, uint32_t factor, uint32_t more) {
  uint64_t carry = more;
  for (size_t i = 0; i < b->count; i++) {
    carry += (uint64_t)b->limbs[i] * factor;
    b->limbs[i] = (uint32_t)carry;
    carry >>= 32;
  }
  if (carry == 0) return;
  VS_ASSERT(b->count < BIG_LIMBS);
  b->limbs[b->count++] = (uint32_t)carry;
}

static void big_mul_pow10(big *b, unsigned power) {
  for (; power >= 9; power -= 9) big_mul_add(b, 1000000000, 0);
  for (; power > 0; power--) big_mul_add(b, 10, 0);
}

static void big_shift_left(big *b, unsigned bits) {
  if (b->count == 0) return;
  const size_t limbs = bits / 32;
  VS_ASSERT(b->count + limbs <= BIG_LIMBS);
  memmove(b->limbs + limbs, b->limbs, b->count * sizeof *b->limbs);
  memset(b->limbs, 0, limbs * sizeof *b->limbs);
  b->count += limbs;
  big_mul_add(b, UINT32_C(1) << bits % 32, 0);
}

static unsigned big_bits(const big *b) {
  return b->count == 0 ? 0 : (unsigned)b->count * 32 - (unsigned)__builtin_clz(b->limbs[b->count - 1]);
}

static int big_compare(const big *a, const big *b) {
  if (a->count != b->count) return a->count < b->count ? -1 : 1;
  for (size_t i = a->count; i-- > 0;)
    if (a->limbs[i] != b->limbs[i]) return a->limbs[i] < b->limbs[i] ? -1 : 1;
  return 0;
}

/* a = a - b, which is not negative */
static void big_subtract(big *a, const big *b) {
  uint64_t borrow = 0;
  for (size_t i = 0; i < a->count; i++) {
    const uint64_t difference = (uint64_t)a->limbs[i] - (i < b->count ? b->limbs[i] : 0) - borrow;
    a->limbs[i] = (uint32_t)difference;
    borrow = difference >> 63;
  }
  VS_ASSERT(borrow == 0);
  while (a->count > 0 && a->limbs[a->count - 1] == 0) a->count--;
}

/* a = a + b */
static void big_add(big *a, const big *b) {
  uint64_t carry = 0;
  for (size_t i = 0; i < b->count || carry != 0; i++) {
    if (i == a->count) {
      VS_ASSERT(i < BIG_LIMBS);
      a->limbs[a->count++] = 0;
    }
    carry += (uint64_t)a->limbs[i] + (i < b->count ? b->limbs[i] : 0);
    a->limbs[i] = (uint32_t)carry;
    carry >>= 32;
  }
}

/* The order of a + b and c. */
static int big_compare_sum(const big *a, const big *b, const big *c) {
  big sum = *a;
  big_add(&sum, b);
  return big_compare(&sum, c);
}

/* ---- reading */

/* whole.fraction * 10^exponent */
typedef struct decimal {
  bool negative;
  vs_str whole, fraction; /* digits; whole has one at least */
  int64_t exponent;
} decimal;

static unsigned digit_of(char c) { return (unsigned)(uint8_t)c - '0'; }

static bool take(vs_str *s, char c) {
  if (s->size == 0 || *s->data != c) return false;
  *s = (vs_str){s->data + 1, s->size - 1};
  return true;
}

static vs_str take_digits(vs_str *s) {
  size_t n = 0;
  while (n < s->size && digit_of(s->data[n]) <= 9) n++;
  const vs_str digits = {s->data, n};
  if (n != 0) *s = (vs_str){s->data + n, s->size - n};
  return digits;
}

static bool take_exponent(vs_str *s, int64_t *exponent) {
  const bool negative = take(s, '-');
  if (!negative) (void)take(s, '+');
  const vs_str digits = take_digits(s);
  int64_t value = 0;
  for (size_t i = 0; i < digits.size; i++)
    if (value < INT64_MAX / 100) value = value * 10 + (int64_t)digit_of(digits.data[i]);
  *exponent = negative ? -value : value;
  return digits.size != 0;
}

/* The grammar of a number in JSON. */
static bool scan(vs_str s, decimal *out) {
  *out = (decimal){.negative = take(&s, '-')};
  out->whole = take_digits(&s);
  if (out->whole.size == 0 || (out->whole.size > 1 && out->whole.data[0] == '0')) return false;
  if (take(&s, '.')) {
    out->fraction = take_digits(&s);
    if (out->fraction.size == 0) return false;
  }
  if ((take(&s, 'e') || take(&s, 'E')) && !take_exponent(&s, &out->exponent)) return false;
  return s.size == 0;
}

/* Digit i of whole and fraction together. */
static unsigned digit_at(const decimal *d, size_t i) {
  return digit_of(i < d->whole.size ? d->whole.data[i] : d->fraction.data[i - d->whole.size]);
}

/* The digits that count are those from first to last, without zeros around them; false if all are zeros. Their
 * unit is 10^exponent from here on. */
static bool strip_zeros(decimal *d, size_t *first, size_t *last) {
  const size_t count = d->whole.size + d->fraction.size;
  for (*first = 0; *first < count && digit_at(d, *first) == 0; ++*first) {
  }
  for (*last = count; *last > *first && digit_at(d, *last - 1) == 0; --*last) {
  }
  d->exponent += (int64_t)d->whole.size - (int64_t)*last;
  return *last > *first;
}

/* The double nearest to (bits + less than one more, if there is a rest) * 2^exponent; bits >= 2^62. */
static uint64_t round_to_double(uint64_t bits, bool rest, int exponent) {
  if (bits >> 63 == 0) {
    bits <<= 1; /* the new last bit is unknown, but far below those that decide; `rest` stands for it */
    exponent--;
  }
  VS_ASSERT(bits >> 63 == 1);
  const int first = exponent + 63; /* of the leading bit */
  if (first > EXPONENT_BIAS) return UINT64_C(0x7ff) << FRACTION_BITS;
  const bool subnormal = first < 1 - EXPONENT_BIAS;
  const int dropped = subnormal ? LEAST_EXPONENT - exponent : 63 - FRACTION_BITS;
  if (dropped > 64) return 0;
  const uint64_t kept = dropped == 64 ? 0 : bits >> dropped;
  const uint64_t tail = dropped == 64 ? bits : bits << (64 - dropped), half = UINT64_C(1) << 63;
  const bool up = tail > half || (tail == half && (rest || (kept & 1) != 0));
  /* The leading bit of `kept` adds one to the exponent field, and a carry out of the fraction does so rightly,
   * too. */
  const uint64_t field = subnormal ? 0 : (uint64_t)(first + EXPONENT_BIAS - 1);
  return (field << FRACTION_BITS) + kept + up;
}

/* The double nearest to numerator / denominator; neither is 0. Destroys both. */
static uint64_t divide(big *numerator, big *denominator) {
  VS_ASSERT(numerator->count != 0 && denominator->count != 0);
  const int scale = (int)big_bits(numerator) - (int)big_bits(denominator);
  if (scale < 0) big_shift_left(numerator, (unsigned)-scale);
  else big_shift_left(denominator, (unsigned)scale);
  uint64_t bits = 0; /* the quotient, between 1/2 and 2: one bit before the point and 63 behind it */
  for (int i = 0; i < 64; i++) {
    bits <<= 1;
    if (big_compare(numerator, denominator) >= 0) {
      big_subtract(numerator, denominator);
      bits |= 1;
    }
    big_shift_left(numerator, 1);
  }
  return round_to_double(bits, numerator->count != 0, scale - 63);
}

#if FLT_EVAL_METHOD == 0 /* double arithmetic rounds once */
static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
enum { EXACT_POWERS = sizeof powers / sizeof *powers, EXACT_DIGITS = 15 };

/* Both operands are exact, so the one operation gives the nearest double. */
static bool read_short(const decimal *d, size_t first, size_t last, double *value) {
  if (last - first > EXACT_DIGITS || d->exponent >= EXACT_POWERS || d->exponent <= -EXACT_POWERS)
    return false;
  uint64_t digits = 0;
  for (size_t i = first; i < last; i++) digits = digits * 10 + digit_at(d, i);
  *value = d->exponent < 0 ? (double)digits / powers[-d->exponent] : (double)digits * powers[d->exponent];
  return true;
}
#else
static bool read_short(const decimal *d, size_t first, size_t last, double *value) {
  (void)d, (void)first, (void)last, (void)value;
  return false;
}
#endif

static double read_long(decimal *d, size_t first, size_t last) {
  big numerator, denominator;
  big_set(&numerator, 0);
  big_set(&denominator, 1);
  const size_t cut = last - first > KEPT_DIGITS ? first + KEPT_DIGITS : last;
  for (size_t i = first; i < cut; i++) big_mul_add(&numerator, 10, digit_at(d, i));
  d->exponent += (int64_t)(last - cut);
  if (cut != last) { /* the last digit is not 0: a 1 stands for all digits that were cut off */
    big_mul_add(&numerator, 10, 1);
    d->exponent--;
  }
  big_mul_pow10(d->exponent < 0 ? &denominator : &numerator,
                (unsigned)(d->exponent < 0 ? -d->exponent : d->exponent));
  return vs_f64_from_bits(divide(&numerator, &denominator));
}

/* Bounds of the magnitude, where the value is in [10^(magnitude-1), 10^magnitude): outside of them the nearest double is
 * infinite or zero. */
enum { MOST_MAGNITUDE = 310, LEAST_MAGNITUDE = -330 };

bool vs_parse_f64(vs_str s, double *value) {
  decimal d;
  size_t first, last;
  *value = 0;
  if (!scan(s, &d)) return false;
  if (strip_zeros(&d, &first, &last)) {
    const int64_t magnitude = d.exponent + (int64_t)(last - first);
    if (magnitude > MOST_MAGNITUDE) *value = vs_f64_from_bits(UINT64_C(0x7ff) << FRACTION_BITS);
    else if (magnitude >= LEAST_MAGNITUDE && !read_short(&d, first, last, value))
      *value = read_long(&d, first, last);
  }
  if (d.negative) *value = -*value;
  return true;
}

/* ---- writing */

/* 0.DIGITS * 10^point, without zeros around the digits. */
typedef struct shortest {
  char digits[MOST_DIGITS];
  size_t count;
  int point;
} shortest;

/* The state of the digit generation: the number is remainder / unit, and everything down to `below` less and up to
 * `above` more (over unit, too) reads back as the same double, the two bounds included if `closed`. */
typedef struct generator {
  big remainder, unit, below, above;
  bool closed;
} generator;

/* The number is fraction * 2^exponent. */
static void begin_digits(generator *g, uint64_t fraction, int exponent) {
  /* A power of two is twice as far from the next double as from the one before. */
  const bool uneven = fraction == UINT64_C(1) << FRACTION_BITS && exponent > LEAST_EXPONENT;
  const unsigned up = exponent > 0 ? (unsigned)exponent : 0, down = exponent < 0 ? (unsigned)-exponent : 0;
  big_set(&g->remainder, fraction);
  big_shift_left(&g->remainder, up + 1 + uneven);
  big_set(&g->unit, 1);
  big_shift_left(&g->unit, down + 1 + uneven);
  big_set(&g->below, 1);
  big_shift_left(&g->below, up);
  big_set(&g->above, 1);
  big_shift_left(&g->above, up + uneven);
  g->closed = (fraction & 1) == 0; /* ties read back as the even neighbour */
}

static bool reaches_below(const generator *g) { return big_compare(&g->remainder, &g->below) < g->closed; }
static bool reaches_above(const generator *g) {
  return big_compare_sum(&g->remainder, &g->above, &g->unit) > -(int)g->closed;
}

static void times_ten(generator *g, unsigned power) {
  big_mul_pow10(&g->remainder, power);
  big_mul_pow10(&g->below, power);
  big_mul_pow10(&g->above, power);
}

/* Scales the number, or what it may be rounded up to, into [1/10, 1) and returns the power of ten that was
 * taken out. */
static int scale_digits(generator *g, uint64_t fraction, int exponent) {
  /* floor(log10(2) * floor(log2(number))) is the power wanted, or less by one or two. */
  const int log2 = exponent + 63 - __builtin_clzll(fraction);
  int point = (int)((log2 * INT64_C(78913)) >> 18);
  if (point >= 0) big_mul_pow10(&g->unit, (unsigned)point);
  else times_ten(g, (unsigned)-point);
  for (; reaches_above(g); point++) big_mul_add(&g->unit, 10, 0);
  return point;
}

static unsigned next_digit(generator *g) {
  unsigned digit = 0;
  times_ten(g, 1);
  for (; big_compare(&g->remainder, &g->unit) >= 0; digit++) big_subtract(&g->remainder, &g->unit);
  return digit;
}

static void find_shortest(uint64_t fraction, int exponent, shortest *out) {
  generator g;
  begin_digits(&g, fraction, exponent);
  out->point = scale_digits(&g, fraction, exponent);
  for (out->count = 0;;) {
    unsigned digit = next_digit(&g);
    const bool low = reaches_below(&g), high = reaches_above(&g);
    /* If both the digit and the next one read back as the double: the nearer one, of equally near ones the even one. */
    if (high && (!low || big_compare_sum(&g.remainder, &g.remainder, &g.unit) > -(int)(digit & 1))) digit++;
    VS_ASSERT(digit <= 9 && out->count < MOST_DIGITS);
    out->digits[out->count++] = (char)('0' + digit);
    if (low || high) return;
  }
}

#if FLT_EVAL_METHOD == 0
/* Tries decimals of up to 15 digits with ever more digits behind the point. Two such decimals never read as the
 * same double, and reading one is a single exact division, so the first that reads back is the shortest. */
static bool find_quickly(double value, shortest *out) {
  for (int places = 0; places < EXACT_POWERS; places++) {
    const double scaled = value * powers[places];
    if (!(scaled < powers[EXACT_DIGITS])) return false;
    uint64_t digits = (uint64_t)(scaled + 0.5);
    if ((double)digits / powers[places] != value) continue;
    int dropped = 0;
    for (; digits % 10 == 0; digits /= 10) dropped++;
    char reversed[EXACT_DIGITS + 1];
    for (out->count = 0; digits != 0; digits /= 10) reversed[out->count++] = (char)('0' + digits % 10);
    for (size_t i = 0; i < out->count; i++) out->digits[i] = reversed[out->count - 1 - i];
    out->point = (int)out->count + dropped - places;
    return true;
  }
  return false;
}
#else
static bool find_quickly(double value, shortest *out) {
  (void)value, (void)out;
  return false;
}
#endif

static void put_zeros(vs_text *text, int count) {
  for (; count > 0; count--) vs_text_byte(text, '0');
}

static void put_plain(vs_text *text, const shortest *s) {
  const int count = (int)s->count, whole = s->point < 0 ? 0 : s->point < count ? s->point : count;
  if (whole == 0) vs_text_byte(text, '0');
  vs_text_put(text, s->digits, (size_t)whole);
  put_zeros(text, s->point - count);
  vs_text_byte(text, '.');
  put_zeros(text, -s->point);
  vs_text_put(text, s->digits + whole, (size_t)(count - whole));
  if (whole == count) vs_text_byte(text, '0');
}

static void put_scientific(vs_text *text, const shortest *s) {
  const int exponent = s->point - 1;
  vs_text_put(text, s->digits, 1);
  if (s->count > 1) vs_text_byte(text, '.');
  vs_text_put(text, s->digits + 1, s->count - 1);
  vs_text_cstr(text, exponent < 0 ? "e-" : "e+");
  if (exponent > -10 && exponent < 10) vs_text_byte(text, '0');
  vs_text_i64(text, exponent < 0 ? -exponent : exponent);
}

void vs_text_f64(vs_text *text, double value) {
  const uint64_t bits = vs_f64_to_bits(value), implicit = UINT64_C(1) << FRACTION_BITS;
  const uint64_t fraction = bits & (implicit - 1);
  const int field = (int)(bits >> FRACTION_BITS & 0x7ff);
  if (field == 0x7ff && fraction != 0) {
    vs_text_cstr(text, "nan");
    return;
  }
  if (bits >> 63 != 0) {
    vs_text_byte(text, '-');
    value = -value;
  }
  if (field == 0x7ff) {
    vs_text_cstr(text, "inf");
    return;
  }
  shortest s = {.point = 0};
  if (field == 0 && fraction != 0) find_shortest(fraction, LEAST_EXPONENT, &s);
  else if (field != 0 && !find_quickly(value, &s))
    find_shortest(fraction | implicit, LEAST_EXPONENT + field - 1, &s);
  if (s.point > -4 && s.point <= 16) put_plain(text, &s);
  else put_scientific(text, &s);
}
