/* The invariants, executed: everything is counted again from the blocks. */
#include "alloc/pools.h"

typedef struct recount {
  const vs_alloc *alloc;
  const char *broken;
  int64_t figures[VS_ALLOC_PARTS][VS_ALLOC_GROUPS];
  uint64_t reserved, private_reserved, allocated_blocks, in_table, pending_blocks, blocks;
  uint64_t lane_allocated, owner_reserved; /* sums over lanes and private pools */
  int64_t held[VS_ALLOC_PARTS];            /* bytes of pending blocks */
} recount;

static void expect(recount *tally, bool holds, const char *sentence) {
  if (!holds && tally->broken == NULL) tally->broken = sentence;
}

static void count(recount *tally, vs_alloc_part part, vs_alloc_group group, uint64_t amount) {
  tally->figures[VS_ALLOC_ALL][group] += (int64_t)amount;
  tally->figures[part][group] += (int64_t)amount;
}

static void check_block(recount *tally, const vs_alloc_block *block) {
  const vs_alloc_part part = block->lane->pool->part;
  tally->blocks++;
  expect(tally, block->size > 0 && block->size % VS_ALLOC_MIN_BLOCK == 0,
         "sizes of blocks are multiples of 512");
  expect(tally, (block->event_count > 0) <= (block->place == VS_PLACE_PENDING),
         "only pending blocks wait for events");
  expect(tally, block->uses == NULL || block->place == VS_PLACE_ALLOCATED || block->place == VS_PLACE_PENDING,
         "only active blocks are used by other streams");
  if (block->place != VS_PLACE_UNMAPPED) {
    tally->reserved += block->size;
    if (block->lane->pool->owner != NULL) tally->private_reserved += block->size;
    count(tally, part, VS_ALLOC_RESERVED_BYTES, block->size);
  }
  switch ((vs_alloc_place)block->place) {
    case VS_PLACE_ALLOCATED:
      tally->allocated_blocks++;
      expect(tally, vs_alloc_table_find(&tally->alloc->blocks.allocated, block->address) == block,
             "allocated blocks are in the table");
      count(tally, part, VS_ALLOC_ALLOCATION, 1);
      count(tally, part, VS_ALLOC_ALLOCATED_BYTES, block->size);
      break;
    case VS_PLACE_PENDING:
      tally->pending_blocks++;
      tally->held[VS_ALLOC_ALL] += (int64_t)block->size;
      tally->held[part] += (int64_t)block->size;
      break;
    case VS_PLACE_FREE:
      if (vs_alloc_is_split(block) && block->extent == NULL) {
        count(tally, part, VS_ALLOC_INACTIVE_SPLIT, 1);
        count(tally, part, VS_ALLOC_INACTIVE_SPLIT_BYTES, block->size);
      }
      return;
    case VS_PLACE_UNMAPPED: expect(tally, block->extent != NULL, "unmapped blocks lie in extents"); return;
  }
  count(tally, part, VS_ALLOC_REQUESTED_BYTES, block->requested);
}

/* A segment or an extent, from its first block. */
static void check_chain(recount *tally, const vs_alloc_block *first) {
  const vs_alloc_block *last = NULL;
  uint64_t bytes = 0;
  for (const vs_alloc_block *block = first; block != NULL; block = block->next) {
    expect(tally, block->prev == last, "neighbours know each other");
    expect(tally, last == NULL || last->address + last->size == block->address, "blocks tile their segment");
    expect(tally, block->lane == first->lane && block->extent == first->extent,
           "a segment belongs to one lane");
    const bool can_merge = last != NULL && last->place == block->place &&
                           (block->place == VS_PLACE_FREE || block->place == VS_PLACE_UNMAPPED);
    expect(tally, !can_merge, "free neighbours are merged");
    check_block(tally, block);
    bytes += block->size;
    last = block;
  }
  if (first->extent == NULL) count(tally, first->lane->pool->part, VS_ALLOC_SEGMENT, 1);
  else
    expect(tally, first->address == first->extent->address && bytes == first->extent->size,
           "blocks tile an extent");
}

static void check_once(recount *tally, vs_alloc_block *block) {
  if (block->prev == NULL) check_chain(tally, block);
}

/* The first blocks of segments are found in the places of blocks: bins, unmapped lists, the table, the queues. */
static void check_pool(void *ctx, vs_alloc_pool *pool) {
  recount *all = ctx;
  for (size_t i = 0; i < pool->lanes.count; i++) {
    const vs_alloc_lane *lane = pool->lanes.data[i];
    const char *broken = vs_alloc_lane_check(lane);
    if (broken != NULL) {
      expect(all, false, broken);
      return; /* its links may be broken */
    }
    all->lane_allocated += lane->allocated_bytes;
    expect(all, lane->allocated_peak >= lane->allocated_bytes, "a lane's peak >= its allocated bytes");
    expect(all, lane->pool == pool, "a lane knows its pool");
    expect(all, i == 0 || pool->lanes.data[i - 1]->stream < lane->stream, "lanes are by stream");
    for (vs_alloc_block *block = vs_alloc_lane_first(lane); block != NULL;
         block = vs_alloc_lane_after(lane, block))
      check_once(all, block);
    for (vs_alloc_block *block = lane->unmapped; block != NULL; block = block->right) check_once(all, block);
  }
}

static void check_pending(recount *tally) {
  const vs_alloc *alloc = tally->alloc;
  uint64_t uses = 0;
  for (uint32_t at = vs_alloc_hash_order_next(&alloc->queues, 0); at != UINT32_MAX;
       at = vs_alloc_hash_order_next(&alloc->queues, at + 1)) {
    const vs_alloc_queue *queue = alloc->queues.slots[at].value;
    for (const vs_alloc_use *use = queue->first; use != NULL; use = use->next) {
      uses++;
      expect(tally, use->block->place == VS_PLACE_PENDING, "queues hold pending blocks");
      expect(tally, (use->next == NULL) == (queue->last == use), "a queue knows its end");
    }
  }
  expect(tally, uses == alloc->pending, "pending = events in the queues");
  expect(tally, alloc->waiting == alloc->pending + alloc->deferred.count, "waiting = pending + deferred");
}

/* A pending block can be in several queues; its segment is checked once, from the first of them. */
static void check_pending_chains(recount *tally) {
  const vs_alloc *alloc = tally->alloc;
  for (uint32_t at = vs_alloc_hash_order_next(&alloc->queues, 0); at != UINT32_MAX;
       at = vs_alloc_hash_order_next(&alloc->queues, at + 1)) {
    const vs_alloc_queue *queue = alloc->queues.slots[at].value;
    for (vs_alloc_use *use = queue->first; use != NULL; use = use->next) {
      bool is_seen = false;
      for (uint32_t before = vs_alloc_hash_order_next(&alloc->queues, 0); before < at && !is_seen;
           before = vs_alloc_hash_order_next(&alloc->queues, before + 1)) {
        const vs_alloc_queue *other = alloc->queues.slots[before].value;
        for (const vs_alloc_use *seen = other->first; seen != NULL; seen = seen->next)
          is_seen |= seen->block == use->block;
      }
      if (!is_seen) check_once(tally, use->block);
    }
  }
  for (size_t i = 0; i < alloc->deferred.count; i++)
    if (alloc->deferred.data[i].block->event_count == 0) check_once(tally, alloc->deferred.data[i].block);
}

static void check_figures(recount *tally) {
  const vs_alloc *alloc = tally->alloc;
  for (int part = 0; part < VS_ALLOC_PARTS; part++) {
    const vs_alloc_figures *figures = &alloc->statistics.part[part];
    expect(tally, alloc->held[part].bytes == tally->held[part], "held = pending blocks");
    for (int group = 0; group < VS_ALLOC_GROUPS; group++) {
      if (group == VS_ALLOC_ACTIVE || group == VS_ALLOC_ACTIVE_BYTES) continue; /* not kept */
      expect(tally, figures->current[group] == tally->figures[part][group],
             "statistics = sums over all blocks");
      expect(tally, figures->peak[group] >= figures->current[group], "peak >= current");
    }
  }
  expect(tally, alloc->held[VS_ALLOC_ALL].blocks == (int64_t)tally->pending_blocks, "held = pending blocks");
  expect(tally,
         alloc->held[VS_ALLOC_ALL].blocks ==
             alloc->held[VS_ALLOC_SMALL].blocks + alloc->held[VS_ALLOC_LARGE].blocks,
         "held = its parts");
  expect(tally, tally->pending_blocks == 0 || alloc->waiting > 0, "pending blocks wait");
  expect(tally, tally->reserved == alloc->reserved, "reserved = all blocks with memory");
  expect(tally, tally->allocated_blocks == tally->in_table, "the table = allocated blocks");
  expect(tally, (alloc->limit == VS_ALLOC_NO_LIMIT) == (alloc->fraction >= 1),
         "a limit where there is a fraction");
  expect(tally, tally->lane_allocated == (uint64_t)tally->figures[VS_ALLOC_ALL][VS_ALLOC_ALLOCATED_BYTES],
         "allocated bytes of all lanes = allocated bytes");
  expect(tally, tally->owner_reserved == tally->private_reserved,
         "reserved bytes of private pools = their blocks with memory");
  /* While the lock is released around a call of the driver, the block of the new segment is in neither. */
  const uint64_t blocks = tally->blocks + alloc->blocks.spare_count,
                 all = alloc->blocks.slabs.count * (uint64_t)VS_ALLOC_SLAB;
  expect(tally, alloc->settings.release_lock ? blocks <= all : blocks == all,
         "every block of a slab is spare or in a segment");
  expect(tally, alloc->blocks.allocated.capacity >= all, "the table has a chain for each block");
}

/* Private pools: each has users or is freeable, and only pools that exist are freeable or lend. */
static void check_owners(recount *tally) {
  const vs_alloc *alloc = tally->alloc;
  const vs_alloc_hash_order *tables[] = {&alloc->owners, &alloc->freeable, &alloc->lenders, &alloc->queues};
  for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
    const char *broken = vs_alloc_hash_order_check(tables[i]);
    expect(tally, broken == NULL, broken);
  }
  uint32_t freeable = 0, lenders = 0;
  for (uint32_t at = vs_alloc_hash_order_next(&alloc->owners, 0); at != UINT32_MAX;
       at = vs_alloc_hash_order_next(&alloc->owners, at + 1)) {
    const vs_alloc_owner *owner = alloc->owners.slots[at].value;
    const uint64_t key = vs_alloc_owner_key(owner->id);
    tally->owner_reserved += owner->reserved;
    expect(tally, alloc->owners.slots[at].key == key, "a private pool is under its own key");
    expect(tally, (owner->users == 0) == (vs_alloc_hash_order_find(&alloc->freeable, key) == owner),
           "a private pool without users is freeable");
    freeable += owner->users == 0;
    lenders += vs_alloc_hash_order_find(&alloc->lenders, key) == owner;
  }
  expect(tally, freeable == alloc->freeable.count, "freeable pools exist");
  expect(tally, lenders == alloc->lenders.count, "pools that lend exist");
}

/* Extents: handles are those of the pages that blocks with memory cover. */
static void check_extents(recount *tally) {
  const vs_alloc_extent *last = NULL;
  for (const vs_alloc_extent *extent = tally->alloc->extents; extent != NULL; extent = extent->next) {
    expect(tally, extent->prev == last, "extents know each other");
    expect(tally, extent->page != 0 && extent->size % extent->page == 0, "an extent is whole pages");
    if (extent->page != 0)
      expect(tally, extent->handles.count <= extent->size / extent->page, "handles are those of pages");
    last = extent;
  }
}

const char *vs_alloc_check(vs_alloc *alloc) {
  recount tally = {.alloc = alloc};
  vs_alloc_for_each_pool(alloc, check_pool, &tally);
  if (tally.broken != NULL) return tally.broken;
  const vs_alloc_table *table = &alloc->blocks.allocated;
  const char *broken = vs_alloc_table_check(table);
  if (broken != NULL) return broken;
  for (vs_alloc_block *block = NULL; (block = vs_alloc_table_next(table, block)) != NULL; tally.in_table++)
    check_once(&tally, block);
  check_owners(&tally);
  check_extents(&tally);
  check_pending(&tally);
  check_pending_chains(&tally);
  check_figures(&tally);
  return tally.broken;
}
