/* The invariants of captures and graphs, executed. */
#include "device/sim/graph_internal.h"

typedef struct vs_sim_tally {
  uint32_t nodes, edges, total, memory;
} vs_sim_tally;

/* Whether all needs are different live nodes of the same graph. */
static bool check_needs(const vs_sim_graph *graph, uint32_t number) {
  const vs_sim_graph_node *node = &graph->nodes.data[number];
  if (node->first_need > graph->needs.count || node->need_count > graph->needs.count - node->first_need)
    return node->need_count == 0;
  const uint32_t *needs = graph->needs.data + node->first_need;
  for (uint32_t i = 0; i < node->need_count; i++) {
    if (needs[i] >= graph->nodes.count || graph->nodes.data[needs[i]].is_gone) return false;
    if (needs[i] == number || (graph->is_ordered && needs[i] > number)) return false;
    for (uint32_t k = 0; k < i; k++)
      if (needs[k] == needs[i]) return false;
  }
  return true;
}

static bool check_graph(const vs_sim *sim, const vs_sim_graph *graph);

static bool check_node(const vs_sim *sim, const vs_sim_graph *graph, uint32_t number, vs_sim_tally *tally) {
  const vs_sim_graph_node *node = &graph->nodes.data[number];
  if (node->is_gone) return node->need_count == 0 && node->child == NULL;
  tally->nodes++;
  tally->edges += node->need_count;
  tally->total += 1 + (node->child == NULL ? 0 : node->child->total_nodes);
  tally->memory += node->work.kind == VS_SIM_NODE_MEM_ALLOC || node->work.kind == VS_SIM_NODE_MEM_FREE;
  if ((node->child != NULL) != (node->work.kind == VS_SIM_NODE_GRAPH) || !check_needs(graph, number))
    return false;
  if (node->child == NULL) return true;
  return node->child->parent == graph && node->child->depth < graph->depth && check_graph(sim, node->child);
}

static bool check_graph(const vs_sim *sim, const vs_sim_graph *graph) {
  vs_sim_tally tally = {0};
  for (uint32_t i = 0; i < graph->nodes.count; i++)
    if (!check_node(sim, graph, i, &tally)) return false;
  for (size_t i = 0; i < graph->references.count; i++) {
    const vs_sim_graph_reference *reference = &graph->references.data[i];
    const vs_sim_user_object *object = sim->graphs.user_objects.slots.data[reference->object].object;
    if (object == NULL || reference->count == 0 || object->kept < reference->count) return false;
  }
  return tally.nodes == graph->live_nodes && tally.edges == graph->live_edges &&
         tally.total == graph->total_nodes && tally.memory == graph->memory_nodes &&
         graph->live_edges <= graph->needs.count;
}

/* Whether its streams refer to it, and their frontiers contain nodes of its graph. */
static bool check_capture(const vs_sim_capture *capture) {
  if (!capture->graph->is_captured || capture->streams.data[0] != capture->origin) return false;
  for (size_t s = 0; s < capture->streams.count; s++) {
    const vs_sim_stream *stream = capture->streams.data[s];
    if (stream->capture != capture || stream->is_legacy) return false;
    for (size_t i = 0; i < stream->frontier.count; i++) {
      const uint32_t number = stream->frontier.data[i];
      if (number >= capture->graph->nodes.count || capture->graph->nodes.data[number].is_gone) return false;
      for (size_t k = 0; k < i; k++)
        if (stream->frontier.data[k] == number) return false;
    }
  }
  return true;
}

static bool check_captures(const vs_sim *sim) {
  const vs_sim_graphs *graphs = &sim->graphs;
  size_t live = 0, in = 0, captured = 0;
  for (size_t row = 0; row < graphs->captures.count; row++) {
    const vs_sim_capture *capture = graphs->captures.data[row];
    if (capture == NULL) continue;
    live++;
    in += capture->streams.count;
    if (capture->row != row || !check_capture(capture)) return false;
  }
  for (size_t row = 0; row < sim->streams.rows.count; row++)
    captured += sim->streams.rows.data[row] != NULL && sim->streams.rows.data[row]->capture != NULL;
  return live == graphs->live_captures && in == captured;
}

/* Whether each block that exists is found by its address. */
static bool check_ranges(const vs_sim *sim) {
  const vs_sim_graphs *graphs = &sim->graphs;
  size_t there = 0;
  for (size_t row = 0; row < graphs->ranges.count; row++) {
    const vs_sim_graph_range *range = &graphs->ranges.data[row];
    if ((range->users == 0 && !range->is_used) || range->is_gone) continue;
    const size_t slot = vs_map_find(&graphs->by_address, range->address);
    if (slot == VS_MAP_NONE || graphs->by_address.slots[slot].value != row) return false;
    there++;
  }
  return there == graphs->by_address.count;
}

bool vs_sim_graphs_check(const vs_sim *sim) {
  const vs_sim_graphs *graphs = &sim->graphs;
  size_t objects = 0;
  for (size_t i = 0; i < graphs->graphs.slots.count; i++) {
    const vs_sim_graph *graph = graphs->graphs.slots.data[i].object;
    if (graph != NULL && (graph->number != i || !check_graph(sim, graph))) return false;
  }
  for (size_t i = 0; i < graphs->execs.slots.count; i++) {
    const vs_sim_exec *exec = graphs->execs.slots.data[i].object;
    if (exec != NULL && !check_graph(sim, exec->copy)) return false;
  }
  for (size_t i = 0; i < graphs->user_objects.slots.count; i++)
    objects += graphs->user_objects.slots.data[i].object != NULL;
  return objects == graphs->live_user_objects &&
         graphs->callbacks.capacity - graphs->callbacks.count >= objects && check_captures(sim) &&
         check_ranges(sim);
}
