/* The functions of the driver that are written by hand, by the names that they are exported under.
 *
 * VS_ABI_TOOLKIT takes the types from the toolkit's cuda.h instead (with __CUDA_API_VERSION_INTERNAL: all versions
 * of all functions), so that tests/abi can compare signatures. */
#ifndef VS_SIMCUDA_ABI_DRIVER_H
#define VS_SIMCUDA_ABI_DRIVER_H

#if defined(VS_ABI_TOOLKIT) && VS_ABI_TOOLKIT
#include <cuda.h>
#include <cudaProfiler.h>
#else
#include "device/abi/driver_types.h"
#endif

CUresult sim_cuArray3DCreate_v2(CUarray *, const CUDA_ARRAY3D_DESCRIPTOR *);
CUresult sim_cuArray3DGetDescriptor_v2(CUDA_ARRAY3D_DESCRIPTOR *, CUarray);
CUresult sim_cuArrayCreate_v2(CUarray *, const CUDA_ARRAY_DESCRIPTOR *);
CUresult sim_cuArrayDestroy(CUarray);
CUresult sim_cuArrayGetDescriptor_v2(CUDA_ARRAY_DESCRIPTOR *, CUarray);
CUresult sim_cuArrayGetMemoryRequirements(CUDA_ARRAY_MEMORY_REQUIREMENTS *, CUarray, CUdevice);
CUresult sim_cuCtxAttach(CUcontext *, unsigned int);
CUresult sim_cuCtxCreate_v2(CUcontext *, unsigned int, CUdevice);
CUresult sim_cuCtxCreate_v3(CUcontext *, CUexecAffinityParam *, int, unsigned int, CUdevice);
CUresult sim_cuCtxCreate_v4(CUcontext *, CUctxCreateParams *, unsigned int, CUdevice);
CUresult sim_cuCtxDestroy_v2(CUcontext);
CUresult sim_cuCtxDetach(CUcontext);
CUresult sim_cuCtxDisablePeerAccess(CUcontext);
CUresult sim_cuCtxEnablePeerAccess(CUcontext, unsigned int);
CUresult sim_cuCtxGetApiVersion(CUcontext, unsigned int *);
CUresult sim_cuCtxGetCacheConfig(CUfunc_cache *);
CUresult sim_cuCtxGetCurrent(CUcontext *);
CUresult sim_cuCtxGetDevice(CUdevice *);
CUresult sim_cuCtxGetDevice_v2(CUdevice *, CUcontext);
CUresult sim_cuCtxGetFlags(unsigned int *);
CUresult sim_cuCtxGetId(CUcontext, unsigned long long *);
CUresult sim_cuCtxGetLimit(size_t *, CUlimit);
CUresult sim_cuCtxGetSharedMemConfig(CUsharedconfig *);
CUresult sim_cuCtxGetStreamPriorityRange(int *, int *);
CUresult sim_cuCtxPopCurrent_v2(CUcontext *);
CUresult sim_cuCtxPushCurrent_v2(CUcontext);
CUresult sim_cuCtxResetPersistingL2Cache(void);
CUresult sim_cuCtxSetCacheConfig(CUfunc_cache);
CUresult sim_cuCtxSetCurrent(CUcontext);
CUresult sim_cuCtxSetFlags(unsigned int);
CUresult sim_cuCtxSetLimit(CUlimit, size_t);
CUresult sim_cuCtxSetSharedMemConfig(CUsharedconfig);
CUresult sim_cuCtxSynchronize(void);
CUresult sim_cuCtxSynchronize_v2(CUcontext);
CUresult sim_cuDeviceCanAccessPeer(int *, CUdevice, CUdevice);
CUresult sim_cuDeviceComputeCapability(int *, int *, CUdevice);
CUresult sim_cuDeviceGet(CUdevice *, int);
CUresult sim_cuDeviceGetAttribute(int *, CUdevice_attribute, CUdevice);
CUresult sim_cuDeviceGetByPCIBusId(CUdevice *, const char *);
CUresult sim_cuDeviceGetCount(int *);
CUresult sim_cuDeviceGetDefaultMemPool(CUmemoryPool *, CUdevice);
CUresult sim_cuDeviceGetExecAffinitySupport(int *, CUexecAffinityType, CUdevice);
CUresult sim_cuDeviceGetGraphMemAttribute(CUdevice, CUgraphMem_attribute, void *);
CUresult sim_cuDeviceGetLuid(char *, unsigned int *, CUdevice);
CUresult sim_cuDeviceGetMemPool(CUmemoryPool *, CUdevice);
CUresult sim_cuDeviceGetName(char *, int, CUdevice);
CUresult sim_cuDeviceGetP2PAttribute(int *, CUdevice_P2PAttribute, CUdevice, CUdevice);
CUresult sim_cuDeviceGetPCIBusId(char *, int, CUdevice);
CUresult sim_cuDeviceGetProperties(CUdevprop *, CUdevice);
CUresult sim_cuDeviceGetTexture1DLinearMaxWidth(size_t *, CUarray_format, unsigned, CUdevice);
CUresult sim_cuDeviceGetUuid_v2(CUuuid *, CUdevice);
CUresult sim_cuDeviceGraphMemTrim(CUdevice);
CUresult sim_cuDevicePrimaryCtxGetState(CUdevice, unsigned int *, int *);
CUresult sim_cuDevicePrimaryCtxRelease_v2(CUdevice);
CUresult sim_cuDevicePrimaryCtxReset_v2(CUdevice);
CUresult sim_cuDevicePrimaryCtxRetain(CUcontext *, CUdevice);
CUresult sim_cuDevicePrimaryCtxSetFlags_v2(CUdevice, unsigned int);
CUresult sim_cuDeviceSetGraphMemAttribute(CUdevice, CUgraphMem_attribute, void *);
CUresult sim_cuDeviceSetMemPool(CUdevice, CUmemoryPool);
CUresult sim_cuDeviceTotalMem_v2(size_t *, CUdevice);
CUresult sim_cuDriverGetVersion(int *);
CUresult sim_cuEventCreate(CUevent *, unsigned int);
CUresult sim_cuEventDestroy_v2(CUevent);
CUresult sim_cuEventElapsedTime_v2(float *, CUevent, CUevent);
CUresult sim_cuEventQuery(CUevent);
CUresult sim_cuEventRecord(CUevent, CUstream);
CUresult sim_cuEventRecordWithFlags(CUevent, CUstream, unsigned int);
CUresult sim_cuEventSynchronize(CUevent);
CUresult sim_cuFlushGPUDirectRDMAWrites(CUflushGPUDirectRDMAWritesTarget, CUflushGPUDirectRDMAWritesScope);
CUresult sim_cuFuncGetAttribute(int *, CUfunction_attribute, CUfunction);
CUresult sim_cuFuncGetModule(CUmodule *, CUfunction);
CUresult sim_cuFuncGetName(const char **, CUfunction);
CUresult sim_cuFuncIsLoaded(CUfunctionLoadingState *, CUfunction);
CUresult sim_cuFuncLoad(CUfunction);
CUresult sim_cuFuncSetAttribute(CUfunction, CUfunction_attribute, int);
CUresult sim_cuFuncSetCacheConfig(CUfunction, CUfunc_cache);
CUresult sim_cuFuncSetSharedMemConfig(CUfunction, CUsharedconfig);
CUresult sim_cuGetErrorName(CUresult, const char **);
CUresult sim_cuGetErrorString(CUresult, const char **);
CUresult sim_cuGetExportTable(const void **, const CUuuid *);
CUresult sim_cuGetProcAddress(const char *, void **, int, cuuint64_t);
CUresult sim_cuGetProcAddress_v2(const char *, void **, int, cuuint64_t, CUdriverProcAddressQueryResult *);
extern __typeof__(sim_cuGetProcAddress_v2) sim_cuGetProcAddress_v2_ptsz;
CUresult sim_cuGraphAddChildGraphNode(CUgraphNode *, CUgraph, const CUgraphNode *, size_t, CUgraph);
CUresult sim_cuGraphAddDependencies(CUgraph, const CUgraphNode *, const CUgraphNode *, size_t);
CUresult sim_cuGraphAddDependencies_v2(CUgraph, const CUgraphNode *, const CUgraphNode *,
                                       const CUgraphEdgeData *, size_t);
CUresult sim_cuGraphAddEmptyNode(CUgraphNode *, CUgraph, const CUgraphNode *, size_t);
CUresult sim_cuGraphAddEventRecordNode(CUgraphNode *, CUgraph, const CUgraphNode *, size_t, CUevent);
CUresult sim_cuGraphAddEventWaitNode(CUgraphNode *, CUgraph, const CUgraphNode *, size_t, CUevent);
CUresult sim_cuGraphAddHostNode(CUgraphNode *, CUgraph, const CUgraphNode *, size_t,
                                const CUDA_HOST_NODE_PARAMS *);
CUresult sim_cuGraphAddKernelNode(CUgraphNode *, CUgraph, const CUgraphNode *, size_t,
                                  const CUDA_KERNEL_NODE_PARAMS_v1 *);
CUresult sim_cuGraphAddKernelNode_v2(CUgraphNode *, CUgraph, const CUgraphNode *, size_t,
                                     const CUDA_KERNEL_NODE_PARAMS *);
CUresult sim_cuGraphAddMemAllocNode(CUgraphNode *, CUgraph, const CUgraphNode *, size_t,
                                    CUDA_MEM_ALLOC_NODE_PARAMS *);
CUresult sim_cuGraphAddMemFreeNode(CUgraphNode *, CUgraph, const CUgraphNode *, size_t, CUdeviceptr);
CUresult sim_cuGraphAddMemcpyNode(CUgraphNode *, CUgraph, const CUgraphNode *, size_t, const CUDA_MEMCPY3D *,
                                  CUcontext);
CUresult sim_cuGraphAddMemsetNode(CUgraphNode *, CUgraph, const CUgraphNode *, size_t,
                                  const CUDA_MEMSET_NODE_PARAMS *, CUcontext);
CUresult sim_cuGraphAddNode(CUgraphNode *, CUgraph, const CUgraphNode *, size_t, CUgraphNodeParams *);
CUresult sim_cuGraphAddNode_v2(CUgraphNode *, CUgraph, const CUgraphNode *, const CUgraphEdgeData *, size_t,
                               CUgraphNodeParams *);
CUresult sim_cuGraphChildGraphNodeGetGraph(CUgraphNode, CUgraph *);
CUresult sim_cuGraphClone(CUgraph *, CUgraph);
CUresult sim_cuGraphCreate(CUgraph *, unsigned int);
CUresult sim_cuGraphDestroy(CUgraph);
CUresult sim_cuGraphDestroyNode(CUgraphNode);
CUresult sim_cuGraphEventRecordNodeGetEvent(CUgraphNode, CUevent *);
CUresult sim_cuGraphEventRecordNodeSetEvent(CUgraphNode, CUevent);
CUresult sim_cuGraphEventWaitNodeGetEvent(CUgraphNode, CUevent *);
CUresult sim_cuGraphEventWaitNodeSetEvent(CUgraphNode, CUevent);
CUresult sim_cuGraphExecDestroy(CUgraphExec);
CUresult sim_cuGraphExecEventRecordNodeSetEvent(CUgraphExec, CUgraphNode, CUevent);
CUresult sim_cuGraphExecEventWaitNodeSetEvent(CUgraphExec, CUgraphNode, CUevent);
CUresult sim_cuGraphExecGetFlags(CUgraphExec, cuuint64_t *);
CUresult sim_cuGraphExecHostNodeSetParams(CUgraphExec, CUgraphNode, const CUDA_HOST_NODE_PARAMS *);
CUresult sim_cuGraphExecKernelNodeSetParams(CUgraphExec, CUgraphNode, const CUDA_KERNEL_NODE_PARAMS_v1 *);
CUresult sim_cuGraphExecKernelNodeSetParams_v2(CUgraphExec, CUgraphNode, const CUDA_KERNEL_NODE_PARAMS *);
CUresult sim_cuGraphExecMemcpyNodeSetParams(CUgraphExec, CUgraphNode, const CUDA_MEMCPY3D *, CUcontext);
CUresult sim_cuGraphExecMemsetNodeSetParams(CUgraphExec, CUgraphNode, const CUDA_MEMSET_NODE_PARAMS *,
                                            CUcontext);
CUresult sim_cuGraphExecUpdate(CUgraphExec, CUgraph, CUgraphNode *, CUgraphExecUpdateResult *);
CUresult sim_cuGraphExecUpdate_v2(CUgraphExec, CUgraph, CUgraphExecUpdateResultInfo *);
CUresult sim_cuGraphGetEdges(CUgraph, CUgraphNode *, CUgraphNode *, size_t *);
CUresult sim_cuGraphGetEdges_v2(CUgraph, CUgraphNode *, CUgraphNode *, CUgraphEdgeData *, size_t *);
CUresult sim_cuGraphGetNodes(CUgraph, CUgraphNode *, size_t *);
CUresult sim_cuGraphGetRootNodes(CUgraph, CUgraphNode *, size_t *);
CUresult sim_cuGraphHostNodeGetParams(CUgraphNode, CUDA_HOST_NODE_PARAMS *);
CUresult sim_cuGraphHostNodeSetParams(CUgraphNode, const CUDA_HOST_NODE_PARAMS *);
CUresult sim_cuGraphInstantiateWithFlags(CUgraphExec *, CUgraph, unsigned long long);
CUresult sim_cuGraphInstantiateWithParams(CUgraphExec *, CUgraph, CUDA_GRAPH_INSTANTIATE_PARAMS *);
CUresult sim_cuGraphInstantiate_v2(CUgraphExec *, CUgraph, CUgraphNode *, char *, size_t);
CUresult sim_cuGraphKernelNodeSetParams(CUgraphNode, const CUDA_KERNEL_NODE_PARAMS_v1 *);
CUresult sim_cuGraphKernelNodeSetParams_v2(CUgraphNode, const CUDA_KERNEL_NODE_PARAMS *);
CUresult sim_cuGraphLaunch(CUgraphExec, CUstream);
CUresult sim_cuGraphMemAllocNodeGetParams(CUgraphNode, CUDA_MEM_ALLOC_NODE_PARAMS *);
CUresult sim_cuGraphMemFreeNodeGetParams(CUgraphNode, CUdeviceptr *);
CUresult sim_cuGraphMemcpyNodeSetParams(CUgraphNode, const CUDA_MEMCPY3D *);
CUresult sim_cuGraphMemsetNodeSetParams(CUgraphNode, const CUDA_MEMSET_NODE_PARAMS *);
CUresult sim_cuGraphNodeFindInClone(CUgraphNode *, CUgraphNode, CUgraph);
CUresult sim_cuGraphNodeGetDependencies(CUgraphNode, CUgraphNode *, size_t *);
CUresult sim_cuGraphNodeGetDependencies_v2(CUgraphNode, CUgraphNode *, CUgraphEdgeData *, size_t *);
CUresult sim_cuGraphNodeGetDependentNodes(CUgraphNode, CUgraphNode *, size_t *);
CUresult sim_cuGraphNodeGetDependentNodes_v2(CUgraphNode, CUgraphNode *, CUgraphEdgeData *, size_t *);
CUresult sim_cuGraphNodeGetType(CUgraphNode, CUgraphNodeType *);
CUresult sim_cuGraphReleaseUserObject(CUgraph, CUuserObject, unsigned int);
CUresult sim_cuGraphRemoveDependencies(CUgraph, const CUgraphNode *, const CUgraphNode *, size_t);
CUresult sim_cuGraphRemoveDependencies_v2(CUgraph, const CUgraphNode *, const CUgraphNode *,
                                          const CUgraphEdgeData *, size_t);
CUresult sim_cuGraphRetainUserObject(CUgraph, CUuserObject, unsigned int, unsigned int);
CUresult sim_cuGraphUpload(CUgraphExec, CUstream);
CUresult sim_cuInit(unsigned int);
CUresult sim_cuIpcCloseMemHandle(CUdeviceptr);
CUresult sim_cuIpcGetEventHandle(CUipcEventHandle *, CUevent);
CUresult sim_cuIpcGetMemHandle(CUipcMemHandle *, CUdeviceptr);
CUresult sim_cuIpcOpenEventHandle(CUevent *, CUipcEventHandle);
CUresult sim_cuIpcOpenMemHandle_v2(CUdeviceptr *, CUipcMemHandle, unsigned int);
CUresult sim_cuKernelGetAttribute(int *, CUfunction_attribute, CUkernel, CUdevice);
CUresult sim_cuKernelGetFunction(CUfunction *, CUkernel);
CUresult sim_cuKernelGetLibrary(CUlibrary *, CUkernel);
CUresult sim_cuKernelGetName(const char **, CUkernel);
CUresult sim_cuKernelSetAttribute(CUfunction_attribute, int, CUkernel, CUdevice);
CUresult sim_cuKernelSetCacheConfig(CUkernel, CUfunc_cache, CUdevice);
CUresult sim_cuLaunchCooperativeKernel(CUfunction, unsigned int, unsigned int, unsigned int, unsigned int,
                                       unsigned int, unsigned int, unsigned int, CUstream, void **);
CUresult sim_cuLaunchHostFunc(CUstream, CUhostFn, void *);
CUresult sim_cuLaunchKernel(CUfunction, unsigned int, unsigned int, unsigned int, unsigned int, unsigned int,
                            unsigned int, unsigned int, CUstream, void **, void **);
CUresult sim_cuLaunchKernelEx(const CUlaunchConfig *, CUfunction, void **, void **);
extern __typeof__(sim_cuLaunchKernelEx) sim_cuLaunchKernelEx_ptsz;
CUresult sim_cuLibraryEnumerateKernels(CUkernel *, unsigned int, CUlibrary);
CUresult sim_cuLibraryGetGlobal(CUdeviceptr *, size_t *, CUlibrary, const char *);
CUresult sim_cuLibraryGetKernel(CUkernel *, CUlibrary, const char *);
CUresult sim_cuLibraryGetKernelCount(unsigned int *, CUlibrary);
CUresult sim_cuLibraryGetModule(CUmodule *, CUlibrary);
CUresult sim_cuLibraryLoadData(CUlibrary *, const void *, CUjit_option *, void **, unsigned int,
                               CUlibraryOption *, void **, unsigned int);
CUresult sim_cuLibraryLoadFromFile(CUlibrary *, const char *, CUjit_option *, void **, unsigned int,
                                   CUlibraryOption *, void **, unsigned int);
CUresult sim_cuLibraryUnload(CUlibrary);
CUresult sim_cuLogsCurrent(CUlogIterator *, unsigned int);
CUresult sim_cuLogsDumpToMemory(CUlogIterator *, char *, size_t *, unsigned int);
CUresult sim_cuLogsRegisterCallback(CUlogsCallback, void *, CUlogsCallbackHandle *);
CUresult sim_cuLogsUnregisterCallback(CUlogsCallbackHandle);
CUresult sim_cuMemAddressFree(CUdeviceptr, size_t);
CUresult sim_cuMemAddressReserve(CUdeviceptr *, size_t, size_t, CUdeviceptr, unsigned long long);
CUresult sim_cuMemAdvise(CUdeviceptr, size_t, CUmem_advise, CUdevice);
CUresult sim_cuMemAdvise_v2(CUdeviceptr, size_t, CUmem_advise, CUmemLocation);
CUresult sim_cuMemAllocAsync(CUdeviceptr *, size_t, CUstream);
CUresult sim_cuMemAllocFromPoolAsync(CUdeviceptr *, size_t, CUmemoryPool, CUstream);
CUresult sim_cuMemAllocHost(void **, unsigned int);
CUresult sim_cuMemAllocHost_v2(void **, size_t);
CUresult sim_cuMemAllocManaged(CUdeviceptr *, size_t, unsigned int);
CUresult sim_cuMemAllocPitch_v2(CUdeviceptr *, size_t *, size_t, size_t, unsigned int);
CUresult sim_cuMemAlloc_v2(CUdeviceptr *, size_t);
CUresult sim_cuMemCreate(CUmemGenericAllocationHandle *, size_t, const CUmemAllocationProp *,
                         unsigned long long);
CUresult sim_cuMemExportToShareableHandle(void *, CUmemGenericAllocationHandle, CUmemAllocationHandleType,
                                          unsigned long long);
CUresult sim_cuMemFreeAsync(CUdeviceptr, CUstream);
CUresult sim_cuMemFreeHost(void *);
CUresult sim_cuMemFree_v2(CUdeviceptr);
CUresult sim_cuMemGetAccess(unsigned long long *, const CUmemLocation *, CUdeviceptr);
CUresult sim_cuMemGetAddressRange_v2(CUdeviceptr *, size_t *, CUdeviceptr);
CUresult sim_cuMemGetAllocationGranularity(size_t *, const CUmemAllocationProp *,
                                           CUmemAllocationGranularity_flags);
CUresult sim_cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp *, CUmemGenericAllocationHandle);
CUresult sim_cuMemGetDefaultMemPool(CUmemoryPool *, CUmemLocation *, CUmemAllocationType);
CUresult sim_cuMemGetInfo_v2(size_t *, size_t *);
CUresult sim_cuMemGetMemPool(CUmemoryPool *, CUmemLocation *, CUmemAllocationType);
CUresult sim_cuMemHostAlloc(void **, size_t, unsigned int);
CUresult sim_cuMemHostGetDevicePointer_v2(CUdeviceptr *, void *, unsigned int);
CUresult sim_cuMemHostGetFlags(unsigned int *, void *);
CUresult sim_cuMemHostRegister_v2(void *, size_t, unsigned int);
CUresult sim_cuMemHostUnregister(void *);
CUresult sim_cuMemImportFromShareableHandle(CUmemGenericAllocationHandle *, void *,
                                            CUmemAllocationHandleType);
CUresult sim_cuMemMap(CUdeviceptr, size_t, size_t, CUmemGenericAllocationHandle, unsigned long long);
CUresult sim_cuMemPoolCreate(CUmemoryPool *, const CUmemPoolProps *);
CUresult sim_cuMemPoolDestroy(CUmemoryPool);
CUresult sim_cuMemPoolGetAccess(CUmemAccess_flags *, CUmemoryPool, CUmemLocation *);
CUresult sim_cuMemPoolGetAttribute(CUmemoryPool, CUmemPool_attribute, void *);
CUresult sim_cuMemPoolSetAccess(CUmemoryPool, const CUmemAccessDesc *, size_t);
CUresult sim_cuMemPoolSetAttribute(CUmemoryPool, CUmemPool_attribute, void *);
CUresult sim_cuMemPoolTrimTo(CUmemoryPool, size_t);
CUresult sim_cuMemPrefetchAsync(CUdeviceptr, size_t, CUdevice, CUstream);
CUresult sim_cuMemPrefetchAsync_v2(CUdeviceptr, size_t, CUmemLocation, unsigned int, CUstream);
CUresult sim_cuMemRangeGetAttribute(void *, size_t, CUmem_range_attribute, CUdeviceptr, size_t);
CUresult sim_cuMemRangeGetAttributes(void **, size_t *, CUmem_range_attribute *, size_t, CUdeviceptr, size_t);
CUresult sim_cuMemRelease(CUmemGenericAllocationHandle);
CUresult sim_cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *, void *);
CUresult sim_cuMemSetAccess(CUdeviceptr, size_t, const CUmemAccessDesc *, size_t);
CUresult sim_cuMemSetMemPool(CUmemLocation *, CUmemAllocationType, CUmemoryPool);
CUresult sim_cuMemUnmap(CUdeviceptr, size_t);
CUresult sim_cuMemcpy(CUdeviceptr, CUdeviceptr, size_t);
CUresult sim_cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D *, CUstream);
CUresult sim_cuMemcpy2D_v2(const CUDA_MEMCPY2D *);
CUresult sim_cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D *, CUstream);
CUresult sim_cuMemcpy3DPeer(const CUDA_MEMCPY3D_PEER *);
CUresult sim_cuMemcpy3DPeerAsync(const CUDA_MEMCPY3D_PEER *, CUstream);
CUresult sim_cuMemcpy3D_v2(const CUDA_MEMCPY3D *);
CUresult sim_cuMemcpyAsync(CUdeviceptr, CUdeviceptr, size_t, CUstream);
CUresult sim_cuMemcpyAtoA_v2(CUarray, size_t, CUarray, size_t, size_t);
CUresult sim_cuMemcpyAtoD_v2(CUdeviceptr, CUarray, size_t, size_t);
CUresult sim_cuMemcpyAtoHAsync_v2(void *, CUarray, size_t, size_t, CUstream);
CUresult sim_cuMemcpyAtoH_v2(void *, CUarray, size_t, size_t);
CUresult sim_cuMemcpyBatchAsync(CUdeviceptr *, CUdeviceptr *, size_t *, size_t, CUmemcpyAttributes *,
                                size_t *, size_t, size_t *, CUstream);
CUresult sim_cuMemcpyBatchAsync_v2(CUdeviceptr *, CUdeviceptr *, size_t *, size_t, CUmemcpyAttributes *,
                                   size_t *, size_t, CUstream);
CUresult sim_cuMemcpyDtoA_v2(CUarray, size_t, CUdeviceptr, size_t);
CUresult sim_cuMemcpyDtoDAsync_v2(CUdeviceptr, CUdeviceptr, size_t, CUstream);
CUresult sim_cuMemcpyDtoD_v2(CUdeviceptr, CUdeviceptr, size_t);
CUresult sim_cuMemcpyDtoHAsync_v2(void *, CUdeviceptr, size_t, CUstream);
CUresult sim_cuMemcpyDtoH_v2(void *, CUdeviceptr, size_t);
CUresult sim_cuMemcpyHtoAAsync_v2(CUarray, size_t, const void *, size_t, CUstream);
CUresult sim_cuMemcpyHtoA_v2(CUarray, size_t, const void *, size_t);
CUresult sim_cuMemcpyHtoDAsync_v2(CUdeviceptr, const void *, size_t, CUstream);
CUresult sim_cuMemcpyHtoD_v2(CUdeviceptr, const void *, size_t);
CUresult sim_cuMemcpyPeer(CUdeviceptr, CUcontext, CUdeviceptr, CUcontext, size_t);
CUresult sim_cuMemcpyPeerAsync(CUdeviceptr, CUcontext, CUdeviceptr, CUcontext, size_t, CUstream);
CUresult sim_cuMemsetD16Async(CUdeviceptr, unsigned short, size_t, CUstream);
CUresult sim_cuMemsetD16_v2(CUdeviceptr, unsigned short, size_t);
CUresult sim_cuMemsetD2D16Async(CUdeviceptr, size_t, unsigned short, size_t, size_t, CUstream);
CUresult sim_cuMemsetD2D16_v2(CUdeviceptr, size_t, unsigned short, size_t, size_t);
CUresult sim_cuMemsetD2D32Async(CUdeviceptr, size_t, unsigned int, size_t, size_t, CUstream);
CUresult sim_cuMemsetD2D32_v2(CUdeviceptr, size_t, unsigned int, size_t, size_t);
CUresult sim_cuMemsetD2D8Async(CUdeviceptr, size_t, unsigned char, size_t, size_t, CUstream);
CUresult sim_cuMemsetD2D8_v2(CUdeviceptr, size_t, unsigned char, size_t, size_t);
CUresult sim_cuMemsetD32Async(CUdeviceptr, unsigned int, size_t, CUstream);
CUresult sim_cuMemsetD32_v2(CUdeviceptr, unsigned int, size_t);
CUresult sim_cuMemsetD8Async(CUdeviceptr, unsigned char, size_t, CUstream);
CUresult sim_cuMemsetD8_v2(CUdeviceptr, unsigned char, size_t);
CUresult sim_cuModuleEnumerateFunctions(CUfunction *, unsigned int, CUmodule);
CUresult sim_cuModuleGetFunction(CUfunction *, CUmodule, const char *);
CUresult sim_cuModuleGetFunctionCount(unsigned int *, CUmodule);
CUresult sim_cuModuleGetGlobal_v2(CUdeviceptr *, size_t *, CUmodule, const char *);
CUresult sim_cuModuleGetLoadingMode(CUmoduleLoadingMode *);
CUresult sim_cuModuleLoad(CUmodule *, const char *);
CUresult sim_cuModuleLoadData(CUmodule *, const void *);
CUresult sim_cuModuleLoadDataEx(CUmodule *, const void *, unsigned int, CUjit_option *, void **);
CUresult sim_cuModuleLoadFatBinary(CUmodule *, const void *);
CUresult sim_cuModuleUnload(CUmodule);
CUresult sim_cuOccupancyAvailableDynamicSMemPerBlock(size_t *, CUfunction, int, int);
CUresult sim_cuOccupancyMaxActiveBlocksPerMultiprocessor(int *, CUfunction, int, size_t);
CUresult sim_cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *, CUfunction, int, size_t,
                                                                  unsigned int);
CUresult sim_cuOccupancyMaxActiveClusters(int *, CUfunction, const CUlaunchConfig *);
CUresult sim_cuOccupancyMaxPotentialBlockSize(int *, int *, CUfunction, CUoccupancyB2DSize, size_t, int);
CUresult sim_cuOccupancyMaxPotentialBlockSizeWithFlags(int *, int *, CUfunction, CUoccupancyB2DSize, size_t,
                                                       int, unsigned int);
CUresult sim_cuOccupancyMaxPotentialClusterSize(int *, CUfunction, const CUlaunchConfig *);
CUresult sim_cuPointerGetAttribute(void *, CUpointer_attribute, CUdeviceptr);
CUresult sim_cuPointerGetAttributes(unsigned int, CUpointer_attribute *, void **, CUdeviceptr);
CUresult sim_cuPointerSetAttribute(const void *, CUpointer_attribute, CUdeviceptr);
CUresult sim_cuProfilerInitialize(const char *, const char *, CUoutput_mode);
CUresult sim_cuProfilerStart(void);
CUresult sim_cuProfilerStop(void);
CUresult sim_cuStreamAddCallback(CUstream, CUstreamCallback, void *, unsigned int);
CUresult sim_cuStreamAttachMemAsync(CUstream, CUdeviceptr, size_t, unsigned int);
CUresult sim_cuStreamBatchMemOp_v2(CUstream, unsigned int, CUstreamBatchMemOpParams *, unsigned int);
CUresult sim_cuStreamBeginCapture(CUstream);
CUresult sim_cuStreamBeginCaptureToGraph(CUstream, CUgraph, const CUgraphNode *, const CUgraphEdgeData *,
                                         size_t, CUstreamCaptureMode);
CUresult sim_cuStreamBeginCapture_v2(CUstream, CUstreamCaptureMode);
CUresult sim_cuStreamCopyAttributes(CUstream, CUstream);
CUresult sim_cuStreamCreate(CUstream *, unsigned int);
CUresult sim_cuStreamCreateWithPriority(CUstream *, unsigned int, int);
CUresult sim_cuStreamDestroy_v2(CUstream);
CUresult sim_cuStreamEndCapture(CUstream, CUgraph *);
CUresult sim_cuStreamGetAttribute(CUstream, CUstreamAttrID, CUstreamAttrValue *);
CUresult sim_cuStreamGetCaptureInfo(CUstream, CUstreamCaptureStatus *, cuuint64_t *);
CUresult sim_cuStreamGetCaptureInfo_v2(CUstream, CUstreamCaptureStatus *, cuuint64_t *, CUgraph *,
                                       const CUgraphNode **, size_t *);
CUresult sim_cuStreamGetCaptureInfo_v3(CUstream, CUstreamCaptureStatus *, cuuint64_t *, CUgraph *,
                                       const CUgraphNode **, const CUgraphEdgeData **, size_t *);
CUresult sim_cuStreamGetCtx(CUstream, CUcontext *);
CUresult sim_cuStreamGetCtx_v2(CUstream, CUcontext *, CUgreenCtx *);
CUresult sim_cuStreamGetDevice(CUstream, CUdevice *);
CUresult sim_cuStreamGetFlags(CUstream, unsigned int *);
CUresult sim_cuStreamGetId(CUstream, unsigned long long *);
CUresult sim_cuStreamGetPriority(CUstream, int *);
CUresult sim_cuStreamIsCapturing(CUstream, CUstreamCaptureStatus *);
CUresult sim_cuStreamQuery(CUstream);
CUresult sim_cuStreamSetAttribute(CUstream, CUstreamAttrID, const CUstreamAttrValue *);
CUresult sim_cuStreamSynchronize(CUstream);
CUresult sim_cuStreamUpdateCaptureDependencies(CUstream, CUgraphNode *, size_t, unsigned int);
CUresult sim_cuStreamUpdateCaptureDependencies_v2(CUstream, CUgraphNode *, const CUgraphEdgeData *, size_t,
                                                  unsigned int);
CUresult sim_cuStreamWaitEvent(CUstream, CUevent, unsigned int);
CUresult sim_cuStreamWaitValue32_v2(CUstream, CUdeviceptr, cuuint32_t, unsigned int);
CUresult sim_cuStreamWaitValue64_v2(CUstream, CUdeviceptr, cuuint64_t, unsigned int);
CUresult sim_cuStreamWriteValue32_v2(CUstream, CUdeviceptr, cuuint32_t, unsigned int);
CUresult sim_cuStreamWriteValue64_v2(CUstream, CUdeviceptr, cuuint64_t, unsigned int);
CUresult sim_cuTensorMapEncodeIm2col(CUtensorMap *, CUtensorMapDataType, cuuint32_t, void *,
                                     const cuuint64_t *, const cuuint64_t *, const int *, const int *,
                                     cuuint32_t, cuuint32_t, const cuuint32_t *, CUtensorMapInterleave,
                                     CUtensorMapSwizzle, CUtensorMapL2promotion, CUtensorMapFloatOOBfill);
CUresult sim_cuTensorMapEncodeIm2colWide(CUtensorMap *, CUtensorMapDataType, cuuint32_t, void *,
                                         const cuuint64_t *, const cuuint64_t *, int, int, cuuint32_t,
                                         cuuint32_t, const cuuint32_t *, CUtensorMapInterleave,
                                         CUtensorMapIm2ColWideMode, CUtensorMapSwizzle,
                                         CUtensorMapL2promotion, CUtensorMapFloatOOBfill);
CUresult sim_cuTensorMapEncodeTiled(CUtensorMap *, CUtensorMapDataType, cuuint32_t, void *,
                                    const cuuint64_t *, const cuuint64_t *, const cuuint32_t *,
                                    const cuuint32_t *, CUtensorMapInterleave, CUtensorMapSwizzle,
                                    CUtensorMapL2promotion, CUtensorMapFloatOOBfill);
CUresult sim_cuTensorMapReplaceAddress(CUtensorMap *, void *);
CUresult sim_cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *);
CUresult sim_cuUserObjectCreate(CUuserObject *, void *, CUhostFn, unsigned int, unsigned int);
CUresult sim_cuUserObjectRelease(CUuserObject, unsigned int);
CUresult sim_cuUserObjectRetain(CUuserObject, unsigned int);

#endif
