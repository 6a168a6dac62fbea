/* The caching allocator: PyTorch's decisions for one device, event for event.
 *
 * Requests come in; events (vs_observer) and calls of the driver (vs_device_ops) go out. It takes no lock, reads no
 * clock and calls no operating system: `live` puts a lock around it and polls, a replay feeds it a recording, a test
 * checks it after every call. Equal requests to equal devices get equal answers.
 *
 * Words: a *segment* is one allocation of the driver; it is cut into *blocks*, neighbours by address. A *pool* is a
 * set of free blocks (for small or large requests; default or private). A block belongs to one *stream* for as long
 * as it exists. *Reserved* bytes are held from the driver, *allocated* bytes are blocks that the program holds,
 * *active* bytes are those and freed blocks that another stream may still use.
 *
 * Statuses
 *   VS_DEVICE_MEMORY   out of GPU memory, after every fallback; vs_alloc_last_oom says why
 *   VS_DEVICE          the driver failed otherwise; the operation was not done, and nothing is lost
 *   VS_NO_MEMORY       the host has no memory for the bookkeeping; likewise
 *   VS_NOT_FOUND       no allocation begins at that address
 *   VS_BAD_ARGUMENT    said with each function
 *
 * Sizes are bytes, streams the driver's handles. The caller serialises calls. */
#ifndef VS_ALLOC_ALLOC_H
#define VS_ALLOC_ALLOC_H

#include "alloc/settings.h"
#include "alloc/statistics.h"
#include "device/device.h"
#include "event/event.h"

typedef struct vs_alloc vs_alloc;

/* Functions of the caller, each may be NULL. Only `free_memory` may call the allocator. */
typedef struct vs_alloc_hooks {
  void *ctx;
  /* A request found no cached block. The caller may free memory now; true makes the allocator search again. */
  bool (*free_memory)(void *ctx);
  /* Called around the driver's alloc if release_lock is set. Decisions made before it stand. */
  void (*unlock)(void *ctx);
  void (*lock)(void *ctx);
  /* The hash of a stream in PyTorch's tables; NULL: the handle itself. It decides only which of several finished streams
   * is polled first. */
  uint64_t (*stream_hash)(void *ctx, uint64_t stream);
  /* The caller's current stream. While streams are captured, what free, record_stream and empty_cache do depends on
   * whether this one is. NULL: the block's stream, and for the cache any stream. */
  uint64_t (*current_stream)(void *ctx);
} vs_alloc_hooks;

/* `observer` and `hooks` may be NULL. `device` and what they point to live longer than the allocator. */
VS_MUST_CHECK vs_status vs_alloc_create(const vs_host *host, const vs_device *device,
                                        const vs_alloc_settings *settings, const vs_observer *observer,
                                        const vs_alloc_hooks *hooks, vs_alloc **out);

/* Replaces the observer of events; NULL: none, which makes every call cheaper. */
void vs_alloc_observer_set(vs_alloc *alloc, const vs_observer *observer);

/* Frees the host's memory. Segments stay allocated on the device, as when a process ends: call vs_alloc_release_all first
 * if the device is used further. */
void vs_alloc_destroy(vs_alloc *alloc);

/* Releases all segments, those with allocated blocks too. Afterwards the allocator can only be destroyed.
 * Fails: VS_DEVICE (the first failure; the remaining segments are released), VS_NO_MEMORY (then none was released) */
VS_MUST_CHECK vs_status vs_alloc_release_all(vs_alloc *alloc);

/* ---- allocation ---------------------------------------------------------------------------------------- */

/* `size` 0 gives address 0 and no event. `context` is kept with the block, and its events carry it.
 * Fails: VS_DEVICE_MEMORY, VS_DEVICE, VS_NO_MEMORY */
VS_MUST_CHECK vs_status vs_alloc_malloc(vs_alloc *alloc, uint64_t size, uint64_t stream, vs_context context,
                                        uint64_t *address);

/* Freeing address 0 does nothing. `context` VS_CONTEXT_NONE: the events of the free carry the allocation's.
 * Fails: VS_NOT_FOUND, VS_DEVICE (an event could not be recorded: the block stays pending until the next try) */
VS_MUST_CHECK vs_status vs_alloc_free(vs_alloc *alloc, uint64_t address, vs_context context);

/* Another stream uses the block too: after its free it is reused only when the work that this stream had at that moment
 * is done. Fails: VS_NOT_FOUND, VS_NO_MEMORY */
VS_MUST_CHECK vs_status vs_alloc_record_stream(vs_alloc *alloc, uint64_t address, uint64_t stream);

/* Completes the frees of pending blocks whose events are done, as every allocation does first. Fails: VS_DEVICE */
VS_MUST_CHECK vs_status vs_alloc_poll(vs_alloc *alloc, vs_context context);

/* Releases cached memory: all of it, or that of one released pool. Fails: VS_DEVICE */
VS_MUST_CHECK vs_status vs_alloc_empty_cache(vs_alloc *alloc, vs_pool_id pool, vs_context context);

/* ---- limits and settings -------------------------------------------------------------------------------- */

/* Fails: VS_BAD_ARGUMENT (not within 0 .. 1) */
VS_MUST_CHECK vs_status vs_alloc_fraction_set(vs_alloc *alloc, double fraction);
double vs_alloc_fraction(const vs_alloc *alloc);

/* New settings for later calls. The back end and the rules cannot change. Fails: VS_BAD_ARGUMENT (another back end
 * or rules) */
VS_MUST_CHECK vs_status vs_alloc_settings_apply(vs_alloc *alloc, const vs_alloc_settings *settings);
const vs_alloc_settings *vs_alloc_settings_of(const vs_alloc *alloc);

/* Streams of a class reserve their expandable segments' addresses by the class' setting; "" for none.
 * Fails: VS_NO_MEMORY, VS_LIMIT (the name is too long) */
VS_MUST_CHECK vs_status vs_alloc_stream_class(vs_alloc *alloc, uint64_t stream, vs_str name);

/* ---- private pools and captures -------------------------------------------------------------------------- */

/* Where a pool gets its segments instead of from the driver; alloc returns 0 when it has none. */
typedef struct vs_alloc_source {
  void *ctx;
  uint64_t (*alloc)(void *ctx, uint64_t size, uint64_t stream);
  void (*free)(void *ctx, uint64_t address, uint64_t size, uint64_t stream);
} vs_alloc_source;

/* One more user of a pool, which is made if need be; `source` NULL: the driver. Fails: VS_BAD_ARGUMENT (the default
 * pool, or it is there and `source` is not NULL), VS_NO_MEMORY */
VS_MUST_CHECK vs_status vs_alloc_pool_retain(vs_alloc *alloc, vs_pool_id pool, const vs_alloc_source *source);

/* One user less; without users its cached memory may be released. Fails: VS_NOT_FOUND */
VS_MUST_CHECK vs_status vs_alloc_pool_release(vs_alloc *alloc, vs_pool_id pool);

/* From now on requests that `filter` accepts come from `pool` (one user more, as retain). The newest route that accepts
 * wins. Fails: VS_BAD_ARGUMENT (there is a route to it already), VS_NO_MEMORY */
VS_MUST_CHECK vs_status vs_alloc_route_begin(vs_alloc *alloc, vs_pool_id pool,
                                             bool (*filter)(void *ctx, uint64_t stream), void *ctx);
/* With capture_reuse, blocks of the pool that a capture deferred are free now, or wait for events. Fails: VS_NOT_FOUND,
 * VS_DEVICE, VS_NO_MEMORY */
VS_MUST_CHECK vs_status vs_alloc_route_end(vs_alloc *alloc, vs_pool_id pool, vs_context context);

/* A stream capture began or ended. A route alone is no capture. */
void vs_alloc_capture_begin(vs_alloc *alloc);
void vs_alloc_capture_end(vs_alloc *alloc);

/* _use_on_oom: requests of the default pool may take this pool's cached blocks before they fail. _no_split: blocks
 * of this pool are never split. Fails: VS_NO_MEMORY */
VS_MUST_CHECK vs_status vs_alloc_pool_use_on_oom(vs_alloc *alloc, vs_pool_id pool, bool on);
VS_MUST_CHECK vs_status vs_alloc_pool_no_split(vs_alloc *alloc, vs_pool_id pool);

/* 0 for a pool that is not there. */
uint64_t vs_alloc_pool_users(const vs_alloc *alloc, vs_pool_id pool);

/* ---- figures, segments and blocks -------------------------------------------------------------------------------- */

/* All figures of this moment; some of them are written by this call only. */
const vs_alloc_statistics *vs_alloc_statistics_of(vs_alloc *alloc);
/* num_alloc_retries alone. */
uint64_t vs_alloc_retries(const vs_alloc *alloc);
void vs_alloc_reset_peak(vs_alloc *alloc);
void vs_alloc_reset_totals(vs_alloc *alloc);

/* Private pools that have or had memory, by rising id. *pools is borrowed until the next call that changes pools. */
VS_MUST_CHECK vs_status vs_alloc_private_pools(vs_alloc *alloc, const vs_alloc_private **pools,
                                               uint64_t *count);

/* One stream's part of the cache and of what is allocated. */
typedef struct vs_alloc_stream_figures {
  uint64_t stream;
  vs_pool_id pool;
  bool is_small;
  uint64_t free_blocks, free_bytes;         /* cached and mapped */
  uint64_t allocated_bytes, allocated_peak; /* rounded; the peak since the last reset */
} vs_alloc_stream_figures;
void vs_alloc_visit_streams(const vs_alloc *alloc,
                            void (*visit)(void *ctx, const vs_alloc_stream_figures *figures), void *ctx);

typedef enum vs_alloc_block_state {
  VS_ALLOC_BLOCK_ALLOCATED,
  VS_ALLOC_BLOCK_PENDING, /* freed by the program, and another stream may still use it */
  VS_ALLOC_BLOCK_FREE,
} vs_alloc_block_state;

typedef struct vs_alloc_block_info {
  uint64_t address, size, requested; /* `requested` of a free block: of its last allocation */
  vs_alloc_block_state state;
  vs_context context; /* of the allocation; none for a free block */
} vs_alloc_block_info;

/* A segment as snapshots show it: for an expandable one each contiguous mapped run. `allocated`, `active` (bytes of
 * blocks) and `requested` (of active blocks) are sums over its blocks. */
typedef struct vs_alloc_segment_info {
  uint64_t address, size;
  uint64_t allocated, active, requested;
  uint64_t stream;
  vs_pool_id pool;
  bool is_small, is_expandable;
  vs_context context; /* of the driver's allocation */
  int32_t
      registration; /* of its first block: PyTorch's number of the block object; -1: the rules have none */
} vs_alloc_segment_info;

typedef struct vs_alloc_visitor {
  void *ctx;
  vs_status (*segment)(void *ctx, const vs_alloc_segment_info *segment);
  vs_status (*block)(void *ctx, const vs_alloc_block_info *block); /* of the last segment, in address order */
} vs_alloc_visitor;

/* All segments by rising address, each followed by its blocks. With `pool` not the default one only that pool's.
 * Returns a failure of the visitor. Fails: VS_NO_MEMORY */
VS_MUST_CHECK vs_status vs_alloc_visit(vs_alloc *alloc, vs_pool_id pool, const vs_alloc_visitor *visitor);

/* Makes the event of a snapshot of `pool` (the default pool: of all pools): SNAPSHOT, with the active bytes. */
void vs_alloc_mark_snapshot(vs_alloc *alloc, vs_pool_id pool);

/* The allocation that begins at `address`; false if none does. */
bool vs_alloc_find(const vs_alloc *alloc, uint64_t address, vs_alloc_block_info *block);

/* The beginning of the segment that contains the allocation, and the bytes that are contiguously mapped from there on
 * (getBaseAllocation).
 * Fails: VS_NOT_FOUND */
VS_MUST_CHECK vs_status vs_alloc_base(const vs_alloc *alloc, uint64_t address, uint64_t *base,
                                      uint64_t *size);

/* ---- out of memory --------------------------------------------------------------------------------------- */

/* The last failure. All bytes; `limit` UINT64_MAX: none. */
typedef struct vs_alloc_oom {
  uint64_t requested, rounded, driver_size;
  uint64_t stream;
  vs_pool_id pool;
  uint64_t device_free, device_total, limit;
  uint64_t allocated, reserved, private_free; /* private_free: cached in private pools */
  bool is_rejected;                           /* by throw_on_cudamalloc_oom, before any call of the driver */
  bool is_over_limit; /* the limit of the fraction was exceeded, not the card's memory */
  bool is_expandable; /* the setting is on, whatever the pool */
  bool has_source;    /* the pool's own source had no memory */
  uint64_t
      reserve; /* bytes of addresses that a segment of the stream reserves, if driver_size is above it; else 0 */
  char class_name[VS_ALLOC_CLASS_NAME]; /* the stream's class, if that set it */
  const vs_alloc_rules *rules;          /* never NULL */
} vs_alloc_oom;

/* NULL if there was none. */
const vs_alloc_oom *vs_alloc_last_oom(const vs_alloc *alloc);

/* Appends the message of torch.OutOfMemoryError, field for field. `processes`: its sentences about processes, from the
 * caller; may be empty. */
VS_MUST_CHECK vs_status vs_alloc_oom_write(const vs_alloc_oom *oom, uint32_t device, vs_str processes,
                                           vs_text *out);

/* ---- the check ---------------------------------------------------------------------------------------------- */

/* Executes every invariant; NULL if all hold, else the one that does not, in words. The hostile build does it after
 * every change. */
const char *vs_alloc_check(vs_alloc *alloc);

#endif
