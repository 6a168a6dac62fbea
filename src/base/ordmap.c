#include "base/ordmap.h"

void vs_ordmap_deinit(const vs_host *host, vs_ordmap *map) {
  for (size_t i = 0; i < map->chunks.count; i++)
    vs_host_free(host, map->chunks.data[i], sizeof(vs_ordmap_chunk));
  vs_host_free(host, map->spare, sizeof(vs_ordmap_chunk));
  vs_vec_free(host, &map->firsts);
  vs_vec_free(host, &map->chunks);
  *map = (vs_ordmap){0};
}

/* The number of keys of a sorted array that are <= key: a binary search without unpredictable branches. */
static size_t upper(const uint64_t *keys, size_t count, uint64_t key) {
  size_t base = 0;
  while (count > 0) {
    const size_t half = (count + 1) / 2;
    base = keys[base + half - 1] <= key ? base + half : base;
    count -= half;
  }
  return base;
}

bool vs_ordmap_floor(const vs_ordmap *map, uint64_t key, vs_ordmap_pos *pos) {
  const size_t chunk = upper(map->firsts.data, map->firsts.count, key);
  if (chunk == 0) return false;
  const vs_ordmap_chunk *c = map->chunks.data[chunk - 1];
  *pos = (vs_ordmap_pos){(uint32_t)chunk - 1, (uint32_t)upper(c->keys, c->count, key) - 1};
  return true;
}

bool vs_ordmap_find(const vs_ordmap *map, uint64_t key, vs_ordmap_pos *pos) {
  return vs_ordmap_floor(map, key, pos) && vs_ordmap_key(map, *pos) == key;
}

vs_ordmap_pos vs_ordmap_lower(const vs_ordmap *map, uint64_t key) {
  vs_ordmap_pos pos;
  if (!vs_ordmap_floor(map, key, &pos)) return vs_ordmap_begin();
  return vs_ordmap_key(map, pos) == key ? pos : vs_ordmap_next(map, pos);
}

bool vs_ordmap_previous(const vs_ordmap *map, vs_ordmap_pos *pos) {
  if (pos->slot > 0) {
    pos->slot--;
    return true;
  }
  if (pos->chunk == 0) return false;
  pos->chunk--;
  pos->slot = map->chunks.data[pos->chunk]->count - 1;
  return true;
}

/* Inserts an empty chunk at index `at`. */
static vs_status add_chunk(const vs_host *host, vs_ordmap *map, size_t at) {
  VS_TRY(vs_vec_reserve(host, &map->firsts, 1));
  VS_TRY(vs_vec_reserve(host, &map->chunks, 1));
  vs_ordmap_chunk *chunk = map->spare;
  if (chunk == NULL) chunk = vs_host_alloc(host, sizeof *chunk);
  if (chunk == NULL) return VS_NO_MEMORY;
  map->spare = NULL;
  chunk->count = 0;
  const size_t behind = map->chunks.count - at;
  memmove(map->chunks.data + at + 1, map->chunks.data + at, behind * sizeof *map->chunks.data);
  memmove(map->firsts.data + at + 1, map->firsts.data + at, behind * sizeof *map->firsts.data);
  map->chunks.data[at] = chunk;
  map->firsts.data[at] = 0; /* until the caller adds a key */
  map->chunks.count++;
  map->firsts.count++;
  return VS_OK;
}

/* Moves the upper half of a full chunk into a new one after it. */
static vs_status split(const vs_host *host, vs_ordmap *map, size_t at) {
  VS_TRY(add_chunk(host, map, at + 1));
  vs_ordmap_chunk *low = map->chunks.data[at], *high = map->chunks.data[at + 1];
  VS_ASSERT(low->count == VS_ORDMAP_CHUNK && high->count == 0);
  const uint32_t keep = low->count / 2;
  high->count = low->count - keep;
  memcpy(high->keys, low->keys + keep, high->count * sizeof *high->keys);
  memcpy(high->values, low->values + keep, high->count * sizeof *high->values);
  low->count = keep;
  map->firsts.data[at + 1] = high->keys[0];
  return VS_OK;
}

vs_status vs_ordmap_put(const vs_host *host, vs_ordmap *map, uint64_t key, uint32_t value) {
  if (map->chunks.count == 0) VS_TRY(add_chunk(host, map, 0));
  size_t at = upper(map->firsts.data, map->firsts.count, key);
  if (map->count == 0) at = 1; /* the chunk is empty, so `firsts` has no key of it yet */
  if (at > 0) at--;
  vs_ordmap_chunk *chunk = map->chunks.data[at];
  size_t slot = upper(chunk->keys, chunk->count, key);
  if (slot > 0 && chunk->keys[slot - 1] == key) {
    chunk->values[slot - 1] = value;
    return VS_OK;
  }
  if (chunk->count == VS_ORDMAP_CHUNK) {
    VS_TRY(split(host, map, at));
    if (slot > chunk->count) {
      slot -= chunk->count;
      chunk = map->chunks.data[++at];
    }
  }
  VS_ASSERT(chunk->count < VS_ORDMAP_CHUNK && slot <= chunk->count);
  memmove(chunk->keys + slot + 1, chunk->keys + slot, (chunk->count - slot) * sizeof *chunk->keys);
  memmove(chunk->values + slot + 1, chunk->values + slot, (chunk->count - slot) * sizeof *chunk->values);
  chunk->keys[slot] = key;
  chunk->values[slot] = value;
  chunk->count++;
  map->firsts.data[at] = chunk->keys[0];
  map->count++;
  return VS_OK;
}

void vs_ordmap_remove(const vs_host *host, vs_ordmap *map, vs_ordmap_pos pos) {
  VS_ASSERT(pos.chunk < map->chunks.count && pos.slot < map->chunks.data[pos.chunk]->count && map->count > 0);
  vs_ordmap_chunk *chunk = map->chunks.data[pos.chunk];
  chunk->count--;
  map->count--;
  memmove(chunk->keys + pos.slot, chunk->keys + pos.slot + 1,
          (chunk->count - pos.slot) * sizeof *chunk->keys);
  memmove(chunk->values + pos.slot, chunk->values + pos.slot + 1,
          (chunk->count - pos.slot) * sizeof *chunk->values);
  if (chunk->count > 0) {
    map->firsts.data[pos.chunk] = chunk->keys[0];
    return;
  }
  const size_t behind = map->chunks.count - pos.chunk - 1;
  memmove(map->chunks.data + pos.chunk, map->chunks.data + pos.chunk + 1, behind * sizeof *map->chunks.data);
  memmove(map->firsts.data + pos.chunk, map->firsts.data + pos.chunk + 1, behind * sizeof *map->firsts.data);
  map->chunks.count--;
  map->firsts.count--;
  vs_host_free(host, map->spare, sizeof *map->spare);
  map->spare = chunk;
}

bool vs_ordmap_check(const vs_ordmap *map) {
  size_t count = 0;
  uint64_t last = 0;
  if (map->firsts.count != map->chunks.count) return false;
  for (size_t i = 0; i < map->chunks.count; i++) {
    const vs_ordmap_chunk *chunk = map->chunks.data[i];
    if (chunk->count == 0 || chunk->count > VS_ORDMAP_CHUNK || map->firsts.data[i] != chunk->keys[0])
      return false;
    for (uint32_t k = 0; k < chunk->count; k++, count++) {
      if (count > 0 && chunk->keys[k] <= last) return false;
      last = chunk->keys[k];
    }
  }
  return count == map->count;
}
