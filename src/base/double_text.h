/* Doubles and their decimal text, exactly, without a C library.
 *
 * Both directions are correct to the last bit. Numbers of few digits have a fast path; the others are computed with
 * integers of up to 4096 bits (double_text.c), which costs microseconds. */
#ifndef VS_BASE_DOUBLE_TEXT_H
#define VS_BASE_DOUBLE_TEXT_H

#include "base/text.h"

static inline uint64_t vs_f64_to_bits(double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

static inline double vs_f64_from_bits(uint64_t bits) {
  double value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

/* Neither infinite nor NaN. */
static inline bool vs_f64_is_finite(double value) {
  return (~vs_f64_to_bits(value) & UINT64_C(0x7ff0000000000000)) != 0;
}

/* The shortest decimal that reads back as the same double, and of those the nearest to it, in the form that Python's
 * repr() gives it: 0.8, 1.0, -0.0, 1e-05, 1e+16, 5e-324. Other values become nan, inf or -inf, which are no JSON: a
 * writer of JSON checks vs_f64_is_finite first. */
void vs_text_f64(vs_text *text, double value);

/* The double nearest to a decimal number of any length, ties to even; false if `s` is not wholly a number as
 * JSON writes them (-0.5e+3, no leading zero or plus, no bare point). Too large becomes infinite, too small
 * zero. */
bool vs_parse_f64(vs_str s, double *value);

#endif
