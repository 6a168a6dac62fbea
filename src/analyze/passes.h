/* Which pass of a training a stack is of. The backward pass runs on autograd's threads, where no line of the program is on the
 * stack: there is none at all, or only native frames of autograd, or, in anomaly mode, the lines of the forward pass behind them.
 *
 * Some of it is Python all the same: the backward of a torch.autograd.Function, operators that PyTorch dispatches to Python,
 * what torch.utils.checkpoint computes again. Such a stack begins in a library. A stack of the program begins at its module, or
 * where the interpreter starts a script or a thread. */
#ifndef VS_ANALYZE_PASSES_H
#define VS_ANALYZE_PASSES_H

#include "analyze/frames.h"

/* Refers to the frames. */
typedef struct vs_passes {
  vs_frames *frames;
  VS_VEC(uint8_t)
  of_stack; /* by stack id: 0: not determined yet, 1: of another pass, 2: of the backward pass */
} vs_passes;

VS_MUST_CHECK vs_status vs_passes_init(const vs_host *host, vs_frames *frames, vs_passes *out);
void vs_passes_deinit(const vs_host *host, vs_passes *passes);

bool vs_passes_is_backward(vs_passes *passes, uint32_t stack);

#endif
