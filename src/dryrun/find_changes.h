/* The search for changes: runs the program, silently, with one set of changes after the other, until the cheapest with which it fits is
 * proven by a run on the card that it shall fit in. */
#ifndef VS_DRYRUN_FIND_CHANGES_H
#define VS_DRYRUN_FIND_CHANGES_H

#include <vramscope/dryrun.h>

/* Runs a plan with `finds_changes` and writes the reply about it (docs/formats/fit.md). Where the first run cannot be started, that is a failure,
 * later it is the reason why the search ends. */
VS_MUST_CHECK vs_status vs_find_changes_run(const vs_host *host, const vs_dryrun_plan *plan,
                                            const vs_dryrun_watch *watch, vs_writer reply, vs_dryrun_end *end,
                                            vs_error *error);

#endif
