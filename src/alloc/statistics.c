/* Resets, and every figure under its key. */
#include "alloc/settings.h"
#include "alloc/statistics.h"

/* ---- resets -------------------------------------------------------------------------------------------- */

void vs_alloc_statistics_reset_peak(vs_alloc_statistics *statistics) {
  for (int part = 0; part < VS_ALLOC_PARTS; part++) {
    vs_alloc_figures *figures = &statistics->part[part];
    memcpy(figures->peak, figures->current, sizeof figures->peak);
  }
  statistics->oversize_allocations.peak = statistics->oversize_allocations.current;
  statistics->oversize_segments.peak = statistics->oversize_segments.current;
}

static void reset_stat(vs_alloc_stat *stat) { stat->allocated = stat->freed = 0; }

void vs_alloc_statistics_reset_totals(vs_alloc_statistics *statistics) {
  for (int part = 0; part < VS_ALLOC_PARTS; part++) {
    vs_alloc_figures *figures = &statistics->part[part];
    memset(figures->allocated, 0, sizeof figures->allocated);
    memcpy(figures->base, figures->current, sizeof figures->base);
  }
  reset_stat(&statistics->oversize_allocations);
  reset_stat(&statistics->oversize_segments);
  statistics->num_alloc_retries = statistics->num_ooms = statistics->num_oom_rejections = 0;
  statistics->num_sync_all_streams = statistics->num_device_alloc = statistics->num_device_free = 0;
  memset(statistics->steps, 0, sizeof statistics->steps);
  memset(statistics->sizes, 0, sizeof statistics->sizes);
  memset(statistics->lifetimes, 0, sizeof statistics->lifetimes);
}

/* ---- all keys, in order -------------------------------------------------------------------------------- */

static const char *const group_keys[VS_ALLOC_GROUPS] = {
#define VS_ALLOC_GROUP(name, key, is_bytes, words) [VS_ALLOC_##name] = key,
#include "alloc/groups.def"
#undef VS_ALLOC_GROUP
};

typedef struct visitor {
  vs_status (*visit)(void *ctx, vs_str key, int64_t value);
  void *ctx;
} visitor;

static vs_status give(const visitor *v, const char *first, const char *second, const char *third,
                      int64_t value) {
  char key[128];
  VS_ASSERT(strlen(first) + strlen(second) + strlen(third) < sizeof key);
  vs_format(key, sizeof key, "%s%s%s", first, second, third);
  return v->visit(v->ctx, vs_str_from(key), value);
}

static vs_status give_stat(const visitor *v, const char *key, const char *part, vs_alloc_stat stat) {
  char prefix[96];
  vs_format(prefix, sizeof prefix, "%s%s", key, part);
  VS_TRY(give(v, prefix, ".", "allocated", stat.allocated));
  VS_TRY(give(v, prefix, ".", "current", stat.current));
  VS_TRY(give(v, prefix, ".", "freed", stat.freed));
  return give(v, prefix, ".", "peak", stat.peak);
}

/* The parts in the order of their names. */
static const struct {
  vs_alloc_part part;
  const char *key;
} parts[] = {{VS_ALLOC_ALL, ".all"}, {VS_ALLOC_LARGE, ".large_pool"}, {VS_ALLOC_SMALL, ".small_pool"}};

static vs_status give_group(const visitor *v, const vs_alloc_statistics *s, vs_alloc_group group) {
  for (int i = 0; i < VS_ALLOC_PARTS; i++)
    VS_TRY(give_stat(v, group_keys[group], parts[i].key, vs_alloc_statistics_at(s, group, parts[i].part)));
  return VS_OK;
}

enum { POOL_KEY = 72 };

static vs_str pool_key(char key[static POOL_KEY], vs_pool_id id) {
  vs_format(key, POOL_KEY, "%U_%U", id.a, id.b);
  return vs_str_from(key);
}

/* The pool whose name comes next in the order of texts ("0_10" before "0_2"); NULL: none. */
static const vs_alloc_private *next_pool(const vs_alloc_private *pools, uint64_t count,
                                         const vs_alloc_private *last) {
  const vs_alloc_private *best = NULL;
  char last_key[POOL_KEY], best_key[POOL_KEY], key[POOL_KEY];
  if (last != NULL) (void)pool_key(last_key, last->id);
  for (uint64_t i = 0; i < count; i++) {
    const vs_str name = pool_key(key, pools[i].id);
    if (last != NULL && vs_str_compare(name, vs_str_from(last_key)) <= 0) continue;
    if (best != NULL && vs_str_compare(name, vs_str_from(best_key)) >= 0) continue;
    best = &pools[i];
    memcpy(best_key, key, sizeof key);
  }
  return best;
}

static vs_status give_pools(const visitor *v, const vs_alloc_private *pools, uint64_t count) {
  const vs_alloc_private *pool = NULL;
  while ((pool = next_pool(pools, count, pool)) != NULL) {
    char key[POOL_KEY], prefix[128];
    (void)pool_key(key, pool->id);
    vs_format(prefix, sizeof prefix, "reserved_bytes_by_private_pools.%s", key);
    for (int i = 0; i < VS_ALLOC_PARTS; i++)
      VS_TRY(give_stat(v, prefix, parts[i].key, pool->reserved[parts[i].part]));
  }
  return VS_OK;
}

vs_status vs_alloc_statistics_visit(const vs_alloc_statistics *statistics, const vs_alloc_private *pools,
                                    uint64_t pool_count, const vs_alloc_settings *settings,
                                    vs_status (*visit)(void *ctx, vs_str key, int64_t value), void *ctx) {
  const visitor v = {visit, ctx};
  const vs_alloc_statistics *s = statistics;
  const vs_alloc_rules *rules = settings->rules;
  VS_TRY(give_group(&v, s, VS_ALLOC_ACTIVE));
  VS_TRY(give_group(&v, s, VS_ALLOC_ACTIVE_BYTES));
  VS_TRY(give_group(&v, s, VS_ALLOC_ALLOCATED_BYTES));
  VS_TRY(give_group(&v, s, VS_ALLOC_ALLOCATION));
  VS_TRY(give_group(&v, s, VS_ALLOC_INACTIVE_SPLIT));
  VS_TRY(give_group(&v, s, VS_ALLOC_INACTIVE_SPLIT_BYTES));
  VS_TRY(give(&v, "max_split_size", "", "", s->max_split_size));
  VS_TRY(give(&v, "num_alloc_retries", "", "", s->num_alloc_retries));
  if (rules->has_device_counters) VS_TRY(give(&v, "num_device_alloc", "", "", s->num_device_alloc));
  if (rules->has_device_counters) VS_TRY(give(&v, "num_device_free", "", "", s->num_device_free));
  if (rules->has_rejections) VS_TRY(give(&v, "num_oom_rejections", "", "", s->num_oom_rejections));
  VS_TRY(give(&v, "num_ooms", "", "", s->num_ooms));
  if (rules->has_device_counters) VS_TRY(give(&v, "num_sync_all_streams", "", "", s->num_sync_all_streams));
  VS_TRY(give_stat(&v, "oversize_allocations", "", s->oversize_allocations));
  VS_TRY(give_stat(&v, "oversize_segments", "", s->oversize_segments));
  if (rules->has_requested_bytes) VS_TRY(give_group(&v, s, VS_ALLOC_REQUESTED_BYTES));
  VS_TRY(give_group(&v, s, VS_ALLOC_RESERVED_BYTES));
  if (rules->has_private_bytes) VS_TRY(give_pools(&v, pools, pool_count));
  return give_group(&v, s, VS_ALLOC_SEGMENT);
}

/* ---- beyond PyTorch --------------------------------------------------------------------------------------- */

static vs_status give_classes(const visitor *v, const char *name, const uint64_t *classes) {
  for (int i = 0; i < VS_ALLOC_CLASSES; i++) {
    if (classes[i] == 0) continue;
    char key[64];
    vs_format(key, sizeof key, "%s.%U", name, UINT64_C(1) << i);
    VS_TRY(v->visit(v->ctx, vs_str_from(key), (int64_t)classes[i]));
  }
  return VS_OK;
}

vs_status vs_alloc_extras_visit(const vs_alloc_statistics *statistics,
                                vs_status (*visit)(void *ctx, vs_str key, int64_t value), void *ctx) {
  static const char *const steps[VS_ALLOC_STEPS] = {
#define VS_ALLOC_STEP(name, key, words) [VS_ALLOC_##name] = "requests." key,
#include "alloc/steps.def"
#undef VS_ALLOC_STEP
  };
  const visitor v = {visit, ctx};
  for (int i = 0; i < VS_ALLOC_STEPS; i++)
    VS_TRY(visit(ctx, vs_str_from(steps[i]), (int64_t)statistics->steps[i]));
  VS_TRY(give_classes(&v, "sizes", statistics->sizes));
  return give_classes(&v, "lifetimes", statistics->lifetimes);
}
