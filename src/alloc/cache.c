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

/* ---- merging ------------------------------------------------------------------------------------------------- */

/* Whether `other`, a neighbour of `block` or none, is of its kind; if so, takes it out of its place. */
static bool take_neighbour(const vs_alloc_block *block, vs_alloc_block *other) {
  if (other == NULL || other->place != block->place) return false;
  if (other->place == VS_PLACE_FREE) vs_alloc_lane_remove(other->lane, other);
  else vs_alloc_unmapped_remove(other->lane, other);
  return true;
}

void vs_alloc_merge(vs_alloc *alloc, vs_alloc_block *block) {
  VS_ASSERT(block->place == VS_PLACE_FREE || block->place == VS_PLACE_UNMAPPED);
  vs_alloc_block *front = block->prev, *back = block->next;
  if (take_neighbour(block, front)) vs_alloc_absorb_front(alloc, block, front);
  if (take_neighbour(block, back)) vs_alloc_absorb_back(alloc, block, back);
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
  vs_alloc_tell_block(alloc, VS_EVENT_FREE_COMPLETED, block, vs_alloc_either(context, block->context));
  vs_alloc_complete_free(alloc, block);
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
