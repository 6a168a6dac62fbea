/* The outcome of a dry run: everything that its reply contains. */
#ifndef VS_DRYRUN_OUTCOME_H
#define VS_DRYRUN_OUTCOME_H

#include "dryrun/fit.h"
#include "dryrun/launch.h"
#include "dryrun/result.h"

typedef enum vs_verdict {
  VS_VERDICT_FITS,
  VS_VERDICT_HANDLED,      /* it had out-of-memory errors and handled them */
  VS_VERDICT_DOES_NOT_FIT, /* it failed after one */
  VS_VERDICT_STOPPED,      /* it failed, but not because of memory */
  VS_VERDICT_NO_CUDA,      /* it did not use the simulated GPU */
} vs_verdict;

typedef struct vs_search {
  bool was_made;
  bool is_known; /* false: not found; `why` is the reason */
  const char *why;
  uint64_t
      smallest_bytes; /* total of each card, with an error of at most 1%, also when it is shown rounded up */
  char gpu[256];      /* the value for --gpu with which it fits: "H100:6.47GiB" */
  uint32_t runs;      /* without the first one */
} vs_search;

/* Invariant: needs[0 .. need_count) are those of the cards that were used, by rising number; need_count is 0 exactly with
 * VS_VERDICT_NO_CUDA. The pointers are borrowed. */
typedef struct vs_outcome {
  const vs_dryrun_setup *setup;
  const vs_launch *launch;
  const vs_result *result;
  vs_verdict verdict;
  uint32_t cards[VS_SIM_MAX_DEVICES]; /* the number of the card of each need */
  vs_fit_need needs[VS_SIM_MAX_DEVICES];
  uint32_t need_count;
  vs_fit_table fits;
  vs_json report; /* the engine's report on the snapshot of the main process; absent if there is none */
  vs_search search;
} vs_outcome;

#endif
