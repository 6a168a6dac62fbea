/* Memory nodes of graphs, which allocate in memory pools. */
#include "device/sim/graph_internal.h"

/* ---- ranges ---- */

static vs_sim_graph_range *find_range(const vs_sim *sim, uint64_t address, uint32_t *row) {
  const size_t slot = vs_map_find(&sim->graphs.by_address, address);
  if (slot == VS_MAP_NONE) return NULL;
  *row = sim->graphs.by_address.slots[slot].value;
  return &sim->graphs.ranges.data[*row];
}

/* Frees the block and its row. */
static void end_range(vs_sim *sim, uint32_t row) {
  vs_sim_graph_range *range = &sim->graphs.ranges.data[row];
  VS_ASSERT(row < sim->graphs.ranges.count);
  if (!range->is_gone) {
    vs_map_remove(&sim->graphs.by_address, vs_map_find(&sim->graphs.by_address, range->address));
    /* It cannot fail: the block was allocated in a pool. */
    (void)!vs_sim_pool_free(sim, range->address);
  }
  *range = (vs_sim_graph_range){0};
  vs_sim_numbers_give(&sim->graphs.range_rows, row);
}

static void end_unless_wanted(vs_sim *sim, uint32_t row) {
  const vs_sim_graph_range *range = &sim->graphs.ranges.data[row];
  if (range->users == 0 && !range->is_used) end_range(sim, row);
}

/* Takes a row, with space in all tables. */
static vs_sim_error take_row(vs_sim *sim, uint32_t *row) {
  vs_sim_graphs *graphs = &sim->graphs;
  if (vs_vec_reserve(sim->host, &graphs->ranges, 1) != VS_OK ||
      vs_map_reserve(sim->host, &graphs->by_address) != VS_OK)
    return VS_SIM_OUT_OF_MEMORY;
  VS_SIM_TRY(vs_sim_numbers_take(sim->host, &graphs->range_rows, VS_SIM_HANDLES_MOST, row));
  if (*row == graphs->ranges.count) graphs->ranges.data[graphs->ranges.count++] = (vs_sim_graph_range){0};
  return VS_SIM_OK;
}

static vs_sim_error make_range(vs_sim *sim, vs_sim_work *work, uint32_t *row) {
  if (work->device >= sim->device_count) return VS_SIM_INVALID_DEVICE;
  const uint64_t pool = vs_sim_pool_graph(sim, work->device);
  VS_SIM_TRY(take_row(sim, row));
  /* Memory that graphs have freed stays reserved until it is trimmed; a synchronisation releases nothing. */
  vs_sim_error error = vs_sim_pool_set(sim, pool, VS_SIM_POOL_RELEASE_THRESHOLD, UINT64_MAX);
  if (error == VS_SIM_OK) error = vs_sim_pool_alloc(sim, pool, work->operand, &work->object);
  if (error != VS_SIM_OK) {
    vs_sim_numbers_give(&sim->graphs.range_rows, *row);
    return error;
  }
  sim->graphs.ranges.data[*row] =
      (vs_sim_graph_range){.address = work->object, .device = work->device, .users = 1};
  vs_map_add(&sim->graphs.by_address, work->object, *row);
  return VS_SIM_OK;
}

void vs_sim_ranges_drop(vs_sim *sim, uint32_t device) {
  vs_sim_graphs *graphs = &sim->graphs;
  for (uint32_t row = 0; row < graphs->ranges.count; row++) {
    vs_sim_graph_range *range = &graphs->ranges.data[row];
    const bool is_there = (range->users != 0 || range->is_used) && !range->is_gone;
    if (!is_there || range->device != device) continue;
    vs_map_remove(&graphs->by_address, vs_map_find(&graphs->by_address, range->address));
    range->is_gone = true;
    range->is_used = false;
    end_unless_wanted(sim, row);
  }
}

/* ---- nodes ---- */

vs_sim_error vs_sim_memory_node_begin(vs_sim *sim, vs_sim_work *work, uint32_t *range) {
  if (work->kind == VS_SIM_NODE_MEM_ALLOC) return make_range(sim, work, range);
  return find_range(sim, work->object, range) != NULL ? VS_SIM_OK : VS_SIM_INVALID_VALUE;
}

void vs_sim_memory_node_end(vs_sim *sim, vs_sim_graph *graph, uint32_t number) {
  vs_sim_graph_node *node = &graph->nodes.data[number];
  VS_ASSERT(node->range < sim->graphs.ranges.count);
  vs_sim_graph_range *range = &sim->graphs.ranges.data[node->range];
  const uint32_t row = node->range;
  uint32_t maker;
  if (node->work.kind == VS_SIM_NODE_MEM_ALLOC) {
    range->node = vs_sim_node_handle(sim, graph, number);
    return;
  }
  /* If another graph allocated it, or an exec or the program uses it already, the launch frees it. */
  if (vs_sim_graph_of_node(sim, range->node, &maker) != graph || range->users != 1 || range->is_used) return;
  graph->nodes.data[maker].partner = number + 1;
  node->partner = maker + 1;
  end_range(sim, row);
}

/* Whether the node allocated a block that no node of its graph frees. */
static bool has_range(const vs_sim_graph_node *node) {
  return node->work.kind == VS_SIM_NODE_MEM_ALLOC && node->partner == 0 && !node->is_gone;
}

void vs_sim_ranges_keep(vs_sim *sim, const vs_sim_graph *graph) {
  for (size_t i = 0; graph->memory_nodes != 0 && i < graph->nodes.count; i++)
    if (has_range(&graph->nodes.data[i])) sim->graphs.ranges.data[graph->nodes.data[i].range].users++;
}

void vs_sim_ranges_let_go(vs_sim *sim, const vs_sim_graph *graph) {
  for (size_t i = 0; graph->memory_nodes != 0 && i < graph->nodes.count; i++) {
    if (!has_range(&graph->nodes.data[i])) continue;
    const uint32_t row = graph->nodes.data[i].range;
    VS_ASSERT(row < sim->graphs.ranges.count && sim->graphs.ranges.data[row].users > 0);
    sim->graphs.ranges.data[row].users--;
    end_unless_wanted(sim, row);
  }
}

/* ---- launching ---- */

static vs_sim_error check_ranges(const vs_sim *sim, const vs_sim_exec *exec) {
  for (size_t i = 0; i < exec->copy->nodes.count; i++) {
    if (!has_range(&exec->copy->nodes.data[i])) continue;
    const vs_sim_graph_range *range = &sim->graphs.ranges.data[exec->copy->nodes.data[i].range];
    if (range->is_gone) return VS_SIM_INVALID_VALUE;
    if (range->is_used && (exec->flags & VS_SIM_INSTANTIATE_AUTO_FREE) == 0) return VS_SIM_INVALID_VALUE;
  }
  return VS_SIM_OK;
}

/* Allocates for each allocation node with a partner and frees for the partner, in the order of the launch. pieces[i] is the
 * address that node i has allocated, or 0. */
static vs_sim_error rehearse(vs_sim *sim, const vs_sim_graph *graph, uint64_t *pieces) {
  const size_t count = graph->is_ordered ? graph->nodes.count : graph->order.count;
  for (size_t i = 0; i < count; i++) {
    const size_t number = graph->is_ordered ? i : graph->order.data[i];
    const vs_sim_graph_node *node = &graph->nodes.data[number];
    if (node->partner == 0) continue;
    if (node->work.kind == VS_SIM_NODE_MEM_ALLOC) {
      const uint64_t pool = vs_sim_pool_graph(sim, node->work.device);
      VS_SIM_TRY(vs_sim_pool_alloc(sim, pool, node->work.operand, &pieces[number]));
    } else if (pieces[node->partner - 1] != 0) { /* 0: the order has the free node first */
      (void)!vs_sim_pool_free(sim, pieces[node->partner - 1]);
      pieces[node->partner - 1] = 0;
    }
  }
  return VS_SIM_OK;
}

vs_sim_error vs_sim_ranges_rehearse(vs_sim *sim, const vs_sim_exec *exec) {
  VS_SIM_TRY(check_ranges(sim, exec));
  const size_t count = exec->copy->nodes.count;
  uint64_t *pieces = vs_host_alloc(sim->host, count * sizeof *pieces);
  if (pieces == NULL) return VS_SIM_OUT_OF_MEMORY;
  memset(pieces, 0, count * sizeof *pieces);
  const vs_sim_error error = rehearse(sim, exec->copy, pieces);
  for (size_t i = 0; i < count; i++)
    if (pieces[i] != 0) (void)!vs_sim_pool_free(sim, pieces[i]);
  vs_host_free(sim->host, pieces, count * sizeof *pieces);
  return error;
}

vs_sim_error vs_sim_graph_free(vs_sim *sim, uint64_t address) {
  uint32_t row;
  vs_sim_graph_range *range = find_range(sim, address, &row);
  if (range == NULL) return VS_SIM_NOT_FOUND;
  if (!range->is_used) return VS_SIM_INVALID_VALUE;
  range->is_used = false;
  end_unless_wanted(sim, row);
  return VS_SIM_OK;
}

void vs_sim_memory_node_launch(vs_sim *sim, const vs_sim_graph_node *node) {
  if (has_range(node)) sim->graphs.ranges.data[node->range].is_used = true;
  else if (node->partner == 0)
    (void)!vs_sim_graph_free(sim, node->work.object); /* a second free has no effect */
}

/* ---- figures ---- */

/* The pool's attribute for a figure. Fails: VS_SIM_INVALID_VALUE if there is none. */
static vs_sim_error pool_attribute(const vs_sim *sim, uint32_t device, vs_sim_graph_memory figure,
                                   vs_sim_pool_attribute *attribute) {
  if (device >= sim->device_count) return VS_SIM_INVALID_DEVICE;
  switch (figure) {
    case VS_SIM_GRAPH_USED: *attribute = VS_SIM_POOL_USED_CURRENT; return VS_SIM_OK;
    case VS_SIM_GRAPH_USED_HIGH: *attribute = VS_SIM_POOL_USED_HIGH; return VS_SIM_OK;
    case VS_SIM_GRAPH_RESERVED: *attribute = VS_SIM_POOL_RESERVED_CURRENT; return VS_SIM_OK;
    case VS_SIM_GRAPH_RESERVED_HIGH: *attribute = VS_SIM_POOL_RESERVED_HIGH; return VS_SIM_OK;
  }
  return VS_SIM_INVALID_VALUE;
}

vs_sim_error vs_sim_graph_memory_get(const vs_sim *sim, uint32_t device, vs_sim_graph_memory figure,
                                     uint64_t *bytes) {
  vs_sim_pool_attribute attribute;
  if (bytes == NULL) return VS_SIM_INVALID_VALUE;
  VS_SIM_TRY(pool_attribute(sim, device, figure, &attribute));
  return vs_sim_pool_get(sim, vs_sim_pool_graph(sim, device), attribute, bytes);
}

vs_sim_error vs_sim_graph_memory_reset(vs_sim *sim, uint32_t device, vs_sim_graph_memory figure) {
  vs_sim_pool_attribute attribute;
  VS_SIM_TRY(pool_attribute(sim, device, figure, &attribute));
  return vs_sim_pool_set(sim, vs_sim_pool_graph(sim, device), attribute, 0);
}

vs_sim_error vs_sim_graph_memory_trim(vs_sim *sim, uint32_t device) {
  if (device >= sim->device_count) return VS_SIM_INVALID_DEVICE;
  return vs_sim_pool_trim(sim, vs_sim_pool_graph(sim, device), 0);
}
