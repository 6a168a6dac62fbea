/* What holds the memory of a card at the peak of a run: so what can be made smaller. */
#ifndef VS_DRYRUN_AT_PEAK_H
#define VS_DRYRUN_AT_PEAK_H

#include "changes/changes.h"
#include "codec/json_writer.h"
#include "dryrun/outcome.h"

/* Bytes of the card that the program needs most of. Their sum is the driver's peak there; PyTorch's own peak may be another moment, whose
 * blocks are divided then. */
typedef struct vs_at_peak {
  bool is_known; /* false: the run has no history of PyTorch's */
  uint64_t weights;
  uint64_t optimizer_state;
  uint64_t optimizer_step; /* temporaries of the optimizer's step */
  uint64_t backward;       /* allocated in the backward pass: gradients and temporaries */
  uint64_t forward;        /* allocated by all other lines: activations and the rest */
  uint64_t cached;         /* reserved by PyTorch, but not requested */
  uint64_t outside;        /* of the driver's peak: context, kernels, libraries */
} vs_at_peak;

/* Of an outcome with a history (history.h). */
vs_at_peak vs_at_peak_of(const vs_outcome *outcome);

/* The bits of vs_part that are too small at the peak to matter; 0 where nothing is known. */
uint32_t vs_at_peak_idle(const vs_at_peak *parts);

/* The object "at_peak" of docs/formats/fit.md; null where nothing is known. */
void vs_at_peak_put(vs_jsonw *w, const vs_at_peak *parts);

#endif
