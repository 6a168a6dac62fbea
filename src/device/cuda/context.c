/* The primary context, which all users of CUDA in the process share. */
#include "base/text.h"
#include "device/cuda/calls.h"
#include "os/clock.h"

/* The first missing function of ALLOC; NULL if none is missing. */
static const char *missing_for_alloc(const vs_cuda *cuda) {
  vs_cuda_need need;
  const char *symbol;
  for (uint32_t i = 0; (symbol = vs_cuda_missing(cuda, i, &need)) != NULL; i++)
    if (need == VS_CUDA_ALLOC) return symbol;
  return NULL;
}

bool vs_cuda_context_is_active(const vs_cuda *cuda, uint32_t card) {
  CUdevice device;
  unsigned flags = 0;
  int is_active = 0;
  return card < cuda->count && cuda->api.primary_state != NULL &&
         cuda->api.device_get(&device, (int)card) == CUDA_SUCCESS &&
         cuda->api.primary_state(device, &flags, &is_active) == CUDA_SUCCESS && is_active != 0;
}

static bool measure(const vs_cuda_gauge *gauge, uint64_t *used) {
  return gauge != NULL && gauge->used(gauge->ctx, used);
}

vs_status vs_cuda_context_retain(const vs_cuda *cuda, uint32_t card, const vs_cuda_gauge *gauge,
                                 vs_cuda_context *context, vs_error *error) {
  CUdevice device;
  uint64_t before = 0, after = 0;
  VS_ASSERT(gauge == NULL || gauge->used != NULL);
  *context = (vs_cuda_context){.card = card};
  if (card >= cuda->count || cuda->api.device_get(&device, (int)card) != CUDA_SUCCESS)
    return vs_fail(error, VS_BAD_ARGUMENT, VS_NO_OFFSET, "CUDA has no GPU %u", card);
  const char *missing = missing_for_alloc(cuda);
  if (missing != NULL)
    return vs_fail(error, VS_UNSUPPORTED, VS_NO_OFFSET, "the CUDA driver has no function %s", missing);
  context->was_there = vs_cuda_context_is_active(cuda, card);
  const bool is_measured = measure(gauge, &before);
  const uint64_t start = vs_clock_ns();
  const CUresult result = cuda->api.primary_retain(&context->handle, device);
  context->microseconds = (vs_clock_ns() - start) / 1000;
  if (result != CUDA_SUCCESS)
    return vs_fail(error, result == CUDA_ERROR_OUT_OF_MEMORY ? VS_DEVICE_MEMORY : VS_DEVICE, VS_NO_OFFSET,
                   "cannot create a CUDA context on GPU %u: %s (%s, %d)", card,
                   vs_cuda_error_text(cuda, result), vs_cuda_error_name(cuda, result), (int)result);
  if (is_measured && measure(gauge, &after) && after > before) context->bytes = after - before;
  return VS_OK;
}

void vs_cuda_context_release(const vs_cuda *cuda, const vs_cuda_context *context) {
  CUdevice device;
  if (context->handle != NULL && cuda->api.device_get(&device, (int)context->card) == CUDA_SUCCESS)
    cuda->api.primary_release(device);
}

vs_status vs_cuda_memory_info(const vs_cuda *cuda, const vs_cuda_context *context, uint64_t *free_bytes,
                              uint64_t *total_bytes) {
  size_t free_now = 0, total = 0;
  vs_cuda_visit visit;
  *free_bytes = *total_bytes = 0;
  if (cuda->api.memory_info == NULL) return VS_UNSUPPORTED;
  CUresult result = vs_cuda_enter(&cuda->api, context->handle, &visit);
  if (result == CUDA_SUCCESS) {
    result = cuda->api.memory_info(&free_now, &total);
    vs_cuda_leave(&cuda->api, &visit);
  }
  if (result != CUDA_SUCCESS) return VS_DEVICE;
  *free_bytes = free_now;
  *total_bytes = total;
  return VS_OK;
}
