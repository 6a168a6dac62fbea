/* Stream-ordered memory of the card's default pool, which keeps its memory until it is trimmed. */
#include "device/cuda/device_internal.h"

/* Finds the pool once, and sets its release threshold so that it releases no memory by itself. */
static CUresult find_pool(vs_cuda_device *device) {
  const vs_cuda_api *api = &device->cuda->api;
  CUmemoryPool pool = NULL;
  cuuint64_t everything = UINT64_MAX;
  if (device->pool != NULL) return CUDA_SUCCESS;
  CUresult error = VS_CUDA__CALL(device, device_pool, &pool, device->handle);
  if (error == CUDA_SUCCESS) error = api->pool_set(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &everything);
  if (error == CUDA_SUCCESS) device->pool = pool;
  return error;
}

static bool has_pools(const vs_cuda_api *api) {
  return api->device_pool != NULL && api->pool_alloc != NULL && api->pool_free != NULL &&
         api->pool_trim != NULL && api->pool_get != NULL && api->pool_set != NULL;
}

vs_device_result vs_cuda__async_alloc(void *ctx, uint64_t size, uint64_t stream, uint64_t *address) {
  vs_cuda_device *device = ctx;
  CUdeviceptr got = 0;
  *address = 0;
  if (!has_pools(&device->cuda->api)) return vs_cuda__missing(device);
  CUresult error = find_pool(device);
  if (error != CUDA_SUCCESS) return vs_cuda__answer(device, error, VS_DEVICE_NO_HOST_MEMORY);
  VS_ASSERT(device->pool != NULL);
  error = VS_CUDA__CALL(device, pool_alloc, &got, size, device->pool, vs_cuda__handle(stream));
  if (error == CUDA_SUCCESS) *address = got;
  return vs_cuda__answer(device, error, VS_DEVICE_OUT_OF_MEMORY);
}

vs_device_result vs_cuda__async_free(void *ctx, uint64_t address, uint64_t stream) {
  vs_cuda_device *device = ctx;
  if (device->cuda->api.pool_free == NULL) return vs_cuda__missing(device);
  return vs_cuda__answer_giving(device, VS_CUDA__CALL(device, pool_free, address, vs_cuda__handle(stream)));
}

vs_device_result vs_cuda__async_trim(void *ctx, uint64_t keep) {
  vs_cuda_device *device = ctx;
  if (!has_pools(&device->cuda->api)) return vs_cuda__missing(device);
  CUresult error = find_pool(device);
  if (error == CUDA_SUCCESS) error = VS_CUDA__CALL(device, pool_trim, device->pool, keep);
  return vs_cuda__answer(device, error, VS_DEVICE_NO_HOST_MEMORY);
}

vs_device_result vs_cuda__async_info(void *ctx, uint64_t *used, uint64_t *used_peak, uint64_t *reserved,
                                     uint64_t *reserved_peak) {
  vs_cuda_device *device = ctx;
  const struct {
    CUmemPool_attribute attribute;
    uint64_t *to;
  } figures[] = {{CU_MEMPOOL_ATTR_USED_MEM_CURRENT, used},
                 {CU_MEMPOOL_ATTR_USED_MEM_HIGH, used_peak},
                 {CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, reserved},
                 {CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, reserved_peak}};
  if (!has_pools(&device->cuda->api)) return vs_cuda__missing(device);
  CUresult error = find_pool(device);
  for (size_t i = 0; i < sizeof figures / sizeof *figures && error == CUDA_SUCCESS; i++) {
    cuuint64_t value = 0;
    error = VS_CUDA__CALL(device, pool_get, device->pool, figures[i].attribute, &value);
    *figures[i].to = value;
  }
  return vs_cuda__answer(device, error, VS_DEVICE_NO_HOST_MEMORY);
}
