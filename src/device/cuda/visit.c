/* Calls of the driver: the card's context, and the conversion of its results for an allocator. */
#include "device/cuda/device_internal.h"

/* ---- results */

static bool is_gone(CUresult error) {
  return error == CUDA_ERROR_DEINITIALIZED || error == CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

vs_device_result vs_cuda__answer(vs_cuda_device *device, CUresult error, vs_device_result memory) {
  if (error == CUDA_SUCCESS) return VS_DEVICE_OK;
  if (error == CUDA_ERROR_NOT_READY) return VS_DEVICE_NOT_READY;
  atomic_store_explicit(&device->last, (int32_t)error, memory_order_relaxed);
  if (error == CUDA_ERROR_OUT_OF_MEMORY) return memory;
  return error == CUDA_ERROR_NOT_SUPPORTED ? VS_DEVICE_NOT_SUPPORTED : VS_DEVICE_FAILED;
}

vs_device_result vs_cuda__answer_giving(vs_cuda_device *device, CUresult error) {
  return is_gone(error) ? VS_DEVICE_OK : vs_cuda__answer(device, error, VS_DEVICE_NO_HOST_MEMORY);
}

vs_device_result vs_cuda__missing(vs_cuda_device *device) {
  atomic_store_explicit(&device->last, VS_CUDA__MISSING, memory_order_relaxed);
  return VS_DEVICE_NOT_SUPPORTED;
}

/* ---- the context */

/* Several threads may retain the context at the same time. Retaining returns the same context, so all but the first release it
 * again. */
static CUresult make_context(vs_cuda_device *device, CUcontext *context) {
  const vs_cuda_api *api = &device->cuda->api;
  CUcontext none = NULL;
  const CUresult result = api->primary_retain(context, device->handle);
  if (result != CUDA_SUCCESS) return result;
  if (!atomic_compare_exchange_strong(&device->context, &none, *context))
    api->primary_release(device->handle);
  return CUDA_SUCCESS;
}

CUresult vs_cuda__begin(vs_cuda_device *device, vs_cuda_visit *visit) {
  CUcontext context = atomic_load_explicit(&device->context, memory_order_acquire);
  if (context == NULL) {
    const CUresult result = make_context(device, &context);
    if (result != CUDA_SUCCESS) return result;
  }
  VS_ASSERT(context != NULL);
  return vs_cuda_enter(&device->cuda->api, context, visit);
}

void vs_cuda__end(vs_cuda_device *device, const vs_cuda_visit *visit) {
  vs_cuda_leave(&device->cuda->api, visit);
}
