/* Activation checkpointing of functions of a recorded program, as torch.utils.checkpoint(use_reentrant=False) does it: what a call
 * saves for the backward pass is freed at its end and computed again when its backward pass begins.
 *
 * Of the blocks that a call (function_calls.h) allocates and that are live behind it, the ones that the backward pass frees are
 * saved, but for the call's result. The backward pass frees a block if the allocation before its free is of that pass. The result
 * is what the caller holds: the first block that the backward pass frees, as the code behind the call is done first; or, where a
 * block that the backward pass does not free was allocated behind all the other saved ones, that block. Other blocks stay: caches,
 * parameters, what the program holds.
 *
 *   at the end of the call     saved blocks are freed. A real call frees each when its last use in the forward pass is over, so
 *                              within the call less may be allocated; computing it again needs as much
 *   the arguments              blocks from before the call that are freed during it, or right behind it, are taken for its
 *                              arguments, which a checkpoint keeps: they are freed behind the call's backward pass. Where
 *                              there are none: the newest block of the result's size that is live, of the 64 allocations
 *                              before the call, if the program frees it before that pass
 *   its backward pass begins   before the first allocation behind the last free, by the backward pass, of a block of the forward
 *                              pass that is not of this call, and before the first free of a block that is. There the call's
 *                              allocations come again, with their frees, in the recorded order. As PyTorch stops when the last
 *                              saved tensor is there (early_stop), so do they, at the last saved block; what is not saved is
 *                              freed then
 *   a saved result             where the last operation saves its own result (ReLU, tanh), the call's result is computed again, too.
 *                              It is assumed where, in every call with that result, the backward pass allocates one or two
 *                              blocks of its size right before it frees it (more are those of a norm that is written out,
 *                              behind the call), and frees no other block of the forward pass between that and the first
 *                              saved one
 *   then                       saved blocks are freed where they were freed in the recording
 *
 * Calls whose backward pass is not recorded (the trace ends, or a request fails): blocks that are never freed, or only behind the
 * last failed request, count as saved where most blocks of the same stack within the function were. They are freed at the end of
 * the call and do not come again, except those of the call whose backward pass a failed request of that pass comes before or in: it
 * is the last call, and none of its saved blocks was freed yet. Of a call that may not have ended nothing changes.
 *
 * Not modelled: results that are no block of the call (x += f(x)); several backward passes over one forward pass; caches that
 * the function fills (weights cast by autocast are freed with the rest); workspaces, which stay.
 *
 * All functions are checkpointed at once. */
#ifndef VS_ANALYZE_CHECKPOINT_H
#define VS_ANALYZE_CHECKPOINT_H

#include "analyze/function_calls.h"

/* A request that the program makes in addition. */
typedef struct vs_checkpoint_insert {
  uint32_t before; /* request of the plan; its count: at the end */
  uint32_t row;    /* of lifetimes: the block, or the one that this is a copy of */
  vs_replay_request
      request; /* `steps` is unset; lifetime >= rows of lifetimes: a block that is computed again beside its original */
} vs_checkpoint_insert;

/* What becomes of the calls of one function. */
typedef struct vs_checkpointed {
  uint64_t calls;
  uint64_t recomputed;    /* of these, calls that are computed again */
  uint64_t blocks, bytes; /* saved, requested bytes, of all calls */
  uint64_t most_bytes;    /* the most that is live of them at one time, as recorded */
} vs_checkpointed;

/* Invariant: inserts rise by `before`, each > 0. */
typedef struct vs_checkpoint {
  VS_VEC(vs_checkpoint_insert) inserts;
  VS_VEC(uint64_t) saved;            /* one bit for each row of lifetimes */
  VS_VEC(uint64_t) moved;            /* likewise: its own free is not made; an insert frees it, or nothing */
  VS_VEC(vs_checkpointed) functions; /* in the order of the texts */
  uint64_t told[VS_CALLS_TOLDS];     /* as in vs_function_calls */
  uint32_t copies;                   /* lifetimes of inserts are below the rows of lifetimes + copies */
} vs_checkpoint;

/* Fails: as vs_function_calls_find */
VS_MUST_CHECK vs_status vs_checkpoint_build(const vs_host *host, const vs_replay_plan *plan,
                                            vs_frames *frames, const vs_str *functions, size_t count,
                                            vs_error *error, vs_checkpoint *out);
void vs_checkpoint_deinit(const vs_host *host, vs_checkpoint *checkpoint);

#endif
