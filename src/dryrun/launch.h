/* The processes of one run: started with the simulated CUDA in them, watched, and what they share with us.
 *
 * Invariant: children[0 .. child_count) were started; after vs_launch_begin returned none of them runs. */
#ifndef VS_DRYRUN_LAUNCH_H
#define VS_DRYRUN_LAUNCH_H

#include "device/sim/share.h"
#include "dryrun/setup.h"
#include "os/child.h"
#include "os/shared.h"
#include "rendezvous/server.h"

typedef struct vs_launch {
  vs_folder folder; /* what the processes leave behind */
  vs_shared shared; /* the machine */
  vs_sim_machine *machine;
  vs_store_server *store;
  vs_child children[VS_SIM_MAX_PROCESSES];
  size_t child_count;
  uint64_t began_us, took_us;
  bool was_interrupted; /* this process was asked to end */
  int start_exit;       /* 127 or 126: a program could not be started; else 0 */
} vs_launch;

typedef enum vs_launch_kind {
  VS_LAUNCH_SHOWN,  /* the program's output is the user's, the history is recorded */
  VS_LAUNCH_SILENT, /* its output is dropped, and only the figures are wanted */
} vs_launch_kind;

/* Starts the processes of the setup with these cards in place of its own, and waits until they have ended. To be closed
 * whatever comes back. After a failure no figure is there. */
VS_MUST_CHECK vs_status vs_launch_run(vs_launch *launch, const vs_dryrun_setup *setup, const vs_sim_gpu *gpus,
                                      vs_launch_kind kind, vs_error *error);
void vs_launch_close(vs_launch *launch);

/* What a command that stands for them returns: of the first that is not 0, 128 + N for signal N. */
int vs_launch_exit(const vs_launch *launch);
/* The signal that ended the one which decides vs_launch_exit, 0 if none did. */
int vs_launch_signal(const vs_launch *launch);

#endif
