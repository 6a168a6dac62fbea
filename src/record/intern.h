/* What the tables of numbers have in common: from a 64-bit hash to a number, read by any thread without a
 * lock while one at a time adds. Private to record.
 *
 * Invariant: capacity is a power of two, count <= capacity / 2; between a hash's home and its slot no slot
 * is empty; a slot is empty while its hash is 0, never changes afterwards, and its value was stored before
 * its hash. */
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

/* Room for `most` entries; only those that come cost memory. Fails: VS_NO_MEMORY */
VS_MUST_CHECK vs_status vs_intern_init(vs_intern *table, uint32_t most);
void vs_intern_deinit(vs_intern *table);

/* Hashes as the table wants them: never 0. */
static inline uint64_t vs_intern_hash(uint64_t hash) { return hash == 0 ? 1 : hash; }

/* The next entry with `hash`, from *place on, which begins as the hash. False: there is no other. */
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

/* Adds an entry; the caller holds the table's lock, and it is not full. */
void vs_intern_add(vs_intern *table, uint64_t hash, uint32_t value);

#endif
