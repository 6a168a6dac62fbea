/* What an allocation does when the cache has nothing. */
#ifndef VS_ALLOC_FALLBACKS_H
#define VS_ALLOC_FALLBACKS_H

#include "alloc/state.h"

/* Everything there is to do when the cache has nothing; VS_DEVICE_MEMORY after all of it. */
VS_MUST_CHECK vs_status vs_alloc_find_block(vs_alloc *alloc, vs_alloc_request *request);

/* Notes a request that failed for vs_alloc_last_oom. */
void vs_alloc_oom_note(vs_alloc *alloc, const vs_alloc_request *request);

#endif
