#include "codec/toml_tree.h"
#include "codec/toml.h"

vs_status vs_toml_tree_init(vs_toml_tree *tree, const vs_host *host) {
  *tree = (vs_toml_tree){.host = host};
  VS_TRY(vs_vec_reserve(host, &tree->nodes, 1));
  VS_TRY(vs_vec_reserve(host, &tree->bytes, 1)); /* empty texts have an address, too */
  tree->nodes.data[tree->nodes.count++] = (vs_toml_node){.kind = VS_TOML_TABLE,
                                                         .parent = VS_TOML_NONE,
                                                         .first = VS_TOML_NONE,
                                                         .last = VS_TOML_NONE,
                                                         .next = VS_TOML_NONE,
                                                         .is_explicit = true};
  return VS_OK;
}

void vs_toml_tree_deinit(vs_toml_tree *tree) {
  vs_map_deinit(tree->host, &tree->by_key);
  vs_vec_free(tree->host, &tree->nodes);
  vs_vec_free(tree->host, &tree->bytes);
}

static uint64_t hash_of(uint32_t table, vs_str key) {
  return vs_hash_mix(vs_hash_bytes(key.data, key.size), vs_hash_u64(table));
}

static vs_str key_of(const vs_toml_tree *tree, const vs_toml_node *node) {
  return (vs_str){tree->bytes.data + node->key, node->key_size};
}

uint32_t vs_toml_find(const vs_toml_tree *tree, uint32_t table, vs_str key) {
  for (size_t slot = vs_map_find(&tree->by_key, hash_of(table, key)); slot != VS_MAP_NONE;
       slot = vs_map_find_next(&tree->by_key, slot)) {
    const uint32_t found = tree->by_key.slots[slot].value;
    const vs_toml_node *node = &tree->nodes.data[found];
    if (node->parent == table && vs_str_equal(key_of(tree, node), key)) return found;
  }
  return VS_TOML_NONE;
}

static vs_status append_bytes(vs_toml_tree *tree, vs_str text, size_t *at) {
  VS_TRY(vs_vec_reserve(tree->host, &tree->bytes, text.size));
  *at = tree->bytes.count;
  if (text.size != 0) memcpy(tree->bytes.data + *at, text.data, text.size);
  tree->bytes.count += text.size;
  return VS_OK;
}

vs_status vs_toml_add(vs_toml_tree *tree, uint32_t parent, vs_str key, vs_toml_kind kind, uint32_t *node) {
  const uint32_t depth = tree->nodes.data[parent].depth + 1;
  const bool is_member = tree->nodes.data[parent].kind == VS_TOML_TABLE;
  vs_toml_node made = {.kind = kind,
                       .parent = parent,
                       .first = VS_TOML_NONE,
                       .last = VS_TOML_NONE,
                       .next = VS_TOML_NONE,
                       .depth = depth,
                       .key_size = key.size};
  if (depth > VS_TOML_DEPTH || tree->nodes.count >= VS_TOML_NONE) return VS_LIMIT;
  VS_TRY(vs_vec_reserve(tree->host, &tree->nodes, 1));
  if (is_member) VS_TRY(vs_map_reserve(tree->host, &tree->by_key));
  VS_TRY(append_bytes(tree, key, &made.key));
  *node = (uint32_t)tree->nodes.count;
  if (is_member) vs_map_add(&tree->by_key, hash_of(parent, key), *node);
  tree->nodes.data[tree->nodes.count++] = made;
  vs_toml_node *above = &tree->nodes.data[parent];
  if (above->last == VS_TOML_NONE) above->first = *node;
  else tree->nodes.data[above->last].next = *node;
  above->last = *node;
  return VS_OK;
}

vs_status vs_toml_set_text(vs_toml_tree *tree, uint32_t node, vs_str text) {
  tree->nodes.data[node].text_size = text.size;
  return append_bytes(tree, text, &tree->nodes.data[node].text);
}

/* ---- writing, without recursion: down to the first child, else on to the next, else up */

static void begin_node(const vs_toml_tree *tree, vs_jsonw *w, const vs_toml_node *node) {
  const bool is_member = node->parent != VS_TOML_NONE && tree->nodes.data[node->parent].kind == VS_TOML_TABLE;
  const vs_str text = {tree->bytes.data + node->text, node->text_size};
  if (is_member) vs_jsonw_key(w, key_of(tree, node));
  switch ((vs_toml_kind)node->kind) {
    case VS_TOML_TABLE: vs_jsonw_object_begin(w); break;
    case VS_TOML_TABLES:
    case VS_TOML_ARRAY: vs_jsonw_array_begin(w); break;
    case VS_TOML_STRING: vs_jsonw_str(w, text); break;
    case VS_TOML_BOOL: vs_jsonw_bool(w, node->integer != 0); break;
    case VS_TOML_INTEGER: vs_jsonw_i64(w, node->integer); break;
    case VS_TOML_REAL: vs_jsonw_f64(w, node->real); break;
  }
}

static void end_node(vs_jsonw *w, const vs_toml_node *node) {
  if (node->kind == VS_TOML_TABLE) vs_jsonw_object_end(w);
  else if (node->kind == VS_TOML_TABLES || node->kind == VS_TOML_ARRAY) vs_jsonw_array_end(w);
}

void vs_toml_put(const vs_toml_tree *tree, vs_jsonw *w) {
  uint32_t at = VS_TOML_ROOT;
  for (;;) {
    const vs_toml_node *node = &tree->nodes.data[at];
    begin_node(tree, w, node);
    if (node->first != VS_TOML_NONE) {
      at = node->first;
      continue;
    }
    end_node(w, node);
    while (node->next == VS_TOML_NONE && node->parent != VS_TOML_NONE) {
      node = &tree->nodes.data[node->parent];
      end_node(w, node);
    }
    if (node->next == VS_TOML_NONE) return;
    at = node->next;
  }
}
