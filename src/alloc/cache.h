/* Blocks and the cache: the steps of every allocation and free. They are inline because they are most of the time that
 * an allocation takes. */
#ifndef VS_ALLOC_CACHE_H
#define VS_ALLOC_CACHE_H

#include "alloc/state.h"

/* ---- events --------------------------------------------------------------------------------------------- */

void vs_alloc_tell_slow(vs_alloc *alloc, vs_event_kind kind, uint64_t address, uint64_t size,
                        uint64_t rounded, const vs_alloc_lane *lane, vs_context context);

/* Passes an event about memory of a lane to the observer. */
static inline void vs_alloc_tell(vs_alloc *alloc, vs_event_kind kind, uint64_t address, uint64_t size,
                                 const vs_alloc_lane *lane, vs_context context) {
  if (alloc->observer.event != NULL) vs_alloc_tell_slow(alloc, kind, address, size, 0, lane, context);
}

/* Likewise for a block; the size of the event is the requested size. */
static inline void vs_alloc_tell_block(vs_alloc *alloc, vs_event_kind kind, const vs_alloc_block *block,
                                       vs_context context) {
  if (alloc->observer.event != NULL)
    vs_alloc_tell_slow(alloc, kind, block->address, block->requested, block->size, block->lane, context);
}

/* ---- sizes and blocks ------------------------------------------------------------------------------------ */

uint64_t vs_alloc_round_to_division(const vs_alloc *alloc, uint64_t size);

/* Bytes of the block that a request needs. */
static inline uint64_t vs_alloc_round(const vs_alloc *alloc, uint64_t size) {
  if (alloc->has_divisions) return vs_alloc_round_to_division(alloc, size);
  return (size + VS_ALLOC_MIN_BLOCK - 1) & ~(VS_ALLOC_MIN_BLOCK - 1);
}

uint64_t vs_alloc_driver_size(const vs_alloc *alloc, uint64_t rounded);

/* Puts the block into the bins; its age begins now. */
static inline void vs_alloc_cache_add(vs_alloc_block *block) {
  block->place = VS_PLACE_FREE;
  block->looked_up = block->lane->pool->lookups;
  vs_alloc_lane_add(block->lane, block);
}

/* Makes the block at the front of `block` a part of it; both lie in one segment, and `front` is in no place. */
static inline void vs_alloc_absorb_front(vs_alloc *alloc, vs_alloc_block *block, vs_alloc_block *front) {
  VS_ASSERT(block->prev == front);
  block->address = front->address;
  block->prev = front->prev;
  if (block->prev != NULL) block->prev->next = block;
  block->segment_context = front->segment_context;
  block->size += front->size;
  vs_alloc_blocks_give(&alloc->blocks, front);
}

/* Likewise the block behind it. */
static inline void vs_alloc_absorb_back(vs_alloc *alloc, vs_alloc_block *block, vs_alloc_block *back) {
  VS_ASSERT(block->next == back);
  block->next = back->next;
  if (block->next != NULL) block->next->prev = block;
  block->size += back->size;
  vs_alloc_blocks_give(&alloc->blocks, back);
}

/* Merges an unmapped block, or a free one that is in no place, with its neighbours of the same kind. */
void vs_alloc_merge(vs_alloc *alloc, vs_alloc_block *block);

/* A block that is not linked yet: the first of a new segment. A spare block has no uses and waits for no event. */
static inline vs_alloc_block *vs_alloc_block_new(vs_alloc *alloc, vs_alloc_lane *lane, uint64_t address,
                                                 uint64_t size, vs_alloc_extent *extent) {
  vs_alloc_block *block = vs_alloc_blocks_take(&alloc->blocks);
  VS_ASSERT(block->uses == NULL && block->event_count == 0);
  block->address = address;
  block->size = size;
  block->prev = block->next = NULL;
  block->lane = lane;
  block->context = VS_CONTEXT_NONE;
  block->place = VS_PLACE_FREE;
  block->requested = 0;
  block->extent = extent;
  block->segment_context = VS_CONTEXT_NONE;
  block->registration = alloc->registrations;
  return block;
}

/* Likewise a part of `whole`. */
static inline vs_alloc_block *vs_alloc_block_part(vs_alloc *alloc, const vs_alloc_block *whole,
                                                  uint64_t address, uint64_t size) {
  vs_alloc_block *block = vs_alloc_block_new(alloc, whole->lane, address, size, whole->extent);
  block->registration = whole->registration;
  return block;
}

/* ---- looking up ------------------------------------------------------------------------------------------- */

/* PyTorch's choice among expandable blocks that fit: it goes on to the next block as long as that one could grow less. If
 * expandable segments are switched off by now, it skips their blocks. NULL: none is left. */
vs_alloc_block *vs_alloc_weigh_expandable(const vs_alloc_lane *lane, vs_alloc_block *block,
                                          bool is_expandable);

/* Looks for a cached block and takes it out of its bin; NULL if there is none. `size` is rounded. */
static inline vs_alloc_block *vs_alloc_look_up(const vs_alloc *alloc, vs_alloc_lane *lane, uint64_t size,
                                               bool is_expandable) {
  if (alloc->collects_garbage) lane->pool->lookups++;
  vs_alloc_block *block = vs_alloc_lane_fit(lane, size);
  if (block == NULL) return NULL;
  if (block->extent != NULL) {
    block = vs_alloc_weigh_expandable(lane, block, is_expandable);
    if (block == NULL) return NULL;
  }
  const uint64_t most = alloc->max_split_size;
  if (block->size >= most) { /* only for a request as large, and not too much of it */
    if (size < most) return NULL;
    if (block->size >= size + alloc->settings.max_non_split_rounding) return NULL;
  }
  vs_alloc_lane_remove(lane, block);
  return block;
}

/* ---- allocating a cached block ----------------------------------------------------------------------------------- */

static inline bool vs_alloc_wants_split(const vs_alloc *alloc, const vs_alloc_block *block, uint64_t size,
                                        bool is_expandable) {
  const vs_alloc_pool *pool = block->lane->pool;
  const uint64_t rest = block->size - size;
  if (pool->owner != NULL && pool->owner->no_split) return false;
  if (pool->is_small || is_expandable) return rest >= VS_ALLOC_MIN_BLOCK;
  return size < alloc->max_split_size && rest > VS_ALLOC_SMALL_SIZE;
}

/* Splits `size` bytes off the front of a block that is in no place, and returns them; the rest returns to the cache. */
static inline vs_alloc_block *vs_alloc_split(vs_alloc *alloc, vs_alloc_block *rest, uint64_t size,
                                             bool was_split) {
  const vs_alloc_pool *pool = rest->lane->pool;
  const uint64_t address = rest->address, left = rest->size - size;
  VS_ASSERT(size < rest->size);
  rest->address = address + size;
  rest->size = left;
  vs_alloc_cache_add(rest);
  vs_alloc_block *front = vs_alloc_block_part(alloc, rest, address, size);
  front->prev = rest->prev;
  if (front->prev != NULL) front->prev->next = front;
  front->next = rest;
  rest->prev = front;
  if (rest->extent != NULL) return front;
  if (was_split) {
    vs_alloc_decrease(alloc, pool, VS_ALLOC_INACTIVE_SPLIT_BYTES, size);
  } else {
    vs_alloc_increase(alloc, pool, VS_ALLOC_INACTIVE_SPLIT, 1);
    vs_alloc_increase(alloc, pool, VS_ALLOC_INACTIVE_SPLIT_BYTES, left);
  }
  return front;
}

static inline void vs_alloc_count_hand_out(vs_alloc *alloc, const vs_alloc_pool *pool, uint64_t size,
                                           uint64_t wanted) {
  vs_alloc_increase(alloc, pool, VS_ALLOC_ALLOCATION, 1);
  vs_alloc_increase(alloc, pool, VS_ALLOC_ALLOCATED_BYTES, size);
  vs_alloc_increase(alloc, pool, VS_ALLOC_REQUESTED_BYTES, wanted);
  if (alloc->waiting != 0) vs_alloc_active_count(alloc);
}

/* Allocates a block that was found for a request of `wanted` bytes, rounded `size`, after it has split it if the rules want
 * that. Requires one spare block. */
static inline vs_alloc_block *vs_alloc_hand_out(vs_alloc *alloc, vs_alloc_block *block, uint64_t size,
                                                uint64_t wanted, bool is_expandable, vs_context context) {
  vs_alloc_lane *lane = block->lane;
  const bool was_split = vs_alloc_is_split(block);
  if (vs_alloc_wants_split(alloc, block, size, is_expandable)) {
    block = vs_alloc_split(alloc, block, size, was_split);
  } else if (was_split && block->extent == NULL) {
    vs_alloc_decrease(alloc, lane->pool, VS_ALLOC_INACTIVE_SPLIT, 1);
    vs_alloc_decrease(alloc, lane->pool, VS_ALLOC_INACTIVE_SPLIT_BYTES, block->size);
  }
  VS_ASSERT(block->uses == NULL && block->event_count == 0 && block->size >= wanted);
  block->place = VS_PLACE_ALLOCATED;
  block->requested = wanted;
  block->context = context;
  block->born = alloc->allocations++;
  vs_alloc_table_add(&alloc->blocks.allocated, block);
  vs_alloc_tell_block(alloc, VS_EVENT_ALLOC, block, context);

  vs_alloc_statistics *statistics = &alloc->statistics;
  vs_alloc_count_hand_out(alloc, lane->pool, block->size, wanted);
  if (block->size >= alloc->max_split_size) vs_alloc_stat_increase(&statistics->oversize_allocations, 1);
  lane->allocated_bytes += block->size;
  if (lane->allocated_bytes > lane->allocated_peak) lane->allocated_peak = lane->allocated_bytes;
  statistics->sizes[63 - __builtin_clzll(wanted)]++;
  return block;
}

/* ---- freeing ----------------------------------------------------------------------------------------------------- */

/* Changes a figure by `change`. Its sign is unpredictable, so no branch asks for it; a new peak is rare. */
static inline void vs_alloc_count_inactive(vs_alloc *alloc, const vs_alloc_pool *pool, vs_alloc_group group,
                                           int64_t change) {
  vs_alloc_raise(&alloc->statistics.part[VS_ALLOC_ALL], group, change);
  vs_alloc_raise(pool->figures, group, change);
  pool->figures->allocated[group] += change > 0 ? change : 0;
}

/* Puts a block that no stream uses any more, and whose end was told, into the cache, merged with its free neighbours. */
static inline void vs_alloc_complete_free(vs_alloc *alloc, vs_alloc_block *block) {
  vs_alloc_lane *lane = block->lane;
  const vs_alloc_pool *pool = lane->pool;
  VS_ASSERT(block->uses == NULL && block->event_count == 0);
  VS_ASSERT(block->place == VS_PLACE_ALLOCATED || block->place == VS_PLACE_PENDING);
  block->context = VS_CONTEXT_NONE;

  int64_t count = 0, bytes = 0;
  vs_alloc_block *front = block->prev, *back = block->next;
  if (front != NULL && front->place == VS_PLACE_FREE) {
    count--;
    bytes -= (int64_t)front->size;
    vs_alloc_lane_remove(lane, front);
    vs_alloc_absorb_front(alloc, block, front);
  }
  if (back != NULL && back->place == VS_PLACE_FREE) {
    count--;
    bytes -= (int64_t)back->size;
    vs_alloc_lane_remove(lane, back);
    vs_alloc_absorb_back(alloc, block, back);
  }
  if (vs_alloc_is_split(block)) {
    count++;
    bytes += (int64_t)block->size;
  }
  if (block->extent == NULL) {
    vs_alloc_count_inactive(alloc, pool, VS_ALLOC_INACTIVE_SPLIT, count);
    vs_alloc_count_inactive(alloc, pool, VS_ALLOC_INACTIVE_SPLIT_BYTES, bytes);
  }
  vs_alloc_decrease(alloc, pool, VS_ALLOC_REQUESTED_BYTES, block->requested);
  vs_alloc_cache_add(block);
}

/* A freed block that other streams still use, and its end, when they do not any more. */
void vs_alloc_pending_begin(vs_alloc *alloc, vs_alloc_block *block);
void vs_alloc_pending_end(vs_alloc *alloc, vs_alloc_block *block, vs_context context);

#endif
