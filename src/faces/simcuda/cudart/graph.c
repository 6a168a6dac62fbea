/* Graphs: building, querying, executing. Capture is in stream.c. core/shared_calls.h has what these calls share
 * with the driver's, device/sim/graph.h the rules.
 *
 * A node stores its kind and two numbers, not the parameters of its kernel or copy. Those can be set, which is
 * checked, but not read back. Edges have no data. The forms of calls that take or return such data are ..._v2 in
 * CUDA 12, and the only ones since 13. */
#include <inttypes.h>
#include <stdio.h>

#include "faces/simcuda/cudart/registry.h"
#include "faces/simcuda/cudart/runtime.h"

#if VS_CUDART >= 13
#define WITH_DATA(name) name
#else
#define WITH_DATA(name) name##_v2
#endif

static void look_at_data(const cudaGraphEdgeData *data, size_t count) {
  _Static_assert(sizeof *data == sizeof(uint64_t), "as vs_call_edges_are_special reads it");
  if (vs_call_edges_are_special(data, count))
    vs_simcuda_not_simulated("cudart", "edges of a graph with data");
}

/* ---- whole graphs */

cudaError_t sim_cudaGraphCreate(cudaGraph_t *graph, unsigned int flags) {
  if (graph == NULL) return vs_rt_answer(VS_SIM_INVALID_VALUE);
  VS_RT_LOOK(vs_sim_graph_create(rt.sim, flags, VS_RT_NUMBERS(graph)));
}

cudaError_t sim_cudaGraphDestroy(cudaGraph_t graph) {
  VS_RT_LOOK(vs_sim_graph_destroy(rt.sim, VS_RT_NUMBER(graph)));
}

cudaError_t sim_cudaGraphClone(cudaGraph_t *clone, cudaGraph_t graph) {
  if (clone == NULL) return vs_rt_answer(VS_SIM_INVALID_VALUE);
  VS_RT_LOOK(vs_sim_graph_clone(rt.sim, VS_RT_NUMBER(graph), VS_RT_NUMBERS(clone)));
}

cudaError_t sim_cudaGraphNodeFindInClone(cudaGraphNode_t *found, cudaGraphNode_t node, cudaGraph_t clone) {
  if (found == NULL) return vs_rt_answer(VS_SIM_INVALID_VALUE);
  VS_RT_LOOK(
      vs_sim_graph_find_in_clone(rt.sim, VS_RT_NUMBER(node), VS_RT_NUMBER(clone), VS_RT_NUMBERS(found)));
}

cudaError_t sim_cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count) {
  if (count == NULL) return vs_rt_answer(VS_SIM_INVALID_VALUE);
  VS_RT_LOOK(vs_sim_graph_nodes(rt.sim, VS_RT_NUMBER(graph), VS_RT_NUMBERS(nodes), count));
}

cudaError_t sim_cudaGraphGetRootNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count) {
  if (count == NULL) return vs_rt_answer(VS_SIM_INVALID_VALUE);
  VS_RT_LOOK(vs_sim_graph_roots(rt.sim, VS_RT_NUMBER(graph), VS_RT_NUMBERS(nodes), count));
}

/* ---- edges */

cudaError_t WITH_DATA(sim_cudaGraphGetEdges)(cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to,
                                             cudaGraphEdgeData *data, size_t *count) {
  vs_rt rt;
  if (count == NULL) return vs_rt_answer(VS_SIM_INVALID_VALUE);
  if (!vs_rt_look(&rt)) return rt.failure;
  const vs_sim_error error =
      vs_sim_graph_edges(rt.sim, VS_RT_NUMBER(graph), VS_RT_NUMBERS(from), VS_RT_NUMBERS(to), count);
  if (error == VS_SIM_OK && from != NULL) vs_call_clear_edges(data, *count);
  return vs_rt_leave(error);
}

typedef vs_sim_error (*list_neighbours)(const vs_sim *sim, uint64_t node, uint64_t *nodes, size_t *count);

static cudaError_t get_neighbours(cudaGraphNode_t node, cudaGraphNode_t *nodes, cudaGraphEdgeData *data,
                                  size_t *count, list_neighbours list) {
  vs_rt rt;
  if (count == NULL) return vs_rt_answer(VS_SIM_INVALID_VALUE);
  if (!vs_rt_look(&rt)) return rt.failure;
  const vs_sim_error error = list(rt.sim, VS_RT_NUMBER(node), VS_RT_NUMBERS(nodes), count);
  if (error == VS_SIM_OK && nodes != NULL) vs_call_clear_edges(data, *count);
  return vs_rt_leave(error);
}

cudaError_t WITH_DATA(sim_cudaGraphNodeGetDependencies)(cudaGraphNode_t node, cudaGraphNode_t *nodes,
                                                        cudaGraphEdgeData *data, size_t *count) {
  return get_neighbours(node, nodes, data, count, vs_sim_node_dependencies);
}

cudaError_t WITH_DATA(sim_cudaGraphNodeGetDependentNodes)(cudaGraphNode_t node, cudaGraphNode_t *nodes,
                                                          cudaGraphEdgeData *data, size_t *count) {
  return get_neighbours(node, nodes, data, count, vs_sim_node_dependents);
}

cudaError_t WITH_DATA(sim_cudaGraphAddDependencies)(cudaGraph_t graph, const cudaGraphNode_t *from,
                                                    const cudaGraphNode_t *to, const cudaGraphEdgeData *data,
                                                    size_t count) {
  if (count != 0 && (from == NULL || to == NULL)) return vs_rt_answer(VS_SIM_INVALID_VALUE);
  look_at_data(data, count);
  VS_RT_LOOK(
      vs_sim_graph_add_edges(rt.sim, VS_RT_NUMBER(graph), VS_RT_NUMBERS(from), VS_RT_NUMBERS(to), count));
}

cudaError_t WITH_DATA(sim_cudaGraphRemoveDependencies)(cudaGraph_t graph, const cudaGraphNode_t *from,
                                                       const cudaGraphNode_t *to,
                                                       const cudaGraphEdgeData *data, size_t count) {
  if (count != 0 && (from == NULL || to == NULL)) return vs_rt_answer(VS_SIM_INVALID_VALUE);
  look_at_data(data, count);
  VS_RT_LOOK(
      vs_sim_graph_remove_edges(rt.sim, VS_RT_NUMBER(graph), VS_RT_NUMBERS(from), VS_RT_NUMBERS(to), count));
}

#if VS_CUDART < 13
cudaError_t sim_cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to,
                                  size_t *count) {
  return sim_cudaGraphGetEdges_v2(graph, from, to, NULL, count);
}
cudaError_t sim_cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t *nodes, size_t *count) {
  return sim_cudaGraphNodeGetDependencies_v2(node, nodes, NULL, count);
}
cudaError_t sim_cudaGraphNodeGetDependentNodes(cudaGraphNode_t node, cudaGraphNode_t *nodes, size_t *count) {
  return sim_cudaGraphNodeGetDependentNodes_v2(node, nodes, NULL, count);
}
cudaError_t sim_cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t *from,
                                         const cudaGraphNode_t *to, size_t count) {
  return sim_cudaGraphAddDependencies_v2(graph, from, to, NULL, count);
}
cudaError_t sim_cudaGraphRemoveDependencies(cudaGraph_t graph, const cudaGraphNode_t *from,
                                            const cudaGraphNode_t *to, size_t count) {
  return sim_cudaGraphRemoveDependencies_v2(graph, from, to, NULL, count);
}
#endif

/* ---- nodes */

/* The place of a new node, from the first four arguments of the calls that add one. */
static vs_call_place node_place(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *behind,
                                size_t count) {
  return (vs_call_place){VS_RT_NUMBERS(node), VS_RT_NUMBER(graph), VS_RT_NUMBERS(behind), count};
}

static cudaError_t add_work(vs_call_place where, vs_sim_work work) {
  VS_RT_CALL(vs_call_add_node(rt.sim, &where, &work));
}

static cudaError_t add_child(vs_call_place where, cudaGraph_t child) {
  VS_RT_CALL(vs_call_add_child(rt.sim, &where, VS_RT_NUMBER(child)));
}

/* Converts the parameters of each kind to a node's work; fails if they are invalid. */

static vs_sim_error kernel_work(const void *function, vs_sim_work *work) {
  vs_rt rt;
  vs_rt_symbol *kernel = NULL;
  VS_SIM_TRY(vs_rt_use(&rt));
  VS_SIM_TRY(vs_rt_kernel_for(function, rt.device, &kernel, NULL));
  *work = (vs_sim_work){.kind = VS_SIM_NODE_KERNEL, .object = VS_RT_NUMBER(kernel)};
  return VS_SIM_OK;
}

static vs_sim_work plain_work(vs_sim_node_kind kind) { return (vs_sim_work){.kind = kind}; }

static vs_sim_error host_work(const struct cudaHostNodeParams *host, vs_sim_work *work) {
  if (host == NULL || host->fn == NULL) return VS_SIM_INVALID_VALUE;
  *work = (vs_sim_work){
      .kind = VS_SIM_NODE_HOST, .object = VS_RT_NUMBER(host->fn), .operand = VS_RT_NUMBER(host->userData)};
  return VS_SIM_OK;
}

static vs_sim_work event_work(vs_sim_node_kind kind, cudaEvent_t event) {
  return (vs_sim_work){.kind = kind, .object = VS_RT_NUMBER(event)};
}

cudaError_t sim_cudaGraphAddKernelNode(cudaGraphNode_t *node, cudaGraph_t graph,
                                       const cudaGraphNode_t *behind, size_t count,
                                       const struct cudaKernelNodeParams *kernel) {
  vs_sim_work work;
  const vs_sim_error error = kernel == NULL ? VS_SIM_INVALID_VALUE : kernel_work(kernel->func, &work);
  return error != VS_SIM_OK ? vs_rt_answer(error) : add_work(node_place(node, graph, behind, count), work);
}

cudaError_t sim_cudaGraphAddMemcpyNode(cudaGraphNode_t *node, cudaGraph_t graph,
                                       const cudaGraphNode_t *behind, size_t count,
                                       const struct cudaMemcpy3DParms *copy) {
  if (copy == NULL) return vs_rt_answer(VS_SIM_INVALID_VALUE);
  return add_work(node_place(node, graph, behind, count), plain_work(VS_SIM_NODE_MEMCPY));
}

cudaError_t sim_cudaGraphAddMemcpyNode1D(cudaGraphNode_t *node, cudaGraph_t graph,
                                         const cudaGraphNode_t *behind, size_t count, void *to,
                                         const void *from, size_t size, enum cudaMemcpyKind kind) {
  if (to == NULL || from == NULL || size == 0 || (unsigned)kind > cudaMemcpyDefault)
    return vs_rt_answer(VS_SIM_INVALID_VALUE);
  return add_work(node_place(node, graph, behind, count), plain_work(VS_SIM_NODE_MEMCPY));
}

static cudaError_t add_symbol_copy(vs_call_place where, const void *symbol) {
  if (vs_rt_variable(symbol) == NULL) return vs_rt_answer((vs_sim_error)VS_RT_INVALID_SYMBOL);
  return add_work(where, plain_work(VS_SIM_NODE_MEMCPY));
}

cudaError_t sim_cudaGraphAddMemcpyNodeToSymbol(cudaGraphNode_t *node, cudaGraph_t graph,
                                               const cudaGraphNode_t *behind, size_t count,
                                               const void *symbol, const void *from, size_t size,
                                               size_t offset, enum cudaMemcpyKind kind) {
  (void)from, (void)size, (void)offset, (void)kind;
  return add_symbol_copy(node_place(node, graph, behind, count), symbol);
}

cudaError_t sim_cudaGraphAddMemcpyNodeFromSymbol(cudaGraphNode_t *node, cudaGraph_t graph,
                                                 const cudaGraphNode_t *behind, size_t count, void *to,
                                                 const void *symbol, size_t size, size_t offset,
                                                 enum cudaMemcpyKind kind) {
  (void)to, (void)size, (void)offset, (void)kind;
  return add_symbol_copy(node_place(node, graph, behind, count), symbol);
}

cudaError_t sim_cudaGraphAddMemsetNode(cudaGraphNode_t *node, cudaGraph_t graph,
                                       const cudaGraphNode_t *behind, size_t count,
                                       const struct cudaMemsetParams *fill) {
  if (fill == NULL) return vs_rt_answer(VS_SIM_INVALID_VALUE);
  return add_work(node_place(node, graph, behind, count), plain_work(VS_SIM_NODE_MEMSET));
}

cudaError_t sim_cudaGraphAddHostNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *behind,
                                     size_t count, const struct cudaHostNodeParams *host) {
  vs_sim_work work;
  const vs_sim_error error = host_work(host, &work);
  return error != VS_SIM_OK ? vs_rt_answer(error) : add_work(node_place(node, graph, behind, count), work);
}

cudaError_t sim_cudaGraphAddChildGraphNode(cudaGraphNode_t *node, cudaGraph_t graph,
                                           const cudaGraphNode_t *behind, size_t count, cudaGraph_t child) {
  return add_child(node_place(node, graph, behind, count), child);
}

cudaError_t sim_cudaGraphAddEmptyNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *behind,
                                      size_t count) {
  return add_work(node_place(node, graph, behind, count), plain_work(VS_SIM_NODE_EMPTY));
}

cudaError_t sim_cudaGraphAddEventRecordNode(cudaGraphNode_t *node, cudaGraph_t graph,
                                            const cudaGraphNode_t *behind, size_t count, cudaEvent_t event) {
  return add_work(node_place(node, graph, behind, count), event_work(VS_SIM_NODE_EVENT_RECORD, event));
}

cudaError_t sim_cudaGraphAddEventWaitNode(cudaGraphNode_t *node, cudaGraph_t graph,
                                          const cudaGraphNode_t *behind, size_t count, cudaEvent_t event) {
  return add_work(node_place(node, graph, behind, count), event_work(VS_SIM_NODE_EVENT_WAIT, event));
}

static cudaError_t add_alloc(vs_call_place where, const struct cudaMemPoolProps *pool, size_t size,
                             void **memory) {
  if (pool->location.type != cudaMemLocationTypeDevice || pool->location.id < 0)
    return vs_rt_answer(VS_SIM_INVALID_VALUE);
  VS_RT_CALL(vs_call_add_alloc(rt.sim, &where, (uint32_t)pool->location.id, size, VS_RT_NUMBERS(memory)));
}

cudaError_t sim_cudaGraphAddMemAllocNode(cudaGraphNode_t *node, cudaGraph_t graph,
                                         const cudaGraphNode_t *behind, size_t count,
                                         struct cudaMemAllocNodeParams *memory) {
  if (memory == NULL) return vs_rt_answer(VS_SIM_INVALID_VALUE);
  return add_alloc(node_place(node, graph, behind, count), &memory->poolProps, memory->bytesize,
                   &memory->dptr);
}

cudaError_t sim_cudaGraphAddMemFreeNode(cudaGraphNode_t *node, cudaGraph_t graph,
                                        const cudaGraphNode_t *behind, size_t count, void *memory) {
  return add_work(node_place(node, graph, behind, count),
                  (vs_sim_work){.kind = VS_SIM_NODE_MEM_FREE, .object = VS_RT_NUMBER(memory)});
}

/* Adds a node of any kind. */
static cudaError_t add_any(vs_call_place where, struct cudaGraphNodeParams *what) {
  vs_sim_work work;
  vs_sim_error error = VS_SIM_OK;
  switch ((unsigned)what->type) {
    case cudaGraphNodeTypeKernel: error = kernel_work(what->kernel.func, &work); break;
    case cudaGraphNodeTypeMemcpy: work = plain_work(VS_SIM_NODE_MEMCPY); break;
    case cudaGraphNodeTypeMemset: work = plain_work(VS_SIM_NODE_MEMSET); break;
    case cudaGraphNodeTypeEmpty: work = plain_work(VS_SIM_NODE_EMPTY); break;
    case cudaGraphNodeTypeHost:
      error = host_work(&(struct cudaHostNodeParams){what->host.fn, what->host.userData}, &work);
      break;
    case cudaGraphNodeTypeWaitEvent: work = event_work(VS_SIM_NODE_EVENT_WAIT, what->eventWait.event); break;
    case cudaGraphNodeTypeEventRecord:
      work = event_work(VS_SIM_NODE_EVENT_RECORD, what->eventRecord.event);
      break;
    case cudaGraphNodeTypeMemFree:
      work = (vs_sim_work){.kind = VS_SIM_NODE_MEM_FREE, .object = VS_RT_NUMBER(what->free.dptr)};
      break;
    case cudaGraphNodeTypeGraph: return add_child(where, what->graph.graph);
    case cudaGraphNodeTypeMemAlloc:
      return add_alloc(where, &what->alloc.poolProps, what->alloc.bytesize, &what->alloc.dptr);
    case cudaGraphNodeTypeConditional:
      vs_simcuda_not_simulated("cudart", "a conditional node of a graph");
      return vs_rt_answer(VS_SIM_NOT_SUPPORTED);
    default: error = VS_SIM_INVALID_VALUE;
  }
  return error != VS_SIM_OK ? vs_rt_answer(error) : add_work(where, work);
}

cudaError_t WITH_DATA(sim_cudaGraphAddNode)(cudaGraphNode_t *node, cudaGraph_t graph,
                                            const cudaGraphNode_t *behind, const cudaGraphEdgeData *data,
                                            size_t count, struct cudaGraphNodeParams *what) {
  if (what == NULL) return vs_rt_answer(VS_SIM_INVALID_VALUE);
  look_at_data(data, count);
  return add_any(node_place(node, graph, behind, count), what);
}
#if VS_CUDART < 13
cudaError_t sim_cudaGraphAddNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *behind,
                                 size_t count, struct cudaGraphNodeParams *what) {
  return sim_cudaGraphAddNode_v2(node, graph, behind, NULL, count, what);
}
#endif

cudaError_t sim_cudaGraphDestroyNode(cudaGraphNode_t node) {
  VS_RT_LOOK(vs_sim_node_destroy(rt.sim, VS_RT_NUMBER(node)));
}

/* ---- what nodes store */

static cudaError_t get_work(cudaGraphNode_t node, vs_sim_node_kind kind, vs_sim_work *work) {
  VS_RT_LOOK(vs_call_node_work(rt.sim, VS_RT_NUMBER(node), kind, work));
}

static cudaError_t set_work(cudaGraphNode_t node, vs_sim_work work) {
  VS_RT_LOOK(vs_sim_node_set_work(rt.sim, VS_RT_NUMBER(node), &work));
}

static cudaError_t set_exec_work(cudaGraphExec_t exec, cudaGraphNode_t node, vs_sim_work work) {
  VS_RT_LOOK(vs_sim_exec_set_work(rt.sim, VS_RT_NUMBER(exec), VS_RT_NUMBER(node), &work));
}

cudaError_t sim_cudaGraphNodeGetType(cudaGraphNode_t node, enum cudaGraphNodeType *type) {
  if (type == NULL) return vs_rt_answer(VS_SIM_INVALID_VALUE);
  VS_RT_LOOK(vs_call_node_kind(rt.sim, VS_RT_NUMBER(node), (vs_sim_node_kind *)type));
}

cudaError_t sim_cudaGraphKernelNodeSetParams(cudaGraphNode_t node,
                                             const struct cudaKernelNodeParams *kernel) {
  vs_sim_work work;
  const vs_sim_error error = kernel == NULL ? VS_SIM_INVALID_VALUE : kernel_work(kernel->func, &work);
  return error != VS_SIM_OK ? vs_rt_answer(error) : set_work(node, work);
}

cudaError_t sim_cudaGraphExecKernelNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                                 const struct cudaKernelNodeParams *kernel) {
  vs_sim_work work;
  const vs_sim_error error = kernel == NULL ? VS_SIM_INVALID_VALUE : kernel_work(kernel->func, &work);
  return error != VS_SIM_OK ? vs_rt_answer(error) : set_exec_work(exec, node, work);
}

cudaError_t sim_cudaGraphMemcpyNodeSetParams(cudaGraphNode_t node, const struct cudaMemcpy3DParms *copy) {
  return copy == NULL ? vs_rt_answer(VS_SIM_INVALID_VALUE) : set_work(node, plain_work(VS_SIM_NODE_MEMCPY));
}

cudaError_t sim_cudaGraphExecMemcpyNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                                 const struct cudaMemcpy3DParms *copy) {
  return copy == NULL ? vs_rt_answer(VS_SIM_INVALID_VALUE)
                      : set_exec_work(exec, node, plain_work(VS_SIM_NODE_MEMCPY));
}

cudaError_t sim_cudaGraphMemcpyNodeSetParams1D(cudaGraphNode_t node, void *to, const void *from, size_t size,
                                               enum cudaMemcpyKind kind) {
  (void)size, (void)kind;
  return to == NULL || from == NULL ? vs_rt_answer(VS_SIM_INVALID_VALUE)
                                    : set_work(node, plain_work(VS_SIM_NODE_MEMCPY));
}

cudaError_t sim_cudaGraphExecMemcpyNodeSetParams1D(cudaGraphExec_t exec, cudaGraphNode_t node, void *to,
                                                   const void *from, size_t size, enum cudaMemcpyKind kind) {
  (void)size, (void)kind;
  return to == NULL || from == NULL ? vs_rt_answer(VS_SIM_INVALID_VALUE)
                                    : set_exec_work(exec, node, plain_work(VS_SIM_NODE_MEMCPY));
}

cudaError_t sim_cudaGraphMemsetNodeSetParams(cudaGraphNode_t node, const struct cudaMemsetParams *fill) {
  return fill == NULL ? vs_rt_answer(VS_SIM_INVALID_VALUE) : set_work(node, plain_work(VS_SIM_NODE_MEMSET));
}

cudaError_t sim_cudaGraphExecMemsetNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                                 const struct cudaMemsetParams *fill) {
  return fill == NULL ? vs_rt_answer(VS_SIM_INVALID_VALUE)
                      : set_exec_work(exec, node, plain_work(VS_SIM_NODE_MEMSET));
}

cudaError_t sim_cudaGraphHostNodeGetParams(cudaGraphNode_t node, struct cudaHostNodeParams *host) {
  vs_sim_work work;
  if (host == NULL) return vs_rt_answer(VS_SIM_INVALID_VALUE);
  const cudaError_t error = get_work(node, VS_SIM_NODE_HOST, &work);
  if (error != cudaSuccess) return error;
  *host = (struct cudaHostNodeParams){.fn = VS_RT_HANDLE(cudaHostFn_t, work.object),
                                      .userData = VS_RT_HANDLE(void *, work.operand)};
  return cudaSuccess;
}

cudaError_t sim_cudaGraphHostNodeSetParams(cudaGraphNode_t node, const struct cudaHostNodeParams *host) {
  vs_sim_work work;
  const vs_sim_error error = host_work(host, &work);
  return error != VS_SIM_OK ? vs_rt_answer(error) : set_work(node, work);
}

cudaError_t sim_cudaGraphExecHostNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                               const struct cudaHostNodeParams *host) {
  vs_sim_work work;
  const vs_sim_error error = host_work(host, &work);
  return error != VS_SIM_OK ? vs_rt_answer(error) : set_exec_work(exec, node, work);
}

static cudaError_t get_event(cudaGraphNode_t node, vs_sim_node_kind kind, cudaEvent_t *event) {
  vs_sim_work work;
  if (event == NULL) return vs_rt_answer(VS_SIM_INVALID_VALUE);
  const cudaError_t error = get_work(node, kind, &work);
  if (error == cudaSuccess) *event = VS_RT_HANDLE(cudaEvent_t, work.object);
  return error;
}

cudaError_t sim_cudaGraphEventRecordNodeGetEvent(cudaGraphNode_t node, cudaEvent_t *event) {
  return get_event(node, VS_SIM_NODE_EVENT_RECORD, event);
}
cudaError_t sim_cudaGraphEventWaitNodeGetEvent(cudaGraphNode_t node, cudaEvent_t *event) {
  return get_event(node, VS_SIM_NODE_EVENT_WAIT, event);
}
cudaError_t sim_cudaGraphEventRecordNodeSetEvent(cudaGraphNode_t node, cudaEvent_t event) {
  return set_work(node, event_work(VS_SIM_NODE_EVENT_RECORD, event));
}
cudaError_t sim_cudaGraphEventWaitNodeSetEvent(cudaGraphNode_t node, cudaEvent_t event) {
  return set_work(node, event_work(VS_SIM_NODE_EVENT_WAIT, event));
}
cudaError_t sim_cudaGraphExecEventRecordNodeSetEvent(cudaGraphExec_t exec, cudaGraphNode_t node,
                                                     cudaEvent_t event) {
  return set_exec_work(exec, node, event_work(VS_SIM_NODE_EVENT_RECORD, event));
}
cudaError_t sim_cudaGraphExecEventWaitNodeSetEvent(cudaGraphExec_t exec, cudaGraphNode_t node,
                                                   cudaEvent_t event) {
  return set_exec_work(exec, node, event_work(VS_SIM_NODE_EVENT_WAIT, event));
}

cudaError_t sim_cudaGraphMemAllocNodeGetParams(cudaGraphNode_t node, struct cudaMemAllocNodeParams *memory) {
  vs_sim_work work;
  if (memory == NULL) return vs_rt_answer(VS_SIM_INVALID_VALUE);
  const cudaError_t error = get_work(node, VS_SIM_NODE_MEM_ALLOC, &work);
  if (error != cudaSuccess) return error;
  memset(memory, 0, sizeof *memory);
  memory->poolProps.allocType = cudaMemAllocationTypePinned;
  memory->poolProps.location =
      (struct cudaMemLocation){.type = cudaMemLocationTypeDevice, .id = (int)work.device};
  memory->bytesize = (size_t)work.operand;
  memory->dptr = VS_RT_HANDLE(void *, work.object);
  return cudaSuccess;
}

cudaError_t sim_cudaGraphMemFreeNodeGetParams(cudaGraphNode_t node, void *memory) {
  vs_sim_work work;
  if (memory == NULL) return vs_rt_answer(VS_SIM_INVALID_VALUE);
  const cudaError_t error = get_work(node, VS_SIM_NODE_MEM_FREE, &work);
  if (error == cudaSuccess) *(void **)memory = VS_RT_HANDLE(void *, work.object);
  return error;
}

cudaError_t sim_cudaGraphChildGraphNodeGetGraph(cudaGraphNode_t node, cudaGraph_t *graph) {
  if (graph == NULL) return vs_rt_answer(VS_SIM_INVALID_VALUE);
  VS_RT_LOOK(vs_sim_node_child(rt.sim, VS_RT_NUMBER(node), VS_RT_NUMBERS(graph)));
}

/* ---- executable graphs */

cudaError_t sim_cudaGraphInstantiateWithFlags(cudaGraphExec_t *exec, cudaGraph_t graph,
                                              unsigned long long flags) {
  if (exec == NULL) return vs_rt_answer(VS_SIM_INVALID_VALUE);
  VS_RT_CALL(vs_sim_graph_instantiate(rt.sim, VS_RT_NUMBER(graph), flags, VS_RT_NUMBERS(exec)));
}

cudaError_t sim_cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long flags) {
  return sim_cudaGraphInstantiateWithFlags(exec, graph, flags);
}

cudaError_t sim_cudaGraphInstantiateWithParams(cudaGraphExec_t *exec, cudaGraph_t graph,
                                               cudaGraphInstantiateParams *how) {
  if (how == NULL) return vs_rt_answer(VS_SIM_INVALID_VALUE);
  const cudaError_t error = sim_cudaGraphInstantiateWithFlags(exec, graph, how->flags);
  how->errNode_out = NULL;
  how->result_out = error == cudaSuccess ? cudaGraphInstantiateSuccess : cudaGraphInstantiateError;
  return error;
}

cudaError_t sim_cudaGraphExecDestroy(cudaGraphExec_t exec) {
  VS_RT_LOOK(vs_sim_exec_destroy(rt.sim, VS_RT_NUMBER(exec)));
}

cudaError_t sim_cudaGraphExecGetFlags(cudaGraphExec_t exec, unsigned long long *flags) {
  if (flags == NULL) return vs_rt_answer(VS_SIM_INVALID_VALUE);
  VS_RT_LOOK(vs_call_exec_flags(rt.sim, VS_RT_NUMBER(exec), VS_RT_NUMBERS(flags)));
}

cudaError_t sim_cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph,
                                    cudaGraphExecUpdateResultInfo *info) {
  vs_rt rt;
  uint32_t result;
  uint64_t node;
  if (info == NULL) return vs_rt_answer(VS_SIM_INVALID_VALUE);
  if (!vs_rt_look(&rt)) return rt.failure;
  const vs_sim_error error =
      vs_call_exec_update(rt.sim, VS_RT_NUMBER(exec), VS_RT_NUMBER(graph), &result, &node);
  *info = (cudaGraphExecUpdateResultInfo){.result = (enum cudaGraphExecUpdateResult)result,
                                          .errorNode = VS_RT_HANDLE(cudaGraphNode_t, node)};
  return vs_rt_leave(error);
}

cudaError_t sim_cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) {
  VS_RT_CALL(vs_call_exec_launch(rt.sim, rt.device, VS_RT_NUMBER(exec), VS_RT_NUMBER(stream)));
}

cudaError_t sim_cudaGraphUpload(cudaGraphExec_t exec, cudaStream_t stream) {
  VS_RT_CALL(vs_sim_exec_upload(rt.sim, rt.device, VS_RT_NUMBER(exec), VS_RT_NUMBER(stream)));
}

/* ---- objects of the program that graphs keep */

cudaError_t sim_cudaUserObjectCreate(cudaUserObject_t *object, void *argument, cudaHostFn_t destroy,
                                     unsigned int count, unsigned int flags) {
  if (object == NULL || destroy == NULL) return vs_rt_answer(VS_SIM_INVALID_VALUE);
  VS_RT_LOOK(vs_sim_user_object_create(rt.sim, VS_RT_NUMBER(destroy), VS_RT_NUMBER(argument), count, flags,
                                       VS_RT_NUMBERS(object)));
}

cudaError_t sim_cudaUserObjectRetain(cudaUserObject_t object, unsigned int count) {
  VS_RT_LOOK(vs_sim_user_object_retain(rt.sim, VS_RT_NUMBER(object), count));
}

cudaError_t sim_cudaUserObjectRelease(cudaUserObject_t object, unsigned int count) {
  VS_RT_LOOK(vs_sim_user_object_release(rt.sim, VS_RT_NUMBER(object), count));
}

cudaError_t sim_cudaGraphRetainUserObject(cudaGraph_t graph, cudaUserObject_t object, unsigned int count,
                                          unsigned int flags) {
  VS_RT_LOOK(vs_sim_graph_retain(rt.sim, VS_RT_NUMBER(graph), VS_RT_NUMBER(object), count, flags));
}

cudaError_t sim_cudaGraphReleaseUserObject(cudaGraph_t graph, cudaUserObject_t object, unsigned int count) {
  VS_RT_LOOK(vs_sim_graph_release(rt.sim, VS_RT_NUMBER(graph), VS_RT_NUMBER(object), count));
}

/* ---- a picture of a graph, for Graphviz */

static const char *kind_word(const vs_sim_work *work) {
  static const char *const words[VS_SIM_NODE_KINDS] = {
      [VS_SIM_NODE_KERNEL] = "kernel",         [VS_SIM_NODE_MEMCPY] = "copy",
      [VS_SIM_NODE_MEMSET] = "fill",           [VS_SIM_NODE_HOST] = "host function",
      [VS_SIM_NODE_GRAPH] = "graph",           [VS_SIM_NODE_EMPTY] = "empty",
      [VS_SIM_NODE_EVENT_WAIT] = "event wait", [VS_SIM_NODE_EVENT_RECORD] = "event record",
      [VS_SIM_NODE_MEM_ALLOC] = "allocation",  [VS_SIM_NODE_MEM_FREE] = "free",
  };
  return work == NULL || words[work->kind] == NULL ? "?" : words[work->kind];
}

/* Under the lock. The caller allocates the arrays of edges. */
static vs_sim_error print_edges(const vs_sim *sim, uint64_t graph, uint64_t *from, uint64_t *to, size_t edges,
                                FILE *file) {
  VS_SIM_TRY(vs_sim_graph_edges(sim, graph, from, to, &edges));
  for (size_t i = 0; i < edges; i++)
    (void)fprintf(file, "  \"%" PRIx64 " %s\" -> \"%" PRIx64 " %s\";\n", from[i],
                  kind_word(vs_sim_node_work(sim, from[i])), to[i], kind_word(vs_sim_node_work(sim, to[i])));
  return VS_SIM_OK;
}

static vs_sim_error print_nodes(const vs_sim *sim, uint64_t graph, uint64_t *nodes, size_t count,
                                FILE *file) {
  VS_SIM_TRY(vs_sim_graph_nodes(sim, graph, nodes, &count));
  for (size_t i = 0; i < count; i++)
    (void)fprintf(file, "  \"%" PRIx64 " %s\";\n", nodes[i], kind_word(vs_sim_node_work(sim, nodes[i])));
  return VS_SIM_OK;
}

static vs_sim_error print_dot(const vs_sim *sim, uint64_t graph, FILE *file) {
  size_t nodes = 0, edges = 0;
  VS_SIM_TRY(vs_sim_graph_nodes(sim, graph, NULL, &nodes));
  VS_SIM_TRY(vs_sim_graph_edges(sim, graph, NULL, NULL, &edges));
  const vs_host *host = vs_host_default();
  const size_t bytes = (nodes + 2 * edges + 1) * sizeof(uint64_t);
  uint64_t *room = vs_host_alloc(host, bytes);
  if (room == NULL) return VS_SIM_OUT_OF_MEMORY;
  (void)fprintf(file, "digraph simulated {\n");
  vs_sim_error error = print_nodes(sim, graph, room, nodes, file);
  if (error == VS_SIM_OK) error = print_edges(sim, graph, room + nodes, room + nodes + edges, edges, file);
  (void)fprintf(file, "}\n");
  vs_host_free(host, room, bytes);
  return error;
}

cudaError_t sim_cudaGraphDebugDotPrint(cudaGraph_t graph, const char *path, unsigned int flags) {
  vs_rt rt;
  (void)flags;
  FILE *file = path == NULL ? NULL : fopen(path, "w");
  if (file == NULL) return vs_rt_answer(VS_SIM_INVALID_VALUE);
  if (!vs_rt_look(&rt)) {
    (void)fclose(file);
    return rt.failure;
  }
  const cudaError_t answer = vs_rt_leave(print_dot(rt.sim, VS_RT_NUMBER(graph), file));
  return fclose(file) != 0 && answer == cudaSuccess ? vs_rt_answer((vs_sim_error)cudaErrorOperatingSystem)
                                                    : answer;
}
