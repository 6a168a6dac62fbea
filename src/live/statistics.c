/* Figures of a card: copied or written under its lock, passed on without it. */
#include "base/sized.h"
#include "base/nearest.h"
#include "live/backend.h"
#include "live/error_text.h"

static uint64_t at(const vs_alloc_statistics *statistics, vs_alloc_group group, uint64_t *peak) {
  const vs_alloc_stat stat = vs_alloc_statistics_at(statistics, group, VS_ALLOC_ALL);
  VS_ASSERT(stat.current >= 0 && stat.peak >= 0);
  *peak = (uint64_t)stat.peak;
  return (uint64_t)stat.current;
}

static void fill(const vs_alloc_statistics *statistics, vs_live_memory *memory) {
  memory->allocated = at(statistics, VS_ALLOC_ALLOCATED_BYTES, &memory->allocated_peak);
  memory->reserved = at(statistics, VS_ALLOC_RESERVED_BYTES, &memory->reserved_peak);
  memory->requested = at(statistics, VS_ALLOC_REQUESTED_BYTES, &memory->requested_peak);
  memory->active = at(statistics, VS_ALLOC_ACTIVE_BYTES, &memory->active_peak);
}

static vs_status memory_of(vs_live *live, uint32_t index, vs_live_memory *memory) {
  vs_alloc_statistics room;
  const vs_alloc_statistics *statistics;
  vs_live_device *device = vs_live_enter(live, index);
  if (device == NULL) return vs_live_no_device(live, index);
  const vs_status status = vs_backend_statistics(device, &room, &statistics);
  if (status == VS_OK) fill(statistics, memory);
  vs_live_leave(device);
  return vs_live_result(live, status);
}

vs_status vs_live_memory_of_sized(vs_live *live, uint32_t index, vs_live_memory *memory, size_t size) {
  vs_live_memory own = {0};
  const vs_status status = memory_of(live, index, &own);
  if (status == VS_OK) vs_sized_give(memory, size, &own, sizeof own);
  return status;
}

static vs_status visit_all(vs_live_device *device, vs_live_visit visit, void *ctx) {
  const vs_alloc_private *pools = NULL;
  const vs_alloc_settings *settings = vs_alloc_settings_of(device->alloc);
  uint64_t count = 0;
  if (vs_backend_is_async(device)) {
    vs_async_figures figures;
    VS_TRY(vs_async_measure(device->async, &figures));
    return vs_async_visit(&figures, settings, visit, ctx);
  }
  VS_TRY(vs_alloc_private_pools(device->alloc, &pools, &count));
  return vs_alloc_statistics_visit(vs_alloc_statistics_of(device->alloc), pools, count, settings, visit, ctx);
}

vs_status vs_live_statistics(vs_live *live, uint32_t index, vs_live_visit visit, void *ctx) {
  vs_live_device *device = vs_live_enter(live, index);
  if (device == NULL) return vs_live_no_device(live, index);
  const vs_status status = visit_all(device, visit, ctx);
  vs_live_leave(device);
  return vs_live_result(live, status);
}

typedef struct stream_visit {
  vs_live_visit visit;
  void *ctx;
  vs_status status; /* of the first failure */
} stream_visit;

static void give_stream(void *ctx, const vs_alloc_stream_figures *figures) {
  stream_visit *v = ctx;
  const struct {
    const char *name;
    uint64_t value;
  } rows[] = {{"allocated_bytes", figures->allocated_bytes},
              {"allocated_peak", figures->allocated_peak},
              {"cached_blocks", figures->free_blocks},
              {"cached_bytes", figures->free_bytes}};
  VS_ASSERT(figures->allocated_bytes <= figures->allocated_peak);
  for (size_t i = 0; i < sizeof rows / sizeof *rows && v->status == VS_OK; i++) {
    char pool[64] = "", key[160];
    if (!vs_pool_id_is_default(figures->pool))
      vs_format(pool, sizeof pool, "pool.%U_%U.", figures->pool.a, figures->pool.b);
    vs_format(key, sizeof key, "%sstream.%U.%s.%s", pool, figures->stream,
              figures->is_small ? "small" : "large", rows[i].name);
    v->status = v->visit(v->ctx, vs_str_from(key), (int64_t)rows[i].value);
  }
}

vs_status vs_live_extras(vs_live *live, uint32_t index, vs_live_visit visit, void *ctx) {
  vs_live_device *device = vs_live_enter(live, index);
  if (device == NULL) return vs_live_no_device(live, index);
  stream_visit v = {visit, ctx, VS_OK};
  if (!vs_backend_is_async(device)) {
    v.status = vs_alloc_extras_visit(vs_alloc_statistics_of(device->alloc), visit, ctx);
    if (v.status == VS_OK) vs_alloc_visit_streams(device->alloc, give_stream, &v);
  }
  vs_live_leave(device);
  return vs_live_result(live, v.status);
}

typedef struct wanted {
  vs_str key;
  int64_t *value;
  bool is_found;
} wanted;

static vs_status compare(void *ctx, vs_str key, int64_t value) {
  wanted *w = ctx;
  if (!vs_str_equal(key, w->key)) return VS_OK;
  *w->value = value;
  w->is_found = true;
  return VS_OK;
}

/* The nearest key; a copy, because a visited key is borrowed. */
typedef struct guess {
  vs_nearest nearest;
  char text[96];
} guess;

static vs_status offer(void *ctx, vs_str key, int64_t value) {
  guess *g = ctx;
  const uint32_t before = g->nearest.distance;
  (void)value;
  vs_nearest_offer(&g->nearest, key);
  if (g->nearest.distance != before) vs_format(g->text, sizeof g->text, "%S", key);
  return VS_OK;
}

static vs_status refuse_key(vs_live *live, uint32_t index, vs_str key) {
  guess g = {.nearest = vs_nearest_to(key)};
  VS_TRY(vs_live_statistics(live, index, offer, &g));
  if (g.text[0] != 0)
    return vs_live_fail(live, VS_NOT_FOUND, "no statistic \"%S\": did you mean \"%s\"?", key, g.text);
  return vs_live_fail(live, VS_NOT_FOUND, "no statistic \"%S\": vs_live_statistics lists them", key);
}

vs_status vs_live_statistic(vs_live *live, uint32_t index, const char *key, int64_t *value) {
  wanted w = {.key = vs_str_from(key), .value = value};
  VS_TRY(vs_live_statistics(live, index, compare, &w));
  return w.is_found ? VS_OK : refuse_key(live, index, w.key);
}

vs_status vs_live_summary_write(vs_live *live, uint32_t index, bool abbreviated, vs_writer to) {
  vs_live_device *device = vs_live_enter(live, index);
  if (device == NULL) return vs_live_no_device(live, index);
  vs_text text;
  vs_text_init(&text, live->host, NULL);
  vs_alloc_statistics room;
  const vs_alloc_statistics *statistics;
  vs_status status = vs_backend_statistics(device, &room, &statistics);
  if (status == VS_OK) status = vs_alloc_summary_write(statistics, index, abbreviated, &text);
  vs_live_leave(device);
  if (status == VS_OK) status = vs_text_finish(&text);
  if (status == VS_OK) status = to.write(to.ctx, text.bytes.data, text.bytes.count);
  vs_text_deinit(&text);
  return vs_live_result(live, status);
}

vs_status vs_live_reset_peak(vs_live *live, uint32_t index) {
  vs_live_device *device = vs_live_enter(live, index);
  if (device == NULL) return vs_live_no_device(live, index);
  vs_alloc_reset_peak(device->alloc);
  const vs_status status = vs_backend_is_async(device) ? vs_async_reset_peak(device->async) : VS_OK;
  vs_live_leave(device);
  return vs_live_result(live, status);
}

vs_status vs_live_reset_totals(vs_live *live, uint32_t index) {
  vs_live_device *device = vs_live_enter(live, index);
  if (device == NULL) return vs_live_no_device(live, index);
  vs_alloc_reset_totals(device->alloc);
  device->ooms_told = 0;
  vs_live_leave(device);
  return VS_OK;
}
