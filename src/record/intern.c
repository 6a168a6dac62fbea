#include "record/intern.h"
#include "base/check.h"
#include "os/pages.h"

vs_status vs_intern_init(vs_intern *table, uint32_t most) {
  *table = (vs_intern){.capacity = 16};
  while (table->capacity / 2 < most) table->capacity *= 2;
  void *pages = NULL;
  VS_TRY(vs_pages_map((size_t)table->capacity * sizeof *table->slots, VS_PAGES_LAZY, &pages));
  table->slots = pages;
  return VS_OK;
}

void vs_intern_deinit(vs_intern *table) {
  vs_pages_unmap(table->slots, (size_t)table->capacity * sizeof *table->slots);
  *table = (vs_intern){0};
}

void vs_intern_add(vs_intern *table, uint64_t hash, uint32_t value) {
  VS_ASSERT(!vs_intern_is_full(table) && hash != 0);
  const uint64_t mask = table->capacity - 1;
  uint64_t place = hash;
  while (atomic_load_explicit(&table->slots[place & mask].hash, memory_order_relaxed) != 0) place++;
  table->slots[place & mask].value = value;
  atomic_store_explicit(&table->slots[place & mask].hash, hash, memory_order_release);
  table->count++;
}

const char *vs_intern_check(const vs_intern *table, uint64_t values) {
  const uint64_t mask = table->capacity - 1;
  uint64_t count = 0;
  if (table->capacity == 0 || (table->capacity & mask) != 0)
    return "an intern table's capacity is no power of two";
  if (table->count > table->capacity / 2) return "an intern table is too full";
  for (uint64_t i = 0; i < table->capacity && count <= table->count; i++) {
    const uint64_t hash = atomic_load_explicit(&table->slots[i].hash, memory_order_relaxed);
    if (hash == 0) continue;
    count++;
    if (table->slots[i].value >= values) return "an intern table has a number that was never given";
    for (uint64_t at = hash & mask; at != i; at = (at + 1) & mask)
      if (atomic_load_explicit(&table->slots[at].hash, memory_order_relaxed) == 0)
        return "an entry of an intern table cannot be found";
  }
  return count == table->count ? NULL : "an intern table's count is wrong";
}
