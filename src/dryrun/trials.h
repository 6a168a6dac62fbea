/* Runs of one program with changes (fit.json) or another value of a parameter, silently, on the card that it shall fit in, or on one that differs
 * only in having more memory, so that also the need of what does not fit is known. Each run is written into the reply.
 *
 * Invariant: all cards of the plan are alike, and have `capacity_bytes` each. */
#ifndef VS_DRYRUN_TRIALS_H
#define VS_DRYRUN_TRIALS_H

#include "codec/json_writer.h"
#include "dryrun/at_peak.h"
#include "dryrun/engine.h"
#include "dryrun/integers.h"
#include "dryrun/logits.h"
#include "dryrun/replayed.h"
#include "dryrun/vary_run.h"

/* A parameter of the command, and the values that are tried. */
typedef struct vs_trial_parameter {
  vs_vary vary; /* its axis */
  vs_integers values;
} vs_trial_parameter;

typedef struct vs_trials {
  const vs_host *host;
  const vs_dryrun_watch *watch; /* may be NULL */
  const vs_dryrun_plan *plan;   /* borrowed */
  vs_text text;                 /* the reply */
  vs_jsonw w;
  uint32_t count; /* runs that were begun */
  uint64_t capacity_bytes;
  char name[128];                                           /* of the card: "GeForce RTX 4090" */
  char roomy[64], context[32];                              /* --gpu and --context of runs with more memory */
  vs_trial_parameter parameters[VS_DRYRUN_MOST_PARAMETERS]; /* in the plan's order */
  uint32_t parameter_count;
  /* Why there are no further runs. */
  bool was_interrupted;
  vs_error why;   /* of a later run that could not be started; its text is empty if there is none */
  int start_exit; /* 127 or 126, where the first run could not be started */
  /* The run that is made. */
  vs_vary_run run;
  vs_dryrun_setup setup;
  vs_launch launch;
} vs_trials;

/* What to run. */
typedef struct vs_trial_plan {
  const char *changes; /* the text of a fit.json; NULL: none */
  const char *title;   /* of the run, for the progress: "checkpoint" */
  const char *known;   /* what is known before it, for the progress */
  uint32_t parameter;  /* with `value` */
  const char *value;   /* of the parameter; NULL: all of them are as in the command */
  bool is_roomy;
  bool has_history;     /* so that vs_trial.parts and logits are known */
  bool asks_settings;   /* with has_history: so that vs_trial.replayed is known */
  const char *snapshot; /* with has_history: copied to this file; NULL: not kept */
} vs_trial_plan;

typedef struct vs_trial {
  uint32_t number; /* in the reply */
  vs_verdict verdict;
  int exit_code;
  bool has_torch;  /* PyTorch's allocator was used */
  bool met_errors; /* of memory, though the program may have completed */
  uint64_t
      needed_bytes; /* of the card that the program needs most of; with met_errors what it used up to there */
  uint64_t least_bytes; /* the same without what PyTorch cached */
  uint64_t retries;     /* PyTorch released its cache because the card was full */
  vs_changed_sum changed;
  vs_engine_figures engine; /* with one, what it needs is not known: it takes what it is given */
  vs_at_peak parts;
  vs_logits logits;
  vs_replayed replayed;
} vs_trial;

/* Checks the plan, and begins the reply. Large, so not for a stack. *trials is NULL after a failure. Fails: VS_BAD_ARGUMENT with a sentence,
 * VS_IO, VS_NO_MEMORY */
VS_MUST_CHECK vs_status vs_trials_new(vs_trials **trials, const vs_host *host, const vs_dryrun_plan *plan,
                                      const vs_dryrun_watch *watch, vs_error *error);
void vs_trials_free(vs_trials *trials);

static inline bool vs_trials_are_ended(const vs_trials *trials) {
  return trials->was_interrupted || trials->why.text[0] != 0;
}

/* Makes a run and writes it into the reply, whose array of runs is open, unless vs_trials_are_ended then. Where the first run cannot be
 * started, that is a failure, later it is the reason why there are no more. */
VS_MUST_CHECK vs_status vs_trial_make(vs_trials *trials, const vs_trial_plan *plan, vs_trial *trial,
                                      vs_error *error);

#endif
