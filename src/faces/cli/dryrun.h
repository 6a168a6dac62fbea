/* The report of a dry run as text, made from the reply alone. */
#ifndef VS_CLI_DRYRUN_H
#define VS_CLI_DRYRUN_H

#include "faces/cli/cli.h"

void vs_dryrun_put_report(vs_cli *cli, vs_json reply);

#endif
