/* What the reserved memory of a moment consists of. For each pool, in bytes:
 *
 *   reserved = requested + rounding + pending + fragmented + releasable
 *
 *   requested    of blocks that the program holds, as it asked for them
 *   rounding     what the allocator added to them
 *   pending      freed blocks that another stream may still use, with their rounding
 *   fragmented   free bytes that live blocks keep from being released (fragmentation.h: pinned)
 *   releasable   free bytes that empty_cache() returns to the driver
 *
 * Exact at the end, estimated before (state.h): rounding is then that of the default rounding to 512 bytes. */
#ifndef VS_ANALYZE_RESERVED_H
#define VS_ANALYZE_RESERVED_H

#include "analyze/curve.h"
#include "analyze/fragmentation.h"

typedef struct vs_reserved_sums {
  uint64_t reserved, requested, rounding, pending, fragmented, releasable;
} vs_reserved_sums;

typedef struct vs_reserved_pool {
  uint32_t pool; /* 0 (unknown), or 1 + index into pools */
  vs_reserved_sums sums;
} vs_reserved_pool;

typedef struct vs_reserved {
  vs_moment moment;
  bool is_exact;
  uint64_t outside;               /* bytes of blocks that are in no segment: the trace contradicts itself */
  vs_reserved_sums all;           /* of the pools */
  VS_VEC(vs_reserved_pool) pools; /* by their numbers (vs_pool_before), each once */
} vs_reserved;

VS_MUST_CHECK vs_status vs_reserved_at(const vs_host *host, const vs_moment_index *moments, vs_moment moment,
                                       vs_reserved *out);
void vs_reserved_deinit(const vs_host *host, vs_reserved *reserved);

/* The moment at which exactly `bytes` were reserved: `near` if that is one, else the first later one, else the last earlier one. If its event
 * obtained a segment, the moment moves on to the alloc behind it, which the segment was obtained for. False: there is no such moment. Scans
 * the trace. */
VS_MUST_CHECK bool vs_reserved_moment(const vs_slice *slice, const vs_curves *curves, uint64_t bytes,
                                      vs_moment near, vs_moment *out);

#endif
