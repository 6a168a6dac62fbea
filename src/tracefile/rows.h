/* Interned rows of a few 64-bit words: equal rows have equal ids, which are dense and begin at 0. */
#ifndef VS_TRACEFILE_ROWS_H
#define VS_TRACEFILE_ROWS_H

#include "base/map.h"
#include "base/vec.h"

typedef struct vs_rows {
  VS_VEC(uint64_t) words;
  uint32_t width; /* words of a row */
  vs_map by_hash;
} vs_rows;

static inline uint32_t vs_rows_count(const vs_rows *rows) {
  return (uint32_t)(rows->words.count / rows->width);
}
static inline const uint64_t *vs_rows_at(const vs_rows *rows, uint32_t id) {
  return rows->words.data + (size_t)id * rows->width;
}

/* The id of an equal row, VS_ROWS_NONE if there is none. */
#define VS_ROWS_NONE UINT32_MAX
uint32_t vs_rows_find(const vs_rows *rows, const uint64_t *row);

VS_MUST_CHECK vs_status vs_rows_intern(const vs_host *host, vs_rows *rows, const uint64_t *row, uint32_t *id);
void vs_rows_deinit(const vs_host *host, vs_rows *rows);

#endif
