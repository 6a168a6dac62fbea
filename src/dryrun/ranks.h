/* The ranks of a world that differ, found by further runs: sampling.h chooses them, from the process groups of rank 0. */
#ifndef VS_DRYRUN_RANKS_H
#define VS_DRYRUN_RANKS_H

#include "dryrun/outcome.h"

/* Runs ranks and sets outcome->ranks. `outcome` is that of rank 0, judged; its needs, verdict and exit status become the worst of
 * all ranks that ran. Fails: VS_NO_MEMORY */
VS_MUST_CHECK vs_status vs_ranks_run(vs_outcome *outcome);
void vs_ranks_deinit(vs_ranks *ranks);

#endif
