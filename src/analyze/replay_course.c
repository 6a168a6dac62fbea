#include "analyze/replay_course.h"

/* Orders of completion that are told apart: a hostile file could make this take for ever. */
enum { MOST_WAITS = 256 };

/* Pending blocks wait on synthetic streams, one for each order of completion. No real handle has these values. */
#define FIRST_WAIT_STREAM UINT64_C(0xf000000000000000)

/* Pools keep their ids, which decide the order among them. (n, 0) and (0, n) cannot be told apart by the
 * allocator: the later one gets an id of its own. */
vs_status vs_replay_pools_name(vs_replay_course *r) {
  const vs_snapshot *s = r->snapshot;
  vs_map keys = {0};
  vs_status status = vs_vec_reserve(r->host, &r->pools, s->pools.count);
  for (size_t i = 0; i < s->pools.count && status == VS_OK; i++) {
    vs_pool_id id = s->pools.data[i];
    const uint64_t key = id.a != 0 ? id.a : id.b;
    if (vs_map_find(&keys, key) != VS_MAP_NONE) id = (vs_pool_id){0, (UINT64_C(1) << 48) + i};
    status = vs_map_reserve(r->host, &keys);
    if (status != VS_OK) break;
    vs_map_add(&keys, key, 0);
    r->pools.data[r->pools.count++] = id;
  }
  vs_map_deinit(r->host, &keys);
  return status;
}

/* Pools of programs are numbered from 1 in one of the two members; equal keys are no error, only an ambiguous name. */
static uint64_t pool_key(vs_pool_id pool) { return pool.a << 32 ^ pool.b; }

static vs_status name(const vs_host *host, vs_map *map, uint64_t key, uint32_t value) {
  if (vs_map_find(map, key) != VS_MAP_NONE) return VS_OK;
  VS_TRY(vs_map_reserve(host, map));
  vs_map_add(map, key, value);
  return VS_OK;
}

vs_status vs_replay_names_init(const vs_replay_course *r, vs_replay_names *names) {
  const vs_snapshot *s = r->snapshot;
  *names = (vs_replay_names){.streams = {0}};
  for (size_t i = 0; i < s->streams.count; i++)
    VS_TRY(name(r->host, &names->streams, s->streams.data[i], (uint32_t)i));
  for (size_t i = 0; i < r->pools.count; i++)
    VS_TRY(name(r->host, &names->pools, pool_key(r->pools.data[i]), (uint32_t)i + 1));
  return VS_OK;
}

void vs_replay_names_deinit(const vs_host *host, vs_replay_names *names) {
  vs_map_deinit(host, &names->streams);
  vs_map_deinit(host, &names->pools);
}

static uint32_t value_of(const vs_map *map, uint64_t key) {
  const size_t slot = vs_map_find(map, key);
  return slot == VS_MAP_NONE ? 0 : map->slots[slot].value;
}

uint32_t vs_replay_names_stream(const vs_replay_names *names, uint64_t handle) {
  return value_of(&names->streams, handle);
}

uint32_t vs_replay_names_pool(const vs_replay_names *names, vs_pool_id pool) {
  return value_of(&names->pools, pool_key(pool));
}

uint64_t vs_replay_visit_work(const vs_replay_course *r) {
  const vs_alloc_figures *all = &vs_alloc_statistics_of(r->alloc)->part[VS_ALLOC_ALL];
  return 1 + (uint64_t)(all->current[VS_ALLOC_ACTIVE] + all->current[VS_ALLOC_SEGMENT]);
}

vs_status vs_replay_pool_need(vs_replay_course *r, vs_pool_id pool) {
  if (vs_pool_id_is_default(pool) || vs_alloc_pool_users(r->alloc, pool) > 0) return VS_OK;
  return vs_alloc_pool_retain(r->alloc, pool, NULL);
}

/* Frees a block that waits for other streams until `done`. */
vs_status vs_replay_free_pending(vs_replay_course *r, uint64_t address, uint32_t done) {
  size_t at = 0;
  while (at < r->wait_until.count && at + 1 < MOST_WAITS && r->wait_until.data[at] > done) at++;
  if (at == r->wait_until.count) {
    VS_TRY(vs_vec_reserve(r->host, &r->wait_until, 1));
    r->wait_until.count++;
  }
  r->wait_until.data[at] = done;
  r->device.completes_at = done;
  VS_TRY(vs_alloc_record_stream(r->alloc, address, FIRST_WAIT_STREAM + at));
  return vs_alloc_free(r->alloc, address, vs_replay_cause(r));
}
