#include "device/sim/holes.h"
#include "base/hash.h"

void vs_sim_holes_deinit(const vs_host *host, vs_sim_holes *holes) {
  vs_vec_free(host, &holes->nodes);
  *holes = (vs_sim_holes){0};
}

vs_status vs_sim_holes_reserve(const vs_host *host, vs_sim_holes *holes, uint64_t count) {
  if (count >= UINT32_MAX) return VS_LIMIT;
  const size_t wanted = (size_t)count + 1; /* with nobody */
  if (holes->nodes.capacity < wanted) {
    VS_TRY(vs_vec_reserve(host, &holes->nodes, wanted - holes->nodes.count));
    if (holes->nodes.count == 0) holes->nodes.data[holes->nodes.count++] = (vs_sim_hole){0};
  }
  return VS_OK;
}

static vs_sim_hole *node_at(const vs_sim_holes *holes, uint32_t at) { return &holes->nodes.data[at]; }

static uint64_t end_of(const vs_sim_hole *hole) { return hole->start + hole->size; }

/* ---- the tree ------------------------------------------------------------------------------------------ */

static uint32_t take_node(vs_sim_holes *holes, uint64_t start, uint64_t size) {
  uint32_t at = holes->spare;
  if (at != 0) {
    holes->spare = node_at(holes, at)->left;
  } else {
    VS_ASSERT(holes->nodes.count > 0 && holes->nodes.count < holes->nodes.capacity);
    at = (uint32_t)holes->nodes.count++;
  }
  /* Twice: hashes of neighbouring numbers differ, but by a pattern, and the tree would be twice as deep. */
  const uint32_t rank = (uint32_t)(vs_hash_u64(vs_hash_u64(holes->made++)) >> 32);
  *node_at(holes, at) = (vs_sim_hole){.start = start, .size = size, .most = size, .rank = rank};
  holes->count++;
  return at;
}

static void drop_node(vs_sim_holes *holes, uint32_t at) {
  *node_at(holes, at) = (vs_sim_hole){.left = holes->spare};
  holes->spare = at;
  holes->count--;
}

/* nobody's `most` is 0, so children need not be asked whether they are there. */
static void update(vs_sim_holes *holes, uint32_t at) {
  vs_sim_hole *hole = node_at(holes, at);
  const uint64_t below = vs_max_u64(node_at(holes, hole->left)->most, node_at(holes, hole->right)->most);
  hole->most = vs_max_u64(hole->size, below);
}

/* What starts below `start` and the rest. */
static void split(vs_sim_holes *holes, uint32_t at, uint64_t start, uint32_t *low, uint32_t *high) {
  if (at == 0) {
    *low = *high = 0;
    return;
  }
  vs_sim_hole *hole = node_at(holes, at);
  if (hole->start < start) {
    split(holes, hole->right, start, &hole->right, high);
    *low = at;
  } else {
    split(holes, hole->left, start, low, &hole->left);
    *high = at;
  }
  update(holes, at);
}

/* All of `low` lies below all of `high`. */
static uint32_t merge(vs_sim_holes *holes, uint32_t low, uint32_t high) {
  if (low == 0 || high == 0) return low + high;
  vs_sim_hole *a = node_at(holes, low), *b = node_at(holes, high);
  if (a->rank >= b->rank) {
    a->right = merge(holes, a->right, high);
    update(holes, low);
    return low;
  }
  b->left = merge(holes, low, b->left);
  update(holes, high);
  return high;
}

static uint32_t insert(vs_sim_holes *holes, uint32_t at, uint32_t fresh) {
  vs_sim_hole *hole = node_at(holes, at), *node = node_at(holes, fresh);
  if (at == 0 || node->rank > hole->rank) {
    split(holes, at, node->start, &node->left, &node->right);
    update(holes, fresh);
    return fresh;
  }
  if (node->start < hole->start) hole->left = insert(holes, hole->left, fresh);
  else hole->right = insert(holes, hole->right, fresh);
  update(holes, at);
  return at;
}

/* The hole that starts at `start` becomes `to`, which lies between its neighbours; empty: it goes. Returns
 * the subtree's root. */
static uint32_t change(vs_sim_holes *holes, uint32_t at, uint64_t start, vs_sim_span to) {
  VS_ASSERT(at != 0);
  vs_sim_hole *hole = node_at(holes, at);
  if (start < hole->start) {
    hole->left = change(holes, hole->left, start, to);
  } else if (start > hole->start) {
    hole->right = change(holes, hole->right, start, to);
  } else if (to.size == 0) {
    const uint32_t rest = merge(holes, hole->left, hole->right);
    drop_node(holes, at);
    return rest;
  } else {
    hole->start = to.start;
    hole->size = to.size;
  }
  update(holes, at);
  return at;
}

static void add_hole(vs_sim_holes *holes, uint64_t start, uint64_t size) {
  holes->root = insert(holes, holes->root, take_node(holes, start, size));
}

static void set_hole(vs_sim_holes *holes, uint64_t start, uint64_t new_start, uint64_t new_size) {
  holes->root = change(holes, holes->root, start, (vs_sim_span){new_start, new_size});
}

/* The last hole that starts at or below `address`; NULL: there is none. */
static const vs_sim_hole *floor_of(const vs_sim_holes *holes, uint64_t address) {
  const vs_sim_hole *best = NULL;
  for (uint32_t at = holes->root; at != 0;) {
    const vs_sim_hole *hole = node_at(holes, at);
    if (hole->start <= address) best = hole;
    at = hole->start <= address ? hole->right : hole->left;
  }
  return best;
}

/* The hole that starts at `address`. */
static const vs_sim_hole *hole_from(const vs_sim_holes *holes, uint64_t address) {
  const vs_sim_hole *hole = floor_of(holes, address);
  return hole != NULL && hole->start == address ? hole : NULL;
}

/* ---- questions ----------------------------------------------------------------------------------------- */

static bool fits(const vs_sim_hole *hole, uint64_t size, uint64_t alignment, uint64_t *start) {
  *start = (hole->start + alignment - 1) & ~(alignment - 1);
  return *start >= hole->start && *start - hole->start < hole->size &&
         hole->size - (*start - hole->start) >= size;
}

static bool first_below(const vs_sim_holes *holes, uint32_t at, uint64_t size, uint64_t alignment,
                        uint64_t *start) {
  const vs_sim_hole *hole = node_at(holes, at);
  if (hole->most < size) return false;
  return first_below(holes, hole->left, size, alignment, start) || fits(hole, size, alignment, start) ||
         first_below(holes, hole->right, size, alignment, start);
}

bool vs_sim_holes_first(const vs_sim_holes *holes, uint64_t size, uint64_t alignment, uint64_t *start) {
  return holes->root != 0 && first_below(holes, holes->root, size, alignment, start);
}

bool vs_sim_holes_cover(const vs_sim_holes *holes, uint64_t start, uint64_t size) {
  const vs_sim_hole *hole = floor_of(holes, start);
  return hole != NULL && start - hole->start < hole->size && size <= hole->size - (start - hole->start);
}

/* ---- changes ------------------------------------------------------------------------------------------- */

void vs_sim_holes_cut(vs_sim_holes *holes, uint64_t start, uint64_t size) {
  VS_ASSERT(vs_sim_holes_cover(holes, start, size));
  const vs_sim_hole hole = *floor_of(holes, start);
  const uint64_t before = start - hole.start, behind = hole.size - before - size;
  if (before == 0) {
    set_hole(holes, hole.start, start + size, behind);
    return;
  }
  set_hole(holes, hole.start, hole.start, before);
  if (behind > 0) add_hole(holes, start + size, behind);
}

vs_sim_span vs_sim_holes_put(vs_sim_holes *holes, vs_sim_span piece, vs_sim_span bounds) {
  const uint64_t end = piece.start + piece.size;
  const vs_sim_hole *low = floor_of(holes, piece.start), *high = hole_from(holes, end);
  if (low != NULL && (end_of(low) != piece.start || low->start < bounds.start)) low = NULL;
  if (high != NULL && end_of(high) - bounds.start > bounds.size) high = NULL;
  vs_sim_span all = piece;
  if (low != NULL) all = (vs_sim_span){low->start, low->size + piece.size};
  if (high != NULL) all.size += high->size;
  if (low != NULL && high != NULL) set_hole(holes, end, 0, 0);
  if (low != NULL) set_hole(holes, all.start, all.start, all.size);
  else if (high != NULL) set_hole(holes, end, all.start, all.size);
  else add_hole(holes, all.start, all.size);
  return all;
}

/* ---- check --------------------------------------------------------------------------------------------- */

typedef struct walk {
  uint64_t end; /* of the hole before */
  uint64_t sum;
  uint32_t count;
} walk;

static bool check_below(const vs_sim_holes *holes, uint32_t at, walk *w) {
  if (at == 0) return true;
  const vs_sim_hole *hole = node_at(holes, at);
  const vs_sim_hole *left = node_at(holes, hole->left), *right = node_at(holes, hole->right);
  if (hole->most != vs_max_u64(hole->size, vs_max_u64(left->most, right->most))) return false;
  if ((hole->left != 0 && left->rank > hole->rank) || (hole->right != 0 && right->rank > hole->rank))
    return false;
  if (!check_below(holes, hole->left, w)) return false;
  if (hole->size == 0 || (w->count > 0 && hole->start < w->end)) return false;
  w->end = end_of(hole);
  w->sum += hole->size;
  w->count++;
  return check_below(holes, hole->right, w);
}

bool vs_sim_holes_check(const vs_sim_holes *holes, uint64_t *sum) {
  walk w = {0};
  if (!check_below(holes, holes->root, &w) || w.count != holes->count) return false;
  if (holes->nodes.count > 0 && (node_at(holes, 0)->most != 0 || node_at(holes, 0)->size != 0)) return false;
  if (sum != NULL) *sum = w.sum;
  return true;
}
