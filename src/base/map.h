/* A hash map from uint64_t to uint32_t: open addressing, linear probing, removal by shifting back (no tombstones).
 *
 * Two uses. Exact: the key is an address or an index. Hashed: the key is a hash, and the caller compares what the
 * values refer to, going through equal keys with vs_map_find_next (intern tables).
 *
 * Invariant: capacity is 0 or a power of two, count <= 3/4 of it; a slot is free unless `used`; no slot between a
 * key's home and its slot is free. */
#ifndef VS_BASE_MAP_H
#define VS_BASE_MAP_H

#include "base/hash.h"
#include "base/host.h"

typedef struct vs_map_slot {
  uint64_t key;
  uint32_t value;
  uint32_t used;
} vs_map_slot;

typedef struct vs_map {
  vs_map_slot *slots;
  size_t capacity;
  size_t count;
  bool crowded; /* an entry was put VS_MAP_MOST_PROBES slots or more after its home */
} vs_map;

#define VS_MAP_NONE SIZE_MAX

enum { VS_MAP_MOST_PROBES = 1024 };

void vs_map_deinit(const vs_host *host, vs_map *map);
void vs_map_clear(vs_map *map);

/* Makes room for one more entry, so that vs_map_add cannot fail. A crowded table grows whatever its count.
 *
 * Fails: VS_NO_MEMORY; VS_LIMIT  it is crowded and nearly empty, which does not happen by chance: the keys were chosen to
 *        collide, or thousands of them are equal */
VS_MUST_CHECK vs_status vs_map_reserve(const vs_host *host, vs_map *map);

/* The same, for a table that is at most half full: it takes more memory, and a key that is not there is found to be so in a third of the slots. */
VS_MUST_CHECK vs_status vs_map_reserve_sparse(const vs_host *host, vs_map *map);

/* Adds an entry without looking for an equal key (a second one of the same key is found after the first). Room must be
 * there. */
void vs_map_add(vs_map *map, uint64_t key, uint32_t value);

/* The slot of the first entry with `key`, or VS_MAP_NONE. */
static inline size_t vs_map_find(const vs_map *map, uint64_t key) {
  if (map->count == 0) return VS_MAP_NONE;
  const size_t mask = map->capacity - 1;
  for (size_t i = (size_t)vs_hash_u64(key) & mask; map->slots[i].used; i = (i + 1) & mask)
    if (map->slots[i].key == key) return i;
  return VS_MAP_NONE;
}

/* The slot of the next entry with the key of `slot`, or VS_MAP_NONE. */
static inline size_t vs_map_find_next(const vs_map *map, size_t slot) {
  const size_t mask = map->capacity - 1;
  VS_ASSERT(slot < map->capacity && map->slots[slot].used);
  for (size_t i = (slot + 1) & mask; map->slots[i].used; i = (i + 1) & mask)
    if (map->slots[i].key == map->slots[slot].key) return i;
  return VS_MAP_NONE;
}

/* Has the processor fetch the slot where `key` is looked for first, of a map whose slots are, or were, at the address `slots`, and whose capacity is
 * `mask` + 1. It reads nothing, so it may be called while another thread changes the map. */
static inline void vs_map_fetch_at(uint64_t slots, uint64_t mask, uint64_t key) {
  __builtin_prefetch((const void *)(uintptr_t)(slots + (vs_hash_u64(key) & mask) * sizeof(vs_map_slot)), 1);
}

/* Removes the entry of `slot`; other entries may move. */
void vs_map_remove(vs_map *map, size_t slot);

/* Executes the invariant; NULL if it holds, else what does not, in words. */
const char *vs_map_check(const vs_map *map);

#endif
