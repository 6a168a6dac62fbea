#include "alloc/bins.h"

#include "base/hash.h"

vs_status vs_alloc_lane_reserve(const vs_host *host, vs_alloc_lane *lane, uint64_t size) {
  const uint32_t row = vs_alloc_bin_of(size) / VS_ALLOC_BINS;
  if (row < lane->row_count) return VS_OK;
  const size_t bytes_of_row = VS_ALLOC_BINS * sizeof *lane->bins;
  const size_t old = lane->row_count * bytes_of_row, new = (row + 1) * bytes_of_row;
  vs_alloc_block **bins = host->resize(host->ctx, lane->bins, old, new);
  if (bins == NULL) return VS_NO_MEMORY;
  memset(bins + lane->row_count * VS_ALLOC_BINS, 0, new - old);
  lane->bins = bins;
  lane->row_count = row + 1;
  return VS_OK;
}

void vs_alloc_lane_deinit(const vs_host *host, vs_alloc_lane *lane) {
  vs_host_free(host, lane->bins, lane->row_count * VS_ALLOC_BINS * sizeof *lane->bins);
}

/* ---- order ----------------------------------------------------------------------------------------------- */

static inline bool is_before(const vs_alloc_block *a, const vs_alloc_block *b) {
  if (a->size != b->size) return a->size < b->size;
  if (a->registration != b->registration) return a->registration < b->registration;
  return a->address < b->address;
}

/* ---- a bin as a treap -------------------------------------------------------------------------------------- */

static uint64_t priority(const vs_alloc_block *block) { return vs_hash_u64(block->address); }

/* Everything before `block` goes into *less, the rest into *more. */
static void tree_split(vs_alloc_block *tree, const vs_alloc_block *block, vs_alloc_block **less,
                       vs_alloc_block **more) {
  while (tree != NULL) {
    if (is_before(tree, block)) {
      *less = tree;
      less = &tree->right;
      tree = tree->right;
    } else {
      *more = tree;
      more = &tree->left;
      tree = tree->left;
    }
  }
  *less = NULL;
  *more = NULL;
}

static void tree_add(vs_alloc_block **root, vs_alloc_block *block) {
  const uint64_t own = priority(block);
  while (*root != NULL && priority(*root) >= own)
    root = is_before(block, *root) ? &(*root)->left : &(*root)->right;
  tree_split(*root, block, &block->left, &block->right);
  block->is_in_tree = true;
  *root = block;
}

static void tree_remove(vs_alloc_block **root, vs_alloc_block *block) {
  while (*root != block) root = is_before(block, *root) ? &(*root)->left : &(*root)->right;
  vs_alloc_block *less = block->left, *more = block->right;
  while (less != NULL && more != NULL) {
    if (priority(less) >= priority(more)) {
      *root = less;
      root = &less->right;
      less = less->right;
    } else {
      *root = more;
      root = &more->left;
      more = more->left;
    }
  }
  *root = less != NULL ? less : more;
}

static vs_alloc_block *tree_first(vs_alloc_block *tree) {
  while (tree->left != NULL) tree = tree->left;
  return tree;
}

static vs_alloc_block *tree_last(vs_alloc_block *tree) {
  while (tree->right != NULL) tree = tree->right;
  return tree;
}

/* ---- a bin as a list --------------------------------------------------------------------------------------- */

/* Inserts the block in order; returns the number of blocks before it. */
static uint32_t list_add(vs_alloc_block **first, vs_alloc_block *block) {
  vs_alloc_block *before = NULL, *after = *first;
  uint32_t passed = 0;
  for (; after != NULL && is_before(after, block); passed++) {
    before = after;
    after = after->right;
  }
  block->left = before;
  block->right = after;
  if (after != NULL) after->left = block;
  *(before != NULL ? &before->right : first) = block;
  return passed;
}

static void list_remove(vs_alloc_block **first, vs_alloc_block *block) {
  if (block->right != NULL) block->right->left = block->left;
  *(block->left != NULL ? &block->left->right : first) = block->right;
}

static void list_to_tree(vs_alloc_block **bin) {
  vs_alloc_block *list = *bin, *next;
  for (*bin = NULL; list != NULL; list = next) {
    next = list->right;
    tree_add(bin, list);
  }
}

/* ---- the lane ------------------------------------------------------------------------------------------------ */

/* Rare, so out of line: what the common cases do stays small. */
__attribute__((noinline)) static void bin_add_to_tree(vs_alloc_block **bin, vs_alloc_block *block) {
  tree_add(bin, block);
}

/* Adds the block to its bin, which is not empty. */
__attribute__((noinline)) static void bin_add(vs_alloc_block **bin, vs_alloc_block *block) {
  if ((*bin)->is_in_tree) bin_add_to_tree(bin, block);
  else if (list_add(bin, block) >= VS_ALLOC_LONG_LIST) list_to_tree(bin);
}

void vs_alloc_lane_add(vs_alloc_lane *lane, vs_alloc_block *block) {
  const uint32_t index = vs_alloc_bin_of(block->size), r = index / VS_ALLOC_BINS;
  VS_ASSERT(r < lane->row_count && block->lane == lane && block->place == VS_PLACE_FREE);
  block->bin = (uint16_t)index;
  block->is_in_tree = false;
  vs_alloc_block **bin = &lane->bins[index];
  if (*bin != NULL) {
    bin_add(bin, block);
    return;
  }
  block->left = block->right = NULL;
  *bin = block;
  lane->used[r] |= UINT64_C(1) << index % VS_ALLOC_BINS;
  lane->used_rows |= UINT64_C(1) << r;
}

void vs_alloc_lane_remove_tree(vs_alloc_lane *lane, vs_alloc_block *block) {
  const uint32_t index = block->bin;
  tree_remove(&lane->bins[index], block);
  if (lane->bins[index] == NULL) vs_alloc_lane_empty_bin(lane, index);
}

static inline vs_alloc_block *bin_first(const vs_alloc_lane *lane, uint32_t index) {
  vs_alloc_block *first = lane->bins[index];
  return first->is_in_tree ? tree_first(first) : first;
}

static vs_alloc_block *bin_last(const vs_alloc_lane *lane, uint32_t index) {
  return tree_last(lane->bins[index]); /* right for a list, too: `right` leads to its end */
}

/* The first block of at least `size` bytes of a bin that is not empty. */
static vs_alloc_block *bin_fit(const vs_alloc_lane *lane, uint32_t index, uint64_t size) {
  vs_alloc_block *block = lane->bins[index], *found = NULL;
  if (!block->is_in_tree) {
    while (block != NULL && block->size < size) block = block->right;
    return block;
  }
  while (block != NULL) {
    if (block->size < size) {
      block = block->right;
    } else {
      found = block;
      block = block->left;
    }
  }
  return found;
}

/* The block after `one` in its bin. */
static vs_alloc_block *bin_after(const vs_alloc_lane *lane, const vs_alloc_block *one) {
  if (!one->is_in_tree) return one->right;
  vs_alloc_block *block = lane->bins[one->bin], *found = NULL;
  while (block != NULL) {
    if (is_before(one, block)) {
      found = block;
      block = block->left;
    } else {
      block = block->right;
    }
  }
  return found;
}

/* The block before `one` in its bin. */
static vs_alloc_block *bin_before(const vs_alloc_lane *lane, const vs_alloc_block *one) {
  if (!one->is_in_tree) return one->left;
  vs_alloc_block *block = lane->bins[one->bin], *found = NULL;
  while (block != NULL) {
    if (is_before(block, one)) {
      found = block;
      block = block->right;
    } else {
      block = block->left;
    }
  }
  return found;
}

/* The first block of the rows of `rows`, a part of used_rows; NULL if that is empty. */
static inline vs_alloc_block *first_of_rows(const vs_alloc_lane *lane, uint64_t rows) {
  if (rows == 0) return NULL;
  const uint32_t r = (uint32_t)__builtin_ctzll(rows);
  return bin_first(lane, r * VS_ALLOC_BINS + (uint32_t)__builtin_ctzll(lane->used[r]));
}

/* Likewise the last. */
static vs_alloc_block *last_of_rows(const vs_alloc_lane *lane, uint64_t rows) {
  if (rows == 0) return NULL;
  const uint32_t r = 63 - (uint32_t)__builtin_clzll(rows);
  return bin_last(lane, r * VS_ALLOC_BINS + 63 - (uint32_t)__builtin_clzll(lane->used[r]));
}

/* The first block of the bins behind one. */
static inline vs_alloc_block *first_behind(const vs_alloc_lane *lane, uint32_t index) {
  const uint32_t r = index / VS_ALLOC_BINS;
  const uint64_t bins = lane->used[r] >> index % VS_ALLOC_BINS >> 1;
  if (bins != 0) return bin_first(lane, index + 1 + (uint32_t)__builtin_ctzll(bins));
  return first_of_rows(lane, lane->used_rows & ~UINT64_C(1) << r);
}

/* The last block of the bins before one. */
static vs_alloc_block *last_before(const vs_alloc_lane *lane, uint32_t index) {
  const uint32_t r = index / VS_ALLOC_BINS;
  const uint64_t bins = lane->used[r] & ((UINT64_C(1) << index % VS_ALLOC_BINS) - 1);
  if (bins != 0) return bin_last(lane, r * VS_ALLOC_BINS + 63 - (uint32_t)__builtin_clzll(bins));
  return last_of_rows(lane, lane->used_rows & ((UINT64_C(1) << r) - 1));
}

vs_alloc_block *vs_alloc_lane_fit(const vs_alloc_lane *lane, uint64_t size) {
  const uint32_t index = vs_alloc_bin_of(size);
  if ((lane->used[index / VS_ALLOC_BINS] >> index % VS_ALLOC_BINS & 1) != 0) {
    vs_alloc_block *block = bin_fit(lane, index, size);
    if (block != NULL) return block;
  }
  return first_behind(lane, index);
}

vs_alloc_block *vs_alloc_lane_after(const vs_alloc_lane *lane, const vs_alloc_block *block) {
  vs_alloc_block *next = bin_after(lane, block);
  return next != NULL ? next : first_behind(lane, block->bin);
}

vs_alloc_block *vs_alloc_lane_before(const vs_alloc_lane *lane, const vs_alloc_block *block) {
  vs_alloc_block *previous = bin_before(lane, block);
  return previous != NULL ? previous : last_before(lane, block->bin);
}

vs_alloc_block *vs_alloc_lane_first(const vs_alloc_lane *lane) {
  return first_of_rows(lane, lane->used_rows);
}

vs_alloc_block *vs_alloc_lane_last(const vs_alloc_lane *lane) { return last_of_rows(lane, lane->used_rows); }

void vs_alloc_lane_sum(const vs_alloc_lane *lane, uint64_t *blocks, uint64_t *bytes) {
  *blocks = *bytes = 0;
  for (const vs_alloc_block *block = vs_alloc_lane_first(lane); block != NULL;
       block = vs_alloc_lane_after(lane, block)) {
    *bytes += block->size;
    ++*blocks;
  }
}

/* ---- unmapped ranges ----------------------------------------------------------------------------------------- */

void vs_alloc_unmapped_add(vs_alloc_lane *lane, vs_alloc_block *block) {
  vs_alloc_block *before = NULL, *after = lane->unmapped;
  VS_ASSERT(block->place == VS_PLACE_UNMAPPED && block->lane == lane);
  while (after != NULL && after->address < block->address) {
    before = after;
    after = after->right;
  }
  block->left = before;
  block->right = after;
  if (after != NULL) after->left = block;
  *(before != NULL ? &before->right : &lane->unmapped) = block;
}

void vs_alloc_unmapped_remove(vs_alloc_lane *lane, vs_alloc_block *block) {
  list_remove(&lane->unmapped, block);
}

/* ---- invariant ------------------------------------------------------------------------------------------------- */

static const char *bin_check(const vs_alloc_lane *lane, uint32_t index) {
  const bool is_used = (lane->used[index / VS_ALLOC_BINS] >> index % VS_ALLOC_BINS & 1) != 0;
  if (is_used != (lane->bins[index] != NULL)) return "used bits = bins with blocks";
  if (!is_used) return NULL;
  const vs_alloc_block *last = NULL;
  for (vs_alloc_block *block = bin_first(lane, index); block != NULL; block = bin_after(lane, block)) {
    if (block->bin != index || block->bin != vs_alloc_bin_of(block->size))
      return "a block is in the bin of its size";
    if (block->is_in_tree != lane->bins[index]->is_in_tree) return "a bin is a list or a treap";
    if (last != NULL && !is_before(last, block)) return "a bin is in order of size, registration and address";
    if (block->lane != lane || block->place != VS_PLACE_FREE) return "bins hold free blocks of their lane";
    last = block;
  }
  return NULL;
}

/* A row without blocks is compared as a whole: most are, and all rows are checked after every change. */
static const char *row_check(const vs_alloc_lane *lane, uint32_t r) {
  static const vs_alloc_block *const empty[VS_ALLOC_BINS];
  const uint32_t first = r * VS_ALLOC_BINS;
  if (lane->used[r] == 0)
    return memcmp(&lane->bins[first], empty, sizeof empty) == 0 ? NULL : "used bits = bins with blocks";
  for (uint32_t i = 0; i < VS_ALLOC_BINS; i++) {
    const char *broken = bin_check(lane, first + i);
    if (broken != NULL) return broken;
  }
  return NULL;
}

const char *vs_alloc_lane_check(const vs_alloc_lane *lane) {
  for (uint32_t r = 0; r < VS_ALLOC_MOST_ROWS; r++) {
    if (((lane->used_rows >> r & 1) != 0) != (lane->used[r] != 0)) return "used rows = rows with used bins";
    if (r >= lane->row_count && lane->used[r] != 0) return "used rows have bins";
  }
  for (uint32_t r = 0; r < lane->row_count; r++) {
    const char *broken = row_check(lane, r);
    if (broken != NULL) return broken;
  }
  for (const vs_alloc_block *block = lane->unmapped; block != NULL; block = block->right) {
    if (block->place != VS_PLACE_UNMAPPED || block->lane != lane)
      return "the unmapped list holds unmapped blocks";
    if (block->right != NULL && block->right->address <= block->address)
      return "the unmapped list is by address";
  }
  return NULL;
}
