#include "tracefile/rows.h"

static uint32_t find_hashed(const vs_rows *rows, const uint64_t *row, uint64_t hash) {
  for (size_t slot = vs_map_find(&rows->by_hash, hash); slot != VS_MAP_NONE;
       slot = vs_map_find_next(&rows->by_hash, slot)) {
    const uint32_t id = rows->by_hash.slots[slot].value;
    if (memcmp(vs_rows_at(rows, id), row, rows->width * sizeof *row) == 0) return id;
  }
  return VS_ROWS_NONE;
}

uint32_t vs_rows_find(const vs_rows *rows, const uint64_t *row) {
  return find_hashed(rows, row, vs_hash_bytes(row, rows->width * sizeof *row));
}

vs_status vs_rows_intern(const vs_host *host, vs_rows *rows, const uint64_t *row, uint32_t *id) {
  const uint64_t hash = vs_hash_bytes(row, rows->width * sizeof *row);
  *id = find_hashed(rows, row, hash);
  if (*id != VS_ROWS_NONE) return VS_OK;
  if (vs_rows_count(rows) >= VS_ROWS_NONE - 1) return VS_LIMIT;
  VS_TRY(vs_vec_reserve(host, &rows->words, rows->width));
  VS_TRY(vs_map_reserve(host, &rows->by_hash));
  *id = vs_rows_count(rows);
  memcpy(rows->words.data + rows->words.count, row, rows->width * sizeof *row);
  rows->words.count += rows->width;
  vs_map_add(&rows->by_hash, hash, *id);
  return VS_OK;
}

void vs_rows_deinit(const vs_host *host, vs_rows *rows) {
  vs_vec_free(host, &rows->words);
  vs_map_deinit(host, &rows->by_hash);
}
