/* Captures and graphs: conversions over device/sim/graph.h. Node handles are numbers in arrays of pointers;
 * both are 64 bits.
 *
 * What a kernel, copy or memset node was made with is not kept beyond its function: nothing runs it. So the
 * calls that ask for it back refuse, and the calls that change it only check their handles. */
#include <stdlib.h>
#include <string.h>

#include "faces/simcuda/core/callbacks.h"
#include "faces/simcuda/driver/driver.h"

_Static_assert(sizeof(CUgraphNode) == sizeof(uint64_t), "handles are numbers");
static const uint64_t *numbers(const CUgraphNode *nodes) { return (const uint64_t *)(const void *)nodes; }
static uint64_t *room(CUgraphNode *nodes) { return (uint64_t *)(void *)nodes; }

/* What graphs left to be called goes to who calls it. Ends the lock. */
static CUresult done_collecting(vs_sim *sim, vs_sim_error error) {
  vs_callbacks_collect(sim);
  return vs_driver_done(error);
}

/* ---- capture */

CUresult sim_cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode) {
  VS_CU_NEED((unsigned int)mode <= 2);
  vs_driver_at at;
  VS_CU_TRY(vs_driver_lock(&at));
  return vs_driver_done(
      vs_sim_capture_begin(at.sim, &at.thread->sim, at.device, vs_number(stream), (vs_sim_capture_mode)mode));
}
/* As it was before modes. */
CUresult sim_cuStreamBeginCapture(CUstream stream) {
  return sim_cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
}

/* Edges with data of their own (programmatic launches) are not simulated. */
static CUresult check_edges(const CUgraphEdgeData *edges, size_t count) {
  static const CUgraphEdgeData plain;
  for (size_t i = 0; edges != NULL && i < count; i++)
    if (memcmp(&edges[i], &plain, sizeof plain) != 0) {
      vs_world_not_simulated("CUDA driver", "graph edges of a special type");
      return CUDA_ERROR_NOT_SUPPORTED;
    }
  return CUDA_SUCCESS;
}

CUresult sim_cuStreamBeginCaptureToGraph(CUstream stream, CUgraph graph, const CUgraphNode *dependencies,
                                         const CUgraphEdgeData *edges, size_t count,
                                         CUstreamCaptureMode mode) {
  VS_CU_NEED((unsigned int)mode <= 2 && (dependencies != NULL || count == 0));
  VS_CU_TRY(check_edges(edges, count));
  vs_driver_at at;
  VS_CU_TRY(vs_driver_lock(&at));
  return vs_driver_done(vs_sim_capture_begin_to(at.sim, &at.thread->sim, at.device, vs_number(stream),
                                                vs_number(graph), numbers(dependencies), count,
                                                (vs_sim_capture_mode)mode));
}

CUresult sim_cuStreamEndCapture(CUstream stream, CUgraph *graph) {
  VS_CU_NEED(graph != NULL);
  vs_driver_at at;
  VS_CU_TRY(vs_driver_lock(&at));
  uint64_t made = 0;
  const vs_sim_error error = vs_sim_capture_end(at.sim, &at.thread->sim, at.device, vs_number(stream), &made);
  *graph = vs_handle(made);
  return done_collecting(at.sim, error);
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

/* The lists that a question about a capture hands out: good until the thread asks again. */
static _Thread_local struct {
  uint64_t *nodes;
  CUgraphEdgeData *edges; /* all plain */
  size_t capacity;
} lists;

static bool reserve_lists(size_t count) {
  if (count <= lists.capacity) return true;
  uint64_t *nodes = realloc(lists.nodes, count * sizeof *nodes);
  if (nodes != NULL) lists.nodes = nodes;
  CUgraphEdgeData *edges = realloc(lists.edges, count * sizeof *edges);
  if (edges != NULL) lists.edges = edges;
  if (nodes == NULL || edges == NULL) return false;
  memset(edges, 0, count * sizeof *edges);
  lists.capacity = count;
  return true;
}

CUresult sim_cuStreamGetCaptureInfo_v3(CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id,
                                       CUgraph *graph, const CUgraphNode **dependencies,
                                       const CUgraphEdgeData **edges, size_t *count) {
  VS_CU_NEED(status != NULL);
  vs_driver_at at;
  VS_CU_TRY(vs_driver_lock(&at));
  vs_sim_capture_info info;
  vs_sim_error error = vs_sim_stream_capture_info(at.sim, at.device, vs_number(stream), &info);
  if (error == VS_SIM_OK && !reserve_lists(info.dependency_count)) error = VS_SIM_OUT_OF_MEMORY;
  if (error != VS_SIM_OK) return vs_driver_done(error);
  for (size_t i = 0; i < info.dependency_count; i++)
    lists.nodes[i] = vs_sim_capture_dependency(at.sim, at.device, vs_number(stream), i);
  *status = (CUstreamCaptureStatus)info.status;
  if (id != NULL) *id = info.id;
  if (graph != NULL) *graph = vs_handle(info.graph);
  if (dependencies != NULL) *dependencies = (const CUgraphNode *)(const void *)lists.nodes;
  if (edges != NULL) *edges = lists.edges;
  if (count != NULL) *count = info.dependency_count;
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
  vs_driver_at at;
  VS_CU_TRY(vs_driver_lock(&at));
  return vs_driver_done(vs_sim_capture_update(at.sim, at.device, vs_number(stream), numbers(dependencies),
                                              count, (vs_sim_dependencies)flags));
}
CUresult sim_cuStreamUpdateCaptureDependencies(CUstream stream, CUgraphNode *dependencies, size_t count,
                                               unsigned int flags) {
  return sim_cuStreamUpdateCaptureDependencies_v2(stream, dependencies, NULL, count, flags);
}

CUresult sim_cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode) {
  VS_CU_NEED(mode != NULL && (unsigned int)*mode <= 2);
  VS_CU_TRY(vs_driver_begin());
  vs_sim_capture_mode wanted = (vs_sim_capture_mode)*mode;
  const vs_sim_error error = vs_sim_exchange_capture_mode(&vs_world_this_thread()->sim, &wanted);
  if (error == VS_SIM_OK) *mode = (CUstreamCaptureMode)wanted;
  return (CUresult)error;
}

/* ---- graphs */

CUresult sim_cuGraphCreate(CUgraph *graph, unsigned int flags) {
  VS_CU_NEED(graph != NULL);
  vs_sim *sim;
  VS_CU_TRY(vs_driver_lock_sim(&sim));
  uint64_t made = 0;
  const vs_sim_error error = vs_sim_graph_create(sim, flags, &made);
  if (error == VS_SIM_OK) *graph = vs_handle(made);
  return vs_driver_done(error);
}

CUresult sim_cuGraphDestroy(CUgraph graph) {
  vs_sim *sim;
  VS_CU_TRY(vs_driver_lock_sim(&sim));
  return done_collecting(sim, vs_sim_graph_destroy(sim, vs_number(graph)));
}

CUresult sim_cuGraphClone(CUgraph *clone, CUgraph graph) {
  VS_CU_NEED(clone != NULL);
  vs_sim *sim;
  VS_CU_TRY(vs_driver_lock_sim(&sim));
  uint64_t made = 0;
  const vs_sim_error error = vs_sim_graph_clone(sim, vs_number(graph), &made);
  if (error == VS_SIM_OK) *clone = vs_handle(made);
  return vs_driver_done(error);
}

CUresult sim_cuGraphNodeFindInClone(CUgraphNode *found, CUgraphNode node, CUgraph clone) {
  VS_CU_NEED(found != NULL);
  vs_sim *sim;
  VS_CU_TRY(vs_driver_lock_sim(&sim));
  uint64_t is = 0;
  const vs_sim_error error = vs_sim_graph_find_in_clone(sim, vs_number(node), vs_number(clone), &is);
  if (error == VS_SIM_OK) *found = vs_handle(is);
  return vs_driver_done(error);
}

/* Listings of nodes, of a graph or around a node. */
typedef vs_sim_error (*lister)(const vs_sim *sim, uint64_t of, uint64_t *nodes, size_t *count);

static CUresult list(lister lists_of, const void *of, CUgraphNode *nodes, size_t *count) {
  VS_CU_NEED(count != NULL);
  vs_sim *sim;
  VS_CU_TRY(vs_driver_lock_sim(&sim));
  return vs_driver_done(lists_of(sim, vs_number(of), room(nodes), count));
}

CUresult sim_cuGraphGetNodes(CUgraph graph, CUgraphNode *nodes, size_t *count) {
  return list(vs_sim_graph_nodes, graph, nodes, count);
}
CUresult sim_cuGraphGetRootNodes(CUgraph graph, CUgraphNode *nodes, size_t *count) {
  return list(vs_sim_graph_roots, graph, nodes, count);
}

static void clear_edges(CUgraphEdgeData *edges, size_t count) {
  if (edges != NULL) memset(edges, 0, count * sizeof *edges);
}

CUresult sim_cuGraphNodeGetDependencies_v2(CUgraphNode node, CUgraphNode *nodes, CUgraphEdgeData *edges,
                                           size_t *count) {
  VS_CU_TRY(list(vs_sim_node_dependencies, node, nodes, count));
  if (nodes != NULL) clear_edges(edges, *count);
  return CUDA_SUCCESS;
}
CUresult sim_cuGraphNodeGetDependentNodes_v2(CUgraphNode node, CUgraphNode *nodes, CUgraphEdgeData *edges,
                                             size_t *count) {
  VS_CU_TRY(list(vs_sim_node_dependents, node, nodes, count));
  if (nodes != NULL) clear_edges(edges, *count);
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
  const vs_sim_error error = vs_sim_graph_edges(sim, vs_number(graph), room(from), room(to), count);
  if (error == VS_SIM_OK && from != NULL) clear_edges(edges, *count);
  return vs_driver_done(error);
}
CUresult sim_cuGraphGetEdges(CUgraph graph, CUgraphNode *from, CUgraphNode *to, size_t *count) {
  return sim_cuGraphGetEdges_v2(graph, from, to, NULL, count);
}

CUresult sim_cuGraphAddDependencies_v2(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
                                       const CUgraphEdgeData *edges, size_t count) {
  VS_CU_NEED((from != NULL && to != NULL) || count == 0);
  VS_CU_TRY(check_edges(edges, count));
  vs_sim *sim;
  VS_CU_TRY(vs_driver_lock_sim(&sim));
  return vs_driver_done(vs_sim_graph_add_edges(sim, vs_number(graph), numbers(from), numbers(to), count));
}
CUresult sim_cuGraphAddDependencies(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
                                    size_t count) {
  return sim_cuGraphAddDependencies_v2(graph, from, to, NULL, count);
}

CUresult sim_cuGraphRemoveDependencies_v2(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
                                          const CUgraphEdgeData *edges, size_t count) {
  VS_CU_NEED((from != NULL && to != NULL) || count == 0);
  VS_CU_TRY(check_edges(edges, count));
  vs_sim *sim;
  VS_CU_TRY(vs_driver_lock_sim(&sim));
  return vs_driver_done(vs_sim_graph_remove_edges(sim, vs_number(graph), numbers(from), numbers(to), count));
}
CUresult sim_cuGraphRemoveDependencies(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
                                       size_t count) {
  return sim_cuGraphRemoveDependencies_v2(graph, from, to, NULL, count);
}

/* ---- nodes */

/* A node behind others. */
static CUresult add(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies, size_t count,
                    const vs_sim_work *work) {
  VS_CU_NEED(node != NULL && (dependencies != NULL || count == 0));
  vs_sim *sim;
  VS_CU_TRY(vs_driver_lock_sim(&sim));
  uint64_t made = 0;
  const vs_sim_error error =
      vs_sim_graph_add(sim, vs_number(graph), numbers(dependencies), count, work, &made);
  if (error == VS_SIM_OK) *node = vs_handle(made);
  return vs_driver_done(error);
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
  return add(node, graph, dependencies, count, &work);
}

/* In the newer form a kernel may stand in the function's place. */
static CUfunction function_of(const CUDA_KERNEL_NODE_PARAMS *parameters) {
  return parameters->func != NULL ? parameters->func : (CUfunction)(void *)parameters->kern;
}

CUresult sim_cuGraphAddKernelNode_v2(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
                                     size_t count, const CUDA_KERNEL_NODE_PARAMS *parameters) {
  VS_CU_NEED(parameters != NULL);
  vs_sim_work work;
  VS_CU_TRY(kernel_work(function_of(parameters), &work));
  return add(node, graph, dependencies, count, &work);
}

CUresult sim_cuGraphAddMemcpyNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
                                  size_t count, const CUDA_MEMCPY3D *parameters, CUcontext context) {
  (void)context;
  VS_CU_NEED(parameters != NULL);
  return add(node, graph, dependencies, count, &(vs_sim_work){.kind = VS_SIM_NODE_MEMCPY});
}

CUresult sim_cuGraphAddMemsetNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
                                  size_t count, const CUDA_MEMSET_NODE_PARAMS *parameters,
                                  CUcontext context) {
  (void)context;
  VS_CU_NEED(parameters != NULL);
  return add(node, graph, dependencies, count, &(vs_sim_work){.kind = VS_SIM_NODE_MEMSET});
}

CUresult sim_cuGraphAddHostNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
                                size_t count, const CUDA_HOST_NODE_PARAMS *parameters) {
  VS_CU_NEED(parameters != NULL && parameters->fn != NULL);
  const vs_sim_work work = host_work(parameters->fn, parameters->userData);
  return add(node, graph, dependencies, count, &work);
}

CUresult sim_cuGraphAddEmptyNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
                                 size_t count) {
  return add(node, graph, dependencies, count, &(vs_sim_work){.kind = VS_SIM_NODE_EMPTY});
}

CUresult sim_cuGraphAddEventRecordNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
                                       size_t count, CUevent event) {
  return add(node, graph, dependencies, count,
             &(vs_sim_work){.kind = VS_SIM_NODE_EVENT_RECORD, .object = vs_number(event)});
}

CUresult sim_cuGraphAddEventWaitNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
                                     size_t count, CUevent event) {
  return add(node, graph, dependencies, count,
             &(vs_sim_work){.kind = VS_SIM_NODE_EVENT_WAIT, .object = vs_number(event)});
}

CUresult sim_cuGraphAddChildGraphNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
                                      size_t count, CUgraph child) {
  VS_CU_NEED(node != NULL && (dependencies != NULL || count == 0));
  vs_sim *sim;
  VS_CU_TRY(vs_driver_lock_sim(&sim));
  uint64_t made = 0;
  const vs_sim_error error =
      vs_sim_graph_add_child(sim, vs_number(graph), numbers(dependencies), count, vs_number(child), &made);
  if (error == VS_SIM_OK) *node = vs_handle(made);
  return vs_driver_done(error);
}

/* What is allocated has its address at once. */
static CUresult add_alloc(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies, size_t count,
                          const CUmemLocation *location, uint64_t size, CUdeviceptr *address) {
  if (location->type != CU_MEM_LOCATION_TYPE_DEVICE || !vs_driver_is_device(location->id))
    return CUDA_ERROR_INVALID_VALUE;
  VS_CU_TRY(vs_world_use((uint32_t)location->id));
  const vs_sim_work work = {.kind = VS_SIM_NODE_MEM_ALLOC, .device = (uint32_t)location->id, .operand = size};
  VS_CU_TRY(add(node, graph, dependencies, count, &work));
  vs_sim *sim;
  VS_CU_TRY(vs_driver_lock_sim(&sim));
  *address = vs_sim_node_work(sim, vs_number(*node))->object;
  return vs_driver_done(VS_SIM_OK);
}

CUresult sim_cuGraphAddMemAllocNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
                                    size_t count, CUDA_MEM_ALLOC_NODE_PARAMS *parameters) {
  VS_CU_NEED(parameters != NULL);
  return add_alloc(node, graph, dependencies, count, &parameters->poolProps.location, parameters->bytesize,
                   &parameters->dptr);
}

CUresult sim_cuGraphAddMemFreeNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
                                   size_t count, CUdeviceptr address) {
  return add(node, graph, dependencies, count,
             &(vs_sim_work){.kind = VS_SIM_NODE_MEM_FREE, .object = address});
}

/* The form for all kinds. */
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
      return sim_cuGraphAddChildGraphNode(node, graph, dependencies, count, p->graph.graph);
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT: work.object = vs_number(p->eventWait.event); break;
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD: work.object = vs_number(p->eventRecord.event); break;
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
      return add_alloc(node, graph, dependencies, count, &p->alloc.poolProps.location, p->alloc.bytesize,
                       &p->alloc.dptr);
    case CU_GRAPH_NODE_TYPE_MEM_FREE: work.object = p->free.dptr; break;
    case CU_GRAPH_NODE_TYPE_MEMCPY:
    case CU_GRAPH_NODE_TYPE_MEMSET:
    case CU_GRAPH_NODE_TYPE_EMPTY: break;
    default:
      vs_world_not_simulated("CUDA driver", "cuGraphAddNode of a conditional or an external node");
      return CUDA_ERROR_NOT_SUPPORTED;
  }
  return add(node, graph, dependencies, count, &work);
}
CUresult sim_cuGraphAddNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies, size_t count,
                            CUgraphNodeParams *parameters) {
  return sim_cuGraphAddNode_v2(node, graph, dependencies, NULL, count, parameters);
}

CUresult sim_cuGraphDestroyNode(CUgraphNode node) {
  vs_sim *sim;
  VS_CU_TRY(vs_driver_lock_sim(&sim));
  return done_collecting(sim, vs_sim_node_destroy(sim, vs_number(node)));
}

CUresult sim_cuGraphNodeGetType(CUgraphNode node, CUgraphNodeType *type) {
  VS_CU_NEED(type != NULL);
  vs_sim *sim;
  VS_CU_TRY(vs_driver_lock_sim(&sim));
  const vs_sim_work *work = vs_sim_node_work(sim, vs_number(node));
  if (work != NULL) *type = (CUgraphNodeType)work->kind;
  return vs_driver_done(work == NULL ? VS_SIM_INVALID_HANDLE : VS_SIM_OK);
}

CUresult sim_cuGraphChildGraphNodeGetGraph(CUgraphNode node, CUgraph *graph) {
  VS_CU_NEED(graph != NULL);
  vs_sim *sim;
  VS_CU_TRY(vs_driver_lock_sim(&sim));
  uint64_t is = 0;
  const vs_sim_error error = vs_sim_node_child(sim, vs_number(node), &is);
  if (error == VS_SIM_OK) *graph = vs_handle(is);
  return vs_driver_done(error);
}

/* What a node of one kind keeps. */
static CUresult work_of(CUgraphNode node, vs_sim_node_kind kind, vs_sim_work *work) {
  vs_sim *sim;
  VS_CU_TRY(vs_driver_lock_sim(&sim));
  const vs_sim_work *is = vs_sim_node_work(sim, vs_number(node));
  if (is != NULL) *work = *is;
  return vs_driver_done(is == NULL         ? VS_SIM_INVALID_HANDLE
                        : is->kind != kind ? VS_SIM_INVALID_VALUE
                                           : VS_SIM_OK);
}

static CUresult set_work(CUgraphNode node, const vs_sim_work *work) {
  vs_sim *sim;
  VS_CU_TRY(vs_driver_lock_sim(&sim));
  return vs_driver_done(vs_sim_node_set_work(sim, vs_number(node), work));
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
  return set_work(node, &work);
}
CUresult sim_cuGraphKernelNodeSetParams_v2(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS *parameters) {
  VS_CU_NEED(parameters != NULL);
  vs_sim_work work;
  VS_CU_TRY(kernel_work(function_of(parameters), &work));
  return set_work(node, &work);
}
CUresult sim_cuGraphMemcpyNodeSetParams(CUgraphNode node, const CUDA_MEMCPY3D *parameters) {
  VS_CU_NEED(parameters != NULL);
  return set_work(node, &(vs_sim_work){.kind = VS_SIM_NODE_MEMCPY});
}
CUresult sim_cuGraphMemsetNodeSetParams(CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS *parameters) {
  VS_CU_NEED(parameters != NULL);
  return set_work(node, &(vs_sim_work){.kind = VS_SIM_NODE_MEMSET});
}
CUresult sim_cuGraphHostNodeSetParams(CUgraphNode node, const CUDA_HOST_NODE_PARAMS *parameters) {
  VS_CU_NEED(parameters != NULL && parameters->fn != NULL);
  const vs_sim_work work = host_work(parameters->fn, parameters->userData);
  return set_work(node, &work);
}
CUresult sim_cuGraphEventRecordNodeSetEvent(CUgraphNode node, CUevent event) {
  return set_work(node, &(vs_sim_work){.kind = VS_SIM_NODE_EVENT_RECORD, .object = vs_number(event)});
}
CUresult sim_cuGraphEventWaitNodeSetEvent(CUgraphNode node, CUevent event) {
  return set_work(node, &(vs_sim_work){.kind = VS_SIM_NODE_EVENT_WAIT, .object = vs_number(event)});
}

/* ---- executable graphs */

CUresult sim_cuGraphInstantiateWithFlags(CUgraphExec *exec, CUgraph graph, unsigned long long flags) {
  VS_CU_NEED(exec != NULL);
  vs_sim *sim;
  VS_CU_TRY(vs_driver_lock_sim(&sim));
  uint64_t made = 0;
  const vs_sim_error error = vs_sim_graph_instantiate(sim, vs_number(graph), flags, &made);
  if (error == VS_SIM_OK) *exec = vs_handle(made);
  return vs_driver_done(error);
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

CUresult sim_cuGraphExecDestroy(CUgraphExec exec) {
  vs_sim *sim;
  VS_CU_TRY(vs_driver_lock_sim(&sim));
  return done_collecting(sim, vs_sim_exec_destroy(sim, vs_number(exec)));
}

CUresult sim_cuGraphExecGetFlags(CUgraphExec exec, cuuint64_t *flags) {
  VS_CU_NEED(flags != NULL);
  vs_sim *sim;
  VS_CU_TRY(vs_driver_lock_sim(&sim));
  const vs_sim_exec *is = vs_sim_exec_find(sim, vs_number(exec));
  if (is != NULL) *flags = is->flags;
  return vs_driver_done(is == NULL ? VS_SIM_INVALID_HANDLE : VS_SIM_OK);
}

/* Kernels of a graph and of those in it. */
static uint64_t kernels_of(const vs_sim_graph *graph) {
  uint64_t count = 0;
  for (size_t i = 0; i < graph->nodes.count; i++) {
    const vs_sim_graph_node *node = &graph->nodes.data[i];
    if (node->is_gone) continue;
    if (node->work.kind == VS_SIM_NODE_KERNEL) count++;
    if (node->child != NULL) count += kernels_of(node->child);
  }
  return count;
}

CUresult sim_cuGraphLaunch(CUgraphExec exec, CUstream stream) {
  vs_driver_at at;
  VS_CU_TRY(vs_driver_lock(&at));
  const vs_sim_error error = vs_sim_exec_launch(at.sim, at.device, vs_number(exec), vs_number(stream));
  vs_sim_capture_info info = {.status = VS_SIM_NOT_CAPTURED};
  if (error == VS_SIM_OK &&
      vs_sim_stream_capture_info(at.sim, at.device, vs_number(stream), &info) == VS_SIM_OK &&
      info.status == VS_SIM_NOT_CAPTURED)
    vs_world_kernels_ran(kernels_of(vs_sim_exec_find(at.sim, vs_number(exec))->copy));
  return done_collecting(at.sim, error);
}

CUresult sim_cuGraphUpload(CUgraphExec exec, CUstream stream) {
  vs_driver_at at;
  VS_CU_TRY(vs_driver_lock(&at));
  return vs_driver_done(vs_sim_exec_upload(at.sim, at.device, vs_number(exec), vs_number(stream)));
}

CUresult sim_cuGraphExecUpdate_v2(CUgraphExec exec, CUgraph graph, CUgraphExecUpdateResultInfo *info) {
  VS_CU_NEED(info != NULL);
  vs_sim *sim;
  VS_CU_TRY(vs_driver_lock_sim(&sim));
  vs_sim_update_result result = VS_SIM_UPDATE_SUCCESS;
  uint64_t node = 0;
  const vs_sim_error error = vs_sim_exec_update(sim, vs_number(exec), vs_number(graph), &result, &node);
  info->result = error == VS_SIM_OK || error == VS_SIM_GRAPH_EXEC_UPDATE_FAILURE
                     ? (CUgraphExecUpdateResult)result
                     : CU_GRAPH_EXEC_UPDATE_ERROR;
  info->errorNode = vs_handle(node);
  info->errorFromNode = NULL;
  return done_collecting(sim, error);
}

CUresult sim_cuGraphExecUpdate(CUgraphExec exec, CUgraph graph, CUgraphNode *error_node,
                               CUgraphExecUpdateResult *update) {
  VS_CU_NEED(update != NULL);
  CUgraphExecUpdateResultInfo info;
  const CUresult result = sim_cuGraphExecUpdate_v2(exec, graph, &info);
  *update = info.result;
  if (error_node != NULL) *error_node = info.errorNode;
  return result;
}

static CUresult set_exec_work(CUgraphExec exec, CUgraphNode node, const vs_sim_work *work) {
  vs_sim *sim;
  VS_CU_TRY(vs_driver_lock_sim(&sim));
  return vs_driver_done(vs_sim_exec_set_work(sim, vs_number(exec), vs_number(node), work));
}

CUresult sim_cuGraphExecKernelNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                            const CUDA_KERNEL_NODE_PARAMS_v1 *parameters) {
  VS_CU_NEED(parameters != NULL);
  vs_sim_work work;
  VS_CU_TRY(kernel_work(parameters->func, &work));
  return set_exec_work(exec, node, &work);
}
CUresult sim_cuGraphExecKernelNodeSetParams_v2(CUgraphExec exec, CUgraphNode node,
                                               const CUDA_KERNEL_NODE_PARAMS *parameters) {
  VS_CU_NEED(parameters != NULL);
  vs_sim_work work;
  VS_CU_TRY(kernel_work(function_of(parameters), &work));
  return set_exec_work(exec, node, &work);
}
CUresult sim_cuGraphExecMemcpyNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                            const CUDA_MEMCPY3D *parameters, CUcontext context) {
  (void)context;
  VS_CU_NEED(parameters != NULL);
  return set_exec_work(exec, node, &(vs_sim_work){.kind = VS_SIM_NODE_MEMCPY});
}
CUresult sim_cuGraphExecMemsetNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                            const CUDA_MEMSET_NODE_PARAMS *parameters, CUcontext context) {
  (void)context;
  VS_CU_NEED(parameters != NULL);
  return set_exec_work(exec, node, &(vs_sim_work){.kind = VS_SIM_NODE_MEMSET});
}
CUresult sim_cuGraphExecHostNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                          const CUDA_HOST_NODE_PARAMS *parameters) {
  VS_CU_NEED(parameters != NULL && parameters->fn != NULL);
  const vs_sim_work work = host_work(parameters->fn, parameters->userData);
  return set_exec_work(exec, node, &work);
}
CUresult sim_cuGraphExecEventRecordNodeSetEvent(CUgraphExec exec, CUgraphNode node, CUevent event) {
  return set_exec_work(exec, node,
                       &(vs_sim_work){.kind = VS_SIM_NODE_EVENT_RECORD, .object = vs_number(event)});
}
CUresult sim_cuGraphExecEventWaitNodeSetEvent(CUgraphExec exec, CUgraphNode node, CUevent event) {
  return set_exec_work(exec, node,
                       &(vs_sim_work){.kind = VS_SIM_NODE_EVENT_WAIT, .object = vs_number(event)});
}

/* ---- user objects: what a graph keeps alive */

CUresult sim_cuUserObjectCreate(CUuserObject *object, void *argument, CUhostFn destroy, unsigned int count,
                                unsigned int flags) {
  VS_CU_NEED(object != NULL && destroy != NULL);
  vs_sim *sim;
  VS_CU_TRY(vs_driver_lock_sim(&sim));
  uint64_t made = 0;
  const vs_sim_error error =
      vs_sim_user_object_create(sim, (uint64_t)(uintptr_t)destroy, vs_number(argument), count, flags, &made);
  if (error == VS_SIM_OK) *object = vs_handle(made);
  return vs_driver_done(error);
}

CUresult sim_cuUserObjectRetain(CUuserObject object, unsigned int count) {
  vs_sim *sim;
  VS_CU_TRY(vs_driver_lock_sim(&sim));
  return vs_driver_done(vs_sim_user_object_retain(sim, vs_number(object), count));
}

CUresult sim_cuUserObjectRelease(CUuserObject object, unsigned int count) {
  vs_sim *sim;
  VS_CU_TRY(vs_driver_lock_sim(&sim));
  return done_collecting(sim, vs_sim_user_object_release(sim, vs_number(object), count));
}

CUresult sim_cuGraphRetainUserObject(CUgraph graph, CUuserObject object, unsigned int count,
                                     unsigned int flags) {
  vs_sim *sim;
  VS_CU_TRY(vs_driver_lock_sim(&sim));
  return vs_driver_done(vs_sim_graph_retain(sim, vs_number(graph), vs_number(object), count, flags));
}

CUresult sim_cuGraphReleaseUserObject(CUgraph graph, CUuserObject object, unsigned int count) {
  vs_sim *sim;
  VS_CU_TRY(vs_driver_lock_sim(&sim));
  return done_collecting(sim, vs_sim_graph_release(sim, vs_number(graph), vs_number(object), count));
}
