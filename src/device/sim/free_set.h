/* The free addresses of a window or a pool: a set of ranges, from which the lowest one that is large enough is found
 * quickly.
 *
 * The set is a treap ordered by address: a binary tree in which each node has a pseudo-random rank, and a parent's rank is
 * never below its children's, so the expected depth is logarithmic. The ranks are hashes of a counter, so equal histories
 * give equal trees. Each node stores the largest size in its subtree. Every operation takes time logarithmic in the number
 * of ranges, except that a search with an alignment may have to try several of them.
 *
 * Invariant: no range is empty and none overlap; starts rise from left to right; the rank of a node is not less than its
 * children's; `most` is the largest size in the subtree. Node 0 is a sentinel of size 0: it stands for "no child". */
#ifndef VS_DEVICE_SIM_FREE_SET_H
#define VS_DEVICE_SIM_FREE_SET_H

#include "base/vec.h"

typedef struct vs_sim_free_range {
  uint64_t start, size;
  uint64_t most;
  uint32_t left, right; /* indices; 0: none. In the list of spare nodes `left` is the next one */
  uint32_t rank;
} vs_sim_free_range;

typedef struct vs_sim_free_set {
  VS_VEC(vs_sim_free_range) nodes;
  uint32_t root, spare;
  uint32_t count; /* of ranges */
  uint32_t made;  /* ranges that were ever added: the next rank is its hash */
} vs_sim_free_set;

typedef struct vs_sim_span {
  uint64_t start, size;
} vs_sim_span;

void vs_sim_free_set_deinit(const vs_host *host, vs_sim_free_set *set);

/* Allocates space for `count` ranges in total. While the set has at most that many, no function below needs memory. */
VS_MUST_CHECK vs_status vs_sim_free_set_reserve(const vs_host *host, vs_sim_free_set *set, uint64_t count);

/* The lowest start, a multiple of `alignment` (a power of two), at which `size` > 0 bytes are free. */
bool vs_sim_free_set_first(const vs_sim_free_set *set, uint64_t size, uint64_t alignment, uint64_t *start);

/* Whether a single range contains all of [start, start + size), which does not wrap. */
bool vs_sim_free_set_cover(const vs_sim_free_set *set, uint64_t start, uint64_t size);

/* Removes addresses that a single range contains. The number of ranges grows by one at most. */
void vs_sim_free_set_cut(vs_sim_free_set *set, uint64_t start, uint64_t size);

/* Adds addresses that no range contains. They merge with adjacent ranges that are inside `bounds`, too. Returns the range
 * that contains them now. The number of ranges grows by one at most. */
vs_sim_span vs_sim_free_set_put(vs_sim_free_set *set, vs_sim_span added, vs_sim_span bounds);

/* Checks the invariant in linear time. `sum`, unless NULL, receives the total size of the ranges. */
bool vs_sim_free_set_check(const vs_sim_free_set *set, uint64_t *sum);

#endif
