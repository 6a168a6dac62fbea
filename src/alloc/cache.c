#include "alloc/internal.h"

/* ---- sizes ------------------------------------------------------------------------------------------------- */

static uint64_t divisions_of(const vs_alloc *alloc, uint64_t size) {
  const int log = 63 - __builtin_clzll(size);
  const int index = log < 20 ? 0 : log > 35 ? VS_ALLOC_DIVISIONS - 1 : log - 20;
  return alloc->settings.roundup_divisions[index];
}

/* Up to the next of `divisions` equal steps between two powers of two. */
static uint64_t round_to_division(uint64_t size, uint64_t divisions) {
  if ((size & (size - 1)) == 0) return size;
  const uint64_t floor = UINT64_C(1) << (63 - __builtin_clzll(size));
  const uint64_t step = floor >> __builtin_ctzll(divisions);
  return step == 0 ? floor << 1 : (size + step - 1) & ~(step - 1);
}

uint64_t vs_alloc_round_to_division(const vs_alloc *alloc, uint64_t size) {
  if (size < VS_ALLOC_MIN_BLOCK) return VS_ALLOC_MIN_BLOCK;
  if (size <= alloc->settings.roundup_bypass) {
    const uint64_t divisions = divisions_of(alloc, size);
    if (divisions > 1 && size > VS_ALLOC_MIN_BLOCK * divisions) return round_to_division(size, divisions);
  }
  return (size + VS_ALLOC_MIN_BLOCK - 1) & ~(VS_ALLOC_MIN_BLOCK - 1);
}

uint64_t vs_alloc_driver_size(const vs_alloc *alloc, uint64_t rounded) {
  if (rounded <= VS_ALLOC_SMALL_SIZE) return VS_ALLOC_SMALL_BUFFER;
  if (rounded < VS_ALLOC_MIN_LARGE) return alloc->large_segment;
  return (rounded + VS_ALLOC_ROUND_LARGE - 1) / VS_ALLOC_ROUND_LARGE * VS_ALLOC_ROUND_LARGE;
}

/* ---- blocks -------------------------------------------------------------------------------------------------- */

vs_alloc_block *vs_alloc_block_new(vs_alloc *alloc, vs_alloc_lane *lane, uint64_t address, uint64_t size,
                                   vs_alloc_extent *extent) {
  vs_alloc_block *block = vs_alloc_blocks_take(&alloc->blocks);
  block->address = address;
  block->size = size;
  block->prev = block->next = NULL;
  block->lane = lane;
  block->context = VS_CONTEXT_NONE;
  block->place = VS_PLACE_FREE;
  block->requested = 0;
  block->uses = NULL;
  block->extent = extent;
  block->event_count = 0;
  block->segment_context = VS_CONTEXT_NONE;
  block->registration = alloc->registrations;
  return block;
}

vs_alloc_block *vs_alloc_block_part(vs_alloc *alloc, const vs_alloc_block *whole, uint64_t address,
                                    uint64_t size) {
  vs_alloc_block *block = vs_alloc_block_new(alloc, whole->lane, address, size, whole->extent);
  block->registration = whole->registration;
  return block;
}

void vs_alloc_cache_add(vs_alloc_block *block) {
  block->place = VS_PLACE_FREE;
  block->looked_up = block->lane->pool->lookups;
  vs_alloc_lane_add(block->lane, block);
}

uint64_t vs_alloc_merge(vs_alloc *alloc, vs_alloc_block *block, vs_alloc_block *other) {
  const vs_alloc_place kind = block->place == VS_PLACE_UNMAPPED ? VS_PLACE_UNMAPPED : VS_PLACE_FREE;
  if (other == NULL || other->place != kind) return 0;
  if (kind == VS_PLACE_FREE) vs_alloc_lane_remove(other->lane, other);
  else vs_alloc_unmapped_remove(other->lane, other);
  if (block->prev == other) {
    block->address = other->address;
    block->prev = other->prev;
    if (block->prev != NULL) block->prev->next = block;
    block->segment_context = other->segment_context;
  } else {
    block->next = other->next;
    if (block->next != NULL) block->next->prev = block;
  }
  const uint64_t merged = other->size;
  block->size += merged;
  vs_alloc_blocks_give(&alloc->blocks, other);
  return merged;
}

/* ---- looking up ------------------------------------------------------------------------------------------------ */

static uint64_t size_when_expanded(const vs_alloc_block *block) {
  const vs_alloc_block *next = block->next;
  return block->size + (next != NULL && next->place == VS_PLACE_UNMAPPED ? next->size : 0);
}

/* Of several expandable blocks that fit, one that could grow less is preferred, as far as the order leads there. Where
 * expandable segments were switched off meanwhile, their blocks are passed over. */
static vs_alloc_block *weigh_expandable(const vs_alloc_request *request, vs_alloc_block *block) {
  const vs_alloc_lane *lane = request->lane;
  if (!request->is_expandable) {
    do {
      block = vs_alloc_lane_after(lane, block);
    } while (block != NULL && block->extent != NULL);
    return block;
  }
  while (block->extent != NULL) {
    vs_alloc_block *next = vs_alloc_lane_after(lane, block);
    if (next == NULL || size_when_expanded(next) >= size_when_expanded(block)) break;
    block = next;
  }
  return block;
}

static inline bool look_up(vs_alloc *alloc, vs_alloc_request *request) {
  if (alloc->collects_garbage) request->pool->lookups++;
  vs_alloc_lane *lane = request->lane;
  vs_alloc_block *block = vs_alloc_lane_fit(lane, request->size);
  if (block == NULL) return false;
  if (block->extent != NULL) {
    block = weigh_expandable(request, block);
    if (block == NULL) return false;
  }
  const uint64_t most = alloc->max_split_size;
  if (request->size < most && block->size >= most) return false;
  if (request->size >= most && block->size >= request->size + alloc->settings.max_non_split_rounding)
    return false;
  vs_alloc_lane_remove(lane, block);
  request->block = block;
  return true;
}

bool vs_alloc_look_up(vs_alloc *alloc, vs_alloc_request *request) { return look_up(alloc, request); }

/* ---- handing out ------------------------------------------------------------------------------------------------- */

static bool wants_split(const vs_alloc *alloc, const vs_alloc_request *request) {
  const vs_alloc_pool *pool = request->pool;
  const uint64_t rest = request->block->size - request->size;
  if (pool->owner != NULL && pool->owner->no_split) return false;
  if (pool->is_small || request->is_expandable) return rest >= VS_ALLOC_MIN_BLOCK;
  return request->size < alloc->max_split_size && rest > VS_ALLOC_SMALL_SIZE;
}

/* The front part becomes a block of its own, the rest goes back into the cache. */
static void split(vs_alloc *alloc, vs_alloc_request *request, bool was_split) {
  vs_alloc_block *rest = request->block;
  const vs_alloc_part part = request->pool->part;
  vs_alloc_block *front = vs_alloc_block_part(alloc, rest, rest->address, request->size);
  front->prev = rest->prev;
  if (front->prev != NULL) front->prev->next = front;
  front->next = rest;
  rest->prev = front;
  rest->address += request->size;
  rest->size -= request->size;
  vs_alloc_cache_add(rest);
  request->block = front;
  if (rest->extent != NULL) return;
  if (was_split) {
    vs_alloc_decrease(alloc, part, VS_ALLOC_INACTIVE_SPLIT_BYTES, request->size);
  } else {
    vs_alloc_increase(alloc, part, VS_ALLOC_INACTIVE_SPLIT, 1);
    vs_alloc_increase(alloc, part, VS_ALLOC_INACTIVE_SPLIT_BYTES, rest->size);
  }
}

static inline void count_hand_out(vs_alloc *alloc, vs_alloc_part part, uint64_t size, uint64_t wanted) {
  vs_alloc_increase(alloc, part, VS_ALLOC_ALLOCATION, 1);
  vs_alloc_increase(alloc, part, VS_ALLOC_ALLOCATED_BYTES, size);
  vs_alloc_increase(alloc, part, VS_ALLOC_ACTIVE, 1);
  vs_alloc_increase(alloc, part, VS_ALLOC_ACTIVE_BYTES, size);
  vs_alloc_increase(alloc, part, VS_ALLOC_REQUESTED_BYTES, wanted);
}

static inline void hand_out(vs_alloc *alloc, vs_alloc_request *request) {
  const vs_alloc_part part = request->pool->part;
  const bool was_split = vs_alloc_is_split(request->block);
  if (wants_split(alloc, request)) {
    split(alloc, request, was_split);
  } else if (was_split && request->block->extent == NULL) {
    vs_alloc_decrease(alloc, part, VS_ALLOC_INACTIVE_SPLIT, 1);
    vs_alloc_decrease(alloc, part, VS_ALLOC_INACTIVE_SPLIT_BYTES, request->block->size);
  }
  vs_alloc_block *block = request->block;
  vs_alloc_lane *lane = block->lane;
  block->place = VS_PLACE_ALLOCATED;
  block->requested = request->wanted;
  block->context = request->context;
  block->born = alloc->allocations++;
  vs_alloc_table_add(&alloc->allocated, block->address, block);
  vs_alloc_tell_block(alloc, VS_EVENT_ALLOC, block, request->context);

  vs_alloc_statistics *statistics = &alloc->statistics;
  count_hand_out(alloc, part, block->size, request->wanted);
  if (block->size >= alloc->max_split_size) vs_alloc_stat_increase(&statistics->oversize_allocations, 1);
  lane->allocated_bytes += block->size;
  if (lane->allocated_bytes > lane->allocated_peak) lane->allocated_peak = lane->allocated_bytes;
  statistics->sizes[63 - __builtin_clzll(request->wanted)]++;
}

/* ---- free ---------------------------------------------------------------------------------------------------------- */

/* Up or down: whether it is the one or the other cannot be foreseen, so there are no branches. */
static inline void count_inactive_in(vs_alloc_figures *figures, vs_alloc_group group, int64_t change,
                                     int64_t more) {
  const int64_t current = figures->current[group] += change;
  const int64_t peak = figures->peak[group];
  figures->peak[group] = current > peak ? current : peak;
  figures->allocated[group] += more;
}

static inline __attribute__((always_inline)) void count_inactive(vs_alloc *alloc, vs_alloc_part part,
                                                                 vs_alloc_group group, int64_t change) {
  const int64_t more = change > 0 ? change : 0;
  count_inactive_in(&alloc->statistics.part[VS_ALLOC_ALL], group, change, 0);
  count_inactive_in(&alloc->statistics.part[part], group, change, more);
}

static inline __attribute__((always_inline)) void complete_free(vs_alloc *alloc, vs_alloc_block *block,
                                                                vs_context context) {
  vs_alloc_pool *pool = block->lane->pool;
  const uint64_t size = block->size;
  vs_alloc_tell_block(alloc, VS_EVENT_FREE_COMPLETED, block, vs_alloc_either(context, block->context));
  block->context = VS_CONTEXT_NONE;

  int64_t count = 0, bytes = 0;
  if (block->prev != NULL && block->prev->place == VS_PLACE_FREE) {
    count--;
    bytes -= (int64_t)vs_alloc_merge(alloc, block, block->prev);
  }
  if (block->next != NULL && block->next->place == VS_PLACE_FREE) {
    count--;
    bytes -= (int64_t)vs_alloc_merge(alloc, block, block->next);
  }
  vs_alloc_cache_add(block);
  if (vs_alloc_is_split(block)) {
    count++;
    bytes += (int64_t)block->size;
  }
  if (block->extent == NULL) {
    count_inactive(alloc, pool->part, VS_ALLOC_INACTIVE_SPLIT, count);
    count_inactive(alloc, pool->part, VS_ALLOC_INACTIVE_SPLIT_BYTES, bytes);
  }
  vs_alloc_decrease(alloc, pool->part, VS_ALLOC_ACTIVE, 1);
  vs_alloc_decrease(alloc, pool->part, VS_ALLOC_ACTIVE_BYTES, size);
  vs_alloc_decrease(alloc, pool->part, VS_ALLOC_REQUESTED_BYTES, block->requested);
}

void vs_alloc_complete_free(vs_alloc *alloc, vs_alloc_block *block, vs_context context) {
  complete_free(alloc, block, context);
}

/* ---- the two calls ------------------------------------------------------------------------------------------------- */

static vs_status poll_before(vs_alloc *alloc, uint64_t stream, vs_context context) {
  if (!vs_alloc_is_capturing(alloc, stream))
    return alloc->waiting == 0 ? VS_OK : vs_alloc_pending_poll(alloc, context);
  return alloc->settings.capture_reuse ? vs_alloc_reuse_free(alloc, stream, context) : VS_OK;
}

/* What the cache has not got, with what handing it out takes. Apart, so that the way of nearly all requests is short. */
__attribute__((noinline)) static vs_status find_elsewhere(vs_alloc *alloc, vs_alloc_request *request) {
  VS_TRY(vs_alloc_find_block(alloc, request));
  /* The driver's call let others in, or mapping took the spare blocks. */
  vs_status status = vs_alloc_blocks_reserve(alloc->host, &alloc->blocks, 1);
  if (status == VS_OK) status = vs_alloc_table_reserve(alloc->host, &alloc->allocated);
  if (status != VS_OK) vs_alloc_cache_add(request->block);
  return status;
}

vs_status vs_alloc_malloc(vs_alloc *alloc, uint64_t size, uint64_t stream, vs_context context,
                          uint64_t *address) {
  *address = 0;
  if (size == 0) return VS_OK;
  vs_alloc_request request = {.wanted = size, .stream = stream, .context = context};
  if (size >= VS_ALLOC_TOO_LARGE) {
    vs_alloc_oom_note(alloc, &request);
    return VS_DEVICE_MEMORY;
  }
  VS_TRY(poll_before(alloc, stream, context));
  VS_TRY(vs_alloc_table_reserve(alloc->host, &alloc->allocated));
  VS_TRY(vs_alloc_blocks_reserve(alloc->host, &alloc->blocks, 4));
  request.size = vs_alloc_round(alloc, size);
  request.pool = vs_alloc_pool_for(alloc, request.size, stream);
  VS_TRY(vs_alloc_lane_of(alloc, request.pool, stream, &request.lane));
  request.is_expandable = alloc->is_expandable && !vs_alloc_has_source(request.pool);
  if (look_up(alloc, &request)) alloc->statistics.steps[VS_ALLOC_FROM_CACHE]++; /* nearly always */
  else VS_TRY(find_elsewhere(alloc, &request));
  hand_out(alloc, &request);
  *address = request.block->address;
  vs_alloc_assert(alloc);
  return VS_OK;
}

/* ---- freeing ------------------------------------------------------------------------------------------------------ */

vs_status vs_alloc_free(vs_alloc *alloc, uint64_t address, vs_context context) {
  if (address == 0) return VS_OK;
  vs_alloc_block *block = vs_alloc_table_take(&alloc->allocated, address);
  if (block == NULL) return VS_NOT_FOUND;
  vs_alloc_lane *lane = block->lane;
  const vs_alloc_part part = lane->pool->part;
  vs_alloc_decrease(alloc, part, VS_ALLOC_ALLOCATION, 1);
  vs_alloc_decrease(alloc, part, VS_ALLOC_ALLOCATED_BYTES, block->size);
  lane->allocated_bytes -= block->size;
  alloc->statistics.lifetimes[63 - __builtin_clzll(alloc->allocations - block->born)]++;
  vs_alloc_tell_block(alloc, VS_EVENT_FREE_REQUESTED, block, vs_alloc_either(context, block->context));
  if (block->size >= alloc->max_split_size)
    vs_alloc_stat_decrease(&alloc->statistics.oversize_allocations, 1);
  vs_status status = VS_OK;
  if (block->uses != NULL) status = vs_alloc_pending_add(alloc, block);
  else complete_free(alloc, block, context);
  vs_alloc_assert(alloc);
  return status;
}
