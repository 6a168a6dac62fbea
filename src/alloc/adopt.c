#include "alloc/adopt.h"

#include "alloc/cache.h"
#include "alloc/expandable.h"
#include "alloc/pools.h"

uint64_t vs_alloc_rounded(const vs_alloc *alloc, uint64_t size) {
  return size == 0 ? 0 : vs_alloc_round(alloc, size);
}

uint64_t vs_alloc_page(const vs_alloc *alloc, bool is_small) {
  return is_small ? VS_ALLOC_SMALL_BUFFER : alloc->large_segment;
}

/* ---- validation ------------------------------------------------------------------------------- */

static bool is_range(uint64_t address, uint64_t size, uint64_t unit) {
  return address != 0 && size != 0 && size % unit == 0 && address <= UINT64_MAX - size;
}

static bool tiles(const vs_alloc *alloc, const vs_alloc_adopted *adopted) {
  const vs_alloc_segment_info *segment = &adopted->segment;
  uint64_t next = segment->address, left = segment->size;
  for (uint64_t i = 0; i < adopted->block_count; i++) {
    const vs_alloc_block_info *block = &adopted->blocks[i];
    const bool is_free = block->state == VS_ALLOC_BLOCK_FREE;
    if (block->address != next || block->size == 0 || block->size > left) return false;
    if (block->address % VS_ALLOC_MIN_BLOCK != 0 || block->size % VS_ALLOC_MIN_BLOCK != 0) return false;
    if (block->state == VS_ALLOC_BLOCK_PENDING) return false;
    if (is_free && i > 0 && block[-1].state == VS_ALLOC_BLOCK_FREE) return false;
    if (!is_free && vs_alloc_table_find(&alloc->blocks.allocated, block->address) != NULL) return false;
    next += block->size;
    left -= block->size;
  }
  return left == 0;
}

static bool fits_reserve(const vs_alloc *alloc, const vs_alloc_adopted *adopted) {
  const vs_alloc_segment_info *segment = &adopted->segment;
  const uint64_t page = vs_alloc_page(alloc, segment->is_small);
  if (!is_range(adopted->reserve_address, adopted->reserve_size, page)) return false;
  if (segment->address < adopted->reserve_address) return false;
  const uint64_t before = segment->address - adopted->reserve_address;
  return before % page == 0 && segment->size % page == 0 && before <= adopted->reserve_size &&
         segment->size <= adopted->reserve_size - before;
}

/* ---- reserves ------------------------------------------------------------------------------------------ */

/* The unmapped block that contains the whole run; NULL if there is none. */
static vs_alloc_block *unmapped_around(const vs_alloc_lane *lane, const vs_alloc_adopted *adopted) {
  const vs_alloc_segment_info *segment = &adopted->segment;
  for (vs_alloc_block *block = lane->unmapped; block != NULL; block = block->right) {
    if (block->extent->address != adopted->reserve_address || block->extent->size != adopted->reserve_size)
      continue;
    if (block->address <= segment->address && segment->address - block->address <= block->size &&
        segment->size <= block->size - (segment->address - block->address))
      return block;
  }
  return NULL;
}

/* Whether the run touches another run of its reserve: two such would be one run. */
static bool touches_run(const vs_alloc_block *around, const vs_alloc_segment_info *segment) {
  const uint64_t before = segment->address - around->address;
  return (before == 0 && around->prev != NULL) ||
         (around->size - before == segment->size && around->next != NULL);
}

static bool reserve_is_known(const vs_alloc *alloc, uint64_t address) {
  for (const vs_alloc_extent *extent = alloc->extents; extent != NULL; extent = extent->next)
    if (extent->address == address) return true;
  return false;
}

/* Creates the extent of a reserve, as one unmapped block. */
static vs_status reserve_adopt(vs_alloc *alloc, vs_alloc_lane *lane, const vs_alloc_adopted *adopted,
                               vs_alloc_block **out) {
  if (reserve_is_known(alloc, adopted->reserve_address)) return VS_BAD_ARGUMENT;
  vs_alloc_extent *extent = vs_host_alloc(alloc->host, sizeof *extent);
  if (extent == NULL) return VS_NO_MEMORY;
  *extent = (vs_alloc_extent){.address = adopted->reserve_address,
                              .size = adopted->reserve_size,
                              .page = vs_alloc_page(alloc, lane->pool->is_small),
                              .stream = lane->stream,
                              .next = alloc->extents};
  if (extent->next != NULL) extent->next->prev = extent;
  alloc->extents = extent;
  *out = vs_alloc_block_new(alloc, lane, extent->address, extent->size, extent);
  (*out)->place = VS_PLACE_UNMAPPED;
  alloc->registrations += alloc->settings.rules->orders_by_segment;
  vs_alloc_unmapped_add(lane, *out);
  return VS_OK;
}

/* Cuts the run out of the unmapped block `around`, and sets *prev and *next to the run's neighbours. */
static void run_cut(vs_alloc *alloc, vs_alloc_block *around, const vs_alloc_segment_info *segment,
                    vs_alloc_block **prev, vs_alloc_block **next) {
  vs_alloc_lane *lane = around->lane;
  const uint64_t before = segment->address - around->address;
  const uint64_t behind = around->size - before - segment->size;
  VS_ASSERT(around->place == VS_PLACE_UNMAPPED && before + segment->size <= around->size);
  *prev = around->prev;
  *next = around->next;
  if (behind > 0) {
    vs_alloc_block *rest = vs_alloc_block_part(alloc, around, segment->address + segment->size, behind);
    rest->place = VS_PLACE_UNMAPPED;
    rest->next = around->next;
    if (rest->next != NULL) rest->next->prev = rest;
    vs_alloc_unmapped_add(lane, rest);
    *next = rest;
  }
  if (before > 0) {
    around->size = before;
    *prev = around;
  } else {
    vs_alloc_unmapped_remove(lane, around);
    vs_alloc_blocks_give(&alloc->blocks, around);
  }
}

/* Where the blocks of a segment go. */
typedef struct place {
  vs_alloc_lane *lane;
  vs_alloc_extent *extent; /* NULL: a segment of its own */
  vs_alloc_block *prev, *next;
  uint32_t registration;
} place;

/* Cuts the run out of its reserve, which it creates if need be. The last step of adopting that can fail. */
static vs_status run_adopt(vs_alloc *alloc, const vs_alloc_adopted *adopted, place *to) {
  vs_alloc_lane *lane = to->lane;
  const vs_alloc_segment_info *segment = &adopted->segment;
  VS_TRY(vs_alloc_lane_reserve(alloc->host, lane, adopted->reserve_size));
  vs_alloc_block *around = unmapped_around(lane, adopted);
  const bool is_new = around == NULL;
  if (!is_new && touches_run(around, segment)) return VS_BAD_ARGUMENT;
  if (is_new) VS_TRY(reserve_adopt(alloc, lane, adopted, &around));
  vs_alloc_extent *extent = to->extent = around->extent;
  const uint64_t page = extent->page, begin = (segment->address - extent->address) / page;
  const vs_status status = vs_alloc_handles_reserve(alloc, extent, begin + segment->size / page);
  if (status != VS_OK) {
    if (is_new) {
      vs_alloc_unmapped_remove(lane, around);
      vs_alloc_blocks_give(&alloc->blocks, around);
      vs_alloc_extent_destroy(alloc, extent);
    }
    return status;
  }
  for (uint64_t i = 0; i < segment->size / page; i++) {
    VS_ASSERT(extent->handles.data[begin + i] == 0);
    extent->handles.data[begin + i] = VS_ALLOC_ADOPTED_HANDLE;
  }
  to->registration = around->registration;
  run_cut(alloc, around, segment, &to->prev, &to->next);
  return VS_OK;
}

/* ---- blocks -------------------------------------------------------------------------------------------- */

static void count_allocated(vs_alloc *alloc, const vs_alloc_block *block) {
  vs_alloc_lane *lane = block->lane;
  vs_alloc_count_hand_out(alloc, lane->pool, block->size, block->requested);
  if (block->size >= alloc->max_split_size)
    vs_alloc_stat_increase(&alloc->statistics.oversize_allocations, 1);
  lane->allocated_bytes += block->size;
  if (lane->allocated_bytes > lane->allocated_peak) lane->allocated_peak = lane->allocated_bytes;
}

static void block_place(vs_alloc *alloc, vs_alloc_block *block, const vs_alloc_block_info *info) {
  if (info->state == VS_ALLOC_BLOCK_FREE) {
    vs_alloc_cache_add(block);
    if (!vs_alloc_is_split(block) || block->extent != NULL) return;
    vs_alloc_increase(alloc, block->lane->pool, VS_ALLOC_INACTIVE_SPLIT, 1);
    vs_alloc_increase(alloc, block->lane->pool, VS_ALLOC_INACTIVE_SPLIT_BYTES, block->size);
    return;
  }
  block->place = VS_PLACE_ALLOCATED;
  block->requested = info->requested;
  block->context = info->context;
  block->born = alloc->allocations++;
  vs_alloc_table_add(&alloc->blocks.allocated, block);
  count_allocated(alloc, block);
}

/* Creates the blocks as a chain between two neighbours, and puts each into its place. */
static void chain_make(vs_alloc *alloc, const vs_alloc_adopted *adopted, const place *to) {
  vs_alloc_block *prev = to->prev;
  VS_ASSERT(alloc->blocks.spare_count >= adopted->block_count);
  for (uint64_t i = 0; i < adopted->block_count; i++) {
    const vs_alloc_block_info *info = &adopted->blocks[i];
    vs_alloc_block *block = vs_alloc_block_new(alloc, to->lane, info->address, info->size, to->extent);
    const bool is_last = i + 1 == adopted->block_count;
    if (i == 0) block->segment_context = adopted->segment.context;
    block->registration = to->registration;
    block->prev = prev;
    if (prev != NULL) prev->next = block;
    block->next = is_last ? to->next : NULL;
    if (block->next != NULL) block->next->prev = block;
    prev = block;
  }
  /* A block's place depends on whether it is split, so all blocks are linked first. */
  vs_alloc_block *block = prev;
  for (uint64_t i = adopted->block_count; i-- > 0; block = prev) {
    prev = block->prev;
    block_place(alloc, block, &adopted->blocks[i]);
  }
}

/* ---- the whole ----------------------------------------------------------------------------------------- */

static vs_status pool_of(vs_alloc *alloc, const vs_alloc_segment_info *segment, vs_alloc_pool **pool) {
  *pool = segment->is_small ? &alloc->small : &alloc->large;
  if (vs_pool_id_is_default(segment->pool)) return VS_OK;
  vs_alloc_owner *owner = vs_alloc_owner_find(alloc, segment->pool);
  if (owner == NULL) return VS_NOT_FOUND;
  *pool = segment->is_small ? &owner->small : &owner->large;
  return VS_OK;
}

vs_status vs_alloc_adopt_segment(vs_alloc *alloc, const vs_alloc_adopted *adopted) {
  const vs_alloc_segment_info *segment = &adopted->segment;
  if (!is_range(segment->address, segment->size, VS_ALLOC_MIN_BLOCK) || !tiles(alloc, adopted))
    return VS_BAD_ARGUMENT;
  if (segment->is_expandable && !fits_reserve(alloc, adopted)) return VS_BAD_ARGUMENT;
  vs_alloc_pool *pool;
  VS_TRY(pool_of(alloc, segment, &pool));
  vs_alloc_lane *lane = vs_alloc_lane_of(alloc, pool, segment->stream);
  if (lane == NULL) return VS_NO_MEMORY;
  VS_TRY(vs_alloc_blocks_reserve(alloc->host, &alloc->blocks, adopted->block_count + 3));
  VS_TRY(vs_alloc_lane_reserve(alloc->host, lane, segment->size));

  place to = {.lane = lane, .registration = alloc->registrations};
  if (segment->is_expandable) {
    VS_TRY(run_adopt(alloc, adopted, &to));
  } else {
    alloc->registrations += alloc->settings.rules->orders_by_segment;
    vs_alloc_increase(alloc, pool, VS_ALLOC_SEGMENT, 1);
    if (segment->size >= alloc->max_split_size)
      vs_alloc_stat_increase(&alloc->statistics.oversize_segments, 1);
  }
  vs_alloc_reserved_add(alloc, pool, segment->size);
  if (pool->owner != NULL) pool->owner->calls++;
  chain_make(alloc, adopted, &to);
  vs_alloc_assert(alloc);
  return VS_OK;
}
