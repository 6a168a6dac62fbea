#include "device/sim/graph_internal.h"

/* A list that is being written. It counts further after the capacity is used up. */
typedef struct listing {
  uint64_t *items;
  size_t room, count;
} listing;

static void put(listing *list, uint64_t item) {
  if (list->items != NULL && list->count < list->room) list->items[list->count] = item;
  list->count++;
}

static void close_list(listing *list, size_t *count) {
  if (list->items == NULL) {
    *count = list->count;
    return;
  }
  *count = list->count < list->room ? list->count : list->room;
  for (size_t i = *count; i < list->room; i++) list->items[i] = 0;
}

/* Lists all nodes, or only those without dependencies. */
static vs_sim_error list_nodes(const vs_sim *sim, uint64_t handle, bool only_roots, uint64_t *nodes,
                               size_t *count) {
  const vs_sim_graph *graph = vs_sim_graph_find(sim, handle);
  if (graph == NULL) return VS_SIM_INVALID_HANDLE;
  if (count == NULL) return VS_SIM_INVALID_VALUE;
  listing list = {.items = nodes, .room = *count};
  for (uint32_t i = 0; i < graph->nodes.count; i++) {
    const vs_sim_graph_node *node = &graph->nodes.data[i];
    if (!node->is_gone && !(only_roots && node->need_count != 0))
      put(&list, vs_sim_node_handle(sim, graph, i));
  }
  close_list(&list, count);
  return VS_SIM_OK;
}

vs_sim_error vs_sim_graph_nodes(const vs_sim *sim, uint64_t graph, uint64_t *nodes, size_t *count) {
  return list_nodes(sim, graph, false, nodes, count);
}

vs_sim_error vs_sim_graph_roots(const vs_sim *sim, uint64_t graph, uint64_t *nodes, size_t *count) {
  return list_nodes(sim, graph, true, nodes, count);
}

vs_sim_error vs_sim_graph_edges(const vs_sim *sim, uint64_t handle, uint64_t *from, uint64_t *to,
                                size_t *count) {
  const vs_sim_graph *graph = vs_sim_graph_find(sim, handle);
  if (graph == NULL) return VS_SIM_INVALID_HANDLE;
  if (count == NULL || (from == NULL) != (to == NULL)) return VS_SIM_INVALID_VALUE;
  listing starts = {.items = from, .room = *count}, ends = {.items = to, .room = *count};
  for (uint32_t i = 0; i < graph->nodes.count; i++) {
    const vs_sim_graph_node *node = &graph->nodes.data[i];
    for (uint32_t n = 0; n < node->need_count; n++) {
      put(&starts, vs_sim_node_handle(sim, graph, graph->needs.data[node->first_need + n]));
      put(&ends, vs_sim_node_handle(sim, graph, i));
    }
  }
  close_list(&starts, count);
  close_list(&ends, count);
  return VS_SIM_OK;
}

vs_sim_error vs_sim_node_dependencies(const vs_sim *sim, uint64_t handle, uint64_t *nodes, size_t *count) {
  uint32_t number;
  const vs_sim_graph *graph = vs_sim_graph_of_node(sim, handle, &number);
  if (graph == NULL) return VS_SIM_INVALID_HANDLE;
  if (count == NULL) return VS_SIM_INVALID_VALUE;
  listing list = {.items = nodes, .room = *count};
  const vs_sim_graph_node *node = &graph->nodes.data[number];
  for (uint32_t n = 0; n < node->need_count; n++)
    put(&list, vs_sim_node_handle(sim, graph, graph->needs.data[node->first_need + n]));
  close_list(&list, count);
  return VS_SIM_OK;
}

vs_sim_error vs_sim_node_dependents(const vs_sim *sim, uint64_t handle, uint64_t *nodes, size_t *count) {
  uint32_t number;
  const vs_sim_graph *graph = vs_sim_graph_of_node(sim, handle, &number);
  if (graph == NULL) return VS_SIM_INVALID_HANDLE;
  if (count == NULL) return VS_SIM_INVALID_VALUE;
  listing list = {.items = nodes, .room = *count};
  for (uint32_t i = 0; i < graph->nodes.count; i++) {
    const vs_sim_graph_node *node = &graph->nodes.data[i];
    for (uint32_t n = 0; n < node->need_count; n++)
      if (graph->needs.data[node->first_need + n] == number) put(&list, vs_sim_node_handle(sim, graph, i));
  }
  close_list(&list, count);
  return VS_SIM_OK;
}

vs_sim_error vs_sim_graph_counts(const vs_sim *sim, uint64_t handle,
                                 uint64_t counts[static VS_SIM_NODE_KINDS]) {
  const vs_sim_graph *graph = vs_sim_graph_find(sim, handle);
  if (graph == NULL) return VS_SIM_INVALID_HANDLE;
  memset(counts, 0, VS_SIM_NODE_KINDS * sizeof *counts);
  for (size_t i = 0; i < graph->nodes.count; i++)
    if (!graph->nodes.data[i].is_gone) counts[graph->nodes.data[i].work.kind]++;
  return VS_SIM_OK;
}
