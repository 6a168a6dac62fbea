/* The address space at a moment: the segments, and the live blocks in them.
 *
 * At the end it is exactly what the file says. At an earlier moment it is replayed backwards from the end: a
 * segment_free or segment_unmap between the two adds its range again, a segment_alloc or segment_map removes it. Pages
 * of expandable segments that touch and have the same stream and pool are one segment, as PyTorch shows them.
 *
 * The rounded size of a block is known if it lives until the end. For others it is ESTIMATED: the request rounded up to
 * 512. Blocks are cut where the next one begins or the segment ends. */
#ifndef VS_ANALYZE_STATE_H
#define VS_ANALYZE_STATE_H

#include "analyze/end_state.h"
#include "analyze/liveset.h"
#include "analyze/moment_index.h"

typedef struct vs_state_segment {
  uint64_t address, size;
  uint32_t stream;                   /* index into streams */
  uint32_t pool;                     /* 0 (unknown), or 1 + index into pools */
  uint32_t first_block, block_count; /* in blocks */
  uint32_t row;                      /* of snapshot->segments, if it is in the end state; else VS_NO_ROW */
  uint8_t kind;                      /* vs_segment_kind; by size where it is not in the end state */
  bool is_expandable;
} vs_state_segment;

typedef struct vs_state_block {
  uint64_t address;
  uint64_t size;      /* rounded bytes */
  uint64_t requested; /* bytes */
  uint32_t lifetime;  /* row of lifetimes, or VS_NO_ROW (duplicate addresses of a damaged file) */
  uint32_t row;       /* of snapshot->blocks, if it is active at the end; else VS_NO_ROW */
  bool is_pending;    /* freed, but another stream may still use it */
} vs_state_block;

/* Invariant: segments and, in each, blocks are in order of rising address; the segments' blocks tile blocks[0,
 * outside); blocks[outside, count) are in no segment (the trace contradicts itself) and in order of rising address. */
typedef struct vs_state {
  vs_moment moment;
  bool is_exact; /* block sizes are those of the file, not estimated */
  VS_VEC(vs_state_segment) segments;
  VS_VEC(vs_state_block) blocks; /* live ones only: the bytes between them are free */
  uint32_t outside;
  uint64_t reserved, requested; /* bytes, of all segments and blocks */
} vs_state;

enum { VS_SMALLEST_BLOCK = 512 };

/* Rounds up to a multiple of 512, at least 512, as PyTorch does by default. */
static inline uint64_t vs_round_request(uint64_t size) {
  const uint64_t mask = VS_SMALLEST_BLOCK - 1;
  return size == 0 ? VS_SMALLEST_BLOCK : size > UINT64_MAX - mask ? UINT64_MAX - mask : (size + mask) & ~mask;
}

VS_MUST_CHECK vs_status vs_state_build(const vs_host *host, const vs_lifetimes *lifetimes, vs_moment moment,
                                       vs_state *out);
/* The same without a scan of the trace. */
VS_MUST_CHECK vs_status vs_state_at(const vs_host *host, const vs_moment_index *moments, vs_moment moment,
                                    vs_state *out);
/* Only the segments, as if there were no blocks. */
VS_MUST_CHECK vs_status vs_state_segments_at(const vs_host *host, const vs_moment_index *moments,
                                             vs_moment moment, vs_state *out);
void vs_state_deinit(const vs_host *host, vs_state *state);

/* Executes the invariant; NULL if it holds, else the sentence that does not. */
const char *vs_state_check(const vs_state *state);

#endif
