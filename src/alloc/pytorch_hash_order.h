/* A small hash map whose iteration order is that of the hash maps in PyTorch's allocator.
 *
 * PyTorch keeps the queues of streams and the private pools in robin-hood hash maps (ska::flat_hash_map) and
 * iterates over their slots. The slots decide which of two finished streams is polled first and which of two pools
 * is released first, and so the order of events. So the slots are computed as in that map: multiplicative hashing
 * (the upper bits of key * 2^64 / golden ratio), a power of two of slots, at most half of them used, an entry
 * displaces one that is nearer to its home, no entry is further from its home than max(4, log2(slots)), no
 * wrap-around.
 *
 * Keys are the hashes themselves and are unique. */
#ifndef VS_ALLOC_PYTORCH_HASH_ORDER_H
#define VS_ALLOC_PYTORCH_HASH_ORDER_H

#include "base/vec.h"

typedef struct vs_alloc_hash_slot {
  uint64_t key;
  void *value;
  int32_t distance; /* from its home; -1: free */
} vs_alloc_hash_slot;

typedef struct vs_alloc_hash_order {
  vs_alloc_hash_slot *slots;
  uint32_t buckets; /* 0 or a power of two; there are buckets + farthest slots */
  uint32_t count;
} vs_alloc_hash_order;

/* NULL if there is none. */
void *vs_alloc_hash_order_find(const vs_alloc_hash_order *order, uint64_t key);

/* `key` must be absent. Fails: VS_NO_MEMORY (nothing has changed) */
VS_MUST_CHECK vs_status vs_alloc_hash_order_add(const vs_host *host, vs_alloc_hash_order *order, uint64_t key,
                                                void *value);
/* `key` must be present. */
void vs_alloc_hash_order_remove(vs_alloc_hash_order *order, uint64_t key);
void vs_alloc_hash_order_deinit(const vs_host *host, vs_alloc_hash_order *order);

/* Iteration: at = vs_alloc_hash_order_next(order, 0), then from at + 1; UINT32_MAX at the end. After the entry at
 * `at` was removed, go on from `at`: the next entry may have moved there. */
uint32_t vs_alloc_hash_order_next(const vs_alloc_hash_order *order, uint32_t from);

/* Executes the invariants; NULL if they hold, else the one that does not, in words. */
const char *vs_alloc_hash_order_check(const vs_alloc_hash_order *order);

#endif
