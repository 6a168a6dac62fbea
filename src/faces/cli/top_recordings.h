/* What `top` shows of the recordings of processes. A recording is read again only after twenty times the time that reading took, so that a
 * large one costs at most a twentieth of a processor; what the process tells in memory (recorded_figures.h) is read each time; while `top` stays, one of more than VS_TOP_MOST_RECORDING bytes is not read. */
#ifndef VS_CLI_TOP_RECORDINGS_H
#define VS_CLI_TOP_RECORDINGS_H

#include "faces/tui/sample.h"

#define VS_TOP_MOST_RECORDING (UINT64_C(256) << 20)

/* One in a process, which lives as long as that. `is_repeated`: more than one sample is taken. `has_growth`: growth_per_step is wanted, which takes
 * longer. */
const vs_top_recordings *vs_top_recordings_begin(const vs_host *host, bool is_repeated, bool has_growth);

#endif
