/* The options of "diff" that both of its forms take. */
#ifndef VS_CLI_DIFF_OPTIONS_H
#define VS_CLI_DIFF_OPTIONS_H

#include "diff/rows.h"
#include "faces/cli/cli.h"

/* The moment of one side: of "peak,end" the first or the second part, else all of it. NULL: not given. Borrowed from the command line or
 * `scratch`. */
const char *vs_diff_moment_of(const vs_cli *cli, vs_text *scratch, unsigned side);

vs_diff_by vs_diff_by_of(const vs_cli *cli);

#endif
