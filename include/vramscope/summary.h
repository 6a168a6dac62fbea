/* vramscope summary: the most common answers about a snapshot as C structs: the peak and its owners, the state at the
 * end, and the requests that failed.
 *
 *   const vs_summary *summary;
 *   vs_error error;
 *   if (vs_engine_summarize(engine, NULL, &summary, &error) == VS_OK) {
 *     const vs_summary_device *gpu = summary->busiest;
 *     for (size_t i = 0; gpu != NULL && i < gpu->owner_count; i++) puts(gpu->owners[i]->label);
 *     vs_summary_destroy(summary);
 *   }
 *
 * The figures are taken from the replies to "report" and "live" (docs/formats/query.md), which vs_engine_ask returns
 * with further figures.
 *
 * Stable    The library allocates these structs; a program only reads them and does not use their sizeof. So later
 *           versions can add members at their ends, and compiled programs keep working. Rows are pointers for the same
 *           reason.
 * Lifetime  An answer stays valid when the engine loads another file or is destroyed. All that it points to is freed
 *           with it. Several threads may read it.
 * Units     Sizes are bytes, times microseconds since 1970. Unknown values are VS_BYTES_UNKNOWN, VS_TIME_UNKNOWN, NULL
 *           or, for a share, a negative number; never 0. `event` is an index into the device's trace, -1 before its
 *           first event.
 * Texts     They end with a NUL and are copied from the file unchanged: a program that shows them on a terminal escapes
 *           them.
 */
#ifndef VRAMSCOPE_SUMMARY_H
#define VRAMSCOPE_SUMMARY_H

#include <vramscope/query.h>

#ifdef __cplusplus
extern "C" {
#endif

#define VS_TIME_UNKNOWN INT64_MIN

/* The peak of one device: the moment of the most requested bytes, and the highest values of the others. */
typedef struct vs_summary_peak {
  uint64_t requested_bytes; /* of the blocks that were live then */
  uint64_t reserved_bytes;  /* reserved at that moment */
  uint64_t pending_bytes;   /* of the requested ones: freed, but another stream may still use them */
  uint64_t blocks;
  int64_t event, time_us;
  uint64_t max_reserved_bytes; /* peak reserved, at a moment of its own */
  int64_t max_reserved_event;
  /* Peak allocated, at a moment of its own: rounded sizes, as torch.cuda.max_memory_allocated() counts. The trace has no
   * rounded sizes; "allocated_is_exact" of the method "report" says whether these are estimated. */
  uint64_t max_allocated_bytes;
  int64_t max_allocated_event;
} vs_summary_peak;

/* The state at the end of the file. reserved = active + cached, cached = releasable + fragmented. */
typedef struct vs_summary_end {
  uint64_t reserved_bytes;
  uint64_t allocated_bytes; /* held by the program, rounded (torch.cuda.memory_allocated) */
  uint64_t active_bytes;    /* allocated, and freed blocks that another stream may still use */
  uint64_t requested_bytes; /* of the active blocks, not rounded */
  uint64_t cached_bytes;    /* reserved and free */
  /* The parts of the cached bytes: those that torch.cuda.empty_cache() releases, in segments or pages without a live
   * block; and the others. */
  uint64_t releasable_bytes, fragmented_bytes;
  uint64_t largest_free_bytes; /* the largest free block */
  uint64_t segments, blocks, allocated_blocks;
} vs_summary_end;

/* The owner of a part of the live bytes. */
typedef struct vs_summary_owner {
  const char *label;      /* "train.py:42 forward" */
  const char *long_label; /* the same with the whole path */
  uint64_t bytes, blocks; /* requested, and live */
  double share;           /* of all live bytes, 0 to 1 */
  const char *filter;     /* for "blocks" and others: keeps exactly these blocks; NULL if there is none */
} vs_summary_owner;

/* A request that failed because there was not enough memory. The figures are those of that moment. */
typedef struct vs_summary_oom {
  int64_t event, time_us;
  uint64_t requested_bytes; /* rounded */
  uint64_t device_free_bytes;
  uint64_t live_bytes; /* requested bytes of the live blocks */
  uint64_t reserved_bytes;
  uint64_t cached_bytes;                 /* estimated, because the trace has no rounded sizes */
  uint64_t largest_free_bytes;           /* the largest free block that the request could have used */
  const char *label;                     /* the owner of the request */
  const char *cause;                     /* "full", "fragmented", "elsewhere", "limit", "unknown" */
  const char *sentence;                  /* explains the cause */
  const char *advice;                    /* a way to avoid it; NULL: unknown */
  const vs_summary_owner *largest_owner; /* the stack with the most live bytes; NULL: unknown */
  uint64_t cached_usable_bytes;          /* of cached_bytes: free blocks that the request could use */
  uint64_t short_bytes;                  /* requested_bytes - what could be allocated then */
} vs_summary_oom;

typedef struct vs_summary_device {
  int64_t device;   /* -1: pinned host memory */
  const char *text; /* the device in one line */
  const vs_summary_peak *peak;
  const vs_summary_end *end;
  const vs_summary_owner *const *owners; /* of the peak, by line, largest first */
  size_t owner_count;                    /* of `owners` */
  uint64_t all_owners;                   /* including those that are left out */
  const vs_summary_oom *const *ooms;     /* in order of the trace */
  size_t oom_count;
} vs_summary_device;

typedef struct vs_summary {
  const char *title;                       /* the kind of the file, in one line */
  const vs_summary_device *const *devices; /* those with a segment or an event, by number */
  size_t device_count;
  const vs_summary_device *busiest; /* the requested GPU, else the default one; NULL: no GPU */
  const vs_summary_device *host;    /* pinned host memory; NULL: the file has none */
} vs_summary;

/* Every device of the loaded file. `params`: those of the method "report" as a JSON object, such as "{\"top\": 5}" for
 * five owners of each device; NULL: the defaults.
 *
 * Owner: the caller, vs_summary_destroy (which accepts NULL); *summary is NULL after a failure.
 * Fails: as vs_engine_ask */
VS_API VS_MUST_CHECK vs_status vs_engine_summarize(vs_engine *engine, const char *params,
                                                   const vs_summary **summary, vs_error *error);
VS_API void vs_summary_destroy(const vs_summary *summary);

/* The owners of the live memory at one moment. */
typedef struct vs_summary_owners {
  int64_t device, event, time_us;
  uint64_t bytes, blocks;              /* of all owners, including those that are left out */
  const vs_summary_owner *const *rows; /* largest first */
  size_t row_count;
  uint64_t all_owners;
} vs_summary_owners;

/* `params`: those of the method "live", such as "{\"at\": \"end\", \"by\": \"stack\", \"top\": 10}"; NULL: at the peak,
 * by line.
 *
 * Owner: the caller, vs_summary_owners_destroy (which accepts NULL); *owners is NULL after a failure.
 * Fails: as vs_engine_ask */
VS_API VS_MUST_CHECK vs_status vs_engine_owners(vs_engine *engine, const char *params,
                                                const vs_summary_owners **owners, vs_error *error);
VS_API void vs_summary_owners_destroy(const vs_summary_owners *owners);

#ifdef __cplusplus
}
#endif
#endif
