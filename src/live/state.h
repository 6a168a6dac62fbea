/* A vs_live and its cards: which struct owns what, and which lock guards it.
 *
 *   vs_live_malloc ──lock──▶ vs_alloc_malloc ──events──▶ observe() ─▶ scopes, history, recorder
 *
 * What every call reads is constant, atomic, or guarded by the card's lock, which the call takes anyway. `watch` has
 * a bit for each listener of a card's events; the allocator has an observer only while a bit is set, so events
 * without a listener cost nothing.
 *
 * A change that concerns all cards (history on, recording on) takes all their locks, in the order of their numbers
 * (vs_live_lock_all). vs_live_check executes the invariants. */
#ifndef VS_LIVE_STATE_H
#define VS_LIVE_STATE_H

#include "live/history.h"
#include "live/machine.h"
#include "live/scopes.h"
#include "live/thread.h"
#include "record/record.h"
#include <vramscope/live.h>

enum { VS_WATCH_SCOPES = 1, VS_WATCH_HISTORY = 2, VS_WATCH_RECORDING = 4 };

/* When stacks are taken, and which: bits of vs_live.stacks_wanted. */
enum { VS_STACKS_ON_MALLOC = 1, VS_STACKS_ON_FREE = 2, VS_STACKS_NATIVE = 4 };

typedef struct vs_live_device {
  vs_live_lock lock; /* guards all below that is not constant */
  uint32_t watch;    /* VS_WATCH_...: the listeners of events */
  vs_alloc *alloc;
  struct vs_async *async;  /* NULL: the back end is `alloc`; see backend.h */
  vs_live *live;           /* constant */
  uint32_t index;          /* constant */
  uint64_t call_time;      /* the time of this call's events; 0: the clock was not read yet */
  uint32_t call_metadata;  /* text of the calling thread, once call_time is known */
  vs_history_context kept; /* which entries of history keep their stacks */
  bool is_held;            /* `held` is a FREE_REQUESTED that is not recorded yet; false between calls */
  vs_event held;
  int64_t ooms_told; /* num_ooms + num_oom_rejections at the last failure that was reported */
  vs_scopes scopes;
  vs_history history;
} vs_live_device;

/* One end of a named part of the program. */
typedef struct vs_live_annotation {
  uint64_t time_ns;
  uint32_t name; /* text */
  uint32_t device;
  bool is_start;
} vs_live_annotation;

typedef struct vs_live_annotations {
  vs_live_lock lock; /* guards all below */
  bool is_kept, is_recorded;
  uint64_t capacity, first; /* a ring as in history.h */
  VS_VEC(vs_live_annotation) entries;
} vs_live_annotations;

enum { VS_LIVE_OBSERVERS = 32 };
typedef struct vs_live_observer {
  vs_live_oom_observer call; /* NULL: the place is free, or becomes free when `running` is 0 */
  void *ctx;
  uint32_t id;      /* 0: free */
  uint32_t running; /* calls of it that have not returned */
  vs_live_oom_kind kind;
} vs_live_observer;

typedef struct vs_live_observers {
  vs_live_lock lock; /* guards all below */
  uint32_t last_id;
  _Atomic uint32_t count; /* of places with a call; atomic, so that 0 is seen without the lock */
  vs_live_observer places[VS_LIVE_OBSERVERS];
} vs_live_observers;

/* Pinned memory, as torch.cuda.host_memory_stats counts it. */
typedef struct vs_live_times {
  int64_t total, most, least, count; /* microseconds; least is 0 while count is 0 */
} vs_live_times;
typedef struct vs_live_pinned {
  vs_live_lock lock; /* guards all below */
  vs_alloc_stat allocations, allocated_bytes, requests, active_bytes;
  int64_t allocs, frees;
  vs_live_times alloc_time, free_time;
} vs_live_pinned;

struct vs_live {
  const vs_host *host;       /* constant */
  uint32_t forks;            /* constant: vs_fork_generation of its process */
  vs_live_identity identity; /* constant */
  int64_t (*time)(void *ctx);
  void *time_ctx;
  uint64_t (*current_stream)(void *ctx, uint32_t device); /* constant; may be NULL */
  void *current_stream_ctx;
  size_t (*processes)(void *ctx, uint32_t device, vs_live_process *rows, size_t capacity); /* likewise */
  void *processes_ctx;
  int64_t wall_ns_at_zero; /* constant: nanoseconds since 1970 when this object's clock is 0 */
  vs_live_machine machine;
  vs_live_device *devices[VS_LIVE_CARDS];    /* constant; machine.count of them */
  vs_record_stacks *stacks;                  /* needs no lock */
  uint32_t compile_context;                  /* constant: the text "N/A" */
  _Atomic uint32_t stacks_wanted;            /* changed under all cards' locks */
  uint32_t history_stacks, recording_stacks; /* its two parts; guarded by all cards' locks */
  vs_recorder *recorder;                     /* changed under all cards' locks and that of the annotations */
  uint64_t recording_began;                  /* on this object's clock; likewise */
  vs_recording_info recorded; /* the last recording that ended; guarded by that of the annotations */
  vs_live_annotations annotations;
  vs_live_observers observers;
  vs_live_pinned pinned;
};

/* NULL if there is no card of that number. */
static inline vs_live_device *vs_live_at(const vs_live *live, uint32_t device) {
  return device < live->machine.count ? live->devices[device] : NULL;
}

/* The card with its lock taken, at the beginning of a call; NULL if there is none of that number. */
static inline vs_live_device *vs_live_enter(const vs_live *live, uint32_t index) {
  vs_live_device *device = vs_live_at(live, index);
  if (device == NULL) return NULL;
  VS_ASSERT(device->live == live && device->index == index);
  vs_live_lock_take(&device->lock);
  device->call_time = 0;
  return device;
}

static inline void vs_live_leave(vs_live_device *device) {
  VS_ASSERT(!device->is_held);
  vs_live_lock_give(&device->lock);
}

void vs_live_lock_all(vs_live *live);
void vs_live_unlock_all(vs_live *live);

/* Nanoseconds of the object's clock. */
uint64_t vs_live_now(const vs_live *live);
static inline int64_t vs_live_time_us(const vs_live *live, uint64_t time_ns) {
  return ((int64_t)time_ns + live->wall_ns_at_zero) / 1000;
}

/* ---- device.c */

/* Fails: VS_NO_MEMORY */
VS_MUST_CHECK vs_status vs_live_device_create(vs_live *live, uint32_t index,
                                              const vs_alloc_settings *settings, vs_live_device **out);
/* Destroys it even where it fails. Fails: VS_DEVICE, VS_NO_MEMORY (memory of the driver's card stays with the process) */
VS_MUST_CHECK vs_status vs_live_device_destroy(vs_live_device *device);

/* Sets or clears one bit of `watch`. The card's lock is held. */
void vs_live_watch(vs_live_device *device, uint32_t listener, bool on);

/* ---- annotations.c */

void vs_live_annotations_deinit(vs_live *live);
/* Keeps them by the options of history; VS_HISTORY_OFF forgets them. Fails: VS_NO_MEMORY (nothing has changed) */
VS_MUST_CHECK vs_status vs_live_annotations_keep(vs_live *live, const vs_history_options *options);

/* ---- recording.c */

enum { VS_LIVE_WAIT_MS = 1000 }; /* the longest wait for the recorder at one event, by default */

VS_MUST_CHECK vs_status vs_live_recording_begin_with(vs_live *live, const vs_recording_options *options,
                                                     vs_error *error);
VS_MUST_CHECK vs_status vs_live_recording_end(vs_live *live, vs_error *error);

/* Sets stacks_wanted to what history and recording need. All cards' locks are held. */
void vs_live_update_stacks_wanted(vs_live *live);

/* ---- oom.c */

/* Calls the observers of the failure that this thread just had. No lock is held. */
void vs_live_tell_oom(vs_live *live, uint32_t device, const vs_alloc_oom *oom);

/* ---- check.c */

/* Executes the invariants of all parts: allocators, histories, scopes, listeners, annotations, observers. NULL if they
 * hold, else the one that does not, in words. Takes all locks. */
const char *vs_live_check(vs_live *live);

#endif
