/* "oom" of several files, one for each rank of a job: which ran out of memory, and the post-mortem of the first one. */
#ifndef VS_CLI_OOM_RANKS_H
#define VS_CLI_OOM_RANKS_H

#include "faces/cli/cli.h"

VS_MUST_CHECK vs_exit vs_cli_oom_ranks(vs_cli *cli);

#endif
