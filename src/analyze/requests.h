/* What a program requested of the allocator, as one number: two runs with equal numbers made requests of the same sizes in the same order,
 * whatever the allocator made of them. Frees do not count: several threads free at the same time, and sets of tensors are freed in the
 * order of their addresses. */
#ifndef VS_ANALYZE_REQUESTS_H
#define VS_ANALYZE_REQUESTS_H

#include "analyze/slice.h"

/* FNV-1a (64 bits) over the requested bytes of the events ALLOC of the trace, each as 8 bytes, the lowest first. Written to files, so it
 * never changes. */
uint64_t vs_requests_hash(const vs_slice *slice);

#endif
