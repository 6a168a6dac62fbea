/* An ordered map from uint64_t to uint32_t for sets of a few thousand that change all the time (live blocks by address,
 * mapped ranges by address): insert, remove, exact look-up, predecessor and successor, walk in order.
 *
 * A list of chunks, each a sorted array of at most VS_ORDMAP_CHUNK keys, and one array of the chunks in order with the
 * first key of each. A look-up is a binary search over the first keys and one inside the chunk; an insertion moves at
 * most one chunk's tail. For the sizes met here (10^2 .. 10^5 keys) this beats balanced trees by its cache lines.
 *
 * Invariant: no chunk is empty; keys rise inside each chunk and from chunk to chunk; firsts[i] = chunks[i]->keys[0];
 * count = sum of the chunks' counts. Positions become invalid with the next insert or remove. */
#ifndef VS_BASE_ORDMAP_H
#define VS_BASE_ORDMAP_H

#include "base/vec.h"

enum { VS_ORDMAP_CHUNK = VS_HOSTILE ? 4 : 64 };

typedef struct vs_ordmap_chunk {
  uint64_t keys[VS_ORDMAP_CHUNK];
  uint32_t values[VS_ORDMAP_CHUNK];
  uint32_t count;
} vs_ordmap_chunk;

typedef struct vs_ordmap {
  VS_VEC(uint64_t) firsts;
  VS_VEC(vs_ordmap_chunk *) chunks; /* as many as firsts */
  vs_ordmap_chunk *spare; /* one unused chunk, so that alternating puts and removes do not allocate */
  size_t count;
} vs_ordmap;

typedef struct vs_ordmap_pos {
  uint32_t chunk; /* = chunks.count: after the last entry */
  uint32_t slot;
} vs_ordmap_pos;

void vs_ordmap_deinit(const vs_host *host, vs_ordmap *map);

/* Adds `key` or gives it a new value. */
VS_MUST_CHECK vs_status vs_ordmap_put(const vs_host *host, vs_ordmap *map, uint64_t key, uint32_t value);
void vs_ordmap_remove(const vs_host *host, vs_ordmap *map, vs_ordmap_pos pos);

/* The first entry with a key >= `key`. */
vs_ordmap_pos vs_ordmap_lower(const vs_ordmap *map, uint64_t key);
/* The last entry with a key <= `key`; false if there is none. */
bool vs_ordmap_floor(const vs_ordmap *map, uint64_t key, vs_ordmap_pos *pos);
/* The entry with exactly `key`; false if there is none. */
bool vs_ordmap_find(const vs_ordmap *map, uint64_t key, vs_ordmap_pos *pos);

static inline vs_ordmap_pos vs_ordmap_begin(void) { return (vs_ordmap_pos){0, 0}; }
static inline bool vs_ordmap_at_end(const vs_ordmap *map, vs_ordmap_pos pos) {
  return pos.chunk >= map->chunks.count;
}
static inline uint64_t vs_ordmap_key(const vs_ordmap *map, vs_ordmap_pos pos) {
  VS_ASSERT(pos.chunk < map->chunks.count && pos.slot < map->chunks.data[pos.chunk]->count);
  return map->chunks.data[pos.chunk]->keys[pos.slot];
}
static inline uint32_t vs_ordmap_value(const vs_ordmap *map, vs_ordmap_pos pos) {
  return map->chunks.data[pos.chunk]->values[pos.slot];
}
static inline vs_ordmap_pos vs_ordmap_next(const vs_ordmap *map, vs_ordmap_pos pos) {
  if (++pos.slot >= map->chunks.data[pos.chunk]->count) pos = (vs_ordmap_pos){pos.chunk + 1, 0};
  return pos;
}
/* false when `pos` is the first entry. */
bool vs_ordmap_previous(const vs_ordmap *map, vs_ordmap_pos *pos);

/* Executes the invariant. */
bool vs_ordmap_check(const vs_ordmap *map);

#endif
