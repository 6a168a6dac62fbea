#include "base/map.h"

enum { NEARLY_EMPTY = 8 }; /* one entry in so many slots */

static size_t home(const vs_map *map, uint64_t key) { return (size_t)vs_hash_u64(key) & (map->capacity - 1); }

void vs_map_deinit(const vs_host *host, vs_map *map) {
  vs_host_free(host, map->slots, map->capacity * sizeof *map->slots);
  *map = (vs_map){0};
}

void vs_map_clear(vs_map *map) {
  if (map->capacity != 0) memset(map->slots, 0, map->capacity * sizeof *map->slots);
  map->count = 0;
  map->crowded = false;
}

void vs_map_add(vs_map *map, uint64_t key, uint32_t value) {
  VS_ASSERT(map->count < map->capacity);
  const size_t mask = map->capacity - 1, first = home(map, key);
  size_t i = first;
  while (map->slots[i].used) i = (i + 1) & mask;
  if (((i - first) & mask) >= VS_MAP_MOST_PROBES) map->crowded = true;
  map->slots[i] = (vs_map_slot){.key = key, .value = value, .used = 1};
  map->count++;
}

static vs_status reserve(const vs_host *host, vs_map *map, size_t most) {
  if (map->count < most && !map->crowded) return VS_OK;
  if (map->crowded && map->count < map->capacity / NEARLY_EMPTY) return VS_LIMIT;
  size_t bytes;
  const size_t capacity = map->capacity == 0 ? 16 : map->capacity * 2;
  if (!vs_mul_size(capacity, sizeof *map->slots, &bytes)) return VS_NO_MEMORY;
  vs_map grown = {.slots = vs_host_alloc(host, bytes), .capacity = capacity};
  if (grown.slots == NULL) return VS_NO_MEMORY;
  vs_map_clear(&grown);
  /* Beginning after a free slot keeps entries of equal keys in the order in which they were added. */
  size_t start = 0;
  while (map->count != 0 && map->slots[start].used) start++;
  for (size_t n = 0; n < map->capacity; n++) {
    const vs_map_slot *slot = &map->slots[(start + n) & (map->capacity - 1)];
    if (slot->used) vs_map_add(&grown, slot->key, slot->value);
  }
  VS_ASSERT(grown.count == map->count);
  vs_map_deinit(host, map);
  *map = grown;
  return VS_OK;
}

void vs_map_remove(vs_map *map, size_t slot) {
  const size_t mask = map->capacity - 1;
  size_t free_slot = slot;
  VS_ASSERT(slot < map->capacity && map->slots[slot].used && map->count > 0);
  for (size_t i = (free_slot + 1) & mask; map->slots[i].used; i = (i + 1) & mask) {
    /* An entry may move into the free slot unless its home is after it. */
    const size_t from_home = (i - home(map, map->slots[i].key)) & mask;
    if (from_home >= ((i - free_slot) & mask)) {
      map->slots[free_slot] = map->slots[i];
      free_slot = i;
    }
  }
  map->slots[free_slot].used = 0;
  map->count--;
}

vs_status vs_map_reserve(const vs_host *host, vs_map *map) {
  return reserve(host, map, map->capacity - map->capacity / 4);
}

vs_status vs_map_reserve_sparse(const vs_host *host, vs_map *map) {
  return reserve(host, map, map->capacity / 2);
}

const char *vs_map_check(const vs_map *map) {
  const size_t mask = map->capacity - 1;
  size_t count = 0;
  if (map->capacity == 0) return map->count == 0 ? NULL : "a map without slots has entries";
  if ((map->capacity & mask) != 0) return "a map's capacity is no power of two";
  if (map->count > map->capacity - map->capacity / 4) return "a map is too full";
  for (size_t i = 0; i < map->capacity; i++) {
    if (!map->slots[i].used) continue;
    count++;
    for (size_t at = home(map, map->slots[i].key); at != i; at = (at + 1) & mask)
      if (!map->slots[at].used) return "an entry of a map cannot be found";
  }
  return count == map->count ? NULL : "a map's count is wrong";
}
