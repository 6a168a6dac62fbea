/* vramscope live: a caching allocator of GPU memory inside your process, whose state and history are open to
 * inspection.
 *
 * It makes the decisions of PyTorch's allocator (the same sizes, segments and statistics, and with the same driver
 * the same addresses), for any number of cards, and reports them: statistics, scopes, a history, snapshots that
 * PyTorch's tools open, and a recording that survives the process.
 *
 *   vs_live *live;
 *   vs_live_open(&(vs_live_options){.gpus = "8GiB"}, &live, &error);       a simulated card of 8 GiB
 *   vs_live_malloc(live, 0, bytes, stream, &address);
 *   ...
 *   vs_live_free(live, 0, address);
 *   vs_live_close(live, &error);
 *
 * Units     Sizes are bytes, times microseconds. Addresses are device addresses, which the processor cannot read.
 *           `device` is a number from 0 to vs_live_device_count - 1. Streams are the driver's handles; 0 is the default
 *           stream, which every card has.
 * Threads   Every function except vs_live_open and vs_live_close may be called from any thread at any time. Each card has its own
 *           lock. A thread's stack and metadata concern that thread only.
 * Fork      A child process may only call vs_live_close.
 * Statuses  VS_BAD_ARGUMENT is also: no such device. VS_NO_MEMORY is the host's memory, VS_DEVICE_MEMORY the card's,
 *           VS_DEVICE any other failure of the driver. A function that fails has changed nothing, unless it says so.
 * Sentences The reason of a failure is in `error`, if the function has one, else in vs_live_error_text.
 * Stable    Structs that a program passes or has filled may get more members at their ends: the functions that take them are inline
 *           and pass their size (the `..._sized` beside them is for languages without our headers). So may vs_live_oom, which the
 *           library makes. vs_live_process, vs_live_frame, vs_live_pool and vs_scope_bytes do not change.
 * Back ends backend:cudaMallocAsync in the settings leaves memory to the driver's own pool. History, snapshots and
 *           recordings are then VS_UNSUPPORTED, observers of failures are not called, and the only figures are allocated and
 *           reserved bytes and their peaks, as in PyTorch.
 * Real      Cards of the CUDA driver ("cuda") are found when the object is opened, which initialises the driver and makes no
 * cards     context; the first call that needs one makes the card's primary context, which the whole process shares. Threads keep
 *           their current context and capture mode. Streams are the driver's (cudaStream_t as a number).
 * Sources   "as PyTorch": as PyTorch 2.15 does it, by its documentation and by running it (docs/formats/snapshot.md).
 */
#ifndef VRAMSCOPE_LIVE_H
#define VRAMSCOPE_LIVE_H

#include <vramscope/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct vs_live vs_live;

/* A call stack: a number from vs_live_stack. */
typedef uint32_t vs_stack;
#define VS_STACK_NONE UINT32_MAX

/* ---- open and close --------------------------------------------------------------------------------------- */

/* A process that uses memory of a card, for the message of a failure. */
typedef struct vs_live_process {
  uint64_t pid, bytes;
  bool is_self;
} vs_live_process;

/* All zero are the defaults. Texts are read during the call only. */
typedef struct vs_live_options {
  /* Memory for the bookkeeping; NULL: vs_host_default(). Several threads call it at once. */
  const vs_host *host;

  /* The cards: simulated ones as `vramscope dryrun --gpu` takes them: "8GiB", "H100", "RTX4090:20GiB", "2xA100". Or those
   * of the machine, by its CUDA driver: "cuda" is all that CUDA_VISIBLE_DEVICES leaves, "cuda:0,2" some of them, by the
   * driver's numbers and in that order; see "real cards". NULL: the variable VRAMSCOPE_GPU, and without it one simulated
   * H100. */
  const char *gpus;

  /* Allocator settings in PyTorch's words: "expandable_segments:True,max_split_size_mb:128". NULL: the variable
   * VRAMSCOPE_ALLOC_CONF, else PYTORCH_CUDA_ALLOC_CONF, else PYTORCH_ALLOC_CONF. */
  const char *settings;

  /* Record to this new .vram file from the beginning; NULL: not. See vs_live_recording_begin. */
  const char *recording;
  bool replace_recording; /* an existing file */

  /* When a simulated card completes the work of a stream. false: at once. true: at vs_live_synchronize, so that
   * memory which other streams use stays pending as long as possible. */
  bool done_at_sync;

  /* The time of events, microseconds since 1970; NULL: the system's clock. Several threads call it at once. With
   * your own clock a recording contains nothing of the real process (its number, its threads) and loses no event: a
   * full buffer waits. So equal runs write equal files. */
  int64_t (*time)(void *ctx);
  void *time_ctx;

  /* The calling thread's current stream, for programs that have one; NULL: a free belongs to the stream of its
   * allocation. It matters only while streams are captured. Called with the card's lock held. */
  uint64_t (*current_stream)(void *ctx, uint32_t device);
  void *current_stream_ctx;

  /* Stores up to `capacity` processes that use memory of the card, for the message of a failure, and returns their
   * number. NULL: the message has no processes, except that of a simulated card, which is used by this process only.
   * Called by the thread that asks for the message, with no lock held. */
  size_t (*processes)(void *ctx, uint32_t device, vs_live_process *rows, size_t capacity);
  void *processes_ctx;

  /* Of `recording`: as in vs_recording_options. */
  bool recording_drops;
  uint32_t recording_wait_ms;
} vs_live_options;

/* Owner: the caller, vs_live_close. `options` may be NULL.
 * Fails: VS_BAD_ARGUMENT, VS_BAD_FORMAT  the cards or the settings; `error` has the sentence, with "did you mean", and the offset in
 *                                        that text
 *        VS_NOT_FOUND, VS_UNSUPPORTED    there is no CUDA driver, or it cannot be used
 *        VS_IO  the recording; VS_NO_MEMORY */
VS_API VS_MUST_CHECK vs_status vs_live_open_sized(const vs_live_options *options, size_t size, vs_live **live,
                                                  vs_error *error);
__attribute__((unused)) static inline VS_MUST_CHECK vs_status vs_live_open(const vs_live_options *options,
                                                                           vs_live **live, vs_error *error) {
  return vs_live_open_sized(options, sizeof *options, live, error);
}

/* Ends the recording and open scopes, releases all memory of the cards, allocated blocks too, and frees the object. (Allocations of
 * backend:cudaMallocAsync on a real card stay with the process.) Does nothing for NULL.
 * Fails: VS_IO                    the recording ended early; `error` says why; everything else was done
 *        VS_LIMIT                 events are missing in the recording, because its writer could not keep up; `error` says how
 *                                 many, and from when on; everything else was done
 *        VS_DEVICE, VS_NO_MEMORY  memory of a real card stays with the process; everything else was done */
VS_API VS_MUST_CHECK vs_status vs_live_close(vs_live *live, vs_error *error);

/* The reason of this thread's last failure with this object, of a function without `error`: one sentence without a
 * final full stop ("no statistic \"allocated_bytes.all.peek\": did you mean \"allocated_bytes.all.peak\"?"); "" if
 * none failed. Borrowed until the next failure of this thread. */
VS_API const char *vs_live_error_text(const vs_live *live);

VS_API uint32_t vs_live_device_count(const vs_live *live);

typedef struct vs_live_device_info {
  char name[96]; /* the driver's, NUL terminated */
  uint64_t total_bytes;
  bool is_simulated;
} vs_live_device_info;

/* Fails: VS_BAD_ARGUMENT */
VS_API VS_MUST_CHECK vs_status vs_live_device_of_sized(const vs_live *live, uint32_t device,
                                                       vs_live_device_info *info, size_t size);
__attribute__((unused)) static inline VS_MUST_CHECK vs_status vs_live_device_of(const vs_live *live,
                                                                                uint32_t device,
                                                                                vs_live_device_info *info) {
  return vs_live_device_of_sized(live, device, info, sizeof *info);
}

/* ---- memory ----------------------------------------------------------------------------------------------- */

/* Allocates `size` bytes for work on `stream`; 0 bytes give address 0. As in PyTorch it may first poll pending
 * memory, release cached memory, and wait for the card.
 *
 * Observers: those of vs_live_observe_oom, if there is not enough memory.
 * Fails: VS_DEVICE_MEMORY  vs_live_oom_write writes the message
 *        VS_DEVICE, VS_NO_MEMORY, VS_BAD_ARGUMENT */
VS_API VS_MUST_CHECK vs_status vs_live_malloc(vs_live *live, uint32_t device, uint64_t size, uint64_t stream,
                                              uint64_t *address);

/* Frees an allocation, from any thread; does nothing for address 0. Work that was launched on its stream before may
 * still use it. The memory stays in this object's cache.
 *
 * Fails: VS_NOT_FOUND  no allocation begins there. VS_DEVICE  it was freed, but stays pending until a later call */
VS_API VS_MUST_CHECK vs_status vs_live_free(vs_live *live, uint32_t device, uint64_t address);

/* Work on another stream uses it, too: after its free it is reused only when the work that this stream had at that
 * moment is done (torch.Tensor.record_stream). Fails: VS_NOT_FOUND, VS_NO_MEMORY */
VS_API VS_MUST_CHECK vs_status vs_live_record_stream(vs_live *live, uint32_t device, uint64_t address,
                                                     uint64_t stream);

/* Releases the cached memory of all cards (torch.cuda.empty_cache). Fails: VS_DEVICE (of one card; the others
 * released theirs) */
VS_API VS_MUST_CHECK vs_status vs_live_empty_cache(vs_live *live);

/* Limits this object to a part of the card's total, 0 to 1; 1 is no limit
 * (torch.cuda.set_per_process_memory_fraction). Memory that is reserved already stays. Fails: VS_BAD_ARGUMENT */
VS_API VS_MUST_CHECK vs_status vs_live_fraction_set(vs_live *live, uint32_t device, double fraction);
VS_API VS_MUST_CHECK vs_status vs_live_fraction(vs_live *live, uint32_t device, double *fraction);

/* New settings for later calls, on all cards. As in PyTorch each call resets max_split_size_mb,
 * roundup_power2_divisions and garbage_collection_threshold to their defaults unless `text` sets them. Fails:
 * VS_BAD_FORMAT (`error` has the sentence and the byte), VS_BAD_ARGUMENT (another back end or version) */
VS_API VS_MUST_CHECK vs_status vs_live_settings_apply(vs_live *live, const char *text, vs_error *error);

/* Writes the settings in effect, a line each, and a line for each that has no effect. Fails as `to` does. */
VS_API VS_MUST_CHECK vs_status vs_live_settings_write(vs_live *live, vs_writer to);

/* A new stream of a simulated card. Fails: VS_NO_MEMORY, VS_UNSUPPORTED (the card is real: its driver makes streams) */
VS_API VS_MUST_CHECK vs_status vs_live_stream_create(vs_live *live, uint32_t device, uint64_t *stream);

/* Waits until the work of `stream` is done. Fails: VS_DEVICE */
VS_API VS_MUST_CHECK vs_status vs_live_synchronize(vs_live *live, uint32_t device, uint64_t stream);

/* ---- private pools: separate memory for a part of a program, such as a captured graph ------------------------ */

/* Any two numbers but 0, 0, which are the default pool. */
typedef struct vs_live_pool {
  uint64_t a, b;
} vs_live_pool;

/* Requests whose stream `filter` accepts (NULL: all) are served from `pool` from now on. It is created if need be,
 * and gets one more user (torch.cuda.graph's beginAllocateToPool). If several pools accept, the newest one serves.
 * `filter` is called with the card's lock held, until vs_live_pool_end returns. Fails: VS_BAD_ARGUMENT (the default
 * pool, or begun already), VS_NO_MEMORY, VS_UNSUPPORTED (backend:cudaMallocAsync) */
VS_API VS_MUST_CHECK vs_status vs_live_pool_begin(vs_live *live, uint32_t device, vs_live_pool pool,
                                                  bool (*filter)(void *ctx, uint64_t stream), void *ctx);
/* Fails: VS_NOT_FOUND (it was not begun), VS_DEVICE, VS_NO_MEMORY */
VS_API VS_MUST_CHECK vs_status vs_live_pool_end(vs_live *live, uint32_t device, vs_live_pool pool);

/* One user less; without users its cached memory may be released. Fails: VS_NOT_FOUND */
VS_API VS_MUST_CHECK vs_status vs_live_pool_release(vs_live *live, uint32_t device, vs_live_pool pool);

/* Streams of the card are captured between the two calls. Memory that is freed then and used by other streams stays
 * pending until the second call, because a captured stream cannot be queried. They nest. Fails: VS_BAD_ARGUMENT */
VS_API VS_MUST_CHECK vs_status vs_live_capture_begin(vs_live *live, uint32_t device);
VS_API VS_MUST_CHECK vs_status vs_live_capture_end(vs_live *live, uint32_t device);

/* ---- statistics ------------------------------------------------------------------------------------------- */

/* The most used figures; the names are those of torch.cuda. */
typedef struct vs_live_memory {
  /* Blocks that the program holds, rounded (memory_allocated, max_memory_allocated). */
  uint64_t allocated, allocated_peak;
  uint64_t reserved, reserved_peak;   /* held from the card (memory_reserved, max_memory_reserved) */
  uint64_t requested, requested_peak; /* of active blocks, before rounding */
  uint64_t active, active_peak;       /* allocated, and freed blocks that another stream may still use */
} vs_live_memory;
VS_API VS_MUST_CHECK vs_status vs_live_memory_of_sized(vs_live *live, uint32_t device, vs_live_memory *memory,
                                                       size_t size);
__attribute__((unused)) static inline VS_MUST_CHECK vs_status vs_live_memory_of(vs_live *live,
                                                                                uint32_t device,
                                                                                vs_live_memory *memory) {
  return vs_live_memory_of_sized(live, device, memory, sizeof *memory);
}

/* Free and total bytes of the card as its driver reports them, with all processes (torch.cuda.mem_get_info). */
VS_API VS_MUST_CHECK vs_status vs_live_memory_info(vs_live *live, uint32_t device, uint64_t *free_bytes,
                                                   uint64_t *total_bytes);

/* Likewise after releasing this object's cached memory of that card, whose cache is empty then (fastai's
 * gpu_mem_get_free_no_cache). Fails: VS_DEVICE */
VS_API VS_MUST_CHECK vs_status vs_live_memory_info_no_cache(vs_live *live, uint32_t device,
                                                            uint64_t *free_bytes, uint64_t *total_bytes);

/* All figures at one moment. total - free is the memory of all processes; `reserved` is this object's part of it. */
typedef struct vs_live_room {
  uint64_t total, free; /* of the card */
  uint64_t reserved;    /* held from the card by this object */
  uint64_t allocated;   /* of it, held by the program */
  uint64_t cached;      /* of it, in the cache: reserved - allocated */
  uint64_t waiting;     /* of `cached`, pending free: another stream may still use it */
} vs_live_room;
VS_API VS_MUST_CHECK vs_status vs_live_room_of_sized(vs_live *live, uint32_t device, vs_live_room *room,
                                                     size_t size);
__attribute__((unused)) static inline VS_MUST_CHECK vs_status vs_live_room_of(vs_live *live, uint32_t device,
                                                                              vs_live_room *room) {
  return vs_live_room_of_sized(live, device, room, sizeof *room);
}

/* The segment of the allocation that begins at `address`: its beginning, and the number of contiguous bytes from
 * there on, as sharing memory with another process needs them. With backend:cudaMallocAsync each allocation is a
 * segment of unknown size (0). Fails: VS_NOT_FOUND */
VS_API VS_MUST_CHECK vs_status vs_live_base(vs_live *live, uint32_t device, uint64_t address, uint64_t *base,
                                            uint64_t *size);

/* Every key of torch.cuda.memory_stats(), flat ("allocated_bytes.all.peak") and sorted. `key` is borrowed for the call,
 * in which no function of this header may be used. Returns a failure of `visit`. */
typedef vs_status (*vs_live_visit)(void *ctx, vs_str key, int64_t value);
VS_API VS_MUST_CHECK vs_status vs_live_statistics(vs_live *live, uint32_t device, vs_live_visit visit,
                                                  void *ctx);

/* One of them. Fails: VS_NOT_FOUND */
VS_API VS_MUST_CHECK vs_status vs_live_statistic(vs_live *live, uint32_t device, const char *key,
                                                 int64_t *value);

/* Figures that PyTorch does not count, in the same form, since the totals were reset:
 *   requests.cache ... .failed   allocations by the step that served them: a cached block; new memory of the driver; after
 *                                releasing cached memory ("release", "retry"); out of memory. The cache's hit rate is
 *                                requests.cache over their sum
 *   sizes.4096                   allocations of 4096 to 8191 requested bytes
 *   lifetimes.8                  frees of allocations since which 8 to 15 allocations were made, that one included
 *   stream.0.small.cached_bytes  cached blocks of one stream and size of pool; .cached_blocks, .allocated_bytes,
 *                                .allocated_peak (since peaks were reset); after "pool.0_1." if the pool is private
 * With backend:cudaMallocAsync there are none. Returns a failure of `visit`. */
VS_API VS_MUST_CHECK vs_status vs_live_extras(vs_live *live, uint32_t device, vs_live_visit visit, void *ctx);

/* torch.cuda.memory_summary(device, abbreviated), byte for byte. Fails as `to` does. */
VS_API VS_MUST_CHECK vs_status vs_live_summary_write(vs_live *live, uint32_t device, bool abbreviated,
                                                     vs_writer to);

/* _peak sets all peaks to the current values; _totals sets the totals of allocated and freed, and the counters, to 0
 * (torch.cuda.reset_peak_memory_stats, reset_accumulated_memory_stats). Scopes are not affected. */
VS_API VS_MUST_CHECK vs_status vs_live_reset_peak(vs_live *live, uint32_t device);
VS_API VS_MUST_CHECK vs_status vs_live_reset_totals(vs_live *live, uint32_t device);

/* ---- scopes ----------------------------------------------------------------------------------------------- */

/* The memory that a part of a program takes: exact, however many scopes are open at the same time.
 *
 *   vs_scope *scope;
 *   vs_live_scope_begin(live, 0, &scope);
 *   ...
 *   vs_live_scope_end(scope, &figures);
 *
 * Scopes may nest and overlap, end in any order and on any thread, and never change a peak of another scope or of
 * the statistics. While none is open on a card they cost nothing. */
typedef struct vs_scope vs_scope;

/* One kind of bytes during a scope, of all threads on the scope's card. */
typedef struct vs_scope_bytes {
  uint64_t start, end, peak; /* end: now, while the scope is open */
  int64_t used;              /* end - start */
  /* peak - max(start, end): memory that was needed only temporarily; fastai's GPUMemTrace has the same name for it. */
  uint64_t peaked;
} vs_scope_bytes;

typedef struct vs_scope_figures {
  vs_scope_bytes allocated, requested, active, reserved; /* as in vs_live_memory */
  /* Of the thread that began the scope: what it allocated less what it freed. Negative if it frees memory of other
   * threads. */
  int64_t thread_used;
  int64_t thread_peak;         /* the largest thread_used so far; at least 0 */
  uint64_t allocations, frees; /* on the card */
} vs_scope_figures;

/* Owner: the caller, vs_live_scope_end. Fails: VS_NO_MEMORY, VS_BAD_ARGUMENT */
VS_API VS_MUST_CHECK vs_status vs_live_scope_begin(vs_live *live, uint32_t device, vs_scope **scope);

/* The figures up to now; the scope stays open. */
VS_API void vs_live_scope_read_sized(vs_scope *scope, vs_scope_figures *figures, size_t size);
__attribute__((unused)) static inline void vs_live_scope_read(vs_scope *scope, vs_scope_figures *figures) {
  vs_live_scope_read_sized(scope, figures, sizeof *figures);
}

/* `figures` may be NULL; so may `scope`. */
VS_API void vs_live_scope_end_sized(vs_scope *scope, vs_scope_figures *figures, size_t size);
__attribute__((unused)) static inline void vs_live_scope_end(vs_scope *scope, vs_scope_figures *figures) {
  vs_live_scope_end_sized(scope, figures, sizeof *figures);
}

/* ---- stacks, annotations, metadata ----------------------------------------------------------------------------------------- */

/* A call with names. */
typedef struct vs_live_frame {
  const char *function;
  const char *file;
  int64_t line;
} vs_live_frame;

/* The number of a stack; equal stacks have equal numbers. Innermost call first; of more than 128 frames the
 * innermost ones. Fails: VS_LIMIT (no room for more stacks) */
VS_API VS_MUST_CHECK vs_status vs_live_stack(vs_live *live, const vs_live_frame *frames, size_t count,
                                             vs_stack *stack);

/* Sets the stack of this thread for its allocations and frees from now on; VS_STACK_NONE: none. Returns the one before. */
VS_API vs_stack vs_live_stack_set(vs_live *live, vs_stack stack);

/* The two ends of a named part of the program, such as a training step, on the time axis of `device`. Kept while
 * history is on or a recording is written. Fails: VS_NO_MEMORY, VS_BAD_ARGUMENT */
VS_API VS_MUST_CHECK vs_status vs_live_annotation_begin(vs_live *live, uint32_t device, const char *name);
VS_API VS_MUST_CHECK vs_status vs_live_annotation_end(vs_live *live, uint32_t device, const char *name);

/* A text for the events of this thread from now on (torch.cuda.memory._set_memory_metadata); "" or NULL: none.
 * Fails: VS_NO_MEMORY, VS_LIMIT (more than 64 KiB) */
VS_API VS_MUST_CHECK vs_status vs_live_metadata_set(vs_live *live, const char *text);

/* ---- out of memory ---------------------------------------------------------------------------------------- */

/* A failed allocation. */
typedef struct vs_live_oom {
  uint32_t device;
  bool is_rejected;     /* by throw_on_cudamalloc_oom, before all fallbacks were tried */
  uint64_t requested;   /* by the caller */
  uint64_t driver_size; /* of the segment that it needed; PyTorch passes this one to its observers */
  uint64_t stream;
  uint64_t device_free, device_total;
  uint64_t limit;               /* of vs_live_fraction_set; UINT64_MAX: none */
  uint64_t allocated, reserved; /* by this object, at that moment */
} vs_live_oom;

typedef enum vs_live_oom_kind { VS_LIVE_ON_OOM, VS_LIVE_ON_REJECTION } vs_live_oom_kind;
typedef void (*vs_live_oom_observer)(void *ctx, const vs_live_oom *oom);

/* Calls `observer` for every failure from now on, on the thread that fails, with no lock held. It may use every
 * function of this header except vs_live_close; failures inside it are not reported. Observers are called in the
 * order of their registration. *id is for vs_live_unobserve_oom, which returns when no call of the observer runs any
 * more; an observer may remove itself. Fails: VS_LIMIT (there are 32), VS_BAD_ARGUMENT */
VS_API VS_MUST_CHECK vs_status vs_live_observe_oom(vs_live *live, vs_live_oom_kind kind,
                                                   vs_live_oom_observer observer, void *ctx, uint32_t *id);
VS_API void vs_live_unobserve_oom(vs_live *live, uint32_t id);

/* Writes the message of this thread's last failure, word for word that of torch.OutOfMemoryError. Fails:
 * VS_NOT_FOUND (there was none), and as `to` does */
VS_API VS_MUST_CHECK vs_status vs_live_oom_write(vs_live *live, vs_writer to);

/* ---- history and snapshots -------------------------------------------------------------------------------- */

typedef enum vs_history_enabled {
  VS_HISTORY_OFF,   /* nothing is kept; earlier events are dropped */
  VS_HISTORY_STATE, /* the last event only, and the stacks of blocks */
  VS_HISTORY_EVENTS /* the last `max_entries` events of each card ("all") */
} vs_history_enabled;

/* Where stacks are taken and kept; each level includes the ones above it. */
typedef enum vs_history_context {
  VS_HISTORY_CONTEXT_NEVER,
  VS_HISTORY_CONTEXT_STATE, /* with blocks and segments */
  VS_HISTORY_CONTEXT_ALLOC, /* and with events; a free has the allocation's stack */
  VS_HISTORY_CONTEXT_ALL    /* and frees have their own stack */
} vs_history_context;

typedef enum vs_history_stacks {
  VS_HISTORY_STACKS_GIVEN, /* the thread's stack of vs_live_stack_set */
  VS_HISTORY_STACKS_NATIVE /* the native stack, if the thread has set none */
} vs_history_stacks;

typedef struct vs_history_options {
  vs_history_enabled enabled;
  vs_history_context context;
  vs_history_stacks stacks;
  uint64_t max_entries; /* 0: 1, as PyTorch; UINT64_MAX: no bound */
  bool clear;           /* forget what was kept before */
  /* Names of actions that are not kept, separated by commas: "segment_alloc,snapshot"; NULL: all are. */
  const char *skip_actions;
} vs_history_options;

/* Keeps history from now on, by these rules (torch.cuda.memory._record_memory_history). A smaller `max_entries` than
 * before drops the oldest. Fails: VS_BAD_ARGUMENT (`error`: an action that is none), VS_NO_MEMORY */
VS_API VS_MUST_CHECK vs_status vs_live_history_sized(vs_live *live, const vs_history_options *options,
                                                     size_t size, vs_error *error);
__attribute__((unused)) static inline VS_MUST_CHECK vs_status
vs_live_history(vs_live *live, const vs_history_options *options, vs_error *error) {
  return vs_live_history_sized(live, options, sizeof *options, error);
}

typedef struct vs_history_info {
  uint64_t entries;     /* kept */
  uint64_t overwritten; /* replaced by newer ones since history began */
  uint64_t lost;        /* not kept for lack of host memory */
} vs_history_info;
VS_API VS_MUST_CHECK vs_status vs_live_history_info_sized(vs_live *live, uint32_t device,
                                                          vs_history_info *info, size_t size);
__attribute__((unused)) static inline VS_MUST_CHECK vs_status vs_live_history_info(vs_live *live,
                                                                                   uint32_t device,
                                                                                   vs_history_info *info) {
  return vs_live_history_info_sized(live, device, info, sizeof *info);
}

typedef enum vs_live_format { VS_LIVE_PICKLE, VS_LIVE_JSON } vs_live_format;

/* Writes all current segments and blocks and, with `with_history`, the history, in the form of
 * torch.cuda.memory._dump_snapshot(), for its viewer and for every command of vramscope. Other threads wait only
 * while their card is copied. Fails: VS_NO_MEMORY, and as `to` does, which then has a part of it; `error` may be
 * NULL */
VS_API VS_MUST_CHECK vs_status vs_live_snapshot_write(vs_live *live, vs_live_format format, bool with_history,
                                                      vs_writer to, vs_error *error);

/* ---- recording -------------------------------------------------------------------------------------------- */

/* How to record. All zero are the defaults, except `path`. */
typedef struct vs_recording_options {
  const char *path;         /* of the new .vram file */
  bool may_replace;         /* an existing file */
  vs_history_stacks stacks; /* which stacks; frees have none */

  /* What a thread does whose buffer is full because the file's writer cannot keep up. false: it waits, for one event at most
   * `wait_ms` (0: a second), and loses the event then. true: it loses the event at once. After a loss all events are lost until
   * the writer has caught up and has written the state of all memory, for which the cards stop briefly. The file says
   * how many events are missing, and when; before that and from the state on it is exact. */
  bool drops;
  uint32_t wait_ms;
} vs_recording_options;

/* Writes every event to a new file from now on, independently of history. If the process is killed, the file stays readable
 * and can lack only the events of the last milliseconds. When the disk is full the recording ends, and the program continues. Fails: VS_IO (`error` has the
 * sentence), VS_NO_MEMORY, VS_BAD_ARGUMENT (a recording is being written) */
VS_API VS_MUST_CHECK vs_status vs_live_recording_begin_sized(vs_live *live,
                                                             const vs_recording_options *options, size_t size,
                                                             vs_error *error);
__attribute__((unused)) static inline VS_MUST_CHECK vs_status
vs_live_recording_begin(vs_live *live, const vs_recording_options *options, vs_error *error) {
  return vs_live_recording_begin_sized(live, options, sizeof *options, error);
}

/* The same with the defaults of the other options. */
VS_API VS_MUST_CHECK vs_status vs_live_recording_start(vs_live *live, const char *path, bool may_replace,
                                                       vs_history_stacks stacks, vs_error *error);

/* Fails: VS_IO and VS_LIMIT as vs_live_close (the file is closed), VS_NOT_FOUND (there is no recording) */
VS_API VS_MUST_CHECK vs_status vs_live_recording_stop(vs_live *live, vs_error *error);

/* Of the recording, or of the last one once it has ended. */
typedef struct vs_recording_info {
  bool is_on;
  uint64_t events, lost; /* lost: not written, because the writer could not keep up or failed */
  uint64_t bytes;        /* of the file so far */
  uint64_t waits;        /* how often a thread waited for the writer */
  uint64_t waited_us;    /* the sum of their times */
  uint64_t checkpoints;  /* states of all memory that were written after losses */
  uint64_t lost_from_us; /* the first loss, from the beginning of the recording on; 0 without one */
} vs_recording_info;
VS_API void vs_live_recording_info_sized(vs_live *live, vs_recording_info *info, size_t size);
__attribute__((unused)) static inline void vs_live_recording_info(vs_live *live, vs_recording_info *info) {
  vs_live_recording_info_sized(live, info, sizeof *info);
}

/* ---- pinned host memory ----------------------------------------------------------------------------------- */

/* Counters in the form of torch.cuda.host_memory_stats(), for programs that manage pinned memory and report it here.
 * `bytes` is the size of the block, `us` the time of the driver's call. */
typedef enum vs_host_event {
  VS_HOST_ALLOCATED, /* a block was allocated from the driver */
  VS_HOST_FREED,     /* a block was freed in the driver */
  VS_HOST_TAKEN,     /* a request got a block */
  VS_HOST_RETURNED   /* its block is free again */
} vs_host_event;
VS_API void vs_live_host_note(vs_live *live, vs_host_event event, uint64_t bytes, uint64_t us);

VS_API VS_MUST_CHECK vs_status vs_live_host_statistics(vs_live *live, vs_live_visit visit, void *ctx);
VS_API void vs_live_host_reset_peak(vs_live *live);
VS_API void vs_live_host_reset_totals(vs_live *live);

#ifdef __cplusplus
}
#endif
#endif
