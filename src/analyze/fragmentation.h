/* How much of the cached memory could be used: its free blocks, and what keeps them from being released.
 *
 *   free block   a run of free bytes inside one segment, between live blocks (`hole` in names)
 *   area         segments that share their free blocks: same pool, same kind (small, large), same stream. PyTorch never
 *                serves a request of one area from another
 *   unusable     bytes in free blocks that are smaller than the smallest request (rounded to 512) that the trace shows
 *                for that kind of area: small up to 1 MiB, large above
 *   releasable   what empty_cache() returns to the driver: free bytes of segments without a live block and, of expandable
 *                segments with live blocks, the whole pages in their free blocks
 *   pinned       fragmented: the other free bytes, which live blocks keep from being released
 * Exact at the end, estimated before (see state.h). */
#ifndef VS_ANALYZE_FRAGMENTATION_H
#define VS_ANALYZE_FRAGMENTATION_H

#include "analyze/state.h"

typedef struct vs_holes {
  uint64_t reserved, active, free; /* bytes; reserved = active + free */
  uint64_t pinned, releasable;     /* free = pinned + releasable */
  uint64_t largest_hole;
  uint64_t hole_count;
  uint64_t unusable; /* bytes; meaningful where it is known */
  bool is_unusable_known;
} vs_holes;

typedef struct vs_area {
  uint32_t pool;   /* 0, or 1 + index into pools */
  uint32_t stream; /* index into streams */
  vs_segment_kind kind;
  uint32_t segments;
  vs_holes holes;
} vs_area;

/* A segment of which some free bytes cannot be released because of its live blocks. */
typedef struct vs_pinned {
  uint32_t segment; /* index into state.segments */
  uint64_t active, free;
  uint64_t pinned; /* of free */
} vs_pinned;

typedef struct vs_fragmentation {
  vs_state state;
  vs_holes all;
  uint64_t smallest_request[VS_SEGMENT_KINDS]; /* rounded; VS_NO_SIZE where the trace shows none */
  VS_VEC(vs_area) areas;                       /* most reserved first, then by pool, kind, stream */
  VS_VEC(vs_pinned) pinned; /* most pinned bytes first, then most free, least active, by address */
} vs_fragmentation;

/* `most_pinned`: how many of `pinned` to keep. */
VS_MUST_CHECK vs_status vs_fragmentation_build(const vs_host *host, const vs_lifetimes *lifetimes,
                                               vs_moment moment, uint32_t most_pinned, vs_fragmentation *out);
/* The same, but without a scan of the trace: milliseconds for 10 million events. */
VS_MUST_CHECK vs_status vs_fragmentation_at(const vs_host *host, const vs_moment_index *moments,
                                            vs_moment moment, uint32_t most_pinned, vs_fragmentation *out);
void vs_fragmentation_deinit(const vs_host *host, vs_fragmentation *fragmentation);

/* Classes of free blocks by size: class 0 is below 1 KiB, class c is [512 << c, 1024 << c), the last has all larger
 * ones. */
enum { VS_HOLE_CLASSES = 28 };
uint32_t vs_hole_class(uint64_t size);
uint64_t vs_hole_class_from(uint32_t hole_class); /* 0 for the first */

/* Only `all` of a moment, and the bytes of its free blocks by class of size. `holes.h` does it for many moments. */
VS_MUST_CHECK vs_status vs_holes_at(const vs_host *host, const vs_moment_index *moments, vs_moment moment,
                                    vs_holes *out, uint64_t class_bytes[VS_HOLE_CLASSES]);

/* ---- one segment after another ------------------------------------------------------------------------- */

/* Measures one segment: vs_measure_begin, vs_measure_block for each of its live blocks by rising address,
 * vs_measure_end. `class_bytes` may be NULL. */
typedef struct vs_measure {
  const vs_state_segment *segment;
  uint64_t smallest; /* the smallest request that segments of this kind serve; VS_NO_SIZE */
  uint64_t *class_bytes;
  uint64_t cursor; /* the end of the last block */
  bool has_blocks;
  uint64_t pages; /* of expandable segments: bytes of the whole pages in free blocks */
  vs_holes holes;
} vs_measure;

vs_measure vs_measure_begin(const vs_state_segment *segment, uint64_t smallest, uint64_t *class_bytes);
void vs_measure_block(vs_measure *measure, uint64_t address, uint64_t size);
vs_holes vs_measure_end(vs_measure *measure);

/* Adds `holes` to `to`, which starts as {.is_unusable_known = true}. */
void vs_holes_add(vs_holes *to, const vs_holes *holes);

/* The smallest request by kind of segment; VS_NO_SIZE where the trace shows none. */
void vs_smallest_requests(const vs_moment_index *moments, uint64_t smallest[VS_SEGMENT_KINDS]);

#endif
