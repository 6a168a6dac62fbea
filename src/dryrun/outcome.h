/* What came of a dry run: all that its reply is made of. */
#ifndef VS_DRYRUN_OUTCOME_H
#define VS_DRYRUN_OUTCOME_H

#include "dryrun/fit.h"
#include "dryrun/launch.h"
#include "dryrun/result.h"

typedef enum vs_verdict {
  VS_VERDICT_FITS,
  VS_VERDICT_HANDLED,      /* it met out-of-memory errors, and ran through */
  VS_VERDICT_DOES_NOT_FIT, /* it failed after one */
  VS_VERDICT_STOPPED,      /* it failed, but not for lack of memory */
  VS_VERDICT_NO_CUDA,      /* it did not use the simulated GPU */
} vs_verdict;

typedef struct vs_search {
  bool was_made;
  bool is_known; /* false: it could not be found; `why` says why */
  const char *why;
  uint64_t smallest_bytes; /* total of each card; known to 1%, and as much when it is shown rounded up */
  char gpu[256];           /* the value for --gpu with which it fits: "H100:6.47GiB" */
  uint32_t runs;           /* beside the first */
} vs_search;

/* Invariant: needs[0 .. need_count) are those of the cards that were used, by rising number; need_count is 0 exactly with
 * VS_VERDICT_NO_CUDA. The pointers are borrowed. */
typedef struct vs_outcome {
  const vs_dryrun_setup *setup;
  const vs_launch *launch;
  const vs_result *result;
  vs_verdict verdict;
  uint32_t cards[VS_SIM_MAX_DEVICES]; /* of each need the number of its card */
  vs_fit_need needs[VS_SIM_MAX_DEVICES];
  uint32_t need_count;
  vs_fit_table fits;
  vs_json report; /* the engine's, of the main process' snapshot; absent where there is none */
  vs_search search;
} vs_outcome;

#endif
