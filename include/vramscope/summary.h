/* vramscope summary: what C programs ask most of a snapshot, as structs: the peak, who owned it, the state at the end, and
 * the requests that failed.
 *
 *   const vs_summary *summary;
 *   vs_error error;
 *   if (vs_engine_summarize(engine, NULL, &summary, &error) == VS_OK) {
 *     const vs_summary_device *gpu = summary->busiest;
 *     for (size_t i = 0; gpu != NULL && i < gpu->owner_count; i++) puts(gpu->owners[i]->label);
 *     vs_summary_destroy(summary);
 *   }
 *
 * The figures are those of the replies to "report" and "live" (docs/formats/query.md), which they are taken from: the same
 * question by vs_engine_ask has the same answer, and more.
 *
 * Stable    The library makes these structs; a program only reads them and takes no sizeof. So later versions add members
 *           at their ends, and programs that were compiled before keep working. Rows are pointers for the same reason.
 * Lifetime  An answer is complete in itself: it stays when the engine loads another file or is destroyed. All that it points
 *           to goes with it. It may be read by several threads.
 * Units     Sizes are bytes, times microseconds since 1970. What is not known is VS_BYTES_UNKNOWN, VS_TIME_UNKNOWN, NULL or,
 *           for a share, a negative number: never 0. `event` is an index into the device's trace, -1 before its first event.
 * Texts     End with a NUL and come from the file as they are: a program that shows them on a terminal escapes them.
 */
#ifndef VRAMSCOPE_SUMMARY_H
#define VRAMSCOPE_SUMMARY_H

#include <vramscope/query.h>

#ifdef __cplusplus
extern "C" {
#endif

#define VS_TIME_UNKNOWN INT64_MIN

/* The peak of one device: when most bytes were requested. The trace knows what was requested, not how it was rounded. */
typedef struct vs_summary_peak {
  uint64_t requested_bytes; /* of the blocks that were live then */
  uint64_t reserved_bytes;  /* held of the driver at that moment */
  uint64_t pending_bytes;   /* of the requested ones: freed, but another stream may still use them */
  uint64_t blocks;
  int64_t event, time_us;
  uint64_t max_reserved_bytes; /* the highest reserved bytes, at a moment of their own */
  int64_t max_reserved_event;
} vs_summary_peak;

/* The state at the end of the file. reserved = active + cached, cached = releasable + fragmented. */
typedef struct vs_summary_end {
  uint64_t reserved_bytes;
  uint64_t allocated_bytes; /* in the program's hands, rounded (torch.cuda.memory_allocated) */
  uint64_t active_bytes;    /* allocated, or freed and still in use by another stream */
  uint64_t requested_bytes; /* of the active blocks, not rounded */
  uint64_t cached_bytes;    /* reserved and free */
  /* Of the cached ones: in segments without a live block, which torch.cuda.empty_cache returns to the driver; and in segments
   * that live blocks share. */
  uint64_t releasable_bytes, fragmented_bytes;
  uint64_t largest_free_bytes; /* the largest free block */
  uint64_t segments, blocks, allocated_blocks;
} vs_summary_end;

/* What a part of the live bytes is attributed to. */
typedef struct vs_summary_owner {
  const char *label;      /* "train.py:42 forward" */
  const char *long_label; /* the same with the whole path */
  uint64_t bytes, blocks; /* requested, and live */
  double share;           /* of all live bytes, 0 to 1 */
  const char
      *filter; /* the filter of "blocks" and others that keeps these blocks alone; NULL: none says it */
} vs_summary_owner;

/* A request that failed for want of memory. The figures are those of that moment. */
typedef struct vs_summary_oom {
  int64_t event, time_us;
  uint64_t requested_bytes; /* rounded */
  uint64_t device_free_bytes;
  uint64_t live_bytes; /* requested bytes of the live blocks */
  uint64_t reserved_bytes;
  uint64_t cached_bytes;                 /* estimated: the trace does not know rounded sizes */
  uint64_t largest_free_bytes;           /* the largest free block that the request could have used */
  const char *label;                     /* the code that asked */
  const char *cause;                     /* "full", "fragmented", "elsewhere", "refused", "unknown" */
  const char *sentence;                  /* what that means */
  const char *advice;                    /* what would help; NULL: nothing can be said */
  const vs_summary_owner *largest_owner; /* the stack that held most; NULL: not known */
} vs_summary_oom;

typedef struct vs_summary_device {
  int64_t device;   /* -1: pinned host memory */
  const char *text; /* the device in one line */
  const vs_summary_peak *peak;
  const vs_summary_end *end;
  const vs_summary_owner *const *owners; /* of the peak, by line, largest first */
  size_t owner_count;                    /* those that are here */
  uint64_t all_owners;                   /* and how many there are */
  const vs_summary_oom *const *ooms;     /* in order of the trace */
  size_t oom_count;
} vs_summary_device;

typedef struct vs_summary {
  const char *title;                       /* what the file is, in one line */
  const vs_summary_device *const *devices; /* those with a segment or an event, by number */
  size_t device_count;
  const vs_summary_device *busiest; /* the GPU asked for, else the default one; NULL: no GPU */
  const vs_summary_device *host;    /* pinned host memory; NULL: the file has none */
} vs_summary;

/* Every device of the loaded file. `params`: those of the method "report" as a JSON object, such as "{\"top\": 5}" for five
 * owners of each device; NULL: the defaults.
 *
 * Owner: the caller, vs_summary_destroy (which accepts NULL); *summary is NULL after a failure.
 * Fails: as vs_engine_ask does */
VS_API VS_MUST_CHECK vs_status vs_engine_summarize(vs_engine *engine, const char *params,
                                                   const vs_summary **summary, vs_error *error);
VS_API void vs_summary_destroy(const vs_summary *summary);

/* Who owned the live memory at one moment. */
typedef struct vs_summary_owners {
  int64_t device, event, time_us;
  uint64_t bytes, blocks;              /* of all owners, also those that are not here */
  const vs_summary_owner *const *rows; /* largest first */
  size_t row_count;
  uint64_t all_owners;
} vs_summary_owners;

/* `params`: those of the method "live", such as "{\"at\": \"end\", \"by\": \"stack\", \"top\": 10}"; NULL: at the peak, by line.
 *
 * Owner: the caller, vs_summary_owners_destroy (which accepts NULL); *owners is NULL after a failure.
 * Fails: as vs_engine_ask does */
VS_API VS_MUST_CHECK vs_status vs_engine_owners(vs_engine *engine, const char *params,
                                                const vs_summary_owners **owners, vs_error *error);
VS_API void vs_summary_owners_destroy(const vs_summary_owners *owners);

#ifdef __cplusplus
}
#endif
#endif
