/* Changes of a recorded program: the requests that its allocator would have received.
 *
 *   kind         what becomes of the allocations that it names
 *   WITHOUT      they are not made
 *   SCALE        each requests `factor` times its bytes, at least one
 *   FREE_EARLY   each is freed before the next request: no program can free it earlier, so what this saves is an upper bound
 *   CHECKPOINT   activation checkpointing: what a call allocates and leaves behind, but for its result, is freed when the
 *                call ends; the requests of the call are made again when the backward pass frees the first of it
 *
 * Blocks that were allocated before the trace are freed before its first request: their segments are there, so the peak of
 * a run counts what was reserved at the start. All edits of a list apply at once; an allocation that one of them leaves out
 * is out. Of several calls that CHECKPOINT could assign, the last one of the list counts.
 *
 * The result has the plan's order: between two recorded requests stand those that an edit adds. `steps` rise in it as in the
 * plan. It is for runs that do not follow the recording. */
#ifndef VS_ANALYZE_EDITS_H
#define VS_ANALYZE_EDITS_H

#include "analyze/replay.h"

typedef enum vs_edit_kind {
  VS_EDIT_WITHOUT,
  VS_EDIT_SCALE,
  VS_EDIT_FREE_EARLY,
  VS_EDIT_CHECKPOINT,
} vs_edit_kind;
enum { VS_EDIT_KINDS = VS_EDIT_CHECKPOINT + 1 };

/* A call of the function that is checkpointed: the events from the first to the last, both its own. */
typedef struct vs_edit_call {
  uint32_t first, last; /* events */
} vs_edit_call;

/* Borrows everything. Invariant: calls do not overlap and stand in the order of the trace. */
typedef struct vs_edit {
  vs_edit_kind kind;
  const uint64_t *rows; /* WITHOUT, SCALE, FREE_EARLY: one bit for each row of lifetimes */
  const uint64_t
      *events;   /* WITHOUT, SCALE: one bit for each event; of the failed requests among them; NULL: none */
  double factor; /* SCALE: > 0 and finite */
  const vs_edit_call *calls; /* CHECKPOINT */
  size_t call_count;
} vs_edit;

/* What the edits found. */
typedef struct vs_edited {
  vs_replay_requests requests;
  uint64_t allocs;       /* allocations that an edit names, those of the start among them */
  uint64_t bytes;        /* their requested bytes, as recorded */
  uint64_t start_allocs; /* of these, blocks from before the trace */
} vs_edited;

/* Fails: VS_NO_MEMORY */
VS_MUST_CHECK vs_status vs_edits_apply(const vs_host *host, const vs_replay_plan *plan, const vs_edit *edits,
                                       size_t count, vs_edited *out);
void vs_edited_deinit(const vs_host *host, vs_edited *edited);

#endif
