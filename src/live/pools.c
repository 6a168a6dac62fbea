/* Private pools, the segments of addresses, and free memory: alloc's functions under the card's lock. */
#include "base/sized.h"
#include "live/backend.h"
#include "live/error_text.h"

/* ---- pools */

static vs_status of_pool(const vs_live *live, vs_status status, vs_live_pool pool, const char *otherwise) {
  if (status != VS_NOT_FOUND && status != VS_BAD_ARGUMENT) return vs_live_result(live, status);
  return vs_live_fail(live, status, "pool %U, %U %s", pool.a, pool.b, otherwise);
}

static bool accept(void *ctx, uint64_t stream) {
  (void)ctx;
  (void)stream;
  return true;
}

vs_status vs_live_pool_begin(vs_live *live, uint32_t index, vs_live_pool pool,
                             bool (*filter)(void *ctx, uint64_t stream), void *ctx) {
  const vs_pool_id id = {pool.a, pool.b};
  if (vs_pool_id_is_default(id))
    return vs_live_fail(live, VS_BAD_ARGUMENT, "pool 0, 0 is the default pool, which is always used");
  vs_live_device *device = vs_live_enter(live, index);
  if (device == NULL) return vs_live_no_device(live, index);
  const vs_status status =
      vs_backend_is_async(device)
          ? VS_UNSUPPORTED
          : vs_alloc_route_begin(device->alloc, id, filter == NULL ? accept : filter, ctx);
  vs_live_leave(device);
  if (status == VS_UNSUPPORTED)
    return vs_live_fail(live, status, "backend:cudaMallocAsync has no private pools");
  return of_pool(live, status, pool, "was begun already, and has not ended");
}

vs_status vs_live_pool_end(vs_live *live, uint32_t index, vs_live_pool pool) {
  vs_live_device *device = vs_live_enter(live, index);
  if (device == NULL) return vs_live_no_device(live, index);
  const vs_status status = vs_alloc_route_end(device->alloc, (vs_pool_id){pool.a, pool.b}, VS_CONTEXT_NONE);
  vs_live_leave(device);
  return of_pool(live, status, pool, "was not begun");
}

vs_status vs_live_pool_release(vs_live *live, uint32_t index, vs_live_pool pool) {
  vs_live_device *device = vs_live_enter(live, index);
  if (device == NULL) return vs_live_no_device(live, index);
  const vs_status status = vs_alloc_pool_release(device->alloc, (vs_pool_id){pool.a, pool.b});
  vs_live_leave(device);
  return of_pool(live, status, pool, "has no users: it was never begun, or was released already");
}

vs_status vs_live_capture_begin(vs_live *live, uint32_t index) {
  vs_live_device *device = vs_live_enter(live, index);
  if (device == NULL) return vs_live_no_device(live, index);
  vs_alloc_capture_begin(device->alloc);
  vs_live_leave(device);
  return VS_OK;
}

vs_status vs_live_capture_end(vs_live *live, uint32_t index) {
  vs_live_device *device = vs_live_enter(live, index);
  if (device == NULL) return vs_live_no_device(live, index);
  vs_alloc_capture_end(device->alloc);
  vs_live_leave(device);
  return VS_OK;
}

/* ---- segments of addresses, and free memory */

vs_status vs_live_base(vs_live *live, uint32_t index, uint64_t address, uint64_t *base, uint64_t *size) {
  vs_live_device *device = vs_live_enter(live, index);
  if (device == NULL) return vs_live_no_device(live, index);
  *base = address;
  *size = 0;
  const vs_status status =
      vs_backend_is_async(device) ? VS_OK : vs_alloc_base(device->alloc, address, base, size);
  vs_live_leave(device);
  return vs_live_address_result(live, status, address);
}

vs_status vs_live_memory_info_no_cache(vs_live *live, uint32_t index, uint64_t *free_bytes,
                                       uint64_t *total_bytes) {
  vs_live_device *device = vs_live_enter(live, index);
  if (device == NULL) return vs_live_no_device(live, index);
  const vs_status status = vs_backend_empty_cache(device, VS_CONTEXT_NONE);
  vs_live_leave(device);
  return status != VS_OK ? vs_live_result(live, status)
                         : vs_live_memory_info(live, index, free_bytes, total_bytes);
}

static uint64_t current(const vs_alloc_statistics *statistics, vs_alloc_group group) {
  return (uint64_t)vs_alloc_statistics_at(statistics, group, VS_ALLOC_ALL).current;
}

/* The lock is held while the driver is asked, so that this object allocates nothing between the figures. */
static vs_status room_of(vs_live *live, uint32_t index, vs_live_room *room) {
  vs_alloc_statistics own;
  const vs_alloc_statistics *now = NULL;
  *room = (vs_live_room){0};
  vs_live_device *device = vs_live_enter(live, index);
  if (device == NULL) return vs_live_no_device(live, index);
  vs_status status = vs_backend_statistics(device, &own, &now);
  if (status == VS_OK) status = vs_live_memory_info(live, index, &room->free, &room->total);
  if (status == VS_OK) {
    room->reserved = current(now, VS_ALLOC_RESERVED_BYTES);
    room->allocated = current(now, VS_ALLOC_ALLOCATED_BYTES);
    room->cached = room->reserved - room->allocated;
    if (!vs_backend_is_async(device)) {
      const uint64_t active = current(now, VS_ALLOC_ACTIVE_BYTES);
      VS_ASSERT(room->allocated <= active && active <= room->reserved);
      room->waiting = active - room->allocated;
    }
  }
  vs_live_leave(device);
  return vs_live_result(live, status);
}

vs_status vs_live_room_of_sized(vs_live *live, uint32_t index, vs_live_room *room, size_t size) {
  vs_live_room own = {0};
  const vs_status status = room_of(live, index, &own);
  if (status == VS_OK) vs_sized_give(room, size, &own, sizeof own);
  return status;
}
