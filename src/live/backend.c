#include "live/backend.h"

static void put(vs_alloc_figures *figures, vs_alloc_group group, uint64_t current, uint64_t peak) {
  figures->current[group] = figures->base[group] =
      (int64_t)current; /* as much base as current: nothing counts as freed */
  figures->peak[group] = (int64_t)peak;
}

vs_status vs_backend_statistics(vs_live_device *device, vs_alloc_statistics *room,
                                const vs_alloc_statistics **statistics) {
  vs_async_figures figures;
  *statistics = vs_alloc_statistics_of(device->alloc);
  if (!vs_backend_is_async(device)) return VS_OK;
  VS_TRY(vs_async_measure(device->async, &figures));
  *room = **statistics;
  put(&room->part[VS_ALLOC_ALL], VS_ALLOC_ALLOCATED_BYTES, figures.used, figures.used_peak);
  put(&room->part[VS_ALLOC_ALL], VS_ALLOC_RESERVED_BYTES, figures.reserved, figures.reserved_peak);
  *statistics = room;
  return VS_OK;
}

vs_status vs_backend_refuse_async(const vs_live *live, const char *what, vs_error *error) {
  if (live->devices[0]->async == NULL) return VS_OK;
  return vs_fail(error, VS_UNSUPPORTED, VS_NO_OFFSET, "backend:cudaMallocAsync has no %s", what);
}
