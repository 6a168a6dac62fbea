/* --find-largest: the largest of ascending values with which the program fits. A pure function of the runs so far says which value to run
 * next, or the answer.
 *
 * Assumption: memory does not fall while the value grows. Then what a run says holds for all smaller values if it fits, for all larger ones
 * if it does not, and two neighbours prove the answer. What the runs themselves say against it vs_largest_fall finds.
 *
 * A run that fits tells the memory to spare, so the line through two of these, or the parabola through three, says where it ends. A run that does not fit tells only that.
 * Where guesses by the line do not halve what is left, halves are tried: at most 2 log2(count) + 8 runs. */
#ifndef VS_DRYRUN_LARGEST_H
#define VS_DRYRUN_LARGEST_H

#include "dryrun/integers.h"

typedef struct vs_largest_point {
  uint64_t number;     /* of the value */
  int64_t spare_bytes; /* of a run that fits: what it leaves of the card */
  bool fits;
  bool
      is_squeezed; /* PyTorch released memory of its cache to fit, so `spare_bytes` says little of what the run needs */
} vs_largest_point;

typedef enum vs_largest_kind {
  VS_LARGEST_TRY,       /* run `number` */
  VS_LARGEST_FOUND,     /* `number` fits, and the next value does not */
  VS_LARGEST_ALL_FIT,   /* `number`, the last value, fits */
  VS_LARGEST_NONE_FITS, /* the first value does not fit */
} vs_largest_kind;

typedef struct vs_largest_step {
  vs_largest_kind kind;
  uint64_t number;
} vs_largest_step;

/* The runs so far, in their order, each of a value that vs_largest_next returned for those before it. */
typedef struct vs_largest {
  const vs_integers *values;
  const vs_largest_point *points;
  size_t count;
} vs_largest;

vs_largest_step vs_largest_next(const vs_largest *runs);

/* What the runs say: `fitting` is one more than the number of the largest value that fits (0: none did), `failing` the number of the smallest
 * one that does not (count of the values: none did not). */
typedef struct vs_largest_bounds {
  uint64_t fitting, failing;
} vs_largest_bounds;
vs_largest_bounds vs_largest_bounds_of(const vs_largest *runs);

/* The runs, none of them squeezed, that contradict the assumption most: a larger value leaves more to spare than a smaller one. False if
 * none do. */
typedef struct vs_largest_contradiction {
  uint64_t smaller, larger; /* numbers of the values */
  uint64_t bytes;           /* the difference */
} vs_largest_contradiction;
bool vs_largest_fall(const vs_largest *runs, vs_largest_contradiction *found);

#endif
