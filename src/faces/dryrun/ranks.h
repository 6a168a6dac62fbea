/* The ranks of a world in the report of a dry run. */
#ifndef VS_FACES_DRYRUN_RANKS_H
#define VS_FACES_DRYRUN_RANKS_H

#include "faces/dryrun/sheet.h"

/* "at most 41.20 GiB of 79.18 GiB, on rank 48", appended to the line: of the ranks that ran. */
void vs_dryrun_put_most(vs_sheet *p);

/* How many ran, what is assumed of the others, and a table of those that differ. Nothing if the reply has no ranks. */
void vs_dryrun_put_ranks(vs_sheet *p);

#endif
