#include "faces/cli/calltree.h"
#include "base/sort.h"
#include "faces/cli/frames.h"

typedef struct vs_folding {
  const vs_host *host;
  vs_json nodes; /* of the reply */
  vs_calltree *tree;
  vs_map by_call;        /* hash of (parent, frame) -> node of the tree */
  VS_VEC(uint32_t) path; /* of the reply's nodes, the innermost first */
} vs_folding;

static uint64_t hash_call(uint32_t parent, vs_json frame) {
  const vs_str function = vs_reply_str(frame, "function"), file = vs_reply_str(frame, "file");
  uint64_t hash =
      vs_hash_mix(vs_hash_bytes(function.data, function.size), parent + UINT64_C(0x9e3779b97f4a7c15));
  hash = vs_hash_mix(hash ^ vs_hash_bytes(file.data, file.size), UINT64_C(0x8bb84b93962eacc9));
  return vs_hash_mix(hash ^ (uint64_t)vs_reply_i64(frame, "line"), UINT64_C(0x4b33a62ed433d4a3));
}

static bool is_same_frame(vs_json a, vs_json b) {
  return vs_reply_i64(a, "line") == vs_reply_i64(b, "line") &&
         vs_str_equal(vs_reply_str(a, "function"), vs_reply_str(b, "function")) &&
         vs_str_equal(vs_reply_str(a, "file"), vs_reply_str(b, "file"));
}

static vs_status add_node(vs_folding *folding, uint32_t parent, vs_json frame, bool is_unknown,
                          uint32_t *out) {
  vs_calltree *tree = folding->tree;
  VS_TRY(vs_vec_reserve(folding->host, &tree->nodes, 1));
  *out = (uint32_t)tree->nodes.count;
  tree->nodes.data[tree->nodes.count++] = (vs_call_node){.frame = frame,
                                                         .parent = parent,
                                                         .first_child = VS_NO_NODE,
                                                         .next_sibling = VS_NO_NODE,
                                                         .is_unknown = is_unknown};
  return VS_OK;
}

/* The call of `frame` by `parent`: the node that there is, or a new one. */
static vs_status enter(vs_folding *folding, uint32_t parent, vs_json frame, bool is_unknown, uint32_t *out) {
  const uint64_t hash = is_unknown ? UINT64_MAX : hash_call(parent, frame);
  for (size_t at = vs_map_find(&folding->by_call, hash); at != VS_MAP_NONE;
       at = vs_map_find_next(&folding->by_call, at)) {
    const uint32_t found = folding->by_call.slots[at].value;
    const vs_call_node *node = &folding->tree->nodes.data[found];
    if (node->parent != parent || node->is_unknown != is_unknown) continue;
    if (!is_unknown && !is_same_frame(node->frame, frame)) continue;
    *out = found;
    return VS_OK;
  }
  VS_TRY(vs_map_reserve(folding->host, &folding->by_call));
  VS_TRY(add_node(folding, parent, frame, is_unknown, out));
  vs_map_add(&folding->by_call, hash, *out);
  return VS_OK;
}

static vs_json node_at(const vs_folding *folding, uint32_t index) {
  return vs_json_at(folding->nodes, index);
}

/* From a node of the reply up to its root, which is left out. A parent stands before its children, so this ends. */
static vs_status find_path(vs_folding *folding, uint32_t leaf) {
  folding->path.count = 0;
  for (uint32_t at = leaf; at != 0;) {
    VS_TRY(vs_vec_reserve(folding->host, &folding->path, 1));
    folding->path.data[folding->path.count++] = at;
    const uint64_t parent = vs_json_u64(vs_reply_at(node_at(folding, at), "parent"), 0);
    if (parent >= at) return VS_BAD_FORMAT;
    at = (uint32_t)parent;
  }
  return VS_OK;
}

/* The innermost frame that says most, as frames.h has it; path.count if none says anything. */
static size_t most_telling(const vs_folding *folding) {
  size_t best = folding->path.count;
  vs_frame_kind kind = VS_FRAME_NOISE;
  for (size_t i = 0; i < folding->path.count && kind < VS_FRAME_LIBRARY; i++) {
    const vs_frame_kind found = vs_frame_kind_of(node_at(folding, folding->path.data[i]));
    if (found <= kind) continue;
    best = i;
    kind = found;
  }
  return best;
}

/* Adds what ends at a node of the reply: along the user's own calls to the most telling place at their end. */
static vs_status add_leaf(vs_folding *folding, uint32_t leaf, uint64_t bytes, uint64_t count) {
  VS_TRY(find_path(folding, leaf));
  const size_t end = most_telling(folding);
  uint32_t at = 0;
  if (end == folding->path.count) VS_TRY(enter(folding, 0, node_at(folding, leaf), true, &at));
  for (size_t i = folding->path.count; i-- > 0;) {
    const vs_json frame = node_at(folding, folding->path.data[i]);
    if (i == end || vs_frame_kind_of(frame) == VS_FRAME_USER) VS_TRY(enter(folding, at, frame, false, &at));
  }
  folding->tree->nodes.data[at].own_bytes += bytes;
  folding->tree->nodes.data[at].own_count += count;
  return VS_OK;
}

/* ---- the sums, and the order */

static void add_up(vs_calltree *tree) {
  for (size_t i = tree->nodes.count; i-- > 0;) {
    vs_call_node *node = &tree->nodes.data[i];
    node->bytes += node->own_bytes;
    node->count += node->own_count;
    if (node->parent == VS_NO_NODE) continue;
    tree->nodes.data[node->parent].bytes += node->bytes;
    tree->nodes.data[node->parent].count += node->count;
  }
}

/* Smallest first over all nodes; hanging them in front of their siblings in that order leaves the biggest first. */
static vs_status hang_children(const vs_host *host, vs_calltree *tree) {
  VS_VEC(vs_sort_pair) pairs = {0};
  VS_TRY(vs_vec_reserve(host, &pairs, tree->nodes.count));
  for (size_t i = tree->nodes.count; i-- > 1;)
    pairs.data[pairs.count++] = (vs_sort_pair){.key = tree->nodes.data[i].bytes, .value = (uint32_t)i};
  const vs_status status = vs_sort_pairs(host, pairs.data, pairs.count);
  for (size_t i = 0; status == VS_OK && i < pairs.count; i++) {
    vs_call_node *node = &tree->nodes.data[pairs.data[i].value];
    node->next_sibling = tree->nodes.data[node->parent].first_child;
    tree->nodes.data[node->parent].first_child = pairs.data[i].value;
  }
  vs_vec_free(host, &pairs);
  return status;
}

static vs_status build(vs_folding *folding) {
  uint32_t root;
  VS_TRY(add_node(folding, VS_NO_NODE, node_at(folding, 0), false, &root));
  for (size_t i = 0; i < vs_json_count(folding->nodes); i++) {
    const vs_json node = vs_json_at(folding->nodes, i);
    const uint64_t count = vs_reply_u64(node, "self_count");
    if (count != 0) VS_TRY(add_leaf(folding, (uint32_t)i, vs_reply_u64(node, "self_bytes"), count));
  }
  add_up(folding->tree);
  return hang_children(folding->host, folding->tree);
}

vs_status vs_calltree_build(const vs_host *host, vs_json reply, vs_calltree *out) {
  *out = (vs_calltree){0};
  vs_folding folding = {.host = host, .nodes = vs_reply_at(reply, "nodes"), .tree = out};
  const vs_status status = build(&folding);
  vs_map_deinit(host, &folding.by_call);
  vs_vec_free(host, &folding.path);
  if (status != VS_OK) vs_calltree_deinit(host, out);
  return status;
}

/* ---- what to draw */

static bool continues_row(const vs_calltree *tree, size_t index) {
  const vs_call_node *node = &tree->nodes.data[index];
  return node->parent != 0 && node->bytes == tree->nodes.data[node->parent].bytes;
}

vs_status vs_calltree_keep(const vs_host *host, vs_calltree *tree, uint64_t rows, uint64_t least) {
  VS_VEC(vs_sort_pair) pairs = {0};
  VS_TRY(vs_vec_reserve(host, &pairs, tree->nodes.count));
  for (size_t i = 1; i < tree->nodes.count; i++)
    if (!continues_row(tree, i))
      pairs.data[pairs.count++] = (vs_sort_pair){.key = ~tree->nodes.data[i].bytes, .value = (uint32_t)i};
  const vs_status status = vs_sort_pairs(host, pairs.data, pairs.count);
  for (size_t i = 0; status == VS_OK && i < pairs.count && i < rows; i++) {
    vs_call_node *node = &tree->nodes.data[pairs.data[i].value];
    node->is_kept = node->bytes >= least;
  }
  for (size_t i = 1; i < tree->nodes.count; i++)
    if (continues_row(tree, i))
      tree->nodes.data[i].is_kept = tree->nodes.data[tree->nodes.data[i].parent].is_kept;
  vs_vec_free(host, &pairs);
  return status;
}

void vs_calltree_deinit(const vs_host *host, vs_calltree *tree) { vs_vec_free(host, &tree->nodes); }
