/* Freed blocks that other streams may still use. */
#ifndef VS_ALLOC_PENDING_H
#define VS_ALLOC_PENDING_H

#include "alloc/state.h"

/* Whether `stream` is being captured: its events cannot be queried, and frees wait for the capture's end. A route
 * alone is no capture. */
bool vs_alloc_is_captured(const vs_alloc *alloc, uint64_t stream);

static inline bool vs_alloc_is_capturing(const vs_alloc *alloc, uint64_t stream) {
  return alloc->captures > 0 && vs_alloc_is_captured(alloc, stream);
}

/* Likewise for the caller's current stream; `block` (may be NULL) is the block of the call. */
bool vs_alloc_is_caller_capturing(const vs_alloc *alloc, const vs_alloc_block *block);

/* Completes the frees whose events are done. */
VS_MUST_CHECK vs_status vs_alloc_pending_poll(vs_alloc *alloc, vs_context context);

/* Waits for all events, or for those of one private pool. */
VS_MUST_CHECK vs_status vs_alloc_pending_wait(vs_alloc *alloc, const vs_alloc_owner *only,
                                              vs_context context);

/* Ends the deferral of all blocks, or of those of one pool: they get events, or are free. */
VS_MUST_CHECK vs_status vs_alloc_deferred_finish(vs_alloc *alloc, const vs_pool_id *only, vs_context context);

/* Takes a block that the program freed and other streams may still use. */
VS_MUST_CHECK vs_status vs_alloc_pending_add(vs_alloc *alloc, vs_alloc_block *block);
void vs_alloc_pending_deinit(vs_alloc *alloc);

#endif
