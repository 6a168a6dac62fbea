/* The end of a dry run's report: on which cards it fits, and what the simulation could not know. */
#ifndef VS_FACES_DRYRUN_LIMITS_H
#define VS_FACES_DRYRUN_LIMITS_H

#include "faces/dryrun/sheet.h"

void vs_dryrun_put_search(vs_sheet *p);
void vs_dryrun_put_doubts(vs_sheet *p);
void vs_dryrun_put_cards(vs_sheet *p);

#endif
