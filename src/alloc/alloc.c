/* The public functions: creating an allocator, its settings and limits, allocating and freeing. */
#include "alloc/cache.h"
#include "alloc/expandable.h"
#include "alloc/fallbacks.h"
#include "alloc/pending.h"
#include "alloc/pools.h"
#include "alloc/capture_reuse.h"
#include "alloc/segments.h"

/* ---- creating -------------------------------------------------------------------------------------------- */

static void settings_take(vs_alloc *alloc, const vs_alloc_settings *settings) {
  alloc->settings = *settings;
  alloc->max_split_size = settings->max_split_size;
  alloc->large_segment = settings->large_segment_size;
  alloc->is_expandable = settings->expandable_segments && settings->rules->has_expandable;
  alloc->has_divisions = false;
  for (int i = 0; i < VS_ALLOC_DIVISIONS; i++) alloc->has_divisions |= settings->roundup_divisions[i] > 1;
  alloc->collects_garbage = alloc->limit != VS_ALLOC_NO_LIMIT && settings->garbage_collection_threshold > 0;
}

vs_status vs_alloc_create(const vs_host *host, const vs_device *device, const vs_alloc_settings *settings,
                          const vs_observer *observer, const vs_alloc_hooks *hooks, vs_alloc **out) {
  VS_ASSERT(settings->rules != NULL);
  vs_alloc *alloc = vs_host_alloc(host, sizeof *alloc);
  if (alloc == NULL) return VS_NO_MEMORY;
  memset(alloc, 0, sizeof *alloc);
  alloc->host = host;
  alloc->device = *device;
  if (observer != NULL) alloc->observer = *observer;
  if (hooks != NULL) alloc->hooks = *hooks;
  alloc->small = (vs_alloc_pool){
      .is_small = true, .part = VS_ALLOC_SMALL, .figures = &alloc->statistics.part[VS_ALLOC_SMALL]};
  alloc->large = (vs_alloc_pool){.part = VS_ALLOC_LARGE, .figures = &alloc->statistics.part[VS_ALLOC_LARGE]};
  alloc->fraction = 1;
  alloc->limit = VS_ALLOC_NO_LIMIT;
  settings_take(alloc, settings);
  alloc->statistics.max_split_size =
      settings->max_split_size == UINT64_MAX ? -1 : (int64_t)settings->max_split_size;
  vs_status status = vs_alloc_fraction_set(alloc, settings->memory_fraction);
  if (status == VS_OK) status = vs_alloc_table_reserve(host, &alloc->blocks.allocated, VS_ALLOC_SLAB);
  if (status != VS_OK) {
    vs_alloc_destroy(alloc);
    return status;
  }
  *out = alloc;
  return VS_OK;
}

void vs_alloc_observer_set(vs_alloc *alloc, const vs_observer *observer) {
  alloc->observer = observer != NULL ? *observer : (vs_observer){0};
}

static void owners_deinit(vs_alloc *alloc) {
  for (uint32_t at = vs_alloc_hash_order_next(&alloc->owners, 0); at != UINT32_MAX;
       at = vs_alloc_hash_order_next(&alloc->owners, at + 1)) {
    vs_alloc_owner *owner = alloc->owners.slots[at].value;
    vs_alloc_pool_deinit(alloc, &owner->small);
    vs_alloc_pool_deinit(alloc, &owner->large);
    vs_host_free(alloc->host, owner, sizeof *owner);
  }
  vs_alloc_hash_order_deinit(alloc->host, &alloc->owners);
  vs_alloc_hash_order_deinit(alloc->host, &alloc->freeable);
}

void vs_alloc_destroy(vs_alloc *alloc) {
  if (alloc == NULL) return;
  const vs_host *host = alloc->host;
  vs_alloc_pending_deinit(alloc);
  while (alloc->extents != NULL) vs_alloc_extent_destroy(alloc, alloc->extents);
  owners_deinit(alloc);
  vs_alloc_pool_deinit(alloc, &alloc->small);
  vs_alloc_pool_deinit(alloc, &alloc->large);
  vs_alloc_blocks_deinit(host, &alloc->blocks);
  vs_vec_free(host, &alloc->privates);
  vs_alloc_hash_order_deinit(host, &alloc->lenders);
  vs_vec_free(host, &alloc->routes);
  vs_vec_free(host, &alloc->stream_classes);
  vs_host_free(host, alloc, sizeof *alloc);
}

/* ---- releasing all segments -------------------------------------------------------------------------------------- */

typedef struct segment_list {
  vs_alloc *alloc;
  VS_VEC(vs_alloc_segment_info) segments; /* that are not expandable */
} segment_list;

static vs_status note_segment(void *ctx, const vs_alloc_segment_info *segment) {
  segment_list *list = ctx;
  if (segment->is_expandable) return VS_OK;
  VS_TRY(vs_vec_reserve(list->alloc->host, &list->segments, 1));
  list->segments.data[list->segments.count++] = *segment;
  return VS_OK;
}

static vs_status skip_block(void *ctx, const vs_alloc_block_info *block) {
  (void)ctx;
  (void)block;
  return VS_OK;
}

static vs_device_result release_one(vs_alloc *alloc, const vs_alloc_segment_info *segment) {
  const vs_alloc_owner *owner = vs_alloc_owner_find(alloc, segment->pool);
  VS_ASSERT(owner != NULL || vs_pool_id_is_default(segment->pool));
  if (owner == NULL || owner->source.alloc == NULL)
    return alloc->device.ops->free(alloc->device.ctx, segment->address);
  if (owner->source.free != NULL)
    owner->source.free(owner->source.ctx, segment->address, segment->size, segment->stream);
  return VS_DEVICE_OK;
}

static vs_device_result release_extent(vs_alloc *alloc, vs_alloc_extent *extent) {
  const vs_device *device = &alloc->device;
  vs_device_result first = VS_DEVICE_OK;
  for (size_t i = 0; i < extent->handles.count; i++) {
    if (extent->handles.data[i] == 0) continue;
    vs_device_result result =
        device->ops->unmap(device->ctx, extent->address + i * extent->page, extent->page);
    if (result == VS_DEVICE_OK) result = device->ops->release(device->ctx, extent->handles.data[i]);
    if (first == VS_DEVICE_OK) first = result;
  }
  const vs_device_result result = device->ops->unreserve(device->ctx, extent->address, extent->size);
  return first == VS_DEVICE_OK ? result : first;
}

vs_status vs_alloc_release_all(vs_alloc *alloc) {
  segment_list list = {.alloc = alloc};
  const vs_alloc_visitor visitor = {.ctx = &list, .segment = note_segment, .block = skip_block};
  vs_status status = vs_alloc_visit(alloc, (vs_pool_id){0, 0}, &visitor);
  for (size_t i = 0; i < list.segments.count && status != VS_NO_MEMORY; i++) {
    const vs_device_result result = release_one(alloc, &list.segments.data[i]);
    if (status == VS_OK) status = vs_device_status(result);
  }
  vs_vec_free(alloc->host, &list.segments);
  for (vs_alloc_extent *extent = alloc->extents; extent != NULL && status != VS_NO_MEMORY;
       extent = extent->next) {
    const vs_device_result result = release_extent(alloc, extent);
    if (status == VS_OK) status = vs_device_status(result);
  }
  return status;
}

/* ---- limits and settings -------------------------------------------------------------------------------------- */

vs_status vs_alloc_fraction_set(vs_alloc *alloc, double fraction) {
  if (!(fraction >= 0 && fraction <= 1)) return VS_BAD_ARGUMENT;
  alloc->fraction = fraction;
  alloc->limit = VS_ALLOC_NO_LIMIT;
  if (fraction < 1) /* rounded to the nearest byte */
    alloc->limit = (uint64_t)(fraction * (double)alloc->device.total_bytes + 0.5);
  alloc->collects_garbage =
      alloc->limit != VS_ALLOC_NO_LIMIT && alloc->settings.garbage_collection_threshold > 0;
  return VS_OK;
}

double vs_alloc_fraction(const vs_alloc *alloc) { return alloc->fraction; }

vs_status vs_alloc_settings_apply(vs_alloc *alloc, const vs_alloc_settings *settings) {
  if (settings->backend != alloc->settings.backend || settings->rules != alloc->settings.rules)
    return VS_BAD_ARGUMENT;
  settings_take(alloc, settings);
  return VS_OK;
}

const vs_alloc_settings *vs_alloc_settings_of(const vs_alloc *alloc) { return &alloc->settings; }

vs_status vs_alloc_stream_class(vs_alloc *alloc, uint64_t stream, vs_str name) {
  if (name.size >= VS_ALLOC_CLASS_NAME) return VS_LIMIT;
  size_t at = 0;
  while (at < alloc->stream_classes.count && alloc->stream_classes.data[at].stream != stream) at++;
  if (at == alloc->stream_classes.count) {
    VS_TRY(vs_vec_reserve(alloc->host, &alloc->stream_classes, 1));
    alloc->stream_classes.count++;
  }
  vs_alloc_class_of_stream *class = &alloc->stream_classes.data[at];
  *class = (vs_alloc_class_of_stream){.stream = stream};
  if (name.size > 0) memcpy(class->name, name.data, name.size);
  return VS_OK;
}

/* ---- allocating ------------------------------------------------------------------------------------------------- */

static vs_status poll_before(vs_alloc *alloc, uint64_t stream, vs_context context) {
  if (!vs_alloc_is_capturing(alloc, stream))
    return alloc->waiting == 0 ? VS_OK : vs_alloc_pending_poll(alloc, context);
  return alloc->settings.capture_reuse ? vs_alloc_capture_reuse_free(alloc, stream, context) : VS_OK;
}

/* What the slow path found; it fits into two registers. */
typedef struct found {
  vs_alloc_block *block; /* NULL: `status` says why */
  vs_status status;
  bool is_expandable; /* of the request: false where another pool lent the block */
} found;

/* Slow path: no cached block fits. Kept out of line, with the request's struct, so that the fast path is small and needs no
 * memory for it. */
__attribute__((noinline)) static found find_elsewhere(vs_alloc *alloc, vs_alloc_lane *lane, uint64_t size,
                                                      uint64_t wanted, bool is_expandable,
                                                      vs_context context) {
  vs_alloc_request request = {.wanted = wanted,
                              .size = size,
                              .stream = lane->stream,
                              .context = context,
                              .is_expandable = is_expandable,
                              .pool = lane->pool,
                              .lane = lane};
  vs_status status = vs_alloc_find_block(alloc, &request);
  if (status != VS_OK) return (found){.status = status};
  VS_ASSERT(request.block != NULL && request.block->size >= size);
  VS_ASSERT(request.block->lane == request.lane && request.lane->pool == request.pool);
  /* Reserved again: the lock may have been released around the driver's call, or mapping took spare blocks. */
  status = vs_alloc_blocks_reserve(alloc->host, &alloc->blocks, 1);
  if (status == VS_OK) return (found){.block = request.block, .is_expandable = request.is_expandable};
  vs_alloc_cache_add(request.block);
  return (found){.status = status};
}

__attribute__((noinline)) static vs_status fail_too_large(vs_alloc *alloc, uint64_t size, uint64_t stream,
                                                          vs_context context) {
  const vs_alloc_request request = {.wanted = size, .stream = stream, .context = context};
  vs_alloc_oom_note(alloc, &request);
  return VS_DEVICE_MEMORY;
}

vs_status vs_alloc_malloc(vs_alloc *alloc, uint64_t size, uint64_t stream, vs_context context,
                          uint64_t *address) {
  *address = 0;
  if (size - 1 >= VS_ALLOC_TOO_LARGE - 1) /* one comparison for both */
    return size == 0 ? VS_OK : fail_too_large(alloc, size, stream, context);
  VS_TRY(poll_before(alloc, stream, context));
  VS_TRY(vs_alloc_blocks_reserve(alloc->host, &alloc->blocks, 4));
  const uint64_t rounded = vs_alloc_round(alloc, size);
  VS_ASSERT(rounded >= size && rounded % VS_ALLOC_MIN_BLOCK == 0);
  vs_alloc_pool *pool = vs_alloc_pool_for(alloc, rounded, stream);
  vs_alloc_lane *lane = vs_alloc_lane_of(alloc, pool, stream);
  if (lane == NULL) return VS_NO_MEMORY;
  VS_ASSERT(lane->stream == stream && lane->pool == pool);
  bool is_expandable = alloc->is_expandable && !vs_alloc_has_source(pool);
  vs_alloc_block *block = vs_alloc_look_up(alloc, lane, rounded, is_expandable);
  if (block != NULL) {
    alloc->statistics.steps[VS_ALLOC_FROM_CACHE]++; /* the usual case */
  } else {
    const found other = find_elsewhere(alloc, lane, rounded, size, is_expandable, context);
    if (other.block == NULL) return other.status;
    block = other.block;
    is_expandable = other.is_expandable;
  }
  *address = vs_alloc_hand_out(alloc, block, rounded, size, is_expandable, context)->address;
  vs_alloc_assert(alloc);
  return VS_OK;
}

/* ---- freeing ------------------------------------------------------------------------------------------------------ */

/* The free is complete at once where no other stream uses the block. */
__attribute__((noinline)) static void tell_free(vs_alloc *alloc, const vs_alloc_block *block,
                                                vs_context context) {
  vs_alloc_tell_block(alloc, VS_EVENT_FREE_REQUESTED, block, context);
  if (block->uses == NULL) vs_alloc_tell_block(alloc, VS_EVENT_FREE_COMPLETED, block, context);
}

vs_status vs_alloc_free(vs_alloc *alloc, uint64_t address, vs_context context) {
  if (address == 0) return VS_OK;
  vs_alloc_block *block = vs_alloc_table_take(&alloc->blocks.allocated, address);
  if (block == NULL) return VS_NOT_FOUND;
  vs_alloc_lane *lane = block->lane;
  VS_ASSERT(block->place == VS_PLACE_ALLOCATED && block->address == address &&
            block->born < alloc->allocations);
  VS_ASSERT(lane->allocated_bytes >= block->size);
  vs_alloc_decrease(alloc, lane->pool, VS_ALLOC_ALLOCATION, 1);
  vs_alloc_decrease(alloc, lane->pool, VS_ALLOC_ALLOCATED_BYTES, block->size);
  lane->allocated_bytes -= block->size;
  alloc->statistics.lifetimes[63 - __builtin_clzll(alloc->allocations - block->born)]++;
  if (alloc->observer.event != NULL) tell_free(alloc, block, vs_alloc_either(context, block->context));
  if (block->size >= alloc->max_split_size)
    vs_alloc_stat_decrease(&alloc->statistics.oversize_allocations, 1);
  vs_status status = VS_OK;
  if (block->uses != NULL) status = vs_alloc_pending_add(alloc, block);
  else vs_alloc_complete_free(alloc, block);
  vs_alloc_assert(alloc);
  return status;
}

/* ---- polling, and emptying the cache ----------------------------------------------------------------------------- */

vs_status vs_alloc_poll(vs_alloc *alloc, vs_context context) {
  return vs_alloc_is_caller_capturing(alloc, NULL) ? VS_OK : vs_alloc_pending_poll(alloc, context);
}

vs_status vs_alloc_empty_cache(vs_alloc *alloc, vs_pool_id pool, vs_context context) {
  const vs_status status = vs_alloc_release_cached(alloc, pool, context);
  vs_alloc_assert(alloc);
  return status;
}

/* ---- figures ----------------------------------------------------------------------------------------------------- */

const vs_alloc_statistics *vs_alloc_statistics_of(vs_alloc *alloc) {
  vs_alloc_active_count(alloc);
  return &alloc->statistics;
}

uint64_t vs_alloc_retries(const vs_alloc *alloc) { return (uint64_t)alloc->statistics.num_alloc_retries; }

static void reset_lane_peaks(void *ctx, vs_alloc_pool *pool) {
  (void)ctx;
  for (size_t i = 0; i < pool->lanes.count; i++)
    pool->lanes.data[i]->allocated_peak = pool->lanes.data[i]->allocated_bytes;
}

void vs_alloc_reset_peak(vs_alloc *alloc) {
  vs_alloc_active_count(alloc);
  vs_alloc_statistics_reset_peak(&alloc->statistics);
  for (size_t i = 0; i < alloc->privates.count; i++)
    for (int part = 0; part < VS_ALLOC_PARTS; part++)
      alloc->privates.data[i].reserved[part].peak = alloc->privates.data[i].reserved[part].current;
  vs_alloc_for_each_pool(alloc, reset_lane_peaks, NULL);
}

void vs_alloc_reset_totals(vs_alloc *alloc) {
  vs_alloc_active_count(alloc);
  vs_alloc_statistics_reset_totals(&alloc->statistics);
  for (size_t i = 0; i < alloc->privates.count; i++)
    for (int part = 0; part < VS_ALLOC_PARTS; part++)
      alloc->privates.data[i].reserved[part].allocated = alloc->privates.data[i].reserved[part].freed = 0;
}
