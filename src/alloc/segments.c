/* Segments that are not expandable: allocated from the driver, and released one by one or all. */
#include "alloc/segments.h"
#include "alloc/cache.h"
#include "alloc/expandable.h"
#include "alloc/pending.h"
#include "alloc/pools.h"

/* ---- allocating ------------------------------------------------------------------------------------------------- */

static vs_device_result driver_alloc(vs_alloc *alloc, const vs_alloc_request *request, uint64_t *address) {
  const vs_alloc_owner *owner = request->pool->owner;
  if (owner != NULL && owner->source.alloc != NULL) {
    *address = owner->source.alloc(owner->source.ctx, request->driver_size, request->stream);
    return *address != 0 ? VS_DEVICE_OK : VS_DEVICE_OUT_OF_MEMORY;
  }
  const bool is_unlocked = alloc->settings.release_lock && alloc->hooks.unlock != NULL;
  if (is_unlocked) alloc->hooks.unlock(alloc->hooks.ctx);
  const vs_device_result result = alloc->device.ops->alloc(alloc->device.ctx, request->driver_size, address);
  if (is_unlocked) alloc->hooks.lock(alloc->hooks.ctx);
  return result;
}

/* By the current settings' fraction, which can differ from the limit: that was set when the allocator was created. */
static bool exceeds_fraction(const vs_alloc *alloc, uint64_t size) {
  const double most = (double)alloc->device.total_bytes * alloc->settings.memory_fraction;
  return alloc->reserved + size > (uint64_t)most;
}

vs_status vs_alloc_segment_get(vs_alloc *alloc, vs_alloc_request *request, bool is_retry) {
  if (is_retry) alloc->statistics.num_alloc_retries++;
  const uint64_t size = request->driver_size;
  vs_alloc_pool *pool = request->pool;
  if (alloc->limit != VS_ALLOC_NO_LIMIT && alloc->reserved + size > alloc->limit) return VS_NOT_FOUND;
  if (alloc->settings.reject_over_limit && exceeds_fraction(alloc, size)) return VS_LIMIT;
  if (request->is_expandable) {
    VS_TRY(vs_alloc_expand(alloc, request));
    if (pool->owner != NULL) pool->owner->calls++;
    return VS_OK;
  }

  VS_TRY(vs_alloc_lane_reserve(alloc->host, request->lane, size));
  vs_alloc_block *block = vs_alloc_block_new(alloc, request->lane, 0, size, NULL);
  const vs_device_result result = driver_alloc(alloc, request, &block->address);
  if (result != VS_DEVICE_OK) {
    vs_alloc_blocks_give(&alloc->blocks, block);
    request->asked_source = vs_alloc_has_source(pool);
    return result == VS_DEVICE_OUT_OF_MEMORY ? VS_NOT_FOUND : vs_device_status(result);
  }
  alloc->registrations += alloc->settings.rules->orders_by_segment;
  vs_alloc_increase(alloc, pool, VS_ALLOC_SEGMENT, 1);
  vs_alloc_reserved_add(alloc, pool, size);
  if (pool->owner != NULL) pool->owner->calls++;
  if (size >= alloc->max_split_size) vs_alloc_stat_increase(&alloc->statistics.oversize_segments, 1);
  vs_alloc_tell(alloc, VS_EVENT_SEGMENT_ALLOC, block->address, size, request->lane, request->context);
  block->segment_context = request->context;
  request->block = block;
  return VS_OK;
}

/* ---- releasing ----------------------------------------------------------------------------------------------- */

static vs_status driver_free(vs_alloc *alloc, const vs_alloc_block *block) {
  const vs_alloc_owner *owner = block->lane->pool->owner;
  if (owner != NULL && owner->source.alloc != NULL) {
    if (owner->source.free != NULL)
      owner->source.free(owner->source.ctx, block->address, block->size, block->lane->stream);
    return VS_OK;
  }
  return vs_device_status(alloc->device.ops->free(alloc->device.ctx, block->address));
}

/* Releases a segment that is one free block. */
static vs_status release_segment(vs_alloc *alloc, vs_alloc_block *block, vs_context context) {
  VS_ASSERT(block->extent == NULL && !vs_alloc_is_split(block) && block->place == VS_PLACE_FREE);
  vs_alloc_lane *lane = block->lane;
  VS_TRY(driver_free(alloc, block));
  alloc->statistics.num_device_free++;
  vs_alloc_tell(alloc, VS_EVENT_SEGMENT_FREE, block->address, block->size, lane,
                vs_alloc_either(context, block->segment_context));
  vs_alloc_reserved_take(alloc, lane->pool, block->size);
  vs_alloc_decrease(alloc, lane->pool, VS_ALLOC_SEGMENT, 1);
  if (block->size >= alloc->max_split_size) vs_alloc_stat_decrease(&alloc->statistics.oversize_segments, 1);
  vs_alloc_lane_remove(lane, block);
  vs_alloc_blocks_give(&alloc->blocks, block);
  return VS_OK;
}

vs_status vs_alloc_release_available(vs_alloc *alloc, const vs_alloc_request *request, bool *enough) {
  *enough = false;
  const uint64_t most = alloc->max_split_size;
  if (most == UINT64_MAX) return VS_OK;
  const uint64_t wanted = vs_max_u64(request->size, most);
  vs_alloc_lane *lane = request->lane;
  vs_alloc_block *block = vs_alloc_lane_fit(lane, wanted);
  if (block != NULL && block->extent == NULL && !vs_alloc_is_split(block)) {
    *enough = true;
    return release_segment(alloc, block, request->context);
  }
  /* No single block is large enough: release several, the largest first. */
  uint64_t released = 0;
  block = block != NULL ? vs_alloc_lane_before(lane, block) : vs_alloc_lane_last(lane);
  while (block != NULL && released < wanted && block->size >= most) {
    vs_alloc_block *before = vs_alloc_lane_before(lane, block);
    if (block->extent == NULL && !vs_alloc_is_split(block)) {
      released += block->size;
      VS_TRY(release_segment(alloc, block, request->context));
    }
    block = before;
  }
  *enough = released >= wanted;
  return VS_OK;
}

/* The segments of a lane that are one free block. Expandable blocks come last, from a list, because unmapping changes the
 * bins. */
static vs_status release_lane(vs_alloc *alloc, vs_alloc_lane *lane, vs_context context) {
  vs_alloc_block *next;
  for (vs_alloc_block *block = vs_alloc_lane_first(lane); block != NULL; block = next) {
    next = vs_alloc_lane_after(lane, block);
    if (block->extent == NULL && !vs_alloc_is_split(block)) VS_TRY(release_segment(alloc, block, context));
  }
  return VS_OK;
}

/* The free expandable blocks of a pool, in the order of its bins. */
typedef struct block_list {
  VS_VEC(vs_alloc_block *) blocks;
} block_list;

static vs_status collect_expandable(vs_alloc *alloc, const vs_alloc_pool *pool, block_list *list) {
  for (size_t i = 0; i < pool->lanes.count; i++) {
    const vs_alloc_lane *lane = pool->lanes.data[i];
    for (vs_alloc_block *block = vs_alloc_lane_first(lane); block != NULL;
         block = vs_alloc_lane_after(lane, block)) {
      if (block->extent == NULL) continue;
      VS_TRY(vs_vec_reserve(alloc->host, &list->blocks, 1));
      list->blocks.data[list->blocks.count++] = block;
    }
  }
  return VS_OK;
}

static vs_status unmap_all(vs_alloc *alloc, const block_list *list, vs_context context) {
  for (size_t i = 0; i < list->blocks.count; i++) {
    vs_alloc_block *block = list->blocks.data[i];
    VS_TRY(vs_alloc_unmap(alloc, block, context));
    if (block->place == VS_PLACE_UNMAPPED && !vs_alloc_is_split(block))
      VS_TRY(vs_alloc_extent_release(alloc, block));
  }
  return VS_OK;
}

static vs_status release_pool(vs_alloc *alloc, vs_alloc_pool *pool, vs_context context) {
  block_list expandable = {0};
  vs_status status = collect_expandable(alloc, pool, &expandable);
  for (size_t i = 0; i < pool->lanes.count && status == VS_OK; i++)
    status = release_lane(alloc, pool->lanes.data[i], context);
  if (status == VS_OK) status = unmap_all(alloc, &expandable, context);
  vs_vec_free(alloc->host, &expandable.blocks);
  return status;
}

/* Releases the cached memory of private pools without users, and destroys those that have no memory left. */
static vs_status release_freeable(vs_alloc *alloc, vs_pool_id pool, vs_context context) {
  uint32_t at = vs_alloc_hash_order_next(&alloc->freeable, 0);
  while (at != UINT32_MAX) {
    vs_alloc_owner *owner = alloc->freeable.slots[at].value;
    VS_ASSERT(owner->users == 0);
    const bool is_named = vs_pool_id_equal(owner->id, pool);
    if (!vs_pool_id_is_default(pool) && !is_named) {
      at = vs_alloc_hash_order_next(&alloc->freeable, at + 1);
      continue;
    }
    if (is_named) VS_TRY(vs_alloc_pending_wait(alloc, owner, context));
    VS_TRY(release_pool(alloc, &owner->small, context));
    VS_TRY(release_pool(alloc, &owner->large, context));
    if (owner->reserved == 0 && owner->calls == 0) {
      vs_alloc_hash_order_remove(&alloc->freeable, vs_alloc_owner_key(owner->id));
      vs_alloc_owner_destroy(alloc, owner);
      at = vs_alloc_hash_order_next(&alloc->freeable, at);
    } else {
      at = vs_alloc_hash_order_next(&alloc->freeable, at + 1);
    }
  }
  return VS_OK;
}

vs_status vs_alloc_release_cached(vs_alloc *alloc, vs_pool_id pool, vs_context context) {
  if (vs_pool_id_is_default(pool) && !vs_alloc_is_caller_capturing(alloc, NULL)) {
    VS_TRY(vs_alloc_pending_wait(alloc, NULL, context));
    VS_TRY(release_pool(alloc, &alloc->large, context));
    VS_TRY(release_pool(alloc, &alloc->small, context));
  }
  return release_freeable(alloc, pool, context);
}

/* ---- collecting garbage -------------------------------------------------------------------------------------------- */

static uint64_t age(const vs_alloc_block *block) {
  VS_ASSERT(block->place == VS_PLACE_FREE && block->looked_up <= block->lane->pool->lookups);
  return block->lane->pool->lookups - block->looked_up;
}

/* Releases every segment of the large pool that is one free block and at least `oldest` lookups old. */
static vs_status collect_older(vs_alloc *alloc, double oldest, uint64_t *reclaimed, uint64_t *ages,
                               uint64_t *count, vs_context context) {
  for (size_t i = 0; i < alloc->large.lanes.count; i++) {
    const vs_alloc_lane *lane = alloc->large.lanes.data[i];
    vs_alloc_block *next;
    for (vs_alloc_block *block = vs_alloc_lane_first(lane); block != NULL; block = next) {
      next = vs_alloc_lane_after(lane, block);
      if (vs_alloc_is_split(block) || block->extent != NULL || (double)age(block) < oldest) continue;
      *reclaimed += block->size;
      *ages -= age(block);
      --*count;
      VS_TRY(release_segment(alloc, block, context));
    }
  }
  return VS_OK;
}

vs_status vs_alloc_collect_garbage(vs_alloc *alloc, vs_context context) {
  const uint64_t threshold = (uint64_t)(alloc->settings.garbage_collection_threshold * (double)alloc->limit);
  if (alloc->reserved <= threshold) return VS_OK;
  const uint64_t target = alloc->reserved - threshold;
  uint64_t ages = 0, count = 0;
  for (size_t i = 0; i < alloc->large.lanes.count; i++) {
    const vs_alloc_lane *lane = alloc->large.lanes.data[i];
    for (vs_alloc_block *block = vs_alloc_lane_first(lane); block != NULL;
         block = vs_alloc_lane_after(lane, block)) {
      if (vs_alloc_is_split(block)) continue;
      ages += age(block);
      count++;
    }
  }
  uint64_t reclaimed = 0, before;
  while (reclaimed < target && count > 0) {
    before = reclaimed;
    VS_TRY(collect_older(alloc, (double)ages / (double)count, &reclaimed, &ages, &count, context));
    if (reclaimed == before) break;
  }
  return VS_OK;
}
