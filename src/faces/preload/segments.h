/* The segments of a device, in the order of their addresses.
 *
 * Invariant: they do not overlap; `bytes` is the sum of theirs. */
#ifndef VS_PRELOAD_SEGMENTS_H
#define VS_PRELOAD_SEGMENTS_H

#include "base/vec.h"
#include <vramscope/base.h>

typedef struct vs_own_segment {
  uint64_t address, bytes, stream;
  bool is_expandable; /* pages that were mapped; pages of one stream that follow each other are one segment */
} vs_own_segment;

typedef struct vs_own_segments {
  VS_VEC(vs_own_segment) rows;
  uint64_t bytes;
} vs_own_segments;

/* Adds a segment. Fails: VS_NO_MEMORY; VS_BAD_ARGUMENT (it overlaps one) */
VS_MUST_CHECK vs_status vs_own_segments_add(vs_own_segments *segments, const vs_host *host,
                                            const vs_own_segment *segment);

/* Removes the segment that begins at `address`. False: none does. */
bool vs_own_segments_take(vs_own_segments *segments, uint64_t address, vs_own_segment *taken);

/* The segment that contains `address`, or ends there; of two the one that contains it. NULL: there is none. */
const vs_own_segment *vs_own_segments_at(const vs_own_segments *segments, uint64_t address);

#endif
