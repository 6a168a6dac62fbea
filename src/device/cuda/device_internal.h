/* Private to the files of vs_cuda_device: device.c; visit.c, which makes the calls; vmm.c, capture.c and pool.c, which are parts
 * of the table of functions. */
#ifndef VS_DEVICE_CUDA_DEVICE_INTERNAL_H
#define VS_DEVICE_CUDA_DEVICE_INTERNAL_H

#include "device/cuda/calls.h"
#include "device/cuda/device.h"

enum { VS_CUDA__MISSING = -1 };

/* ---- visit.c */

/* Makes the card's context current, and creates it if necessary. */
CUresult vs_cuda__begin(vs_cuda_device *device, vs_cuda_visit *visit);
void vs_cuda__end(vs_cuda_device *device, const vs_cuda_visit *visit);

/* Calls a function of the driver with the card's context current. */
#define VS_CUDA__CALL(device, name, ...)                  \
  __extension__({                                         \
    vs_cuda_visit visit_;                                 \
    CUresult result_ = vs_cuda__begin((device), &visit_); \
    if (result_ == CUDA_SUCCESS) {                        \
      result_ = (device)->cuda->api.name(__VA_ARGS__);    \
      vs_cuda__end((device), &visit_);                    \
    }                                                     \
    result_;                                              \
  })

/* `memory`: the result for "out of memory", because the driver has one error for the card's and the host's memory. */
vs_device_result vs_cuda__answer(vs_cuda_device *device, CUresult error, vs_device_result memory);
/* The result of a call that frees something. When the process ends, the driver may be deinitialised first, which frees
 * everything; that counts as success. */
vs_device_result vs_cuda__answer_giving(vs_cuda_device *device, CUresult error);
vs_device_result vs_cuda__missing(vs_cuda_device *device);

/* Handles are pointers to the driver, and numbers to an allocator. */
static inline uint64_t vs_cuda__number(const void *handle) { return (uint64_t)(uintptr_t)handle; }
static inline void *vs_cuda__handle(uint64_t number) {
  return (void *)(uintptr_t)number; /* NOLINT(performance-no-int-to-ptr): the number is the handle */
}

/* vmm.c */
vs_device_result vs_cuda__reserve(void *ctx, uint64_t size, uint64_t *address);
vs_device_result vs_cuda__unreserve(void *ctx, uint64_t address, uint64_t size);
vs_device_result vs_cuda__create(void *ctx, uint64_t size, uint64_t *handle);
vs_device_result vs_cuda__release(void *ctx, uint64_t handle);
vs_device_result vs_cuda__map(void *ctx, uint64_t address, uint64_t size, uint64_t handle);
vs_device_result vs_cuda__access(void *ctx, uint64_t address, uint64_t size);
vs_device_result vs_cuda__unmap(void *ctx, uint64_t address, uint64_t size);

/* capture.c */
vs_device_result vs_cuda__capture_info(void *ctx, uint64_t stream, vs_device_capture *capture);
vs_device_result vs_cuda__needs(void *ctx, uint64_t graph, uint64_t number, const uint64_t **nodes,
                                uint64_t *count);

/* pool.c */
vs_device_result vs_cuda__async_alloc(void *ctx, uint64_t size, uint64_t stream, uint64_t *address);
vs_device_result vs_cuda__async_free(void *ctx, uint64_t address, uint64_t stream);
vs_device_result vs_cuda__async_trim(void *ctx, uint64_t keep);
vs_device_result vs_cuda__async_info(void *ctx, uint64_t *used, uint64_t *used_peak, uint64_t *reserved,
                                     uint64_t *reserved_peak);

#endif
