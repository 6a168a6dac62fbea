/* The names that programs built for per-thread default streams call: the same functions, where the default
 * stream (0) is the calling thread's own. _ptsz: with a stream; _ptds: without one, which wait. */
#include "faces/simcuda/cudart/runtime.h"

static cudaStream_t own_stream(cudaStream_t stream) { return stream == NULL ? cudaStreamPerThread : stream; }

static cudaError_t waited(cudaError_t error) {
  return error != cudaSuccess ? error : sim_cudaStreamSynchronize(cudaStreamPerThread);
}

cudaError_t sim___cudaLaunchKernel_ptsz(cudaKernel_t kernel, dim3 grid, dim3 block, void **arguments,
                                        size_t shared_bytes, cudaStream_t stream) {
  return sim___cudaLaunchKernel(kernel, grid, block, arguments, shared_bytes, own_stream(stream));
}

cudaError_t sim_cudaEventRecordWithFlags_ptsz(cudaEvent_t event, cudaStream_t stream, unsigned int flags) {
  return sim_cudaEventRecordWithFlags(event, own_stream(stream), flags);
}

cudaError_t sim_cudaEventRecord_ptsz(cudaEvent_t event, cudaStream_t stream) {
  return sim_cudaEventRecord(event, own_stream(stream));
}

cudaError_t sim_cudaFreeAsync_ptsz(void *memory, cudaStream_t stream) {
  return sim_cudaFreeAsync(memory, own_stream(stream));
}

cudaError_t sim_cudaGetDriverEntryPointByVersion_ptsz(const char *name, void **function, unsigned int version,
                                                      unsigned long long flags,
                                                      enum cudaDriverEntryPointQueryResult *status) {
  return sim_cudaGetDriverEntryPointByVersion(name, function, version,
                                              flags | cudaEnablePerThreadDefaultStream, status);
}

cudaError_t sim_cudaGetDriverEntryPoint_ptsz(const char *name, void **function, unsigned long long flags,
                                             enum cudaDriverEntryPointQueryResult *status) {
  return sim_cudaGetDriverEntryPoint(name, function, flags | cudaEnablePerThreadDefaultStream, status);
}

cudaError_t sim_cudaGraphInstantiateWithParams_ptsz(cudaGraphExec_t *exec, cudaGraph_t graph,
                                                    cudaGraphInstantiateParams *how) {
  return sim_cudaGraphInstantiateWithParams(exec, graph, how);
}

cudaError_t sim_cudaGraphLaunch_ptsz(cudaGraphExec_t exec, cudaStream_t stream) {
  return sim_cudaGraphLaunch(exec, own_stream(stream));
}

cudaError_t sim_cudaGraphUpload_ptsz(cudaGraphExec_t exec, cudaStream_t stream) {
  return sim_cudaGraphUpload(exec, own_stream(stream));
}

cudaError_t sim_cudaLaunchCooperativeKernel_ptsz(const void *function, dim3 grid, dim3 block,
                                                 void **arguments, size_t shared_bytes, cudaStream_t stream) {
  return sim_cudaLaunchCooperativeKernel(function, grid, block, arguments, shared_bytes, own_stream(stream));
}

cudaError_t sim_cudaLaunchHostFunc_ptsz(cudaStream_t stream, cudaHostFn_t function, void *argument) {
  return sim_cudaLaunchHostFunc(own_stream(stream), function, argument);
}

cudaError_t sim_cudaLaunchKernelExC_ptsz(const cudaLaunchConfig_t *config, const void *function,
                                         void **arguments) {
  if (config == NULL) return sim_cudaLaunchKernelExC(config, function, arguments);
  cudaLaunchConfig_t with = *config;
  with.stream = own_stream(config->stream);
  return sim_cudaLaunchKernelExC(&with, function, arguments);
}

cudaError_t sim_cudaLaunchKernel_ptsz(const void *function, dim3 grid, dim3 block, void **arguments,
                                      size_t shared_bytes, cudaStream_t stream) {
  return sim_cudaLaunchKernel(function, grid, block, arguments, shared_bytes, own_stream(stream));
}

cudaError_t sim_cudaMallocAsync_ptsz(void **memory, size_t size, cudaStream_t stream) {
  return sim_cudaMallocAsync(memory, size, own_stream(stream));
}

cudaError_t sim_cudaMallocFromPoolAsync_ptsz(void **memory, size_t size, cudaMemPool_t pool,
                                             cudaStream_t stream) {
  return sim_cudaMallocFromPoolAsync(memory, size, pool, own_stream(stream));
}

cudaError_t sim_cudaMemcpy2DArrayToArray_ptds(cudaArray_t to, size_t to_x, size_t to_y,
                                              cudaArray_const_t from, size_t from_x, size_t from_y,
                                              size_t width, size_t height, enum cudaMemcpyKind kind) {
  return sim_cudaMemcpy2DArrayToArray(to, to_x, to_y, from, from_x, from_y, width, height, kind);
}

cudaError_t sim_cudaMemcpy2DAsync_ptsz(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                                       size_t width, size_t height, enum cudaMemcpyKind kind,
                                       cudaStream_t stream) {
  return sim_cudaMemcpy2DAsync(to, to_pitch, from, from_pitch, width, height, kind, own_stream(stream));
}

cudaError_t sim_cudaMemcpy2DFromArrayAsync_ptsz(void *to, size_t pitch, cudaArray_const_t array, size_t x,
                                                size_t y, size_t width, size_t height,
                                                enum cudaMemcpyKind kind, cudaStream_t stream) {
  return sim_cudaMemcpy2DFromArrayAsync(to, pitch, array, x, y, width, height, kind, own_stream(stream));
}

cudaError_t sim_cudaMemcpy2DFromArray_ptds(void *to, size_t pitch, cudaArray_const_t array, size_t x,
                                           size_t y, size_t width, size_t height, enum cudaMemcpyKind kind) {
  return waited(
      sim_cudaMemcpy2DFromArrayAsync(to, pitch, array, x, y, width, height, kind, cudaStreamPerThread));
}

cudaError_t sim_cudaMemcpy2DToArrayAsync_ptsz(cudaArray_t array, size_t x, size_t y, const void *from,
                                              size_t pitch, size_t width, size_t height,
                                              enum cudaMemcpyKind kind, cudaStream_t stream) {
  return sim_cudaMemcpy2DToArrayAsync(array, x, y, from, pitch, width, height, kind, own_stream(stream));
}

cudaError_t sim_cudaMemcpy2DToArray_ptds(cudaArray_t array, size_t x, size_t y, const void *from,
                                         size_t pitch, size_t width, size_t height,
                                         enum cudaMemcpyKind kind) {
  return waited(
      sim_cudaMemcpy2DToArrayAsync(array, x, y, from, pitch, width, height, kind, cudaStreamPerThread));
}

cudaError_t sim_cudaMemcpy2D_ptds(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                                  size_t width, size_t height, enum cudaMemcpyKind kind) {
  return waited(
      sim_cudaMemcpy2DAsync(to, to_pitch, from, from_pitch, width, height, kind, cudaStreamPerThread));
}

cudaError_t sim_cudaMemcpy3DAsync_ptsz(const struct cudaMemcpy3DParms *what, cudaStream_t stream) {
  return sim_cudaMemcpy3DAsync(what, own_stream(stream));
}

cudaError_t sim_cudaMemcpy3DPeerAsync_ptsz(const struct cudaMemcpy3DPeerParms *what, cudaStream_t stream) {
  return sim_cudaMemcpy3DPeerAsync(what, own_stream(stream));
}

cudaError_t sim_cudaMemcpy3DPeer_ptds(const struct cudaMemcpy3DPeerParms *what) {
  return waited(sim_cudaMemcpy3DPeerAsync(what, cudaStreamPerThread));
}

cudaError_t sim_cudaMemcpy3D_ptds(const struct cudaMemcpy3DParms *what) {
  return waited(sim_cudaMemcpy3DAsync(what, cudaStreamPerThread));
}

cudaError_t sim_cudaMemcpyArrayToArray_ptds(cudaArray_t to, size_t to_x, size_t to_y, cudaArray_const_t from,
                                            size_t from_x, size_t from_y, size_t size,
                                            enum cudaMemcpyKind kind) {
  return sim_cudaMemcpyArrayToArray(to, to_x, to_y, from, from_x, from_y, size, kind);
}

cudaError_t sim_cudaMemcpyAsync_ptsz(void *to, const void *from, size_t size, enum cudaMemcpyKind kind,
                                     cudaStream_t stream) {
  return sim_cudaMemcpyAsync(to, from, size, kind, own_stream(stream));
}

cudaError_t sim_cudaMemcpyFromArrayAsync_ptsz(void *to, cudaArray_const_t array, size_t x, size_t y,
                                              size_t size, enum cudaMemcpyKind kind, cudaStream_t stream) {
  return sim_cudaMemcpyFromArrayAsync(to, array, x, y, size, kind, own_stream(stream));
}

cudaError_t sim_cudaMemcpyFromArray_ptds(void *to, cudaArray_const_t array, size_t x, size_t y, size_t size,
                                         enum cudaMemcpyKind kind) {
  return waited(sim_cudaMemcpyFromArrayAsync(to, array, x, y, size, kind, cudaStreamPerThread));
}

cudaError_t sim_cudaMemcpyFromSymbolAsync_ptsz(void *to, const void *symbol, size_t size, size_t offset,
                                               enum cudaMemcpyKind kind, cudaStream_t stream) {
  return sim_cudaMemcpyFromSymbolAsync(to, symbol, size, offset, kind, own_stream(stream));
}

cudaError_t sim_cudaMemcpyFromSymbol_ptds(void *to, const void *symbol, size_t size, size_t offset,
                                          enum cudaMemcpyKind kind) {
  return waited(sim_cudaMemcpyFromSymbolAsync(to, symbol, size, offset, kind, cudaStreamPerThread));
}

cudaError_t sim_cudaMemcpyToArrayAsync_ptsz(cudaArray_t array, size_t x, size_t y, const void *from,
                                            size_t size, enum cudaMemcpyKind kind, cudaStream_t stream) {
  return sim_cudaMemcpyToArrayAsync(array, x, y, from, size, kind, own_stream(stream));
}

cudaError_t sim_cudaMemcpyToArray_ptds(cudaArray_t array, size_t x, size_t y, const void *from, size_t size,
                                       enum cudaMemcpyKind kind) {
  return waited(sim_cudaMemcpyToArrayAsync(array, x, y, from, size, kind, cudaStreamPerThread));
}

cudaError_t sim_cudaMemcpyToSymbolAsync_ptsz(const void *symbol, const void *from, size_t size, size_t offset,
                                             enum cudaMemcpyKind kind, cudaStream_t stream) {
  return sim_cudaMemcpyToSymbolAsync(symbol, from, size, offset, kind, own_stream(stream));
}

cudaError_t sim_cudaMemcpyToSymbol_ptds(const void *symbol, const void *from, size_t size, size_t offset,
                                        enum cudaMemcpyKind kind) {
  return waited(sim_cudaMemcpyToSymbolAsync(symbol, from, size, offset, kind, cudaStreamPerThread));
}

cudaError_t sim_cudaMemcpy_ptds(void *to, const void *from, size_t size, enum cudaMemcpyKind kind) {
  return waited(sim_cudaMemcpyAsync(to, from, size, kind, cudaStreamPerThread));
}

cudaError_t sim_cudaMemset2DAsync_ptsz(void *to, size_t pitch, int value, size_t width, size_t height,
                                       cudaStream_t stream) {
  return sim_cudaMemset2DAsync(to, pitch, value, width, height, own_stream(stream));
}

cudaError_t sim_cudaMemset2D_ptds(void *to, size_t pitch, int value, size_t width, size_t height) {
  return waited(sim_cudaMemset2DAsync(to, pitch, value, width, height, cudaStreamPerThread));
}

cudaError_t sim_cudaMemset3DAsync_ptsz(struct cudaPitchedPtr to, int value, struct cudaExtent size,
                                       cudaStream_t stream) {
  return sim_cudaMemset3DAsync(to, value, size, own_stream(stream));
}

cudaError_t sim_cudaMemset3D_ptds(struct cudaPitchedPtr to, int value, struct cudaExtent size) {
  return waited(sim_cudaMemset3DAsync(to, value, size, cudaStreamPerThread));
}

cudaError_t sim_cudaMemsetAsync_ptsz(void *to, int value, size_t size, cudaStream_t stream) {
  return sim_cudaMemsetAsync(to, value, size, own_stream(stream));
}

cudaError_t sim_cudaMemset_ptds(void *to, int value, size_t size) {
  return waited(sim_cudaMemsetAsync(to, value, size, cudaStreamPerThread));
}

cudaError_t sim_cudaStreamAddCallback_ptsz(cudaStream_t stream, cudaStreamCallback_t function, void *argument,
                                           unsigned int flags) {
  return sim_cudaStreamAddCallback(own_stream(stream), function, argument, flags);
}

cudaError_t sim_cudaStreamAttachMemAsync_ptsz(cudaStream_t stream, void *memory, size_t size,
                                              unsigned int flags) {
  return sim_cudaStreamAttachMemAsync(own_stream(stream), memory, size, flags);
}

cudaError_t sim_cudaStreamBeginCaptureToGraph_ptsz(cudaStream_t stream, cudaGraph_t graph,
                                                   const cudaGraphNode_t *dependencies,
                                                   const cudaGraphEdgeData *data, size_t count,
                                                   enum cudaStreamCaptureMode mode) {
  return sim_cudaStreamBeginCaptureToGraph(own_stream(stream), graph, dependencies, data, count, mode);
}

cudaError_t sim_cudaStreamBeginCapture_ptsz(cudaStream_t stream, enum cudaStreamCaptureMode mode) {
  return sim_cudaStreamBeginCapture(own_stream(stream), mode);
}

cudaError_t sim_cudaStreamCopyAttributes_ptsz(cudaStream_t to, cudaStream_t from) {
  return sim_cudaStreamCopyAttributes(own_stream(to), own_stream(from));
}

cudaError_t sim_cudaStreamEndCapture_ptsz(cudaStream_t stream, cudaGraph_t *graph) {
  return sim_cudaStreamEndCapture(own_stream(stream), graph);
}

cudaError_t sim_cudaStreamGetAttribute_ptsz(cudaStream_t handle, cudaStreamAttrID attribute,
                                            cudaStreamAttrValue *value) {
  return sim_cudaStreamGetAttribute(own_stream(handle), attribute, value);
}

cudaError_t sim_cudaStreamGetDevice_ptsz(cudaStream_t handle, int *device) {
  return sim_cudaStreamGetDevice(own_stream(handle), device);
}

cudaError_t sim_cudaStreamGetFlags_ptsz(cudaStream_t handle, unsigned int *flags) {
  return sim_cudaStreamGetFlags(own_stream(handle), flags);
}

cudaError_t sim_cudaStreamGetId_ptsz(cudaStream_t handle, unsigned long long *id) {
  return sim_cudaStreamGetId(own_stream(handle), id);
}

cudaError_t sim_cudaStreamGetPriority_ptsz(cudaStream_t handle, int *priority) {
  return sim_cudaStreamGetPriority(own_stream(handle), priority);
}

cudaError_t sim_cudaStreamIsCapturing_ptsz(cudaStream_t stream, enum cudaStreamCaptureStatus *status) {
  return sim_cudaStreamIsCapturing(own_stream(stream), status);
}

cudaError_t sim_cudaStreamQuery_ptsz(cudaStream_t stream) { return sim_cudaStreamQuery(own_stream(stream)); }

cudaError_t sim_cudaStreamSetAttribute_ptsz(cudaStream_t handle, cudaStreamAttrID attribute,
                                            const cudaStreamAttrValue *value) {
  return sim_cudaStreamSetAttribute(own_stream(handle), attribute, value);
}

cudaError_t sim_cudaStreamSynchronize_ptsz(cudaStream_t stream) {
  return sim_cudaStreamSynchronize(own_stream(stream));
}

cudaError_t sim_cudaStreamWaitEvent_ptsz(cudaStream_t stream, cudaEvent_t event, unsigned int flags) {
  return sim_cudaStreamWaitEvent(own_stream(stream), event, flags);
}

#if VS_CUDART >= 13
cudaError_t sim_cudaLaunchHostFunc_v2_ptsz(cudaStream_t stream, cudaHostFn_t function, void *argument,
                                           unsigned int mode) {
  return sim_cudaLaunchHostFunc_v2(own_stream(stream), function, argument, mode);
}

cudaError_t sim_cudaMemPrefetchAsync_ptsz(const void *memory, size_t size, struct cudaMemLocation where,
                                          unsigned int flags, cudaStream_t stream) {
  return sim_cudaMemPrefetchAsync(memory, size, where, flags, own_stream(stream));
}

cudaError_t sim_cudaMemcpyBatchAsync_ptsz(void *const *to, const void *const *from, const size_t *sizes,
                                          size_t count, struct cudaMemcpyAttributes *attributes,
                                          size_t *first, size_t attribute_count, cudaStream_t stream) {
  return sim_cudaMemcpyBatchAsync(to, from, sizes, count, attributes, first, attribute_count,
                                  own_stream(stream));
}

cudaError_t sim_cudaMemcpyWithAttributesAsync_ptsz(void *to, const void *from, size_t size,
                                                   struct cudaMemcpyAttributes *attributes,
                                                   cudaStream_t stream) {
  return sim_cudaMemcpyWithAttributesAsync(to, from, size, attributes, own_stream(stream));
}

cudaError_t sim_cudaStreamGetCaptureInfo_ptsz(cudaStream_t stream, enum cudaStreamCaptureStatus *status,
                                              unsigned long long *id, cudaGraph_t *graph,
                                              const cudaGraphNode_t **dependencies,
                                              const cudaGraphEdgeData **data, size_t *count) {
  return sim_cudaStreamGetCaptureInfo(own_stream(stream), status, id, graph, dependencies, data, count);
}

cudaError_t sim_cudaStreamUpdateCaptureDependencies_ptsz(cudaStream_t stream, cudaGraphNode_t *dependencies,
                                                         const cudaGraphEdgeData *data, size_t count,
                                                         unsigned int flags) {
  return sim_cudaStreamUpdateCaptureDependencies(own_stream(stream), dependencies, data, count, flags);
}
#else
cudaError_t sim_cudaMemPrefetchAsync_ptsz(const void *memory, size_t size, int device, cudaStream_t stream) {
  return sim_cudaMemPrefetchAsync(memory, size, device, own_stream(stream));
}

cudaError_t sim_cudaMemPrefetchAsync_v2_ptsz(const void *memory, size_t size, struct cudaMemLocation where,
                                             unsigned int flags, cudaStream_t stream) {
  return sim_cudaMemPrefetchAsync_v2(memory, size, where, flags, own_stream(stream));
}

cudaError_t sim_cudaMemcpyBatchAsync_ptsz(void **to, void **from, size_t *sizes, size_t count,
                                          struct cudaMemcpyAttributes *attributes, size_t *first,
                                          size_t attribute_count, size_t *failed, cudaStream_t stream) {
  return sim_cudaMemcpyBatchAsync(to, from, sizes, count, attributes, first, attribute_count, failed,
                                  own_stream(stream));
}

cudaError_t sim_cudaStreamGetCaptureInfo_ptsz(cudaStream_t stream, enum cudaStreamCaptureStatus *status,
                                              unsigned long long *id) {
  return sim_cudaStreamGetCaptureInfo(own_stream(stream), status, id);
}

cudaError_t sim_cudaStreamGetCaptureInfo_v2_ptsz(cudaStream_t stream, enum cudaStreamCaptureStatus *status,
                                                 unsigned long long *id, cudaGraph_t *graph,
                                                 const cudaGraphNode_t **dependencies, size_t *count) {
  return sim_cudaStreamGetCaptureInfo_v2(own_stream(stream), status, id, graph, dependencies, count);
}

cudaError_t sim_cudaStreamGetCaptureInfo_v3_ptsz(cudaStream_t stream, enum cudaStreamCaptureStatus *status,
                                                 unsigned long long *id, cudaGraph_t *graph,
                                                 const cudaGraphNode_t **dependencies,
                                                 const cudaGraphEdgeData **data, size_t *count) {
  return sim_cudaStreamGetCaptureInfo_v3(own_stream(stream), status, id, graph, dependencies, data, count);
}

cudaError_t sim_cudaStreamUpdateCaptureDependencies_ptsz(cudaStream_t stream, cudaGraphNode_t *dependencies,
                                                         size_t count, unsigned int flags) {
  return sim_cudaStreamUpdateCaptureDependencies(own_stream(stream), dependencies, count, flags);
}

cudaError_t sim_cudaStreamUpdateCaptureDependencies_v2_ptsz(cudaStream_t stream,
                                                            cudaGraphNode_t *dependencies,
                                                            const cudaGraphEdgeData *data, size_t count,
                                                            unsigned int flags) {
  return sim_cudaStreamUpdateCaptureDependencies_v2(own_stream(stream), dependencies, data, count, flags);
}
#endif
