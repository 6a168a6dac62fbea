/* Several files, one for each rank of a job: a table with a row for each. */
#ifndef VS_CLI_RANKS_H
#define VS_CLI_RANKS_H

#include "faces/cli/cli.h"

/* Reads one file after the other, and shows the table. */
VS_MUST_CHECK vs_exit vs_cli_ranks(vs_cli *cli);

#endif
