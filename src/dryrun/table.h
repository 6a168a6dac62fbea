/* --vary: the runs of a table, silently, one after the other. */
#ifndef VS_DRYRUN_TABLE_H
#define VS_DRYRUN_TABLE_H

#include <vramscope/dryrun.h>

/* Runs a plan with `vary` and writes the reply about all of its runs (docs/formats/dryrun.md). All runs are checked before the first one
 * begins; where the first one cannot be started, that is a failure, later it is the reason why the table ends. */
VS_MUST_CHECK vs_status vs_table_run(const vs_host *host, const vs_dryrun_plan *plan,
                                     const vs_dryrun_watch *watch, vs_writer reply, vs_dryrun_end *end,
                                     vs_error *error);

#endif
