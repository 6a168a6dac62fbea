/* How much of what is free could be used: holes, and what keeps the driver from getting it back.
 *
 *   hole         a run of free bytes inside one segment, between blocks in use
 *   area         segments that share their holes: same pool, same kind (small, large), same stream. PyTorch never serves
 *                a request of one area from another
 *   unusable     free bytes in holes smaller than the smallest request (rounded to 512) that the trace shows for that kind
 *                of area: small up to 1 MiB, large above
 *   pinned       free bytes of segments that also hold a block in use: they cannot go back to the driver
 *   releasable   free bytes of segments without any block in use
 * Exact at the end, estimated before (see state.h). */
#ifndef VS_ANALYZE_FRAGMENTATION_H
#define VS_ANALYZE_FRAGMENTATION_H

#include "analyze/state.h"

typedef struct vs_holes {
  uint64_t reserved, active, free; /* bytes; reserved = active + free */
  uint64_t pinned, releasable;     /* free = pinned + releasable */
  uint64_t pinned_pages;           /* of pinned: whole pages of expandable segments, which do go back */
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

/* A segment that little keeps from going back to the driver. */
typedef struct vs_pinned {
  uint32_t segment; /* index into state.segments: its blocks are what pins it */
  uint64_t active, free;
} vs_pinned;

typedef struct vs_fragmentation {
  vs_state state;
  vs_holes all;
  uint64_t smallest_request[VS_SEGMENT_KINDS]; /* rounded; VS_NO_SIZE where the trace shows none */
  VS_VEC(vs_area) areas;                       /* most reserved first, then by pool, kind, stream */
  VS_VEC(vs_pinned) pinned;                    /* most free bytes first, then least active, then by address */
} vs_fragmentation;

/* `most_pinned`: how many of `pinned` to keep. */
VS_MUST_CHECK vs_status vs_fragmentation_build(const vs_host *host, const vs_lifetimes *lifetimes,
                                               vs_moment moment, uint32_t most_pinned, vs_fragmentation *out);
/* The same; at 10 million events in milliseconds. */
VS_MUST_CHECK vs_status vs_fragmentation_at(const vs_host *host, const vs_moment_index *moments,
                                            vs_moment moment, uint32_t most_pinned, vs_fragmentation *out);
void vs_fragmentation_deinit(const vs_host *host, vs_fragmentation *fragmentation);

/* Class 0 is of holes below 1 KiB, class c of those in [512 << c, 1024 << c), the last one of all that are larger. */
enum { VS_HOLE_CLASSES = 28 };
uint32_t vs_hole_class(uint64_t size);
uint64_t vs_hole_class_from(uint32_t hole_class); /* 0 for the first */

/* Only `all` of a moment, and the bytes of its holes by their size. holes.h does it for many moments. */
VS_MUST_CHECK vs_status vs_holes_at(const vs_host *host, const vs_moment_index *moments, vs_moment moment,
                                    vs_holes *out, uint64_t class_bytes[VS_HOLE_CLASSES]);

/* ---- one segment after another ------------------------------------------------------------------------- */

/* Begin, each block that lies in the segment by rising address, end. `class_bytes` may be NULL. */
typedef struct vs_measure {
  const vs_state_segment *segment;
  uint64_t smallest; /* request that the segment's kind serves */
  uint64_t *class_bytes;
  uint64_t cursor; /* where the last block ends */
  bool has_blocks;
  vs_holes holes;
} vs_measure;

vs_measure vs_measure_begin(const vs_state_segment *segment, uint64_t smallest, uint64_t *class_bytes);
void vs_measure_block(vs_measure *measure, uint64_t address, uint64_t size);
vs_holes vs_measure_end(vs_measure *measure);

/* `to` begins as a vs_holes with is_unusable_known. */
void vs_holes_add(vs_holes *to, const vs_holes *holes);

/* By kind of segment; VS_NO_SIZE where the trace shows none. */
void vs_smallest_requests(const vs_moment_index *moments, uint64_t smallest[VS_SEGMENT_KINDS]);

#endif
