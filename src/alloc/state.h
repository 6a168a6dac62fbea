/* The allocator's state, which all its files share. Each file may use those above it, and none below:
 *
 *   state.h          the structs, and counting
 *   cache.c          blocks: looking up, splitting, allocating, merging; the steps of every allocation and free
 *   capture_reuse.c  blocks freed in a capture that the same capture may reuse
 *   pending.c        blocks that other streams use: events, queues, deferral during captures
 *   pools.c          private pools, routes to them, lanes, reserved bytes
 *   expandable.c     segments that grow: addresses reserved once, pages mapped and unmapped
 *   segments.c       segments of the driver: allocating, releasing, collecting garbage, emptying the cache
 *   fallbacks.c      the steps when no cached block fits, up to the out-of-memory error
 *   visit.c          segments and blocks in the form of a snapshot
 *   check.c          the invariants
 *   alloc.c          the public functions: creating, allocating, freeing, settings, limits
 *   adopt.c          segments of a recorded run
 *
 * Invariant over all of it (check.c executes it):
 *   reserved  = sum of segments + sum of mapped pages = sum of free + allocated + pending blocks
 *   statistics: allocated_bytes = allocated blocks, active_bytes = allocated + pending, reserved_bytes = reserved,
 *               inactive_split_bytes = free blocks that are split and not expandable; the counts likewise */
#ifndef VS_ALLOC_STATE_H
#define VS_ALLOC_STATE_H

#include "alloc/alloc.h"
#include "alloc/bins.h"
#include "alloc/pytorch_hash_order.h"

#define VS_ALLOC_SMALL_BUFFER (2 * VS_MIB) /* a segment of a small pool, and its expandable page */
#define VS_ALLOC_ROUND_LARGE  (2 * VS_MIB)
#define VS_ALLOC_TOO_LARGE    (UINT64_C(1) << 60) /* such requests fail at once */
#define VS_ALLOC_NO_LIMIT     UINT64_MAX

enum { VS_ALLOC_RECENT_BITS = 4, VS_ALLOC_RECENT = 1 << VS_ALLOC_RECENT_BITS };

typedef struct vs_alloc_owner vs_alloc_owner;

/* One half of the default pools or of a private pool: the blocks for small or for large requests. */
typedef struct vs_alloc_pool {
  bool is_small;
  vs_alloc_part part;                     /* of the statistics */
  vs_alloc_figures *figures;              /* those of `part` */
  vs_alloc_owner *owner;                  /* NULL: a default pool */
  uint64_t lookups;                       /* counted while garbage is collected */
  VS_VEC(vs_alloc_lane *) lanes;          /* by rising stream */
  vs_alloc_lane *recent[VS_ALLOC_RECENT]; /* the last lanes used, by a hash of the stream */
} vs_alloc_pool;

/* A private pool. It lives while it has users or memory. */
struct vs_alloc_owner {
  vs_pool_id id;
  uint64_t users;
  uint64_t reserved; /* bytes of the driver */
  uint64_t calls;    /* allocations of the driver less releases, as PyTorch counts them */
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
  VS_VEC(uint64_t) handles;     /* of page i; 0: not mapped. Pages beyond `count` are not mapped */
  vs_alloc_extent *prev, *next; /* of all extents */
};

/* A stream that was recorded on a block. When the block is freed, it gets an event on that stream. */
struct vs_alloc_use {
  uint64_t stream;
  uint64_t event; /* of the queue; 0 while the block is not pending */
  vs_alloc_block *block;
  vs_alloc_use *next;   /* of the block, while it is allocated; of the stream's queue, while it is pending */
  bool is_from_capture; /* recorded in a capture, too: earlier uses are forgotten, as in PyTorch */
};

/* Events of one stream, in the order in which they complete. */
typedef struct vs_alloc_queue {
  uint64_t stream;
  vs_alloc_use *first, *last;
} vs_alloc_queue;

/* A block freed during a capture. */
typedef struct vs_alloc_deferred {
  vs_alloc_block *block;
  /* The last nodes of its streams, see capture_reuse.c; none: it waits for the end of the capture. */
  VS_VEC(uint64_t) markers;
} vs_alloc_deferred;

/* Pending blocks of a part. */
typedef struct vs_alloc_held {
  int64_t blocks, bytes;
} vs_alloc_held;

typedef struct vs_alloc_class_of_stream {
  uint64_t stream;
  char name[VS_ALLOC_CLASS_NAME];
} vs_alloc_class_of_stream;

struct vs_alloc {
  /* first the members that every allocation and free touches */
  uint64_t allocations; /* made so far; lifetimes are counted in them */
  uint64_t pending;     /* uses in the queues */
  uint64_t waiting;     /* pending + deferred blocks; if not 0, an allocation polls first */
  uint64_t recorded;    /* allocated blocks that have uses */
  uint64_t max_split_size, large_segment;
  bool has_divisions, is_expandable, collects_garbage;
  vs_alloc_blocks blocks;
  vs_alloc_pool small, large;
  vs_observer observer;
  vs_alloc_statistics statistics;

  const vs_host *host;
  vs_device device;
  vs_alloc_hooks hooks;
  vs_alloc_settings settings;
  uint64_t reserved;      /* bytes of the driver */
  uint32_t registrations; /* segments and extents made so far; 0 if the rules do not order by them */
  double fraction;
  uint64_t limit; /* VS_ALLOC_NO_LIMIT, or fraction * the card */

  vs_alloc_hash_order owners;        /* private pools, by id */
  vs_alloc_hash_order freeable;      /* those without users */
  VS_VEC(vs_alloc_private) privates; /* statistics of private pools by rising id */
  vs_alloc_hash_order lenders;       /* private pools with use_on_oom, by id */
  VS_VEC(vs_alloc_route) routes;     /* newest last */
  uint32_t captures;

  vs_alloc_extent *extents;
  VS_VEC(vs_alloc_class_of_stream) stream_classes;

  vs_alloc_hash_order queues;         /* of streams, by their hashes */
  vs_alloc_held held[VS_ALLOC_PARTS]; /* pending blocks */
  VS_VEC(vs_alloc_deferred) deferred;
  VS_VEC(uint64_t) spare_events; /* created once, recorded often */

  bool has_oom;
  vs_alloc_oom oom;
};

/* A request while it is served. */
typedef struct vs_alloc_request {
  uint64_t wanted, size, driver_size; /* requested, rounded, and the size of a new segment for it */
  uint64_t stream;
  vs_context context;
  bool is_expandable; /* from expandable segments; never if the pool has its own source */
  bool asked_source;  /* the pool's own source had no memory */
  vs_alloc_pool *pool;
  vs_alloc_lane *lane;
  vs_alloc_block *block; /* the block that was found; it is in no place */
} vs_alloc_request;

/* ---- statistics and events ----------------------------------------------------------------------------------- */

static inline void vs_alloc_peak_note(vs_alloc_figures *figures, vs_alloc_group group, int64_t value) {
  if (value > figures->peak[group]) figures->peak[group] = value;
}

static inline void vs_alloc_raise(vs_alloc_figures *figures, vs_alloc_group group, int64_t amount) {
  vs_alloc_peak_note(figures, group, figures->current[group] += amount);
}

/* Totals are kept only for the small and the large pools, since those of all memory are their sums. */
static inline void vs_alloc_increase(vs_alloc *alloc, const vs_alloc_pool *pool, vs_alloc_group group,
                                     uint64_t amount) {
  vs_alloc_raise(&alloc->statistics.part[VS_ALLOC_ALL], group, (int64_t)amount);
  vs_alloc_raise(pool->figures, group, (int64_t)amount);
  pool->figures->allocated[group] += (int64_t)amount;
}

static inline void vs_alloc_decrease(vs_alloc *alloc, const vs_alloc_pool *pool, vs_alloc_group group,
                                     uint64_t amount) {
  VS_ASSERT(pool->figures->current[group] >= (int64_t)amount);
  alloc->statistics.part[VS_ALLOC_ALL].current[group] -= (int64_t)amount;
  pool->figures->current[group] -= (int64_t)amount;
}

/* Writes the figures of active blocks, see statistics.h. */
void vs_alloc_active_count(vs_alloc *alloc);

static inline vs_context vs_alloc_either(vs_context first, vs_context second) {
  return first != VS_CONTEXT_NONE ? first : second;
}

static inline bool vs_alloc_has_source(const vs_alloc_pool *pool) {
  return pool->owner != NULL && pool->owner->source.alloc != NULL;
}

static inline vs_pool_id vs_alloc_pool_id(const vs_alloc_pool *pool) {
  return pool->owner != NULL ? pool->owner->id : (vs_pool_id){0, 0};
}

/* Checks everything in the hostile build; called after every change. */
#define vs_alloc_assert(alloc) VS_ASSERT(vs_alloc_check(alloc) == NULL)

#endif
