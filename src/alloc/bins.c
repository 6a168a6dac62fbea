#include "alloc/bins.h"

#include "base/hash.h"

vs_status vs_alloc_lane_reserve(const vs_host *host, vs_alloc_lane *lane, uint64_t size) {
  const uint32_t row = vs_alloc_bin_of(size) / VS_ALLOC_BINS;
  if (row < lane->row_count) return VS_OK;
  const size_t old = lane->row_count * sizeof *lane->rows, new = (row + 1) * sizeof *lane->rows;
  vs_alloc_row *rows = host->resize(host->ctx, lane->rows, old, new);
  if (rows == NULL) return VS_NO_MEMORY;
  memset(rows + lane->row_count, 0, new - old);
  lane->rows = rows;
  lane->row_count = row + 1;
  return VS_OK;
}

void vs_alloc_lane_deinit(const vs_host *host, vs_alloc_lane *lane) {
  vs_host_free(host, lane->rows, lane->row_count * sizeof *lane->rows);
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

/* Rare cases, out of line so that the common one stays small. */
__attribute__((noinline)) static void bin_to_tree(vs_alloc_row *row, uint32_t bin) {
  list_to_tree(&row->bins[bin]);
  row->trees |= UINT64_C(1) << bin;
}

__attribute__((noinline)) static void bin_tree_add(vs_alloc_row *row, uint32_t bin, vs_alloc_block *block) {
  tree_add(&row->bins[bin], block);
}

void vs_alloc_lane_add(vs_alloc_lane *lane, vs_alloc_block *block) {
  const uint32_t index = vs_alloc_bin_of(block->size), r = index / VS_ALLOC_BINS, b = index % VS_ALLOC_BINS;
  VS_ASSERT(r < lane->row_count && block->lane == lane && block->place == VS_PLACE_FREE);
  block->bin = (uint16_t)index;
  vs_alloc_row *row = &lane->rows[r];
  row->used |= UINT64_C(1) << b;
  lane->used_rows |= UINT64_C(1) << r;
  lane->free_blocks++;
  lane->free_bytes += block->size;
  if ((row->trees >> b & 1) != 0) bin_tree_add(row, b, block);
  else if (list_add(&row->bins[b], block) >= VS_ALLOC_LONG_LIST) bin_to_tree(row, b);
}

void vs_alloc_lane_remove_tree(vs_alloc_row *row, uint32_t bin, vs_alloc_block *block) {
  tree_remove(&row->bins[bin], block);
}

static vs_alloc_block *bin_first(const vs_alloc_row *row, uint32_t b) {
  return (row->trees >> b & 1) != 0 ? tree_first(row->bins[b]) : row->bins[b];
}

static vs_alloc_block *bin_last(const vs_alloc_row *row, uint32_t b) {
  return tree_last(row->bins[b]); /* right for a list, too: `right` leads to its end */
}

/* The first block of the bin of at least `size` bytes. */
static vs_alloc_block *bin_fit(const vs_alloc_row *row, uint32_t b, uint64_t size) {
  vs_alloc_block *block = row->bins[b], *found = NULL;
  if ((row->trees >> b & 1) == 0) {
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

/* The block of the bin after `one`. */
static vs_alloc_block *bin_after(const vs_alloc_row *row, uint32_t b, const vs_alloc_block *one) {
  if ((row->trees >> b & 1) == 0) return one->right;
  vs_alloc_block *block = row->bins[b], *found = NULL;
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

/* The block of the bin before `one`. */
static vs_alloc_block *bin_before(const vs_alloc_row *row, uint32_t b, const vs_alloc_block *one) {
  if ((row->trees >> b & 1) == 0) return one->left;
  vs_alloc_block *block = row->bins[b], *found = NULL;
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

/* The first block of the bins after (r, b). */
static vs_alloc_block *first_behind(const vs_alloc_lane *lane, uint32_t r, uint32_t b) {
  if (r < lane->row_count) {
    const uint64_t bins = lane->rows[r].used & ~((UINT64_C(2) << b) - 1);
    if (bins != 0) return bin_first(&lane->rows[r], (uint32_t)__builtin_ctzll(bins));
  }
  const uint64_t rows = lane->used_rows & ~((UINT64_C(2) << r) - 1);
  if (rows == 0) return NULL;
  const vs_alloc_row *row = &lane->rows[__builtin_ctzll(rows)];
  return bin_first(row, (uint32_t)__builtin_ctzll(row->used));
}

/* The last block of the bins before (r, b). */
static vs_alloc_block *last_before(const vs_alloc_lane *lane, uint32_t r, uint32_t b) {
  const uint64_t bins = lane->rows[r].used & ((UINT64_C(1) << b) - 1);
  if (bins != 0) return bin_last(&lane->rows[r], 63 - (uint32_t)__builtin_clzll(bins));
  const uint64_t rows = lane->used_rows & ((UINT64_C(1) << r) - 1);
  if (rows == 0) return NULL;
  const vs_alloc_row *row = &lane->rows[63 - __builtin_clzll(rows)];
  return bin_last(row, 63 - (uint32_t)__builtin_clzll(row->used));
}

vs_alloc_block *vs_alloc_lane_fit(const vs_alloc_lane *lane, uint64_t size) {
  const uint32_t index = vs_alloc_bin_of(size), r = index / VS_ALLOC_BINS, b = index % VS_ALLOC_BINS;
  if (r < lane->row_count && (lane->rows[r].used >> b & 1) != 0) {
    vs_alloc_block *block = bin_fit(&lane->rows[r], b, size);
    if (block != NULL) return block;
  }
  return first_behind(lane, r, b);
}

vs_alloc_block *vs_alloc_lane_after(const vs_alloc_lane *lane, const vs_alloc_block *block) {
  const uint32_t r = block->bin / VS_ALLOC_BINS, b = block->bin % VS_ALLOC_BINS;
  vs_alloc_block *next = bin_after(&lane->rows[r], b, block);
  return next != NULL ? next : first_behind(lane, r, b);
}

vs_alloc_block *vs_alloc_lane_before(const vs_alloc_lane *lane, const vs_alloc_block *block) {
  const uint32_t r = block->bin / VS_ALLOC_BINS, b = block->bin % VS_ALLOC_BINS;
  vs_alloc_block *previous = bin_before(&lane->rows[r], b, block);
  return previous != NULL ? previous : last_before(lane, r, b);
}

vs_alloc_block *vs_alloc_lane_first(const vs_alloc_lane *lane) {
  if (lane->used_rows == 0) return NULL;
  const vs_alloc_row *row = &lane->rows[__builtin_ctzll(lane->used_rows)];
  return bin_first(row, (uint32_t)__builtin_ctzll(row->used));
}

vs_alloc_block *vs_alloc_lane_last(const vs_alloc_lane *lane) {
  if (lane->used_rows == 0) return NULL;
  const vs_alloc_row *row = &lane->rows[63 - __builtin_clzll(lane->used_rows)];
  return bin_last(row, 63 - (uint32_t)__builtin_clzll(row->used));
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

static const char *bin_check(const vs_alloc_lane *lane, uint32_t r, uint32_t b, uint64_t *count,
                             uint64_t *bytes) {
  const vs_alloc_row *row = &lane->rows[r];
  if ((row->used >> b & 1) != (row->bins[b] != NULL)) return "used bits = bins with blocks";
  if (row->bins[b] == NULL) return (row->trees >> b & 1) != 0 ? "an empty bin is a list" : NULL;
  const vs_alloc_block *last = NULL;
  for (vs_alloc_block *block = bin_first(row, b); block != NULL; block = bin_after(row, b, block)) {
    if (block->bin != r * VS_ALLOC_BINS + b || block->bin != vs_alloc_bin_of(block->size))
      return "a block is in the bin of its size";
    if (last != NULL && !is_before(last, block)) return "a bin is in order of size, registration and address";
    if (block->lane != lane || block->place != VS_PLACE_FREE) return "bins hold free blocks of their lane";
    last = block;
    *bytes += block->size;
    ++*count;
  }
  return NULL;
}

const char *vs_alloc_lane_check(const vs_alloc_lane *lane) {
  uint64_t count = 0, bytes = 0;
  for (uint32_t r = 0; r < lane->row_count; r++) {
    if (((lane->used_rows >> r & 1) != 0) != (lane->rows[r].used != 0))
      return "used rows = rows with used bins";
    for (uint32_t b = 0; b < VS_ALLOC_BINS; b++) {
      const char *broken = bin_check(lane, r, b, &count, &bytes);
      if (broken != NULL) return broken;
    }
  }
  if (count != lane->free_blocks || bytes != lane->free_bytes) return "a lane's sums = its bins";
  for (const vs_alloc_block *block = lane->unmapped; block != NULL; block = block->right) {
    if (block->place != VS_PLACE_UNMAPPED || block->lane != lane)
      return "the unmapped list holds unmapped blocks";
    if (block->right != NULL && block->right->address <= block->address)
      return "the unmapped list is by address";
  }
  return NULL;
}
