/* The table of addresses, and slabs of blocks. */
#include "alloc/block.h"

vs_status vs_alloc_table_reserve(const vs_host *host, vs_alloc_table *table, uint64_t count) {
  if (table->capacity >= count) return VS_OK;
  uint64_t capacity = table->capacity == 0 ? 2 : table->capacity;
  while (capacity < count) capacity *= 2;
  size_t bytes;
  if (capacity > SIZE_MAX || !vs_mul_size((size_t)capacity, sizeof *table->chains, &bytes))
    return VS_NO_MEMORY;
  vs_alloc_block **chains = vs_host_alloc(host, bytes);
  if (chains == NULL) return VS_NO_MEMORY;
  memset(chains, 0, bytes);
  const vs_alloc_table old = *table;
  *table = (vs_alloc_table){chains, capacity, 64 - (uint32_t)__builtin_ctzll(capacity)};
  for (uint64_t i = 0; i < old.capacity; i++)
    for (vs_alloc_block *block = old.chains[i], *next; block != NULL; block = next) {
      next = block->right;
      vs_alloc_table_add(table, block);
    }
  vs_host_free(host, old.chains, (size_t)old.capacity * sizeof *old.chains);
  return VS_OK;
}

void vs_alloc_table_deinit(const vs_host *host, vs_alloc_table *table) {
  vs_host_free(host, table->chains, (size_t)table->capacity * sizeof *table->chains);
  *table = (vs_alloc_table){0};
}

vs_alloc_block *vs_alloc_table_next(const vs_alloc_table *table, const vs_alloc_block *last) {
  if (last != NULL && last->right != NULL) return last->right;
  vs_alloc_block **chain = last == NULL ? table->chains : vs_alloc_table_chain(table, last->address) + 1;
  for (; chain < table->chains + table->capacity; chain++)
    if (*chain != NULL) return *chain;
  return NULL;
}

const char *vs_alloc_table_check(const vs_alloc_table *table) {
  if ((table->capacity & (table->capacity - 1)) != 0) return "the table's capacity is a power of two";
  for (uint64_t i = 0; i < table->capacity; i++)
    for (const vs_alloc_block *block = table->chains[i]; block != NULL; block = block->right) {
      if (block->place != VS_PLACE_ALLOCATED) return "the table holds allocated blocks";
      if (vs_alloc_table_find(table, block->address) != block) return "a block is found by its address";
    }
  return NULL;
}

/* ---- all blocks -------------------------------------------------------------------------------------------- */

static vs_status slab_add(const vs_host *host, vs_alloc_blocks *blocks) {
  VS_TRY(vs_vec_reserve(host, &blocks->slabs, 1));
  VS_TRY(
      vs_alloc_table_reserve(host, &blocks->allocated, (blocks->slabs.count + 1) * (uint64_t)VS_ALLOC_SLAB));
  vs_alloc_block *slab = vs_host_alloc(host, VS_ALLOC_SLAB * sizeof *slab);
  if (slab == NULL) return VS_NO_MEMORY;
  memset(slab, 0, VS_ALLOC_SLAB * sizeof *slab);
  blocks->slabs.data[blocks->slabs.count++] = slab;
  for (size_t i = VS_ALLOC_SLAB; i-- > 0;) vs_alloc_blocks_give(blocks, &slab[i]);
  return VS_OK;
}

vs_status vs_alloc_blocks_reserve_slow(const vs_host *host, vs_alloc_blocks *blocks, uint64_t count) {
  while (blocks->spare_count < count) VS_TRY(slab_add(host, blocks));
  return VS_OK;
}

void vs_alloc_blocks_deinit(const vs_host *host, vs_alloc_blocks *blocks) {
  for (size_t i = 0; i < blocks->slabs.count; i++)
    vs_host_free(host, blocks->slabs.data[i], VS_ALLOC_SLAB * sizeof *blocks->slabs.data[i]);
  vs_vec_free(host, &blocks->slabs);
  vs_alloc_table_deinit(host, &blocks->allocated);
}
