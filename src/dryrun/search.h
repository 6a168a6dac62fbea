/* The smallest cards on which the program runs, by running it again, silently, with less and less memory. */
#ifndef VS_DRYRUN_SEARCH_H
#define VS_DRYRUN_SEARCH_H

#include "dryrun/outcome.h"

/* `first` is the run that was reported, as far as it is known: all but its search. */
vs_search vs_search_run(const vs_outcome *first);

#endif
