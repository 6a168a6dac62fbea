/* What a program reads back from the GPU, where nothing is computed: the text of `--values` and VRAMSCOPE_SIM_VALUES, a list with
 * commas of
 *
 *   zeros | true | keep     for all reads; the last one counts
 *   FILE:LINE=VALUE         for the reads of one place; of two that name the same one the later counts
 *
 *   VALUE  zeros            zeros
 *          true             1, in a read of 1, 2, 4 or 8 bytes
 *          keep             what copies and memsets wrote last
 *          NUMBER           that number, in a read of one value: an integer of 1, 2, 4 or 8 bytes, or, written with a point or an
 *                           exponent, a floating-point number of 4 or 8 bytes
 *          NUMBER:TYPE      that number, in each element of the read (value_types.def)
 *
 * FILE is a path or its last parts. A value that a place is given replaces also bytes that are known. */
#ifndef VS_DEVICE_SIM_VALUES_H
#define VS_DEVICE_SIM_VALUES_H

#include "base/text.h"

typedef enum vs_values { VS_VALUES_ZEROS, VS_VALUES_TRUE, VS_VALUES_KEEP } vs_values;

typedef enum vs_given_kind {
  VS_GIVEN_ZEROS,
  VS_GIVEN_KEEP,
  VS_GIVEN_INTEGER, /* without a type; also `true`, as 1 */
  VS_GIVEN_REAL,    /* without a type */
  VS_GIVEN_ELEMENT, /* with a type */
} vs_given_kind;

typedef struct vs_given_value {
  vs_given_kind kind;
  int64_t integer;
  double real;
  uint8_t element[8]; /* ELEMENT: `size` bytes, the lowest first */
  uint32_t size;
} vs_given_value;

/* One FILE:LINE=VALUE. The texts are parts of the list's text. */
typedef struct vs_given_place {
  vs_str text;        /* whole: "train.py:88=true" */
  vs_str place, word; /* "train.py:88", "true" */
  vs_str file;
  uint32_t line;
  vs_given_value value;
} vs_given_place;

enum { VS_GIVEN_MOST = 64 };

typedef struct vs_given_values {
  vs_values values; /* for all other reads */
  uint32_t count;
  vs_given_place places[VS_GIVEN_MOST];
} vs_given_values;

const char *vs_values_word(vs_values values);

/* Reads such a list, which has to outlive the result. An empty text gives no places and zeros.
 * Fails: VS_BAD_ARGUMENT, with a sentence that quotes the wrong entry */
VS_MUST_CHECK vs_status vs_given_values_parse(vs_str text, vs_given_values *given, vs_error *error);

/* The place that names this line of this file; NULL: none. */
const vs_given_place *vs_given_find(const vs_given_values *given, vs_str file, uint32_t line);

/* Whether some place is given what copies wrote last. */
bool vs_given_keeps(const vs_given_values *given);

/* Writes a value other than KEEP over a read of `size` bytes. false: such a read cannot have it, and nothing was written. */
bool vs_given_fill(const vs_given_value *value, void *bytes, uint64_t size);

#endif
