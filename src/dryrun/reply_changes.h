/* The reply about a search for changes (docs/formats/fit.md). Its runs are written by trials.h while they are made.
 *
 *   vs_reply_changes_begin(trials);
 *   vs_trial_make(trials, ...) ...
 *   vs_reply_changes_end(trials, found); */
#ifndef VS_DRYRUN_REPLY_CHANGES_H
#define VS_DRYRUN_REPLY_CHANGES_H

#include "dryrun/found.h"

void vs_reply_changes_begin(vs_trials *trials);
void vs_reply_changes_end(vs_trials *trials, const vs_found *found);

#endif
