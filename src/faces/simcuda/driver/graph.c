/* Captures and graphs: conversions over core/shared_calls.h and device/sim/graph.h.
 *
 * Of the parameters of a kernel, copy or memset node only the function is stored, because nothing runs the node. So
 * calls that read the parameters are refused, and calls that change them only check their handles. */
#include <string.h>

#include "faces/simcuda/driver/driver.h"

/* ---- capture */

CUresult sim_cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode) {
  VS_CU_NEED((unsigned int)mode <= 2);
  VS_CU_CALL(
      vs_sim_capture_begin(at.sim, &at.thread->sim, at.device, vs_number(stream), (vs_sim_capture_mode)mode));
}
/* The form from before capture modes. */
CUresult sim_cuStreamBeginCapture(CUstream stream) {
  return sim_cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
}

/* Programmatic launches are edges like others (shared_calls.h); any other data is not simulated. */
static CUresult check_edges(const CUgraphEdgeData *edges, size_t count) {
  _Static_assert(sizeof *edges == sizeof(uint64_t), "as vs_call_edges_are_special reads it");
  if (!vs_call_edges_are_special(edges, count)) return CUDA_SUCCESS;
  vs_simcuda_not_simulated("CUDA driver", "graph edges of a special type");
  return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult sim_cuStreamBeginCaptureToGraph(CUstream stream, CUgraph graph, const CUgraphNode *dependencies,
                                         const CUgraphEdgeData *edges, size_t count,
                                         CUstreamCaptureMode mode) {
  VS_CU_NEED((unsigned int)mode <= 2 && (dependencies != NULL || count == 0));
  VS_CU_TRY(check_edges(edges, count));
  VS_CU_CALL(vs_sim_capture_begin_to(at.sim, &at.thread->sim, at.device, vs_number(stream), vs_number(graph),
                                     vs_numbers(dependencies), count, (vs_sim_capture_mode)mode));
}

CUresult sim_cuStreamEndCapture(CUstream stream, CUgraph *graph) {
  VS_CU_NEED(graph != NULL);
  vs_driver_at at;
  VS_CU_TRY(vs_driver_lock(&at));
  uint64_t made = 0;
  const vs_sim_error error = vs_sim_capture_end(at.sim, &at.thread->sim, at.device, vs_number(stream), &made);
  *graph = vs_handle(made);
  return vs_driver_done(error);
}

CUresult sim_cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus *status) {
  VS_CU_NEED(status != NULL);
  vs_driver_at at;
  VS_CU_TRY(vs_driver_lock(&at));
  vs_sim_capture_info info;
  const vs_sim_error error = vs_sim_stream_capture_info(at.sim, at.device, vs_number(stream), &info);
  if (error == VS_SIM_OK) *status = (CUstreamCaptureStatus)info.status;
  return vs_driver_done(error);
}

CUresult sim_cuStreamGetCaptureInfo_v3(CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id,
                                       CUgraph *graph, const CUgraphNode **dependencies,
                                       const CUgraphEdgeData **edges, size_t *count) {
  VS_CU_NEED(status != NULL);
  vs_driver_at at;
  VS_CU_TRY(vs_driver_lock(&at));
  vs_call_capture found;
  const vs_sim_error error = vs_call_capture_info(at.sim, at.device, vs_number(stream), &found);
  if (error != VS_SIM_OK) return vs_driver_done(error);
  *status = (CUstreamCaptureStatus)found.info.status;
  if (id != NULL) *id = found.info.id;
  if (graph != NULL) *graph = vs_handle(found.info.graph);
  if (dependencies != NULL) *dependencies = (const CUgraphNode *)(const void *)found.nodes;
  if (edges != NULL) *edges = (const CUgraphEdgeData *)(const void *)found.edges;
  if (count != NULL) *count = found.info.dependency_count;
  return vs_driver_done(VS_SIM_OK);
}

CUresult sim_cuStreamGetCaptureInfo_v2(CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id,
                                       CUgraph *graph, const CUgraphNode **dependencies, size_t *count) {
  return sim_cuStreamGetCaptureInfo_v3(stream, status, id, graph, dependencies, NULL, count);
}
CUresult sim_cuStreamGetCaptureInfo(CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id) {
  return sim_cuStreamGetCaptureInfo_v3(stream, status, id, NULL, NULL, NULL, NULL);
}

CUresult sim_cuStreamUpdateCaptureDependencies_v2(CUstream stream, CUgraphNode *dependencies,
                                                  const CUgraphEdgeData *edges, size_t count,
                                                  unsigned int flags) {
  VS_CU_NEED(flags <= 1 && (dependencies != NULL || count == 0));
  VS_CU_TRY(check_edges(edges, count));
  VS_CU_CALL(vs_sim_capture_update(at.sim, at.device, vs_number(stream), vs_numbers(dependencies), count,
                                   (vs_sim_dependencies)flags));
}
CUresult sim_cuStreamUpdateCaptureDependencies(CUstream stream, CUgraphNode *dependencies, size_t count,
                                               unsigned int flags) {
  return sim_cuStreamUpdateCaptureDependencies_v2(stream, dependencies, NULL, count, flags);
}

CUresult sim_cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode) {
  VS_CU_NEED(mode != NULL && (unsigned int)*mode <= 2);
  VS_CU_TRY(vs_driver_begin());
  vs_sim_capture_mode wanted = (vs_sim_capture_mode)*mode;
  const vs_sim_error error = vs_sim_exchange_capture_mode(&vs_simcuda_this_thread()->sim, &wanted);
  if (error == VS_SIM_OK) *mode = (CUstreamCaptureMode)wanted;
  return (CUresult)error;
}

/* ---- graphs */

CUresult sim_cuGraphCreate(CUgraph *graph, unsigned int flags) {
  VS_CU_NEED(graph != NULL);
  VS_CU_LOOK(vs_sim_graph_create(sim, flags, vs_numbers(graph)));
}

CUresult sim_cuGraphDestroy(CUgraph graph) { VS_CU_LOOK(vs_sim_graph_destroy(sim, vs_number(graph))); }

CUresult sim_cuGraphClone(CUgraph *clone, CUgraph graph) {
  VS_CU_NEED(clone != NULL);
  VS_CU_LOOK(vs_sim_graph_clone(sim, vs_number(graph), vs_numbers(clone)));
}

CUresult sim_cuGraphNodeFindInClone(CUgraphNode *found, CUgraphNode node, CUgraph clone) {
  VS_CU_NEED(found != NULL);
  VS_CU_LOOK(vs_sim_graph_find_in_clone(sim, vs_number(node), vs_number(clone), vs_numbers(found)));
}

/* A function that lists nodes, of a graph or around a node. */
typedef vs_sim_error (*lister)(const vs_sim *sim, uint64_t of, uint64_t *nodes, size_t *count);

static CUresult list(lister lists_of, const void *of, CUgraphNode *nodes, size_t *count) {
  VS_CU_NEED(count != NULL);
  VS_CU_LOOK(lists_of(sim, vs_number(of), vs_numbers(nodes), count));
}

CUresult sim_cuGraphGetNodes(CUgraph graph, CUgraphNode *nodes, size_t *count) {
  return list(vs_sim_graph_nodes, graph, nodes, count);
}
CUresult sim_cuGraphGetRootNodes(CUgraph graph, CUgraphNode *nodes, size_t *count) {
  return list(vs_sim_graph_roots, graph, nodes, count);
}

CUresult sim_cuGraphNodeGetDependencies_v2(CUgraphNode node, CUgraphNode *nodes, CUgraphEdgeData *edges,
                                           size_t *count) {
  VS_CU_TRY(list(vs_sim_node_dependencies, node, nodes, count));
  if (nodes != NULL) vs_call_clear_edges(edges, *count);
  return CUDA_SUCCESS;
}
CUresult sim_cuGraphNodeGetDependentNodes_v2(CUgraphNode node, CUgraphNode *nodes, CUgraphEdgeData *edges,
                                             size_t *count) {
  VS_CU_TRY(list(vs_sim_node_dependents, node, nodes, count));
  if (nodes != NULL) vs_call_clear_edges(edges, *count);
  return CUDA_SUCCESS;
}
CUresult sim_cuGraphNodeGetDependencies(CUgraphNode node, CUgraphNode *nodes, size_t *count) {
  return sim_cuGraphNodeGetDependencies_v2(node, nodes, NULL, count);
}
CUresult sim_cuGraphNodeGetDependentNodes(CUgraphNode node, CUgraphNode *nodes, size_t *count) {
  return sim_cuGraphNodeGetDependentNodes_v2(node, nodes, NULL, count);
}

CUresult sim_cuGraphGetEdges_v2(CUgraph graph, CUgraphNode *from, CUgraphNode *to, CUgraphEdgeData *edges,
                                size_t *count) {
  VS_CU_NEED(count != NULL && (from == NULL) == (to == NULL));
  vs_sim *sim;
  VS_CU_TRY(vs_driver_lock_sim(&sim));
  const vs_sim_error error =
      vs_sim_graph_edges(sim, vs_number(graph), vs_numbers(from), vs_numbers(to), count);
  if (error == VS_SIM_OK && from != NULL) vs_call_clear_edges(edges, *count);
  return vs_driver_done(error);
}
CUresult sim_cuGraphGetEdges(CUgraph graph, CUgraphNode *from, CUgraphNode *to, size_t *count) {
  return sim_cuGraphGetEdges_v2(graph, from, to, NULL, count);
}

CUresult sim_cuGraphAddDependencies_v2(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
                                       const CUgraphEdgeData *edges, size_t count) {
  VS_CU_NEED((from != NULL && to != NULL) || count == 0);
  VS_CU_TRY(check_edges(edges, count));
  VS_CU_LOOK(vs_sim_graph_add_edges(sim, vs_number(graph), vs_numbers(from), vs_numbers(to), count));
}
CUresult sim_cuGraphAddDependencies(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
                                    size_t count) {
  return sim_cuGraphAddDependencies_v2(graph, from, to, NULL, count);
}

CUresult sim_cuGraphRemoveDependencies_v2(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
                                          const CUgraphEdgeData *edges, size_t count) {
  VS_CU_NEED((from != NULL && to != NULL) || count == 0);
  VS_CU_TRY(check_edges(edges, count));
  VS_CU_LOOK(vs_sim_graph_remove_edges(sim, vs_number(graph), vs_numbers(from), vs_numbers(to), count));
}
CUresult sim_cuGraphRemoveDependencies(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
                                       size_t count) {
  return sim_cuGraphRemoveDependencies_v2(graph, from, to, NULL, count);
}

/* ---- nodes */

/* The place of a new node, from the first four arguments of the calls that add one. */
static vs_call_place node_place(CUgraphNode *node, CUgraph graph, const CUgraphNode *behind, size_t count) {
  return (vs_call_place){vs_numbers(node), vs_number(graph), vs_numbers(behind), count};
}

static CUresult add(vs_call_place where, vs_sim_work work) {
  VS_CU_LOOK(vs_call_add_node(sim, &where, &work));
}

static CUresult kernel_work(CUfunction function, vs_sim_work *work) {
  vs_driver_function found;
  VS_CU_TRY(vs_driver_function_find(function, &found));
  *work = (vs_sim_work){.kind = VS_SIM_NODE_KERNEL, .object = vs_number(function)};
  return CUDA_SUCCESS;
}

static vs_sim_work host_work(CUhostFn function, void *argument) {
  return (vs_sim_work){
      .kind = VS_SIM_NODE_HOST, .object = (uint64_t)(uintptr_t)function, .operand = vs_number(argument)};
}

CUresult sim_cuGraphAddKernelNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
                                  size_t count, const CUDA_KERNEL_NODE_PARAMS_v1 *parameters) {
  VS_CU_NEED(parameters != NULL);
  vs_sim_work work;
  VS_CU_TRY(kernel_work(parameters->func, &work));
  return add(node_place(node, graph, dependencies, count), work);
}

/* The newer struct may name a kernel instead of a function. */
static CUfunction function_of(const CUDA_KERNEL_NODE_PARAMS *parameters) {
  return parameters->func != NULL ? parameters->func : (CUfunction)(void *)parameters->kern;
}

CUresult sim_cuGraphAddKernelNode_v2(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
                                     size_t count, const CUDA_KERNEL_NODE_PARAMS *parameters) {
  VS_CU_NEED(parameters != NULL);
  vs_sim_work work;
  VS_CU_TRY(kernel_work(function_of(parameters), &work));
  return add(node_place(node, graph, dependencies, count), work);
}

CUresult sim_cuGraphAddMemcpyNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
                                  size_t count, const CUDA_MEMCPY3D *parameters, CUcontext context) {
  (void)context;
  VS_CU_NEED(parameters != NULL);
  return add(node_place(node, graph, dependencies, count), (vs_sim_work){.kind = VS_SIM_NODE_MEMCPY});
}

CUresult sim_cuGraphAddMemsetNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
                                  size_t count, const CUDA_MEMSET_NODE_PARAMS *parameters,
                                  CUcontext context) {
  (void)context;
  VS_CU_NEED(parameters != NULL);
  return add(node_place(node, graph, dependencies, count), (vs_sim_work){.kind = VS_SIM_NODE_MEMSET});
}

CUresult sim_cuGraphAddHostNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
                                size_t count, const CUDA_HOST_NODE_PARAMS *parameters) {
  VS_CU_NEED(parameters != NULL && parameters->fn != NULL);
  return add(node_place(node, graph, dependencies, count), host_work(parameters->fn, parameters->userData));
}

CUresult sim_cuGraphAddEmptyNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
                                 size_t count) {
  return add(node_place(node, graph, dependencies, count), (vs_sim_work){.kind = VS_SIM_NODE_EMPTY});
}

CUresult sim_cuGraphAddEventRecordNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
                                       size_t count, CUevent event) {
  return add(node_place(node, graph, dependencies, count),
             (vs_sim_work){.kind = VS_SIM_NODE_EVENT_RECORD, .object = vs_number(event)});
}

CUresult sim_cuGraphAddEventWaitNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
                                     size_t count, CUevent event) {
  return add(node_place(node, graph, dependencies, count),
             (vs_sim_work){.kind = VS_SIM_NODE_EVENT_WAIT, .object = vs_number(event)});
}

static CUresult add_child(vs_call_place where, CUgraph child) {
  VS_CU_LOOK(vs_call_add_child(sim, &where, vs_number(child)));
}

CUresult sim_cuGraphAddChildGraphNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
                                      size_t count, CUgraph child) {
  return add_child(node_place(node, graph, dependencies, count), child);
}

static CUresult add_alloc(vs_call_place where, const CUmemLocation *location, uint64_t size,
                          CUdeviceptr *address) {
  VS_CU_NEED(location->type == CU_MEM_LOCATION_TYPE_DEVICE && vs_driver_is_device(location->id));
  VS_CU_LOOK(vs_call_add_alloc(sim, &where, (uint32_t)location->id, size, vs_numbers(address)));
}

CUresult sim_cuGraphAddMemAllocNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
                                    size_t count, CUDA_MEM_ALLOC_NODE_PARAMS *parameters) {
  VS_CU_NEED(parameters != NULL);
  return add_alloc(node_place(node, graph, dependencies, count), &parameters->poolProps.location,
                   parameters->bytesize, &parameters->dptr);
}

CUresult sim_cuGraphAddMemFreeNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
                                   size_t count, CUdeviceptr address) {
  return add(node_place(node, graph, dependencies, count),
             (vs_sim_work){.kind = VS_SIM_NODE_MEM_FREE, .object = address});
}

/* Adds a node of any kind. */
CUresult sim_cuGraphAddNode_v2(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
                               const CUgraphEdgeData *edges, size_t count, CUgraphNodeParams *p) {
  VS_CU_NEED(p != NULL);
  VS_CU_TRY(check_edges(edges, count));
  vs_sim_work work = {.kind = (vs_sim_node_kind)p->type};
  switch (p->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
      VS_CU_TRY(
          kernel_work(p->kernel.func != NULL ? p->kernel.func : (CUfunction)(void *)p->kernel.kern, &work));
      break;
    case CU_GRAPH_NODE_TYPE_HOST: work = host_work(p->host.fn, p->host.userData); break;
    case CU_GRAPH_NODE_TYPE_GRAPH:
      return add_child(node_place(node, graph, dependencies, count), p->graph.graph);
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT: work.object = vs_number(p->eventWait.event); break;
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD: work.object = vs_number(p->eventRecord.event); break;
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
      return add_alloc(node_place(node, graph, dependencies, count), &p->alloc.poolProps.location,
                       p->alloc.bytesize, &p->alloc.dptr);
    case CU_GRAPH_NODE_TYPE_MEM_FREE: work.object = p->free.dptr; break;
    case CU_GRAPH_NODE_TYPE_MEMCPY:
    case CU_GRAPH_NODE_TYPE_MEMSET:
    case CU_GRAPH_NODE_TYPE_EMPTY: break;
    default:
      vs_simcuda_not_simulated("CUDA driver", "cuGraphAddNode of a conditional or an external node");
      return CUDA_ERROR_NOT_SUPPORTED;
  }
  return add(node_place(node, graph, dependencies, count), work);
}
CUresult sim_cuGraphAddNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies, size_t count,
                            CUgraphNodeParams *parameters) {
  return sim_cuGraphAddNode_v2(node, graph, dependencies, NULL, count, parameters);
}

CUresult sim_cuGraphDestroyNode(CUgraphNode node) { VS_CU_LOOK(vs_sim_node_destroy(sim, vs_number(node))); }

CUresult sim_cuGraphNodeGetType(CUgraphNode node, CUgraphNodeType *type) {
  VS_CU_NEED(type != NULL);
  VS_CU_LOOK(vs_call_node_kind(sim, vs_number(node), (vs_sim_node_kind *)type));
}

CUresult sim_cuGraphChildGraphNodeGetGraph(CUgraphNode node, CUgraph *graph) {
  VS_CU_NEED(graph != NULL);
  VS_CU_LOOK(vs_sim_node_child(sim, vs_number(node), vs_numbers(graph)));
}

static CUresult work_of(CUgraphNode node, vs_sim_node_kind kind, vs_sim_work *work) {
  VS_CU_LOOK(vs_call_node_work(sim, vs_number(node), kind, work));
}

static CUresult set_work(CUgraphNode node, vs_sim_work work) {
  VS_CU_LOOK(vs_sim_node_set_work(sim, vs_number(node), &work));
}

CUresult sim_cuGraphHostNodeGetParams(CUgraphNode node, CUDA_HOST_NODE_PARAMS *parameters) {
  VS_CU_NEED(parameters != NULL);
  vs_sim_work work;
  VS_CU_TRY(work_of(node, VS_SIM_NODE_HOST, &work));
  parameters->fn = (CUhostFn)(uintptr_t)work.object;
  parameters->userData = vs_handle(work.operand);
  return CUDA_SUCCESS;
}

static CUresult event_of(CUgraphNode node, vs_sim_node_kind kind, CUevent *event) {
  VS_CU_NEED(event != NULL);
  vs_sim_work work;
  VS_CU_TRY(work_of(node, kind, &work));
  *event = vs_handle(work.object);
  return CUDA_SUCCESS;
}
CUresult sim_cuGraphEventRecordNodeGetEvent(CUgraphNode node, CUevent *event) {
  return event_of(node, VS_SIM_NODE_EVENT_RECORD, event);
}
CUresult sim_cuGraphEventWaitNodeGetEvent(CUgraphNode node, CUevent *event) {
  return event_of(node, VS_SIM_NODE_EVENT_WAIT, event);
}

CUresult sim_cuGraphMemAllocNodeGetParams(CUgraphNode node, CUDA_MEM_ALLOC_NODE_PARAMS *parameters) {
  VS_CU_NEED(parameters != NULL);
  vs_sim_work work;
  VS_CU_TRY(work_of(node, VS_SIM_NODE_MEM_ALLOC, &work));
  memset(parameters, 0, sizeof *parameters);
  parameters->poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  parameters->poolProps.location =
      (CUmemLocation){.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = (int)work.device};
  parameters->bytesize = work.operand;
  parameters->dptr = work.object;
  return CUDA_SUCCESS;
}

CUresult sim_cuGraphMemFreeNodeGetParams(CUgraphNode node, CUdeviceptr *address) {
  VS_CU_NEED(address != NULL);
  vs_sim_work work;
  VS_CU_TRY(work_of(node, VS_SIM_NODE_MEM_FREE, &work));
  *address = work.object;
  return CUDA_SUCCESS;
}

CUresult sim_cuGraphKernelNodeSetParams(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v1 *parameters) {
  VS_CU_NEED(parameters != NULL);
  vs_sim_work work;
  VS_CU_TRY(kernel_work(parameters->func, &work));
  return set_work(node, work);
}
CUresult sim_cuGraphKernelNodeSetParams_v2(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS *parameters) {
  VS_CU_NEED(parameters != NULL);
  vs_sim_work work;
  VS_CU_TRY(kernel_work(function_of(parameters), &work));
  return set_work(node, work);
}
CUresult sim_cuGraphMemcpyNodeSetParams(CUgraphNode node, const CUDA_MEMCPY3D *parameters) {
  VS_CU_NEED(parameters != NULL);
  return set_work(node, (vs_sim_work){.kind = VS_SIM_NODE_MEMCPY});
}
CUresult sim_cuGraphMemsetNodeSetParams(CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS *parameters) {
  VS_CU_NEED(parameters != NULL);
  return set_work(node, (vs_sim_work){.kind = VS_SIM_NODE_MEMSET});
}
CUresult sim_cuGraphHostNodeSetParams(CUgraphNode node, const CUDA_HOST_NODE_PARAMS *parameters) {
  VS_CU_NEED(parameters != NULL && parameters->fn != NULL);
  return set_work(node, host_work(parameters->fn, parameters->userData));
}
CUresult sim_cuGraphEventRecordNodeSetEvent(CUgraphNode node, CUevent event) {
  return set_work(node, (vs_sim_work){.kind = VS_SIM_NODE_EVENT_RECORD, .object = vs_number(event)});
}
CUresult sim_cuGraphEventWaitNodeSetEvent(CUgraphNode node, CUevent event) {
  return set_work(node, (vs_sim_work){.kind = VS_SIM_NODE_EVENT_WAIT, .object = vs_number(event)});
}

/* ---- executable graphs */

CUresult sim_cuGraphInstantiateWithFlags(CUgraphExec *exec, CUgraph graph, unsigned long long flags) {
  VS_CU_NEED(exec != NULL);
  VS_CU_LOOK(vs_sim_graph_instantiate(sim, vs_number(graph), flags, vs_numbers(exec)));
}

CUresult sim_cuGraphInstantiate_v2(CUgraphExec *exec, CUgraph graph, CUgraphNode *error_node, char *log,
                                   size_t log_size) {
  if (error_node != NULL) *error_node = NULL;
  if (log != NULL && log_size != 0) log[0] = 0;
  return sim_cuGraphInstantiateWithFlags(exec, graph, 0);
}

CUresult sim_cuGraphInstantiateWithParams(CUgraphExec *exec, CUgraph graph,
                                          CUDA_GRAPH_INSTANTIATE_PARAMS *parameters) {
  VS_CU_NEED(parameters != NULL);
  parameters->hErrNode_out = NULL;
  const CUresult result = sim_cuGraphInstantiateWithFlags(exec, graph, parameters->flags);
  parameters->result_out =
      result == CUDA_SUCCESS ? CUDA_GRAPH_INSTANTIATE_SUCCESS : CUDA_GRAPH_INSTANTIATE_ERROR;
  return result;
}

CUresult sim_cuGraphExecDestroy(CUgraphExec exec) { VS_CU_LOOK(vs_sim_exec_destroy(sim, vs_number(exec))); }

CUresult sim_cuGraphExecGetFlags(CUgraphExec exec, cuuint64_t *flags) {
  VS_CU_NEED(flags != NULL);
  VS_CU_LOOK(vs_call_exec_flags(sim, vs_number(exec), vs_numbers(flags)));
}

CUresult sim_cuGraphLaunch(CUgraphExec exec, CUstream stream) {
  VS_CU_CALL(vs_call_exec_launch(at.sim, at.device, vs_number(exec), vs_number(stream)));
}

CUresult sim_cuGraphUpload(CUgraphExec exec, CUstream stream) {
  VS_CU_CALL(vs_sim_exec_upload(at.sim, at.device, vs_number(exec), vs_number(stream)));
}

CUresult sim_cuGraphExecUpdate_v2(CUgraphExec exec, CUgraph graph, CUgraphExecUpdateResultInfo *info) {
  VS_CU_NEED(info != NULL);
  vs_sim *sim;
  VS_CU_TRY(vs_driver_lock_sim(&sim));
  uint32_t result;
  uint64_t node;
  const vs_sim_error error = vs_call_exec_update(sim, vs_number(exec), vs_number(graph), &result, &node);
  *info =
      (CUgraphExecUpdateResultInfo){.result = (CUgraphExecUpdateResult)result, .errorNode = vs_handle(node)};
  return vs_driver_done(error);
}

CUresult sim_cuGraphExecUpdate(CUgraphExec exec, CUgraph graph, CUgraphNode *error_node,
                               CUgraphExecUpdateResult *update) {
  VS_CU_NEED(update != NULL);
  CUgraphExecUpdateResultInfo info = {.result = CU_GRAPH_EXEC_UPDATE_ERROR};
  const CUresult result = sim_cuGraphExecUpdate_v2(exec, graph, &info);
  *update = info.result;
  if (error_node != NULL) *error_node = info.errorNode;
  return result;
}

static CUresult set_exec_work(CUgraphExec exec, CUgraphNode node, vs_sim_work work) {
  VS_CU_LOOK(vs_sim_exec_set_work(sim, vs_number(exec), vs_number(node), &work));
}

CUresult sim_cuGraphExecKernelNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                            const CUDA_KERNEL_NODE_PARAMS_v1 *parameters) {
  VS_CU_NEED(parameters != NULL);
  vs_sim_work work;
  VS_CU_TRY(kernel_work(parameters->func, &work));
  return set_exec_work(exec, node, work);
}
CUresult sim_cuGraphExecKernelNodeSetParams_v2(CUgraphExec exec, CUgraphNode node,
                                               const CUDA_KERNEL_NODE_PARAMS *parameters) {
  VS_CU_NEED(parameters != NULL);
  vs_sim_work work;
  VS_CU_TRY(kernel_work(function_of(parameters), &work));
  return set_exec_work(exec, node, work);
}
CUresult sim_cuGraphExecMemcpyNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                            const CUDA_MEMCPY3D *parameters, CUcontext context) {
  (void)context;
  VS_CU_NEED(parameters != NULL);
  return set_exec_work(exec, node, (vs_sim_work){.kind = VS_SIM_NODE_MEMCPY});
}
CUresult sim_cuGraphExecMemsetNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                            const CUDA_MEMSET_NODE_PARAMS *parameters, CUcontext context) {
  (void)context;
  VS_CU_NEED(parameters != NULL);
  return set_exec_work(exec, node, (vs_sim_work){.kind = VS_SIM_NODE_MEMSET});
}
CUresult sim_cuGraphExecHostNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                          const CUDA_HOST_NODE_PARAMS *parameters) {
  VS_CU_NEED(parameters != NULL && parameters->fn != NULL);
  return set_exec_work(exec, node, host_work(parameters->fn, parameters->userData));
}
CUresult sim_cuGraphExecEventRecordNodeSetEvent(CUgraphExec exec, CUgraphNode node, CUevent event) {
  return set_exec_work(exec, node,
                       (vs_sim_work){.kind = VS_SIM_NODE_EVENT_RECORD, .object = vs_number(event)});
}
CUresult sim_cuGraphExecEventWaitNodeSetEvent(CUgraphExec exec, CUgraphNode node, CUevent event) {
  return set_exec_work(exec, node, (vs_sim_work){.kind = VS_SIM_NODE_EVENT_WAIT, .object = vs_number(event)});
}

/* ---- user objects: what a graph keeps alive */

CUresult sim_cuUserObjectCreate(CUuserObject *object, void *argument, CUhostFn destroy, unsigned int count,
                                unsigned int flags) {
  VS_CU_NEED(object != NULL && destroy != NULL);
  VS_CU_LOOK(vs_sim_user_object_create(sim, (uint64_t)(uintptr_t)destroy, vs_number(argument), count, flags,
                                       vs_numbers(object)));
}

CUresult sim_cuUserObjectRetain(CUuserObject object, unsigned int count) {
  VS_CU_LOOK(vs_sim_user_object_retain(sim, vs_number(object), count));
}

CUresult sim_cuUserObjectRelease(CUuserObject object, unsigned int count) {
  VS_CU_LOOK(vs_sim_user_object_release(sim, vs_number(object), count));
}

CUresult sim_cuGraphRetainUserObject(CUgraph graph, CUuserObject object, unsigned int count,
                                     unsigned int flags) {
  VS_CU_LOOK(vs_sim_graph_retain(sim, vs_number(graph), vs_number(object), count, flags));
}

CUresult sim_cuGraphReleaseUserObject(CUgraph graph, CUuserObject object, unsigned int count) {
  VS_CU_LOOK(vs_sim_graph_release(sim, vs_number(graph), vs_number(object), count));
}
