/* Slabs of blocks, growing the table of addresses, and its check. */
#include "alloc/block.h"

vs_status vs_alloc_blocks_reserve_slow(const vs_host *host, vs_alloc_blocks *blocks, uint64_t count) {
  while (blocks->spare_count < count) {
    VS_TRY(vs_vec_reserve(host, &blocks->slabs, 1));
    vs_alloc_block *slab = vs_host_alloc(host, VS_ALLOC_SLAB * sizeof *slab);
    if (slab == NULL) return VS_NO_MEMORY;
    blocks->slabs.data[blocks->slabs.count++] = slab;
    for (size_t i = VS_ALLOC_SLAB; i-- > 0;) vs_alloc_blocks_give(blocks, &slab[i]);
  }
  return VS_OK;
}

void vs_alloc_blocks_deinit(const vs_host *host, vs_alloc_blocks *blocks) {
  for (size_t i = 0; i < blocks->slabs.count; i++)
    vs_host_free(host, blocks->slabs.data[i], VS_ALLOC_SLAB * sizeof *blocks->slabs.data[i]);
  vs_vec_free(host, &blocks->slabs);
}

vs_status vs_alloc_table_grow(const vs_host *host, vs_alloc_table *table) {
  const uint64_t capacity = table->capacity == 0 ? (VS_HOSTILE ? 4 : 1024) : 2 * table->capacity;
  size_t bytes;
  if (capacity > SIZE_MAX || !vs_mul_size((size_t)capacity, sizeof *table->entries, &bytes))
    return VS_NO_MEMORY;
  vs_alloc_block **entries = vs_host_alloc(host, bytes);
  if (entries == NULL) return VS_NO_MEMORY;
  memset(entries, 0, bytes);
  const vs_alloc_table old = *table;
  *table = (vs_alloc_table){entries, capacity, 0, 64 - (uint32_t)__builtin_ctzll(capacity)};
  for (uint64_t i = 0; i < old.capacity; i++)
    if (old.entries[i] != NULL) vs_alloc_table_add(table, old.entries[i]->address, old.entries[i]);
  VS_ASSERT(table->count == old.count);
  vs_host_free(host, old.entries, (size_t)old.capacity * sizeof *old.entries);
  return VS_OK;
}

const char *vs_alloc_table_check(const vs_alloc_table *table) {
  if ((table->capacity & (table->capacity - 1)) != 0) return "the table's capacity is a power of two";
  if (4 * table->count > table->capacity) return "the table is at most a quarter full";
  uint64_t count = 0;
  for (uint64_t i = 0; i < table->capacity; i++) {
    const vs_alloc_block *block = table->entries[i];
    if (block == NULL) continue;
    count++;
    if (block->place != VS_PLACE_ALLOCATED) return "the table holds allocated blocks";
    if (vs_alloc_table_find(table, block->address) != block) return "a block is found by its address";
  }
  return count == table->count ? NULL : "the table's count = its entries";
}

void vs_alloc_table_deinit(const vs_host *host, vs_alloc_table *table) {
  vs_host_free(host, table->entries, (size_t)table->capacity * sizeof *table->entries);
  *table = (vs_alloc_table){0};
}
