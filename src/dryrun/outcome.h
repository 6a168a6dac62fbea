/* The outcome of a dry run: everything that its reply contains. */
#ifndef VS_DRYRUN_OUTCOME_H
#define VS_DRYRUN_OUTCOME_H

#include "dryrun/fit.h"
#include "dryrun/launch.h"
#include "dryrun/result.h"
#include "dryrun/sampling.h"

typedef enum vs_verdict {
  VS_VERDICT_FITS,
  VS_VERDICT_HANDLED,      /* it had out-of-memory errors and handled them */
  VS_VERDICT_DOES_NOT_FIT, /* it failed after one */
  VS_VERDICT_STOPPED,      /* it failed, but not because of memory */
  VS_VERDICT_NO_CUDA,      /* it did not use the simulated GPU */
} vs_verdict;

typedef struct vs_search {
  bool was_made;
  bool was_interrupted; /* it ended before the size was found */
  bool is_known;        /* false: not found; `why` is the reason */
  const char *why;
  uint64_t
      smallest_bytes; /* total of each card, with an error of at most 1%, also when it is shown rounded up */
  char gpu[256];      /* the value for --gpu with which it fits: "H100:6.47GiB" */
  uint32_t runs;      /* without the first one */
} vs_search;

/* A rank that ran. Figures of several cards: those of the one with the highest peak. */
typedef struct vs_rank_result {
  uint32_t rank;
  vs_verdict verdict;
  int exit_code; /* as vs_launch_exit */
  bool has_torch;
  uint64_t peak_allocated_bytes, peak_reserved_bytes; /* with has_torch */
  uint64_t driver_peak_bytes, needed_bytes, total_bytes;
  uint64_t all_cards_bytes; /* the sum of all figures of all cards, to compare */
  uint64_t steps;
} vs_rank_result;

/* The ranks of a world, of which some ran.
 * Invariant: results has one entry for each run of `sampling`, in that order. */
typedef struct vs_ranks {
  bool was_made;
  bool was_interrupted; /* not all that had to run did */
  const char *why;      /* no rank but the first ran, or not all that had to; NULL: all did */
  uint32_t irregular;   /* process groups without a regular pattern, which tell nothing */
  vs_sampling sampling;
  VS_VEC(vs_rank_result) results;
} vs_ranks;

/* Invariant: needs[0 .. need_count) are those of the cards that were used, by rising number; need_count is 0 exactly with
 * VS_VERDICT_NO_CUDA. With several ranks the needs, the verdict and the exit
 * status are the worst of those that ran. The pointers are borrowed. */
typedef struct vs_outcome {
  const vs_dryrun_setup *setup;
  const vs_launch *launch;
  const vs_result *result;
  vs_verdict verdict;
  int exit_code, signal;              /* as vs_launch_exit and vs_launch_signal */
  uint32_t cards[VS_SIM_MAX_DEVICES]; /* the number of the card of each need */
  vs_fit_need needs[VS_SIM_MAX_DEVICES];
  uint32_t need_count;
  vs_fit_table fits;
  vs_json
      history; /* the engine's answers about the snapshot of the main process (history.h); absent if there is none */
  vs_search search;
  vs_ranks ranks;
} vs_outcome;

/* "fits" ... */
const char *vs_verdict_word(vs_verdict verdict);

/* Whether the command got a signal to end, in this run or in one of those that the plan wants after it. */
bool vs_outcome_was_interrupted(const vs_outcome *outcome);

/* One of VS_DRYRUN_EXIT. An interrupted run proves nothing, whatever the program made of the signal. */
int vs_outcome_answer(const vs_outcome *outcome);

/* Sets the needs, the verdict and the exit status from the launch and the result. */
void vs_outcome_judge(vs_outcome *outcome);

/* The number of the used card that the program needs most of; card_count of the result if none was used. */
uint32_t vs_outcome_busiest(const vs_outcome *outcome);

/* The entry about a card, by the number that the main process gives it ("device"), in a list of the history; absent if there is none. */
vs_json vs_outcome_entry_of(const vs_outcome *outcome, vs_json list, uint32_t card);

/* The least memory to spare of the cards that the program used; negative: what is missing. INT64_MAX if none was used. */
int64_t vs_outcome_headroom(const vs_outcome *outcome);

#endif
