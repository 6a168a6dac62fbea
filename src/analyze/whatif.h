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

/* Whether a run up to the failed request of `event` serves it. Earlier requests may have failed again: the program went on
 * after them. */
static inline bool vs_replay_serves(const vs_replay *replay, uint32_t event) {
  return !replay->ran_out && !replay->is_cut && replay->refused_last != event;
}

/* Sizes are tried in multiples of this: the driver gives memory in multiples of 2 MiB. */
#define VS_WHATIF_GRANULE (UINT64_C(2) << 20)

typedef struct vs_smallest {
  bool is_known;                         /* false: no size was found in which the program runs */
  uint64_t bytes;                        /* a multiple of VS_WHATIF_GRANULE; one granule less fails */
  uint32_t runs;                         /* replays that it took */
  uint64_t reserved_peak, device_allocs; /* of the run in that size */
} vs_smallest;

/* The smallest size in which a run of options->settings and options->requests passes, by bisection; with options->until, which
 * must then be a failed request, the smallest one above `fails` bytes in which it serves that. Whether a program runs
 * may not rise with the size: sizes between the answer and the peak of an unlimited run are probed too, and where one of
 * them fails the answer is above it. Fails: as vs_replay_run */
VS_MUST_CHECK vs_status vs_whatif_smallest(const vs_host *host, const vs_replay_plan *plan,
                                           const vs_replay_options *options, uint64_t fails,
                                           vs_smallest *out);

/* The settings strings that a search tries: search.def. */
size_t vs_whatif_search_count(void);
const char *vs_whatif_search_at(size_t index); /* index < count */

/* The settings of such a string. A string that the recording's version of PyTorch does not know would not help its user: it has
 * to be known by the rules that place the blocks or by those of the file's age, which decide where no rules reproduce the
 * recording. false: neither knows it. */
bool vs_whatif_search_settings(vs_str text, const vs_alloc_rules *rules, const vs_alloc_rules *rules_of_age,
                               vs_alloc_settings *out);

#endif
