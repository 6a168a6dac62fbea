/* The fallbacks in PyTorch's order when no cached block fits, and the out-of-memory error. */
#include "alloc/fallbacks.h"
#include "alloc/cache.h"
#include "alloc/expandable.h"
#include "alloc/pending.h"
#include "alloc/pools.h"
#include "alloc/segments.h"

/* ---- out of memory --------------------------------------------------------------------------------------------- */

static uint64_t free_bytes(const vs_alloc_lane *lane) {
  uint64_t blocks, bytes;
  vs_alloc_lane_sum(lane, &blocks, &bytes);
  return bytes;
}

static void sum_free(void *ctx, vs_alloc_pool *pool) {
  uint64_t *sum = ctx;
  if (pool->owner == NULL) return;
  for (size_t i = 0; i < pool->lanes.count; i++) *sum += free_bytes(pool->lanes.data[i]);
}

void vs_alloc_oom_note(vs_alloc *alloc, const vs_alloc_request *request) {
  alloc->has_oom = true;
  alloc->oom = (vs_alloc_oom){
      .requested = request->wanted,
      .rounded = request->size,
      .driver_size = request->driver_size,
      .stream = request->stream,
      .limit = alloc->limit,
      .device_total = alloc->device.total_bytes,
      .allocated = (uint64_t)alloc->statistics.part[VS_ALLOC_ALL].current[VS_ALLOC_ALLOCATED_BYTES],
      .reserved = alloc->reserved,
      .is_expandable = alloc->settings.expandable_segments,
      .rules = alloc->settings.rules,
  };
  vs_alloc_for_each_pool(alloc, sum_free, &alloc->oom.private_free);
  if (request->pool == NULL) return;
  alloc->oom.pool = vs_alloc_pool_id(request->pool);
  alloc->oom.has_source = request->asked_source;
  alloc->oom.is_over_limit = alloc->reserved + request->driver_size > alloc->limit;
  const char *class_name;
  const vs_alloc_reserve *reserve = vs_alloc_reserve_of(alloc, request->stream, &class_name);
  vs_format(alloc->oom.class_name, sizeof alloc->oom.class_name, "%s", class_name);
  if (alloc->is_expandable && reserve->is_set) {
    const uint64_t bytes = vs_alloc_reserve_bytes(alloc, reserve);
    if (request->driver_size > bytes) alloc->oom.reserve = bytes;
  }
}

static vs_status fail_out_of_memory(vs_alloc *alloc, vs_alloc_request *request) {
  vs_alloc_oom_note(alloc, request);
  VS_TRY(vs_device_status(
      alloc->device.ops->memory_info(alloc->device.ctx, &alloc->oom.device_free, &alloc->oom.device_total)));
  vs_alloc_tell(alloc, VS_EVENT_OOM, alloc->oom.device_free, request->size, request->lane, request->context);
  alloc->statistics.num_ooms++;
  alloc->statistics.steps[VS_ALLOC_FAILED]++;
  return VS_DEVICE_MEMORY;
}

static vs_status reject(vs_alloc *alloc, const vs_alloc_request *request) {
  VS_ASSERT(alloc->settings.reject_over_limit);
  vs_alloc_oom_note(alloc, request);
  alloc->oom.is_rejected = true;
  alloc->statistics.num_oom_rejections++;
  alloc->statistics.steps[VS_ALLOC_FAILED]++;
  return VS_DEVICE_MEMORY;
}

const vs_alloc_oom *vs_alloc_last_oom(const vs_alloc *alloc) { return alloc->has_oom ? &alloc->oom : NULL; }

/* ---- the fallbacks, in order --------------------------------------------------------------------------------------- */

static bool look_up(const vs_alloc *alloc, vs_alloc_request *request) {
  request->block = vs_alloc_look_up(alloc, request->lane, request->size, request->is_expandable);
  return request->block != NULL;
}

/* Searches the cache of pools that lend, for a request of the default pool. Blocks of expandable segments are
 * skipped, as in PyTorch. */
static vs_status borrow(vs_alloc *alloc, vs_alloc_request *request) {
  if (request->pool->owner != NULL) return VS_NOT_FOUND;
  for (uint32_t at = vs_alloc_hash_order_next(&alloc->lenders, 0); at != UINT32_MAX;
       at = vs_alloc_hash_order_next(&alloc->lenders, at + 1)) {
    vs_alloc_owner *owner = alloc->lenders.slots[at].value;
    vs_alloc_request other = *request;
    other.pool = request->pool->is_small ? &owner->small : &owner->large;
    other.lane = vs_alloc_lane_of(alloc, other.pool, request->stream);
    if (other.lane == NULL) return VS_NO_MEMORY;
    other.is_expandable = false;
    if (!look_up(alloc, &other)) continue;
    VS_ASSERT(other.block->lane == other.lane && other.block->extent == NULL);
    *request = other;
    return VS_OK;
  }
  return VS_NOT_FOUND;
}

/* Tries one fallback after the other, and sets *step to the last one. VS_NOT_FOUND: all of them failed. */
static vs_status try_fallbacks(vs_alloc *alloc, vs_alloc_request *request, vs_alloc_step *step) {
  if (alloc->collects_garbage) VS_TRY(vs_alloc_collect_garbage(alloc, request->context));
  *step = VS_ALLOC_FROM_DRIVER;
  vs_status status = vs_alloc_segment_get(alloc, request, false);
  if (status != VS_NOT_FOUND) return status;
  if (alloc->lenders.count > 0) {
    *step = VS_ALLOC_FROM_OTHER_POOL;
    status = borrow(alloc, request);
    if (status != VS_NOT_FOUND) return status;
  }
  bool enough;
  *step = VS_ALLOC_AFTER_RELEASE;
  VS_TRY(vs_alloc_release_available(alloc, request, &enough));
  if (enough) status = vs_alloc_segment_get(alloc, request, false);
  if (status != VS_NOT_FOUND || vs_alloc_is_capturing(alloc, request->stream)) return status;
  *step = VS_ALLOC_AFTER_RETRY;
  VS_TRY(vs_alloc_release_cached(alloc, (vs_pool_id){0, 0}, request->context));
  return vs_alloc_segment_get(alloc, request, true);
}

vs_status vs_alloc_find_block(vs_alloc *alloc, vs_alloc_request *request) {
  vs_alloc_step step = VS_ALLOC_AFTER_CALLBACK;
  request->driver_size = vs_alloc_driver_size(alloc, request->size);
  const bool was_freed = alloc->hooks.free_memory != NULL && alloc->hooks.free_memory(alloc->hooks.ctx);
  if (!was_freed || !look_up(alloc, request)) {
    const vs_status status = try_fallbacks(alloc, request, &step);
    if (status == VS_NOT_FOUND) return fail_out_of_memory(alloc, request);
    if (status == VS_LIMIT) return reject(alloc, request);
    if (status != VS_OK) return status;
  }
  alloc->statistics.steps[step]++;
  return VS_OK;
}
