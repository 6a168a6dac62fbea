/* "tree": the allocations that are live at a moment as a call tree, in one list: parents before their children,
 * siblings by falling bytes. */
#include "base/sort.h"
#include "query/reply.h"
#include "query/selection.h"

enum { NO_NODE = UINT32_MAX };

/* Invariant: nodes[0] is the root; the parent of every other node is before it; bytes of a node = its self_bytes +
 * the bytes of its children (saturating), count likewise. */
typedef struct node {
  uint32_t parent, call;      /* a frame's id, or OWNERS + a vs_owner_kind; NO_NODE for the root */
  uint32_t first_child, next; /* among the nodes that are shown */
  uint32_t shown_as;          /* index in the reply */
  uint64_t bytes, count, self_bytes, self_count;
  uint64_t rest_bytes, rest_count; /* of the children that are not shown; meaningful once chosen */
  uint64_t id;                     /* meaningful once written */
} node;
enum { OWNERS = UINT32_MAX - 16 };

typedef struct tree {
  const vs_host *host;
  vs_frames *frames;
  vs_tree_frames shown;
  bool inverted;
  VS_VEC(node) nodes;
  vs_map by_call;           /* parent << 32 | call -> node */
  vs_map by_place;          /* hash of what is shown of a frame -> frame, the first one met */
  VS_VEC(uint32_t) same_as; /* by frame: 0: not determined yet, else 1 + the first frame shown alike */
} tree;

static void tree_deinit(tree *t) {
  vs_vec_free(t->host, &t->nodes);
  vs_vec_free(t->host, &t->same_as);
  vs_map_deinit(t->host, &t->by_call);
  vs_map_deinit(t->host, &t->by_place);
}

static vs_status add_node(tree *t, uint32_t parent, uint32_t call, uint32_t *out) {
  VS_ASSERT(parent == NO_NODE ? t->nodes.count == 0 : parent < t->nodes.count);
  if (t->nodes.count >= NO_NODE) return VS_LIMIT;
  VS_TRY(vs_vec_reserve(t->host, &t->nodes, 1));
  VS_TRY(vs_map_reserve(t->host, &t->by_call));
  *out = (uint32_t)t->nodes.count;
  t->nodes.data[t->nodes.count++] =
      (node){.parent = parent, .call = call, .first_child = NO_NODE, .next = NO_NODE, .shown_as = NO_NODE};
  if (parent != NO_NODE) vs_map_add(&t->by_call, (uint64_t)parent << 32 | call, *out);
  return VS_OK;
}

static vs_status child(tree *t, uint32_t parent, uint32_t call, uint32_t *out) {
  const size_t slot = vs_map_find(&t->by_call, (uint64_t)parent << 32 | call);
  if (slot == VS_MAP_NONE) return add_node(t, parent, call, out);
  *out = t->by_call.slots[slot].value;
  return VS_OK;
}

/* ---- frames ---------------------------------------------------------------------------------------------------- */

static int64_t line_of(vs_frames *frames, uint32_t frame) {
  return vs_frames_has_line(frames, frame) ? frames->snapshot->stacks.frames.data[frame].line : -1;
}

/* The first frame that is shown like this one. C++ frames without debug information differ only in offsets, which
 * are not shown; and a line of the forward pass is the same call in its own stack and in stacks of its backward
 * pass. */
static vs_status first_alike(tree *t, uint32_t frame, uint32_t *out) {
  const vs_snapshot *s = t->frames->snapshot;
  const vs_frame *all = s->stacks.frames.data;
  const uint64_t hash = vs_hash_mix((uint64_t)all[frame].name << 32 | all[frame].file,
                                    vs_hash_u64((uint64_t)line_of(t->frames, frame)));
  for (size_t slot = vs_map_find(&t->by_place, hash); slot != VS_MAP_NONE;
       slot = vs_map_find_next(&t->by_place, slot)) {
    *out = t->by_place.slots[slot].value;
    if (all[*out].name == all[frame].name && all[*out].file == all[frame].file &&
        line_of(t->frames, *out) == line_of(t->frames, frame))
      return VS_OK;
  }
  VS_TRY(vs_map_reserve(t->host, &t->by_place));
  vs_map_add(&t->by_place, hash, frame);
  *out = frame;
  return VS_OK;
}

static vs_status call_of(tree *t, uint32_t frame, uint32_t *out) {
  uint32_t *known = &t->same_as.data[frame];
  VS_ASSERT(frame < t->frames->snapshot->stacks.frames.count && frame < OWNERS);
  if (*known == 0) {
    VS_TRY(first_alike(t, frame, out));
    *known = 1 + *out;
  }
  *out = *known - 1;
  return VS_OK;
}

static bool is_shown(tree *t, uint32_t frame) {
  const vs_frame_kind least = t->shown == VS_TREE_all      ? VS_FRAME_KIND_noise
                              : t->shown == VS_TREE_python ? VS_FRAME_KIND_library
                                                           : VS_FRAME_KIND_user;
  return vs_frames_kind(t->frames, frame) >= least || vs_frames_is_border(t->frames, frame);
}

static void count_in(node *n, const vs_group *group) {
  n->bytes = vs_sat_add_u64(n->bytes, group->bytes);
  n->count += group->count;
}

static vs_status enter(tree *t, const vs_group *group, uint32_t call, uint32_t *at) {
  VS_TRY(child(t, *at, call, at));
  count_in(&t->nodes.data[*at], group);
  return VS_OK;
}

static vs_status add_stack(tree *t, const vs_group *group) {
  const vs_list list = vs_stacks_at(&t->frames->snapshot->stacks, group->stack);
  const uint32_t end = vs_frames_innermost_place(t->frames, list);
  VS_ASSERT(end <= list.count && t->nodes.count > 0);
  uint32_t at = 0, call;
  count_in(&t->nodes.data[0], group);
  for (uint32_t i = 0; i < list.count; i++) {
    const uint32_t place = t->inverted ? i : list.count - 1 - i;
    if (place != end && !is_shown(t, list.items[place])) continue;
    VS_TRY(call_of(t, list.items[place], &call));
    VS_TRY(enter(t, group, call, &at));
  }
  const vs_owner_kind owner = group->key < VS_OWNER_frame ? (vs_owner_kind)group->key : VS_OWNER_unrecorded;
  if (at == 0) VS_TRY(enter(t, group, OWNERS + owner, &at));
  node *last = &t->nodes.data[at];
  last->self_bytes = vs_sat_add_u64(last->self_bytes, group->bytes);
  last->self_count += group->count;
  return VS_OK;
}

static vs_status grow(tree *t, const vs_groups *groups) {
  const size_t frames = t->frames->snapshot->stacks.frames.count;
  uint32_t root;
  VS_TRY(vs_vec_reserve(t->host, &t->same_as, frames));
  if (frames != 0) memset(t->same_as.data, 0, frames * sizeof *t->same_as.data);
  VS_TRY(add_node(t, NO_NODE, NO_NODE, &root));
  for (size_t i = 0; i < groups->list.count; i++) VS_TRY(add_stack(t, &groups->list.data[i]));
  return VS_OK;
}

/* ---- the reply ------------------------------------------------------------------------------------------------- */

/* Links the `top` largest nodes to their parents, siblings by falling bytes. A parent has at least the bytes of its
 * child and is before it in the list, so the parents of a node that is chosen are chosen too. */
static vs_status choose(tree *t, uint64_t top) {
  VS_VEC(vs_sort_pair) order = {0};
  VS_TRY(vs_vec_reserve(t->host, &order, t->nodes.count));
  for (uint32_t i = 0; i < t->nodes.count; i++)
    order.data[order.count++] = (vs_sort_pair){.key = ~t->nodes.data[i].bytes, .value = i};
  const vs_status status = vs_sort_pairs(t->host, order.data, order.count);
  const size_t shown = top != 0 && top < order.count ? (size_t)top : order.count;
  for (size_t i = 0; i < t->nodes.count; i++) {
    node *n = &t->nodes.data[i];
    n->rest_bytes = n->bytes - n->self_bytes;
    n->rest_count = n->count - n->self_count;
  }
  for (size_t i = status == VS_OK ? shown : 0; i-- > 0;) {
    node *n = &t->nodes.data[order.data[i].value];
    if (n->parent == NO_NODE) continue;
    node *parent = &t->nodes.data[n->parent];
    VS_ASSERT(n->parent < order.data[i].value && parent->bytes >= n->bytes && parent->rest_count >= n->count);
    n->next = parent->first_child;
    parent->first_child = order.data[i].value;
    parent->rest_bytes -= vs_min_u64(n->bytes, parent->rest_bytes);
    parent->rest_count -= n->count;
  }
  vs_vec_free(t->host, &order);
  return status;
}

/* Writes the members of a frame for a node without one: null, except kind and name. */
static void write_no_frame(const vs_call *call, const char *kind, const char *name) {
  vs_jsonw *json = call->json;
  vs_jsonw_member_null(json, "function");
  vs_jsonw_member_null(json, "file");
  vs_jsonw_member_null(json, "line");
  vs_jsonw_member_str(json, "kind", vs_str_from(kind));
  vs_jsonw_member_str(json, "place", VS_STR(""));
  vs_jsonw_member_str(json, "name", vs_str_from(name));
}

static void write_call(vs_call *call, uint32_t what) {
  static const char *const owners[] = {
#define VS_OWNER(name, words) #name,
#include "analyze/owners.def"
#undef VS_OWNER
  };
  if (what == NO_NODE) vs_reply_frame(call, VS_NO_FRAME);
  else if (what < OWNERS) vs_reply_frame(call, what);
  else write_no_frame(call, owners[what - OWNERS], vs_owner_words((vs_owner_kind)(what - OWNERS)));
}

static void write_sums(vs_jsonw *json, uint64_t id, uint64_t bytes, uint64_t count, uint64_t self_bytes,
                       uint64_t self_count) {
  vs_jsonw_member_u64(json, "id", id);
  vs_jsonw_member_u64(json, "bytes", bytes);
  vs_jsonw_member_u64(json, "count", count);
  vs_jsonw_member_u64(json, "self_bytes", self_bytes);
  vs_jsonw_member_u64(json, "self_count", self_count);
}

/* A hash of the calls from the root, so equal calls have equal ids at every moment. It is below 2^48, so it is exact
 * as a double. */
static uint64_t id_of(const tree *t, const node *n) {
  const vs_snapshot *s = t->frames->snapshot;
  if (n->parent == NO_NODE) return 0;
  uint64_t hash = vs_hash_mix(t->nodes.data[n->parent].id + 1, UINT64_C(0x9e3779b97f4a7c15));
  if (n->call >= OWNERS) return vs_hash_mix(hash, vs_hash_u64(n->call)) >> 16;
  const vs_frame *f = &s->stacks.frames.data[n->call];
  const vs_str name = vs_snapshot_string(s, f->name), file = vs_snapshot_string(s, f->file);
  hash = vs_hash_mix(hash ^ vs_hash_bytes(name.data, name.size), UINT64_C(0x8bb84b93962eacc9));
  hash = vs_hash_mix(hash ^ vs_hash_bytes(file.data, file.size), UINT64_C(0x4b33a62ed433d4a3));
  return vs_hash_mix(hash, vs_hash_u64((uint64_t)line_of(t->frames, n->call))) >> 16;
}

static void write_node(vs_call *call, const tree *t, node *n) {
  vs_jsonw *json = call->json;
  n->id = id_of(t, n);
  vs_jsonw_object_begin(json);
  vs_reply_u64_or_null(json, "parent", n->parent != NO_NODE,
                       n->parent == NO_NODE ? 0 : t->nodes.data[n->parent].shown_as);
  write_call(call, n->call);
  write_sums(json, n->id, n->bytes, n->count, n->self_bytes, n->self_count);
  vs_jsonw_object_end(json);
}

/* Writes the children of a node that `top` left out as one child; returns the number of nodes written, 0 or 1. */
static uint32_t write_rest(const vs_call *call, const node *n) {
  vs_jsonw *json = call->json;
  if (n->rest_count == 0) return 0;
  vs_jsonw_object_begin(json);
  vs_jsonw_member_u64(json, "parent", n->shown_as);
  write_no_frame(call, "rest", "smaller calls");
  write_sums(json, n->id + 1, n->rest_bytes, n->rest_count, n->rest_bytes, n->rest_count);
  vs_jsonw_object_end(json);
  return 1;
}

static void write_nodes(vs_call *call, tree *t) {
  uint32_t at = 0, written = 0;
  for (;;) {
    node *n = &t->nodes.data[at];
    n->shown_as = written++;
    VS_ASSERT(n->parent == NO_NODE || t->nodes.data[n->parent].shown_as < n->shown_as);
    write_node(call, t, n);
    if (n->first_child != NO_NODE) {
      at = n->first_child;
      continue;
    }
    for (;; at = t->nodes.data[at].parent) {
      written += write_rest(call, &t->nodes.data[at]);
      if (at == 0) return;
      if (t->nodes.data[at].next != NO_NODE) break;
    }
    at = t->nodes.data[at].next;
  }
}

static void write_tree(vs_call *call, const vs_device_cache *device, const vs_selection *selection, tree *t) {
  static const char *const shown[] = {
      [VS_TREE_calls] = "calls", [VS_TREE_python] = "python", [VS_TREE_all] = "all"};
  vs_jsonw *json = call->json;
  vs_reply_device(call, device);
  vs_reply_selection(call, device, selection);
  vs_jsonw_member_str(json, "frames", vs_str_from(shown[t->shown]));
  vs_jsonw_member_bool(json, "inverted", t->inverted);
  vs_jsonw_member_u64(json, "bytes", t->nodes.data[0].bytes);
  vs_jsonw_member_u64(json, "count", t->nodes.data[0].count);
  vs_reply_array_begin(json, "nodes");
  write_nodes(call, t);
  vs_jsonw_array_end(json);
  vs_jsonw_member_u64(json, "node_count", t->nodes.count);
}

vs_status vs_method_tree(vs_call *call) {
  const vs_host *host = call->engine->host;
  vs_device_cache *device = call->device;
  vs_selection selection;
  vs_groups groups;
  VS_TRY(vs_selection_build(call, device, &selection));
  vs_status status = vs_selection_groups(call, &selection, VS_BY_STACK, &groups);
  if (status == VS_OK) {
    tree t = {.host = host,
              .frames = &call->engine->frames,
              .shown = call->request->shown,
              .inverted = call->request->inverted};
    status = grow(&t, &groups);
    if (status == VS_OK) status = choose(&t, call->request->top);
    if (status == VS_OK) write_tree(call, device, &selection, &t);
    tree_deinit(&t);
    vs_groups_deinit(host, &groups);
  }
  vs_selection_deinit(call, &selection);
  return status;
}
