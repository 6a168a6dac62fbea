/* Around every call of the driver that needs a context: the card's is the thread's current one for that long, and a
 * capture elsewhere in the process does not stand in its way. Behind it the thread has what it had. */
#ifndef VS_DEVICE_CUDA_CALLS_H
#define VS_DEVICE_CUDA_CALLS_H

#include "device/cuda/cuda.h"

typedef struct vs_cuda_visit {
  bool is_pushed, is_relaxed;
  CUstreamCaptureMode mode; /* the thread's own */
} vs_cuda_visit;

/* A capture in global mode forbids cuMemAlloc and much else to every thread that has not said otherwise. An allocator's
 * calls are no part of any graph: it says otherwise, as PyTorch's does around its own. */
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
  if (visit->is_relaxed) api->exchange_capture_mode(&mode);
  if (visit->is_pushed) api->context_pop(&popped);
}

#endif
