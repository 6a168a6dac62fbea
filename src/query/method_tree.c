/* "tree": what was live at a moment as a call tree, flat: parents before their children, which stand biggest first. */
#include "base/sort.h"
#include "query/reply.h"
#include "query/selection.h"

enum { NO_NODE = UINT32_MAX };

/* Invariant: nodes[0] is the root; the parent of every other node stands before it; bytes of a node = its self_bytes +
 * the bytes of its children (saturating), count likewise. */
typedef struct node {
  uint32_t parent, frame;
  uint32_t first_child, next; /* of those that are shown */
  uint32_t shown_as;          /* index in the reply */
  uint64_t bytes, count, self_bytes, self_count;
} node;

typedef struct tree {
  const vs_host *host;
  VS_VEC(node) nodes;
  vs_map by_frame; /* parent << 32 | frame -> node */
} tree;

static void tree_deinit(tree *t) {
  vs_vec_free(t->host, &t->nodes);
  vs_map_deinit(t->host, &t->by_frame);
}

static vs_status add_node(tree *t, uint32_t parent, uint32_t frame, uint32_t *out) {
  if (t->nodes.count >= NO_NODE) return VS_LIMIT;
  VS_TRY(vs_vec_reserve(t->host, &t->nodes, 1));
  VS_TRY(vs_map_reserve(t->host, &t->by_frame));
  *out = (uint32_t)t->nodes.count;
  t->nodes.data[t->nodes.count++] =
      (node){.parent = parent, .frame = frame, .first_child = NO_NODE, .next = NO_NODE, .shown_as = NO_NODE};
  if (parent != NO_NODE) vs_map_add(&t->by_frame, (uint64_t)parent << 32 | frame, *out);
  return VS_OK;
}

static vs_status child(tree *t, uint32_t parent, uint32_t frame, uint32_t *out) {
  const size_t slot = vs_map_find(&t->by_frame, (uint64_t)parent << 32 | frame);
  if (slot == VS_MAP_NONE) return add_node(t, parent, frame, out);
  *out = t->by_frame.slots[slot].value;
  return VS_OK;
}

static void count_in(node *n, const vs_group *group) {
  n->bytes = vs_sat_add_u64(n->bytes, group->bytes);
  n->count += group->count;
}

static vs_status add_stack(tree *t, const vs_stacks *stacks, const vs_group *group, bool inverted) {
  const vs_list list = vs_stacks_at(stacks, group->key);
  uint32_t at = 0;
  count_in(&t->nodes.data[0], group);
  for (uint32_t i = 0; i < list.count; i++) {
    VS_TRY(child(t, at, list.items[inverted ? i : list.count - 1 - i], &at));
    count_in(&t->nodes.data[at], group);
  }
  node *last = &t->nodes.data[at];
  last->self_bytes = vs_sat_add_u64(last->self_bytes, group->bytes);
  last->self_count += group->count;
  return VS_OK;
}

static vs_status grow(tree *t, const vs_stacks *stacks, const vs_groups *groups, bool inverted) {
  uint32_t root;
  VS_TRY(add_node(t, NO_NODE, VS_NO_FRAME, &root));
  for (size_t i = 0; i < groups->list.count; i++)
    VS_TRY(add_stack(t, stacks, &groups->list.data[i], inverted));
  return VS_OK;
}

/* Hangs the `top` biggest nodes under their parents, siblings biggest first. A parent has no less than its child and stands
 * before it, so whoever is among the biggest has all its parents there, too. */
static vs_status choose(tree *t, uint64_t top) {
  VS_VEC(vs_sort_pair) order = {0};
  VS_TRY(vs_vec_reserve(t->host, &order, t->nodes.count));
  for (uint32_t i = 0; i < t->nodes.count; i++)
    order.data[order.count++] = (vs_sort_pair){.key = ~t->nodes.data[i].bytes, .value = i};
  const vs_status status = vs_sort_pairs(t->host, order.data, order.count);
  const size_t shown = top != 0 && top < order.count ? (size_t)top : order.count;
  for (size_t i = status == VS_OK ? shown : 0; i-- > 0;) {
    node *n = &t->nodes.data[order.data[i].value];
    if (n->parent == NO_NODE) continue;
    n->next = t->nodes.data[n->parent].first_child;
    t->nodes.data[n->parent].first_child = order.data[i].value;
  }
  vs_vec_free(t->host, &order);
  return status;
}

static void write_node(const vs_call *call, const tree *t, const node *n) {
  vs_jsonw *json = call->json;
  vs_jsonw_object_begin(json);
  vs_reply_u64_or_null(json, "parent", n->parent != NO_NODE,
                       n->parent == NO_NODE ? 0 : t->nodes.data[n->parent].shown_as);
  vs_reply_frame(call, n->frame);
  vs_jsonw_member_u64(json, "bytes", n->bytes);
  vs_jsonw_member_u64(json, "count", n->count);
  vs_jsonw_member_u64(json, "self_bytes", n->self_bytes);
  vs_jsonw_member_u64(json, "self_count", n->self_count);
  vs_jsonw_object_end(json);
}

static void write_nodes(const vs_call *call, tree *t) {
  uint32_t at = 0, written = 0;
  for (;;) {
    node *n = &t->nodes.data[at];
    n->shown_as = written++;
    write_node(call, t, n);
    if (n->first_child != NO_NODE) {
      at = n->first_child;
      continue;
    }
    while (at != 0 && t->nodes.data[at].next == NO_NODE) at = t->nodes.data[at].parent;
    if (at == 0) return;
    at = t->nodes.data[at].next;
  }
}

static void write_tree(const vs_call *call, const vs_view *view, const vs_selection *selection, tree *t) {
  vs_jsonw *json = call->json;
  vs_reply_device(call, view);
  vs_reply_selection(call, view, selection);
  vs_jsonw_member_bool(json, "inverted", call->request->inverted);
  vs_jsonw_member_u64(json, "bytes", t->nodes.data[0].bytes);
  vs_jsonw_member_u64(json, "count", t->nodes.data[0].count);
  vs_reply_array_begin(json, "nodes");
  write_nodes(call, t);
  vs_jsonw_array_end(json);
  vs_jsonw_member_u64(json, "node_count", t->nodes.count);
}

vs_status vs_method_tree(vs_call *call) {
  const vs_host *host = call->engine->host;
  vs_view *view = call->view;
  vs_selection selection;
  vs_groups groups;
  VS_TRY(vs_selection_build(call, view, &selection));
  vs_status status = vs_selection_groups(call, &selection, VS_BY_STACK, &groups);
  if (status == VS_OK) {
    tree t = {.host = host};
    status = grow(&t, &call->engine->snapshot->stacks, &groups, call->request->inverted);
    if (status == VS_OK) status = choose(&t, call->request->top);
    if (status == VS_OK) write_tree(call, view, &selection, &t);
    tree_deinit(&t);
    vs_groups_deinit(host, &groups);
  }
  vs_selection_deinit(call, &selection);
  return status;
}
