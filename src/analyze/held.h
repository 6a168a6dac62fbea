/* The blocks that the program holds when a request fails, by the line that they are attributed to. Freed blocks that another
 * stream may still use are not among them. */
#ifndef VS_ANALYZE_HELD_H
#define VS_ANALYZE_HELD_H

#include "analyze/groups.h"

typedef struct vs_holder {
  vs_group group;        /* by line */
  uint32_t first, count; /* its blocks: rows[first, first + count) */
} vs_holder;

/* Invariant: the holders' rows tile `rows`; within a holder they are in order of falling size, then of rising row. Holders are
 * in the order of groups. */
typedef struct vs_held {
  VS_VEC(uint32_t) rows; /* of lifetimes */
  VS_VEC(vs_holder) holders;
  uint64_t rounded; /* bytes of all blocks, each rounded up to 512: no setting makes them less */
} vs_held;

VS_MUST_CHECK vs_status vs_held_build(const vs_host *host, const vs_lifetimes *lifetimes,
                                      const vs_spans *spans, vs_frames *frames, uint32_t event, vs_held *out);
void vs_held_deinit(const vs_host *host, vs_held *held);

/* The holder of a block with that stack; NULL: there is none. */
const vs_holder *vs_held_of_stack(const vs_held *held, const vs_lifetimes *lifetimes, uint32_t stack);

#endif
