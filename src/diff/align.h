/* Which line of an older version of a function is which line of a newer one.
 *
 * Lines keep their order, and what a line calls tells it from others. So the lines are paired in order, such that the sum of
 * these points is highest: how similar the calls of two lines are, and less for an equal number and for a shift of the numbers that is
 * the one of the pair before. Two lines without a common call are the same only if they have the same number, or if of neither of
 * them it is known what it calls. Where every line of one function is in the other one with the same number, and none of these pairs differs
 * in all that it calls, the lines have not moved. */
#ifndef VS_DIFF_ALIGN_H
#define VS_DIFF_ALIGN_H

#include "diff/features.h"

typedef struct vs_align_side {
  const int64_t *lines;     /* by line: its number in the source, rising */
  const uint32_t *subjects; /* by line: its subject in `features` */
  uint32_t count;
  const vs_features *features;
} vs_align_side;

#define VS_ALIGN_NONE UINT32_MAX

/* Above so many pairs of lines only equal numbers are paired: a function of more than a thousand lines that allocate. */
#define VS_ALIGN_MOST_PAIRS (UINT64_C(1) << 21)

/* mates[i]: the line of `b` that line i of `a` is, VS_ALIGN_NONE if there is none; a->count of them. Fails: VS_NO_MEMORY */
VS_MUST_CHECK vs_status vs_align_lines(const vs_host *host, const vs_align_side *a, const vs_align_side *b,
                                       uint32_t *mates);

/* The same for two moments of one program: equal numbers are the same line. */
void vs_align_equal(const vs_align_side *a, const vs_align_side *b, uint32_t *mates);

#endif
