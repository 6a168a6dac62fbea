/* The memory of a device at the end of the trace, computed from its blocks.
 *
 *   reserved    all blocks: bytes that the allocator holds from the driver
 *   allocated   blocks that the program holds, rounded sizes
 *   active      allocated + pending (freed, but another stream may still use it)
 *   requested   bytes requested for the active blocks, before rounding
 *   inactive    cached: reserved - active (blocks of an unknown state count here)
 *   rounding    allocated - requested, of allocated blocks: bytes lost to rounding
 * The sums saturate. The struct does not refer to the snapshot. */
#ifndef VS_ANALYZE_END_STATE_H
#define VS_ANALYZE_END_STATE_H

#include "analyze/slice.h"

typedef struct vs_end_sums {
  uint64_t reserved, allocated, active, requested, pending, inactive, rounding; /* bytes */
  uint64_t segments, blocks;
  uint64_t allocated_blocks, pending_blocks, inactive_blocks;
} vs_end_sums;

typedef enum vs_segment_kind { VS_SEGMENT_SMALL, VS_SEGMENT_LARGE, VS_SEGMENT_OTHER } vs_segment_kind;
enum { VS_SEGMENT_KINDS = 3 };

/* From segment_type; where the file has none, by size: up to 2 MiB is small. */
vs_segment_kind vs_segment_kind_of(const vs_snapshot *snapshot, const vs_segment *segment);
vs_segment_kind vs_segment_kind_by_size(uint64_t size);
const char *vs_segment_kind_name(vs_segment_kind kind); /* "small", "large", "other" */

typedef struct vs_end_part {
  uint32_t key; /* by_stream: index into streams; by_pool: 0 (not said) or 1 + index into pools */
  vs_end_sums sums;
} vs_end_part;

typedef VS_VEC(vs_end_part) vs_end_parts;

typedef struct vs_end_state {
  vs_end_sums all;
  vs_end_sums by_kind[VS_SEGMENT_KINDS];
  vs_end_sums expandable;
  vs_end_parts by_stream; /* by rising handle, only those that have a segment */
  vs_end_parts by_pool;   /* by rising id, not said first */
} vs_end_state;

/* The sums of the blocks of one segment. */
vs_end_sums vs_segment_sums(const vs_snapshot *snapshot, const vs_segment *segment);

VS_MUST_CHECK vs_status vs_end_state_build(const vs_host *host, const vs_slice *slice, vs_end_state *out);
void vs_end_state_deinit(const vs_host *host, vs_end_state *end);

#endif
