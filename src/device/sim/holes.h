/* Free addresses as a set of holes, from which the lowest one that is large enough can be had quickly.
 *
 * A treap by address: a binary tree in which a number that looks random decides who stands above whom, so
 * that it is as shallow as a random one. The numbers come from a counter, so equal histories give equal
 * trees. Each node knows the largest hole below it. All operations cost the logarithm of the number of
 * holes; only an alignment may have to look at more of them.
 *
 * Invariant: holes are not empty and do not meet; starts rise from left to right; the rank of a node is not
 * less than its children's; most = the largest size of a node and all below it; node 0 is nobody. */
#ifndef VS_DEVICE_SIM_HOLES_H
#define VS_DEVICE_SIM_HOLES_H

#include "base/vec.h"

typedef struct vs_sim_hole {
  uint64_t start, size;
  uint64_t most;
  uint32_t left, right; /* indices; 0: none. In the list of spare nodes `left` is the next */
  uint32_t rank;
} vs_sim_hole;

typedef struct vs_sim_holes {
  VS_VEC(vs_sim_hole) nodes;
  uint32_t root, spare;
  uint32_t count;
  uint32_t made; /* holes so far: ranks are made of it */
} vs_sim_holes;

typedef struct vs_sim_span {
  uint64_t start, size;
} vs_sim_span;

void vs_sim_holes_deinit(const vs_host *host, vs_sim_holes *holes);

/* Makes room for `count` holes in all: until there are more than that, nothing below needs memory. */
VS_MUST_CHECK vs_status vs_sim_holes_reserve(const vs_host *host, vs_sim_holes *holes, uint64_t count);

/* The lowest start, a multiple of `alignment` (a power of two), at which `size` > 0 bytes are free. */
bool vs_sim_holes_first(const vs_sim_holes *holes, uint64_t size, uint64_t alignment, uint64_t *start);

/* Whether one hole has all of [start, start + size), which does not wrap. */
bool vs_sim_holes_cover(const vs_sim_holes *holes, uint64_t start, uint64_t size);

/* Takes out what one hole has. Adds one hole at most. */
void vs_sim_holes_cut(vs_sim_holes *holes, uint64_t start, uint64_t size);

/* Puts in what no hole has. It grows together with its neighbours where they lie in `bounds` too; returns
 * what became of it. Adds one hole at most. */
vs_sim_span vs_sim_holes_put(vs_sim_holes *holes, vs_sim_span piece, vs_sim_span bounds);

/* Executes the invariant; the sum of all holes, when it is asked for. */
bool vs_sim_holes_check(const vs_sim_holes *holes, uint64_t *sum);

#endif
