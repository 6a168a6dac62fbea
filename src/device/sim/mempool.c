#include "device/sim/memory_internal.h"

/* The slots: first the default pools, then the graph pools, then the pools that programs create. */
enum { FIRST_GRAPH_POOL = VS_SIM_MAX_DEVICES, FIRST_MADE_POOL = 2 * VS_SIM_MAX_DEVICES };

enum {
  REUSE_ALL = 1 << VS_SIM_POOL_REUSE_FOLLOW_EVENTS | 1 << VS_SIM_POOL_REUSE_OPPORTUNISTIC |
              1 << VS_SIM_POOL_REUSE_INTERNAL
};

static uint64_t handle_of(uint32_t index) { return VS_SIM_POOL_HANDLES + UINT64_C(256) * index; }

static vs_sim_pool *pool_at(const vs_sim *sim, uint32_t index) { return &sim->memory.pools.data[index]; }

/* The pool of a handle, dying or not; NULL if there is none. */
static vs_sim_pool *pool_of(const vs_sim *sim, uint64_t handle) {
  const uint64_t at = (handle - VS_SIM_POOL_HANDLES) / 256;
  if (handle < VS_SIM_POOL_HANDLES || handle % 256 != 0 || at >= sim->memory.pools.count) return NULL;
  vs_sim_pool *pool = pool_at(sim, (uint32_t)at);
  return pool->is_there ? pool : NULL;
}

/* The same, without destroyed pools. */
static vs_sim_pool *usable(const vs_sim *sim, uint64_t handle) {
  vs_sim_pool *pool = pool_of(sim, handle);
  return pool != NULL && !pool->is_dying ? pool : NULL;
}

const vs_sim_pool *vs_sim_pool_find(const vs_sim *sim, uint64_t pool) { return usable(sim, pool); }

/* ---- create and destroy -------------------------------------------------------------------------------- */

static vs_sim_pool fresh_pool(uint32_t device, uint64_t most_bytes) {
  VS_ASSERT(device < VS_SIM_MAX_DEVICES);
  const uint8_t own = (uint8_t)(1u << device);
  return (vs_sim_pool){.is_there = true,
                       .device = device,
                       .reuse = REUSE_ALL,
                       .readable = own,
                       .writable = own,
                       .most_bytes = most_bytes};
}

vs_sim_error vs_sim_pools_init(vs_sim *sim) {
  struct vs_sim_memory *m = &sim->memory;
  VS_SIM_TRY(vs_sim_from_status(vs_vec_reserve(sim->host, &m->pools, FIRST_MADE_POOL)));
  memset(m->pools.data, 0, FIRST_MADE_POOL * sizeof *m->pools.data);
  m->pools.count = FIRST_MADE_POOL;
  for (uint32_t d = 0; d < sim->device_count; d++) {
    *pool_at(sim, d) = fresh_pool(d, 0);
    *pool_at(sim, FIRST_GRAPH_POOL + d) = fresh_pool(d, 0);
    m->current_pools[d] = handle_of(d);
  }
  return VS_SIM_OK;
}

static void forget(vs_sim *sim, vs_sim_pool *pool) {
  vs_ordmap_deinit(sim->host, &pool->chunks);
  vs_sim_free_set_deinit(sim->host, &pool->free_set);
}

void vs_sim_pools_deinit(vs_sim *sim) {
  for (uint32_t i = 0; i < sim->memory.pools.count; i++) forget(sim, pool_at(sim, i));
  vs_vec_free(sim->host, &sim->memory.pools);
}

uint64_t vs_sim_pool_default(const vs_sim *sim, uint32_t device) {
  return device < sim->device_count ? handle_of(device) : 0;
}
uint64_t vs_sim_pool_graph(const vs_sim *sim, uint32_t device) {
  return device < sim->device_count ? handle_of(FIRST_GRAPH_POOL + device) : 0;
}
uint64_t vs_sim_pool_current(const vs_sim *sim, uint32_t device) {
  return device < sim->device_count ? sim->memory.current_pools[device] : 0;
}

vs_sim_error vs_sim_pool_make_current(vs_sim *sim, uint32_t device, uint64_t pool) {
  if (device >= sim->device_count) return VS_SIM_INVALID_DEVICE;
  const vs_sim_pool *p = usable(sim, pool);
  if (p == NULL || p->device != device) return VS_SIM_INVALID_VALUE;
  sim->memory.current_pools[device] = pool;
  return VS_SIM_OK;
}

vs_sim_error vs_sim_pool_create(vs_sim *sim, uint32_t device, uint64_t most_bytes, uint64_t *pool) {
  struct vs_sim_memory *m = &sim->memory;
  VS_SIM_TRY(vs_sim_fault_step(sim, VS_SIM_FAULT_POOL_CREATE));
  VS_SIM_TRY(vs_sim_context_use(sim, device));
  uint32_t index = m->spare_pool;
  if (index == VS_SIM_NO_INDEX) {
    if (m->pools.count >= VS_SIM_NO_INDEX) return VS_SIM_OUT_OF_MEMORY;
    VS_SIM_TRY(vs_sim_from_status(vs_vec_reserve(sim->host, &m->pools, 1)));
    index = (uint32_t)m->pools.count++;
  } else {
    m->spare_pool = pool_at(sim, index)->next;
  }
  *pool_at(sim, index) = fresh_pool(device, most_bytes);
  *pool = handle_of(index);
  return VS_SIM_OK;
}

/* ---- chunks -------------------------------------------------------------------------------------------- */

static vs_sim_span span_of(const vs_sim_range *chunk) { return (vs_sim_span){chunk->base, chunk->size}; }

static void drop_chunk(vs_sim *sim, vs_sim_pool *pool, vs_ordmap_pos pos) {
  const vs_sim_range chunk = *vs_sim_range_of(sim, &pool->chunks, pos);
  VS_ASSERT(chunk.uses == 0 && pool->reserved >= chunk.size && pool->idle >= chunk.size);
  vs_sim_free_set_cut(&pool->free_set, chunk.base, chunk.size);
  vs_sim_range_remove(sim, &pool->chunks, chunk.base);
  vs_sim_granules_give(sim, chunk.device, chunk.base, chunk.size);
  vs_sim_pay_back(sim, chunk.device, chunk.account, chunk.size);
  pool->reserved -= chunk.size;
  pool->idle -= chunk.size;
}

/* Releases empty chunks, from the highest address down, as long as at least `keep` bytes stay reserved. */
static void trim(vs_sim *sim, vs_sim_pool *pool, uint64_t keep) {
  vs_ordmap_pos pos;
  uint64_t below = UINT64_MAX;
  while (pool->idle > 0 && pool->reserved > keep && vs_ordmap_floor(&pool->chunks, below, &pos)) {
    const vs_sim_range *chunk = vs_sim_range_of(sim, &pool->chunks, pos);
    below = chunk->base - 1;
    if (chunk->uses == 0 && pool->reserved - keep >= chunk->size) drop_chunk(sim, pool, pos);
  }
}

static void end_pool(vs_sim *sim, vs_sim_pool *pool) {
  VS_ASSERT(pool->is_there && pool->pieces == 0);
  trim(sim, pool, 0);
  forget(sim, pool);
  *pool = (vs_sim_pool){.next = sim->memory.spare_pool};
  sim->memory.spare_pool = (uint32_t)(pool - sim->memory.pools.data);
}

vs_sim_error vs_sim_pool_destroy(vs_sim *sim, uint64_t pool) {
  vs_sim_pool *p = usable(sim, pool);
  if (p == NULL || pool < handle_of(FIRST_MADE_POOL)) return VS_SIM_INVALID_VALUE;
  if (sim->memory.current_pools[p->device] == pool)
    sim->memory.current_pools[p->device] = handle_of(p->device);
  p->is_dying = true;
  if (p->pieces == 0) end_pool(sim, p);
  return VS_SIM_OK;
}

void vs_sim_pools_synchronize(vs_sim *sim, uint32_t device) {
  for (uint32_t i = 0; i < sim->memory.pools.count; i++) {
    vs_sim_pool *pool = pool_at(sim, i);
    if (pool->is_there && pool->device == device && pool->idle > 0)
      trim(sim, pool, pool->is_dying ? 0 : pool->release_threshold);
  }
}

vs_sim_error vs_sim_pool_trim(vs_sim *sim, uint64_t pool, uint64_t keep_bytes) {
  vs_sim_pool *p = usable(sim, pool);
  if (p == NULL) return VS_SIM_INVALID_VALUE;
  trim(sim, p, keep_bytes);
  return VS_SIM_OK;
}

/* Memory of a graph is not for the library that launches it. */
static uint32_t account_of(const vs_sim *sim, const vs_sim_pool *pool) {
  const size_t index = (size_t)(pool - sim->memory.pools.data);
  return index >= FIRST_GRAPH_POOL && index < FIRST_MADE_POOL ? VS_SIM_ACCOUNT_GRAPHS : sim->account;
}

/* Adds a chunk whose bytes are already charged; if it fails, it releases them. */
static vs_sim_error enter_chunk(vs_sim *sim, vs_sim_pool *pool, uint64_t handle, uint64_t base,
                                uint64_t bytes) {
  const vs_sim_range chunk = {.base = base,
                              .size = bytes,
                              .owner = handle,
                              .device = pool->device,
                              .kind = VS_SIM_RANGE_CHUNK,
                              .account = (uint8_t)account_of(sim, pool)};
  uint32_t index;
  const vs_sim_error error = vs_sim_range_add(sim, &pool->chunks, &chunk, &index);
  if (error != VS_SIM_OK) {
    vs_sim_pay_back(sim, pool->device, chunk.account, bytes);
    return error;
  }
  vs_sim_granules_cut(sim, pool->device, base, bytes);
  (void)vs_sim_free_set_put(&pool->free_set, span_of(&chunk), span_of(&chunk));
  pool->reserved += bytes;
  pool->reserved_high = vs_max_u64(pool->reserved_high, pool->reserved);
  pool->idle += bytes;
  return VS_SIM_OK;
}

/* A chunk with n blocks has at most n + 1 free ranges; one chunk and one block are about to be added. */
static vs_sim_error make_room(vs_sim *sim, vs_sim_pool *pool) {
  const uint64_t most = pool->pieces + pool->chunks.count + 2;
  return vs_sim_from_status(vs_sim_free_set_reserve(sim->host, &pool->free_set, most));
}

static bool may_hold(const vs_sim_pool *pool, uint64_t bytes) {
  return pool->most_bytes == 0 || (bytes <= pool->most_bytes && pool->reserved <= pool->most_bytes - bytes);
}

/* Adds a chunk of `bytes`. *is_full: the card has no such memory, or the pool may not hold more. */
static vs_sim_error try_chunk(vs_sim *sim, vs_sim_pool *pool, uint64_t handle, uint64_t bytes,
                              bool *is_full) {
  uint64_t base;
  *is_full = true;
  if (!may_hold(pool, bytes)) return VS_SIM_OK;
  VS_SIM_TRY(vs_sim_granules_find(sim, pool->device, bytes, &base));
  *is_full = !vs_sim_pay_quietly(sim, pool->device, account_of(sim, pool), bytes);
  return *is_full ? VS_SIM_OK : enter_chunk(sim, pool, handle, base, bytes);
}

/* Adds a chunk of the usual size, else one of the least size, else tries both again after all pools of the device have
 * released their empty chunks. */
static vs_sim_error grow(vs_sim *sim, vs_sim_pool *pool, uint64_t handle, uint64_t bytes) {
  const uint64_t sizes[] = {vs_sim_round_up(bytes, VS_SIM_POOL_CHUNK),
                            vs_sim_round_up(bytes, VS_SIM_GRANULE)};
  bool is_full = true;
  for (int round = 0; round < 2; round++) {
    for (size_t i = 0; i < 2; i++) {
      VS_SIM_TRY(try_chunk(sim, pool, handle, sizes[i], &is_full));
      if (!is_full) return VS_SIM_OK;
    }
    for (uint32_t i = 0; i < sim->memory.pools.count; i++)
      if (pool_at(sim, i)->is_there && pool_at(sim, i)->device == pool->device) trim(sim, pool_at(sim, i), 0);
  }
  if (!may_hold(pool, sizes[1])) return VS_SIM_OUT_OF_MEMORY;
  uint64_t base;
  VS_SIM_TRY(vs_sim_granules_find(sim, pool->device, sizes[1], &base));
  /* The refusal that counts. It can still succeed if another process has just released memory. */
  VS_SIM_TRY(vs_sim_pay(sim, pool->device, account_of(sim, pool), sizes[1]));
  return enter_chunk(sim, pool, handle, base, sizes[1]);
}

/* ---- blocks -------------------------------------------------------------------------------------------- */

static uint64_t piece_bytes(uint64_t size) { return vs_sim_round_up(size, VS_SIM_SMALL_UNIT); }

static void use_piece(vs_sim *sim, vs_sim_pool *pool, uint64_t base, uint64_t bytes) {
  vs_sim_range *chunk = vs_sim_range_with(sim, &pool->chunks, base);
  VS_ASSERT(chunk != NULL && base + bytes <= chunk->base + chunk->size);
  if (chunk->uses++ == 0) pool->idle -= chunk->size;
  vs_sim_free_set_cut(&pool->free_set, base, bytes);
  pool->pieces++;
  pool->used += bytes;
  pool->used_high = vs_max_u64(pool->used_high, pool->used);
}

vs_sim_error vs_sim_pool_alloc(vs_sim *sim, uint64_t pool, uint64_t size, uint64_t *address) {
  VS_SIM_TRY(vs_sim_fault_step(sim, VS_SIM_FAULT_POOL));
  vs_sim_pool *p = usable(sim, pool);
  if (p == NULL || size == 0) return VS_SIM_INVALID_VALUE;
  VS_SIM_TRY(vs_sim_context_use(sim, p->device));
  if (size > VS_SIM_MOST_TOTAL) return vs_sim_refuse(sim, p->device, size);
  const uint64_t bytes = piece_bytes(size);
  vs_sim_range range = {.size = size, .owner = pool, .device = p->device, .kind = VS_SIM_RANGE_POOL};
  uint32_t index;
  VS_SIM_TRY(make_room(sim, p));
  if (!vs_sim_free_set_first(&p->free_set, bytes, 1, &range.base)) {
    VS_SIM_TRY(grow(sim, p, pool, bytes));
    if (!vs_sim_free_set_first(&p->free_set, bytes, 1, &range.base)) return VS_SIM_OUT_OF_MEMORY;
  }
  VS_SIM_TRY(vs_sim_range_add(sim, &sim->memory.by_base, &range, &index));
  use_piece(sim, p, range.base, bytes);
  *address = range.base;
  return VS_SIM_OK;
}

static void free_piece(vs_sim *sim, vs_sim_pool *pool, const vs_sim_range *piece) {
  const uint64_t base = piece->base, bytes = piece_bytes(piece->size);
  vs_sim_range *chunk = vs_sim_range_with(sim, &pool->chunks, base);
  VS_ASSERT(chunk != NULL && chunk->uses > 0 && pool->pieces > 0 && pool->used >= bytes);
  (void)vs_sim_free_set_put(&pool->free_set, (vs_sim_span){base, bytes}, span_of(chunk));
  if (--chunk->uses == 0) pool->idle += chunk->size;
  pool->pieces--;
  pool->used -= bytes;
  vs_sim_range_remove(sim, &sim->memory.by_base, base);
  if (pool->is_dying && pool->pieces == 0) end_pool(sim, pool);
}

vs_sim_error vs_sim_pool_free(vs_sim *sim, uint64_t address) {
  const vs_sim_range *piece = vs_sim_range_from(sim, &sim->memory.by_base, address);
  if (piece == NULL || piece->kind != VS_SIM_RANGE_POOL) return VS_SIM_INVALID_VALUE;
  free_piece(sim, pool_of(sim, piece->owner), piece);
  return VS_SIM_OK;
}

/* ---- attributes ---------------------------------------------------------------------------------------- */

vs_sim_error vs_sim_pool_get(const vs_sim *sim, uint64_t pool, vs_sim_pool_attribute attribute,
                             uint64_t *value) {
  const vs_sim_pool *p = usable(sim, pool);
  if (p == NULL) return VS_SIM_INVALID_VALUE;
  switch (attribute) {
    case VS_SIM_POOL_REUSE_FOLLOW_EVENTS:
    case VS_SIM_POOL_REUSE_OPPORTUNISTIC:
    case VS_SIM_POOL_REUSE_INTERNAL: *value = p->reuse >> attribute & 1; return VS_SIM_OK;
    case VS_SIM_POOL_RELEASE_THRESHOLD: *value = p->release_threshold; return VS_SIM_OK;
    case VS_SIM_POOL_RESERVED_CURRENT: *value = p->reserved; return VS_SIM_OK;
    case VS_SIM_POOL_RESERVED_HIGH: *value = p->reserved_high; return VS_SIM_OK;
    case VS_SIM_POOL_USED_CURRENT: *value = p->used; return VS_SIM_OK;
    case VS_SIM_POOL_USED_HIGH: *value = p->used_high; return VS_SIM_OK;
  }
  return VS_SIM_INVALID_VALUE;
}

vs_sim_error vs_sim_pool_set(vs_sim *sim, uint64_t pool, vs_sim_pool_attribute attribute, uint64_t value) {
  vs_sim_pool *p = usable(sim, pool);
  if (p == NULL) return VS_SIM_INVALID_VALUE;
  switch (attribute) {
    case VS_SIM_POOL_REUSE_FOLLOW_EVENTS:
    case VS_SIM_POOL_REUSE_OPPORTUNISTIC:
    case VS_SIM_POOL_REUSE_INTERNAL: {
      const uint32_t bit = UINT32_C(1) << attribute;
      p->reuse = value != 0 ? p->reuse | bit : p->reuse & ~bit;
      return VS_SIM_OK;
    }
    case VS_SIM_POOL_RELEASE_THRESHOLD: p->release_threshold = value; return VS_SIM_OK;
    case VS_SIM_POOL_RESERVED_HIGH:
    case VS_SIM_POOL_USED_HIGH:
      if (value != 0) return VS_SIM_INVALID_VALUE;
      if (attribute == VS_SIM_POOL_USED_HIGH) p->used_high = p->used;
      else p->reserved_high = p->reserved;
      return VS_SIM_OK;
    case VS_SIM_POOL_RESERVED_CURRENT:
    case VS_SIM_POOL_USED_CURRENT: break;
  }
  return VS_SIM_INVALID_VALUE;
}

vs_sim_error vs_sim_pool_access_set(vs_sim *sim, uint64_t pool, uint32_t device, vs_sim_access access) {
  vs_sim_pool *p = usable(sim, pool);
  if (device >= sim->device_count) return VS_SIM_INVALID_DEVICE;
  if (p == NULL || (device == p->device && access != VS_SIM_ACCESS_READ_WRITE)) return VS_SIM_INVALID_VALUE;
  const unsigned bit = 1u << device;
  p->readable = (uint8_t)(access != VS_SIM_ACCESS_NONE ? p->readable | bit : p->readable & ~bit);
  p->writable = (uint8_t)(access == VS_SIM_ACCESS_READ_WRITE ? p->writable | bit : p->writable & ~bit);
  return VS_SIM_OK;
}

vs_sim_error vs_sim_pool_access_get(const vs_sim *sim, uint64_t pool, uint32_t device,
                                    vs_sim_access *access) {
  const vs_sim_pool *p = usable(sim, pool);
  if (device >= sim->device_count) return VS_SIM_INVALID_DEVICE;
  if (p == NULL) return VS_SIM_INVALID_VALUE;
  *access = (p->writable >> device & 1) != 0   ? VS_SIM_ACCESS_READ_WRITE
            : (p->readable >> device & 1) != 0 ? VS_SIM_ACCESS_READ
                                               : VS_SIM_ACCESS_NONE;
  return VS_SIM_OK;
}

/* ---- reset and check ----------------------------------------------------------------------------------- */

void vs_sim_pools_reset(vs_sim *sim, uint32_t device) {
  struct vs_sim_memory *m = &sim->memory;
  if (device >= sim->device_count) return;
  for (size_t i = 0; i < m->ranges.count; i++) {
    const vs_sim_range *range = &m->ranges.data[i];
    if (range->kind == VS_SIM_RANGE_POOL && range->device == device)
      free_piece(sim, pool_of(sim, range->owner), range);
  }
  for (uint32_t i = 0; i < m->pools.count; i++) {
    vs_sim_pool *pool = pool_at(sim, i);
    if (!pool->is_there || pool->device != device) continue;
    if (i >= FIRST_MADE_POOL) {
      end_pool(sim, pool);
      continue;
    }
    trim(sim, pool, 0);
    forget(sim, pool);
    *pool = fresh_pool(device, 0);
  }
  m->current_pools[device] = handle_of(device);
}

static bool check_pool(const vs_sim *sim, const vs_sim_pool *pool) {
  const vs_ordmap *chunks = &pool->chunks;
  uint64_t reserved = 0, idle = 0, pieces = 0, end = 0, free_bytes;
  if (!vs_ordmap_check(chunks) || !vs_sim_free_set_check(&pool->free_set, &free_bytes)) return false;
  for (vs_ordmap_pos pos = vs_ordmap_begin(); !vs_ordmap_at_end(chunks, pos);
       pos = vs_ordmap_next(chunks, pos)) {
    const vs_sim_range *chunk = vs_sim_range_of(sim, chunks, pos);
    if (chunk->kind != VS_SIM_RANGE_CHUNK || chunk->device != pool->device) return false;
    if (chunk->base != vs_ordmap_key(chunks, pos) || chunk->base < end) return false;
    end = chunk->base + chunk->size;
    reserved += chunk->size;
    pieces += chunk->uses;
    if (chunk->uses == 0) idle += chunk->size;
  }
  return reserved == pool->reserved && idle == pool->idle && pieces == pool->pieces &&
         free_bytes + pool->used == reserved && pool->used <= pool->used_high &&
         pool->reserved <= pool->reserved_high;
}

bool vs_sim_pools_check(const vs_sim *sim, uint32_t device, uint64_t *charged) {
  *charged = 0;
  for (uint32_t i = 0; i < sim->memory.pools.count; i++) {
    const vs_sim_pool *pool = pool_at(sim, i);
    if (!pool->is_there || pool->device != device) continue;
    if (!check_pool(sim, pool)) return false;
    *charged += pool->reserved;
  }
  return true;
}
