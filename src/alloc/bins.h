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
 * Invariant: bit r of `used_rows` = row r has a used bin; bit b of used[r] = bin b of row r is not empty. All blocks of a bin
 * know whether it is a treap. A bin's index is row * 64 + bin; the rows from row_count on have no bins, and none of them is
 * used. */
#ifndef VS_ALLOC_BINS_H
#define VS_ALLOC_BINS_H

#include "alloc/block.h"

struct vs_alloc_pool;

enum {
  VS_ALLOC_BINS = 64,
  VS_ALLOC_MOST_ROWS = 50, /* the last row has the sizes from 2^63 */
  VS_ALLOC_LONG_LIST = VS_HOSTILE ? 3 : 24,
  VS_ALLOC_UNIT_SHIFT = 9
};

struct vs_alloc_lane {
  uint64_t stream;
  struct vs_alloc_pool *pool;
  vs_alloc_block **bins; /* by index */
  uint64_t used_rows;
  uint64_t allocated_bytes,
      allocated_peak;       /* of its allocated blocks; the peak since the last reset of peaks */
  vs_alloc_block *unmapped; /* lowest address first */
  uint32_t row_count;
  uint64_t used[VS_ALLOC_MOST_ROWS];
};

/* The index of the bin for blocks of a size. Row 0 is computed as if its sizes were 64 .. 127, which avoids a branch. */
static inline uint32_t vs_alloc_bin_of(uint64_t size) {
  const uint64_t units = size >> VS_ALLOC_UNIT_SHIFT;
  const uint32_t shift = 57 - (uint32_t)__builtin_clzll(units | VS_ALLOC_BINS);
  return shift * VS_ALLOC_BINS + (uint32_t)(units >> shift);
}

/* Makes room for blocks of up to `size` bytes, so that adding one cannot fail. */
VS_MUST_CHECK vs_status vs_alloc_lane_reserve(const vs_host *host, vs_alloc_lane *lane, uint64_t size);
void vs_alloc_lane_deinit(const vs_host *host, vs_alloc_lane *lane);

void vs_alloc_lane_add(vs_alloc_lane *lane, vs_alloc_block *block);

/* The rare case of removal: the bin is a treap. */
void vs_alloc_lane_remove_tree(vs_alloc_lane *lane, vs_alloc_block *block);

/* Clears the bits of a bin that became empty. */
static inline void vs_alloc_lane_empty_bin(vs_alloc_lane *lane, uint32_t index) {
  const uint32_t r = index / VS_ALLOC_BINS;
  const uint64_t bit = UINT64_C(1) << index % VS_ALLOC_BINS;
  VS_ASSERT(lane->bins[index] == NULL);
  lane->used[r] &= ~bit;
  if (lane->used[r] == 0) lane->used_rows &= ~(UINT64_C(1) << r);
}

static inline void vs_alloc_lane_remove(vs_alloc_lane *lane, vs_alloc_block *block) {
  const uint32_t index = block->bin;
  VS_ASSERT(block->lane == lane && block->place == VS_PLACE_FREE && index == vs_alloc_bin_of(block->size));
  if (block->is_in_tree) {
    vs_alloc_lane_remove_tree(lane, block);
    return;
  }
  if (block->right != NULL) block->right->left = block->left;
  if (block->left != NULL) {
    block->left->right = block->right;
  } else {
    lane->bins[index] = block->right;
    if (block->right == NULL) vs_alloc_lane_empty_bin(lane, index);
  }
}

/* The first block of at least `size` bytes, NULL if there is none. */
vs_alloc_block *vs_alloc_lane_fit(const vs_alloc_lane *lane, uint64_t size);

/* The neighbours of a block in the lane's order, NULL at the ends; the first and the last block. */
vs_alloc_block *vs_alloc_lane_after(const vs_alloc_lane *lane, const vs_alloc_block *block);
vs_alloc_block *vs_alloc_lane_before(const vs_alloc_lane *lane, const vs_alloc_block *block);
vs_alloc_block *vs_alloc_lane_first(const vs_alloc_lane *lane);
vs_alloc_block *vs_alloc_lane_last(const vs_alloc_lane *lane);

/* Counts the lane's free blocks and their bytes. */
void vs_alloc_lane_sum(const vs_alloc_lane *lane, uint64_t *blocks, uint64_t *bytes);

void vs_alloc_unmapped_add(vs_alloc_lane *lane, vs_alloc_block *block);
void vs_alloc_unmapped_remove(vs_alloc_lane *lane, vs_alloc_block *block);

/* Executes the invariant; NULL if it holds, else the one that does not, in words. */
const char *vs_alloc_lane_check(const vs_alloc_lane *lane);

#endif
