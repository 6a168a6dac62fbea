/* "diff" of two folders: the ranks of a job before and after, in pairs. */
#ifndef VS_CLI_DIFF_RANKS_H
#define VS_CLI_DIFF_RANKS_H

#include "faces/cli/cli.h"

VS_MUST_CHECK vs_exit vs_cli_diff_ranks(vs_cli *cli);

#endif
