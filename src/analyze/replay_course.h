/* One run of a plan, on its way. A part of replay.h:
 *
 *   replay.c          the requests, one after the other; the figures
 *   replay_start.c    what was there before the trace
 *   replay_compare.c  steps against recorded steps, and why they differ
 *   replay_device.c   the device
 *   replay_trail.c    what it leaves for a picture
 *   replay_course.c   what the first two need: pools by their names here, blocks that wait for other streams
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
  vs_host noticed; /* what the allocator gets: it can do without some memory, a replay of it cannot */
  const vs_replay_plan *plan;
  const vs_replay_options *options;
  const vs_snapshot *snapshot;
  vs_replay *out;
  vs_replay_device device;
  vs_alloc *alloc;
  uint64_t *addresses;          /* by row of lifetimes: where the replay put it; 0: nowhere */
  const vs_replay_request *now; /* NULL: between requests */
  VS_VEC(uint32_t) wait_until;  /* by synthetic stream: the event at which its last block is done */
  VS_VEC(vs_pool_id) pools;     /* by index into snapshot->pools: what it is called here */
  vs_status status;             /* of what an observer cannot say */
  uint64_t volume;              /* of all requests: sums of statistics are below a small multiple */
  bool limit_unknown;
  bool collects; /* garbage */
} vs_replay_course;

/* ---- replay_compare.c ---------------------------------------------------------------------------------- */

/* The observer of the allocator: compares, where the run follows. */
void vs_replay_observe(void *ctx, const vs_event *event);

/* Before a request and behind it. What the recording has for it and the replay did not make is missing. */
void vs_replay_steps_begin(vs_replay_course *r, const vs_replay_request *request);
void vs_replay_steps_end(vs_replay_course *r);

/* ---- replay_start.c ------------------------------------------------------------------------------------ */

/* Takes over what was there. What cannot be is left out: frees of blocks in it do nothing. `total`: bytes
 * that the recorded card had at least. */
VS_MUST_CHECK vs_status vs_replay_start_adopt(vs_replay_course *r, uint64_t total);

/* ---- replay_trail.c ------------------------------------------------------------------------------------ */

/* Before the first request, behind those of an event, and before the allocator is destroyed. Nothing without options->trail. */
void vs_replay_trail_begin(vs_replay_course *r);
VS_MUST_CHECK vs_status vs_replay_trail_step(vs_replay_course *r, uint32_t event);
VS_MUST_CHECK vs_status vs_replay_trail_end(vs_replay_course *r);

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

/* Finds out what pools are called in the allocator. */
VS_MUST_CHECK vs_status vs_replay_pools_name(vs_replay_course *r);

/* `pool` as rows say it: 0, or 1 + index into pools. */
static inline vs_pool_id vs_replay_pool(const vs_replay_course *r, uint32_t pool) {
  return pool == 0 || pool > r->pools.count ? (vs_pool_id){0, 0} : r->pools.data[pool - 1];
}

/* A private pool has to have a user. */
VS_MUST_CHECK vs_status vs_replay_pool_need(vs_replay_course *r, vs_pool_id pool);

/* Frees a block that waits for other streams until the event `done`. */
VS_MUST_CHECK vs_status vs_replay_free_pending(vs_replay_course *r, uint64_t address, uint32_t done);

#endif
