/* Segments, figures, events and streams of a card; the rest is in vmm.c, capture.c and pool.c. */
#include "device/cuda/device_internal.h"
#include "base/text.h"

static int64_t last_code(void *ctx, const char **text) {
  vs_cuda_device *device = ctx;
  const int32_t last = atomic_load_explicit(&device->last, memory_order_relaxed);
  if (text != NULL)
    *text = last == VS_CUDA__MISSING ? "this driver has no such function"
                                     : vs_cuda_error_text(device->cuda, (CUresult)last);
  return last;
}

/* ---- segments and figures */

static vs_device_result alloc(void *ctx, uint64_t size, uint64_t *address) {
  vs_cuda_device *device = ctx;
  CUdeviceptr got = 0;
  const CUresult error = VS_CUDA__CALL(device, memory_alloc, &got, size);
  *address = error == CUDA_SUCCESS ? got : 0;
  return vs_cuda__answer(device, error, VS_DEVICE_OUT_OF_MEMORY);
}

static vs_device_result free_segment(void *ctx, uint64_t address) {
  vs_cuda_device *device = ctx;
  return vs_cuda__answer_giving(device, VS_CUDA__CALL(device, memory_free, address));
}

static vs_device_result memory_info(void *ctx, uint64_t *free_bytes, uint64_t *total_bytes) {
  vs_cuda_device *device = ctx;
  size_t free_now = 0, total = 0;
  const CUresult error = VS_CUDA__CALL(device, memory_info, &free_now, &total);
  *free_bytes = free_now;
  *total_bytes = total;
  return vs_cuda__answer(device, error, VS_DEVICE_OUT_OF_MEMORY);
}

/* ---- events and streams */

static vs_device_result event_create(void *ctx, uint64_t *event) {
  enum { DISABLE_TIMING = 2 }; /* CU_EVENT_DISABLE_TIMING */
  vs_cuda_device *device = ctx;
  CUevent made = NULL;
  const CUresult error = VS_CUDA__CALL(device, event_create, &made, DISABLE_TIMING);
  *event = vs_cuda__number(made);
  return vs_cuda__answer(device, error, VS_DEVICE_NO_HOST_MEMORY);
}

static vs_device_result event_destroy(void *ctx, uint64_t event) {
  vs_cuda_device *device = ctx;
  return vs_cuda__answer_giving(device, VS_CUDA__CALL(device, event_destroy, vs_cuda__handle(event)));
}

static vs_device_result event_record(void *ctx, uint64_t event, uint64_t stream) {
  vs_cuda_device *device = ctx;
  return vs_cuda__answer(device,
                         VS_CUDA__CALL(device, event_record, vs_cuda__handle(event), vs_cuda__handle(stream)),
                         VS_DEVICE_NO_HOST_MEMORY);
}

static vs_device_result event_query(void *ctx, uint64_t event) {
  vs_cuda_device *device = ctx;
  return vs_cuda__answer(device, VS_CUDA__CALL(device, event_query, vs_cuda__handle(event)),
                         VS_DEVICE_NO_HOST_MEMORY);
}

static vs_device_result event_synchronize(void *ctx, uint64_t event) {
  vs_cuda_device *device = ctx;
  return vs_cuda__answer(device, VS_CUDA__CALL(device, event_synchronize, vs_cuda__handle(event)),
                         VS_DEVICE_NO_HOST_MEMORY);
}

static vs_device_result stream_synchronize(void *ctx, uint64_t stream) {
  vs_cuda_device *device = ctx;
  return vs_cuda__answer(device, VS_CUDA__CALL(device, stream_synchronize, vs_cuda__handle(stream)),
                         VS_DEVICE_NO_HOST_MEMORY);
}

/* ---- init and deinit */

static const vs_device_ops ops = {
    .alloc = alloc,
    .free = free_segment,
    .memory_info = memory_info,
    .reserve = vs_cuda__reserve,
    .unreserve = vs_cuda__unreserve,
    .create = vs_cuda__create,
    .release = vs_cuda__release,
    .map = vs_cuda__map,
    .access = vs_cuda__access,
    .unmap = vs_cuda__unmap,
    .event_create = event_create,
    .event_destroy = event_destroy,
    .event_record = event_record,
    .event_query = event_query,
    .event_synchronize = event_synchronize,
    .stream_synchronize = stream_synchronize,
    .capture_info = vs_cuda__capture_info,
    .needs = vs_cuda__needs,
    .async_alloc = vs_cuda__async_alloc,
    .async_free = vs_cuda__async_free,
    .async_trim = vs_cuda__async_trim,
    .async_info = vs_cuda__async_info,
    .last_code = last_code,
};

vs_status vs_cuda_device_init(vs_cuda_device *device, const vs_host *host, const vs_cuda *cuda, uint32_t card,
                              uint32_t index, vs_error *error) {
  vs_cuda_need need;
  const char *symbol;
  size_t total = 0;
  VS_ASSERT(cuda->api.device_get != NULL); /* INIT */
  *device = (vs_cuda_device){.cuda = cuda, .host = host, .card = card};
  for (uint32_t i = 0; (symbol = vs_cuda_missing(cuda, i, &need)) != NULL; i++)
    if (need == VS_CUDA_ALLOC)
      return vs_fail(error, VS_UNSUPPORTED, VS_NO_OFFSET, "the CUDA driver has no function %s", symbol);
  if (card >= cuda->count || cuda->api.device_get(&device->handle, (int)card) != CUDA_SUCCESS)
    return vs_fail(error, VS_BAD_ARGUMENT, VS_NO_OFFSET, "CUDA has no GPU %u: it has %u", card, cuda->count);
  if (cuda->api.device_total == NULL || cuda->api.device_total(&total, device->handle) != CUDA_SUCCESS)
    return vs_fail(error, VS_DEVICE, VS_NO_OFFSET, "the CUDA driver does not report the memory of GPU %u",
                   card);
  device->device = (vs_device){.ops = &ops, .ctx = device, .index = index, .total_bytes = total};
  return VS_OK;
}

void vs_cuda_device_deinit(vs_cuda_device *device) {
  const CUcontext context = atomic_exchange(&device->context, NULL);
  if (context != NULL) device->cuda->api.primary_release(device->handle);
  vs_vec_free(device->host, &device->nodes);
  vs_vec_free(device->host, &device->needed);
  vs_vec_free(device->host, &device->edges);
}
