/* What follows from the processes of a result when all of them are known. */
#ifndef VS_DRYRUN_SUMS_H
#define VS_DRYRUN_SUMS_H

#include "dryrun/result.h"

/* The cards, the process to look into, and the doubts: those about histories added, all in order. Once, at the end.
 * Fails: VS_NO_MEMORY */
VS_MUST_CHECK vs_status vs_sums_make(vs_result *result);

#endif
