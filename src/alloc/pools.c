/* The lanes of pools, private pools, and the routes that lead requests to them. */
#include "alloc/pools.h"
#include "alloc/pending.h"

/* ---- lanes ------------------------------------------------------------------------------------------------- */

vs_alloc_lane *vs_alloc_lane_of_slow(vs_alloc *alloc, vs_alloc_pool *pool, uint64_t stream) {
  size_t at = 0;
  while (at < pool->lanes.count && pool->lanes.data[at]->stream < stream) at++;
  if (at == pool->lanes.count || pool->lanes.data[at]->stream != stream) {
    if (vs_vec_reserve(alloc->host, &pool->lanes, 1) != VS_OK) return NULL;
    vs_alloc_lane *made = vs_host_alloc(alloc->host, sizeof *made);
    if (made == NULL) return NULL;
    *made = (vs_alloc_lane){.stream = stream, .pool = pool};
    memmove(&pool->lanes.data[at + 1], &pool->lanes.data[at],
            (pool->lanes.count - at) * sizeof *pool->lanes.data);
    pool->lanes.data[at] = made;
    pool->lanes.count++;
  }
  VS_ASSERT(pool->lanes.data[at]->stream == stream && pool->lanes.data[at]->pool == pool);
  return pool->recent[vs_alloc_recent_of(stream)] = pool->lanes.data[at];
}

void vs_alloc_pool_deinit(vs_alloc *alloc, vs_alloc_pool *pool) {
  for (size_t i = 0; i < pool->lanes.count; i++) {
    /* As in PyTorch, an extent without pages keeps its addresses when its private pool is destroyed; its block is
     * spare. */
    for (vs_alloc_block *block = pool->lanes.data[i]->unmapped, *next; block != NULL; block = next) {
      next = block->right;
      vs_alloc_blocks_give(&alloc->blocks, block);
    }
    vs_alloc_lane_deinit(alloc->host, pool->lanes.data[i]);
    vs_host_free(alloc->host, pool->lanes.data[i], sizeof *pool->lanes.data[i]);
  }
  vs_vec_free(alloc->host, &pool->lanes);
}

/* ---- private pools ------------------------------------------------------------------------------------------- */

vs_alloc_owner *vs_alloc_owner_find(const vs_alloc *alloc, vs_pool_id id) {
  vs_alloc_owner *owner = vs_alloc_hash_order_find(&alloc->owners, vs_alloc_owner_key(id));
  return owner != NULL && vs_pool_id_equal(owner->id, id) ? owner : NULL;
}

static vs_status owner_create(vs_alloc *alloc, vs_pool_id id, vs_alloc_owner **out) {
  vs_alloc_owner *owner = vs_host_alloc(alloc->host, sizeof *owner);
  if (owner == NULL) return VS_NO_MEMORY;
  *owner = (vs_alloc_owner){
      .id = id,
      .small = {.is_small = true, .part = VS_ALLOC_SMALL, .figures = alloc->small.figures, .owner = owner},
      .large = {.part = VS_ALLOC_LARGE, .figures = alloc->large.figures, .owner = owner},
  };
  const vs_status status =
      vs_alloc_hash_order_add(alloc->host, &alloc->owners, vs_alloc_owner_key(id), owner);
  if (status != VS_OK) vs_host_free(alloc->host, owner, sizeof *owner);
  *out = owner;
  return status;
}

void vs_alloc_owner_destroy(vs_alloc *alloc, vs_alloc_owner *owner) {
  const uint64_t key = vs_alloc_owner_key(owner->id);
  VS_ASSERT(owner->users == 0 && owner->reserved == 0);
  vs_alloc_hash_order_remove(&alloc->owners, key);
  if (vs_alloc_hash_order_find(&alloc->lenders, key) != NULL)
    vs_alloc_hash_order_remove(&alloc->lenders, key);
  vs_alloc_pool_deinit(alloc, &owner->small);
  vs_alloc_pool_deinit(alloc, &owner->large);
  vs_host_free(alloc->host, owner, sizeof *owner);
}

/* The index of `id` in the figures of private pools, which are sorted by id. */
static size_t private_place(const vs_alloc *alloc, vs_pool_id id) {
  size_t at = 0;
  while (at < alloc->privates.count &&
         (alloc->privates.data[at].id.a < id.a ||
          (alloc->privates.data[at].id.a == id.a && alloc->privates.data[at].id.b < id.b)))
    at++;
  return at;
}

/* Room was reserved when the pool was created. */
vs_alloc_private *vs_alloc_private_find(vs_alloc *alloc, vs_pool_id id) {
  const size_t at = private_place(alloc, id);
  if (at < alloc->privates.count && vs_pool_id_equal(alloc->privates.data[at].id, id))
    return &alloc->privates.data[at];
  VS_ASSERT(alloc->privates.count < alloc->privates.capacity);
  memmove(&alloc->privates.data[at + 1], &alloc->privates.data[at],
          (alloc->privates.count - at) * sizeof *alloc->privates.data);
  alloc->privates.data[at] = (vs_alloc_private){.id = id};
  alloc->privates.count++;
  return &alloc->privates.data[at];
}

vs_status vs_alloc_pool_retain(vs_alloc *alloc, vs_pool_id pool, const vs_alloc_source *source) {
  if (vs_pool_id_is_default(pool)) return VS_BAD_ARGUMENT;
  vs_alloc_owner *owner = vs_alloc_owner_find(alloc, pool);
  if (owner != NULL && source != NULL) return VS_BAD_ARGUMENT;
  if (owner == NULL) {
    if (vs_alloc_hash_order_find(&alloc->owners, vs_alloc_owner_key(pool)) != NULL) return VS_UNSUPPORTED;
    VS_TRY(vs_vec_reserve(alloc->host, &alloc->privates, alloc->owners.count + 1));
    VS_TRY(owner_create(alloc, pool, &owner));
    if (source != NULL) owner->source = *source;
  } else if (owner->users == 0) {
    vs_alloc_hash_order_remove(&alloc->freeable, vs_alloc_owner_key(pool));
  }
  owner->users++;
  return VS_OK;
}

vs_status vs_alloc_pool_release(vs_alloc *alloc, vs_pool_id pool) {
  vs_alloc_owner *owner = vs_alloc_owner_find(alloc, pool);
  if (owner == NULL || owner->users == 0) return VS_NOT_FOUND;
  if (owner->users == 1)
    VS_TRY(vs_alloc_hash_order_add(alloc->host, &alloc->freeable, vs_alloc_owner_key(pool), owner));
  owner->users--;
  return VS_OK;
}

uint64_t vs_alloc_pool_users(const vs_alloc *alloc, vs_pool_id pool) {
  const vs_alloc_owner *owner = vs_alloc_owner_find(alloc, pool);
  return owner == NULL ? 0 : owner->users;
}

vs_status vs_alloc_pool_use_on_oom(vs_alloc *alloc, vs_pool_id pool, bool on) {
  vs_alloc_owner *owner = vs_alloc_owner_find(alloc, pool);
  if (owner == NULL) return VS_OK;
  const uint64_t key = vs_alloc_owner_key(pool);
  const bool is_there = vs_alloc_hash_order_find(&alloc->lenders, key) != NULL;
  if (on && !is_there) return vs_alloc_hash_order_add(alloc->host, &alloc->lenders, key, owner);
  if (!on && is_there) vs_alloc_hash_order_remove(&alloc->lenders, key);
  return VS_OK;
}

vs_status vs_alloc_pool_no_split(vs_alloc *alloc, vs_pool_id pool) {
  vs_alloc_owner *owner = vs_alloc_owner_find(alloc, pool);
  if (owner == NULL) return VS_NOT_FOUND;
  owner->no_split = true;
  return VS_OK;
}

vs_status vs_alloc_private_pools(vs_alloc *alloc, const vs_alloc_private **pools, uint64_t *count) {
  *pools = alloc->privates.data;
  *count = alloc->privates.count;
  return VS_OK;
}

void vs_alloc_for_each_pool(const vs_alloc *alloc, void (*visit)(void *ctx, vs_alloc_pool *pool), void *ctx) {
  visit(ctx, (vs_alloc_pool *)&alloc->small);
  visit(ctx, (vs_alloc_pool *)&alloc->large);
  for (uint32_t at = vs_alloc_hash_order_next(&alloc->owners, 0); at != UINT32_MAX;
       at = vs_alloc_hash_order_next(&alloc->owners, at + 1)) {
    vs_alloc_owner *owner = alloc->owners.slots[at].value;
    visit(ctx, &owner->small);
    visit(ctx, &owner->large);
  }
}

/* ---- reserved bytes ----------------------------------------------------------------------------------- */

void vs_alloc_reserved_add(vs_alloc *alloc, vs_alloc_pool *pool, uint64_t bytes) {
  alloc->reserved += bytes;
  vs_alloc_increase(alloc, pool, VS_ALLOC_RESERVED_BYTES, bytes);
  alloc->statistics.num_device_alloc++;
  if (pool->owner == NULL) return;
  pool->owner->reserved += bytes;
  vs_alloc_private *figures = vs_alloc_private_find(alloc, pool->owner->id);
  vs_alloc_stat_increase(&figures->reserved[VS_ALLOC_ALL], (int64_t)bytes);
  vs_alloc_stat_increase(&figures->reserved[pool->part], (int64_t)bytes);
}

void vs_alloc_reserved_take(vs_alloc *alloc, vs_alloc_pool *pool, uint64_t bytes) {
  VS_ASSERT(alloc->reserved >= bytes && (pool->owner == NULL || pool->owner->reserved >= bytes));
  alloc->reserved -= bytes;
  vs_alloc_decrease(alloc, pool, VS_ALLOC_RESERVED_BYTES, bytes);
  if (pool->owner == NULL) return;
  pool->owner->reserved -= bytes;
  if (pool->owner->calls > 0) pool->owner->calls--;
  vs_alloc_private *figures = vs_alloc_private_find(alloc, pool->owner->id);
  vs_alloc_stat_decrease(&figures->reserved[VS_ALLOC_ALL], (int64_t)bytes);
  vs_alloc_stat_decrease(&figures->reserved[pool->part], (int64_t)bytes);
}

/* ---- routes -------------------------------------------------------------------------------------------------------- */

vs_status vs_alloc_route_begin(vs_alloc *alloc, vs_pool_id pool, bool (*filter)(void *ctx, uint64_t stream),
                               void *ctx) {
  for (size_t i = 0; i < alloc->routes.count; i++)
    if (vs_pool_id_equal(alloc->routes.data[i].pool, pool)) return VS_BAD_ARGUMENT;
  VS_TRY(vs_vec_reserve(alloc->host, &alloc->routes, 1));
  VS_TRY(vs_alloc_pool_retain(alloc, pool, NULL));
  alloc->routes.data[alloc->routes.count++] = (vs_alloc_route){pool, filter, ctx};
  return VS_OK;
}

vs_status vs_alloc_route_end(vs_alloc *alloc, vs_pool_id pool, vs_context context) {
  for (size_t i = 0; i < alloc->routes.count; i++) {
    if (!vs_pool_id_equal(alloc->routes.data[i].pool, pool)) continue;
    alloc->routes.count--;
    memmove(&alloc->routes.data[i], &alloc->routes.data[i + 1],
            (alloc->routes.count - i) * sizeof *alloc->routes.data);
    return alloc->settings.capture_reuse ? vs_alloc_deferred_finish(alloc, &pool, context) : VS_OK;
  }
  return VS_NOT_FOUND;
}

void vs_alloc_capture_begin(vs_alloc *alloc) { alloc->captures++; }

void vs_alloc_capture_end(vs_alloc *alloc) {
  if (alloc->captures > 0) alloc->captures--;
}

vs_alloc_pool *vs_alloc_routed_pool(vs_alloc *alloc, uint64_t rounded, uint64_t stream) {
  for (size_t i = alloc->routes.count; i-- > 0;) {
    const vs_alloc_route *route = &alloc->routes.data[i];
    if (!route->filter(route->ctx, stream)) continue;
    vs_alloc_owner *owner = vs_alloc_owner_find(alloc, route->pool);
    if (owner != NULL) return rounded <= VS_ALLOC_SMALL_SIZE ? &owner->small : &owner->large;
  }
  return NULL;
}
