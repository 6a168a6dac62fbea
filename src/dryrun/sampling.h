/* Which ranks of a world have to run so that the memory of all of them is known, under one assumption.
 *
 * Ranks form a grid: along each kind of process group (tensor, pipeline, data parallel ...) a rank has a position, and all groups
 * of a kind look like the one that rank 0 is in. Such a kind is an *axis*. The assumption: where two ranks on an axis that ran have the
 * same memory, those between them have it, too, and what holds on an axis through rank 0 holds on its parallels.
 *
 *   1. Rank 0 runs.
 *   2. Of each axis, from the smallest to the largest, the first position, the last, the second and the middle one run, and where two
 *      neighbours that ran differ, the position halfway between them, until they are next to each other. So each axis falls into
 *      intervals of equal memory, and the axes so far cut the world into cells.
 *   3. After each axis the first rank of each cell runs in which none has.
 *   4. The last axis is the world itself: ranks 0, the last, 1 and the middle one. Here each is compared with the rank that stands for
 *      it, not with its neighbours. So these are checks of the assumption; one that fails makes further intervals, and cells.
 *
 * A rank has the memory of the run in its cell. Positions that were compared with what earlier axes expect are "equal" if they had it.
 *
 * Invariant (vs_sampling_check): no two runs have one rank, and there are at most `most` of them; the samples of an axis are by rising
 * position, without repetition; axes are by rising size, the last one is the world. */
#ifndef VS_DRYRUN_SAMPLING_H
#define VS_DRYRUN_SAMPLING_H

#include "base/vec.h"

enum { VS_SAMPLING_AXES = 16, VS_SAMPLING_DIGITS = 6, VS_SAMPLING_NAME = 48 };

/* A position on an axis is a number whose digits are taken from the number of the rank: (rank / stride) % size, the fastest first. */
typedef struct vs_sampling_digit {
  uint32_t stride, size;
} vs_sampling_digit;

typedef struct vs_sampling_sample {
  uint32_t position;
  uint32_t surprise; /* 0: it had the memory that was expected; else 1 + its outcome */
} vs_sampling_sample;

typedef struct vs_sampling_axis {
  char name[VS_SAMPLING_NAME]; /* empty: unknown */
  vs_sampling_digit digits[VS_SAMPLING_DIGITS];
  uint32_t digit_count, size;
  VS_VEC(vs_sampling_sample) samples;
} vs_sampling_axis;

/* Equal outcomes mean equal memory. */
typedef struct vs_sampling_run {
  uint32_t rank, outcome;
} vs_sampling_run;

/* Runs a rank. False: it could not, and no more shall run. */
typedef struct vs_sampling_try {
  void *ctx;
  bool (*run)(void *ctx, uint32_t rank, uint32_t *outcome);
} vs_sampling_try;

typedef struct vs_sampling {
  const vs_host *host;
  uint32_t world;
  uint32_t most; /* runs */
  vs_sampling_axis axes[VS_SAMPLING_AXES];
  size_t axis_count, done_count; /* axes that were sampled */
  VS_VEC(vs_sampling_run) runs;
  uint32_t check_count,
      failed_count; /* ranks that ran on the last axis; of these, which had other memory than expected */
  bool is_limited;  /* `most` runs were not enough */
  bool is_stopped;  /* a run could not be made */
} vs_sampling;

/* A world of that many ranks, in which at most `most` (1 or more) run. */
void vs_sampling_init(vs_sampling *sampling, const vs_host *host, uint32_t world, uint32_t most);
void vs_sampling_deinit(vs_sampling *sampling);

/* Adds the axis of a process group with rank 0, by its ranks in rising order. Groups without a regular pattern, those of one rank
 * or of all, and kinds that are known are left out. False if there is no regular pattern. Call before vs_sampling_find. */
bool vs_sampling_add(vs_sampling *sampling, vs_str name, const uint32_t *ranks, size_t count);

/* Runs ranks until all are known, or there were too many. Fails: VS_NO_MEMORY */
VS_MUST_CHECK vs_status vs_sampling_find(vs_sampling *sampling, vs_sampling_try try);

/* The run that stands for a rank: its number in `runs`; SIZE_MAX if the rank's memory is unknown. */
size_t vs_sampling_run_of(const vs_sampling *sampling, uint32_t rank);

/* Executes the invariant. */
bool vs_sampling_check(const vs_sampling *sampling);

#endif
