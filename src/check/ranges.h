/* The peaks within steps of the training that budgets name, such as "1-2" or "3-". */
#ifndef VS_CHECK_RANGES_H
#define VS_CHECK_RANGES_H

#include "check/facts.h"

/* Borrowed from the documents of the run. */
typedef struct vs_check_range {
  vs_json
      inventory; /* at the peak within the steps, of the GPU that has most allocated there; absent: unknown */
  vs_str why;    /* the reason why it is absent, as a clause */
  vs_str incomplete; /* why the figures are lower bounds, as a clause; empty: they are exact */
  uint64_t peaks
      [VS_FACT_COUNT]; /* of the figures that have one (vs_check_has_range), of several GPUs the highest */
} vs_check_range;

/* Whether there is a peak of this figure within steps. */
bool vs_check_has_range(vs_fact_id id);

/* `ranges`: those of a vs_check_run. */
vs_check_range vs_check_range_of(vs_json ranges, vs_str steps);

#endif
