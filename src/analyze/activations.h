/* Activations: what the forward pass allocates and the backward pass frees. They scale with the batch.
 *
 * A line of the forward pass allocates activations if more than half of the bytes that it allocated, and that were freed before
 * `event`, were freed in a backward pass: between two allocations of the backward pass. So a recording needs stacks, and one
 * backward pass before `event`: in the first forward pass nothing shows which blocks a backward pass would have freed. */
#ifndef VS_ANALYZE_ACTIVATIONS_H
#define VS_ANALYZE_ACTIVATIONS_H

#include "analyze/groups.h"

typedef struct vs_activations {
  VS_VEC(uint64_t) rows;   /* one bit for each row of lifetimes: allocations of such lines */
  VS_VEC(uint64_t) events; /* one bit for each event: failed requests of such lines */
  VS_VEC(vs_group) lines;  /* what is live after `event`, by line: most bytes first */
  uint64_t live_bytes;     /* of these lines */
  bool has_backward;       /* there is an allocation of a backward pass before `event` */
} vs_activations;

VS_MUST_CHECK vs_status vs_activations_build(const vs_host *host, const vs_lifetimes *lifetimes,
                                             vs_frames *frames, uint32_t event, vs_activations *out);
void vs_activations_deinit(const vs_host *host, vs_activations *activations);

#endif
