/* The steps of an allocation for which no cached block fits. */
#ifndef VS_ALLOC_FALLBACKS_H
#define VS_ALLOC_FALLBACKS_H

#include "alloc/state.h"

/* Tries every fallback. Fails: VS_DEVICE_MEMORY (all of them failed), VS_DEVICE, VS_NO_MEMORY */
VS_MUST_CHECK vs_status vs_alloc_find_block(vs_alloc *alloc, vs_alloc_request *request);

/* Stores a failed request for vs_alloc_last_oom. */
void vs_alloc_oom_note(vs_alloc *alloc, const vs_alloc_request *request);

#endif
