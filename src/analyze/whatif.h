/* What a recorded program needs: runs of its plan on cards of several sizes.
 *
 * Sizes are the bytes that the process can reserve: what a card has left for its allocator, after the context, other
 * processes and other libraries. */
#ifndef VS_ANALYZE_WHATIF_H
#define VS_ANALYZE_WHATIF_H

#include "analyze/replay.h"

/* What the process could reserve when a request failed: what it had reserved after the allocator had released its cache, and
 * what the driver reported as free. */
typedef struct vs_capacity {
  bool is_known;
  uint64_t bytes;
  uint32_t event; /* the failed request that shows it: the last one of the trace */
} vs_capacity;

vs_capacity vs_capacity_recorded(const vs_replay_plan *plan);

/* Whether everything that succeeded in the recording succeeds, and what failed in it as well. */
static inline bool vs_replay_passes(const vs_replay *replay) {
  return !replay->ran_out && !replay->is_cut && replay->refused == 0;
}

/* Sizes are tried in multiples of this: the driver gives memory in multiples of 2 MiB. */
#define VS_WHATIF_GRANULE (UINT64_C(2) << 20)

typedef struct vs_smallest {
  bool is_known;  /* false: no size was found in which the program runs */
  uint64_t bytes; /* a multiple of VS_WHATIF_GRANULE; one granule less fails */
  uint32_t runs;  /* replays that it took */
} vs_smallest;

/* The smallest size in which a run of options->settings and options->requests passes, by bisection. Whether a program runs
 * may not rise with the size: sizes between the answer and the peak of an unlimited run are probed too, and where one of
 * them fails the answer is above it. Fails: as vs_replay_run */
VS_MUST_CHECK vs_status vs_whatif_smallest(const vs_host *host, const vs_replay_plan *plan,
                                           const vs_replay_options *options, vs_smallest *out);

/* The settings strings that a search tries: search.def. */
size_t vs_whatif_search_count(void);
const char *vs_whatif_search_at(size_t index); /* index < count */

#endif
