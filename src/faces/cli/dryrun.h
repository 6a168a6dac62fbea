/* A dry run: the plan that the command line makes, its launch, and what is said of it.
 *
 *   dryrun.c         the command: plan, launch, report
 *   dryrun_launch.c  the node, the environment, the processes, the line that shows how far they are
 *   result.h         what they left behind; fit.h: which cards would do
 *   dryrun_report.c  the report as text
 *   dryrun_json.c    and as JSON
 *   dryrun_search.c  --find-smallest */
#ifndef VS_CLI_DRYRUN_H
#define VS_CLI_DRYRUN_H

#include "device/sim/share.h"
#include "faces/cli/cli.h"
#include "faces/cli/result.h"
#include "faces/cli/simulated.h"
#include "rendezvous/server.h"
#include "os/child.h"
#include "os/shared.h"

typedef struct vs_dryrun {
  vs_cli *cli;
  const char *gpu_text; /* of --gpu */
  vs_sim_gpu gpus[VS_SIM_MAX_DEVICES];
  uint32_t gpu_count;
  bool has_job; /* the processes are ranks of `job` */
  vs_job job;   /* job.processes is how many are started, 1 without a job */
  bool has_history;
  vs_simulated simulated;
} vs_dryrun;

/* ---- launch */

typedef struct vs_launch {
  vs_folder folder; /* what the processes leave behind */
  vs_shared shared; /* the node */
  vs_sim_node *node;
  vs_store_server *store;
  vs_child children[VS_SIM_MAX_PROCESSES];
  size_t child_count;
  uint64_t began_us, took_us;
  bool was_interrupted; /* somebody wanted it to end */
} vs_launch;

typedef enum vs_launch_kind {
  VS_LAUNCH_SHOWN,  /* the program's output is the user's, the history is recorded */
  VS_LAUNCH_SILENT, /* nobody sees it, and only the figures are wanted */
} vs_launch_kind;

/* Starts the processes and waits until they have ended. Failures are said. What was launched is to be closed
 * whatever comes back. VS_EXIT_OK: it ran; else nothing did, and program_exit tells what to return where that
 * is not the code. */
VS_MUST_CHECK vs_exit vs_dryrun_launch(vs_dryrun *plan, vs_launch_kind kind, vs_launch *launch);
void vs_launch_close(vs_launch *launch);

/* What to return for them: the first that is not 0, 128 + N for signal N. */
int vs_launch_exit(const vs_launch *launch);
/* The signal that ended the one which decides vs_launch_exit, 0 if none did. */
int vs_launch_signal(const vs_launch *launch);

/* Puts together what it left behind. */
VS_MUST_CHECK vs_exit vs_launch_result(const vs_dryrun *plan, const vs_launch *launch, vs_result *result);

/* ---- what came of it */

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
  uint64_t smallest_bytes; /* total of each card; known to 1 %, and as much when it is shown rounded up */
  char gpu[256];           /* the value for --gpu with which it fits: "H100:6.47GiB" */
  uint32_t runs;           /* beside the first */
} vs_search;

/* All that the report is made of. */
typedef struct vs_outcome {
  const vs_dryrun *plan;
  const vs_launch *launch;
  const vs_result *result;
  vs_verdict verdict;
  vs_fit_need needs[VS_SIM_MAX_DEVICES]; /* of the cards that were used */
  uint32_t need_count;
  vs_fit_table fits;
  vs_json report; /* the engine's, of the main process' snapshot; absent where there is none */
  vs_search search;
} vs_outcome;

/* Finds the smallest cards by further runs. */
vs_search vs_dryrun_search(vs_dryrun *plan, const vs_outcome *first);

void vs_dryrun_put_report(vs_cli *cli, const vs_outcome *outcome);
void vs_dryrun_put_json(vs_cli *cli, const vs_outcome *outcome);

/* ---- the progress line: drawn at the bottom of the terminal behind standard error, which the programs'
 * output scrolls above it (bottom.h) */

#endif
