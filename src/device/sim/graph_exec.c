#include "device/sim/graph_internal.h"

/* ---- create ---- */

static vs_sim_exec *find(const vs_sim *sim, uint64_t handle) {
  return vs_sim_handle_find(&sim->graphs.execs, VS_SIM_HANDLE_EXEC, handle, NULL);
}

const vs_sim_exec *vs_sim_exec_find(const vs_sim *sim, uint64_t exec) { return find(sim, exec); }

static void drop_exec(vs_sim *sim, vs_sim_exec *exec) {
  if (exec->copy != NULL) vs_sim_graph_drop(sim, exec->copy);
  vs_host_free(sim->host, exec, sizeof *exec);
}

static void count_work(vs_sim_exec *exec, const vs_sim_graph_node *node) {
  exec->works += node->work.kind != VS_SIM_NODE_GRAPH;
  exec->kernels += node->work.kind == VS_SIM_NODE_KERNEL;
  exec->hosts += node->work.kind == VS_SIM_NODE_HOST;
  exec->records += node->work.kind == VS_SIM_NODE_EVENT_RECORD;
  exec->waits += node->work.kind == VS_SIM_NODE_EVENT_WAIT;
}

/* Counts the nodes, and stores the order in which they are launched if that is not the order of their numbers. */
static vs_sim_error prepare(vs_sim *sim, vs_sim_exec *exec, vs_sim_graph *graph) {
  if (!graph->is_ordered) {
    uint32_t count;
    if (vs_vec_reserve(sim->host, &graph->order, graph->live_nodes) != VS_OK) return VS_SIM_OUT_OF_MEMORY;
    VS_SIM_TRY(vs_sim_graph_order(sim, graph, graph->order.data, &count));
    VS_ASSERT(count == graph->live_nodes); /* vs_sim_graph_add_edges refuses cycles */
    graph->order.count = count;
  }
  for (size_t i = 0; i < graph->nodes.count; i++) {
    const vs_sim_graph_node *node = &graph->nodes.data[i];
    if (node->is_gone) continue;
    count_work(exec, node);
    if (node->child != NULL) VS_SIM_TRY(prepare(sim, exec, node->child));
  }
  return VS_SIM_OK;
}

/* Fills in an exec of `graph`, except for its handle. */
static vs_sim_error fill_exec(vs_sim *sim, const vs_sim_graph *graph, vs_sim_exec *exec) {
  VS_SIM_TRY(vs_sim_graph_copy(sim, graph, &exec->copy));
  VS_SIM_TRY(prepare(sim, exec, exec->copy));
  return vs_sim_handles_add(sim->host, &sim->graphs.execs, exec, &exec->number);
}

vs_sim_error vs_sim_graph_instantiate(vs_sim *sim, uint64_t handle, uint64_t flags, uint64_t *out) {
  const uint64_t known = VS_SIM_INSTANTIATE_AUTO_FREE | VS_SIM_INSTANTIATE_UPLOAD |
                         VS_SIM_INSTANTIATE_DEVICE_LAUNCH | VS_SIM_INSTANTIATE_NODE_PRIORITY;
  vs_sim_graph *graph = vs_sim_graph_find(sim, handle);
  if (graph == NULL) return VS_SIM_INVALID_HANDLE;
  if (out == NULL || (flags & ~known) != 0) return VS_SIM_INVALID_VALUE;
  if ((flags & VS_SIM_INSTANTIATE_DEVICE_LAUNCH) != 0) return VS_SIM_NOT_SUPPORTED;
  if (graph->is_captured) return VS_SIM_ILLEGAL_STATE;
  if (graph->memory_nodes != 0 && graph->execs != 0) return VS_SIM_NOT_SUPPORTED;
  VS_SIM_TRY(vs_sim_fault_step(sim, VS_SIM_FAULT_INSTANTIATE));
  vs_sim_exec *exec = vs_host_alloc(sim->host, sizeof *exec);
  if (exec == NULL) return VS_SIM_OUT_OF_MEMORY;
  *exec = (vs_sim_exec){.flags = flags, .source_handle = handle};
  const vs_sim_error error = fill_exec(sim, graph, exec);
  if (error != VS_SIM_OK) {
    drop_exec(sim, exec);
    return error;
  }
  graph->execs++;
  exec->handle = *out = vs_sim_handle_make(&sim->graphs.execs, VS_SIM_HANDLE_EXEC, exec->number, 0);
  return VS_SIM_OK;
}

vs_sim_error vs_sim_exec_destroy(vs_sim *sim, uint64_t handle) {
  vs_sim_exec *exec = find(sim, handle);
  if (exec == NULL) return VS_SIM_INVALID_HANDLE;
  vs_sim_graph *source = vs_sim_graph_find(sim, exec->source_handle);
  if (source != NULL && source->execs != 0) source->execs--;
  vs_sim_handles_remove(&sim->graphs.execs, exec->number);
  drop_exec(sim, exec);
  return VS_SIM_OK;
}

/* ---- update ---- */

/* Sets `mark` of each live node to its rank among the live nodes. */
static void rank_nodes(vs_sim_graph *graph) {
  uint32_t rank = 0;
  for (size_t i = 0; i < graph->nodes.count; i++)
    if (!graph->nodes.data[i].is_gone) graph->nodes.data[i].mark = rank++;
}

/* Resets the ranks that rank_nodes stored in `mark`, so that walks can use it again. */
static void unrank_nodes(vs_sim_graph *graph) {
  for (size_t i = 0; i < graph->nodes.count; i++) graph->nodes.data[i].mark = 0;
  graph->epoch = 1;
}

static uint32_t next_live(const vs_sim_graph *graph, uint32_t number) {
  while (number < graph->nodes.count && graph->nodes.data[number].is_gone) number++;
  return number;
}

static vs_sim_update_result compare(vs_sim_graph *a, vs_sim_graph *b, uint32_t *culprit);

/* Compares two nodes of the same rank: their kinds, and the ranks of the nodes that they depend on. */
static vs_sim_update_result compare_nodes(const vs_sim_graph *a, const vs_sim_graph_node *x,
                                          const vs_sim_graph *b, const vs_sim_graph_node *y) {
  uint32_t ignored;
  if (x->need_count != y->need_count) return VS_SIM_UPDATE_TOPOLOGY_CHANGED;
  for (uint32_t n = 0; n < x->need_count; n++)
    if (a->nodes.data[a->needs.data[x->first_need + n]].mark !=
        b->nodes.data[b->needs.data[y->first_need + n]].mark)
      return VS_SIM_UPDATE_TOPOLOGY_CHANGED;
  if (x->work.kind != y->work.kind) return VS_SIM_UPDATE_KIND_CHANGED;
  return x->child == NULL ? VS_SIM_UPDATE_SUCCESS : compare(x->child, y->child, &ignored);
}

/* *culprit: the first node of `b` that differs, UINT32_MAX if the graphs differ as a whole. */
static vs_sim_update_result compare(vs_sim_graph *a, vs_sim_graph *b, uint32_t *culprit) {
  *culprit = UINT32_MAX;
  if (a->memory_nodes != 0 || b->memory_nodes != 0) return VS_SIM_UPDATE_NOT_SUPPORTED;
  if (a->live_nodes != b->live_nodes) return VS_SIM_UPDATE_TOPOLOGY_CHANGED;
  rank_nodes(a);
  rank_nodes(b);
  vs_sim_update_result result = VS_SIM_UPDATE_SUCCESS;
  uint32_t i = next_live(a, 0), k = next_live(b, 0);
  for (; i < a->nodes.count; i = next_live(a, i + 1), k = next_live(b, k + 1)) {
    result = compare_nodes(a, &a->nodes.data[i], b, &b->nodes.data[k]);
    if (result != VS_SIM_UPDATE_SUCCESS) break;
  }
  if (result != VS_SIM_UPDATE_SUCCESS) *culprit = k;
  unrank_nodes(a);
  unrank_nodes(b);
  return result;
}

/* Copies the work of `copy` to the nodes of `exec` with the same ranks. */
static void take_work(vs_sim_graph *exec, vs_sim_graph *copy) {
  uint32_t i = next_live(exec, 0), k = next_live(copy, 0);
  for (; i < exec->nodes.count; i = next_live(exec, i + 1), k = next_live(copy, k + 1)) {
    VS_ASSERT(k < copy->nodes.count && exec->nodes.data[i].work.kind == copy->nodes.data[k].work.kind);
    exec->nodes.data[i].work = copy->nodes.data[k].work;
    if (exec->nodes.data[i].child != NULL) take_work(exec->nodes.data[i].child, copy->nodes.data[k].child);
  }
}

/* Swaps the references to user objects, so that dropping `b` releases the old ones of `a`. */
static void swap_references(vs_sim_graph *a, vs_sim_graph *b) {
  const vs_sim_graph was = *a;
  a->references.data = b->references.data;
  a->references.count = b->references.count;
  a->references.capacity = b->references.capacity;
  b->references.data = was.references.data;
  b->references.count = was.references.count;
  b->references.capacity = was.references.capacity;
}

vs_sim_error vs_sim_exec_update(vs_sim *sim, uint64_t handle, uint64_t graph_handle,
                                vs_sim_update_result *result, uint64_t *node) {
  vs_sim_exec *exec = find(sim, handle);
  vs_sim_graph *copy, *graph = vs_sim_graph_find(sim, graph_handle);
  uint32_t culprit;
  if (exec == NULL || graph == NULL) return VS_SIM_INVALID_HANDLE;
  if (graph->is_captured) return VS_SIM_ILLEGAL_STATE;
  const vs_sim_update_result outcome = compare(exec->copy, graph, &culprit);
  if (outcome == VS_SIM_UPDATE_SUCCESS) {
    VS_SIM_TRY(vs_sim_graph_copy(sim, graph, &copy));
    take_work(exec->copy, copy);
    swap_references(exec->copy, copy);
    vs_sim_graph_drop(sim, copy);
  }
  if (result != NULL) *result = outcome;
  if (node != NULL) *node = culprit == UINT32_MAX ? 0 : vs_sim_node_handle(sim, graph, culprit);
  return outcome == VS_SIM_UPDATE_SUCCESS ? VS_SIM_OK : VS_SIM_GRAPH_EXEC_UPDATE_FAILURE;
}

vs_sim_error vs_sim_exec_set_work(vs_sim *sim, uint64_t handle, uint64_t node, const vs_sim_work *work) {
  uint32_t number;
  vs_sim_exec *exec = find(sim, handle);
  const vs_sim_graph *graph = vs_sim_graph_of_node(sim, node, &number);
  if (exec == NULL) return VS_SIM_INVALID_HANDLE;
  if (graph == NULL || graph->handle != exec->source_handle) return VS_SIM_INVALID_VALUE;
  if (number >= exec->copy->nodes.count || exec->copy->nodes.data[number].is_gone)
    return VS_SIM_INVALID_VALUE;
  return vs_sim_graph_set_work(sim, exec->copy, number, work);
}

/* ---- launching ---- */

/* Whether all events of the nodes still exist. */
static vs_sim_error check_events(const vs_sim *sim, const vs_sim_graph *graph) {
  for (size_t i = 0; i < graph->nodes.count; i++) {
    const vs_sim_graph_node *node = &graph->nodes.data[i];
    const vs_sim_node_kind kind = node->work.kind;
    if (node->is_gone) continue;
    if (node->child != NULL) VS_SIM_TRY(check_events(sim, node->child));
    if ((kind == VS_SIM_NODE_EVENT_RECORD || kind == VS_SIM_NODE_EVENT_WAIT) &&
        vs_sim_event_find(sim, node->work.object) == NULL)
      return VS_SIM_INVALID_HANDLE;
  }
  return VS_SIM_OK;
}

static void run_graph(vs_sim *sim, vs_sim_stream *stream, const vs_sim_graph *graph);

static void run_node(vs_sim *sim, vs_sim_stream *stream, const vs_sim_graph_node *node) {
  VS_ASSERT(!node->is_gone && (node->child != NULL) == (node->work.kind == VS_SIM_NODE_GRAPH));
  switch (node->work.kind) {
    case VS_SIM_NODE_GRAPH: run_graph(sim, stream, node->child); return;
    case VS_SIM_NODE_EVENT_RECORD:
      vs_sim_event_record_now(sim, vs_sim_event_find(sim, node->work.object), stream);
      return;
    case VS_SIM_NODE_EVENT_WAIT:
      vs_sim_stream_wait_now(sim, stream, vs_sim_event_find(sim, node->work.object));
      return;
    case VS_SIM_NODE_HOST: vs_sim_callback_push(sim, node->work.object, node->work.operand); break;
    case VS_SIM_NODE_MEM_ALLOC:
    case VS_SIM_NODE_MEM_FREE: vs_sim_memory_node_launch(sim, node); break;
    case VS_SIM_NODE_KERNEL:
    case VS_SIM_NODE_MEMCPY:
    case VS_SIM_NODE_MEMSET:
    case VS_SIM_NODE_EMPTY:
    case VS_SIM_NODE_CONDITIONAL:
    case VS_SIM_NODE_KINDS: break;
  }
  vs_sim_stream_advance(sim, stream);
}

static void run_graph(vs_sim *sim, vs_sim_stream *stream, const vs_sim_graph *graph) {
  const uint32_t *order = graph->is_ordered ? NULL : graph->order.data;
  const size_t count = graph->is_ordered ? graph->nodes.count : graph->order.count;
  for (size_t i = 0; i < count; i++) {
    const vs_sim_graph_node *node = &graph->nodes.data[order == NULL ? i : order[i]];
    if (!node->is_gone) run_node(sim, stream, node);
  }
}

static vs_sim_error launch_captured(vs_sim *sim, vs_sim_stream *stream, const vs_sim_exec *exec) {
  uint32_t number;
  vs_sim_graph *copy;
  if (exec->copy->memory_nodes != 0) return VS_SIM_NOT_SUPPORTED;
  VS_SIM_TRY(vs_sim_graph_copy(sim, exec->copy, &copy));
  const vs_sim_error error =
      vs_sim_capture_node(sim, stream, &(vs_sim_work){.kind = VS_SIM_NODE_GRAPH}, copy, &number);
  if (error != VS_SIM_OK) vs_sim_graph_drop(sim, copy);
  return error;
}

static vs_sim_error launch(vs_sim *sim, vs_sim_stream *stream, const vs_sim_exec *exec) {
  if (exec->records != 0 || exec->waits != 0) VS_SIM_TRY(check_events(sim, exec->copy));
  VS_SIM_TRY(vs_sim_callbacks_reserve(sim, exec->hosts));
  VS_SIM_TRY(vs_sim_stream_waits_reserve(sim, stream, exec->waits));
  if (exec->copy->memory_nodes != 0) VS_SIM_TRY(vs_sim_ranges_rehearse(sim, exec));
  if (exec->hosts + exec->records + exec->waits + exec->copy->memory_nodes != 0) {
    run_graph(sim, stream, exec->copy);
    return VS_SIM_OK;
  }
  /* Only work without effects: the clock advances at once. Launching an empty graph counts as one work item. */
  if (exec->works > 1) sim->streams.clock_ns += (exec->works - 1) * sim->streams.work_ns;
  vs_sim_stream_advance(sim, stream);
  return VS_SIM_OK;
}

vs_sim_error vs_sim_exec_launch(vs_sim *sim, uint32_t device, uint64_t exec_handle, uint64_t stream_handle) {
  const vs_sim_exec *exec = find(sim, exec_handle);
  vs_sim_stream *stream = vs_sim_stream_find(sim, device, stream_handle);
  if (exec == NULL || stream == NULL) return VS_SIM_INVALID_HANDLE;
  VS_SIM_TRY(vs_sim_stream_use(sim, stream));
  return stream->capture != NULL ? launch_captured(sim, stream, exec) : launch(sim, stream, exec);
}

vs_sim_error vs_sim_exec_upload(vs_sim *sim, uint32_t device, uint64_t exec_handle, uint64_t stream_handle) {
  vs_sim_stream *stream = vs_sim_stream_find(sim, device, stream_handle);
  if (find(sim, exec_handle) == NULL || stream == NULL) return VS_SIM_INVALID_HANDLE;
  return vs_sim_op_uncapturable(sim, device, stream_handle);
}
