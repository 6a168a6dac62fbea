/* The free blocks of one stream in one pool (a *lane*), in the order of PyTorch's free sets: size, then
 * the segment's number (`registration`: which came first from the driver), then address.
 *
 * Sizes are counted in units of 512 bytes. Row 0 holds the sizes 1 .. 63, row r >= 1 the sizes from 64 << (r - 1) to
 * below twice that; each row has 64 bins of equal width. So the rows 0 and 1 are exact, and every block of a later bin
 * is larger than every block of an earlier one:
 *
 *   the smallest block that fits = the first that fits in the request's own bin, else the first block of the next bin
 *
 * which two bitmaps find. Most bins hold few blocks, so a bin is a sorted list (left and right are its links). A bin that
 * grows longer than VS_ALLOC_LONG_LIST becomes a treap (left and right are children; the priority is a hash of the
 * address) until it is empty, so that finding one of ten thousand cached blocks of one size takes logarithmic time.
 *
 * Unmapped address ranges are few, so they are a list by address, through `left` and `right`.
 *
 * Invariant: bit r of `used_rows` = row r has a used bin; bit b of row.used = bin b is not empty; bit b of row.trees = it
 * is a treap; free_blocks and free_bytes = sums over all bins. */
#ifndef VS_ALLOC_BINS_H
#define VS_ALLOC_BINS_H

#include "alloc/block.h"

struct vs_alloc_pool;

enum {
  VS_ALLOC_BINS = 64,
  VS_ALLOC_MOST_ROWS = 48,
  VS_ALLOC_LONG_LIST = VS_HOSTILE ? 3 : 24,
  VS_ALLOC_UNIT_SHIFT = 9
};

typedef struct vs_alloc_row {
  uint64_t used, trees;
  vs_alloc_block *bins[VS_ALLOC_BINS];
} vs_alloc_row;

struct vs_alloc_lane {
  uint64_t stream;
  struct vs_alloc_pool *pool;
  uint64_t used_rows;
  vs_alloc_row *rows;
  uint32_t row_count;
  vs_alloc_block *unmapped; /* lowest address first */
  uint64_t free_blocks, free_bytes;
  uint64_t allocated_bytes,
      allocated_peak; /* of its allocated blocks; the peak since the last reset of peaks */
};

/* Row 0 is computed as if its sizes were 64 .. 127, which avoids a branch. */
static inline uint32_t vs_alloc_bin_of(uint64_t size) {
  const uint64_t units = size >> VS_ALLOC_UNIT_SHIFT;
  const uint32_t shift = 57 - (uint32_t)__builtin_clzll(units | VS_ALLOC_BINS);
  return shift * VS_ALLOC_BINS + (uint32_t)(units >> shift);
}

/* Makes room for blocks of up to `size` bytes, so that adding one cannot fail. */
VS_MUST_CHECK vs_status vs_alloc_lane_reserve(const vs_host *host, vs_alloc_lane *lane, uint64_t size);
void vs_alloc_lane_deinit(const vs_host *host, vs_alloc_lane *lane);

void vs_alloc_lane_add(vs_alloc_lane *lane, vs_alloc_block *block);

/* The rare cases of removal: the bin is a treap, or becomes empty. */
void vs_alloc_lane_remove_tree(vs_alloc_row *row, uint32_t bin, vs_alloc_block *block);
static inline void vs_alloc_lane_empty_bin(vs_alloc_lane *lane, uint32_t row, uint32_t bin) {
  const uint64_t bit = UINT64_C(1) << bin;
  VS_ASSERT(lane->rows[row].bins[bin] == NULL);
  lane->rows[row].used &= ~bit;
  lane->rows[row].trees &= ~bit;
  lane->used_rows &= ~((uint64_t)(lane->rows[row].used == 0) << row);
}

static inline void vs_alloc_lane_remove(vs_alloc_lane *lane, vs_alloc_block *block) {
  const uint32_t r = block->bin / VS_ALLOC_BINS, b = block->bin % VS_ALLOC_BINS;
  VS_ASSERT(block->lane == lane && block->place == VS_PLACE_FREE &&
            block->bin == vs_alloc_bin_of(block->size));
  VS_ASSERT(lane->free_blocks > 0 && lane->free_bytes >= block->size);
  vs_alloc_row *row = &lane->rows[r];
  if ((row->trees >> b & 1) != 0) {
    vs_alloc_lane_remove_tree(row, b, block);
  } else {
    if (block->right != NULL) block->right->left = block->left;
    *(block->left != NULL ? &block->left->right : &row->bins[b]) = block->right;
  }
  lane->free_blocks--;
  lane->free_bytes -= block->size;
  if (row->bins[b] == NULL) vs_alloc_lane_empty_bin(lane, r, b);
}

/* The first block of at least `size` bytes, NULL if there is none. */
vs_alloc_block *vs_alloc_lane_fit(const vs_alloc_lane *lane, uint64_t size);

/* The neighbours of a block in the lane's order, NULL at the ends; the first and the last block. */
vs_alloc_block *vs_alloc_lane_after(const vs_alloc_lane *lane, const vs_alloc_block *block);
vs_alloc_block *vs_alloc_lane_before(const vs_alloc_lane *lane, const vs_alloc_block *block);
vs_alloc_block *vs_alloc_lane_first(const vs_alloc_lane *lane);
vs_alloc_block *vs_alloc_lane_last(const vs_alloc_lane *lane);

void vs_alloc_unmapped_add(vs_alloc_lane *lane, vs_alloc_block *block);
void vs_alloc_unmapped_remove(vs_alloc_lane *lane, vs_alloc_block *block);

/* Executes the invariant; NULL if it holds, else the one that does not, in words. */
const char *vs_alloc_lane_check(const vs_alloc_lane *lane);

#endif
