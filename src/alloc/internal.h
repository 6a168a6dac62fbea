/* The allocator's state, and what its files offer each other.
 *
 *   alloc.c       making one, settings, limits
 *   cache.c       what every allocation and free does: looking up, splitting, handing out, merging
 *   ladder.c      what an allocation does when the cache has nothing, up to running out of memory
 *   segments.c    whole segments of the driver: getting, releasing, collecting garbage, emptying the cache
 *   expandable.c  segments that grow: addresses reserved once, pages mapped and unmapped
 *   pools.c       private pools, routes to them, lanes
 *   pending.c     blocks that other streams use: events, queues, deferral during captures
 *   reuse.c       blocks freed in a capture that may be used again in it
 *   visit.c       segments and blocks as a snapshot shows them
 *   check.c       the invariants
 *
 * Invariant over all of it (check.c executes it):
 *   reserved  = sum of segments + sum of mapped pages = sum of free + allocated + pending blocks
 *   statistics: allocated_bytes = allocated blocks, active_bytes = allocated + pending, reserved_bytes = reserved,
 *               inactive_split_bytes = free blocks that are split and not expandable; the counts likewise */
#ifndef VS_ALLOC_INTERNAL_H
#define VS_ALLOC_INTERNAL_H

#include "alloc/alloc.h"
#include "alloc/bins.h"
#include "alloc/order.h"

#define VS_ALLOC_MIN_BLOCK    UINT64_C(512)
#define VS_ALLOC_SMALL_SIZE   VS_MIB        /* largest rounded size of a small pool */
#define VS_ALLOC_SMALL_BUFFER (2 * VS_MIB)  /* a segment of a small pool, and its expandable page */
#define VS_ALLOC_MIN_LARGE    (10 * VS_MIB) /* from here on segments are made to measure */
#define VS_ALLOC_ROUND_LARGE  (2 * VS_MIB)
#define VS_ALLOC_TOO_LARGE    (UINT64_C(1) << 60) /* refused at once */
#define VS_ALLOC_NO_LIMIT     UINT64_MAX

enum { VS_ALLOC_RECENT = 4 };

typedef struct vs_alloc_owner vs_alloc_owner;

/* One half of the default pools or of a private pool: the blocks for small or for large requests. */
typedef struct vs_alloc_pool {
  bool is_small;
  vs_alloc_part part;                     /* of the statistics */
  vs_alloc_owner *owner;                  /* NULL: a default pool */
  uint64_t lookups;                       /* counted while garbage is collected */
  VS_VEC(vs_alloc_lane *) lanes;          /* by rising stream */
  vs_alloc_lane *recent[VS_ALLOC_RECENT]; /* the last one asked for */
} vs_alloc_pool;

/* A private pool. It lives while it has users or memory. */
struct vs_alloc_owner {
  vs_pool_id id;
  uint64_t users;
  uint64_t reserved; /* bytes of the driver */
  uint64_t
      calls; /* allocations that needed the driver, less calls that gave memory back, as PyTorch counts them */
  vs_alloc_pool small, large;
  vs_alloc_source source; /* alloc NULL: the driver */
  bool no_split;
};

typedef struct vs_alloc_route {
  vs_pool_id pool;
  bool (*filter)(void *ctx, uint64_t stream);
  void *ctx;
} vs_alloc_route;

/* Reserved addresses with memory behind some of their pages. */
struct vs_alloc_extent {
  uint64_t address, size, page;
  uint64_t stream;
  VS_VEC(uint64_t) handles;     /* of page i; 0: not mapped. Pages behind the last one are not mapped */
  vs_alloc_extent *prev, *next; /* of all extents */
};

/* A stream that was recorded on a block; when that is freed, an event on the stream. */
struct vs_alloc_use {
  uint64_t stream;
  uint64_t event; /* of the queue; 0 while the block is not pending */
  vs_alloc_block *block;
  vs_alloc_use *next;   /* of the block, while it is allocated; of the stream's queue, while it is pending */
  bool is_from_capture; /* recorded in a capture too: what was before is forgotten, as PyTorch does */
};

/* Events of one stream, in the order in which they complete. */
typedef struct vs_alloc_queue {
  uint64_t stream;
  vs_alloc_use *first, *last;
} vs_alloc_queue;

/* A block freed during a capture. */
typedef struct vs_alloc_deferred {
  vs_alloc_block *block;
  VS_VEC(uint64_t)
  markers; /* nodes of the captured graph, one for each stream; none: wait for the capture's end */
} vs_alloc_deferred;

typedef struct vs_alloc_class_of_stream {
  uint64_t stream;
  char name[VS_ALLOC_CLASS_NAME];
} vs_alloc_class_of_stream;

struct vs_alloc {
  /* what every allocation and free touches, first */
  uint64_t allocations; /* made so far: the clock of lifetimes */
  uint64_t pending;     /* uses in the queues */
  uint64_t waiting;     /* pending + deferred blocks: something to look at before an allocation */
  uint64_t recorded;    /* allocated blocks that have uses */
  uint64_t max_split_size, large_segment;
  bool has_divisions, is_expandable, collects_garbage;
  vs_alloc_table allocated;
  vs_alloc_blocks blocks;
  vs_alloc_pool small, large;
  vs_observer observer;
  vs_alloc_statistics statistics;

  const vs_host *host;
  vs_device device;
  vs_alloc_hooks hooks;
  vs_alloc_settings settings;
  uint64_t reserved;      /* bytes of the driver */
  uint32_t registrations; /* segments and extents made so far; 0 where the rules do not order by them */
  double fraction;
  uint64_t limit; /* VS_ALLOC_NO_LIMIT, or fraction * the card */

  vs_alloc_order owners;             /* private pools, by id */
  vs_alloc_order freeable;           /* those without users */
  VS_VEC(vs_alloc_private) privates; /* statistics of private pools by rising id */
  vs_alloc_order lenders;            /* private pools with use_on_oom, by id */
  VS_VEC(vs_alloc_route) routes;     /* newest last */
  uint32_t captures;

  vs_alloc_extent *extents;
  VS_VEC(vs_alloc_class_of_stream) stream_classes;

  vs_alloc_order queues; /* of streams, by their hashes */
  VS_VEC(vs_alloc_deferred) deferred;
  VS_VEC(uint64_t) spare_events; /* made once, recorded often */

  bool has_oom;
  vs_alloc_oom oom;
};

/* One request on its way. */
typedef struct vs_alloc_request {
  uint64_t wanted, size, driver_size; /* as asked, rounded, what the driver would be asked for */
  uint64_t stream;
  vs_context context;
  bool is_expandable; /* from expandable segments: not where the pool has a source of its own */
  bool asked_source;  /* the pool's source had none */
  vs_alloc_pool *pool;
  vs_alloc_lane *lane;
  vs_alloc_block *block; /* found: in no place */
} vs_alloc_request;

/* ---- statistics and events ----------------------------------------------------------------------------------- */

static inline void vs_alloc_raise(vs_alloc_figures *figures, vs_alloc_group group, int64_t amount) {
  const int64_t current = figures->current[group] += amount;
  if (current > figures->peak[group]) figures->peak[group] = current;
}

/* Totals are kept for the small and the large pools only: those of all memory are their sums. */
static inline void vs_alloc_increase(vs_alloc *alloc, vs_alloc_part part, vs_alloc_group group,
                                     uint64_t amount) {
  vs_alloc_raise(&alloc->statistics.part[VS_ALLOC_ALL], group, (int64_t)amount);
  vs_alloc_raise(&alloc->statistics.part[part], group, (int64_t)amount);
  alloc->statistics.part[part].allocated[group] += (int64_t)amount;
}

static inline void vs_alloc_decrease(vs_alloc *alloc, vs_alloc_part part, vs_alloc_group group,
                                     uint64_t amount) {
  alloc->statistics.part[VS_ALLOC_ALL].current[group] -= (int64_t)amount;
  alloc->statistics.part[part].current[group] -= (int64_t)amount;
}

void vs_alloc_tell_slow(vs_alloc *alloc, vs_event_kind kind, uint64_t address, uint64_t size,
                        uint64_t rounded, const vs_alloc_lane *lane, vs_context context);

/* Tells the observer of something that happened to memory of a lane. */
static inline void vs_alloc_tell(vs_alloc *alloc, vs_event_kind kind, uint64_t address, uint64_t size,
                                 const vs_alloc_lane *lane, vs_context context) {
  if (alloc->observer.event != NULL) vs_alloc_tell_slow(alloc, kind, address, size, 0, lane, context);
}

/* The same of a block; the size of the event is what the user asked for. */
static inline void vs_alloc_tell_block(vs_alloc *alloc, vs_event_kind kind, const vs_alloc_block *block,
                                       vs_context context) {
  if (alloc->observer.event != NULL)
    vs_alloc_tell_slow(alloc, kind, block->address, block->requested, block->size, block->lane, context);
}

static inline vs_context vs_alloc_either(vs_context first, vs_context second) {
  return first != VS_CONTEXT_NONE ? first : second;
}

static inline bool vs_alloc_has_source(const vs_alloc_pool *pool) {
  return pool->owner != NULL && pool->owner->source.alloc != NULL;
}

static inline vs_pool_id vs_alloc_pool_id(const vs_alloc_pool *pool) {
  return pool->owner != NULL ? pool->owner->id : (vs_pool_id){0, 0};
}

/* ---- cache.c --------------------------------------------------------------------------------------------------- */

uint64_t vs_alloc_round_to_division(const vs_alloc *alloc, uint64_t size);

/* Bytes of the block that a request needs. */
static inline uint64_t vs_alloc_round(const vs_alloc *alloc, uint64_t size) {
  if (alloc->has_divisions) return vs_alloc_round_to_division(alloc, size);
  return (size + VS_ALLOC_MIN_BLOCK - 1) & ~(VS_ALLOC_MIN_BLOCK - 1);
}

uint64_t vs_alloc_driver_size(const vs_alloc *alloc, uint64_t rounded);

/* Looks for a cached block and takes it out of its bin. */
bool vs_alloc_look_up(vs_alloc *alloc, vs_alloc_request *request);

/* A block that nobody uses any more goes into the cache, merged with its free neighbours. */
void vs_alloc_complete_free(vs_alloc *alloc, vs_alloc_block *block, vs_context context);

/* Into the bins, its age beginning now. */
void vs_alloc_cache_add(vs_alloc_block *block);

/* Merges `other`, a neighbour of `block` or NULL, into it if both are of one kind (free, or both without memory), and
 * takes it out of its place; the bytes that it had, 0 if not. */
uint64_t vs_alloc_merge(vs_alloc *alloc, vs_alloc_block *block, vs_alloc_block *other);

/* A block that no segment knows yet: the first of a new one, or a part of what `whole` is. */
vs_alloc_block *vs_alloc_block_new(vs_alloc *alloc, vs_alloc_lane *lane, uint64_t address, uint64_t size,
                                   vs_alloc_extent *extent);
vs_alloc_block *vs_alloc_block_part(vs_alloc *alloc, const vs_alloc_block *whole, uint64_t address,
                                    uint64_t size);

/* ---- ladder.c --------------------------------------------------------------------------------------------------- */

/* Everything there is to do when the cache has nothing; VS_DEVICE_MEMORY after all of it. */
VS_MUST_CHECK vs_status vs_alloc_find_block(vs_alloc *alloc, vs_alloc_request *request);

/* Notes a request that failed for vs_alloc_last_oom. */
void vs_alloc_oom_note(vs_alloc *alloc, const vs_alloc_request *request);

/* ---- segments.c -------------------------------------------------------------------------------------------------- */

/* Asks the driver for memory; `is_retry`: after all that was cached was given back. VS_NOT_FOUND: it has none, or may not
 * be asked; VS_DEVICE_MEMORY: the request was rejected for good (throw_on_cudamalloc_oom). */
VS_MUST_CHECK vs_status vs_alloc_segment_get(vs_alloc *alloc, vs_alloc_request *request, bool is_retry);

/* Counts bytes that came from the driver, or went back to it (of a private pool too). */
void vs_alloc_reserved_add(vs_alloc *alloc, vs_alloc_pool *pool, uint64_t bytes);
void vs_alloc_reserved_take(vs_alloc *alloc, vs_alloc_pool *pool, uint64_t bytes);

VS_MUST_CHECK vs_status vs_alloc_collect_garbage(vs_alloc *alloc, vs_context context);

/* Gives oversize blocks back until the request may fit: true in *enough. */
VS_MUST_CHECK vs_status vs_alloc_release_available(vs_alloc *alloc, const vs_alloc_request *request,
                                                   bool *enough);

VS_MUST_CHECK vs_status vs_alloc_release_cached(vs_alloc *alloc, vs_pool_id pool, vs_context context);

/* The rejection of a request: told in vs_alloc_last_oom. VS_DEVICE_MEMORY. */
vs_status vs_alloc_reject(vs_alloc *alloc, const vs_alloc_request *request);

/* ---- expandable.c -------------------------------------------------------------------------------------------------- */

/* Maps until a free block of the request's size is there, and takes it out of the bins. VS_NOT_FOUND: no memory. */
VS_MUST_CHECK vs_status vs_alloc_expand(vs_alloc *alloc, vs_alloc_request *request);

/* Room for the handles of the first `pages` pages. */
VS_MUST_CHECK vs_status vs_alloc_handles_reserve(vs_alloc *alloc, vs_alloc_extent *extent, uint64_t pages);

/* The reserve that is configured for a stream, and the class it has ("" for none). */
const vs_alloc_reserve *vs_alloc_reserve_of(const vs_alloc *alloc, uint64_t stream, const char **class_name);
uint64_t vs_alloc_reserve_bytes(const vs_alloc *alloc, const vs_alloc_reserve *reserve);

/* Takes the memory away from the whole pages of a free block. */
VS_MUST_CHECK vs_status vs_alloc_unmap(vs_alloc *alloc, vs_alloc_block *block, vs_context context);

/* The addresses of an extent that is one unmapped block go back. */
VS_MUST_CHECK vs_status vs_alloc_extent_release(vs_alloc *alloc, vs_alloc_block *block);
void vs_alloc_extent_destroy(vs_alloc *alloc, vs_alloc_extent *extent);

/* ---- pools.c -------------------------------------------------------------------------------------------------------- */

static inline uint32_t vs_alloc_recent_of(uint64_t stream) {
  return (uint32_t)((stream * UINT64_C(0x9e3779b97f4a7c15)) >> 62);
}

VS_MUST_CHECK vs_status vs_alloc_lane_of_slow(vs_alloc *alloc, vs_alloc_pool *pool, uint64_t stream,
                                              vs_alloc_lane **lane);

VS_MUST_CHECK static inline vs_status vs_alloc_lane_of(vs_alloc *alloc, vs_alloc_pool *pool, uint64_t stream,
                                                       vs_alloc_lane **lane) {
  *lane = pool->recent[vs_alloc_recent_of(stream)];
  return *lane != NULL && (*lane)->stream == stream ? VS_OK
                                                    : vs_alloc_lane_of_slow(alloc, pool, stream, lane);
}

/* The private pool that the routes give a request; NULL for none. */
vs_alloc_pool *vs_alloc_routed_pool(vs_alloc *alloc, uint64_t rounded, uint64_t stream);

/* The pool that a request belongs to, by size and by routes. */
static inline vs_alloc_pool *vs_alloc_pool_for(vs_alloc *alloc, uint64_t rounded, uint64_t stream) {
  vs_alloc_pool *pool = alloc->routes.count > 0 ? vs_alloc_routed_pool(alloc, rounded, stream) : NULL;
  return pool != NULL ? pool : rounded <= VS_ALLOC_SMALL_SIZE ? &alloc->small : &alloc->large;
}

vs_alloc_owner *vs_alloc_owner_find(const vs_alloc *alloc, vs_pool_id id);
static inline uint64_t vs_alloc_owner_key(vs_pool_id id) { return id.a != 0 ? id.a : id.b; }

/* Forgets a private pool that has neither users nor memory. */
void vs_alloc_owner_destroy(vs_alloc *alloc, vs_alloc_owner *owner);

/* The statistics of a private pool, made if need be. */
vs_alloc_private *vs_alloc_private_find(vs_alloc *alloc, vs_pool_id id);

/* Calls `visit` for every pool there is: the default ones, then the private ones. */
void vs_alloc_for_each_pool(const vs_alloc *alloc, void (*visit)(void *ctx, vs_alloc_pool *pool), void *ctx);
void vs_alloc_pool_deinit(vs_alloc *alloc, vs_alloc_pool *pool);

/* ---- pending.c ------------------------------------------------------------------------------------------------------- */

/* Frees what is done. */
VS_MUST_CHECK vs_status vs_alloc_pending_poll(vs_alloc *alloc, vs_context context);

/* Waits for all events, or for those of one private pool. */
VS_MUST_CHECK vs_status vs_alloc_pending_wait(vs_alloc *alloc, const vs_alloc_owner *only,
                                              vs_context context);

/* Deferred blocks, all or those of one pool, wait for events from now on, or are free. */
VS_MUST_CHECK vs_status vs_alloc_deferred_finish(vs_alloc *alloc, const vs_pool_id *only, vs_context context);

/* A block that was used by other streams and is free now. */
VS_MUST_CHECK vs_status vs_alloc_pending_add(vs_alloc *alloc, vs_alloc_block *block);
void vs_alloc_pending_deinit(vs_alloc *alloc);

/* Whether what is done for `stream` is part of a capture: no event may be asked, frees have to wait for its end. Routes
 * alone are no capture. */
bool vs_alloc_is_captured(const vs_alloc *alloc, uint64_t stream);

static inline bool vs_alloc_is_capturing(const vs_alloc *alloc, uint64_t stream) {
  return alloc->captures > 0 && vs_alloc_is_captured(alloc, stream);
}

/* The same for the caller's stream; `block` (may be NULL) is what it is about. */
bool vs_alloc_is_caller_capturing(const vs_alloc *alloc, const vs_alloc_block *block);

/* ---- reuse.c ----------------------------------------------------------------------------------------------------------- */

/* Puts markers of the end of use into the graph being captured, one for each stream of the block; none if one of these
 * streams is not captured. */
VS_MUST_CHECK vs_status vs_alloc_reuse_mark(vs_alloc *alloc, vs_alloc_deferred *deferred);

/* Frees the deferred blocks whose markers all lie before what `stream` does next. */
VS_MUST_CHECK vs_status vs_alloc_reuse_free(vs_alloc *alloc, uint64_t stream, vs_context context);

/* ---- check.c ------------------------------------------------------------------------------------------------------------- */

/* In the hostile build, after every change. */
static inline void vs_alloc_assert(vs_alloc *alloc) { VS_ASSERT(vs_alloc_check(alloc) == NULL); }

/* The first block of the segment, or of the extent, that `block` lies in. */
static inline vs_alloc_block *vs_alloc_first_of(vs_alloc_block *block) {
  while (block->prev != NULL) block = block->prev;
  return block;
}

#endif
