/* The values of --find-largest, as the user writes them: ascending integers.
 *
 *   1..256          each one from 1 to 256
 *   128..8192:128   each 128th, from 128; the last one is at most 8192
 *   1,2,4,8         these */
#ifndef VS_DRYRUN_INTEGERS_H
#define VS_DRYRUN_INTEGERS_H

#include "base/text.h"

enum { VS_INTEGERS_LISTED = 64, VS_INTEGERS_MOST = 1 << 17 };

/* Invariant: 1 <= count <= VS_INTEGERS_MOST, and the values ascend: list[i] with is_list, else first + i * step, which is no overflow. */
typedef struct vs_integers {
  uint64_t first, step, count;
  bool is_list;
  uint64_t list[VS_INTEGERS_LISTED];
} vs_integers;

/* Fails: VS_BAD_ARGUMENT, with a sentence about what is wrong */
VS_MUST_CHECK vs_status vs_integers_parse(vs_integers *integers, vs_str text, vs_error *error);

/* The value number `number`, below count. */
uint64_t vs_integers_at(const vs_integers *integers, uint64_t number);

/* The number of the largest value that is at most `value`; 0 if there is none. */
uint64_t vs_integers_below(const vs_integers *integers, double value);

#endif
