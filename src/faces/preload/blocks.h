/* The blocks that are live, by address, with what was requested for each.
 *
 * Invariant: `at` has the row of each live block; the other rows are a list that begins at `unused` and goes on at `requested`. */
#ifndef VS_PRELOAD_BLOCKS_H
#define VS_PRELOAD_BLOCKS_H

#include "base/map.h"
#include "base/vec.h"
#include "event/event.h"

typedef struct vs_live_block {
  uint64_t address, requested, bytes, stream;
  vs_context stack;
} vs_live_block;

typedef struct vs_live_blocks {
  vs_map at;
  VS_VEC(vs_live_block) rows;
  uint64_t unused; /* 1 + row; 0: none */
} vs_live_blocks;

/* Has the processor fetch the row of the block that is added next, while something else is done. */
static inline void vs_live_blocks_fetch(const vs_live_blocks *blocks) {
  if (blocks->unused != 0) __builtin_prefetch(&blocks->rows.data[blocks->unused - 1], 1);
}

/* Adds a block; one that is live at its address is replaced. Fails: VS_NO_MEMORY, VS_LIMIT; it is not there then */
VS_MUST_CHECK vs_status vs_live_blocks_add(vs_live_blocks *blocks, const vs_host *host,
                                           const vs_live_block *block);

/* Removes the block at `address`. False: there is none. */
bool vs_live_blocks_take(vs_live_blocks *blocks, uint64_t address, vs_live_block *taken);

/* The rows of all live blocks by address. Owner: the caller, who frees them. Fails: VS_NO_MEMORY */
typedef struct vs_block_rows {
  uint32_t *data;
  size_t count;
} vs_block_rows;
VS_MUST_CHECK vs_status vs_live_blocks_sort(const vs_live_blocks *blocks, const vs_host *host,
                                            vs_block_rows *rows);

void vs_live_blocks_free(vs_live_blocks *blocks, const vs_host *host);

#endif
