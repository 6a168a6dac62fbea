/* Calls without effect on a device that computes nothing: profiling, logs, tensor maps, flushes. */
#include <string.h>

#include "faces/simcuda/driver/driver.h"

CUresult sim_cuProfilerInitialize(const char *config, const char *output, CUoutput_mode mode) {
  (void)config;
  (void)output;
  (void)mode;
  return CUDA_ERROR_NOT_SUPPORTED; /* as current drivers answer */
}
CUresult sim_cuProfilerStart(void) {
  vs_driver_at at;
  return vs_driver_enter(&at);
}
CUresult sim_cuProfilerStop(void) {
  vs_driver_at at;
  return vs_driver_enter(&at);
}

/* ---- logs: calls succeed, and nothing is logged */

CUresult sim_cuLogsRegisterCallback(CUlogsCallback function, void *data, CUlogsCallbackHandle *handle) {
  (void)data;
  VS_CU_NEED(function != NULL);
  if (handle != NULL) *handle = vs_handle(1);
  return CUDA_SUCCESS;
}
CUresult sim_cuLogsUnregisterCallback(CUlogsCallbackHandle handle) {
  VS_CU_NEED(handle != NULL);
  return CUDA_SUCCESS;
}
CUresult sim_cuLogsCurrent(CUlogIterator *iterator, unsigned int flags) {
  VS_CU_NEED(iterator != NULL && flags == 0);
  *iterator = 0;
  return CUDA_SUCCESS;
}
CUresult sim_cuLogsDumpToMemory(CUlogIterator *iterator, char *buffer, size_t *size, unsigned int flags) {
  (void)iterator;
  VS_CU_NEED(buffer != NULL && size != NULL && *size != 0 && flags == 0);
  buffer[0] = 0;
  *size = 0;
  return CUDA_SUCCESS;
}

/* ---- tensor maps: kernels would read them */

static CUresult encode(CUtensorMap *map, cuuint32_t rank, const void *dimensions) {
  VS_CU_NEED(map != NULL && rank >= 1 && rank <= 5 && dimensions != NULL);
  memset(map, 0, sizeof *map);
  return CUDA_SUCCESS;
}

CUresult sim_cuTensorMapEncodeTiled(CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank,
                                    void *address, const cuuint64_t *dimensions, const cuuint64_t *strides,
                                    const cuuint32_t *box, const cuuint32_t *element_strides,
                                    CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                                    CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill) {
  (void)type, (void)address, (void)strides, (void)box, (void)element_strides;
  (void)interleave, (void)swizzle, (void)promotion, (void)fill;
  return encode(map, rank, dimensions);
}

CUresult sim_cuTensorMapEncodeIm2col(CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank,
                                     void *address, const cuuint64_t *dimensions, const cuuint64_t *strides,
                                     const int *lower, const int *upper, cuuint32_t channels,
                                     cuuint32_t pixels, const cuuint32_t *element_strides,
                                     CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                                     CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill) {
  (void)type, (void)address, (void)strides, (void)lower, (void)upper, (void)channels, (void)pixels;
  (void)element_strides, (void)interleave, (void)swizzle, (void)promotion, (void)fill;
  return encode(map, rank, dimensions);
}

CUresult sim_cuTensorMapEncodeIm2colWide(CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank,
                                         void *address, const cuuint64_t *dimensions,
                                         const cuuint64_t *strides, int lower, int upper, cuuint32_t channels,
                                         cuuint32_t pixels, const cuuint32_t *element_strides,
                                         CUtensorMapInterleave interleave, CUtensorMapIm2ColWideMode mode,
                                         CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion,
                                         CUtensorMapFloatOOBfill fill) {
  (void)type, (void)address, (void)strides, (void)lower, (void)upper, (void)channels, (void)pixels;
  (void)element_strides, (void)interleave, (void)mode, (void)swizzle, (void)promotion, (void)fill;
  return encode(map, rank, dimensions);
}

CUresult sim_cuTensorMapReplaceAddress(CUtensorMap *map, void *address) {
  (void)address;
  VS_CU_NEED(map != NULL);
  return CUDA_SUCCESS;
}

CUresult sim_cuFlushGPUDirectRDMAWrites(CUflushGPUDirectRDMAWritesTarget target,
                                        CUflushGPUDirectRDMAWritesScope scope) {
  (void)target;
  (void)scope;
  return CUDA_ERROR_NOT_SUPPORTED;
}
