/* Private pools, routes to them, the lanes of pools, and reserved bytes. */
#ifndef VS_ALLOC_POOLS_H
#define VS_ALLOC_POOLS_H

#include "alloc/state.h"

static inline uint32_t vs_alloc_recent_of(uint64_t stream) {
  return (uint32_t)((stream * UINT64_C(0x9e3779b97f4a7c15)) >> (64 - VS_ALLOC_RECENT_BITS));
}

/* The lane of a stream, created if need be; NULL: there is no memory for it. */
vs_alloc_lane *vs_alloc_lane_of_slow(vs_alloc *alloc, vs_alloc_pool *pool, uint64_t stream);

static inline vs_alloc_lane *vs_alloc_lane_of(vs_alloc *alloc, vs_alloc_pool *pool, uint64_t stream) {
  vs_alloc_lane *lane = pool->recent[vs_alloc_recent_of(stream)];
  return lane != NULL && lane->stream == stream ? lane : vs_alloc_lane_of_slow(alloc, pool, stream);
}

/* The private pool to which a route leads a request; NULL for none. */
vs_alloc_pool *vs_alloc_routed_pool(vs_alloc *alloc, uint64_t rounded, uint64_t stream);

/* The pool that a request belongs to, by size and by routes. */
static inline vs_alloc_pool *vs_alloc_pool_for(vs_alloc *alloc, uint64_t rounded, uint64_t stream) {
  vs_alloc_pool *pool = alloc->routes.count > 0 ? vs_alloc_routed_pool(alloc, rounded, stream) : NULL;
  return pool != NULL ? pool : rounded <= VS_ALLOC_SMALL_SIZE ? &alloc->small : &alloc->large;
}

vs_alloc_owner *vs_alloc_owner_find(const vs_alloc *alloc, vs_pool_id id);
static inline uint64_t vs_alloc_owner_key(vs_pool_id id) { return id.a != 0 ? id.a : id.b; }

/* Destroys a private pool that has neither users nor memory. */
void vs_alloc_owner_destroy(vs_alloc *alloc, vs_alloc_owner *owner);

/* The statistics of a private pool, created if need be. */
vs_alloc_private *vs_alloc_private_find(vs_alloc *alloc, vs_pool_id id);

/* Calls `visit` for every pool: the default ones, then the private ones. */
void vs_alloc_for_each_pool(const vs_alloc *alloc, void (*visit)(void *ctx, vs_alloc_pool *pool), void *ctx);
void vs_alloc_pool_deinit(vs_alloc *alloc, vs_alloc_pool *pool);

/* Counts bytes that the driver gave, or that were released. */
void vs_alloc_reserved_add(vs_alloc *alloc, vs_alloc_pool *pool, uint64_t bytes);
void vs_alloc_reserved_take(vs_alloc *alloc, vs_alloc_pool *pool, uint64_t bytes);

#endif
