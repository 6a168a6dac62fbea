/* Whole segments of the driver. */
#ifndef VS_ALLOC_SEGMENTS_H
#define VS_ALLOC_SEGMENTS_H

#include "alloc/state.h"

/* Asks the driver for memory; `is_retry`: after all that was cached was given back. VS_NOT_FOUND: it has none, or may not
 * be asked; VS_LIMIT: the request is rejected for good (throw_on_cudamalloc_oom). */
VS_MUST_CHECK vs_status vs_alloc_segment_get(vs_alloc *alloc, vs_alloc_request *request, bool is_retry);

VS_MUST_CHECK vs_status vs_alloc_collect_garbage(vs_alloc *alloc, vs_context context);

/* Gives oversize blocks back until the request may fit: true in *enough. */
VS_MUST_CHECK vs_status vs_alloc_release_available(vs_alloc *alloc, const vs_alloc_request *request,
                                                   bool *enough);

VS_MUST_CHECK vs_status vs_alloc_release_cached(vs_alloc *alloc, vs_pool_id pool, vs_context context);

#endif
