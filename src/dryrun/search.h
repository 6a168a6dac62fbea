/* Finds the smallest cards on which the program runs, by running it again, silently, with less memory. */
#ifndef VS_DRYRUN_SEARCH_H
#define VS_DRYRUN_SEARCH_H

#include "dryrun/outcome.h"

/* `first` is the run to report, complete except for its `search`. */
vs_search vs_search_run(const vs_outcome *first);

#endif
