#include "device/sim/free_set.h"
#include "base/hash.h"

void vs_sim_free_set_deinit(const vs_host *host, vs_sim_free_set *set) {
  vs_vec_free(host, &set->nodes);
  *set = (vs_sim_free_set){0};
}

vs_status vs_sim_free_set_reserve(const vs_host *host, vs_sim_free_set *set, uint64_t count) {
  if (count >= UINT32_MAX) return VS_LIMIT;
  const size_t wanted = (size_t)count + 1; /* with the sentinel */
  if (set->nodes.capacity < wanted) {
    VS_TRY(vs_vec_reserve(host, &set->nodes, wanted - set->nodes.count));
    if (set->nodes.count == 0) set->nodes.data[set->nodes.count++] = (vs_sim_free_range){0};
  }
  return VS_OK;
}

static vs_sim_free_range *node_at(const vs_sim_free_set *set, uint32_t at) { return &set->nodes.data[at]; }

static uint64_t end_of(const vs_sim_free_range *range) { return range->start + range->size; }

/* ---- the tree ------------------------------------------------------------------------------------------ */

static uint32_t take_node(vs_sim_free_set *set, uint64_t start, uint64_t size) {
  uint32_t at = set->spare;
  if (at != 0) {
    set->spare = node_at(set, at)->left;
  } else {
    VS_ASSERT(set->nodes.count > 0 && set->nodes.count < set->nodes.capacity);
    at = (uint32_t)set->nodes.count++;
  }
  /* Hashed twice: single hashes of consecutive numbers follow a pattern that makes the tree twice as deep. */
  const uint32_t rank = (uint32_t)(vs_hash_u64(vs_hash_u64(set->made++)) >> 32);
  *node_at(set, at) = (vs_sim_free_range){.start = start, .size = size, .most = size, .rank = rank};
  set->count++;
  return at;
}

static void drop_node(vs_sim_free_set *set, uint32_t at) {
  VS_ASSERT(at != 0 && set->count > 0);
  *node_at(set, at) = (vs_sim_free_range){.left = set->spare};
  set->spare = at;
  set->count--;
}

/* The sentinel's `most` is 0, so a missing child needs no test of its own. */
static void update(vs_sim_free_set *set, uint32_t at) {
  vs_sim_free_range *range = node_at(set, at);
  const uint64_t below = vs_max_u64(node_at(set, range->left)->most, node_at(set, range->right)->most);
  range->most = vs_max_u64(range->size, below);
}

/* Splits a subtree into the ranges that start below `start` and the others. */
static void split(vs_sim_free_set *set, uint32_t at, uint64_t start, uint32_t *low, uint32_t *high) {
  if (at == 0) {
    *low = *high = 0;
    return;
  }
  vs_sim_free_range *range = node_at(set, at);
  if (range->start < start) {
    split(set, range->right, start, &range->right, high);
    *low = at;
  } else {
    split(set, range->left, start, low, &range->left);
    *high = at;
  }
  update(set, at);
}

/* Joins two subtrees; every range of `low` is below every range of `high`. */
static uint32_t merge(vs_sim_free_set *set, uint32_t low, uint32_t high) {
  if (low == 0 || high == 0) return low + high; /* the other one, or 0 */
  vs_sim_free_range *a = node_at(set, low), *b = node_at(set, high);
  if (a->rank >= b->rank) {
    a->right = merge(set, a->right, high);
    update(set, low);
    return low;
  }
  b->left = merge(set, low, b->left);
  update(set, high);
  return high;
}

static uint32_t insert(vs_sim_free_set *set, uint32_t at, uint32_t fresh) {
  vs_sim_free_range *range = node_at(set, at), *node = node_at(set, fresh);
  if (at == 0 || node->rank > range->rank) {
    split(set, at, node->start, &node->left, &node->right);
    update(set, fresh);
    return fresh;
  }
  if (node->start < range->start) range->left = insert(set, range->left, fresh);
  else range->right = insert(set, range->right, fresh);
  update(set, at);
  return at;
}

/* Replaces the range that starts at `start` by `to`, which is between its neighbours too; removes it if `to` is empty.
 * Returns the root of the subtree. */
static uint32_t change(vs_sim_free_set *set, uint32_t at, uint64_t start, vs_sim_span to) {
  VS_ASSERT(at != 0);
  vs_sim_free_range *range = node_at(set, at);
  if (start < range->start) {
    range->left = change(set, range->left, start, to);
  } else if (start > range->start) {
    range->right = change(set, range->right, start, to);
  } else if (to.size == 0) {
    const uint32_t rest = merge(set, range->left, range->right);
    drop_node(set, at);
    return rest;
  } else {
    range->start = to.start;
    range->size = to.size;
  }
  update(set, at);
  return at;
}

static void add_range(vs_sim_free_set *set, uint64_t start, uint64_t size) {
  set->root = insert(set, set->root, take_node(set, start, size));
}

static void set_range(vs_sim_free_set *set, uint64_t start, uint64_t new_start, uint64_t new_size) {
  set->root = change(set, set->root, start, (vs_sim_span){new_start, new_size});
}

/* The last range that starts at or below `address`; NULL if there is none. */
static const vs_sim_free_range *floor_of(const vs_sim_free_set *set, uint64_t address) {
  const vs_sim_free_range *best = NULL;
  for (uint32_t at = set->root; at != 0;) {
    const vs_sim_free_range *range = node_at(set, at);
    if (range->start <= address) best = range;
    at = range->start <= address ? range->right : range->left;
  }
  return best;
}

/* The range that starts at exactly `address`, or NULL. */
static const vs_sim_free_range *range_from(const vs_sim_free_set *set, uint64_t address) {
  const vs_sim_free_range *range = floor_of(set, address);
  return range != NULL && range->start == address ? range : NULL;
}

/* ---- questions ----------------------------------------------------------------------------------------- */

static bool fits(const vs_sim_free_range *range, uint64_t size, uint64_t alignment, uint64_t *start) {
  VS_ASSERT(alignment != 0 && (alignment & (alignment - 1)) == 0);
  *start = (range->start + alignment - 1) & ~(alignment - 1);
  return *start >= range->start && *start - range->start < range->size &&
         range->size - (*start - range->start) >= size;
}

static bool first_below(const vs_sim_free_set *set, uint32_t at, uint64_t size, uint64_t alignment,
                        uint64_t *start) {
  const vs_sim_free_range *range = node_at(set, at);
  if (range->most < size) return false;
  return first_below(set, range->left, size, alignment, start) || fits(range, size, alignment, start) ||
         first_below(set, range->right, size, alignment, start);
}

bool vs_sim_free_set_first(const vs_sim_free_set *set, uint64_t size, uint64_t alignment, uint64_t *start) {
  return set->root != 0 && first_below(set, set->root, size, alignment, start);
}

bool vs_sim_free_set_cover(const vs_sim_free_set *set, uint64_t start, uint64_t size) {
  const vs_sim_free_range *range = floor_of(set, start);
  return range != NULL && start - range->start < range->size && size <= range->size - (start - range->start);
}

/* ---- changes ------------------------------------------------------------------------------------------- */

void vs_sim_free_set_cut(vs_sim_free_set *set, uint64_t start, uint64_t size) {
  VS_ASSERT(vs_sim_free_set_cover(set, start, size));
  const vs_sim_free_range range = *floor_of(set, start);
  const uint64_t before = start - range.start, behind = range.size - before - size;
  if (before == 0) {
    set_range(set, range.start, start + size, behind);
    return;
  }
  set_range(set, range.start, range.start, before);
  if (behind > 0) add_range(set, start + size, behind);
}

vs_sim_span vs_sim_free_set_put(vs_sim_free_set *set, vs_sim_span added, vs_sim_span bounds) {
  const uint64_t end = added.start + added.size;
  VS_ASSERT(added.size > 0 && end >= added.start && !vs_sim_free_set_cover(set, added.start, 1));
  const vs_sim_free_range *low = floor_of(set, added.start), *high = range_from(set, end);
  if (low != NULL && (end_of(low) != added.start || low->start < bounds.start)) low = NULL;
  if (high != NULL && end_of(high) - bounds.start > bounds.size) high = NULL;
  vs_sim_span all = added;
  if (low != NULL) all = (vs_sim_span){low->start, low->size + added.size};
  if (high != NULL) all.size += high->size;
  if (low != NULL && high != NULL) set_range(set, end, 0, 0);
  if (low != NULL) set_range(set, all.start, all.start, all.size);
  else if (high != NULL) set_range(set, end, all.start, all.size);
  else add_range(set, all.start, all.size);
  return all;
}

/* ---- check --------------------------------------------------------------------------------------------- */

typedef struct walk {
  uint64_t end; /* of the previous range */
  uint64_t sum;
  uint32_t count;
} walk;

static bool check_below(const vs_sim_free_set *set, uint32_t at, walk *w) {
  if (at == 0) return true;
  const vs_sim_free_range *range = node_at(set, at);
  const vs_sim_free_range *left = node_at(set, range->left), *right = node_at(set, range->right);
  if (range->most != vs_max_u64(range->size, vs_max_u64(left->most, right->most))) return false;
  if ((range->left != 0 && left->rank > range->rank) || (range->right != 0 && right->rank > range->rank))
    return false;
  if (!check_below(set, range->left, w)) return false;
  if (range->size == 0 || (w->count > 0 && range->start < w->end)) return false;
  w->end = end_of(range);
  w->sum += range->size;
  w->count++;
  return check_below(set, range->right, w);
}

bool vs_sim_free_set_check(const vs_sim_free_set *set, uint64_t *sum) {
  walk w = {0};
  if (!check_below(set, set->root, &w) || w.count != set->count) return false;
  if (set->nodes.count > 0 && (node_at(set, 0)->most != 0 || node_at(set, 0)->size != 0)) return false;
  if (sum != NULL) *sum = w.sum;
  return true;
}
