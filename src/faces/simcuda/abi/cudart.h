/* The runtime's functions as they are written by hand in cudart/, under their public names with sim_ in
 * front. The types are ours (cudart_types.h), or a toolkit's where VS_ABI_TOOLKIT is 1: so does tests/abi
 * compare them. */
#ifndef VS_SIMCUDA_ABI_CUDART_H
#define VS_SIMCUDA_ABI_CUDART_H

#if defined(VS_ABI_TOOLKIT) && VS_ABI_TOOLKIT
#include <cuda_runtime_api.h>
#else
#include "faces/simcuda/abi/cudart_types.h"
#endif

/* ---- errors */

cudaError_t sim_cudaGetLastError(void);
cudaError_t sim_cudaPeekAtLastError(void);
const char *sim_cudaGetErrorName(cudaError_t error);
const char *sim_cudaGetErrorString(cudaError_t error);

/* ---- devices */

cudaError_t sim_cudaGetDeviceCount(int *count);
cudaError_t sim_cudaGetDevice(int *device);
cudaError_t sim_cudaSetDevice(int device);
cudaError_t sim_cudaInitDevice(int device, unsigned int device_flags, unsigned int flags);
cudaError_t sim_cudaSetValidDevices(int *devices, int count);
cudaError_t sim_cudaChooseDevice(int *device, const struct cudaDeviceProp *wanted);
cudaError_t sim_cudaSetDeviceFlags(unsigned int flags);
cudaError_t sim_cudaGetDeviceFlags(unsigned int *flags);
cudaError_t sim_cudaDeviceGetByPCIBusId(int *device, const char *text);
cudaError_t sim_cudaDeviceGetPCIBusId(char *text, int size, int device);
cudaError_t sim_cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int device);
cudaError_t sim_cudaDeviceGetStreamPriorityRange(int *least, int *greatest);
cudaError_t sim_cudaDeviceGetTexture1DLinearMaxWidth(size_t *width,
                                                     const struct cudaChannelFormatDesc *format, int device);
cudaError_t sim_cudaDriverGetVersion(int *version);
cudaError_t sim_cudaRuntimeGetVersion(int *version);
cudaError_t sim_cudaDeviceGetLimit(size_t *value, enum cudaLimit limit);
cudaError_t sim_cudaDeviceSetLimit(enum cudaLimit limit, size_t value);
cudaError_t sim_cudaDeviceSetCacheConfig(enum cudaFuncCache preference);
cudaError_t sim_cudaDeviceGetCacheConfig(enum cudaFuncCache *preference);
cudaError_t sim_cudaDeviceSetSharedMemConfig(enum cudaSharedMemConfig preference);
cudaError_t sim_cudaDeviceGetSharedMemConfig(enum cudaSharedMemConfig *preference);
cudaError_t sim_cudaCtxResetPersistingL2Cache(void);
cudaError_t sim_cudaProfilerStart(void);
cudaError_t sim_cudaProfilerStop(void);
cudaError_t sim_cudaDeviceSynchronize(void);
cudaError_t sim_cudaDeviceReset(void);
cudaError_t sim_cudaDeviceCanAccessPeer(int *can, int device, int peer);
cudaError_t sim_cudaDeviceEnablePeerAccess(int peer, unsigned int flags);
cudaError_t sim_cudaDeviceDisablePeerAccess(int peer);
cudaError_t sim_cudaDeviceGetP2PAttribute(int *value, enum cudaDeviceP2PAttr attribute, int device, int peer);
#if VS_CUDART >= 13
cudaError_t sim_cudaGetDeviceProperties(struct cudaDeviceProp *all, int device);
#endif
#if VS_CUDART < 13
cudaError_t sim_cudaGetDeviceProperties_v2(struct cudaDeviceProp *all, int device);
cudaError_t sim_cudaGetDeviceProperties(struct cudaDeviceProp *all, int device);
cudaError_t sim_cudaThreadExit(void);
cudaError_t sim_cudaThreadSynchronize(void);
cudaError_t sim_cudaThreadSetLimit(enum cudaLimit limit, size_t value);
cudaError_t sim_cudaThreadGetLimit(size_t *value, enum cudaLimit limit);
cudaError_t sim_cudaThreadGetCacheConfig(enum cudaFuncCache *preference);
cudaError_t sim_cudaThreadSetCacheConfig(enum cudaFuncCache preference);
cudaError_t sim_cudaSetDoubleForDevice(double *value);
cudaError_t sim_cudaSetDoubleForHost(double *value);
#endif

/* ---- memory */

cudaError_t sim_cudaMalloc(void **memory, size_t size);
cudaError_t sim_cudaMallocPitch(void **memory, size_t *pitch, size_t width, size_t height);
cudaError_t sim_cudaMalloc3D(struct cudaPitchedPtr *memory, struct cudaExtent extent);
cudaError_t sim_cudaFree(void *memory);
cudaError_t sim_cudaMemGetInfo(size_t *free_bytes, size_t *total_bytes);
cudaError_t sim_cudaHostAlloc(void **memory, size_t size, unsigned int flags);
cudaError_t sim_cudaMallocHost(void **memory, size_t size);
cudaError_t sim_cudaFreeHost(void *memory);
cudaError_t sim_cudaHostRegister(void *memory, size_t size, unsigned int flags);
cudaError_t sim_cudaHostUnregister(void *memory);
cudaError_t sim_cudaHostGetDevicePointer(void **device_memory, void *memory, unsigned int flags);
cudaError_t sim_cudaHostGetFlags(unsigned int *flags, void *memory);
cudaError_t sim_cudaMallocManaged(void **memory, size_t size, unsigned int flags);
cudaError_t sim_cudaStreamAttachMemAsync(cudaStream_t stream, void *memory, size_t size, unsigned int flags);
cudaError_t sim_cudaPointerGetAttributes(struct cudaPointerAttributes *attributes, const void *memory);
#if VS_CUDART >= 13
cudaError_t sim_cudaMemAdvise(const void *memory, size_t size, enum cudaMemoryAdvise advice,
                              struct cudaMemLocation where);
cudaError_t sim_cudaMemPrefetchAsync(const void *memory, size_t size, struct cudaMemLocation where,
                                     unsigned int flags, cudaStream_t stream);
#endif
#if VS_CUDART < 13
cudaError_t sim_cudaMemAdvise(const void *memory, size_t size, enum cudaMemoryAdvise advice, int device);
cudaError_t sim_cudaMemAdvise_v2(const void *memory, size_t size, enum cudaMemoryAdvise advice,
                                 struct cudaMemLocation where);
cudaError_t sim_cudaMemPrefetchAsync(const void *memory, size_t size, int device, cudaStream_t stream);
cudaError_t sim_cudaMemPrefetchAsync_v2(const void *memory, size_t size, struct cudaMemLocation where,
                                        unsigned int flags, cudaStream_t stream);
#endif

/* ---- arrays */

cudaError_t sim_cudaMallocArray(cudaArray_t *array, const struct cudaChannelFormatDesc *format, size_t width,
                                size_t height, unsigned int flags);
cudaError_t sim_cudaMalloc3DArray(cudaArray_t *array, const struct cudaChannelFormatDesc *format,
                                  struct cudaExtent extent, unsigned int flags);
cudaError_t sim_cudaFreeArray(cudaArray_t handle);
cudaError_t sim_cudaArrayGetInfo(struct cudaChannelFormatDesc *format, struct cudaExtent *extent,
                                 unsigned int *flags, cudaArray_t handle);
cudaError_t sim_cudaArrayGetMemoryRequirements(struct cudaArrayMemoryRequirements *needs, cudaArray_t handle,
                                               int device);
cudaError_t sim_cudaGetChannelDesc(struct cudaChannelFormatDesc *format, cudaArray_const_t handle);
struct cudaChannelFormatDesc sim_cudaCreateChannelDesc(int x, int y, int z, int w,
                                                       enum cudaChannelFormatKind kind);

/* ---- copies and fills */

cudaError_t sim_cudaMemcpy(void *to, const void *from, size_t size, enum cudaMemcpyKind kind);
cudaError_t sim_cudaMemcpyAsync(void *to, const void *from, size_t size, enum cudaMemcpyKind kind,
                                cudaStream_t stream);
cudaError_t sim_cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
                             size_t height, enum cudaMemcpyKind kind);
cudaError_t sim_cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                                  size_t width, size_t height, enum cudaMemcpyKind kind, cudaStream_t stream);
cudaError_t sim_cudaMemcpyPeer(void *to, int to_device, const void *from, int from_device, size_t size);
cudaError_t sim_cudaMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device, size_t size,
                                    cudaStream_t stream);
cudaError_t sim_cudaMemcpyToSymbol(const void *symbol, const void *from, size_t size, size_t offset,
                                   enum cudaMemcpyKind kind);
cudaError_t sim_cudaMemcpyToSymbolAsync(const void *symbol, const void *from, size_t size, size_t offset,
                                        enum cudaMemcpyKind kind, cudaStream_t stream);
cudaError_t sim_cudaMemcpyFromSymbol(void *to, const void *symbol, size_t size, size_t offset,
                                     enum cudaMemcpyKind kind);
cudaError_t sim_cudaMemcpyFromSymbolAsync(void *to, const void *symbol, size_t size, size_t offset,
                                          enum cudaMemcpyKind kind, cudaStream_t stream);
cudaError_t sim_cudaGetSymbolAddress(void **memory, const void *symbol);
cudaError_t sim_cudaGetSymbolSize(size_t *size, const void *symbol);
cudaError_t sim_cudaMemcpy3D(const struct cudaMemcpy3DParms *what);
cudaError_t sim_cudaMemcpy3DAsync(const struct cudaMemcpy3DParms *what, cudaStream_t stream);
cudaError_t sim_cudaMemcpy3DPeer(const struct cudaMemcpy3DPeerParms *what);
cudaError_t sim_cudaMemcpy3DPeerAsync(const struct cudaMemcpy3DPeerParms *what, cudaStream_t stream);
cudaError_t sim_cudaMemcpy2DToArray(cudaArray_t array, size_t x, size_t y, const void *from, size_t pitch,
                                    size_t width, size_t height, enum cudaMemcpyKind kind);
cudaError_t sim_cudaMemcpy2DToArrayAsync(cudaArray_t array, size_t x, size_t y, const void *from,
                                         size_t pitch, size_t width, size_t height, enum cudaMemcpyKind kind,
                                         cudaStream_t stream);
cudaError_t sim_cudaMemcpy2DFromArray(void *to, size_t pitch, cudaArray_const_t array, size_t x, size_t y,
                                      size_t width, size_t height, enum cudaMemcpyKind kind);
cudaError_t sim_cudaMemcpy2DFromArrayAsync(void *to, size_t pitch, cudaArray_const_t array, size_t x,
                                           size_t y, size_t width, size_t height, enum cudaMemcpyKind kind,
                                           cudaStream_t stream);
cudaError_t sim_cudaMemcpy2DArrayToArray(cudaArray_t to, size_t to_x, size_t to_y, cudaArray_const_t from,
                                         size_t from_x, size_t from_y, size_t width, size_t height,
                                         enum cudaMemcpyKind kind);
cudaError_t sim_cudaMemcpyToArray(cudaArray_t array, size_t x, size_t y, const void *from, size_t size,
                                  enum cudaMemcpyKind kind);
cudaError_t sim_cudaMemcpyToArrayAsync(cudaArray_t array, size_t x, size_t y, const void *from, size_t size,
                                       enum cudaMemcpyKind kind, cudaStream_t stream);
cudaError_t sim_cudaMemcpyFromArray(void *to, cudaArray_const_t array, size_t x, size_t y, size_t size,
                                    enum cudaMemcpyKind kind);
cudaError_t sim_cudaMemcpyFromArrayAsync(void *to, cudaArray_const_t array, size_t x, size_t y, size_t size,
                                         enum cudaMemcpyKind kind, cudaStream_t stream);
cudaError_t sim_cudaMemcpyArrayToArray(cudaArray_t to, size_t to_x, size_t to_y, cudaArray_const_t from,
                                       size_t from_x, size_t from_y, size_t size, enum cudaMemcpyKind kind);
cudaError_t sim_cudaMemset(void *to, int value, size_t size);
cudaError_t sim_cudaMemsetAsync(void *to, int value, size_t size, cudaStream_t stream);
cudaError_t sim_cudaMemset2D(void *to, size_t pitch, int value, size_t width, size_t height);
cudaError_t sim_cudaMemset2DAsync(void *to, size_t pitch, int value, size_t width, size_t height,
                                  cudaStream_t stream);
cudaError_t sim_cudaMemset3D(struct cudaPitchedPtr to, int value, struct cudaExtent size);
cudaError_t sim_cudaMemset3DAsync(struct cudaPitchedPtr to, int value, struct cudaExtent size,
                                  cudaStream_t stream);
#if VS_CUDART >= 13
cudaError_t sim_cudaMemcpyBatchAsync(void *const *to, const void *const *from, const size_t *sizes,
                                     size_t count, struct cudaMemcpyAttributes *attributes, size_t *first,
                                     size_t attribute_count, cudaStream_t stream);
cudaError_t sim_cudaMemcpyWithAttributesAsync(void *to, const void *from, size_t size,
                                              struct cudaMemcpyAttributes *attributes, cudaStream_t stream);
#endif
#if VS_CUDART < 13
cudaError_t sim_cudaMemcpyBatchAsync(void **to, void **from, size_t *sizes, size_t count,
                                     struct cudaMemcpyAttributes *attributes, size_t *first,
                                     size_t attribute_count, size_t *failed, cudaStream_t stream);
#endif

/* ---- memory pools and stream-ordered memory */

cudaError_t sim_cudaMallocAsync(void **memory, size_t size, cudaStream_t stream);
cudaError_t sim_cudaMallocFromPoolAsync(void **memory, size_t size, cudaMemPool_t pool, cudaStream_t stream);
cudaError_t sim_cudaFreeAsync(void *memory, cudaStream_t stream);
cudaError_t sim_cudaDeviceGetDefaultMemPool(cudaMemPool_t *pool, int device);
cudaError_t sim_cudaDeviceGetMemPool(cudaMemPool_t *pool, int device);
cudaError_t sim_cudaDeviceSetMemPool(int device, cudaMemPool_t pool);
cudaError_t sim_cudaMemPoolCreate(cudaMemPool_t *pool, const struct cudaMemPoolProps *wanted);
cudaError_t sim_cudaMemPoolDestroy(cudaMemPool_t pool);
cudaError_t sim_cudaMemPoolTrimTo(cudaMemPool_t pool, size_t keep_bytes);
cudaError_t sim_cudaMemPoolGetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr attribute, void *value);
cudaError_t sim_cudaMemPoolSetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr attribute, void *value);
cudaError_t sim_cudaMemPoolSetAccess(cudaMemPool_t pool, const struct cudaMemAccessDesc *wanted,
                                     size_t count);
cudaError_t sim_cudaMemPoolGetAccess(enum cudaMemAccessFlags *flags, cudaMemPool_t pool,
                                     struct cudaMemLocation *where);
cudaError_t sim_cudaDeviceGetGraphMemAttribute(int device, enum cudaGraphMemAttributeType attribute,
                                               void *value);
cudaError_t sim_cudaDeviceSetGraphMemAttribute(int device, enum cudaGraphMemAttributeType attribute,
                                               void *value);
cudaError_t sim_cudaDeviceGraphMemTrim(int device);
#if VS_CUDART >= 13
cudaError_t sim_cudaMemGetDefaultMemPool(cudaMemPool_t *pool, struct cudaMemLocation *where,
                                         enum cudaMemAllocationType type);
cudaError_t sim_cudaMemGetMemPool(cudaMemPool_t *pool, struct cudaMemLocation *where,
                                  enum cudaMemAllocationType type);
cudaError_t sim_cudaMemSetMemPool(struct cudaMemLocation *where, enum cudaMemAllocationType type,
                                  cudaMemPool_t pool);
#endif

/* ---- between processes */

cudaError_t sim_cudaIpcGetMemHandle(cudaIpcMemHandle_t *handle, void *memory);
cudaError_t sim_cudaIpcOpenMemHandle(void **memory, cudaIpcMemHandle_t handle, unsigned int flags);
cudaError_t sim_cudaIpcCloseMemHandle(void *memory);
cudaError_t sim_cudaIpcGetEventHandle(cudaIpcEventHandle_t *handle, cudaEvent_t event);
cudaError_t sim_cudaIpcOpenEventHandle(cudaEvent_t *event, cudaIpcEventHandle_t handle);

/* ---- streams */

cudaError_t sim_cudaStreamCreate(cudaStream_t *stream);
cudaError_t sim_cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned int flags);
cudaError_t sim_cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned int flags, int priority);
cudaError_t sim_cudaStreamDestroy(cudaStream_t stream);
cudaError_t sim_cudaStreamGetPriority(cudaStream_t handle, int *priority);
cudaError_t sim_cudaStreamGetFlags(cudaStream_t handle, unsigned int *flags);
cudaError_t sim_cudaStreamGetId(cudaStream_t handle, unsigned long long *id);
cudaError_t sim_cudaStreamGetDevice(cudaStream_t handle, int *device);
cudaError_t sim_cudaStreamGetAttribute(cudaStream_t handle, cudaStreamAttrID attribute,
                                       cudaStreamAttrValue *value);
cudaError_t sim_cudaStreamSetAttribute(cudaStream_t handle, cudaStreamAttrID attribute,
                                       const cudaStreamAttrValue *value);
cudaError_t sim_cudaStreamCopyAttributes(cudaStream_t to, cudaStream_t from);
cudaError_t sim_cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int flags);
cudaError_t sim_cudaStreamSynchronize(cudaStream_t stream);
cudaError_t sim_cudaStreamQuery(cudaStream_t stream);
cudaError_t sim_cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void *argument);
cudaError_t sim_cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t function, void *argument,
                                      unsigned int flags);
cudaError_t sim_cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode);
cudaError_t sim_cudaStreamBeginCaptureToGraph(cudaStream_t stream, cudaGraph_t graph,
                                              const cudaGraphNode_t *dependencies,
                                              const cudaGraphEdgeData *data, size_t count,
                                              enum cudaStreamCaptureMode mode);
cudaError_t sim_cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph);
cudaError_t sim_cudaThreadExchangeStreamCaptureMode(enum cudaStreamCaptureMode *mode);
cudaError_t sim_cudaStreamIsCapturing(cudaStream_t stream, enum cudaStreamCaptureStatus *status);
#if VS_CUDART >= 13
cudaError_t sim_cudaLaunchHostFunc_v2(cudaStream_t stream, cudaHostFn_t function, void *argument,
                                      unsigned int mode);
cudaError_t sim_cudaStreamGetCaptureInfo(cudaStream_t stream, enum cudaStreamCaptureStatus *status,
                                         unsigned long long *id, cudaGraph_t *graph,
                                         const cudaGraphNode_t **dependencies, const cudaGraphEdgeData **data,
                                         size_t *count);
cudaError_t sim_cudaStreamUpdateCaptureDependencies(cudaStream_t stream, cudaGraphNode_t *dependencies,
                                                    const cudaGraphEdgeData *data, size_t count,
                                                    unsigned int flags);
#endif
#if VS_CUDART < 13
cudaError_t sim_cudaStreamGetCaptureInfo(cudaStream_t stream, enum cudaStreamCaptureStatus *status,
                                         unsigned long long *id);
cudaError_t sim_cudaStreamGetCaptureInfo_v2(cudaStream_t stream, enum cudaStreamCaptureStatus *status,
                                            unsigned long long *id, cudaGraph_t *graph,
                                            const cudaGraphNode_t **dependencies, size_t *count);
cudaError_t sim_cudaStreamGetCaptureInfo_v3(cudaStream_t stream, enum cudaStreamCaptureStatus *status,
                                            unsigned long long *id, cudaGraph_t *graph,
                                            const cudaGraphNode_t **dependencies,
                                            const cudaGraphEdgeData **data, size_t *count);
cudaError_t sim_cudaStreamUpdateCaptureDependencies(cudaStream_t stream, cudaGraphNode_t *dependencies,
                                                    size_t count, unsigned int flags);
cudaError_t sim_cudaStreamUpdateCaptureDependencies_v2(cudaStream_t stream, cudaGraphNode_t *dependencies,
                                                       const cudaGraphEdgeData *data, size_t count,
                                                       unsigned int flags);
#endif

/* ---- events */

cudaError_t sim_cudaEventCreateWithFlags(cudaEvent_t *event, unsigned int flags);
cudaError_t sim_cudaEventCreate(cudaEvent_t *event);
cudaError_t sim_cudaEventDestroy(cudaEvent_t event);
cudaError_t sim_cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned int flags);
cudaError_t sim_cudaEventRecord(cudaEvent_t event, cudaStream_t stream);
cudaError_t sim_cudaEventQuery(cudaEvent_t event);
cudaError_t sim_cudaEventSynchronize(cudaEvent_t event);
cudaError_t sim_cudaEventElapsedTime(float *milliseconds, cudaEvent_t start, cudaEvent_t end);
#if VS_CUDART < 13
cudaError_t sim_cudaEventElapsedTime_v2(float *milliseconds, cudaEvent_t start, cudaEvent_t end);
#endif

/* ---- graphs */

cudaError_t sim_cudaGraphCreate(cudaGraph_t *graph, unsigned int flags);
cudaError_t sim_cudaGraphDestroy(cudaGraph_t graph);
cudaError_t sim_cudaGraphClone(cudaGraph_t *clone, cudaGraph_t graph);
cudaError_t sim_cudaGraphNodeFindInClone(cudaGraphNode_t *found, cudaGraphNode_t node, cudaGraph_t clone);
cudaError_t sim_cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count);
cudaError_t sim_cudaGraphGetRootNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count);
cudaError_t sim_cudaGraphAddKernelNode(cudaGraphNode_t *node, cudaGraph_t graph,
                                       const cudaGraphNode_t *behind, size_t count,
                                       const struct cudaKernelNodeParams *kernel);
cudaError_t sim_cudaGraphAddMemcpyNode(cudaGraphNode_t *node, cudaGraph_t graph,
                                       const cudaGraphNode_t *behind, size_t count,
                                       const struct cudaMemcpy3DParms *copy);
cudaError_t sim_cudaGraphAddMemcpyNode1D(cudaGraphNode_t *node, cudaGraph_t graph,
                                         const cudaGraphNode_t *behind, size_t count, void *to,
                                         const void *from, size_t size, enum cudaMemcpyKind kind);
cudaError_t sim_cudaGraphAddMemcpyNodeToSymbol(cudaGraphNode_t *node, cudaGraph_t graph,
                                               const cudaGraphNode_t *behind, size_t count,
                                               const void *symbol, const void *from, size_t size,
                                               size_t offset, enum cudaMemcpyKind kind);
cudaError_t sim_cudaGraphAddMemcpyNodeFromSymbol(cudaGraphNode_t *node, cudaGraph_t graph,
                                                 const cudaGraphNode_t *behind, size_t count, void *to,
                                                 const void *symbol, size_t size, size_t offset,
                                                 enum cudaMemcpyKind kind);
cudaError_t sim_cudaGraphAddMemsetNode(cudaGraphNode_t *node, cudaGraph_t graph,
                                       const cudaGraphNode_t *behind, size_t count,
                                       const struct cudaMemsetParams *fill);
cudaError_t sim_cudaGraphAddHostNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *behind,
                                     size_t count, const struct cudaHostNodeParams *host);
cudaError_t sim_cudaGraphAddChildGraphNode(cudaGraphNode_t *node, cudaGraph_t graph,
                                           const cudaGraphNode_t *behind, size_t count, cudaGraph_t child);
cudaError_t sim_cudaGraphAddEmptyNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *behind,
                                      size_t count);
cudaError_t sim_cudaGraphAddEventRecordNode(cudaGraphNode_t *node, cudaGraph_t graph,
                                            const cudaGraphNode_t *behind, size_t count, cudaEvent_t event);
cudaError_t sim_cudaGraphAddEventWaitNode(cudaGraphNode_t *node, cudaGraph_t graph,
                                          const cudaGraphNode_t *behind, size_t count, cudaEvent_t event);
cudaError_t sim_cudaGraphAddMemAllocNode(cudaGraphNode_t *node, cudaGraph_t graph,
                                         const cudaGraphNode_t *behind, size_t count,
                                         struct cudaMemAllocNodeParams *memory);
cudaError_t sim_cudaGraphAddMemFreeNode(cudaGraphNode_t *node, cudaGraph_t graph,
                                        const cudaGraphNode_t *behind, size_t count, void *memory);
cudaError_t sim_cudaGraphDestroyNode(cudaGraphNode_t node);
cudaError_t sim_cudaGraphNodeGetType(cudaGraphNode_t node, enum cudaGraphNodeType *type);
cudaError_t sim_cudaGraphKernelNodeSetParams(cudaGraphNode_t node, const struct cudaKernelNodeParams *kernel);
cudaError_t sim_cudaGraphExecKernelNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                                 const struct cudaKernelNodeParams *kernel);
cudaError_t sim_cudaGraphMemcpyNodeSetParams(cudaGraphNode_t node, const struct cudaMemcpy3DParms *copy);
cudaError_t sim_cudaGraphExecMemcpyNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                                 const struct cudaMemcpy3DParms *copy);
cudaError_t sim_cudaGraphMemcpyNodeSetParams1D(cudaGraphNode_t node, void *to, const void *from, size_t size,
                                               enum cudaMemcpyKind kind);
cudaError_t sim_cudaGraphExecMemcpyNodeSetParams1D(cudaGraphExec_t exec, cudaGraphNode_t node, void *to,
                                                   const void *from, size_t size, enum cudaMemcpyKind kind);
cudaError_t sim_cudaGraphMemsetNodeSetParams(cudaGraphNode_t node, const struct cudaMemsetParams *fill);
cudaError_t sim_cudaGraphExecMemsetNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                                 const struct cudaMemsetParams *fill);
cudaError_t sim_cudaGraphHostNodeGetParams(cudaGraphNode_t node, struct cudaHostNodeParams *host);
cudaError_t sim_cudaGraphHostNodeSetParams(cudaGraphNode_t node, const struct cudaHostNodeParams *host);
cudaError_t sim_cudaGraphExecHostNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                               const struct cudaHostNodeParams *host);
cudaError_t sim_cudaGraphEventRecordNodeGetEvent(cudaGraphNode_t node, cudaEvent_t *event);
cudaError_t sim_cudaGraphEventWaitNodeGetEvent(cudaGraphNode_t node, cudaEvent_t *event);
cudaError_t sim_cudaGraphEventRecordNodeSetEvent(cudaGraphNode_t node, cudaEvent_t event);
cudaError_t sim_cudaGraphEventWaitNodeSetEvent(cudaGraphNode_t node, cudaEvent_t event);
cudaError_t sim_cudaGraphExecEventRecordNodeSetEvent(cudaGraphExec_t exec, cudaGraphNode_t node,
                                                     cudaEvent_t event);
cudaError_t sim_cudaGraphExecEventWaitNodeSetEvent(cudaGraphExec_t exec, cudaGraphNode_t node,
                                                   cudaEvent_t event);
cudaError_t sim_cudaGraphMemAllocNodeGetParams(cudaGraphNode_t node, struct cudaMemAllocNodeParams *memory);
cudaError_t sim_cudaGraphMemFreeNodeGetParams(cudaGraphNode_t node, void *memory);
cudaError_t sim_cudaGraphChildGraphNodeGetGraph(cudaGraphNode_t node, cudaGraph_t *graph);
cudaError_t sim_cudaGraphInstantiateWithFlags(cudaGraphExec_t *exec, cudaGraph_t graph,
                                              unsigned long long flags);
cudaError_t sim_cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long flags);
cudaError_t sim_cudaGraphInstantiateWithParams(cudaGraphExec_t *exec, cudaGraph_t graph,
                                               cudaGraphInstantiateParams *how);
cudaError_t sim_cudaGraphExecDestroy(cudaGraphExec_t exec);
cudaError_t sim_cudaGraphExecGetFlags(cudaGraphExec_t exec, unsigned long long *flags);
cudaError_t sim_cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph,
                                    cudaGraphExecUpdateResultInfo *info);
cudaError_t sim_cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream);
cudaError_t sim_cudaGraphUpload(cudaGraphExec_t exec, cudaStream_t stream);
cudaError_t sim_cudaUserObjectCreate(cudaUserObject_t *object, void *argument, cudaHostFn_t destroy,
                                     unsigned int count, unsigned int flags);
cudaError_t sim_cudaUserObjectRetain(cudaUserObject_t object, unsigned int count);
cudaError_t sim_cudaUserObjectRelease(cudaUserObject_t object, unsigned int count);
cudaError_t sim_cudaGraphRetainUserObject(cudaGraph_t graph, cudaUserObject_t object, unsigned int count,
                                          unsigned int flags);
cudaError_t sim_cudaGraphReleaseUserObject(cudaGraph_t graph, cudaUserObject_t object, unsigned int count);
cudaError_t sim_cudaGraphDebugDotPrint(cudaGraph_t graph, const char *path, unsigned int flags);
#if VS_CUDART >= 13
cudaError_t sim_cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to,
                                  cudaGraphEdgeData *data, size_t *count);
cudaError_t sim_cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t *nodes,
                                             cudaGraphEdgeData *data, size_t *count);
cudaError_t sim_cudaGraphNodeGetDependentNodes(cudaGraphNode_t node, cudaGraphNode_t *nodes,
                                               cudaGraphEdgeData *data, size_t *count);
cudaError_t sim_cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t *from,
                                         const cudaGraphNode_t *to, const cudaGraphEdgeData *data,
                                         size_t count);
cudaError_t sim_cudaGraphRemoveDependencies(cudaGraph_t graph, const cudaGraphNode_t *from,
                                            const cudaGraphNode_t *to, const cudaGraphEdgeData *data,
                                            size_t count);
cudaError_t sim_cudaGraphAddNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *behind,
                                 const cudaGraphEdgeData *data, size_t count,
                                 struct cudaGraphNodeParams *what);
#endif
#if VS_CUDART < 13
cudaError_t sim_cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to,
                                  size_t *count);
cudaError_t sim_cudaGraphGetEdges_v2(cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to,
                                     cudaGraphEdgeData *data, size_t *count);
cudaError_t sim_cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t *nodes, size_t *count);
cudaError_t sim_cudaGraphNodeGetDependencies_v2(cudaGraphNode_t node, cudaGraphNode_t *nodes,
                                                cudaGraphEdgeData *data, size_t *count);
cudaError_t sim_cudaGraphNodeGetDependentNodes(cudaGraphNode_t node, cudaGraphNode_t *nodes, size_t *count);
cudaError_t sim_cudaGraphNodeGetDependentNodes_v2(cudaGraphNode_t node, cudaGraphNode_t *nodes,
                                                  cudaGraphEdgeData *data, size_t *count);
cudaError_t sim_cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t *from,
                                         const cudaGraphNode_t *to, size_t count);
cudaError_t sim_cudaGraphAddDependencies_v2(cudaGraph_t graph, const cudaGraphNode_t *from,
                                            const cudaGraphNode_t *to, const cudaGraphEdgeData *data,
                                            size_t count);
cudaError_t sim_cudaGraphRemoveDependencies(cudaGraph_t graph, const cudaGraphNode_t *from,
                                            const cudaGraphNode_t *to, size_t count);
cudaError_t sim_cudaGraphRemoveDependencies_v2(cudaGraph_t graph, const cudaGraphNode_t *from,
                                               const cudaGraphNode_t *to, const cudaGraphEdgeData *data,
                                               size_t count);
cudaError_t sim_cudaGraphAddNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *behind,
                                 size_t count, struct cudaGraphNodeParams *what);
cudaError_t sim_cudaGraphAddNode_v2(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *behind,
                                    const cudaGraphEdgeData *data, size_t count,
                                    struct cudaGraphNodeParams *what);
#endif

/* ---- launches */

cudaError_t sim_cudaLaunchKernel(const void *function, dim3 grid, dim3 block, void **arguments,
                                 size_t shared_bytes, cudaStream_t stream);
cudaError_t sim___cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **arguments,
                                   size_t shared_bytes, cudaStream_t stream);
cudaError_t sim_cudaLaunchCooperativeKernel(const void *function, dim3 grid, dim3 block, void **arguments,
                                            size_t shared_bytes, cudaStream_t stream);
cudaError_t sim_cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *function, void **arguments);
cudaError_t sim___cudaGetKernel(cudaKernel_t *handle, const void *function);
cudaError_t sim_cudaGetKernel(cudaKernel_t *handle, const void *function);
cudaError_t sim_cudaGetFuncBySymbol(cudaFunction_t *handle, const void *function);
unsigned sim___cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared_bytes,
                                         struct CUstream_st *stream);
cudaError_t sim___cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared_bytes, void *stream);

/* ---- kernels and occupancy */

cudaError_t sim_cudaFuncGetAttributes(struct cudaFuncAttributes *attributes, const void *function);
cudaError_t sim_cudaFuncSetAttribute(const void *function, enum cudaFuncAttribute attribute, int value);
cudaError_t sim_cudaKernelSetAttributeForDevice(cudaKernel_t kernel, enum cudaFuncAttribute attribute,
                                                int value, int device);
cudaError_t sim_cudaFuncSetCacheConfig(const void *function, enum cudaFuncCache preference);
cudaError_t sim_cudaFuncSetSharedMemConfig(const void *function, enum cudaSharedMemConfig preference);
cudaError_t sim_cudaFuncGetName(const char **name, const void *function);
cudaError_t sim_cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, const void *function,
                                                                       int block_size, size_t shared_bytes,
                                                                       unsigned int flags);
cudaError_t sim_cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *function,
                                                              int block_size, size_t shared_bytes);
cudaError_t sim_cudaOccupancyAvailableDynamicSMemPerBlock(size_t *bytes, const void *function, int blocks,
                                                          int block_size);
cudaError_t sim_cudaOccupancyMaxPotentialClusterSize(int *size, const void *function,
                                                     const cudaLaunchConfig_t *config);
cudaError_t sim_cudaOccupancyMaxActiveClusters(int *clusters, const void *function,
                                               const cudaLaunchConfig_t *config);

/* ---- registration by compiled programs */

void **sim___cudaRegisterFatBinary(void *fat_binary);
void sim___cudaRegisterFatBinaryEnd(void **handle);
void sim___cudaUnregisterFatBinary(void **handle);
void sim___cudaRegisterFunction(void **handle, const char *host, char *device, const char *name,
                                int thread_limit, uint3 *thread, uint3 *block, dim3 *block_size,
                                dim3 *grid_size, int *warp_size);
void sim___cudaRegisterVar(void **handle, char *host, char *device, const char *name, int external,
                           size_t size, int constant, int global);
void sim___cudaRegisterManagedVar(void **handle, void **host, char *device, const char *name, int external,
                                  size_t size, int constant, int global);
void sim___cudaRegisterHostVar(void **handle, const char *name, char *host, size_t size);
char sim___cudaInitModule(void **handle);

/* ---- libraries loaded at run time, logs */

cudaError_t sim_cudaLibraryLoadData(cudaLibrary_t *library, const void *code, enum cudaJitOption *jit_options,
                                    void **jit_values, unsigned int jit_count,
                                    enum cudaLibraryOption *options, void **values, unsigned int count);
cudaError_t sim_cudaLibraryLoadFromFile(cudaLibrary_t *library, const char *path,
                                        enum cudaJitOption *jit_options, void **jit_values,
                                        unsigned int jit_count, enum cudaLibraryOption *options,
                                        void **values, unsigned int count);
cudaError_t sim_cudaLibraryUnload(cudaLibrary_t library);
cudaError_t sim_cudaLibraryGetKernel(cudaKernel_t *kernel, cudaLibrary_t library, const char *name);
#if VS_CUDART >= 13
cudaError_t sim_cudaLogsRegisterCallback(cudaLogsCallback_t function, void *argument,
                                         cudaLogsCallbackHandle *handle);
cudaError_t sim_cudaLogsUnregisterCallback(cudaLogsCallbackHandle handle);
cudaError_t sim_cudaLogsCurrent(cudaLogIterator *iterator, unsigned int flags);
#endif

/* ---- the driver's functions */

cudaError_t sim_cudaGetDriverEntryPoint(const char *name, void **function, unsigned long long flags,
                                        enum cudaDriverEntryPointQueryResult *status);
cudaError_t sim_cudaGetDriverEntryPointByVersion(const char *name, void **function, unsigned int version,
                                                 unsigned long long flags,
                                                 enum cudaDriverEntryPointQueryResult *status);

/* ---- the same for per-thread default streams, where names.def cannot make them of the others */

extern __typeof__(sim_cudaGetDriverEntryPoint) sim_cudaGetDriverEntryPoint_ptsz;
extern __typeof__(sim_cudaGetDriverEntryPointByVersion) sim_cudaGetDriverEntryPointByVersion_ptsz;
extern __typeof__(sim_cudaLaunchKernelExC) sim_cudaLaunchKernelExC_ptsz;
extern __typeof__(sim_cudaMemcpy2DFromArray) sim_cudaMemcpy2DFromArray_ptds;
extern __typeof__(sim_cudaMemcpy2DToArray) sim_cudaMemcpy2DToArray_ptds;
extern __typeof__(sim_cudaMemcpy2D) sim_cudaMemcpy2D_ptds;
extern __typeof__(sim_cudaMemcpy3DPeer) sim_cudaMemcpy3DPeer_ptds;
extern __typeof__(sim_cudaMemcpy3D) sim_cudaMemcpy3D_ptds;
extern __typeof__(sim_cudaMemcpyFromArray) sim_cudaMemcpyFromArray_ptds;
extern __typeof__(sim_cudaMemcpyFromSymbol) sim_cudaMemcpyFromSymbol_ptds;
extern __typeof__(sim_cudaMemcpyToArray) sim_cudaMemcpyToArray_ptds;
extern __typeof__(sim_cudaMemcpyToSymbol) sim_cudaMemcpyToSymbol_ptds;
extern __typeof__(sim_cudaMemcpy) sim_cudaMemcpy_ptds;
extern __typeof__(sim_cudaMemset2D) sim_cudaMemset2D_ptds;
extern __typeof__(sim_cudaMemset3D) sim_cudaMemset3D_ptds;
extern __typeof__(sim_cudaMemset) sim_cudaMemset_ptds;

#endif
