/* Blocks freed in a capture that the same capture may reuse. */
#ifndef VS_ALLOC_CAPTURE_REUSE_H
#define VS_ALLOC_CAPTURE_REUSE_H

#include "alloc/state.h"

/* Stores the markers of a block: the nodes of the captured graph on which the next work of each of its streams would
 * depend. None if one of these streams is not captured. */
VS_MUST_CHECK vs_status vs_alloc_capture_reuse_mark(vs_alloc *alloc, vs_alloc_deferred *deferred);

/* Completes the frees of the deferred blocks of `stream` whose markers all precede the stream's next work. */
VS_MUST_CHECK vs_status vs_alloc_capture_reuse_free(vs_alloc *alloc, uint64_t stream, vs_context context);

#endif
