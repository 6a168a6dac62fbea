/* The demo: a synthetic training run on a simulated GPU, through the allocator as a program would use it.
 *
 *   demo_training.c  the program that runs: what it allocates and frees, and where in its source
 *   demo.c           the command: runs it, runs it again with other settings, reports on the recording */
#ifndef VS_CLI_DEMO_H
#define VS_CLI_DEMO_H

#include "base/text.h"
#include <vramscope/live.h>

typedef struct vs_demo_plan {
  const char *gpus;      /* as --gpu takes them; the first card is used */
  const char *settings;  /* of the allocator */
  const char *recording; /* path of the .vram to write, NULL: none */
  bool may_replace;
  uint64_t steps;
  uint64_t
      seed; /* of the lengths of the batches; with 1 the small GPT runs out of 8 GiB in its twelfth step */
} vs_demo_plan;

typedef struct vs_demo_outcome {
  uint64_t steps; /* that were done */
  bool ran_out;   /* of memory, in the step after those */
  vs_live_device_info card;
  vs_live_memory memory; /* at the end */
  vs_live_oom oom;       /* where it ran out */
  uint64_t largest_step; /* bytes: the most that one step had on top of what it found */
  int64_t took_us;       /* by the synthetic clock of the run */
} vs_demo_outcome;

/* Runs until the last step or the first allocation that fails. Equal plans have equal outcomes and write equal files.
 * Fails with a sentence: as vs_live_open, VS_NO_MEMORY, VS_IO (the recording) */
VS_MUST_CHECK vs_status vs_demo_train(const vs_demo_plan *plan, vs_demo_outcome *outcome, vs_error *error);

#endif
