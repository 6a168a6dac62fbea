/* Expandable segments: they grow by mapping pages. */
#ifndef VS_ALLOC_EXPANDABLE_H
#define VS_ALLOC_EXPANDABLE_H

#include "alloc/state.h"

/* Maps pages until there is a free block of the request's size, and removes it from the bins. VS_NOT_FOUND: no memory. */
VS_MUST_CHECK vs_status vs_alloc_expand(vs_alloc *alloc, vs_alloc_request *request);

/* Room for the handles of the first `pages` pages. */
VS_MUST_CHECK vs_status vs_alloc_handles_reserve(vs_alloc *alloc, vs_alloc_extent *extent, uint64_t pages);

/* The reserve that is configured for a stream, and the stream's class ("" for none). */
const vs_alloc_reserve *vs_alloc_reserve_of(const vs_alloc *alloc, uint64_t stream, const char **class_name);
uint64_t vs_alloc_reserve_bytes(const vs_alloc *alloc, const vs_alloc_reserve *reserve);

/* Unmaps the whole pages of a free block. */
VS_MUST_CHECK vs_status vs_alloc_unmap(vs_alloc *alloc, vs_alloc_block *block, vs_context context);

/* Releases the addresses of an extent that is one unmapped block. */
VS_MUST_CHECK vs_status vs_alloc_extent_release(vs_alloc *alloc, vs_alloc_block *block);
void vs_alloc_extent_destroy(vs_alloc *alloc, vs_alloc_extent *extent);

#endif
