/* The caching allocator: PyTorch's decisions for one device, event for event.
 *
 * Requests come in, events (vs_observer) and calls of the driver (vs_device_ops) go out. It takes no lock, reads no
 * clock and calls no operating system: `live` puts a lock around it and polls, a replay feeds it a recording, a test
 * looks at it after every call. Equal requests to equal devices get equal answers.
 *
 * Words: a *segment* is what the driver gave in one piece; it is cut into *blocks*, neighbours by address. A *pool* is a
 * set of free blocks (small or large requests; default or private); a block belongs to one *stream* for ever. *Reserved*
 * bytes are the driver's, *allocated* ones are in the user's hands, *active* ones too or still in use by another stream.
 *
 * Statuses
 *   VS_DEVICE_MEMORY   out of GPU memory, after every step of the ladder; vs_alloc_last_oom says why
 *   VS_DEVICE          the driver failed otherwise: nothing is lost, what was being done was not done
 *   VS_NO_MEMORY       the host has no memory for the bookkeeping; the same
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

/* What the caller may do for it; each NULL for nothing. No hook may call the allocator, but for `free_memory`. */
typedef struct vs_alloc_hooks {
  void *ctx;
  /* A request found nothing in the cache: can somebody give memory back? True: some was, look again. */
  bool (*free_memory)(void *ctx);
  /* Around alloc of the driver with release_lock. What the allocator decided before stays decided. */
  void (*unlock)(void *ctx);
  void (*lock)(void *ctx);
  /* A number that tells streams apart in the order of PyTorch's tables; NULL: the handle itself. It matters only for
   * which of several finished streams is looked at first. */
  uint64_t (*stream_hash)(void *ctx, uint64_t stream);
  /* The stream that the caller works on. What a free, a recorded stream or an emptied cache does while streams are
   * captured depends on whether this one is. NULL: the block's stream, and for the cache any stream. */
  uint64_t (*current_stream)(void *ctx);
} vs_alloc_hooks;

/* `observer` and `hooks` may be NULL. `device` and what they point to live longer than the allocator. */
VS_MUST_CHECK vs_status vs_alloc_create(const vs_host *host, const vs_device *device,
                                        const vs_alloc_settings *settings, const vs_observer *observer,
                                        const vs_alloc_hooks *hooks, vs_alloc **out);

/* Who hears of events from now on; NULL: nobody, which makes every call cheaper. */
void vs_alloc_observer_set(vs_alloc *alloc, const vs_observer *observer);

/* Gives the host's memory back. Segments stay with the device, as they do when a process ends: call
 * vs_alloc_release_all first where the device lives on. */
void vs_alloc_destroy(vs_alloc *alloc);

/* Gives all segments back to the driver, whoever uses them. Afterwards the allocator can only be destroyed.
 * Fails: VS_DEVICE (the first failure; the others are tried all the same), VS_NO_MEMORY (then nothing was given back) */
VS_MUST_CHECK vs_status vs_alloc_release_all(vs_alloc *alloc);

/* ---- allocation ---------------------------------------------------------------------------------------- */

/* `size` 0 is answered with address 0 and no event. `context` is kept with the block and told with its events.
 * Fails: VS_DEVICE_MEMORY, VS_DEVICE, VS_NO_MEMORY */
VS_MUST_CHECK vs_status vs_alloc_malloc(vs_alloc *alloc, uint64_t size, uint64_t stream, vs_context context,
                                        uint64_t *address);

/* Address 0 is nothing. `context` VS_CONTEXT_NONE: the events of the free carry the allocation's.
 * Fails: VS_NOT_FOUND, VS_DEVICE (an event could not be recorded: the block stays pending until the next try) */
VS_MUST_CHECK vs_status vs_alloc_free(vs_alloc *alloc, uint64_t address, vs_context context);

/* The block is used by another stream too: once freed it is handed out again only when what that stream had been given
 * until then is done. Fails: VS_NOT_FOUND, VS_NO_MEMORY */
VS_MUST_CHECK vs_status vs_alloc_record_stream(vs_alloc *alloc, uint64_t address, uint64_t stream);

/* Looks which pending blocks are done, as every allocation does first. Fails: VS_DEVICE */
VS_MUST_CHECK vs_status vs_alloc_poll(vs_alloc *alloc, vs_context context);

/* Gives cached memory back to the driver: all of it, or that of one released pool. Fails: VS_DEVICE */
VS_MUST_CHECK vs_status vs_alloc_empty_cache(vs_alloc *alloc, vs_pool_id pool, vs_context context);

/* ---- limits and settings -------------------------------------------------------------------------------- */

/* Fails: VS_BAD_ARGUMENT (not within 0 .. 1) */
VS_MUST_CHECK vs_status vs_alloc_fraction_set(vs_alloc *alloc, double fraction);
double vs_alloc_fraction(const vs_alloc *alloc);

/* New settings for what comes. The back end and the rules stay. Fails: VS_BAD_ARGUMENT (another back end or rules) */
VS_MUST_CHECK vs_status vs_alloc_settings_apply(vs_alloc *alloc, const vs_alloc_settings *settings);
const vs_alloc_settings *vs_alloc_settings_of(const vs_alloc *alloc);

/* Streams of a class reserve their expandable segments' addresses by the class' setting; "" for none.
 * Fails: VS_NO_MEMORY, VS_LIMIT (the name is too long) */
VS_MUST_CHECK vs_status vs_alloc_stream_class(vs_alloc *alloc, uint64_t stream, vs_str name);

/* ---- private pools and captures -------------------------------------------------------------------------- */

/* Where a pool gets its segments in place of the driver; alloc answers 0 when it has none. */
typedef struct vs_alloc_source {
  void *ctx;
  uint64_t (*alloc)(void *ctx, uint64_t size, uint64_t stream);
  void (*free)(void *ctx, uint64_t address, uint64_t size, uint64_t stream);
} vs_alloc_source;

/* One more user of a pool, which is made if need be; `source` NULL: the driver. Fails: VS_BAD_ARGUMENT (the default
 * pool, or it is there and `source` is not NULL), VS_NO_MEMORY */
VS_MUST_CHECK vs_status vs_alloc_pool_retain(vs_alloc *alloc, vs_pool_id pool, const vs_alloc_source *source);

/* One user less; without users its cached memory may go back to the driver. Fails: VS_NOT_FOUND */
VS_MUST_CHECK vs_status vs_alloc_pool_release(vs_alloc *alloc, vs_pool_id pool);

/* From now on requests that `filter` accepts come from `pool` (one user more, as retain). The newest route that accepts
 * wins. Fails: VS_BAD_ARGUMENT (there is a route to it already), VS_NO_MEMORY */
VS_MUST_CHECK vs_status vs_alloc_route_begin(vs_alloc *alloc, vs_pool_id pool,
                                             bool (*filter)(void *ctx, uint64_t stream), void *ctx);
/* With capture_reuse, blocks of the pool that a capture deferred are free now, or wait for events. Fails: VS_NOT_FOUND,
 * VS_DEVICE, VS_NO_MEMORY */
VS_MUST_CHECK vs_status vs_alloc_route_end(vs_alloc *alloc, vs_pool_id pool, vs_context context);

/* A stream capture really began, really ended (routes alone need no capture). */
void vs_alloc_capture_begin(vs_alloc *alloc);
void vs_alloc_capture_end(vs_alloc *alloc);

/* The default pool may take this pool's cached blocks before it gives up; blocks of this pool are never split.
 * Fails: VS_NO_MEMORY */
VS_MUST_CHECK vs_status vs_alloc_pool_use_on_oom(vs_alloc *alloc, vs_pool_id pool, bool on);
VS_MUST_CHECK vs_status vs_alloc_pool_no_split(vs_alloc *alloc, vs_pool_id pool);

/* 0 for a pool that is not there. */
uint64_t vs_alloc_pool_users(const vs_alloc *alloc, vs_pool_id pool);

/* ---- what there is -------------------------------------------------------------------------------------- */

const vs_alloc_statistics *vs_alloc_statistics_of(const vs_alloc *alloc);
void vs_alloc_reset_peak(vs_alloc *alloc);
void vs_alloc_reset_totals(vs_alloc *alloc);

/* Private pools that have or had memory, in rising id. *pools is borrowed until the next call that changes pools. */
VS_MUST_CHECK vs_status vs_alloc_private_pools(vs_alloc *alloc, const vs_alloc_private **pools,
                                               uint64_t *count);

/* One stream's part of the cache and of what is allocated. */
typedef struct vs_alloc_stream_figures {
  uint64_t stream;
  vs_pool_id pool;
  bool is_small;
  uint64_t free_blocks, free_bytes;         /* cached and mapped */
  uint64_t allocated_bytes, allocated_peak; /* blocks handed out, rounded; the peak since the last reset */
} vs_alloc_stream_figures;
void vs_alloc_visit_streams(const vs_alloc *alloc,
                            void (*visit)(void *ctx, const vs_alloc_stream_figures *figures), void *ctx);

typedef enum vs_alloc_block_state {
  VS_ALLOC_BLOCK_ALLOCATED,
  VS_ALLOC_BLOCK_PENDING, /* freed by the user, in use by another stream */
  VS_ALLOC_BLOCK_FREE,
} vs_alloc_block_state;

typedef struct vs_alloc_block_info {
  uint64_t address, size, requested; /* `requested` of a free block: the last time */
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
      registration; /* of its first block: PyTorch's number of the block object, -1 where the rules have none */
} vs_alloc_segment_info;

typedef struct vs_alloc_visitor {
  void *ctx;
  vs_status (*segment)(void *ctx, const vs_alloc_segment_info *segment);
  vs_status (*block)(void *ctx, const vs_alloc_block_info *block); /* of the last segment, in address order */
} vs_alloc_visitor;

/* All segments by rising address, each followed by its blocks. With `pool` not the default one only that pool's.
 * Passes a failure of the visitor on. Fails: VS_NO_MEMORY */
VS_MUST_CHECK vs_status vs_alloc_visit(vs_alloc *alloc, vs_pool_id pool, const vs_alloc_visitor *visitor);

/* As a snapshot of `pool` (the default one: of all) does: tells the observer (SNAPSHOT, active bytes). */
void vs_alloc_mark_snapshot(vs_alloc *alloc, vs_pool_id pool);

/* The allocation that begins at `address`; false if none does. */
bool vs_alloc_find(const vs_alloc *alloc, uint64_t address, vs_alloc_block_info *block);

/* The segment that the allocation lies in, and how much of it is behind it contiguously mapped (getBaseAllocation).
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
  bool is_over_limit;                         /* the fraction refused, not the card */
  bool is_expandable;                         /* the setting is on, whatever the pool */
  bool has_source;                            /* the pool's own source had none */
  uint64_t
      reserve; /* of addresses, where driver_size is above what the stream's segments may reserve; else 0 */
  char class_name[VS_ALLOC_CLASS_NAME]; /* the stream's class, if that set it */
  const vs_alloc_rules *rules;          /* never NULL */
} vs_alloc_oom;

/* NULL if there was none. */
const vs_alloc_oom *vs_alloc_last_oom(const vs_alloc *alloc);

/* Appends the message of torch.OutOfMemoryError, field for field. `processes`: the sentences about processes, which
 * somebody else knows; may be empty. */
VS_MUST_CHECK vs_status vs_alloc_oom_write(const vs_alloc_oom *oom, uint32_t device, vs_str processes,
                                           vs_text *out);

/* ---- inside ---------------------------------------------------------------------------------------------- */

/* Executes every invariant; NULL if all hold, else the sentence that does not. The hostile build does it after every
 * change. */
const char *vs_alloc_check(vs_alloc *alloc);

#endif
