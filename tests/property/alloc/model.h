/* The allocator once more, as naive as can be: one array of blocks by address, everything found by looking at
 * all of them. Written from the rules of PyTorch's allocator and not from src/alloc; it shares with that
 * nothing but the types of settings and figures. One side stream may be recorded on blocks, so that no order
 * between streams matters. */
#ifndef VS_TESTS_ALLOC_MODEL_H
#define VS_TESTS_ALLOC_MODEL_H

#include "alloc/alloc.h"
#include "property/alloc/fake_device.h"

enum { MODEL_POOLS = 4, MODEL_SIDE = 7 }; /* pool 0 is the default one, i is named (0, i) */

typedef enum model_state { MODEL_FREE, MODEL_USED, MODEL_PENDING, MODEL_UNMAPPED } model_state;

typedef struct model_block {
  uint64_t address, size, requested, stream;
  uint64_t segment;  /* number, in the order in which they were made */
  uint64_t age_from; /* lookups of the pool when it became free */
  int pool;
  bool is_small, is_expandable;
  bool is_recorded, is_recorded_in_capture;
  model_state state;
} model_block;

typedef struct model_pool {
  bool is_alive, no_split, has_row;
  uint64_t users, lookups[2];
  int64_t
      calls; /* expansions and segments that served requests, less calls that gave memory back; not below 0 */
  vs_alloc_stat reserved[VS_ALLOC_PARTS];
} model_pool;

typedef struct model_waiting {
  uint64_t address, number; /* of the event on the side stream */
} model_waiting;

typedef struct model {
  vs_alloc_settings settings;
  fake_device device;
  uint64_t reserved, limit, segments;
  double fraction;
  model_block *blocks;
  size_t count, capacity;
  model_waiting *waiting;
  uint64_t *deferred;
  size_t waiting_count, waiting_capacity, deferred_count, deferred_capacity;
  model_pool pools[MODEL_POOLS];
  int lender; /* the pool that lends (use_on_oom); 0: none. One at a time: their order does not matter */
  int route;  /* requests on stream 3 go to this pool; 0: none */
  int captures;
  uint64_t gift; /* a live block that the callback frees when memory is needed; 0: none */
  vs_alloc_stat stats[VS_ALLOC_GROUPS][VS_ALLOC_PARTS];
  vs_alloc_stat oversize_allocations, oversize_segments;
  int64_t retries, ooms, rejections, syncs, device_allocs, device_frees;
  uint64_t steps[VS_ALLOC_STEPS];
} model;

typedef struct model_request {
  uint64_t wanted, size, driver_size, stream;
  int pool;
  bool is_small, is_expandable;
} model_request;

enum { MODEL_NONE = -1, MODEL_REJECTED = -2 };

/* ---- arrays -------------------------------------------------------------------------------------------- */

static void *model_grow(void *data, size_t count, size_t *capacity, size_t size) {
  if (count < *capacity) return data;
  *capacity = 2 * *capacity + 64;
  return realloc(data, *capacity * size);
}

static void model_insert(model *m, size_t at, model_block block) {
  m->blocks = model_grow(m->blocks, m->count, &m->capacity, sizeof *m->blocks);
  memmove(&m->blocks[at + 1], &m->blocks[at], (m->count - at) * sizeof block);
  m->blocks[at] = block;
  m->count++;
}

static void model_remove(model *m, size_t at) {
  memmove(&m->blocks[at], &m->blocks[at + 1], (m->count - at - 1) * sizeof *m->blocks);
  m->count--;
}

static long model_find(const model *m, uint64_t address) {
  for (size_t i = 0; i < m->count; i++)
    if (m->blocks[i].address == address) return (long)i;
  return MODEL_NONE;
}

static size_t model_place(model *m, model_block block) {
  size_t at = 0;
  while (at < m->count && m->blocks[at].address < block.address) at++;
  model_insert(m, at, block);
  return at;
}

/* Neighbours in the same segment. */
static model_block *model_left(model *m, size_t at) {
  return at > 0 && m->blocks[at - 1].segment == m->blocks[at].segment ? &m->blocks[at - 1] : NULL;
}
static model_block *model_right(model *m, size_t at) {
  return at + 1 < m->count && m->blocks[at + 1].segment == m->blocks[at].segment ? &m->blocks[at + 1] : NULL;
}
static bool model_is_split(model *m, size_t at) {
  return model_left(m, at) != NULL || model_right(m, at) != NULL;
}

/* ---- figures ------------------------------------------------------------------------------------------- */

static void model_up(model *m, bool is_small, vs_alloc_group group, uint64_t amount) {
  vs_alloc_stat_increase(&m->stats[group][VS_ALLOC_ALL], (int64_t)amount);
  vs_alloc_stat_increase(&m->stats[group][is_small ? VS_ALLOC_SMALL : VS_ALLOC_LARGE], (int64_t)amount);
}
static void model_down(model *m, bool is_small, vs_alloc_group group, uint64_t amount) {
  vs_alloc_stat_decrease(&m->stats[group][VS_ALLOC_ALL], (int64_t)amount);
  vs_alloc_stat_decrease(&m->stats[group][is_small ? VS_ALLOC_SMALL : VS_ALLOC_LARGE], (int64_t)amount);
}

static void model_reserve(model *m, int pool, bool is_small, uint64_t bytes) {
  m->reserved += bytes;
  m->device_allocs++;
  model_up(m, is_small, VS_ALLOC_RESERVED_BYTES, bytes);
  m->pools[pool].has_row = true;
  vs_alloc_stat_increase(&m->pools[pool].reserved[VS_ALLOC_ALL], (int64_t)bytes);
  vs_alloc_stat_increase(&m->pools[pool].reserved[is_small ? VS_ALLOC_SMALL : VS_ALLOC_LARGE],
                         (int64_t)bytes);
}
static void model_unreserve(model *m, int pool, bool is_small, uint64_t bytes) {
  m->reserved -= bytes;
  m->device_frees++;
  model_down(m, is_small, VS_ALLOC_RESERVED_BYTES, bytes);
  if (m->pools[pool].calls > 0) m->pools[pool].calls--;
  vs_alloc_stat_decrease(&m->pools[pool].reserved[VS_ALLOC_ALL], (int64_t)bytes);
  vs_alloc_stat_decrease(&m->pools[pool].reserved[is_small ? VS_ALLOC_SMALL : VS_ALLOC_LARGE],
                         (int64_t)bytes);
}

static bool model_collects(const model *m) {
  return m->fraction < 1 && m->settings.garbage_collection_threshold > 0;
}

/* ---- sizes --------------------------------------------------------------------------------------------- */

static uint64_t model_multiple(uint64_t size, uint64_t of) { return (size + of - 1) / of * of; }

static uint64_t model_round(const model *m, uint64_t size) {
  if (size < 512) return 512;
  int interval = 0;
  while (interval < 15 && size >= (VS_MIB << (interval + 1))) interval++;
  const uint64_t divisions = m->settings.roundup_divisions[interval];
  if (divisions <= 1 || size <= 512 * divisions || size > m->settings.roundup_bypass)
    return model_multiple(size, 512);
  uint64_t power = 1;
  while (2 * power <= size) power *= 2;
  if (power == size) return size;
  return power / divisions == 0 ? 2 * power : model_multiple(size, power / divisions);
}

static uint64_t model_driver_size(const model *m, uint64_t rounded) {
  if (rounded <= VS_MIB) return 2 * VS_MIB;
  return rounded < 10 * VS_MIB ? m->settings.large_segment_size : model_multiple(rounded, 2 * VS_MIB);
}

/* ---- merging ------------------------------------------------------------------------------------------- */

/* `at` becomes one with its neighbours of the same state (free or unmapped); where it is then. The bytes and
 * the number of what it swallowed. */
static size_t model_merge(model *m, size_t at, uint64_t *bytes, int64_t *count) {
  const model_block *left = model_left(m, at), *right = model_right(m, at);
  const model_state state = m->blocks[at].state;
  *bytes = 0;
  *count = 0;
  if (right != NULL && right->state == state) {
    *bytes += right->size;
    ++*count;
    m->blocks[at].size += right->size;
    model_remove(m, at + 1);
    left = model_left(m, at);
  }
  if (left == NULL || left->state != state) return at;
  *bytes += left->size;
  ++*count;
  m->blocks[at].address = left->address;
  m->blocks[at].size += left->size;
  model_remove(m, at - 1);
  return at - 1;
}

static void model_becomes_free(model *m, size_t at) {
  model_block *b = &m->blocks[at];
  b->state = MODEL_FREE;
  b->age_from = m->pools[b->pool].lookups[b->is_small];
}

static void model_complete(model *m, size_t at) {
  const uint64_t own = m->blocks[at].size, requested = m->blocks[at].requested;
  const bool is_small = m->blocks[at].is_small;
  uint64_t swallowed;
  int64_t count;
  model_becomes_free(m, at);
  at = model_merge(m, at, &swallowed, &count);
  int64_t splits = -count, bytes = -(int64_t)swallowed;
  if (model_is_split(m, at)) {
    splits++;
    bytes += (int64_t)m->blocks[at].size;
  }
  if (!m->blocks[at].is_expandable) {
    if (splits > 0) model_up(m, is_small, VS_ALLOC_INACTIVE_SPLIT, (uint64_t)splits);
    if (splits < 0) model_down(m, is_small, VS_ALLOC_INACTIVE_SPLIT, (uint64_t)-splits);
    if (bytes > 0) model_up(m, is_small, VS_ALLOC_INACTIVE_SPLIT_BYTES, (uint64_t)bytes);
    if (bytes < 0) model_down(m, is_small, VS_ALLOC_INACTIVE_SPLIT_BYTES, (uint64_t)-bytes);
  }
  model_down(m, is_small, VS_ALLOC_ACTIVE, 1);
  model_down(m, is_small, VS_ALLOC_ACTIVE_BYTES, own);
  model_down(m, is_small, VS_ALLOC_REQUESTED_BYTES, requested);
}

/* ---- waiting for the side stream ----------------------------------------------------------------------- */

static void model_record_event(model *m, size_t at) {
  m->waiting = model_grow(m->waiting, m->waiting_count, &m->waiting_capacity, sizeof *m->waiting);
  m->waiting[m->waiting_count++] = (model_waiting){m->blocks[at].address, ++m->device.recorded[MODEL_SIDE]};
  m->blocks[at].is_recorded = m->blocks[at].is_recorded_in_capture = false;
}

static void model_finish_deferred(model *m) {
  for (size_t i = 0; i < m->deferred_count; i++) {
    const size_t at = (size_t)model_find(m, m->deferred[i]);
    if (m->blocks[at].is_recorded && !m->blocks[at].is_recorded_in_capture) model_record_event(m, at);
    else model_complete(m, at);
  }
  m->deferred_count = 0;
}

static void model_finish_first(model *m, size_t which) {
  const uint64_t address = m->waiting[which].address;
  m->waiting_count--;
  memmove(&m->waiting[which], &m->waiting[which + 1], (m->waiting_count - which) * sizeof *m->waiting);
  model_complete(m, (size_t)model_find(m, address));
}

static void model_poll(model *m) {
  if (m->captures > 0) return;
  model_finish_deferred(m);
  while (m->waiting_count > 0 && m->waiting[0].number <= m->device.done[MODEL_SIDE]) model_finish_first(m, 0);
}

/* For all blocks, or those of one pool. */
static void model_wait(model *m, int only) {
  m->syncs++;
  model_finish_deferred(m);
  for (size_t i = 0; i < m->waiting_count;) {
    const model_block *b = &m->blocks[model_find(m, m->waiting[i].address)];
    if (only != 0 && b->pool != only) {
      i++;
      continue;
    }
    if (m->device.done[MODEL_SIDE] < m->waiting[i].number) m->device.done[MODEL_SIDE] = m->waiting[i].number;
    model_finish_first(m, i);
  }
}

/* ---- giving back --------------------------------------------------------------------------------------- */

static void model_release(model *m, size_t at) {
  const model_block b = m->blocks[at];
  (void)fake_free(&m->device, b.address);
  model_unreserve(m, b.pool, b.is_small, b.size);
  model_down(m, b.is_small, VS_ALLOC_SEGMENT, 1);
  if (b.size >= m->settings.max_split_size) vs_alloc_stat_decrease(&m->oversize_segments, 1);
  model_remove(m, at);
}

static void model_unmap(model *m, size_t at) {
  const uint64_t page = m->blocks[at].is_small ? 2 * VS_MIB : m->settings.large_segment_size;
  size_t first = at;
  while (model_left(m, first) != NULL) first--;
  const uint64_t base = m->blocks[first].address;
  model_block b = m->blocks[at];
  const uint64_t begin = base + model_multiple(b.address - base, page);
  const uint64_t end = base + (b.address + b.size - base) / page * page;
  if (begin >= end) return;
  (void)fake_stream_synchronize(&m->device, b.stream);
  for (uint64_t p = begin; p < end; p += page) (void)fake_release(&m->device, page | 1);
  model_remove(m, at);
  model_block edge = b;
  edge.age_from = m->pools[b.pool].lookups[b.is_small];
  if (begin > b.address) {
    edge.size = begin - b.address;
    model_insert(m, at++, edge);
  }
  if (b.address + b.size > end) {
    edge.address = end;
    edge.size = b.address + b.size - end;
    model_insert(m, at, edge);
  }
  b.address = begin;
  b.size = end - begin;
  b.state = MODEL_UNMAPPED;
  model_insert(m, at, b);
  uint64_t bytes;
  int64_t count;
  at = model_merge(m, at, &bytes, &count);
  model_unreserve(m, b.pool, b.is_small, end - begin);
  if (model_is_split(m, at)) return;
  (void)fake_unreserve(&m->device, m->blocks[at].address, 0);
  model_remove(m, at);
}

static void model_release_half(model *m, int pool, bool is_small) {
  static uint64_t expandable[4096];
  size_t count = 0;
  for (size_t i = 0; i < m->count;) {
    const model_block *b = &m->blocks[i];
    const bool is_mine = b->pool == pool && b->is_small == is_small && b->state == MODEL_FREE;
    if (is_mine && b->is_expandable && count < 4096) expandable[count++] = b->address;
    if (is_mine && !b->is_expandable && !model_is_split(m, i)) model_release(m, i);
    else i++;
  }
  for (size_t i = 0; i < count; i++) model_unmap(m, (size_t)model_find(m, expandable[i]));
}

/* What addresses it had reserved without memory are lost with it, as they are in PyTorch. */
static void model_forget_pool(model *m, int pool) {
  m->pools[pool].is_alive = false;
  if (m->lender == pool) m->lender = 0;
  for (size_t i = m->count; i-- > 0;)
    if (m->blocks[i].pool == pool) model_remove(m, i);
}

static void model_release_cached(model *m, int only) {
  if (only == 0 && m->captures == 0) {
    model_wait(m, 0);
    model_release_half(m, 0, false);
    model_release_half(m, 0, true);
  }
  for (int p = 1; p < MODEL_POOLS; p++) {
    if (!m->pools[p].is_alive || m->pools[p].users > 0 || (only != 0 && only != p)) continue;
    if (only == p) model_wait(m, p);
    model_release_half(m, p, true);
    model_release_half(m, p, false);
    if (m->pools[p].reserved[VS_ALLOC_ALL].current == 0 && m->pools[p].calls == 0) model_forget_pool(m, p);
  }
}

static void model_collect(model *m) {
  const uint64_t threshold = (uint64_t)(m->settings.garbage_collection_threshold * (double)m->limit);
  if (m->reserved <= threshold) return;
  const uint64_t target = m->reserved - threshold;
  uint64_t reclaimed = 0;
  for (;;) {
    uint64_t ages = 0, count = 0, before = reclaimed;
    for (size_t i = 0; i < m->count; i++) {
      const model_block *b = &m->blocks[i];
      if (b->pool != 0 || b->is_small || b->state != MODEL_FREE || model_is_split(m, i)) continue;
      ages += m->pools[0].lookups[0] - b->age_from;
      count++;
    }
    if (reclaimed >= target || count == 0) return;
    const double oldest = (double)ages / (double)count;
    for (size_t i = 0; i < m->count;) {
      const model_block *b = &m->blocks[i];
      if (b->pool != 0 || b->is_small || b->state != MODEL_FREE || b->is_expandable || model_is_split(m, i) ||
          (double)(m->pools[0].lookups[0] - b->age_from) < oldest) {
        i++;
        continue;
      }
      reclaimed += b->size;
      model_release(m, i);
    }
    if (reclaimed == before) return;
  }
}

/* ---- looking for a block ------------------------------------------------------------------------------- */

static bool model_is_before(const model *m, const model_block *a, const model_block *b) {
  if (a->size != b->size) return a->size < b->size;
  return m->settings.rules->orders_by_segment && a->segment != b->segment ? a->segment < b->segment
                                                                          : a->address < b->address;
}

/* The first free block of the lane in its order that is at least `size`, and behind `behind` (NONE: any). */
static long model_next(const model *m, const model_request *r, uint64_t size, long behind) {
  long best = MODEL_NONE;
  for (size_t i = 0; i < m->count; i++) {
    const model_block *b = &m->blocks[i];
    if (b->state != MODEL_FREE || b->pool != r->pool || b->is_small != r->is_small || b->stream != r->stream)
      continue;
    if (b->size < size || (behind >= 0 && !model_is_before(m, &m->blocks[behind], b))) continue;
    if (best < 0 || model_is_before(m, b, &m->blocks[best])) best = (long)i;
  }
  return best;
}

static uint64_t model_could_be(model *m, long at) {
  const model_block *right = model_right(m, (size_t)at);
  return m->blocks[at].size + (right != NULL && right->state == MODEL_UNMAPPED ? right->size : 0);
}

static long model_look_up(model *m, const model_request *r) {
  const uint64_t most = m->settings.max_split_size;
  if (model_collects(m)) m->pools[r->pool].lookups[r->is_small]++;
  long at = model_next(m, r, r->size, MODEL_NONE);
  if (at < 0) return MODEL_NONE;
  if (r->is_expandable) {
    while (m->blocks[at].is_expandable) {
      const long next = model_next(m, r, r->size, at);
      if (next < 0 || model_could_be(m, next) >= model_could_be(m, at)) break;
      at = next;
    }
  } else {
    while (at >= 0 && m->blocks[at].is_expandable) at = model_next(m, r, r->size, at);
    if (at < 0) return MODEL_NONE;
  }
  if (r->size < most && m->blocks[at].size >= most) return MODEL_NONE;
  if (r->size >= most && m->blocks[at].size >= r->size + m->settings.max_non_split_rounding)
    return MODEL_NONE;
  return at;
}

/* ---- the driver ---------------------------------------------------------------------------------------- */

/* Memory for the unmapped block `at`, whole pages from its beginning on; where the free block is then. */
static long model_map(model *m, size_t at, uint64_t want) {
  model_block *b = &m->blocks[at];
  const uint64_t page = b->is_small ? 2 * VS_MIB : m->settings.large_segment_size;
  const uint64_t bytes = model_multiple(want, page);
  uint64_t made = 0, handle;
  while (made < bytes && fake_create(&m->device, page, &handle) == VS_DEVICE_OK) made += page;
  if (made < bytes) {
    for (; made > 0; made -= page) (void)fake_release(&m->device, page | 1);
    return MODEL_NONE;
  }
  model_block rest = *b;
  model_becomes_free(m, at);
  if (bytes < rest.size) {
    rest.address += bytes;
    rest.size -= bytes;
    b->size = bytes;
    model_insert(m, at + 1, rest);
  }
  model_reserve(m, rest.pool, rest.is_small, bytes);
  uint64_t swallowed;
  int64_t count;
  return (long)model_merge(m, at, &swallowed, &count);
}

static bool model_has_room(model *m, size_t at, uint64_t size) {
  const uint64_t segment = m->blocks[at].segment;
  uint64_t sum = 0;
  for (; at < m->count && m->blocks[at].segment == segment && sum < size; at++) {
    if (m->blocks[at].state != MODEL_FREE && m->blocks[at].state != MODEL_UNMAPPED) break;
    sum += m->blocks[at].size;
  }
  return sum >= size;
}

/* How many addresses a new expandable segment reserves: whole pages, one at least. */
static uint64_t model_addresses(const model *m, bool is_small) {
  const uint64_t page = is_small ? 2 * VS_MIB : m->settings.large_segment_size;
  const uint64_t total = m->device.total, most = total + total / 8;
  const vs_alloc_reserve reserve = m->settings.reserve;
  if (!reserve.is_set) return model_multiple(most, page);
  const double unit = reserve.is_fraction ? (double)total : 1024.0 * (double)VS_MIB;
  return vs_max_u64(model_multiple(vs_min_u64((uint64_t)(reserve.value * unit), most), page), page);
}

static long model_expand(model *m, const model_request *r) {
  long at = MODEL_NONE;
  for (size_t i = 0; i < m->count && at < 0; i++) {
    const model_block *b = &m->blocks[i];
    if (b->state != MODEL_UNMAPPED || b->pool != r->pool || b->is_small != r->is_small ||
        b->stream != r->stream)
      continue;
    const model_block *left = model_left(m, i);
    const size_t start = left != NULL && left->state == MODEL_FREE ? i - 1 : i;
    if (model_has_room(m, start, r->size)) at = (long)start;
  }
  if (at < 0) {
    const uint64_t size = model_addresses(m, r->is_small);
    if (r->size > size) return MODEL_NONE;
    model_block b = {.size = size,
                     .stream = r->stream,
                     .segment = m->segments++,
                     .pool = r->pool,
                     .is_small = r->is_small,
                     .is_expandable = true,
                     .state = MODEL_UNMAPPED};
    (void)fake_reserve(&m->device, b.size, &b.address);
    at = (long)model_place(m, b);
  }
  if (m->blocks[at].state == MODEL_UNMAPPED)
    at = model_map(m, (size_t)at, vs_min_u64(r->size, m->blocks[at].size));
  while (at >= 0 && m->blocks[at].size < r->size)
    at = model_map(m, (size_t)at + 1, vs_min_u64(r->size - m->blocks[at].size, m->blocks[at + 1].size));
  if (at >= 0) m->pools[r->pool].calls++;
  return at;
}

static long model_driver(model *m, const model_request *r, bool is_retry) {
  if (is_retry) m->retries++;
  if (m->fraction < 1 && m->reserved + r->driver_size > m->limit) return MODEL_NONE;
  if (m->settings.reject_over_limit &&
      m->reserved + r->driver_size > (uint64_t)((double)m->device.total * m->settings.memory_fraction)) {
    m->rejections++;
    return MODEL_REJECTED;
  }
  if (r->is_expandable) return model_expand(m, r);
  model_block b = {.size = r->driver_size, .stream = r->stream, .pool = r->pool, .is_small = r->is_small};
  if (fake_alloc(&m->device, r->driver_size, &b.address) != VS_DEVICE_OK) return MODEL_NONE;
  b.segment = m->segments++;
  model_up(m, r->is_small, VS_ALLOC_SEGMENT, 1);
  model_reserve(m, r->pool, r->is_small, b.size);
  m->pools[r->pool].calls++;
  if (b.size >= m->settings.max_split_size) vs_alloc_stat_increase(&m->oversize_segments, 1);
  return (long)model_place(m, b);
}

/* PyTorch takes for granted that no oversize block is split, which is so unless expandable segments were
 * switched on meanwhile: it would free a segment with live blocks. Such blocks are skipped. */
static bool model_release_available(model *m, const model_request *r) {
  const uint64_t most = m->settings.max_split_size, wanted = vs_max_u64(r->size, most);
  if (most == UINT64_MAX) return false;
  const long one = model_next(m, r, wanted, MODEL_NONE);
  if (one >= 0 && !m->blocks[one].is_expandable && !model_is_split(m, (size_t)one)) {
    model_release(m, (size_t)one);
    return true;
  }
  uint64_t released = 0;
  static uint64_t list[4096]; /* from the largest down, those below the key */
  size_t count = 0;
  for (long at = model_next(m, r, most, MODEL_NONE); at >= 0 && count < 4096; at = model_next(m, r, most, at))
    if (at != one && (one < 0 || model_is_before(m, &m->blocks[at], &m->blocks[one])))
      list[count++] = m->blocks[at].address;
  while (count-- > 0 && released < wanted) {
    const size_t at = (size_t)model_find(m, list[count]);
    if (m->blocks[at].is_expandable || model_is_split(m, at)) continue;
    released += m->blocks[at].size;
    model_release(m, at);
  }
  return released >= wanted;
}

/* ---- the fallbacks ---------------------------------------------------------------------------------------- */

static long model_climb(model *m, model_request *r, vs_alloc_step *step) {
  if (model_collects(m)) model_collect(m);
  *step = VS_ALLOC_FROM_DRIVER;
  long at = model_driver(m, r, false);
  if (at != MODEL_NONE) return at;
  if (m->lender != 0 && r->pool == 0) { /* nothing of expandable segments */
    model_request other = *r;
    other.pool = m->lender;
    other.is_expandable = false;
    at = model_look_up(m, &other);
    if (at >= 0) {
      *step = VS_ALLOC_FROM_OTHER_POOL;
      *r = other;
      return at;
    }
  }
  *step = VS_ALLOC_AFTER_RELEASE;
  if (model_release_available(m, r)) at = model_driver(m, r, false);
  if (at != MODEL_NONE || m->captures > 0) return at;
  *step = VS_ALLOC_AFTER_RETRY;
  model_release_cached(m, 0);
  return model_driver(m, r, true);
}

static uint64_t model_hand_out(model *m, const model_request *r, size_t at) {
  model_block *b = &m->blocks[at];
  const uint64_t rest = b->size - r->size;
  const bool was_split = model_is_split(m, at), is_counted = !b->is_expandable;
  const bool splits = m->pools[r->pool].no_split ? false
                      : r->is_small || r->is_expandable
                          ? rest >= 512
                          : r->size < m->settings.max_split_size && rest > VS_MIB;
  if (splits) {
    model_block behind = *b;
    behind.address += r->size;
    behind.size = rest;
    behind.requested = 0;
    behind.age_from = m->pools[r->pool].lookups[r->is_small];
    b->size = r->size;
    model_insert(m, at + 1, behind);
    b = &m->blocks[at];
    if (is_counted && was_split) model_down(m, r->is_small, VS_ALLOC_INACTIVE_SPLIT_BYTES, r->size);
    if (is_counted && !was_split) {
      model_up(m, r->is_small, VS_ALLOC_INACTIVE_SPLIT, 1);
      model_up(m, r->is_small, VS_ALLOC_INACTIVE_SPLIT_BYTES, rest);
    }
  } else if (was_split && is_counted) {
    model_down(m, r->is_small, VS_ALLOC_INACTIVE_SPLIT, 1);
    model_down(m, r->is_small, VS_ALLOC_INACTIVE_SPLIT_BYTES, b->size);
  }
  b->state = MODEL_USED;
  b->requested = r->wanted;
  b->is_recorded = b->is_recorded_in_capture = false;
  model_up(m, r->is_small, VS_ALLOC_ALLOCATION, 1);
  model_up(m, r->is_small, VS_ALLOC_ALLOCATED_BYTES, b->size);
  model_up(m, r->is_small, VS_ALLOC_ACTIVE, 1);
  model_up(m, r->is_small, VS_ALLOC_ACTIVE_BYTES, b->size);
  model_up(m, r->is_small, VS_ALLOC_REQUESTED_BYTES, r->wanted);
  if (b->size >= m->settings.max_split_size) vs_alloc_stat_increase(&m->oversize_allocations, 1);
  return b->address;
}

static void model_free(model *m, uint64_t address) {
  const size_t at = (size_t)model_find(m, address);
  model_block *b = &m->blocks[at];
  model_down(m, b->is_small, VS_ALLOC_ALLOCATION, 1);
  model_down(m, b->is_small, VS_ALLOC_ALLOCATED_BYTES, b->size);
  if (b->size >= m->settings.max_split_size) vs_alloc_stat_decrease(&m->oversize_allocations, 1);
  if (!b->is_recorded) {
    model_complete(m, at);
    return;
  }
  b->state = MODEL_PENDING;
  if (m->captures == 0) {
    model_record_event(m, at);
    return;
  }
  m->deferred = model_grow(m->deferred, m->deferred_count, &m->deferred_capacity, sizeof *m->deferred);
  m->deferred[m->deferred_count++] = address;
}

/* 0: out of memory. */
static uint64_t model_malloc(model *m, uint64_t size, uint64_t stream) {
  model_request r = {.wanted = size, .size = model_round(m, size), .stream = stream};
  if (m->captures == 0) model_poll(m);
  r.is_small = r.size <= VS_MIB;
  r.is_expandable = m->settings.expandable_segments && m->settings.rules->has_expandable;
  r.driver_size = model_driver_size(m, r.size);
  r.pool = m->route != 0 && stream == 3 ? m->route : 0;
  vs_alloc_step step = VS_ALLOC_FROM_CACHE;
  long at = model_look_up(m, &r);
  if (at < 0 && m->gift != 0) {
    model_free(m, m->gift);
    m->gift = 0;
    step = VS_ALLOC_AFTER_CALLBACK;
    at = model_look_up(m, &r);
  }
  if (at < 0) at = model_climb(m, &r, &step);
  m->steps[at >= 0 ? step : VS_ALLOC_FAILED]++;
  if (at == MODEL_NONE) m->ooms++;
  return at >= 0 ? model_hand_out(m, &r, (size_t)at) : 0;
}

static void model_record_stream(model *m, uint64_t address) {
  model_block *b = &m->blocks[model_find(m, address)];
  b->is_recorded = true;
  if (m->captures > 0) b->is_recorded_in_capture = true; /* though it was recorded before */
}

static void model_fraction(model *m, double fraction) {
  m->fraction = fraction;
  m->limit = (uint64_t)(fraction * (double)m->device.total);
}

static void model_init(model *m, const vs_alloc_settings *settings, uint64_t total) {
  *m = (model){.settings = *settings};
  fake_init(&m->device, total);
  m->pools[0].is_alive = true;
  model_fraction(m, settings->memory_fraction);
}

static void model_deinit(model *m) {
  fake_deinit(&m->device);
  free(m->blocks);
  free(m->waiting);
  free(m->deferred);
}

#endif
