/* Segments that are not expandable: allocated from the driver, and released. */
#ifndef VS_ALLOC_SEGMENTS_H
#define VS_ALLOC_SEGMENTS_H

#include "alloc/state.h"

/* Gets a segment, or pages, for a request; `is_retry`: after all cached memory was released. VS_NOT_FOUND: the
 * driver has no memory, or the limit forbids it; VS_LIMIT: the request is rejected finally
 * (throw_on_cudamalloc_oom). */
VS_MUST_CHECK vs_status vs_alloc_segment_get(vs_alloc *alloc, vs_alloc_request *request, bool is_retry);

VS_MUST_CHECK vs_status vs_alloc_collect_garbage(vs_alloc *alloc, vs_context context);

/* Releases oversize blocks until the request may fit, which sets *enough. */
VS_MUST_CHECK vs_status vs_alloc_release_available(vs_alloc *alloc, const vs_alloc_request *request,
                                                   bool *enough);

VS_MUST_CHECK vs_status vs_alloc_release_cached(vs_alloc *alloc, vs_pool_id pool, vs_context context);

#endif
