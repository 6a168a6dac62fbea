/* The names that end in _ptsz, which programs call that were compiled for per-thread default streams: stream
 * 0 is the calling thread's own default stream there. (Those in _ptds have no stream and wait; they stand
 * beside what they are other names of.) */
#include "faces/simcuda/driver/driver.h"

static CUstream own(CUstream stream) { return stream == NULL ? vs_handle(VS_SIM_STREAM_PER_THREAD) : stream; }

CUresult sim_cuEventRecordWithFlags_ptsz(CUevent a, CUstream b, unsigned int c) {
  return sim_cuEventRecordWithFlags(a, own(b), c);
}
CUresult sim_cuEventRecord_ptsz(CUevent a, CUstream b) { return sim_cuEventRecord(a, own(b)); }
CUresult sim_cuGraphLaunch_ptsz(CUgraphExec a, CUstream b) { return sim_cuGraphLaunch(a, own(b)); }
CUresult sim_cuGraphUpload_ptsz(CUgraphExec a, CUstream b) { return sim_cuGraphUpload(a, own(b)); }
CUresult sim_cuLaunchCooperativeKernel_ptsz(CUfunction a, unsigned int b, unsigned int c, unsigned int d,
                                            unsigned int e, unsigned int f, unsigned int g, unsigned int h,
                                            CUstream i, void **j) {
  return sim_cuLaunchCooperativeKernel(a, b, c, d, e, f, g, h, own(i), j);
}
CUresult sim_cuLaunchHostFunc_ptsz(CUstream a, CUhostFn b, void *c) {
  return sim_cuLaunchHostFunc(own(a), b, c);
}
CUresult sim_cuLaunchKernel_ptsz(CUfunction a, unsigned int b, unsigned int c, unsigned int d, unsigned int e,
                                 unsigned int f, unsigned int g, unsigned int h, CUstream i, void **j,
                                 void **k) {
  return sim_cuLaunchKernel(a, b, c, d, e, f, g, h, own(i), j, k);
}
CUresult sim_cuMemAllocAsync_ptsz(CUdeviceptr *a, size_t b, CUstream c) {
  return sim_cuMemAllocAsync(a, b, own(c));
}
CUresult sim_cuMemAllocFromPoolAsync_ptsz(CUdeviceptr *a, size_t b, CUmemoryPool c, CUstream d) {
  return sim_cuMemAllocFromPoolAsync(a, b, c, own(d));
}
CUresult sim_cuMemFreeAsync_ptsz(CUdeviceptr a, CUstream b) { return sim_cuMemFreeAsync(a, own(b)); }
CUresult sim_cuMemPrefetchAsync_ptsz(CUdeviceptr a, size_t b, CUdevice c, CUstream d) {
  return sim_cuMemPrefetchAsync(a, b, c, own(d));
}
CUresult sim_cuMemPrefetchAsync_v2_ptsz(CUdeviceptr a, size_t b, CUmemLocation c, unsigned int d,
                                        CUstream e) {
  return sim_cuMemPrefetchAsync_v2(a, b, c, d, own(e));
}
CUresult sim_cuMemcpy2DAsync_v2_ptsz(const CUDA_MEMCPY2D *a, CUstream b) {
  return sim_cuMemcpy2DAsync_v2(a, own(b));
}
CUresult sim_cuMemcpy3DAsync_v2_ptsz(const CUDA_MEMCPY3D *a, CUstream b) {
  return sim_cuMemcpy3DAsync_v2(a, own(b));
}
CUresult sim_cuMemcpy3DPeerAsync_ptsz(const CUDA_MEMCPY3D_PEER *a, CUstream b) {
  return sim_cuMemcpy3DPeerAsync(a, own(b));
}
CUresult sim_cuMemcpyAsync_ptsz(CUdeviceptr a, CUdeviceptr b, size_t c, CUstream d) {
  return sim_cuMemcpyAsync(a, b, c, own(d));
}
CUresult sim_cuMemcpyAtoHAsync_v2_ptsz(void *a, CUarray b, size_t c, size_t d, CUstream e) {
  return sim_cuMemcpyAtoHAsync_v2(a, b, c, d, own(e));
}
CUresult sim_cuMemcpyBatchAsync_ptsz(CUdeviceptr *a, CUdeviceptr *b, size_t *c, size_t d,
                                     CUmemcpyAttributes *e, size_t *f, size_t g, size_t *h, CUstream i) {
  return sim_cuMemcpyBatchAsync(a, b, c, d, e, f, g, h, own(i));
}
CUresult sim_cuMemcpyBatchAsync_v2_ptsz(CUdeviceptr *a, CUdeviceptr *b, size_t *c, size_t d,
                                        CUmemcpyAttributes *e, size_t *f, size_t g, CUstream h) {
  return sim_cuMemcpyBatchAsync_v2(a, b, c, d, e, f, g, own(h));
}
CUresult sim_cuMemcpyDtoDAsync_v2_ptsz(CUdeviceptr a, CUdeviceptr b, size_t c, CUstream d) {
  return sim_cuMemcpyDtoDAsync_v2(a, b, c, own(d));
}
CUresult sim_cuMemcpyDtoHAsync_v2_ptsz(void *a, CUdeviceptr b, size_t c, CUstream d) {
  return sim_cuMemcpyDtoHAsync_v2(a, b, c, own(d));
}
CUresult sim_cuMemcpyHtoAAsync_v2_ptsz(CUarray a, size_t b, const void *c, size_t d, CUstream e) {
  return sim_cuMemcpyHtoAAsync_v2(a, b, c, d, own(e));
}
CUresult sim_cuMemcpyHtoDAsync_v2_ptsz(CUdeviceptr a, const void *b, size_t c, CUstream d) {
  return sim_cuMemcpyHtoDAsync_v2(a, b, c, own(d));
}
CUresult sim_cuMemcpyPeerAsync_ptsz(CUdeviceptr a, CUcontext b, CUdeviceptr c, CUcontext d, size_t e,
                                    CUstream f) {
  return sim_cuMemcpyPeerAsync(a, b, c, d, e, own(f));
}
CUresult sim_cuMemsetD16Async_ptsz(CUdeviceptr a, unsigned short b, size_t c, CUstream d) {
  return sim_cuMemsetD16Async(a, b, c, own(d));
}
CUresult sim_cuMemsetD2D16Async_ptsz(CUdeviceptr a, size_t b, unsigned short c, size_t d, size_t e,
                                     CUstream f) {
  return sim_cuMemsetD2D16Async(a, b, c, d, e, own(f));
}
CUresult sim_cuMemsetD2D32Async_ptsz(CUdeviceptr a, size_t b, unsigned int c, size_t d, size_t e,
                                     CUstream f) {
  return sim_cuMemsetD2D32Async(a, b, c, d, e, own(f));
}
CUresult sim_cuMemsetD2D8Async_ptsz(CUdeviceptr a, size_t b, unsigned char c, size_t d, size_t e,
                                    CUstream f) {
  return sim_cuMemsetD2D8Async(a, b, c, d, e, own(f));
}
CUresult sim_cuMemsetD32Async_ptsz(CUdeviceptr a, unsigned int b, size_t c, CUstream d) {
  return sim_cuMemsetD32Async(a, b, c, own(d));
}
CUresult sim_cuMemsetD8Async_ptsz(CUdeviceptr a, unsigned char b, size_t c, CUstream d) {
  return sim_cuMemsetD8Async(a, b, c, own(d));
}
CUresult sim_cuStreamAddCallback_ptsz(CUstream a, CUstreamCallback b, void *c, unsigned int d) {
  return sim_cuStreamAddCallback(own(a), b, c, d);
}
CUresult sim_cuStreamAttachMemAsync_ptsz(CUstream a, CUdeviceptr b, size_t c, unsigned int d) {
  return sim_cuStreamAttachMemAsync(own(a), b, c, d);
}
CUresult sim_cuStreamBatchMemOp_ptsz(CUstream a, unsigned int b, CUstreamBatchMemOpParams *c,
                                     unsigned int d) {
  return sim_cuStreamBatchMemOp(own(a), b, c, d);
}
CUresult sim_cuStreamBatchMemOp_v2_ptsz(CUstream a, unsigned int b, CUstreamBatchMemOpParams *c,
                                        unsigned int d) {
  return sim_cuStreamBatchMemOp_v2(own(a), b, c, d);
}
CUresult sim_cuStreamBeginCaptureToGraph_ptsz(CUstream a, CUgraph b, const CUgraphNode *c,
                                              const CUgraphEdgeData *d, size_t e, CUstreamCaptureMode f) {
  return sim_cuStreamBeginCaptureToGraph(own(a), b, c, d, e, f);
}
CUresult sim_cuStreamBeginCapture_ptsz(CUstream a) { return sim_cuStreamBeginCapture(own(a)); }
CUresult sim_cuStreamBeginCapture_v2_ptsz(CUstream a, CUstreamCaptureMode b) {
  return sim_cuStreamBeginCapture_v2(own(a), b);
}
CUresult sim_cuStreamCopyAttributes_ptsz(CUstream a, CUstream b) {
  return sim_cuStreamCopyAttributes(own(a), own(b));
}
CUresult sim_cuStreamEndCapture_ptsz(CUstream a, CUgraph *b) { return sim_cuStreamEndCapture(own(a), b); }
CUresult sim_cuStreamGetAttribute_ptsz(CUstream a, CUstreamAttrID b, CUstreamAttrValue *c) {
  return sim_cuStreamGetAttribute(own(a), b, c);
}
CUresult sim_cuStreamGetCaptureInfo_ptsz(CUstream a, CUstreamCaptureStatus *b, cuuint64_t *c) {
  return sim_cuStreamGetCaptureInfo(own(a), b, c);
}
CUresult sim_cuStreamGetCaptureInfo_v2_ptsz(CUstream a, CUstreamCaptureStatus *b, cuuint64_t *c, CUgraph *d,
                                            const CUgraphNode **e, size_t *f) {
  return sim_cuStreamGetCaptureInfo_v2(own(a), b, c, d, e, f);
}
CUresult sim_cuStreamGetCaptureInfo_v3_ptsz(CUstream a, CUstreamCaptureStatus *b, cuuint64_t *c, CUgraph *d,
                                            const CUgraphNode **e, const CUgraphEdgeData **f, size_t *g) {
  return sim_cuStreamGetCaptureInfo_v3(own(a), b, c, d, e, f, g);
}
CUresult sim_cuStreamGetCtx_ptsz(CUstream a, CUcontext *b) { return sim_cuStreamGetCtx(own(a), b); }
CUresult sim_cuStreamGetCtx_v2_ptsz(CUstream a, CUcontext *b, CUgreenCtx *c) {
  return sim_cuStreamGetCtx_v2(own(a), b, c);
}
CUresult sim_cuStreamGetDevice_ptsz(CUstream a, CUdevice *b) { return sim_cuStreamGetDevice(own(a), b); }
CUresult sim_cuStreamGetFlags_ptsz(CUstream a, unsigned int *b) { return sim_cuStreamGetFlags(own(a), b); }
CUresult sim_cuStreamGetId_ptsz(CUstream a, unsigned long long *b) { return sim_cuStreamGetId(own(a), b); }
CUresult sim_cuStreamGetPriority_ptsz(CUstream a, int *b) { return sim_cuStreamGetPriority(own(a), b); }
CUresult sim_cuStreamIsCapturing_ptsz(CUstream a, CUstreamCaptureStatus *b) {
  return sim_cuStreamIsCapturing(own(a), b);
}
CUresult sim_cuStreamQuery_ptsz(CUstream a) { return sim_cuStreamQuery(own(a)); }
CUresult sim_cuStreamSetAttribute_ptsz(CUstream a, CUstreamAttrID b, const CUstreamAttrValue *c) {
  return sim_cuStreamSetAttribute(own(a), b, c);
}
CUresult sim_cuStreamSynchronize_ptsz(CUstream a) { return sim_cuStreamSynchronize(own(a)); }
CUresult sim_cuStreamUpdateCaptureDependencies_ptsz(CUstream a, CUgraphNode *b, size_t c, unsigned int d) {
  return sim_cuStreamUpdateCaptureDependencies(own(a), b, c, d);
}
CUresult sim_cuStreamUpdateCaptureDependencies_v2_ptsz(CUstream a, CUgraphNode *b, const CUgraphEdgeData *c,
                                                       size_t d, unsigned int e) {
  return sim_cuStreamUpdateCaptureDependencies_v2(own(a), b, c, d, e);
}
CUresult sim_cuStreamWaitEvent_ptsz(CUstream a, CUevent b, unsigned int c) {
  return sim_cuStreamWaitEvent(own(a), b, c);
}
CUresult sim_cuStreamWaitValue32_ptsz(CUstream a, CUdeviceptr b, cuuint32_t c, unsigned int d) {
  return sim_cuStreamWaitValue32(own(a), b, c, d);
}
CUresult sim_cuStreamWaitValue32_v2_ptsz(CUstream a, CUdeviceptr b, cuuint32_t c, unsigned int d) {
  return sim_cuStreamWaitValue32_v2(own(a), b, c, d);
}
CUresult sim_cuStreamWaitValue64_ptsz(CUstream a, CUdeviceptr b, cuuint64_t c, unsigned int d) {
  return sim_cuStreamWaitValue64(own(a), b, c, d);
}
CUresult sim_cuStreamWaitValue64_v2_ptsz(CUstream a, CUdeviceptr b, cuuint64_t c, unsigned int d) {
  return sim_cuStreamWaitValue64_v2(own(a), b, c, d);
}
CUresult sim_cuStreamWriteValue32_ptsz(CUstream a, CUdeviceptr b, cuuint32_t c, unsigned int d) {
  return sim_cuStreamWriteValue32(own(a), b, c, d);
}
CUresult sim_cuStreamWriteValue32_v2_ptsz(CUstream a, CUdeviceptr b, cuuint32_t c, unsigned int d) {
  return sim_cuStreamWriteValue32_v2(own(a), b, c, d);
}
CUresult sim_cuStreamWriteValue64_ptsz(CUstream a, CUdeviceptr b, cuuint64_t c, unsigned int d) {
  return sim_cuStreamWriteValue64(own(a), b, c, d);
}
CUresult sim_cuStreamWriteValue64_v2_ptsz(CUstream a, CUdeviceptr b, cuuint64_t c, unsigned int d) {
  return sim_cuStreamWriteValue64_v2(own(a), b, c, d);
}

CUresult sim_cuLaunchKernelEx_ptsz(const CUlaunchConfig *config, CUfunction function, void **arguments,
                                   void **extra) {
  VS_CU_NEED(config != NULL);
  CUlaunchConfig on_own = *config;
  on_own.hStream = own(config->hStream);
  return sim_cuLaunchKernelEx(&on_own, function, arguments, extra);
}

CUresult sim_cuGraphInstantiateWithParams_ptsz(CUgraphExec *exec, CUgraph graph,
                                               CUDA_GRAPH_INSTANTIATE_PARAMS *parameters) {
  return sim_cuGraphInstantiateWithParams(exec, graph, parameters);
}
