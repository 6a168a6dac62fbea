/* Blocks freed in a capture that may be used again in it. */
#ifndef VS_ALLOC_CAPTURE_REUSE_H
#define VS_ALLOC_CAPTURE_REUSE_H

#include "alloc/state.h"

/* Notes where the uses of a block end in the graph being captured: the nodes that each of its streams stands behind now.
 * None if one of these streams is not captured. */
VS_MUST_CHECK vs_status vs_alloc_capture_reuse_mark(vs_alloc *alloc, vs_alloc_deferred *deferred);

/* Frees the deferred blocks whose markers all lie before what `stream` does next. */
VS_MUST_CHECK vs_status vs_alloc_capture_reuse_free(vs_alloc *alloc, uint64_t stream, vs_context context);

#endif
