/* One of the two allocators that are compared, as a table of functions: peer.cc is PyTorch's on the
 * simulated CUDA libraries, ours.c is vs_alloc on device/sim. Both get the same calls in the same order,
 * and what they answer, tell and count is put into these plain structs.
 *
 * Streams, slots (live allocations), pools, marks (CUDA events of the program) and weights (memory
 * taken outside the allocator) are small numbers; drive.cc decides which calls are valid when. */
#ifndef PARITY_SIDE_H
#define PARITY_SIDE_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
  PARITY_STREAMS = 8,
  PARITY_SLOTS = 1 << 14,
  PARITY_POOLS = 64, /* that one case may make; the first is the default pool */
  PARITY_MARKS = 8,
  PARITY_WEIGHTS = 8,
  PARITY_GROUPS = 9,
  PARITY_PARTS = 3,
  PARITY_COUNTERS = 7,
  PARITY_MESSAGE = 4096,
};

#define PARITY_NO_CONTEXT UINT32_MAX

typedef enum parity_result { PARITY_DONE, PARITY_OOM, PARITY_REFUSED } parity_result;

/* Which contexts (stacks) are kept with blocks and told with events: PyTorch's levels. */
typedef enum parity_contexts {
  PARITY_CONTEXTS_NEVER,
  PARITY_CONTEXTS_ALLOC,
  PARITY_CONTEXTS_ALL
} parity_contexts;

/* What one run starts with. */
typedef struct parity_start {
  const char *gpu;      /* "RTX4090:2GiB" */
  const char *settings; /* PYTORCH_CUDA_ALLOC_CONF */
  bool events_at_sync;
  parity_contexts contexts;
} parity_start;

typedef struct parity_event {
  uint64_t address, size, stream;
  uint64_t pool[2];
  uint32_t kind; /* the number of kinds.def */
  uint32_t context;
} parity_event;

typedef struct parity_stat {
  int64_t current, peak, allocated, freed;
} parity_stat;

typedef struct parity_private {
  uint64_t pool[2];
  parity_stat part[PARITY_PARTS];
} parity_private;

typedef struct parity_statistics {
  parity_stat group[PARITY_GROUPS][PARITY_PARTS]; /* groups in the order of groups.def; all, small, large */
  parity_stat oversize[2];                        /* allocations, segments */
  int64_t counter
      [PARITY_COUNTERS]; /* retries, ooms, syncs, device allocs, device frees, rejections, max_split_size */
  uint32_t pool_count;   /* by rising id */
  parity_private pool[PARITY_POOLS];
} parity_statistics;

/* A snapshot is a list of these: a segment and then its blocks. */
typedef struct parity_row {
  bool is_segment;
  uint64_t address, size, requested;
  uint64_t state; /* of a block: allocated 0, pending 1, free 2 */
  uint32_t context;
  /* of a segment */
  uint64_t allocated, active, stream;
  uint64_t pool[2];
  bool is_small, is_expandable;
  int64_t registration;
} parity_row;

typedef struct parity_side {
  const char *name;
  void (*begin)(const parity_start *start);            /* ends the process where it cannot */
  uint64_t (*stream)(uint32_t stream, uint64_t *hash); /* the handle, and PyTorch's hash of it */
  void (*context)(uint32_t context);                   /* whose doing all that follows is */

  parity_result (*alloc)(uint32_t slot, uint64_t size, uint32_t stream, uint64_t *address);
  parity_result (*free)(uint32_t slot);
  parity_result (*record)(uint32_t slot, uint32_t stream);
  parity_result (*base)(uint32_t slot, uint64_t *base, uint64_t *size);
  parity_result (*empty)(const uint64_t *pool);
  parity_result (*fraction)(double fraction);
  parity_result (*settings)(const char *text);
  parity_result (*stream_class)(uint32_t stream, const char *name);
  void (*reset_peak)(void);
  void (*reset_totals)(void);

  /* `bytes`: 0, or the most that a source of the pool's own gives. */
  parity_result (*pool_retain)(const uint64_t *pool, uint64_t bytes);
  parity_result (*pool_release)(const uint64_t *pool);
  parity_result (*lend)(const uint64_t *pool, bool on);
  parity_result (*no_split)(const uint64_t *pool);
  int64_t (*users)(const uint64_t *pool);
  /* `only`: the stream that is routed, or -1 for all; -2: those that take part in the capture that begins
   * next. */
  parity_result (*route_begin)(const uint64_t *pool, int32_t only);
  parity_result (*route_end)(const uint64_t *pool);
  parity_result (*capture_begin)(uint32_t stream);
  parity_result (*capture_end)(uint32_t stream);

  parity_result (*work)(uint32_t stream);
  parity_result (*mark)(uint32_t mark, uint32_t stream);
  parity_result (*wait)(uint32_t stream, uint32_t mark);
  parity_result (*synchronize)(int32_t stream); /* -1: the device */
  parity_result (*weigh)(uint32_t weight, uint64_t size);
  parity_result (*unweigh)(uint32_t weight);

  void (*memory)(uint64_t *free_bytes, uint64_t *total_bytes);
  void (*statistics)(parity_statistics *out);
  /* Rows are borrowed until the next call. */
  parity_result (*snapshot)(const uint64_t *pool, const parity_row **rows, uint64_t *count);
  /* Why the last call was no PARITY_DONE. */
  const char *(*message)(void);
  /* What was told since the last time. Borrowed until the next call. */
  uint64_t (*events)(const parity_event **events);
  const char *(*check)(void); /* NULL, or the invariant that does not hold */
} parity_side;

extern const parity_side parity_peer, parity_ours;

/* Behind the free-memory callbacks of both: `side` is the one that asks. May free slots of that side. */
bool parity_free_memory(const parity_side *side);

#ifdef __cplusplus
}
#endif

#endif
