/* The parts of the cache that are not inline: sizes, new blocks, merging. */
#include "alloc/cache.h"

void vs_alloc_tell_slow(vs_alloc *alloc, vs_event_kind kind, uint64_t address, uint64_t size,
                        uint64_t rounded, const vs_alloc_lane *lane, vs_context context) {
  VS_ASSERT(alloc->observer.event != NULL);
  const vs_event event = {
      .address = address,
      .size = size,
      .rounded = rounded,
      .stream = lane->stream,
      .pool = vs_alloc_pool_id(lane->pool),
      .context = context,
      .kind = kind,
  };
  alloc->observer.event(alloc->observer.ctx, &event);
}

/* ---- figures of active blocks ------------------------------------------------------------------------------- */

static void active_write(vs_alloc_figures *figures, vs_alloc_group active, vs_alloc_group allocated,
                         int64_t pending) {
  figures->allocated[active] = figures->allocated[allocated];
  figures->current[active] = figures->current[allocated] + pending;
  vs_alloc_peak_note(figures, active, figures->current[active]);
  vs_alloc_peak_note(figures, active, figures->peak[allocated]);
}

void vs_alloc_active_count(vs_alloc *alloc) {
  for (int part = 0; part < VS_ALLOC_PARTS; part++) {
    vs_alloc_figures *figures = &alloc->statistics.part[part];
    active_write(figures, VS_ALLOC_ACTIVE, VS_ALLOC_ALLOCATION, alloc->held[part].blocks);
    active_write(figures, VS_ALLOC_ACTIVE_BYTES, VS_ALLOC_ALLOCATED_BYTES, alloc->held[part].bytes);
  }
}

/* ---- sizes ------------------------------------------------------------------------------------------------- */

uint64_t vs_alloc_round_to_division(const vs_alloc *alloc, uint64_t size) {
  return vs_alloc_settings_round(&alloc->settings, size);
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
  VS_ASSERT(address >= whole->address && size <= whole->size);
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

/* ---- pending blocks --------------------------------------------------------------------------------------------- */

static void hold(vs_alloc *alloc, vs_alloc_part part, int64_t blocks, int64_t bytes) {
  alloc->held[part].blocks += blocks;
  alloc->held[part].bytes += bytes;
}

void vs_alloc_pending_begin(vs_alloc *alloc, vs_alloc_block *block) {
  VS_ASSERT(block->place == VS_PLACE_ALLOCATED);
  block->place = VS_PLACE_PENDING;
  hold(alloc, VS_ALLOC_ALL, 1, (int64_t)block->size);
  hold(alloc, block->lane->pool->part, 1, (int64_t)block->size);
}

void vs_alloc_pending_end(vs_alloc *alloc, vs_alloc_block *block, vs_context context) {
  VS_ASSERT(block->place == VS_PLACE_PENDING);
  hold(alloc, VS_ALLOC_ALL, -1, -(int64_t)block->size);
  hold(alloc, block->lane->pool->part, -1, -(int64_t)block->size);
  vs_alloc_complete_free(alloc, block, context);
}

/* ---- looking up ------------------------------------------------------------------------------------------------ */

static uint64_t size_when_expanded(const vs_alloc_block *block) {
  const vs_alloc_block *next = block->next;
  return block->size + (next != NULL && next->place == VS_PLACE_UNMAPPED ? next->size : 0);
}

vs_alloc_block *vs_alloc_weigh_expandable(const vs_alloc_lane *lane, vs_alloc_block *block,
                                          bool is_expandable) {
  if (!is_expandable) {
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
