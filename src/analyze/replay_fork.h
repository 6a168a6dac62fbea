/* A run that stops in front of a request that failed when it was recorded, and is continued from there in several ways: with
 * some blocks freed first, or with the cache emptied first. It costs one run, and for each try a copy of the allocator's memory,
 * so that a thousand tries take no longer than a few runs. */
#ifndef VS_ANALYZE_REPLAY_FORK_H
#define VS_ANALYZE_REPLAY_FORK_H

#include "analyze/replay.h"

typedef struct vs_replay_fork vs_replay_fork;

/* What happens right before the request. */
typedef struct vs_replay_try {
  const uint32_t
      *rows; /* of lifetimes: these blocks are freed, in this order; others than live ones do nothing */
  size_t count;
  bool empties_cache; /* and then the cache is emptied */
} vs_replay_try;

/* Runs the plan's requests up to the failed request of `event`, which must be one (FAIL). `options` must not follow, and must
 * live as long as the fork. *out is NULL if the run does not come that far: it ran out of memory before, or was cut.
 * Fails: as vs_replay_run */
VS_MUST_CHECK vs_status vs_replay_fork_create(const vs_host *host, const vs_replay_plan *plan,
                                              const vs_replay_options *options, uint32_t event,
                                              vs_replay_fork **out);
void vs_replay_fork_destroy(vs_replay_fork *fork); /* NULL: nothing */

/* The run up to and with the request: vs_replay_serves(out, event) says whether it is served. `out` has no memory.
 * Fails: VS_NO_MEMORY */
VS_MUST_CHECK vs_status vs_replay_fork_try(vs_replay_fork *fork, const vs_replay_try *what, vs_replay *out);

/* Bytes that each try copies: callers that make many tries bound their product. */
uint64_t vs_replay_fork_bytes(const vs_replay_fork *fork);

#endif
