/* The processes of one run: they are started with the simulated CUDA loaded, watched, and share a machine with this process.
 *
 * Invariant: children[0 .. child_count) were started; none of them runs after vs_launch_run has returned. */
#ifndef VS_DRYRUN_LAUNCH_H
#define VS_DRYRUN_LAUNCH_H

#include "device/sim/share.h"
#include "dryrun/setup.h"
#include "os/child.h"
#include "os/shared.h"
#include "rendezvous/server.h"

typedef struct vs_launch {
  vs_folder folder; /* the processes write their files here */
  vs_shared shared; /* holds the lock and the machine */
  vs_sim_machine *machine;
  vs_store_server *store;
  vs_child children[VS_SIM_MAX_PROCESSES];
  size_t child_count;
  uint64_t began_us, took_us;
  bool is_repeatable;   /* addresses and Python's hash seed are fixed */
  bool was_interrupted; /* this process received a signal that asks it to end */
  /* Since the start: when the processes were asked to end, as the plan's `until` wants; 0: they were not. */
  uint64_t ended_us;
  int start_exit; /* 127 or 126: a program could not be started; else 0 */
} vs_launch;

typedef enum vs_launch_kind {
  VS_LAUNCH_SHOWN,  /* the program's output is the user's, the history is recorded */
  VS_LAUNCH_SILENT, /* its output is dropped, and only the figures are wanted */
  VS_LAUNCH_KEPT, /* the same, but the output of each process is a file in the folder (vs_launch_output_path) */
  VS_LAUNCH_RECORDED, /* that, and the history is recorded */
} vs_launch_kind;

/* Starts the processes of the setup on these cards instead of its own, and waits until they have ended. The caller closes
 * the launch after a failure too; then it has no figures. */
VS_MUST_CHECK vs_status vs_launch_run(vs_launch *launch, const vs_dryrun_setup *setup, const vs_sim_gpu *gpus,
                                      vs_launch_kind kind, vs_error *error);
void vs_launch_close(vs_launch *launch);

/* Sets `name` to `folder`, or where LD_PRELOAD and PYTHONPATH cannot hold its name to a link to it in `links`, a temporary folder, which
 * is called `link`. Fails: VS_UNSUPPORTED (they cannot hold that name either), VS_IO */
VS_MUST_CHECK vs_status vs_launch_name_plainly(const char *folder, const vs_folder *links, const char *link,
                                               char name[VS_FOLDER_PATH], vs_error *error);

/* Appends `first`, and behind a colon what the variable of this process has, if anything; ends the text with a 0. */
void vs_launch_put_first(vs_text *list, const char *first, const char *variable);

/* The file with the output of a process that VS_LAUNCH_KEPT started. */
void vs_launch_output_path(const vs_launch *launch, size_t child, char *path, size_t capacity);

/* The number of the process that decides the exit status: the first one that failed. child_count if none did, or if the processes were
 * ended because the plan wants it. */
size_t vs_launch_decisive(const vs_launch *launch);
/* The exit status of a command that runs them: that of the first process that failed, 128 + N if signal N ended it; else 0, as where
 * the processes were ended because the plan wants it. */
int vs_launch_exit(const vs_launch *launch);
/* The signal that ended the process which decides vs_launch_exit; 0 if none did. */
int vs_launch_signal(const vs_launch *launch);

#endif
