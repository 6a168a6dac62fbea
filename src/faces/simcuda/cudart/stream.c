/* Streams, host functions in them, and their capture. */
#include "faces/simcuda/cudart/runtime.h"

/* ---- creating and destroying */

static cudaError_t create_stream(cudaStream_t *stream, unsigned int flags, int priority) {
  if (stream == NULL) return vs_rt_answer(VS_SIM_INVALID_VALUE);
  VS_RT_CALL(vs_sim_stream_create(rt.sim, rt.device, flags, priority, VS_RT_NUMBERS(stream)));
}

cudaError_t sim_cudaStreamCreate(cudaStream_t *stream) { return create_stream(stream, 0, 0); }
cudaError_t sim_cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned int flags) {
  return create_stream(stream, flags, 0);
}
cudaError_t sim_cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned int flags, int priority) {
  return create_stream(stream, flags, priority);
}

cudaError_t sim_cudaStreamDestroy(cudaStream_t stream) {
  VS_RT_CALL(vs_sim_stream_destroy(rt.sim, VS_RT_NUMBER(stream)));
}

/* ---- properties */

/* The stream, borrowed under the lock; NULL, and the result in *failure, for an invalid handle. */
static const vs_sim_stream *look_at_stream(vs_rt *rt, cudaStream_t handle, const void *out) {
  if (out == NULL) {
    rt->failure = vs_rt_answer(VS_SIM_INVALID_VALUE);
    return NULL;
  }
  if (!vs_rt_enter(rt)) return NULL;
  const vs_sim_stream *stream = vs_sim_stream_find(rt->sim, rt->device, VS_RT_NUMBER(handle));
  if (stream == NULL) rt->failure = vs_rt_leave(VS_SIM_INVALID_HANDLE);
  return stream;
}

cudaError_t sim_cudaStreamGetPriority(cudaStream_t handle, int *priority) {
  vs_rt rt;
  const vs_sim_stream *stream = look_at_stream(&rt, handle, priority);
  if (stream == NULL) return rt.failure;
  *priority = stream->priority;
  return vs_rt_leave(VS_SIM_OK);
}

cudaError_t sim_cudaStreamGetFlags(cudaStream_t handle, unsigned int *flags) {
  vs_rt rt;
  const vs_sim_stream *stream = look_at_stream(&rt, handle, flags);
  if (stream == NULL) return rt.failure;
  *flags = stream->flags;
  return vs_rt_leave(VS_SIM_OK);
}

cudaError_t sim_cudaStreamGetId(cudaStream_t handle, unsigned long long *id) {
  vs_rt rt;
  const vs_sim_stream *stream = look_at_stream(&rt, handle, id);
  if (stream == NULL) return rt.failure;
  *id = stream->id;
  return vs_rt_leave(VS_SIM_OK);
}

cudaError_t sim_cudaStreamGetDevice(cudaStream_t handle, int *device) {
  vs_rt rt;
  const vs_sim_stream *stream = look_at_stream(&rt, handle, device);
  if (stream == NULL) return rt.failure;
  *device = (int)stream->device;
  return vs_rt_leave(VS_SIM_OK);
}

/* Attributes affect caches and priorities, which are not modelled: they can be set, and reads give the defaults. */
static bool is_attribute(unsigned attribute) {
  switch (attribute) {
    case cudaLaunchAttributeAccessPolicyWindow:
    case cudaLaunchAttributeSynchronizationPolicy:
    case cudaLaunchAttributePriority:
    case cudaLaunchAttributeMemSyncDomainMap:
    case cudaLaunchAttributeMemSyncDomain: return true;
    default: return false;
  }
}

cudaError_t sim_cudaStreamGetAttribute(cudaStream_t handle, cudaStreamAttrID attribute,
                                       cudaStreamAttrValue *value) {
  vs_rt rt;
  const vs_sim_stream *stream = look_at_stream(&rt, handle, value);
  if (stream == NULL) return rt.failure;
  if (!is_attribute((unsigned)attribute)) return vs_rt_leave(VS_SIM_INVALID_VALUE);
  memset(value, 0, sizeof *value);
  if (attribute == cudaLaunchAttributePriority) value->priority = stream->priority;
  if (attribute == cudaLaunchAttributeSynchronizationPolicy) value->syncPolicy = cudaSyncPolicyAuto;
  return vs_rt_leave(VS_SIM_OK);
}

cudaError_t sim_cudaStreamSetAttribute(cudaStream_t handle, cudaStreamAttrID attribute,
                                       const cudaStreamAttrValue *value) {
  vs_rt rt;
  if (look_at_stream(&rt, handle, value) == NULL) return rt.failure;
  return vs_rt_leave(is_attribute((unsigned)attribute) ? VS_SIM_OK : VS_SIM_INVALID_VALUE);
}

cudaError_t sim_cudaStreamCopyAttributes(cudaStream_t to, cudaStream_t from) {
  vs_rt rt;
  if (!vs_rt_enter(&rt)) return rt.failure;
  const bool are_streams = vs_sim_stream_find(rt.sim, rt.device, VS_RT_NUMBER(to)) != NULL &&
                           vs_sim_stream_find(rt.sim, rt.device, VS_RT_NUMBER(from)) != NULL;
  return vs_rt_leave(are_streams ? VS_SIM_OK : VS_SIM_INVALID_HANDLE);
}

/* ---- order and completion */

cudaError_t sim_cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int flags) {
  VS_RT_CALL(vs_sim_stream_wait_event(rt.sim, rt.device, VS_RT_NUMBER(stream), VS_RT_NUMBER(event), flags));
}

cudaError_t sim_cudaStreamSynchronize(cudaStream_t stream) {
  vs_rt rt;
  if (!vs_rt_enter(&rt)) return rt.failure;
  return vs_rt_leave_synchronized(vs_sim_stream_synchronize(rt.sim, rt.device, VS_RT_NUMBER(stream)));
}

cudaError_t sim_cudaStreamQuery(cudaStream_t stream) {
  vs_rt rt;
  if (!vs_rt_enter(&rt)) return rt.failure;
  return vs_rt_leave_query(vs_sim_stream_query(rt.sim, rt.device, VS_RT_NUMBER(stream)));
}

/* ---- functions of the host */

cudaError_t sim_cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void *argument) {
  vs_rt rt;
  vs_sim_error error = vs_rt_use(&rt);
  if (error == VS_SIM_OK)
    error = vs_call_host_function(rt.device, VS_RT_NUMBER(stream), VS_RT_NUMBER(function),
                                  VS_RT_NUMBER(argument));
  return vs_rt_answer(error);
}

#if VS_CUDART >= 13
/* How the host waits for the function has no effect here. */
cudaError_t sim_cudaLaunchHostFunc_v2(cudaStream_t stream, cudaHostFn_t function, void *argument,
                                      unsigned int mode) {
  return mode > 1 ? vs_rt_answer(VS_SIM_INVALID_VALUE) : sim_cudaLaunchHostFunc(stream, function, argument);
}
#endif

cudaError_t sim_cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t function, void *argument,
                                      unsigned int flags) {
  vs_rt rt;
  vs_sim_error error = flags != 0 ? VS_SIM_INVALID_VALUE : vs_rt_use(&rt);
  if (error == VS_SIM_OK)
    error = vs_call_stream_callback(rt.device, VS_RT_NUMBER(stream), VS_RT_NUMBER(function),
                                    VS_RT_NUMBER(argument));
  return vs_rt_answer(error);
}

/* ---- capture */

cudaError_t sim_cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode) {
  if ((unsigned)mode > cudaStreamCaptureModeRelaxed) return vs_rt_answer(VS_SIM_INVALID_VALUE);
  VS_RT_CALL(vs_sim_capture_begin(rt.sim, &rt.thread->sim, rt.device, VS_RT_NUMBER(stream),
                                  (vs_sim_capture_mode)mode));
}

cudaError_t sim_cudaStreamBeginCaptureToGraph(cudaStream_t stream, cudaGraph_t graph,
                                              const cudaGraphNode_t *dependencies,
                                              const cudaGraphEdgeData *data, size_t count,
                                              enum cudaStreamCaptureMode mode) {
  vs_rt rt;
  if ((unsigned)mode > cudaStreamCaptureModeRelaxed || (dependencies == NULL && count != 0))
    return vs_rt_answer(VS_SIM_INVALID_VALUE);
  if (vs_call_edges_are_special(data, count))
    vs_simcuda_not_simulated("cudart", "cudaStreamBeginCaptureToGraph with edge data");
  if (!vs_rt_enter(&rt)) return rt.failure;
  return vs_rt_leave(vs_sim_capture_begin_to(rt.sim, &rt.thread->sim, rt.device, VS_RT_NUMBER(stream),
                                             VS_RT_NUMBER(graph), (const uint64_t *)dependencies, count,
                                             (vs_sim_capture_mode)mode));
}

cudaError_t sim_cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph) {
  vs_rt rt;
  uint64_t handle = 0;
  if (graph == NULL) return vs_rt_answer(VS_SIM_INVALID_VALUE);
  if (!vs_rt_enter(&rt)) return rt.failure;
  const vs_sim_error error =
      vs_sim_capture_end(rt.sim, &rt.thread->sim, rt.device, VS_RT_NUMBER(stream), &handle);
  *graph = VS_RT_HANDLE(cudaGraph_t, handle);
  return vs_rt_leave(error);
}

cudaError_t sim_cudaThreadExchangeStreamCaptureMode(enum cudaStreamCaptureMode *mode) {
  vs_sim_capture_mode now;
  if (mode == NULL) return vs_rt_answer(VS_SIM_INVALID_VALUE);
  now = (vs_sim_capture_mode)*mode;
  const vs_sim_error error = vs_sim_exchange_capture_mode(&vs_simcuda_this_thread()->sim, &now);
  if (error == VS_SIM_OK) *mode = (enum cudaStreamCaptureMode)now;
  return vs_rt_answer(error);
}

cudaError_t sim_cudaStreamIsCapturing(cudaStream_t stream, enum cudaStreamCaptureStatus *status) {
  vs_rt rt;
  vs_sim_capture_info info = {0};
  if (status == NULL) return vs_rt_answer(VS_SIM_INVALID_VALUE);
  if (!vs_rt_enter(&rt)) return rt.failure;
  const vs_sim_error error = vs_sim_stream_capture_info(rt.sim, rt.device, VS_RT_NUMBER(stream), &info);
  if (error == VS_SIM_OK) *status = (enum cudaStreamCaptureStatus)info.status;
  return vs_rt_leave(error);
}

/* Any result except the status may be NULL. */
static cudaError_t capture_info(cudaStream_t stream, enum cudaStreamCaptureStatus *status,
                                unsigned long long *id, cudaGraph_t *graph,
                                const cudaGraphNode_t **dependencies, const cudaGraphEdgeData **data,
                                size_t *count) {
  vs_rt rt;
  vs_call_capture found;
  if (status == NULL) return vs_rt_answer(VS_SIM_INVALID_VALUE);
  if (!vs_rt_enter(&rt)) return rt.failure;
  const vs_sim_error error = vs_call_capture_info(rt.sim, rt.device, VS_RT_NUMBER(stream), &found);
  if (error != VS_SIM_OK) return vs_rt_leave(error);
  *status = (enum cudaStreamCaptureStatus)found.info.status;
  if (id != NULL) *id = found.info.id;
  if (graph != NULL) *graph = VS_RT_HANDLE(cudaGraph_t, found.info.graph);
  if (dependencies != NULL) *dependencies = (const cudaGraphNode_t *)found.nodes;
  if (data != NULL) *data = (const cudaGraphEdgeData *)(const void *)found.edges;
  if (count != NULL) *count = found.info.dependency_count;
  return vs_rt_leave(VS_SIM_OK);
}

static cudaError_t update_dependencies(cudaStream_t stream, const cudaGraphNode_t *dependencies, size_t count,
                                       unsigned int flags) {
  if (flags > cudaStreamSetCaptureDependencies || (dependencies == NULL && count != 0))
    return vs_rt_answer(VS_SIM_INVALID_VALUE);
  VS_RT_CALL(vs_sim_capture_update(rt.sim, rt.device, VS_RT_NUMBER(stream), (const uint64_t *)dependencies,
                                   count, (vs_sim_dependencies)flags));
}

#if VS_CUDART >= 13
cudaError_t sim_cudaStreamGetCaptureInfo(cudaStream_t stream, enum cudaStreamCaptureStatus *status,
                                         unsigned long long *id, cudaGraph_t *graph,
                                         const cudaGraphNode_t **dependencies, const cudaGraphEdgeData **data,
                                         size_t *count) {
  return capture_info(stream, status, id, graph, dependencies, data, count);
}

cudaError_t sim_cudaStreamUpdateCaptureDependencies(cudaStream_t stream, cudaGraphNode_t *dependencies,
                                                    const cudaGraphEdgeData *data, size_t count,
                                                    unsigned int flags) {
  if (vs_call_edges_are_special(data, count))
    vs_simcuda_not_simulated("cudart", "cudaStreamUpdateCaptureDependencies with edge data");
  return update_dependencies(stream, dependencies, count, flags);
}
#else
cudaError_t sim_cudaStreamGetCaptureInfo(cudaStream_t stream, enum cudaStreamCaptureStatus *status,
                                         unsigned long long *id) {
  return capture_info(stream, status, id, NULL, NULL, NULL, NULL);
}

cudaError_t sim_cudaStreamGetCaptureInfo_v2(cudaStream_t stream, enum cudaStreamCaptureStatus *status,
                                            unsigned long long *id, cudaGraph_t *graph,
                                            const cudaGraphNode_t **dependencies, size_t *count) {
  return capture_info(stream, status, id, graph, dependencies, NULL, count);
}

cudaError_t sim_cudaStreamGetCaptureInfo_v3(cudaStream_t stream, enum cudaStreamCaptureStatus *status,
                                            unsigned long long *id, cudaGraph_t *graph,
                                            const cudaGraphNode_t **dependencies,
                                            const cudaGraphEdgeData **data, size_t *count) {
  return capture_info(stream, status, id, graph, dependencies, data, count);
}

cudaError_t sim_cudaStreamUpdateCaptureDependencies(cudaStream_t stream, cudaGraphNode_t *dependencies,
                                                    size_t count, unsigned int flags) {
  return update_dependencies(stream, dependencies, count, flags);
}

cudaError_t sim_cudaStreamUpdateCaptureDependencies_v2(cudaStream_t stream, cudaGraphNode_t *dependencies,
                                                       const cudaGraphEdgeData *data, size_t count,
                                                       unsigned int flags) {
  if (vs_call_edges_are_special(data, count))
    vs_simcuda_not_simulated("cudart", "cudaStreamUpdateCaptureDependencies with edge data");
  return update_dependencies(stream, dependencies, count, flags);
}
#endif
