/* --find-largest: runs the program, silently, with one value after the other, until the largest with which it fits is proven. */
#ifndef VS_DRYRUN_FIND_LARGEST_H
#define VS_DRYRUN_FIND_LARGEST_H

#include <vramscope/dryrun.h>

/* Runs a plan with `find_largest` and writes the reply about it (docs/formats/dryrun.md). Where the first run cannot be started, that is a
 * failure, later it is the reason why the search ends. */
VS_MUST_CHECK vs_status vs_find_largest_run(const vs_host *host, const vs_dryrun_plan *plan,
                                            const vs_dryrun_watch *watch, vs_writer reply, vs_dryrun_end *end,
                                            vs_error *error);

#endif
