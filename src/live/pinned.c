/* Counters of pinned host memory, which the program manages itself: it reports what happens. */
#include "live/state.h"

static void add_time(vs_live_times *times, int64_t us) {
  times->total += us;
  if (us > times->most) times->most = us;
  if (times->count == 0 || us < times->least) times->least = us;
  times->count++;
}

void vs_live_host_note(vs_live *live, vs_host_event event, uint64_t bytes, uint64_t us) {
  vs_live_pinned *pinned = &live->pinned;
  vs_live_lock_take(&pinned->lock);
  switch (event) {
    case VS_HOST_ALLOCATED:
      vs_alloc_stat_increase(&pinned->allocations, 1);
      vs_alloc_stat_increase(&pinned->allocated_bytes, (int64_t)bytes);
      add_time(&pinned->alloc_time, (int64_t)us);
      pinned->allocs++;
      break;
    case VS_HOST_FREED:
      vs_alloc_stat_decrease(&pinned->allocations, 1);
      vs_alloc_stat_decrease(&pinned->allocated_bytes, (int64_t)bytes);
      add_time(&pinned->free_time, (int64_t)us);
      pinned->frees++;
      break;
    case VS_HOST_TAKEN:
      vs_alloc_stat_increase(&pinned->requests, 1);
      vs_alloc_stat_increase(&pinned->active_bytes, (int64_t)bytes);
      break;
    case VS_HOST_RETURNED:
      vs_alloc_stat_decrease(&pinned->requests, 1);
      vs_alloc_stat_decrease(&pinned->active_bytes, (int64_t)bytes);
      break;
  }
  vs_live_lock_give(&pinned->lock);
}

/* ---- the keys, in the order of torch.cuda.host_memory_stats() */

typedef struct row {
  vs_str key;
  int64_t value;
} row;

enum { STAT_ROWS = 4, TIME_ROWS = 5, ROWS = 4 * STAT_ROWS + 2 * TIME_ROWS + 2 };

#define STAT(name, stat)                                                                    \
  {VS_STR(name ".allocated"), (stat).allocated}, {VS_STR(name ".current"), (stat).current}, \
      {VS_STR(name ".freed"), (stat).freed}, {                                              \
    VS_STR(name ".peak"), (stat).peak                                                       \
  }
#define TIMES(name, times)                                                         \
  {VS_STR(name ".avg"), (times).count == 0 ? 0 : (times).total / (times).count},   \
      {VS_STR(name ".count"), (times).count}, {VS_STR(name ".max"), (times).most}, \
      {VS_STR(name ".min"), (times).least}, {                                      \
    VS_STR(name ".total"), (times).total                                           \
  }

vs_status vs_live_host_statistics(vs_live *live, vs_live_visit visit, void *ctx) {
  vs_live_pinned *pinned = &live->pinned;
  vs_live_lock_take(&pinned->lock);
  const row rows[ROWS] = {
      STAT("active_bytes", pinned->active_bytes),       STAT("active_requests", pinned->requests),
      STAT("allocated_bytes", pinned->allocated_bytes), STAT("allocations", pinned->allocations),
      TIMES("host_alloc_time", pinned->alloc_time),     TIMES("host_free_time", pinned->free_time),
      {VS_STR("num_host_alloc"), pinned->allocs},       {VS_STR("num_host_free"), pinned->frees},
  };
  vs_live_lock_give(&pinned->lock);
  for (size_t i = 0; i < ROWS; i++) VS_TRY(visit(ctx, rows[i].key, rows[i].value));
  return VS_OK;
}

static void list_stats(vs_live_pinned *pinned, vs_alloc_stat *stats[STAT_ROWS]) {
  stats[0] = &pinned->allocations;
  stats[1] = &pinned->allocated_bytes;
  stats[2] = &pinned->requests;
  stats[3] = &pinned->active_bytes;
}

void vs_live_host_reset_peak(vs_live *live) {
  vs_alloc_stat *stats[STAT_ROWS];
  vs_live_lock_take(&live->pinned.lock);
  list_stats(&live->pinned, stats);
  for (size_t i = 0; i < STAT_ROWS; i++) stats[i]->peak = stats[i]->current;
  vs_live_lock_give(&live->pinned.lock);
}

void vs_live_host_reset_totals(vs_live *live) {
  vs_alloc_stat *stats[STAT_ROWS];
  vs_live_lock_take(&live->pinned.lock);
  list_stats(&live->pinned, stats);
  for (size_t i = 0; i < STAT_ROWS; i++) stats[i]->allocated = stats[i]->freed = 0;
  live->pinned.alloc_time = live->pinned.free_time = (vs_live_times){0};
  live->pinned.allocs = live->pinned.frees = 0;
  vs_live_lock_give(&live->pinned.lock);
}
