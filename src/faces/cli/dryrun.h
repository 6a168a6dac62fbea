/* A dry run for a command: the plan of its options, and the run with its progress on the terminal. */
#ifndef VS_CLI_DRYRUN_H
#define VS_CLI_DRYRUN_H

#include "faces/cli/cli.h"
#include <vramscope/dryrun.h>

/* The plan of the options. `list` has to live as long as the plan. */
vs_dryrun_plan vs_cli_plan(const vs_cli *cli, vs_text *list);

/* Runs it and appends the reply. cli->program_exit receives the exit status of the run. A failure was printed. */
VS_MUST_CHECK vs_exit vs_cli_run_plan(vs_cli *cli, const vs_dryrun_plan *plan, vs_text *reply);

#endif
