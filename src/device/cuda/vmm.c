/* Virtual memory management: addresses, physical memory, and mappings. */
#include "device/cuda/device_internal.h"

/* A lack of addresses is reported like a lack of memory of the card. */
vs_device_result vs_cuda__reserve(void *ctx, uint64_t size, uint64_t *address) {
  vs_cuda_device *device = ctx;
  CUdeviceptr got = 0;
  *address = 0;
  if (device->cuda->api.address_reserve == NULL) return vs_cuda__missing(device);
  const CUresult error = VS_CUDA__CALL(device, address_reserve, &got, size, 0, 0, 0);
  if (error == CUDA_SUCCESS) *address = got;
  return vs_cuda__answer(device, error, VS_DEVICE_OUT_OF_MEMORY);
}

vs_device_result vs_cuda__unreserve(void *ctx, uint64_t address, uint64_t size) {
  vs_cuda_device *device = ctx;
  if (device->cuda->api.address_free == NULL) return vs_cuda__missing(device);
  return vs_cuda__answer_giving(device, VS_CUDA__CALL(device, address_free, address, size));
}

static CUmemLocation location_of(const vs_cuda_device *device) {
  VS_ASSERT(device->card < device->cuda->count);
  return (CUmemLocation){.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device->handle};
}

vs_device_result vs_cuda__create(void *ctx, uint64_t size, uint64_t *handle) {
  vs_cuda_device *device = ctx;
  const CUmemAllocationProp properties = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                          .location = location_of(device)};
  CUmemGenericAllocationHandle made = 0;
  *handle = 0;
  if (device->cuda->api.physical_create == NULL) return vs_cuda__missing(device);
  const CUresult error = VS_CUDA__CALL(device, physical_create, &made, size, &properties, 0);
  if (error == CUDA_SUCCESS) *handle = made;
  return vs_cuda__answer(device, error, VS_DEVICE_OUT_OF_MEMORY);
}

vs_device_result vs_cuda__release(void *ctx, uint64_t handle) {
  vs_cuda_device *device = ctx;
  if (device->cuda->api.physical_release == NULL) return vs_cuda__missing(device);
  return vs_cuda__answer_giving(device, VS_CUDA__CALL(device, physical_release, handle));
}

vs_device_result vs_cuda__map(void *ctx, uint64_t address, uint64_t size, uint64_t handle) {
  vs_cuda_device *device = ctx;
  if (device->cuda->api.memory_map == NULL) return vs_cuda__missing(device);
  return vs_cuda__answer(device, VS_CUDA__CALL(device, memory_map, address, size, 0, handle, 0),
                         VS_DEVICE_NO_HOST_MEMORY);
}

vs_device_result vs_cuda__access(void *ctx, uint64_t address, uint64_t size) {
  vs_cuda_device *device = ctx;
  const CUmemAccessDesc access = {.location = location_of(device),
                                  .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  if (device->cuda->api.memory_access == NULL) return vs_cuda__missing(device);
  return vs_cuda__answer(device, VS_CUDA__CALL(device, memory_access, address, size, &access, 1),
                         VS_DEVICE_NO_HOST_MEMORY);
}

vs_device_result vs_cuda__unmap(void *ctx, uint64_t address, uint64_t size) {
  vs_cuda_device *device = ctx;
  if (device->cuda->api.memory_unmap == NULL) return vs_cuda__missing(device);
  return vs_cuda__answer_giving(device, VS_CUDA__CALL(device, memory_unmap, address, size));
}
