/* Blocks that other streams use. */
#ifndef VS_ALLOC_PENDING_H
#define VS_ALLOC_PENDING_H

#include "alloc/state.h"

/* Whether what is done for `stream` is part of a capture: no event may be asked, frees have to wait for its end. Routes
 * alone are no capture. */
bool vs_alloc_is_captured(const vs_alloc *alloc, uint64_t stream);

static inline bool vs_alloc_is_capturing(const vs_alloc *alloc, uint64_t stream) {
  return alloc->captures > 0 && vs_alloc_is_captured(alloc, stream);
}

/* The same for the caller's stream; `block` (may be NULL) is what it is about. */
bool vs_alloc_is_caller_capturing(const vs_alloc *alloc, const vs_alloc_block *block);

/* Frees what is done. */
VS_MUST_CHECK vs_status vs_alloc_pending_poll(vs_alloc *alloc, vs_context context);

/* Waits for all events, or for those of one private pool. */
VS_MUST_CHECK vs_status vs_alloc_pending_wait(vs_alloc *alloc, const vs_alloc_owner *only,
                                              vs_context context);

/* Deferred blocks, all or those of one pool, wait for events from now on, or are free. */
VS_MUST_CHECK vs_status vs_alloc_deferred_finish(vs_alloc *alloc, const vs_pool_id *only, vs_context context);

/* A block that was used by other streams and is free now. */
VS_MUST_CHECK vs_status vs_alloc_pending_add(vs_alloc *alloc, vs_alloc_block *block);
void vs_alloc_pending_deinit(vs_alloc *alloc);

#endif
