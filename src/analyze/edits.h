/* Changes of a recorded program: the requests that its allocator would have received.
 *
 *   kind         what becomes of the allocations that it names
 *   WITHOUT      they are not made
 *   SCALE        each requests `factor` times its bytes, at least one
 *   FREE_EARLY   each is freed before the next request: no program can free it earlier, so what this saves is an upper bound
 *   FREE         those that are live when the last failed request of the trace comes are freed right before it
 *   EMPTY_CACHE  names none: torch.cuda.empty_cache() is called right before that request, behind the frees
 *   CHECKPOINT   names those that calls of a function save for the backward pass: checkpoint.h; one of a list at most
 *
 * Blocks that were allocated before the trace are freed before its first request: their segments are there, so the peak of
 * a run counts what was reserved at the start. All edits of a list apply at once: factors are multiplied, and an allocation
 * that one edit leaves out is not made, whatever the others say.
 *
 * The result is in the plan's order, and its `steps` rise as the plan's do. It is for runs that do not follow the recording. */
#ifndef VS_ANALYZE_EDITS_H
#define VS_ANALYZE_EDITS_H

#include "analyze/checkpoint.h"

typedef enum vs_edit_kind {
  VS_EDIT_WITHOUT,
  VS_EDIT_SCALE,
  VS_EDIT_FREE_EARLY,
  VS_EDIT_FREE,
  VS_EDIT_EMPTY_CACHE,
  VS_EDIT_CHECKPOINT,
} vs_edit_kind;

/* Borrows the bits and the checkpoint. */
typedef struct vs_edit {
  vs_edit_kind kind;
  const uint64_t *rows;   /* one bit for each row of lifetimes: the allocations it names; NULL: none */
  const uint64_t *events; /* one bit for each event: the failed requests it names; NULL: none */
  double factor;          /* SCALE: > 0 and finite */
  const vs_checkpoint *checkpoint; /* CHECKPOINT: its saved blocks are the rows */
} vs_edit;

/* The requests of the changed program, and what the edits named. */
typedef struct vs_edited {
  vs_replay_requests requests;
  VS_VEC(uint32_t) causes; /* by request, as in vs_replay_options; empty without a checkpoint */
  uint64_t allocs;         /* allocations that an edit changes, those of the start among them */
  uint64_t bytes;          /* their requested bytes, as recorded */
  uint64_t start_allocs;   /* of these, blocks from before the trace */
  uint32_t copies;         /* blocks that the requests name behind the rows of lifetimes */
} vs_edited;

/* Fails: VS_NO_MEMORY */
VS_MUST_CHECK vs_status vs_edits_apply(const vs_host *host, const vs_replay_plan *plan, const vs_edit *edits,
                                       size_t count, vs_edited *out);
void vs_edited_deinit(const vs_host *host, vs_edited *edited);

#endif
