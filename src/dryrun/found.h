/* What a search for changes found: its runs, and the answer. */
#ifndef VS_DRYRUN_FOUND_H
#define VS_DRYRUN_FOUND_H

#include "dryrun/cheapest.h"
#include "dryrun/trials.h"

/* How a search ended. */
typedef enum vs_found_end {
  VS_FOUND_FITS,      /* it fits as it is */
  VS_FOUND_SET,       /* it fits with the set of the answer */
  VS_FOUND_NONE,      /* no set that ran is enough */
  VS_FOUND_TOO_LARGE, /* the program ran out of memory on a card of many times the size */
  VS_FOUND_FAILED,    /* it failed as it is, but not for lack of memory */
  VS_FOUND_NO_CUDA,
  VS_FOUND_INTERRUPTED,
  VS_FOUND_NOT_STARTED,
} vs_found_end;

enum { VS_FOUND_RUNS = 64, VS_FOUND_RUNS_DEFAULT = 24 };

typedef struct vs_found_run {
  vs_change_set set; /* bit i: attempt i of changes.def, without those that the program did not let apply */
  uint64_t first;    /* so many blocks are checkpointed at most; 0: all that the attempt says */
  bool has_value;
  uint32_t parameter; /* with has_value */
  uint64_t value;     /* of the parameter */
  bool is_roomy;
  vs_trial trial;
} vs_found_run;

/* The largest value of the parameter with which the program fits. */
typedef struct vs_found_value {
  bool was_made, is_found;
  uint64_t value;
  vs_change_set set;       /* with these changes */
  const vs_found_run *run; /* with is_found */
} vs_found_value;

typedef struct vs_found {
  char settings[VS_REPLAYED_SETTINGS]; /* of the allocator's attempt; "": those of its row */
  vs_found_run runs[VS_FOUND_RUNS];    /* those that ended */
  size_t count;
  vs_found_end end;
  vs_change_set set;         /* with VS_FOUND_SET the answer; with VS_FOUND_NONE the set that needs least */
  uint64_t first;            /* of that set */
  uint64_t blocks;           /* that it checkpoints with all blocks; 0: it checkpoints none */
  const vs_found_run *proof; /* the run on the card itself; NULL: there is none */
  bool
      is_engine; /* an engine for inference, which takes what the card gives: it starts there, or it does not */
  bool is_cut;   /* there were no runs left to prove that no cheaper set fits */
  vs_found_value parameters[VS_DRYRUN_MOST_PARAMETERS]; /* as in vs_trials */
} vs_found;

static inline bool vs_found_has(vs_change_set set, size_t attempt) { return (set >> attempt & 1) != 0; }

static inline bool vs_found_is_checkpoint(size_t attempt) {
  return vs_attempt_of(attempt)->change == VS_CHANGE_checkpoint;
}

/* The run of that set on the roomy card, with the command's own parameter; NULL: there is none of which it is known that the changes were
 * applied. */
const vs_found_run *vs_found_run_of(const vs_found *found, vs_change_set set, uint64_t first);

/* Appends the text of the fit.json of a set. */
void vs_found_put_changes(vs_text *text, const vs_found *found, vs_change_set set, uint64_t first);

#endif
