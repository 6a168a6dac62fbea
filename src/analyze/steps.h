/* The steps of a training loop.
 *
 *   step       from one boundary event to the next. What comes before the first and after the last boundary is no step
 *   boundary   the first event of a step
 * Boundaries come from annotations (one per ProfilerStep#N, else per Optimizer.step#...), else from a pattern: an
 * allocation (stack and size) that comes back at least four times at nearly equal distances. */
#ifndef VS_ANALYZE_STEPS_H
#define VS_ANALYZE_STEPS_H

#include "analyze/slice.h"

typedef enum vs_steps_source { VS_STEPS_NONE, VS_STEPS_ANNOTATIONS, VS_STEPS_PATTERN } vs_steps_source;
const char *vs_steps_source_name(vs_steps_source source); /* "none", "annotations", "pattern" */

typedef struct vs_steps {
  vs_steps_source source;
  uint32_t anchor;      /* string id of the first annotation, or the stack id of the anchor allocation */
  uint64_t anchor_size; /* bytes of the anchor allocation; 0 for annotations */
  VS_VEC(uint32_t) boundaries; /* events, rising; n boundaries make n - 1 steps */
} vs_steps;

VS_MUST_CHECK vs_status vs_steps_build(const vs_host *host, const vs_slice *slice, vs_steps *out);
void vs_steps_deinit(const vs_host *host, vs_steps *steps);

#endif
