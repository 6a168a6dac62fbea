/* Adds the lines of the forward pass to stacks of the backward pass.
 *
 * Autograd's threads run no Python, so the recorded stack of an allocation in the backward pass contains no line of the
 * program. In anomaly mode (torch.autograd.set_detect_anomaly, PyTorch 2.11 and newer) PyTorch also records, as the
 * lines of a traceback, where the forward pass created the node of the graph that is running: `forward_frames`. After
 * reading, the stacks of such events, segments and blocks are replaced by joined ones: the recorded frames, a border,
 * then, as their callers, the frames that these lines name. So code that attributes an allocation by its stack finds
 * the line, and the border says that the line itself ran earlier.
 *
 * Invariants (vs_snapshot_check executes them)
 *   - stacks from `first_stack` on are joined: recorded[i] < first_stack is the recorded stack of stack first_stack + i
 *   - only joined stacks have frames with `is_forward`, after the recorded ones: the border, then at least one with a
 *   line
 * Writers write the recorded stacks. */
#ifndef VS_SNAPSHOT_FORWARD_H
#define VS_SNAPSHOT_FORWARD_H

#include "base/text.h"

/* The function of the border, which has no file and line 0. */
#define VS_FORWARD_BORDER "backward pass"

struct vs_snapshot;

typedef struct vs_forward {
  uint32_t first_stack;      /* meaningful if recorded.count > 0 */
  VS_VEC(uint32_t) recorded; /* stack ids */
} vs_forward;

/* One frame of a traceback as Python prints it: `File "model.py", line 12, in forward`; the function may be missing.
 * The texts are parts of `line`. False if `line` is something else: a line of source text, marks below it. */
bool vs_traceback_line(vs_str line, vs_str *file, int64_t *number, vs_str *function);

/* Joins the stacks of a snapshot that was just read. Call it once. */
VS_MUST_CHECK vs_status vs_forward_join(struct vs_snapshot *snapshot);

#endif
