/* The steps of a training loop.
 *
 *   step       from one boundary event to the next. What comes before the first and after the last boundary is no step
 *   boundary   the first event of a step
 * Boundaries come from annotations (one per ProfilerStep#N, else per Optimizer.step#...), else from an allocation (stack and
 * size) that comes back:
 *   rounds    more often than VS_STEPS_ROUNDS_FEWEST times, and nearly all rounds between its returns make the same allocations.
 *             Of several such allocations it is the one that comes back most often, of equals the first. If it comes several
 *             times in a round, those are taken that come behind the same allocation or free, where nearly all rounds between
 *             them make the same allocations and frees
 *   pattern   at least four times at nearly equal distances
 * The steps make up at least half of the trace. They are told by what repeats, so they may also be the layers of one
 * forward pass or the parameters of a model. Therefore there are none if the callers that all allocations of a step have in
 * common include code of torch.nn's modules or torch.optim, or a constructor; and rounds are those of one function. */
#ifndef VS_ANALYZE_STEPS_H
#define VS_ANALYZE_STEPS_H

#include "analyze/frames.h"
#include "analyze/slice.h"

typedef enum vs_steps_source {
  VS_STEPS_NONE,
  VS_STEPS_ANNOTATIONS,
  VS_STEPS_ROUNDS,
  VS_STEPS_PATTERN
} vs_steps_source;
const char *vs_steps_source_name(vs_steps_source source); /* "none", "annotations", ... */

typedef struct vs_steps {
  vs_steps_source source;
  uint32_t anchor;      /* string id of the first annotation, or the stack id of the anchor allocation */
  uint64_t anchor_size; /* bytes of the anchor; 0 for annotations */
  VS_VEC(uint32_t) boundaries; /* events, rising; n boundaries make n - 1 steps */
} vs_steps;

enum { VS_STEPS_ROUNDS_FEWEST = 8 };

/* `frames` is of the slice's snapshot. */
VS_MUST_CHECK vs_status vs_steps_build(const vs_host *host, const vs_slice *slice, vs_frames *frames,
                                       vs_steps *out);
void vs_steps_deinit(const vs_host *host, vs_steps *steps);

#endif
