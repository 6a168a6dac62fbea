/* Surrounds every driver call that needs a context: makes the card's context current, and sets a capture mode in which captures
 * of other threads do not forbid the call. Afterwards both are restored. */
#ifndef VS_DEVICE_CUDA_CALLS_H
#define VS_DEVICE_CUDA_CALLS_H

#include "base/check.h"
#include "device/cuda/cuda.h"

typedef struct vs_cuda_visit {
  bool is_pushed, is_relaxed;
  CUstreamCaptureMode mode; /* the thread's own */
} vs_cuda_visit;

/* A capture in global mode forbids cuMemAlloc and other calls to every thread that is not in relaxed mode. An allocator's calls
 * belong to no graph, so it sets relaxed mode, as PyTorch's allocator does. */
static inline CUresult vs_cuda_enter(const vs_cuda_api *api, CUcontext context, vs_cuda_visit *visit) {
  CUcontext current = NULL;
  *visit = (vs_cuda_visit){.mode = CU_STREAM_CAPTURE_MODE_RELAXED};
  CUresult result = api->context_current(&current);
  if (result != CUDA_SUCCESS) return result;
  if (current != context) {
    result = api->context_push(context);
    if (result != CUDA_SUCCESS) return result;
    visit->is_pushed = true;
  }
  visit->is_relaxed =
      api->exchange_capture_mode != NULL && api->exchange_capture_mode(&visit->mode) == CUDA_SUCCESS;
  return CUDA_SUCCESS;
}

static inline void vs_cuda_leave(const vs_cuda_api *api, const vs_cuda_visit *visit) {
  CUstreamCaptureMode mode = visit->mode;
  CUcontext popped;
  VS_ASSERT(!visit->is_relaxed || api->exchange_capture_mode != NULL);
  if (visit->is_relaxed) api->exchange_capture_mode(&mode);
  if (visit->is_pushed) api->context_pop(&popped);
}

#endif
