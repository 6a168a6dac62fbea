/* One run of a plan, on its way. A part of replay.h:
 *
 *   replay.c          the requests, one after the other; the figures
 *   replay_start.c    what was there before the trace
 *   replay_compare.c  steps against recorded steps, and why they differ
 *   replay_device.c   the device
 *   replay_trail.c    what it leaves for a picture
 *   replay_snapshot.c the run as a snapshot
 *   replay_course.c   what the others need: names of streams and pools, blocks that wait for other streams
 *   replay_fork.c     a run that is continued in several ways
 *
 * Invariant: addresses[row] is where the block of that row lies in the replay, or 0: not yet, no more, or
 * nowhere. */
#ifndef VS_ANALYZE_REPLAY_COURSE_H
#define VS_ANALYZE_REPLAY_COURSE_H

#include "alloc/alloc.h"
#include "analyze/replay_device.h"

/* The bytes of a card of unknown size, and the most of any: sums of the sizes in a file must not overflow. */
#define VS_REPLAY_ENOUGH (UINT64_C(1) << 44)

typedef struct vs_replay_course {
  const vs_host *host, *table_host; /* the latter of `addresses` alone */
  vs_host
      noticed; /* the host of the allocator. The allocator tolerates some failed allocations, but its replay would be wrong then */
  const vs_replay_plan *plan;
  const vs_replay_options *options;
  const vs_snapshot *snapshot;
  vs_replay *out;
  vs_replay_device device;
  vs_alloc *alloc;
  uint64_t *addresses; /* by row of lifetimes, then copies: where the replay put it; 0: nowhere */
  size_t address_count;
  const vs_replay_request *now; /* NULL: between requests */
  VS_VEC(uint32_t) wait_until;  /* by synthetic stream: the event at which its last block is done */
  VS_VEC(vs_pool_id) pools;     /* by index into snapshot->pools: its id in the allocator */
  vs_status status;             /* a failure inside the observer, which has no result */
  uint64_t volume;              /* of all requests: sums of statistics are below a small multiple */
  bool limit_unknown;
  bool collects; /* garbage */
} vs_replay_course;

/* ---- replay_compare.c ---------------------------------------------------------------------------------- */

/* The observer of the allocator: compares, where the run follows. */
void vs_replay_observe(void *ctx, const vs_event *event);

/* Called before and after a request. Recorded steps of the request that the replay did not make count as missing. */
void vs_replay_steps_begin(vs_replay_course *r, const vs_replay_request *request);
void vs_replay_steps_end(vs_replay_course *r);

/* ---- replay_start.c ------------------------------------------------------------------------------------ */

/* Adopts the segments from before the trace. Frees of blocks in a segment that cannot be adopted do nothing. `total`: bytes
 * that the recorded card had at least. */
VS_MUST_CHECK vs_status vs_replay_start_adopt(vs_replay_course *r, uint64_t total);

/* ---- replay_trail.c ------------------------------------------------------------------------------------ */

/* Before the first request, behind those of an event, and before the allocator is destroyed. Nothing without options->trail. */
void vs_replay_trail_begin(vs_replay_course *r);
VS_MUST_CHECK vs_status vs_replay_trail_step(vs_replay_course *r, uint32_t event);
VS_MUST_CHECK vs_status vs_replay_trail_end(vs_replay_course *r);

/* ---- replay_snapshot.c --------------------------------------------------------------------------------- */

/* The observer of the allocator where options->snapshot is filled. */
void vs_replay_snapshot_observe(void *ctx, const vs_event *event);

/* When pools have their names, before a request, behind the last one, and before the allocator is destroyed. Nothing without
 * options->snapshot. */
VS_MUST_CHECK vs_status vs_replay_snapshot_begin(vs_replay_course *r);
VS_MUST_CHECK vs_status vs_replay_snapshot_step(vs_replay_course *r, const vs_replay_request *request);
VS_MUST_CHECK vs_status vs_replay_snapshot_rest(vs_replay_course *r);
VS_MUST_CHECK vs_status vs_replay_snapshot_end(vs_replay_course *r);

/* The cause of a block or a segment of the start, by its row of lifetimes or its index in plan->start. */
vs_context vs_replay_block_cause(const vs_replay_course *r, uint32_t lifetime);
vs_context vs_replay_segment_cause(const vs_replay_course *r, size_t segment);

/* ---- replay.c ------------------------------------------------------------------------------------------ */

/* A run before its first request: init, then begin. After init, failed or not, deinit is due. Fails: as vs_replay_run */
VS_MUST_CHECK vs_status vs_replay_course_init(vs_replay_course *r, const vs_host *host,
                                              const vs_host *table_host, const vs_replay_plan *plan,
                                              const vs_replay_options *options, vs_replay *out);
VS_MUST_CHECK vs_status vs_replay_course_begin(vs_replay_course *r);
/* Runs requests until one ends the run: out->ran_out, out->is_cut, or options->until. */
VS_MUST_CHECK vs_status vs_replay_course_run(vs_replay_course *r, const vs_replay_request *requests,
                                             size_t count);
/* Peaks and counts up to now, into `out`. */
void vs_replay_course_figures(const vs_replay_course *r);
void vs_replay_course_deinit(vs_replay_course *r);

/* ---- replay_course.c ----------------------------------------------------------------------------------- */

/* Sets the ids of the pools in the allocator. */
VS_MUST_CHECK vs_status vs_replay_pools_name(vs_replay_course *r);

/* `pool` as rows say it: 0, or 1 + index into pools. */
static inline vs_pool_id vs_replay_pool(const vs_replay_course *r, uint32_t pool) {
  return pool == 0 || pool > r->pools.count ? (vs_pool_id){0, 0} : r->pools.data[pool - 1];
}

/* The names that the allocator uses, by index of the snapshot's tables. */
typedef struct vs_replay_names {
  vs_map streams; /* handle -> index into streams */
  vs_map pools;   /* key of a pool's id -> 1 + index into pools */
} vs_replay_names;

/* Deinit is due after a failure, too. Fails: VS_NO_MEMORY */
VS_MUST_CHECK vs_status vs_replay_names_init(const vs_replay_course *r, vs_replay_names *names);
void vs_replay_names_deinit(const vs_host *host, vs_replay_names *names);
uint32_t vs_replay_names_stream(const vs_replay_names *names, uint64_t handle); /* 0 for an unknown one */
uint32_t vs_replay_names_pool(const vs_replay_names *names, vs_pool_id pool);   /* 0 for an unknown one */

/* The cause that the events of the current request have: the event of the trace, whose stack they get. A free and emptying the
 * cache have none unless frees were recorded with stacks of their own, and the free was: then the allocator takes the cause of what is
 * freed. */
static inline vs_context vs_replay_cause(const vs_replay_course *r) {
  if (r->now == NULL) return VS_CONTEXT_NONE;
  const bool is_alloc = r->now->kind == VS_REPLAY_ALLOC || r->now->kind == VS_REPLAY_FAIL;
  if (is_alloc && r->options->causes != NULL) return r->options->causes[r->now - r->options->requests->data];
  const bool is_own = is_alloc || (!r->plan->lifetimes->frees_tell_alloc && !r->now->is_prompt);
  return is_own ? r->now->event : VS_CONTEXT_NONE;
}

/* What a visit of all segments and blocks costs, of the device's work. */
uint64_t vs_replay_visit_work(const vs_replay_course *r);

/* A private pool has to have a user. */
VS_MUST_CHECK vs_status vs_replay_pool_need(vs_replay_course *r, vs_pool_id pool);

/* Frees a block that waits for other streams until the event `done`. */
VS_MUST_CHECK vs_status vs_replay_free_pending(vs_replay_course *r, uint64_t address, uint32_t done);

#endif
