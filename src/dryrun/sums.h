/* Completes a result once all its processes are known. */
#ifndef VS_DRYRUN_SUMS_H
#define VS_DRYRUN_SUMS_H

#include "dryrun/result.h"

/* Sums up the cards, chooses the main process, adds the doubts about histories and sorts all doubts. Called once, at the end.
 * Fails: VS_NO_MEMORY */
VS_MUST_CHECK vs_status vs_sums_make(vs_result *result);

#endif
