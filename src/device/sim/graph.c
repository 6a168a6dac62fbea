#include "device/sim/graph_internal.h"

enum { LEFT_OVER = 64 }; /* so many unused entries of needs are not removed */

/* ---- create, copy, destroy ---- */

vs_sim_graph *vs_sim_graph_new(vs_sim *sim) {
  vs_sim_graph *graph = vs_host_alloc(sim->host, sizeof *graph);
  if (graph != NULL) *graph = (vs_sim_graph){.epoch = 1, .depth = 1, .is_ordered = true};
  return graph;
}

vs_sim_error vs_sim_graph_publish(vs_sim *sim, vs_sim_graph *graph) {
  VS_ASSERT(graph->handle == 0);
  VS_SIM_TRY(vs_sim_handles_add(sim->host, &sim->graphs.graphs, graph, &graph->number));
  graph->handle = vs_sim_handle_make(&sim->graphs.graphs, VS_SIM_HANDLE_GRAPH, graph->number, 0);
  return VS_SIM_OK;
}

/* Recursive for child graphs, at most VS_SIM_GRAPH_DEEPEST levels. */
void vs_sim_graph_drop(vs_sim *sim, vs_sim_graph *graph) {
  vs_sim_ranges_let_go(sim, graph);
  vs_sim_references_drop(sim, graph);
  for (size_t i = 0; i < graph->nodes.count; i++)
    if (graph->nodes.data[i].child != NULL) vs_sim_graph_drop(sim, graph->nodes.data[i].child);
  if (graph->handle != 0) vs_sim_handles_remove(&sim->graphs.graphs, graph->number);
  vs_vec_free(sim->host, &graph->nodes);
  vs_vec_free(sim->host, &graph->needs);
  vs_vec_free(sim->host, &graph->order);
  vs_vec_free(sim->host, &graph->references);
  vs_host_free(sim->host, graph, sizeof *graph);
}

static vs_sim_error copy_children(vs_sim *sim, const vs_sim_graph *graph, vs_sim_graph *copy) {
  for (size_t i = 0; i < graph->nodes.count; i++) {
    if (graph->nodes.data[i].child == NULL) continue;
    VS_SIM_TRY(vs_sim_graph_copy(sim, graph->nodes.data[i].child, &copy->nodes.data[i].child));
    copy->nodes.data[i].child->parent = copy;
  }
  return VS_SIM_OK;
}

/* Fills a new graph. Memory nodes are counted last, so that dropping an incomplete copy does not release their blocks. */
static vs_sim_error copy_into(vs_sim *sim, const vs_sim_graph *graph, vs_sim_graph *copy) {
  if (vs_vec_reserve(sim->host, &copy->nodes, graph->nodes.count) != VS_OK ||
      vs_vec_reserve(sim->host, &copy->needs, graph->needs.count) != VS_OK)
    return VS_SIM_OUT_OF_MEMORY;
  copy->nodes.count = graph->nodes.count;
  copy->needs.count = graph->needs.count;
  if (copy->nodes.count != 0)
    memcpy(copy->nodes.data, graph->nodes.data, copy->nodes.count * sizeof *copy->nodes.data);
  if (copy->needs.count != 0)
    memcpy(copy->needs.data, graph->needs.data, copy->needs.count * sizeof *copy->needs.data);
  for (size_t i = 0; i < copy->nodes.count; i++) copy->nodes.data[i].child = NULL;
  copy->epoch = graph->epoch;
  copy->live_nodes = graph->live_nodes;
  copy->live_edges = graph->live_edges;
  copy->total_nodes = graph->total_nodes;
  copy->depth = graph->depth;
  copy->is_ordered = graph->is_ordered;
  VS_SIM_TRY(copy_children(sim, graph, copy));
  VS_SIM_TRY(vs_sim_references_copy(sim, graph, copy));
  copy->memory_nodes = graph->memory_nodes;
  vs_sim_ranges_keep(sim, copy);
  return VS_SIM_OK;
}

vs_sim_error vs_sim_graph_copy(vs_sim *sim, const vs_sim_graph *graph, vs_sim_graph **out) {
  vs_sim_graph *copy = vs_sim_graph_new(sim);
  if (copy == NULL) return VS_SIM_OUT_OF_MEMORY;
  const vs_sim_error error = copy_into(sim, graph, copy);
  if (error != VS_SIM_OK) vs_sim_graph_drop(sim, copy);
  else *out = copy;
  return error;
}

void vs_sim_graphs_deinit(vs_sim *sim) {
  vs_sim_graphs *graphs = &sim->graphs;
  const vs_host *host = sim->host;
  for (size_t i = 0; i < graphs->execs.slots.count; i++) {
    vs_sim_exec *exec = graphs->execs.slots.data[i].object;
    if (exec == NULL) continue;
    vs_sim_graph_drop(sim, exec->copy);
    vs_host_free(host, exec, sizeof *exec);
  }
  for (size_t i = 0; i < graphs->graphs.slots.count; i++) {
    vs_sim_graph *graph = graphs->graphs.slots.data[i].object;
    if (graph != NULL && graph->parent == NULL) vs_sim_graph_drop(sim, graph); /* with its children */
  }
  for (size_t i = 0; i < graphs->user_objects.slots.count; i++)
    vs_host_free(host, graphs->user_objects.slots.data[i].object, sizeof(vs_sim_user_object));
  vs_sim_handles_deinit(host, &graphs->graphs);
  vs_sim_handles_deinit(host, &graphs->execs);
  vs_sim_handles_deinit(host, &graphs->user_objects);
  vs_vec_free(host, &graphs->captures);
  vs_sim_numbers_deinit(host, &graphs->capture_rows);
  vs_vec_free(host, &graphs->callbacks);
  vs_vec_free(host, &graphs->ranges);
  vs_sim_numbers_deinit(host, &graphs->range_rows);
  vs_map_deinit(host, &graphs->by_address);
  vs_vec_free(host, &graphs->scratch);
  *graphs = (vs_sim_graphs){0};
}

vs_sim_error vs_sim_graph_create(vs_sim *sim, uint32_t flags, uint64_t *handle) {
  if (handle == NULL || flags != 0) return VS_SIM_INVALID_VALUE;
  VS_SIM_TRY(vs_sim_fault_step(sim, VS_SIM_FAULT_GRAPH));
  vs_sim_graph *graph = vs_sim_graph_new(sim);
  if (graph == NULL) return VS_SIM_OUT_OF_MEMORY;
  const vs_sim_error error = vs_sim_graph_publish(sim, graph);
  if (error != VS_SIM_OK) vs_sim_graph_drop(sim, graph);
  else *handle = graph->handle;
  return error;
}

vs_sim_error vs_sim_graph_destroy(vs_sim *sim, uint64_t handle) {
  vs_sim_graph *graph = vs_sim_graph_find(sim, handle);
  if (graph == NULL) return VS_SIM_INVALID_HANDLE;
  if (graph->parent != NULL || graph->is_captured) return VS_SIM_ILLEGAL_STATE;
  vs_sim_graph_drop(sim, graph);
  return VS_SIM_OK;
}

vs_sim_error vs_sim_graph_clone(vs_sim *sim, uint64_t handle, uint64_t *clone) {
  const vs_sim_graph *graph = vs_sim_graph_find(sim, handle);
  if (graph == NULL) return VS_SIM_INVALID_HANDLE;
  if (clone == NULL) return VS_SIM_INVALID_VALUE;
  if (graph->is_captured) return VS_SIM_ILLEGAL_STATE;
  if (graph->memory_nodes != 0) return VS_SIM_NOT_SUPPORTED;
  VS_SIM_TRY(vs_sim_fault_step(sim, VS_SIM_FAULT_GRAPH));
  vs_sim_graph *copy;
  VS_SIM_TRY(vs_sim_graph_copy(sim, graph, &copy));
  const vs_sim_error error = vs_sim_graph_publish(sim, copy);
  if (error != VS_SIM_OK) {
    vs_sim_graph_drop(sim, copy);
    return error;
  }
  copy->source_handle = handle;
  *clone = copy->handle;
  return VS_SIM_OK;
}

/* ---- handles ---- */

vs_sim_error vs_sim_graph_find_in_clone(const vs_sim *sim, uint64_t node, uint64_t clone, uint64_t *found) {
  uint32_t number;
  const vs_sim_graph *graph = vs_sim_graph_of_node(sim, node, &number);
  const vs_sim_graph *copy = vs_sim_graph_find(sim, clone);
  if (copy == NULL) return VS_SIM_INVALID_HANDLE;
  if (found == NULL || graph == NULL || copy->source_handle != graph->handle) return VS_SIM_INVALID_VALUE;
  if (number >= copy->nodes.count || copy->nodes.data[number].is_gone) return VS_SIM_INVALID_VALUE;
  *found = vs_sim_node_handle(sim, copy, number);
  return VS_SIM_OK;
}

const vs_sim_work *vs_sim_node_work(const vs_sim *sim, uint64_t node) {
  uint32_t number;
  const vs_sim_graph *graph = vs_sim_graph_of_node(sim, node, &number);
  return graph == NULL ? NULL : &graph->nodes.data[number].work;
}

vs_sim_error vs_sim_node_set_work(vs_sim *sim, uint64_t node, const vs_sim_work *work) {
  uint32_t number;
  vs_sim_graph *graph = vs_sim_graph_of_node(sim, node, &number);
  if (graph == NULL) return VS_SIM_INVALID_HANDLE;
  return vs_sim_graph_set_work(sim, graph, number, work);
}

vs_sim_error vs_sim_node_child(vs_sim *sim, uint64_t node, uint64_t *graph) {
  uint32_t number;
  const vs_sim_graph *parent = vs_sim_graph_of_node(sim, node, &number);
  if (parent == NULL) return VS_SIM_INVALID_HANDLE;
  vs_sim_graph *child = parent->nodes.data[number].child;
  if (graph == NULL || child == NULL) return VS_SIM_INVALID_VALUE;
  if (child->handle == 0) VS_SIM_TRY(vs_sim_graph_publish(sim, child));
  *graph = child->handle;
  return VS_SIM_OK;
}

/* ---- walks ---- */

void vs_sim_graph_unmark(vs_sim_graph *graph) {
  if (++graph->epoch != 0) return;
  for (size_t i = 0; i < graph->nodes.count; i++) graph->nodes.data[i].mark = 0;
  graph->epoch = 1;
}

/* Sorts from the back: a node is placed when all nodes that depend on it are. pending[i]: how many of these are not. */
static uint32_t order_backwards(const vs_sim_graph *graph, uint32_t *pending, uint32_t *order) {
  const vs_sim_graph_node *nodes = graph->nodes.data;
  uint32_t free = graph->live_nodes; /* order[free ..) is filled */
  for (size_t i = 0; i < graph->nodes.count; i++)
    for (uint32_t n = 0; n < nodes[i].need_count; n++) pending[graph->needs.data[nodes[i].first_need + n]]++;
  for (size_t i = graph->nodes.count; i-- > 0;)
    if (!nodes[i].is_gone && pending[i] == 0) order[--free] = (uint32_t)i;
  for (uint32_t next = graph->live_nodes; next-- > free;) {
    const vs_sim_graph_node *node = &nodes[order[next]];
    for (uint32_t n = 0; n < node->need_count; n++) {
      const uint32_t need = graph->needs.data[node->first_need + n];
      if (--pending[need] == 0) order[--free] = need;
    }
  }
  return graph->live_nodes - free;
}

vs_sim_error vs_sim_graph_order(vs_sim *sim, const vs_sim_graph *graph, uint32_t *order, uint32_t *count) {
  const size_t bytes = graph->nodes.count * sizeof(uint32_t);
  VS_ASSERT(!graph->is_ordered);
  uint32_t *pending = vs_host_alloc(sim->host, bytes);
  if (pending == NULL) return VS_SIM_OUT_OF_MEMORY;
  memset(pending, 0, bytes);
  *count = order_backwards(graph, pending, order);
  vs_host_free(sim->host, pending, bytes);
  return VS_SIM_OK;
}

vs_sim_error vs_sim_graph_mark_needs(vs_sim *sim, vs_sim_graph *graph) {
  const uint32_t *order = NULL;
  uint32_t count = (uint32_t)graph->nodes.count;
  if (!graph->is_ordered) {
    sim->graphs.scratch.count = 0;
    if (vs_vec_reserve(sim->host, &sim->graphs.scratch, graph->live_nodes) != VS_OK)
      return VS_SIM_OUT_OF_MEMORY;
    order = sim->graphs.scratch.data;
    VS_SIM_TRY(vs_sim_graph_order(sim, graph, sim->graphs.scratch.data, &count));
  }
  while (count-- > 0) {
    const vs_sim_graph_node *node = &graph->nodes.data[order == NULL ? count : order[count]];
    if (node->mark != graph->epoch) continue;
    for (uint32_t n = 0; n < node->need_count; n++)
      (void)vs_sim_node_mark(graph, graph->needs.data[node->first_need + n]);
  }
  return VS_SIM_OK;
}

/* ---- nodes ---- */

/* Whether this graph and its parents may have `nodes` more nodes, in `levels` more levels. */
static bool has_room(const vs_sim_graph *graph, uint32_t nodes, uint32_t levels) {
  if (graph->nodes.count >= VS_SIM_HANDLE_PARTS_MOST || nodes > VS_SIM_GRAPH_MOST_NODES) return false;
  for (; graph != NULL; graph = graph->parent)
    if (++levels > VS_SIM_GRAPH_DEEPEST || graph->total_nodes > VS_SIM_GRAPH_MOST_NODES - nodes) return false;
  return true;
}

static void count_in(vs_sim_graph *graph, uint32_t nodes, uint32_t levels) {
  for (; graph != NULL; graph = graph->parent) {
    graph->total_nodes += nodes;
    if (++levels > graph->depth) graph->depth = levels;
  }
}

static bool is_memory(vs_sim_node_kind kind) {
  return kind == VS_SIM_NODE_MEM_ALLOC || kind == VS_SIM_NODE_MEM_FREE;
}

/* Adds a node; there is space for it and its needs. */
static uint32_t push_node(vs_sim_graph *graph, const uint32_t *needs, uint32_t count,
                          vs_sim_graph_node node) {
  VS_ASSERT(graph->nodes.count < graph->nodes.capacity &&
            graph->needs.capacity - graph->needs.count >= count);
  node.first_need = (uint32_t)graph->needs.count;
  node.need_count = count;
  if (count != 0) memcpy(graph->needs.data + graph->needs.count, needs, count * sizeof *needs);
  graph->needs.count += count;
  graph->live_edges += count;
  graph->live_nodes++;
  graph->nodes.data[graph->nodes.count] = node;
  return (uint32_t)graph->nodes.count++;
}

vs_sim_error vs_sim_graph_append(vs_sim *sim, vs_sim_graph *graph, const uint32_t *needs, size_t count,
                                 const vs_sim_work *work, vs_sim_graph *child, uint32_t *number) {
  vs_sim_graph_node node = {.work = *work, .child = child};
  const uint32_t levels = child == NULL ? 0 : child->depth;
  const uint32_t nodes = child == NULL ? 1 : 1 + child->total_nodes;
  if (!has_room(graph, nodes, levels) || count >= VS_SIM_HANDLE_PARTS_MOST) return VS_SIM_NOT_SUPPORTED;
  if (is_memory(work->kind) && graph->parent != NULL) return VS_SIM_NOT_SUPPORTED;
  if (vs_vec_reserve(sim->host, &graph->nodes, 1) != VS_OK ||
      vs_vec_reserve(sim->host, &graph->needs, count) != VS_OK)
    return VS_SIM_OUT_OF_MEMORY;
  if (is_memory(work->kind)) VS_SIM_TRY(vs_sim_memory_node_begin(sim, &node.work, &node.range));
  *number = push_node(graph, needs, (uint32_t)count, node);
  count_in(graph, nodes, levels);
  if (child != NULL) child->parent = graph;
  if (is_memory(work->kind)) {
    graph->memory_nodes++;
    vs_sim_memory_node_end(sim, graph, *number);
  }
  return VS_SIM_OK;
}

/* Stores the numbers of `dependencies` in sim->graphs.scratch. Fails unless they are different nodes of `graph`. */
static vs_sim_error read_dependencies(vs_sim *sim, vs_sim_graph *graph, const uint64_t *dependencies,
                                      size_t count) {
  vs_sim_graphs *graphs = &sim->graphs;
  if (count != 0 && dependencies == NULL) return VS_SIM_INVALID_VALUE;
  if (count > graph->nodes.count) return VS_SIM_INVALID_VALUE;
  graphs->scratch.count = 0;
  if (vs_vec_reserve(sim->host, &graphs->scratch, count) != VS_OK) return VS_SIM_OUT_OF_MEMORY;
  vs_sim_graph_unmark(graph);
  for (size_t i = 0; i < count; i++) {
    uint32_t number;
    if (vs_sim_graph_of_node(sim, dependencies[i], &number) != graph) return VS_SIM_INVALID_VALUE;
    if (!vs_sim_node_mark(graph, number)) return VS_SIM_INVALID_VALUE;
    graphs->scratch.data[graphs->scratch.count++] = number;
  }
  return VS_SIM_OK;
}

static vs_sim_error check_kind(const vs_sim *sim, const vs_sim_work *work) {
  switch (work->kind) {
    case VS_SIM_NODE_KERNEL:
    case VS_SIM_NODE_MEMCPY:
    case VS_SIM_NODE_MEMSET:
    case VS_SIM_NODE_HOST:
    case VS_SIM_NODE_EMPTY:
    case VS_SIM_NODE_MEM_ALLOC:
    case VS_SIM_NODE_MEM_FREE: return VS_SIM_OK;
    case VS_SIM_NODE_EVENT_WAIT:
    case VS_SIM_NODE_EVENT_RECORD:
      return vs_sim_event_find(sim, work->object) != NULL ? VS_SIM_OK : VS_SIM_INVALID_VALUE;
    case VS_SIM_NODE_CONDITIONAL: return VS_SIM_NOT_SUPPORTED;
    case VS_SIM_NODE_GRAPH:
    case VS_SIM_NODE_KINDS: break;
  }
  return VS_SIM_INVALID_VALUE;
}

vs_sim_error vs_sim_graph_add(vs_sim *sim, uint64_t handle, const uint64_t *dependencies, size_t count,
                              const vs_sim_work *work, uint64_t *node) {
  uint32_t number;
  vs_sim_graph *graph = vs_sim_graph_find(sim, handle);
  if (graph == NULL) return VS_SIM_INVALID_HANDLE;
  if (work == NULL || node == NULL) return VS_SIM_INVALID_VALUE;
  VS_SIM_TRY(check_kind(sim, work));
  VS_SIM_TRY(read_dependencies(sim, graph, dependencies, count));
  VS_SIM_TRY(vs_sim_graph_append(sim, graph, sim->graphs.scratch.data, count, work, NULL, &number));
  *node = vs_sim_node_handle(sim, graph, number);
  return VS_SIM_OK;
}

vs_sim_error vs_sim_graph_add_child(vs_sim *sim, uint64_t handle, const uint64_t *dependencies, size_t count,
                                    uint64_t child, uint64_t *node) {
  uint32_t number;
  vs_sim_graph *copy, *graph = vs_sim_graph_find(sim, handle);
  const vs_sim_graph *from = vs_sim_graph_find(sim, child);
  if (graph == NULL || from == NULL) return VS_SIM_INVALID_HANDLE;
  if (node == NULL) return VS_SIM_INVALID_VALUE;
  if (from->is_captured) return VS_SIM_ILLEGAL_STATE;
  if (from->memory_nodes != 0 || !has_room(graph, 1 + from->total_nodes, from->depth))
    return VS_SIM_NOT_SUPPORTED;
  VS_SIM_TRY(read_dependencies(sim, graph, dependencies, count));
  VS_SIM_TRY(vs_sim_graph_copy(sim, from, &copy));
  const vs_sim_error error = vs_sim_graph_append(sim, graph, sim->graphs.scratch.data, count,
                                                 &(vs_sim_work){.kind = VS_SIM_NODE_GRAPH}, copy, &number);
  if (error != VS_SIM_OK) vs_sim_graph_drop(sim, copy);
  else *node = vs_sim_node_handle(sim, graph, number);
  return error;
}

vs_sim_error vs_sim_graph_set_work(const vs_sim *sim, vs_sim_graph *graph, uint32_t number,
                                   const vs_sim_work *work) {
  vs_sim_graph_node *node = &graph->nodes.data[number];
  if (work == NULL || work->kind != node->work.kind) return VS_SIM_INVALID_VALUE;
  if (is_memory(work->kind)) return VS_SIM_NOT_SUPPORTED;
  VS_SIM_TRY(check_kind(sim, work));
  node->work = *work;
  return VS_SIM_OK;
}

/* ---- edges ---- */

/* The index in graph->needs of the edge from `from` to `to`; UINT32_MAX if there is none. */
static uint32_t find_need(const vs_sim_graph *graph, uint32_t from, uint32_t to) {
  const vs_sim_graph_node *node = &graph->nodes.data[to];
  for (uint32_t i = node->first_need; i < node->first_need + node->need_count; i++)
    if (graph->needs.data[i] == from) return i;
  return UINT32_MAX;
}

/* Rewrites the needs without unused entries. */
static vs_sim_error squeeze(vs_sim *sim, vs_sim_graph *graph) {
  VS_VEC(uint32_t) fresh = {0};
  if (vs_vec_reserve(sim->host, &fresh, graph->live_edges + 1) != VS_OK) return VS_SIM_OUT_OF_MEMORY;
  for (size_t i = 0; i < graph->nodes.count; i++) {
    vs_sim_graph_node *node = &graph->nodes.data[i];
    const uint32_t first = node->first_need;
    node->first_need = (uint32_t)fresh.count;
    for (uint32_t n = 0; n < node->need_count; n++) fresh.data[fresh.count++] = graph->needs.data[first + n];
  }
  VS_ASSERT(fresh.count == graph->live_edges);
  vs_vec_free(sim->host, &graph->needs);
  graph->needs.data = fresh.data;
  graph->needs.count = fresh.count;
  graph->needs.capacity = fresh.capacity;
  return VS_SIM_OK;
}

/* Adds an edge. The list of needs of `to` moves to the end of graph->needs, so that it can grow. */
static vs_sim_error add_need(vs_sim *sim, vs_sim_graph *graph, uint32_t from, uint32_t to) {
  vs_sim_graph_node *node = &graph->nodes.data[to];
  if (graph->needs.count / 2 > graph->live_edges + LEFT_OVER) VS_SIM_TRY(squeeze(sim, graph));
  if (vs_vec_reserve(sim->host, &graph->needs, node->need_count + 1) != VS_OK) return VS_SIM_OUT_OF_MEMORY;
  if (node->first_need + node->need_count != graph->needs.count) {
    for (uint32_t i = 0; i < node->need_count; i++)
      graph->needs.data[graph->needs.count + i] = graph->needs.data[node->first_need + i];
    node->first_need = (uint32_t)graph->needs.count;
    graph->needs.count += node->need_count;
  }
  graph->needs.data[graph->needs.count++] = from;
  node->need_count++;
  graph->live_edges++;
  if (from > to) graph->is_ordered = false;
  return VS_SIM_OK;
}

/* The numbers of an edge's nodes, which have to be two different nodes of the graph. */
static vs_sim_error read_edge(const vs_sim *sim, const vs_sim_graph *graph, uint64_t from_handle,
                              uint64_t to_handle, uint32_t *from, uint32_t *to) {
  if (vs_sim_graph_of_node(sim, from_handle, from) != graph ||
      vs_sim_graph_of_node(sim, to_handle, to) != graph || *from == *to)
    return VS_SIM_INVALID_VALUE;
  return VS_SIM_OK;
}

static vs_sim_error check_circles(vs_sim *sim, const vs_sim_graph *graph) {
  vs_sim_graphs *graphs = &sim->graphs;
  uint32_t count;
  if (graph->is_ordered) return VS_SIM_OK;
  graphs->scratch.count = 0;
  if (vs_vec_reserve(sim->host, &graphs->scratch, graph->live_nodes) != VS_OK) return VS_SIM_OUT_OF_MEMORY;
  VS_SIM_TRY(vs_sim_graph_order(sim, graph, graphs->scratch.data, &count));
  return count == graph->live_nodes ? VS_SIM_OK : VS_SIM_INVALID_VALUE;
}

vs_sim_error vs_sim_graph_add_edges(vs_sim *sim, uint64_t handle, const uint64_t *from, const uint64_t *to,
                                    size_t count) {
  uint32_t a, b;
  vs_sim_graph *graph = vs_sim_graph_find(sim, handle);
  if (graph == NULL) return VS_SIM_INVALID_HANDLE;
  if (count != 0 && (from == NULL || to == NULL)) return VS_SIM_INVALID_VALUE;
  const bool was_ordered = graph->is_ordered;
  vs_sim_error error = VS_SIM_OK;
  size_t added = 0;
  for (; added < count && error == VS_SIM_OK; added += error == VS_SIM_OK) {
    error = read_edge(sim, graph, from[added], to[added], &a, &b);
    if (error == VS_SIM_OK && find_need(graph, a, b) != UINT32_MAX) error = VS_SIM_INVALID_VALUE;
    if (error == VS_SIM_OK) error = add_need(sim, graph, a, b);
  }
  if (error == VS_SIM_OK) error = check_circles(sim, graph);
  if (error == VS_SIM_OK) return VS_SIM_OK;
  while (added-- > 0) { /* in reverse order each edge is the last need of its node */
    (void)read_edge(sim, graph, from[added], to[added], &a, &b);
    VS_ASSERT(graph->nodes.data[b].need_count > 0 && graph->live_edges > 0);
    graph->nodes.data[b].need_count--;
    graph->live_edges--;
  }
  graph->is_ordered = was_ordered;
  return error;
}

#define LEAVING (UINT32_C(1) << 31) /* marks a need that is to be removed; no number of a node has this bit */

/* Removes the marked needs of a node; with `stay` only the marks. */
static void take_out(vs_sim_graph *graph, uint32_t to, bool stay) {
  vs_sim_graph_node *node = &graph->nodes.data[to];
  uint32_t *needs = graph->needs.data + node->first_need, kept = 0;
  for (uint32_t i = 0; i < node->need_count; i++)
    if (stay || (needs[i] & LEAVING) == 0) needs[kept++] = needs[i] & ~LEAVING;
  VS_ASSERT(graph->live_edges >= node->need_count - kept);
  graph->live_edges -= node->need_count - kept;
  node->need_count = kept;
}

vs_sim_error vs_sim_graph_remove_edges(vs_sim *sim, uint64_t handle, const uint64_t *from, const uint64_t *to,
                                       size_t count) {
  uint32_t a, b;
  vs_sim_graph *graph = vs_sim_graph_find(sim, handle);
  if (graph == NULL) return VS_SIM_INVALID_HANDLE;
  if (count != 0 && (from == NULL || to == NULL)) return VS_SIM_INVALID_VALUE;
  if (graph->memory_nodes != 0) return VS_SIM_NOT_SUPPORTED;
  vs_sim_error error = VS_SIM_OK;
  size_t marked = 0;
  for (; marked < count && error == VS_SIM_OK; marked += error == VS_SIM_OK) {
    error = read_edge(sim, graph, from[marked], to[marked], &a, &b);
    if (error != VS_SIM_OK) continue;
    const uint32_t at = find_need(graph, a, b);
    if (at == UINT32_MAX) error = VS_SIM_INVALID_VALUE;
    else graph->needs.data[at] |= LEAVING;
  }
  while (marked-- > 0) {
    (void)read_edge(sim, graph, from[marked], to[marked], &a, &b);
    take_out(graph, b, error != VS_SIM_OK);
  }
  return error;
}

vs_sim_error vs_sim_node_destroy(vs_sim *sim, uint64_t handle) {
  uint32_t number;
  vs_sim_graph *graph = vs_sim_graph_of_node(sim, handle, &number);
  if (graph == NULL) return VS_SIM_INVALID_HANDLE;
  if (graph->is_captured) return VS_SIM_ILLEGAL_STATE;
  if (graph->memory_nodes != 0) return VS_SIM_NOT_SUPPORTED;
  vs_sim_graph_node *node = &graph->nodes.data[number];
  for (uint32_t i = 0; i < graph->nodes.count; i++) {
    const uint32_t at = find_need(graph, number, i);
    if (at == UINT32_MAX) continue;
    graph->needs.data[at] |= LEAVING;
    take_out(graph, i, false);
  }
  const uint32_t nodes = node->child == NULL ? 1 : 1 + node->child->total_nodes;
  for (vs_sim_graph *around = graph; around != NULL; around = around->parent) around->total_nodes -= nodes;
  if (node->child != NULL) vs_sim_graph_drop(sim, node->child);
  graph->live_edges -= node->need_count;
  graph->live_nodes--;
  *node = (vs_sim_graph_node){.is_gone = true};
  return VS_SIM_OK;
}
