/* Segments and blocks in the form of a snapshot. */
#include "alloc/pools.h"

#include "base/sort.h"

typedef struct head_list {
  vs_alloc *alloc;
  vs_pool_id pool;
  bool all_pools;
  vs_status status;
  VS_VEC(vs_alloc_block *) blocks;
} head_list;

/* The first block of a segment, or of a contiguous mapped run of one. */
static bool is_head(const vs_alloc_block *block) {
  return block->prev == NULL || block->prev->place == VS_PLACE_UNMAPPED;
}

static void take_head(head_list *heads, vs_alloc_block *block) {
  if (heads->status != VS_OK || !is_head(block)) return;
  if (!heads->all_pools && !vs_pool_id_equal(vs_alloc_pool_id(block->lane->pool), heads->pool)) return;
  /* As in PyTorch, a visit of one pool begins at the first block of an extent, so it leaves out runs after an
   * unmapped one. */
  if (!heads->all_pools && block->prev != NULL) return;
  heads->status = vs_vec_reserve(heads->alloc->host, &heads->blocks, 1);
  if (heads->status == VS_OK) heads->blocks.data[heads->blocks.count++] = block;
}

static void take_free_heads(void *ctx, vs_alloc_pool *pool) {
  head_list *found = ctx;
  for (size_t i = 0; i < pool->lanes.count; i++) {
    const vs_alloc_lane *lane = pool->lanes.data[i];
    for (vs_alloc_block *block = vs_alloc_lane_first(lane); block != NULL;
         block = vs_alloc_lane_after(lane, block))
      take_head(found, block);
  }
}

static void take_pending_heads(head_list *heads) {
  const vs_alloc *alloc = heads->alloc;
  for (uint32_t at = vs_alloc_hash_order_next(&alloc->queues, 0); at != UINT32_MAX;
       at = vs_alloc_hash_order_next(&alloc->queues, at + 1)) {
    const vs_alloc_queue *queue = alloc->queues.slots[at].value;
    for (const vs_alloc_use *use = queue->first; use != NULL; use = use->next) take_head(heads, use->block);
  }
  for (size_t i = 0; i < alloc->deferred.count; i++) take_head(heads, alloc->deferred.data[i].block);
}

static void heads_find(vs_alloc *alloc, head_list *heads) {
  for (vs_alloc_block *block = NULL; (block = vs_alloc_table_next(&alloc->blocks.allocated, block)) != NULL;)
    take_head(heads, block);
  vs_alloc_for_each_pool(alloc, take_free_heads, heads);
  take_pending_heads(heads);
}

/* ---- one segment --------------------------------------------------------------------------------------------- */

static vs_alloc_block_info describe(const vs_alloc_block *block) {
  static const vs_alloc_block_state states[] = {
      [VS_PLACE_ALLOCATED] = VS_ALLOC_BLOCK_ALLOCATED,
      [VS_PLACE_PENDING] = VS_ALLOC_BLOCK_PENDING,
      [VS_PLACE_FREE] = VS_ALLOC_BLOCK_FREE,
      [VS_PLACE_UNMAPPED] = VS_ALLOC_BLOCK_FREE,
  };
  return (vs_alloc_block_info){.address = block->address,
                               .size = block->size,
                               .requested = block->requested,
                               .state = states[block->place],
                               .context = block->context};
}

/* The next block of the same segment in a snapshot; NULL at its end. */
static const vs_alloc_block *next_mapped(const vs_alloc_block *block) {
  return block->next != NULL && block->next->place != VS_PLACE_UNMAPPED ? block->next : NULL;
}

static vs_status visit_segment(const vs_alloc_block *head, const vs_alloc_visitor *visitor) {
  vs_alloc_segment_info segment = {
      .address = head->address,
      .stream = head->lane->stream,
      .pool = vs_alloc_pool_id(head->lane->pool),
      .is_small = head->lane->pool->is_small,
      .is_expandable = head->extent != NULL,
      .context = head->segment_context,
      .registration = (int32_t)head->registration,
  };
  for (const vs_alloc_block *block = head; block != NULL; block = next_mapped(block)) {
    segment.size += block->size;
    if (block->place == VS_PLACE_ALLOCATED) segment.allocated += block->size;
    /* Pending blocks count as active. */
    if (block->place != VS_PLACE_FREE) {
      segment.active += block->size;
      segment.requested += block->requested;
    }
  }
  VS_ASSERT(segment.allocated <= segment.active && segment.active <= segment.size);
  VS_TRY(visitor->segment(visitor->ctx, &segment));
  for (const vs_alloc_block *block = head; block != NULL; block = next_mapped(block)) {
    const vs_alloc_block_info info = describe(block);
    VS_TRY(visitor->block(visitor->ctx, &info));
  }
  return VS_OK;
}

static vs_status visit_sorted(head_list *heads, vs_sort_pair *pairs, const vs_alloc_visitor *visitor) {
  const size_t count = heads->blocks.count;
  for (size_t i = 0; i < count; i++) pairs[i] = (vs_sort_pair){heads->blocks.data[i]->address, (uint32_t)i};
  VS_TRY(vs_sort_pairs(heads->alloc->host, pairs, count));
  for (size_t i = 0; i < count; i++) {
    if (i > 0 && pairs[i].key == pairs[i - 1].key) continue; /* found in several queues */
    VS_TRY(visit_segment(heads->blocks.data[pairs[i].value], visitor));
  }
  return VS_OK;
}

vs_status vs_alloc_visit(vs_alloc *alloc, vs_pool_id pool, const vs_alloc_visitor *visitor) {
  head_list heads = {.alloc = alloc, .pool = pool, .all_pools = vs_pool_id_is_default(pool)};
  heads_find(alloc, &heads);
  vs_status status = heads.status;
  if (status == VS_OK && heads.blocks.count > 0) {
    const size_t bytes = heads.blocks.count * sizeof(vs_sort_pair);
    vs_sort_pair *pairs = vs_host_alloc(alloc->host, bytes);
    status = pairs == NULL ? VS_NO_MEMORY : visit_sorted(&heads, pairs, visitor);
    vs_host_free(alloc->host, pairs, bytes);
  }
  vs_vec_free(alloc->host, &heads.blocks);
  return status;
}

static vs_status add_active(void *ctx, const vs_alloc_segment_info *segment) {
  uint64_t *sum = ctx;
  *sum += segment->active;
  return VS_OK;
}

static vs_status skip_block(void *ctx, const vs_alloc_block_info *block) {
  (void)ctx;
  (void)block;
  return VS_OK;
}

void vs_alloc_mark_snapshot(vs_alloc *alloc, vs_pool_id pool) {
  if (alloc->observer.event == NULL) return;
  uint64_t active = (uint64_t)(alloc->statistics.part[VS_ALLOC_ALL].current[VS_ALLOC_ALLOCATED_BYTES] +
                               alloc->held[VS_ALLOC_ALL].bytes);
  if (!vs_pool_id_is_default(pool)) {
    active = 0;
    const vs_alloc_visitor visitor = {&active, add_active, skip_block};
    if (vs_alloc_visit(alloc, pool, &visitor) != VS_OK)
      active = 0; /* without host memory the event has no sum */
  }
  const vs_event event = {
      .size = active,
      .pool = pool,
      .context = VS_CONTEXT_NONE,
      .kind = VS_EVENT_SNAPSHOT,
  };
  alloc->observer.event(alloc->observer.ctx, &event);
}

/* ---- single blocks and streams ----------------------------------------------------------------------------------- */

bool vs_alloc_find(const vs_alloc *alloc, uint64_t address, vs_alloc_block_info *block) {
  const vs_alloc_block *found = vs_alloc_table_find(&alloc->blocks.allocated, address);
  if (found != NULL) *block = describe(found);
  return found != NULL;
}

vs_status vs_alloc_base(const vs_alloc *alloc, uint64_t address, uint64_t *base, uint64_t *size) {
  const vs_alloc_block *block = vs_alloc_table_find(&alloc->blocks.allocated, address);
  if (block == NULL) return VS_NOT_FOUND;
  while (!is_head(block)) block = block->prev;
  *base = block->address;
  *size = 0;
  for (; block != NULL; block = next_mapped(block)) *size += block->size;
  return VS_OK;
}

typedef struct stream_visit {
  void (*visit)(void *ctx, const vs_alloc_stream_figures *figures);
  void *ctx;
} stream_visit;

static void visit_lanes(void *ctx, vs_alloc_pool *pool) {
  const stream_visit *visit = ctx;
  for (size_t i = 0; i < pool->lanes.count; i++) {
    const vs_alloc_lane *lane = pool->lanes.data[i];
    vs_alloc_stream_figures figures = {
        .stream = lane->stream,
        .pool = vs_alloc_pool_id(pool),
        .is_small = pool->is_small,
        .allocated_bytes = lane->allocated_bytes,
        .allocated_peak = lane->allocated_peak,
    };
    vs_alloc_lane_sum(lane, &figures.free_blocks, &figures.free_bytes);
    visit->visit(visit->ctx, &figures);
  }
}

void vs_alloc_visit_streams(const vs_alloc *alloc,
                            void (*visit)(void *ctx, const vs_alloc_stream_figures *figures), void *ctx) {
  stream_visit all = {visit, ctx};
  vs_alloc_for_each_pool(alloc, visit_lanes, &all);
}
