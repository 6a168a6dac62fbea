#include "faces/preload/blocks.h"
#include "base/sort.h"

vs_status vs_live_blocks_add(vs_live_blocks *blocks, const vs_host *host, const vs_live_block *block) {
  const size_t slot = vs_map_find(&blocks->at, block->address);
  if (slot != VS_MAP_NONE) {
    blocks->rows.data[blocks->at.slots[slot].value] = *block;
    return VS_OK;
  }
  VS_TRY(vs_map_reserve_sparse(host, &blocks->at));
  size_t row = blocks->unused - 1;
  if (blocks->unused == 0) {
    VS_TRY(vs_vec_reserve(host, &blocks->rows, 1));
    row = blocks->rows.count++;
  } else {
    blocks->unused = blocks->rows.data[row].requested;
  }
  VS_ASSERT(row < blocks->rows.count && row < UINT32_MAX);
  blocks->rows.data[row] = *block;
  vs_map_add(&blocks->at, block->address, (uint32_t)row);
  return VS_OK;
}

bool vs_live_blocks_take(vs_live_blocks *blocks, uint64_t address, vs_live_block *taken) {
  const size_t slot = vs_map_find(&blocks->at, address);
  if (slot == VS_MAP_NONE) return false;
  const uint32_t row = blocks->at.slots[slot].value;
  *taken = blocks->rows.data[row];
  VS_ASSERT(taken->address == address);
  vs_map_remove(&blocks->at, slot);
  blocks->rows.data[row].requested = blocks->unused;
  blocks->unused = (uint64_t)row + 1;
  return true;
}

static bool is_before(const void *ctx, uint32_t a, uint32_t b) {
  const vs_live_blocks *blocks = ctx;
  return blocks->rows.data[a].address < blocks->rows.data[b].address;
}

vs_status vs_live_blocks_sort(const vs_live_blocks *blocks, const vs_host *host, vs_block_rows *rows) {
  *rows = (vs_block_rows){.count = 0};
  if (blocks->at.count == 0) return VS_OK;
  rows->data = vs_host_alloc(host, blocks->at.count * sizeof *rows->data);
  if (rows->data == NULL) return VS_NO_MEMORY;
  for (size_t i = 0; i < blocks->at.capacity; i++)
    if (blocks->at.slots[i].used) rows->data[rows->count++] = blocks->at.slots[i].value;
  VS_ASSERT(rows->count == blocks->at.count);
  const vs_status status = vs_sort_rows(host, rows->data, rows->count, is_before, blocks);
  if (status != VS_OK) vs_host_free(host, rows->data, blocks->at.count * sizeof *rows->data);
  return status;
}

void vs_live_blocks_free(vs_live_blocks *blocks, const vs_host *host) {
  vs_map_deinit(host, &blocks->at);
  vs_vec_free(host, &blocks->rows);
  blocks->unused = 0;
}
