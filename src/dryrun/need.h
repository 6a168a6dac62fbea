/* What a run needed: of each card, and for its model. */
#ifndef VS_DRYRUN_NEED_H
#define VS_DRYRUN_NEED_H

#include "dryrun/fit.h"
#include "dryrun/result.h"

/* The model of the process `main`, as it was found there: {"parameters", "parameter_bytes", ...} of docs/formats/dryrun.md;
 * unknown where none was found. */
vs_json vs_need_model(const vs_result *result);

/* What training all of that model takes for weights, gradients and the two moments of Adam, in the types that were
 * seen: before the first activation. 0 where it is not known to be trained so, or not all of it is on one card. */
uint64_t vs_need_training_bytes(const vs_result *result);

/* What the run needed of card `card`. */
vs_fit_need vs_need_of(const vs_result *result, uint32_t card, bool is_context_given);

#endif
