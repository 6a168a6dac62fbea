/* The baseline of a run: its figures and what was live at its peak, by owner, in a form that is kept in git (docs/formats/baseline.md).
 *
 * Of the stacks of an inventory only the owners are left, under the names that files.h gives them, so that it contains no address, no folder
 * of a machine and no time. Each owner has a line of its own, in the order of files and lines, so that changes to different owners merge. It
 * can be compared as an inventory (side.h). */
#ifndef VS_DIFF_BASELINE_H
#define VS_DIFF_BASELINE_H

#include "codec/json_reply.h"
#include "diff/side.h"

/* Appends the baseline of an inventory. `figures`: an object whose members are put in front of the owners.
 *
 * Fails: VS_BAD_FORMAT  not an inventory; VS_NO_MEMORY. Then nothing is appended */
VS_MUST_CHECK vs_status vs_baseline_put(const vs_host *host, vs_json inventory, vs_json figures,
                                        vs_text *text, vs_error *error);

#endif
