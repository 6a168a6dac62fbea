/* Collects the results of the processes of a run: from the shared machine, and from the files in their folder. */
#ifndef VS_DRYRUN_GATHER_H
#define VS_DRYRUN_GATHER_H

#include "dryrun/result.h"

/* `pids`: the processes that were started. Files that are damaged are ignored. Owner: the caller, vs_result_deinit.
 * Fails: VS_NO_MEMORY; then there is nothing to deinit */
VS_MUST_CHECK vs_status vs_gather(vs_result *result, const vs_host *host, const vs_sim_machine *machine,
                                  const char *folder, const int64_t *pids, size_t pid_count);

/* The path of the history of a process that has one, in that folder. */
void vs_gather_history_path(char *path, size_t capacity, const char *folder,
                            const vs_result_process *process);

/* The path for recordings in that folder, to which the recorder adds the number of each process. */
void vs_gather_recording_name(char *path, size_t capacity, const char *folder);

#endif
