/* A table from 64-bit hashes to numbers, which any thread reads without a lock while one thread at a time adds.
 * Private to record.
 *
 * Invariant: capacity is a power of two, count <= capacity / 2; no slot between a hash's home and its slot is empty;
 * a slot is empty while its hash is 0, does not change afterwards, and its value was stored before its hash. */
#ifndef VS_RECORD_INTERN_H
#define VS_RECORD_INTERN_H

#include "base/hash.h"
#include <stdatomic.h>
#include <vramscope/base.h>

typedef struct vs_intern_slot {
  _Atomic uint64_t hash;
  uint64_t value;
} vs_intern_slot;

typedef struct vs_intern {
  vs_intern_slot *slots;
  uint64_t capacity, count;
} vs_intern;

/* Reserves addresses for `most` entries; only used entries take memory. Fails: VS_NO_MEMORY */
VS_MUST_CHECK vs_status vs_intern_init(vs_intern *table, uint32_t most);
void vs_intern_deinit(vs_intern *table);

/* The hash that the table stores: never 0. */
static inline uint64_t vs_intern_hash(uint64_t hash) { return hash == 0 ? 1 : hash; }

/* The next entry with `hash`, from *place on, which the caller sets to the hash at first. False: there is no other. */
static inline bool vs_intern_find(const vs_intern *table, uint64_t hash, uint64_t *place, uint32_t *value) {
  const uint64_t mask = table->capacity - 1;
  for (;;) {
    vs_intern_slot *slot = &table->slots[(*place)++ & mask];
    const uint64_t there = atomic_load_explicit(&slot->hash, memory_order_acquire);
    if (there == hash) {
      *value = (uint32_t)slot->value;
      return true;
    }
    if (there == 0) return false;
  }
}

static inline bool vs_intern_is_full(const vs_intern *table) { return table->count >= table->capacity / 2; }

/* Adds an entry. The caller holds the table's lock, and the table is not full. */
void vs_intern_add(vs_intern *table, uint64_t hash, uint32_t value);

/* Executes the invariant, and that all values are below `values`; NULL if it holds, else what does not, in words. Only
 * under the table's lock. */
const char *vs_intern_check(const vs_intern *table, uint64_t values);

#endif
