/* vramscope live: a caching allocator of GPU memory inside your process, with everything about it to be seen.
 *
 * It makes the decisions of PyTorch's allocator (same sizes, segments, addresses of the same driver, statistics), for as
 * many cards as there are, and tells what it did: statistics, scopes, a history, snapshots that PyTorch's tools open, and
 * a recording that survives the process.
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
 * Threads   Every function may be called from any thread at any time, but for vs_live_open and vs_live_close. Each card
 *           has a lock of its own. What a thread sets for itself (stack, metadata) no other thread sees.
 * Fork      A child process may use the object for nothing but vs_live_close.
 * Statuses  VS_BAD_ARGUMENT is also: no such device. VS_NO_MEMORY is the host's memory, VS_DEVICE_MEMORY the card's,
 *           VS_DEVICE any other failure of the driver. A function that fails has changed nothing, unless it says so.
 * Sentences What exactly was wrong is in `error`, where a function has one, and else in vs_live_error_text.
 * Stable    Structs that a program hands in, and those that it has filled, may get more members at their ends: the functions that
 *           take them are inline and pass their size (the `..._sized` beside them, for languages without our headers). So may
 *           vs_live_oom, which the library makes. vs_live_process, vs_live_frame, vs_live_pool and vs_scope_bytes stay as they are.
 * Back ends backend:cudaMallocAsync in the settings leaves memory to the driver's own pool. History, snapshots and
 *           recordings are then VS_UNSUPPORTED, nobody is told of failures, and of the figures there are bytes allocated
 *           and reserved and their peaks: as PyTorch.
 * Real      Cards of the CUDA driver ("cuda") are found when the object is opened, which initialises the driver and makes no
 * cards     context; the first call that needs one makes the card's primary context, which everybody in the process shares.
 *           Threads keep the context and the capture mode that they have. Streams are the driver's (cudaStream_t as a number).
 * Sources   "as PyTorch": as PyTorch 2.15 does it, by its documentation and by running it (docs/formats/snapshot.md).
 */
#ifndef VRAMSCOPE_LIVE_H
#define VRAMSCOPE_LIVE_H

#include <vramscope/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct vs_live vs_live;

/* Where a program is: a number that vs_live_stack gave. */
typedef uint32_t vs_stack;
#define VS_STACK_NONE UINT32_MAX

/* ---- open and close --------------------------------------------------------------------------------------- */

/* Somebody who holds memory of a card, for the message of a failure. */
typedef struct vs_live_process {
  uint64_t pid, bytes;
  bool is_self;
} vs_live_process;

/* All zero are the defaults. Texts are read during the call only. */
typedef struct vs_live_options {
  /* Memory for the bookkeeping; NULL: vs_host_default(). It is called by several threads at once. */
  const vs_host *host;

  /* The cards: simulated ones as `vramscope dryrun --gpu` takes them: "8GiB", "H100", "RTX4090:20GiB", "2xA100". Or those
   * of the machine, by its CUDA driver: "cuda" is all that CUDA_VISIBLE_DEVICES leaves, "cuda:0,2" some of them, by the
   * driver's numbers and in that order; see "real cards". NULL: the variable VRAMSCOPE_GPU, and without it one simulated
   * H100. */
  const char *gpus;

  /* Allocator settings in PyTorch's words: "expandable_segments:True,max_split_size_mb:128". NULL: the variable
   * VRAMSCOPE_ALLOC_CONF, else PYTORCH_CUDA_ALLOC_CONF, else PYTORCH_ALLOC_CONF. */
  const char *settings;

  /* Record to this new .vram file from the beginning; NULL: not. See vs_live_recording_start. */
  const char *recording;
  bool replace_recording; /* a file that is there */

  /* When a simulated card is done with what a stream was given: at once; or only where somebody waits for it
   * (vs_live_synchronize), which is the longest that memory used by other streams can be kept. */
  bool done_at_sync;

  /* The time of events, microseconds since 1970; NULL: the system's clock. Called by several threads at once. With a clock
   * of your own a recording has nothing of the real process in it (its number, its threads) and loses nothing: a full
   * buffer waits. Equal runs write equal files. */
  int64_t (*time)(void *ctx);
  void *time_ctx;

  /* The stream that the calling thread works on, for who has such a notion; NULL: a free belongs to the stream of its
   * allocation. It matters only while streams are captured. Called with the card's lock held. */
  uint64_t (*current_stream)(void *ctx, uint32_t device);
  void *current_stream_ctx;

  /* Who holds memory of the card, up to `capacity` of them, for the message of a failure; returns how many. NULL: nothing is
   * said of processes, but that a simulated card has only this one. Called by the thread that asks for the message, with no
   * lock held. */
  size_t (*processes)(void *ctx, uint32_t device, vs_live_process *rows, size_t capacity);
  void *processes_ctx;
} vs_live_options;

/* Owner: the caller, vs_live_close. `options` may be NULL.
 * Fails: VS_BAD_ARGUMENT, VS_BAD_FORMAT  the cards or the settings; `error` has the sentence, with "did you mean", and
 *                                        the byte in that text
 *        VS_NOT_FOUND, VS_UNSUPPORTED    there is no CUDA driver, or it refuses
 *        VS_IO  the recording; VS_NO_MEMORY */
VS_API VS_MUST_CHECK vs_status vs_live_open_sized(const vs_live_options *options, size_t size, vs_live **live,
                                                  vs_error *error);
__attribute__((unused)) static inline VS_MUST_CHECK vs_status vs_live_open(const vs_live_options *options,
                                                                           vs_live **live, vs_error *error) {
  return vs_live_open_sized(options, sizeof *options, live, error);
}

/* Ends the recording, gives all memory back to the cards, whoever uses it, and forgets everything (but for what of a real
 * card backend:cudaMallocAsync has handed out: that stays with the process). Scopes that are open end with it. NULL is fine.
 * Fails: VS_IO                    the recording is not complete; `error` says why, and all else was done
 *        VS_DEVICE, VS_NO_MEMORY  a real card did not take all back: that stays with the process; all else was done */
VS_API VS_MUST_CHECK vs_status vs_live_close(vs_live *live, vs_error *error);

/* Why the last function of this header that failed on this thread, with this object, and has no `error` of its own did so: one
 * sentence without a final full stop ("no statistic \"allocated_bytes.all.peek\": did you mean \"allocated_bytes.all.peak\"?");
 * "" where none failed. Borrowed until the next failure of this thread. */
VS_API const char *vs_live_error_text(const vs_live *live);

VS_API uint32_t vs_live_device_count(const vs_live *live);

typedef struct vs_live_device_info {
  char name[96]; /* as the driver says it, NUL terminated */
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

/* `size` bytes for work on `stream`; 0 bytes are address 0. May first look which memory other streams are done with, give
 * cached memory back to the card, and wait for it, as PyTorch.
 *
 * Observers: those of vs_live_observe_oom, where it fails for want of memory.
 * Fails: VS_DEVICE_MEMORY  vs_live_oom_write has the sentence
 *        VS_DEVICE, VS_NO_MEMORY, VS_BAD_ARGUMENT */
VS_API VS_MUST_CHECK vs_status vs_live_malloc(vs_live *live, uint32_t device, uint64_t size, uint64_t stream,
                                              uint64_t *address);

/* Gives back what vs_live_malloc gave, from any thread; address 0 is nothing. Work on its stream that was launched before
 * may still use it, and it stays with this object for the next request.
 *
 * Fails: VS_NOT_FOUND  nothing begins there. VS_DEVICE  it was freed, but is not handed out again until a later try */
VS_API VS_MUST_CHECK vs_status vs_live_free(vs_live *live, uint32_t device, uint64_t address);

/* Work on another stream uses it, too: once freed it is handed out again only when what that stream had been given until
 * then is done (torch.Tensor.record_stream). Fails: VS_NOT_FOUND, VS_NO_MEMORY */
VS_API VS_MUST_CHECK vs_status vs_live_record_stream(vs_live *live, uint32_t device, uint64_t address,
                                                     uint64_t stream);

/* Gives cached memory of every card back to it (torch.cuda.empty_cache). Fails: VS_DEVICE (the other cards were asked) */
VS_API VS_MUST_CHECK vs_status vs_live_empty_cache(vs_live *live);

/* At most this part of the card's total, 0 to 1, for this object; 1 is no limit
 * (torch.cuda.set_per_process_memory_fraction). What is in use already stays. Fails: VS_BAD_ARGUMENT */
VS_API VS_MUST_CHECK vs_status vs_live_fraction_set(vs_live *live, uint32_t device, double fraction);
VS_API VS_MUST_CHECK vs_status vs_live_fraction(vs_live *live, uint32_t device, double *fraction);

/* New settings for what comes, on every card. As PyTorch does on each such call, max_split_size_mb,
 * roundup_power2_divisions and garbage_collection_threshold go back to their defaults where `text` has them not.
 * Fails: VS_BAD_FORMAT (`error` has the sentence and the byte), VS_BAD_ARGUMENT (another back end or version) */
VS_API VS_MUST_CHECK vs_status vs_live_settings_apply(vs_live *live, const char *text, vs_error *error);

/* The settings in effect, a line each, and a line for each that does nothing as things stand. Fails as `to` does. */
VS_API VS_MUST_CHECK vs_status vs_live_settings_write(vs_live *live, vs_writer to);

/* A new stream of a simulated card. Fails: VS_NO_MEMORY, VS_UNSUPPORTED (the card is real: its driver makes streams) */
VS_API VS_MUST_CHECK vs_status vs_live_stream_create(vs_live *live, uint32_t device, uint64_t *stream);

/* Waits until the card has done what `stream` was given. Fails: VS_DEVICE */
VS_API VS_MUST_CHECK vs_status vs_live_synchronize(vs_live *live, uint32_t device, uint64_t stream);

/* ---- private pools: memory of its own for a part of a program, such as a captured graph ---------------------- */

/* Any two numbers but 0, 0, which are the default pool. */
typedef struct vs_live_pool {
  uint64_t a, b;
} vs_live_pool;

/* From now on requests whose stream `filter` accepts (NULL: all) come from `pool`, which is made if need be and has one user
 * more (torch.cuda.graph's beginAllocateToPool). The newest pool that accepts wins. `filter` is called with the card's lock
 * held, and not any more once vs_live_pool_end has returned.
 * Fails: VS_BAD_ARGUMENT (the default pool, or begun already), VS_NO_MEMORY, VS_UNSUPPORTED (backend:cudaMallocAsync) */
VS_API VS_MUST_CHECK vs_status vs_live_pool_begin(vs_live *live, uint32_t device, vs_live_pool pool,
                                                  bool (*filter)(void *ctx, uint64_t stream), void *ctx);
/* Fails: VS_NOT_FOUND (it was not begun), VS_DEVICE, VS_NO_MEMORY */
VS_API VS_MUST_CHECK vs_status vs_live_pool_end(vs_live *live, uint32_t device, vs_live_pool pool);

/* One user less; without users its cached memory may go back to the card. Fails: VS_NOT_FOUND */
VS_API VS_MUST_CHECK vs_status vs_live_pool_release(vs_live *live, uint32_t device, vs_live_pool pool);

/* Streams of the card are captured between the two: what is freed then and used by other streams waits for the second call,
 * since nobody may ask a captured stream how far it is. They nest. Fails: VS_BAD_ARGUMENT */
VS_API VS_MUST_CHECK vs_status vs_live_capture_begin(vs_live *live, uint32_t device);
VS_API VS_MUST_CHECK vs_status vs_live_capture_end(vs_live *live, uint32_t device);

/* ---- statistics ------------------------------------------------------------------------------------------- */

/* What people ask for most; the names are those of torch.cuda. */
typedef struct vs_live_memory {
  uint64_t allocated,
      allocated_peak; /* in the caller's hands, rounded (memory_allocated, max_memory_allocated) */
  uint64_t reserved, reserved_peak;   /* held of the card (memory_reserved, max_memory_reserved) */
  uint64_t requested, requested_peak; /* asked for, not rounded, until no stream uses it any more */
  uint64_t active, active_peak;       /* allocated, or freed and still in use by another stream */
} vs_live_memory;
VS_API VS_MUST_CHECK vs_status vs_live_memory_of_sized(vs_live *live, uint32_t device, vs_live_memory *memory,
                                                       size_t size);
__attribute__((unused)) static inline VS_MUST_CHECK vs_status vs_live_memory_of(vs_live *live,
                                                                                uint32_t device,
                                                                                vs_live_memory *memory) {
  return vs_live_memory_of_sized(live, device, memory, sizeof *memory);
}

/* Free and total bytes of the card as its driver reports them, other processes counted (torch.cuda.mem_get_info). */
VS_API VS_MUST_CHECK vs_status vs_live_memory_info(vs_live *live, uint32_t device, uint64_t *free_bytes,
                                                   uint64_t *total_bytes);

/* The same once this object's cached memory of that card was given back: what is free where nobody keeps anything for later
 * (fastai's gpu_mem_get_free_no_cache). The cache is empty then. Fails: VS_DEVICE */
VS_API VS_MUST_CHECK vs_status vs_live_memory_info_no_cache(vs_live *live, uint32_t device,
                                                            uint64_t *free_bytes, uint64_t *total_bytes);

/* All figures of one moment. total - free is what all processes together hold, `reserved` this object's part of it. */
typedef struct vs_live_room {
  uint64_t total, free; /* of the card */
  uint64_t reserved;    /* held of the card by this object */
  uint64_t allocated;   /* of it, in the caller's hands */
  uint64_t cached;      /* of it, free in the cache: reserved - allocated */
  uint64_t waiting;     /* of `cached`, freed but in use by other streams yet */
} vs_live_room;
VS_API VS_MUST_CHECK vs_status vs_live_room_of_sized(vs_live *live, uint32_t device, vs_live_room *room,
                                                     size_t size);
__attribute__((unused)) static inline VS_MUST_CHECK vs_status vs_live_room_of(vs_live *live, uint32_t device,
                                                                              vs_live_room *room) {
  return vs_live_room_of_sized(live, device, room, sizeof *room);
}

/* The allocation that begins at `address`: where its segment begins, and how many bytes lie contiguous from there on (what
 * sharing memory with another process needs). With backend:cudaMallocAsync each is a segment of its own, of unknown size (0).
 * Fails: VS_NOT_FOUND */
VS_API VS_MUST_CHECK vs_status vs_live_base(vs_live *live, uint32_t device, uint64_t address, uint64_t *base,
                                            uint64_t *size);

/* Every key of torch.cuda.memory_stats(), flat ("allocated_bytes.all.peak") and sorted. `key` is borrowed for the call,
 * in which no function of this header may be used. Passes a failure of `visit` on. */
typedef vs_status (*vs_live_visit)(void *ctx, vs_str key, int64_t value);
VS_API VS_MUST_CHECK vs_status vs_live_statistics(vs_live *live, uint32_t device, vs_live_visit visit,
                                                  void *ctx);

/* One of them. Fails: VS_NOT_FOUND */
VS_API VS_MUST_CHECK vs_status vs_live_statistic(vs_live *live, uint32_t device, const char *key,
                                                 int64_t *value);

/* What PyTorch does not count, in the same form, since the totals were reset:
 *   requests.cache ... .failed   how far allocations had to go: the cache had a block; the driver gave memory; after cached
 *                                memory was given back ("release", "retry"); out of memory. The cache's hit rate is
 *                                requests.cache over their sum
 *   sizes.4096                   allocations that asked for 4096 to 8191 bytes
 *   lifetimes.8                  frees of what 8 to 15 allocations had followed, itself included
 *   stream.0.small.cached_bytes  cached blocks of one stream and size of pool; .cached_blocks, .allocated_bytes,
 *                                .allocated_peak (since peaks were reset); behind "pool.0_1." where the pool is private
 * With backend:cudaMallocAsync there are none. Passes a failure of `visit` on. */
VS_API VS_MUST_CHECK vs_status vs_live_extras(vs_live *live, uint32_t device, vs_live_visit visit, void *ctx);

/* torch.cuda.memory_summary(device, abbreviated), byte for byte. Fails as `to` does. */
VS_API VS_MUST_CHECK vs_status vs_live_summary_write(vs_live *live, uint32_t device, bool abbreviated,
                                                     vs_writer to);

/* All peaks become what is now; and what was allocated and freed in all, with the counters, becomes 0
 * (torch.cuda.reset_peak_memory_stats, reset_accumulated_memory_stats). Scopes do not notice. */
VS_API VS_MUST_CHECK vs_status vs_live_reset_peak(vs_live *live, uint32_t device);
VS_API VS_MUST_CHECK vs_status vs_live_reset_totals(vs_live *live, uint32_t device);

/* ---- scopes ----------------------------------------------------------------------------------------------- */

/* How much memory a part of a program took: exact, whatever else is measured at the same time.
 *
 *   vs_scope *scope;
 *   vs_live_scope_begin(live, 0, &scope);
 *   ...
 *   vs_live_scope_end(scope, &figures);
 *
 * Scopes nest and overlap as they like, end in any order and on any thread, and never change a peak of another scope or of
 * the statistics. While none is open on a card they cost nothing. */
typedef struct vs_scope vs_scope;

/* One kind of bytes over the life of a scope, on the scope's card, whoever uses it. */
typedef struct vs_scope_bytes {
  uint64_t start, end, peak; /* end: now, while the scope is open */
  int64_t used;              /* end - start */
  uint64_t peaked; /* peak - max(start, end): what was needed for a time on top of what stayed, which is what
                                fastai's GPUMemTrace calls by that name */
} vs_scope_bytes;

typedef struct vs_scope_figures {
  vs_scope_bytes allocated, requested, active, reserved; /* as in vs_live_memory */
  /* Of `allocated`, what the thread did that began the scope: what it allocated less what it freed. A thread that frees
   * what others allocated may be below 0. */
  int64_t thread_used;
  int64_t thread_peak;         /* the most that was ever over its start; at least 0 */
  uint64_t allocations, frees; /* on the card */
} vs_scope_figures;

/* Owner: the caller, vs_live_scope_end. Fails: VS_NO_MEMORY, VS_BAD_ARGUMENT */
VS_API VS_MUST_CHECK vs_status vs_live_scope_begin(vs_live *live, uint32_t device, vs_scope **scope);

/* Until now; the scope goes on. */
VS_API void vs_live_scope_read_sized(vs_scope *scope, vs_scope_figures *figures, size_t size);
__attribute__((unused)) static inline void vs_live_scope_read(vs_scope *scope, vs_scope_figures *figures) {
  vs_live_scope_read_sized(scope, figures, sizeof *figures);
}

/* `figures` may be NULL; so may `scope`. */
VS_API void vs_live_scope_end_sized(vs_scope *scope, vs_scope_figures *figures, size_t size);
__attribute__((unused)) static inline void vs_live_scope_end(vs_scope *scope, vs_scope_figures *figures) {
  vs_live_scope_end_sized(scope, figures, sizeof *figures);
}

/* ---- who and what ----------------------------------------------------------------------------------------- */

/* A call, as people read it. */
typedef struct vs_live_frame {
  const char *function;
  const char *file;
  int64_t line;
} vs_live_frame;

/* Gives equal stacks equal numbers. Innermost call first. More than 128 frames: the
 * innermost ones. Fails: VS_LIMIT (no room for more stacks) */
VS_API VS_MUST_CHECK vs_status vs_live_stack(vs_live *live, const vs_live_frame *frames, size_t count,
                                             vs_stack *stack);

/* Where this thread is from now on, for what it allocates and frees; VS_STACK_NONE: nobody knows. Returns what it was. */
VS_API vs_stack vs_live_stack_set(vs_live *live, vs_stack stack);

/* The two ends of a named part of the program, such as a training step, on the time axis of `device`. Kept where history
 * is kept or a recording is written. Fails: VS_NO_MEMORY, VS_BAD_ARGUMENT */
VS_API VS_MUST_CHECK vs_status vs_live_annotation_begin(vs_live *live, uint32_t device, const char *name);
VS_API VS_MUST_CHECK vs_status vs_live_annotation_end(vs_live *live, uint32_t device, const char *name);

/* A text that goes with the events of this thread from now on (torch.cuda.memory._set_memory_metadata); "" or NULL: none.
 * Fails: VS_NO_MEMORY, VS_LIMIT (more than 64 KiB) */
VS_API VS_MUST_CHECK vs_status vs_live_metadata_set(vs_live *live, const char *text);

/* ---- out of memory ---------------------------------------------------------------------------------------- */

/* What an allocation ran into. */
typedef struct vs_live_oom {
  uint32_t device;
  bool is_rejected;     /* refused by throw_on_cudamalloc_oom before the card was asked for good */
  uint64_t requested;   /* by the caller */
  uint64_t driver_size; /* what the card would have had to give; PyTorch tells its observers this one */
  uint64_t stream;
  uint64_t device_free, device_total;
  uint64_t limit;               /* of vs_live_fraction_set; UINT64_MAX: none */
  uint64_t allocated, reserved; /* by this object, at that moment */
} vs_live_oom;

typedef enum vs_live_oom_kind { VS_LIVE_ON_OOM, VS_LIVE_ON_REJECTION } vs_live_oom_kind;
typedef void (*vs_live_oom_observer)(void *ctx, const vs_live_oom *oom);

/* `observer` hears of every failure from now on, on the thread that fails and with no lock held: it may use every function
 * of this header but vs_live_close, and its own failures tell nobody. Observers are called in the order in which they
 * came. *id is for vs_live_unobserve_oom, which returns when none of its calls is running (a call may take itself out).
 * Fails: VS_LIMIT (32 are there), VS_BAD_ARGUMENT */
VS_API VS_MUST_CHECK vs_status vs_live_observe_oom(vs_live *live, vs_live_oom_kind kind,
                                                   vs_live_oom_observer observer, void *ctx, uint32_t *id);
VS_API void vs_live_unobserve_oom(vs_live *live, uint32_t id);

/* The message of the last failure of this thread, as torch.OutOfMemoryError has it. Fails: VS_NOT_FOUND (there was none),
 * and as `to` does */
VS_API VS_MUST_CHECK vs_status vs_live_oom_write(vs_live *live, vs_writer to);

/* ---- history and snapshots -------------------------------------------------------------------------------- */

typedef enum vs_history_enabled {
  VS_HISTORY_OFF,   /* nothing is kept, what was kept goes */
  VS_HISTORY_STATE, /* the last event only, and who holds what */
  VS_HISTORY_EVENTS /* the last `max_entries` events of each card ("all") */
} vs_history_enabled;

/* Where stacks are taken and kept; each level is all that is above it. */
typedef enum vs_history_context {
  VS_HISTORY_CONTEXT_NEVER,
  VS_HISTORY_CONTEXT_STATE, /* with blocks and segments */
  VS_HISTORY_CONTEXT_ALLOC, /* and with events; those of a free have the allocation's */
  VS_HISTORY_CONTEXT_ALL    /* and frees have their own */
} vs_history_context;

typedef enum vs_history_stacks {
  VS_HISTORY_STACKS_GIVEN, /* what vs_live_stack_set says */
  VS_HISTORY_STACKS_NATIVE /* the machine's stack, where the thread has set none */
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

/* Keeps history from now on, by these rules (torch.cuda.memory._record_memory_history). A smaller `max_entries` than before
 * drops the oldest. Fails: VS_BAD_ARGUMENT (`error`: an action that is none), VS_NO_MEMORY */
VS_API VS_MUST_CHECK vs_status vs_live_history_sized(vs_live *live, const vs_history_options *options,
                                                     size_t size, vs_error *error);
__attribute__((unused)) static inline VS_MUST_CHECK vs_status
vs_live_history(vs_live *live, const vs_history_options *options, vs_error *error) {
  return vs_live_history_sized(live, options, sizeof *options, error);
}

typedef struct vs_history_info {
  uint64_t entries;     /* kept */
  uint64_t overwritten; /* dropped for newer ones since it began */
  uint64_t lost;        /* not kept for want of memory */
} vs_history_info;
VS_API VS_MUST_CHECK vs_status vs_live_history_info_sized(vs_live *live, uint32_t device,
                                                          vs_history_info *info, size_t size);
__attribute__((unused)) static inline VS_MUST_CHECK vs_status vs_live_history_info(vs_live *live,
                                                                                   uint32_t device,
                                                                                   vs_history_info *info) {
  return vs_live_history_info_sized(live, device, info, sizeof *info);
}

typedef enum vs_live_format { VS_LIVE_PICKLE, VS_LIVE_JSON } vs_live_format;

/* All segments and blocks now and, with `with_history`, what history has: as torch.cuda.memory._dump_snapshot() writes it,
 * for its viewer and for every command of vramscope. Other threads wait only while their card is looked at.
 * Fails: VS_NO_MEMORY, and as `to` does, which then has a part of it; `error` may be NULL */
VS_API VS_MUST_CHECK vs_status vs_live_snapshot_write(vs_live *live, vs_live_format format, bool with_history,
                                                      vs_writer to, vs_error *error);

/* ---- recording -------------------------------------------------------------------------------------------- */

/* Writes every event to a new .vram file from now on, whatever history does: it is complete up to the last moment even
 * where the process is killed. `may_replace`: a file that is there goes. Stacks are what `stacks` says; frees have none.
 * Fails: VS_IO (`error` has the sentence), VS_NO_MEMORY, VS_BAD_ARGUMENT (there is one already) */
VS_API VS_MUST_CHECK vs_status vs_live_recording_start(vs_live *live, const char *path, bool may_replace,
                                                       vs_history_stacks stacks, vs_error *error);

/* Fails: VS_IO (it could not be written to its end), VS_NOT_FOUND (there is none) */
VS_API VS_MUST_CHECK vs_status vs_live_recording_stop(vs_live *live, vs_error *error);

typedef struct vs_recording_info {
  bool is_on;
  uint64_t events, lost; /* lost: neither written nor to be, because the writer could not keep up or failed */
  uint64_t bytes;        /* of the file so far */
} vs_recording_info;
VS_API void vs_live_recording_info_sized(vs_live *live, vs_recording_info *info, size_t size);
__attribute__((unused)) static inline void vs_live_recording_info(vs_live *live, vs_recording_info *info) {
  vs_live_recording_info_sized(live, info, sizeof *info);
}

/* ---- pinned host memory ----------------------------------------------------------------------------------- */

/* Counters in the form of torch.cuda.host_memory_stats(), for whoever manages pinned memory and tells here. `bytes` are
 * what the driver gave; `us` is how long its call took. */
typedef enum vs_host_event {
  VS_HOST_ALLOCATED, /* the driver gave a block */
  VS_HOST_FREED,     /* it has it back */
  VS_HOST_TAKEN,     /* a block went into use */
  VS_HOST_RETURNED   /* it is not in use any more */
} vs_host_event;
VS_API void vs_live_host_note(vs_live *live, vs_host_event event, uint64_t bytes, uint64_t us);

VS_API VS_MUST_CHECK vs_status vs_live_host_statistics(vs_live *live, vs_live_visit visit, void *ctx);
VS_API void vs_live_host_reset_peak(vs_live *live);
VS_API void vs_live_host_reset_totals(vs_live *live);

#ifdef __cplusplus
}
#endif
#endif
