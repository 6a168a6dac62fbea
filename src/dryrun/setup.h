/* A checked plan with the details derived from it: the machine, the processes to start, the place of the simulated CUDA.
 *
 * Invariant (vs_dryrun_setup_check): 1 <= gpu_count <= VS_SIM_MAX_DEVICES; job.processes is 1 or job.world_size;
 * job.devices = gpu_count; without has_job there is one process in a world of one; the plan has a command. */
#ifndef VS_DRYRUN_SETUP_H
#define VS_DRYRUN_SETUP_H

#include "device/sim/machine.h"
#include "device/sim/values.h"
#include "dryrun/changed.h"
#include "dryrun/libraries.h"
#include "dryrun/until.h"
#include "os/child.h"
#include "rendezvous/job.h"
#include <vramscope/dryrun.h>

typedef struct vs_dryrun_setup {
  const vs_host *host;
  const vs_dryrun_plan *plan; /* borrowed */
  vs_dryrun_watch watch;
  const char *gpu_text, *values; /* from the plan, the environment, or the defaults */
  vs_given_values given;         /* `values`, parsed */
  vs_sim_gpu gpus[VS_SIM_MAX_DEVICES];
  uint32_t gpu_count;
  bool has_job; /* the processes are ranks of `job` */
  vs_job job;   /* job.processes is how many are started */
  vs_simulated simulated;
  vs_until until;
  const char
      *recorder; /* the folder of the recorder, which is loaded before all others; NULL: it is not loaded */
  /* Changes to the environment of the processes, beside those of the plan. Borrowed. */
  const vs_child_variable *variables;
  size_t variable_count;
  bool is_snapshot_optional; /* no word where the plan wants one and there is no history */
  bool asks_settings;        /* the history is replayed under other settings of the allocator, too */
  /* The folder of the run of rank 0, in which other ranks of its world find what it left for them
   * (python/vramscope_dryrun/vramscope_pipeline.py); NULL: rank 0 did not run before. Borrowed. */
  const char *rank_0;
  vs_changed changed; /* the plan's `with` */
} vs_dryrun_setup;

/* Whether the plan has a program, and options that can be given together. Fails: VS_BAD_ARGUMENT, with a sentence */
VS_MUST_CHECK vs_status vs_dryrun_plan_check(const vs_dryrun_plan *plan, vs_error *error);

/* Fails: VS_BAD_ARGUMENT, VS_IO (the simulated CUDA is missing), each with a sentence */
VS_MUST_CHECK vs_status vs_dryrun_setup_init(vs_dryrun_setup *setup, const vs_host *host,
                                             const vs_dryrun_plan *plan, const vs_dryrun_watch *watch,
                                             vs_error *error);

/* Executes the invariant. */
bool vs_dryrun_setup_check(const vs_dryrun_setup *setup);

/* ---- messages to the plan's watcher */

static inline void vs_dryrun_show(const vs_dryrun_setup *setup, const vs_dryrun_progress *progress) {
  if (setup->watch.progress != NULL) setup->watch.progress(setup->watch.ctx, progress);
}

static inline void vs_dryrun_show_end(const vs_dryrun_setup *setup) {
  vs_dryrun_show(setup, &(vs_dryrun_progress){.stage = VS_DRYRUN_PAUSED});
}

static inline void vs_dryrun_say(const vs_dryrun_setup *setup, const char *subject, const vs_error *error) {
  if (setup->watch.say != NULL) setup->watch.say(setup->watch.ctx, vs_str_from(subject), error);
}

#endif
