/* The output of a run that failed. */
#ifndef VS_DRYRUN_OUTPUT_TAIL_H
#define VS_DRYRUN_OUTPUT_TAIL_H

#include "dryrun/launch.h"

enum { VS_OUTPUT_TAIL = 8192 };

/* The last whole lines, at most 4 KiB, of what the process printed that decides the exit status, in `tail`; empty if none failed. Of a launch that
 * kept the output. */
vs_str vs_output_tail(const vs_launch *launch, char tail[VS_OUTPUT_TAIL]);

#endif
