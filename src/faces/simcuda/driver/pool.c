/* Stream-ordered allocation and its pools. On a capturing stream, allocating and freeing become memory nodes. */
#include <string.h>

#include "faces/simcuda/driver/driver.h"

static CUresult allocate(CUdeviceptr *address, size_t size, CUmemoryPool pool, CUstream stream) {
  VS_CU_NEED(address != NULL && size != 0);
  VS_CU_CALL(
      vs_sim_alloc_async(at.sim, at.device, vs_number(stream), vs_number(pool), size, vs_numbers(address)));
}

CUresult sim_cuMemAllocAsync(CUdeviceptr *address, size_t size, CUstream stream) {
  vs_simcuda_charge_caller(__builtin_return_address(0));
  return allocate(address, size, NULL, stream);
}

CUresult sim_cuMemAllocFromPoolAsync(CUdeviceptr *address, size_t size, CUmemoryPool pool, CUstream stream) {
  VS_CU_NEED(pool != NULL);
  vs_simcuda_charge_caller(__builtin_return_address(0));
  return allocate(address, size, pool, stream);
}

CUresult sim_cuMemFreeAsync(CUdeviceptr address, CUstream stream) {
  VS_CU_NEED(address != 0);
  VS_CU_CALL(vs_call_free_async(at.sim, at.device, vs_number(stream), address));
}

/* ---- pools */

/* A device's default or current pool, by `which`. */
static CUresult pool_of(CUmemoryPool *pool, CUdevice device, uint64_t (*which)(const vs_sim *, uint32_t)) {
  VS_CU_NEED(pool != NULL);
  VS_CU_TRY(vs_driver_begin());
  if (!vs_driver_is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
  vs_sim *sim;
  VS_CU_TRY(vs_driver_lock_sim(&sim));
  *pool = vs_handle(which(sim, (uint32_t)device));
  return vs_driver_done(VS_SIM_OK);
}

CUresult sim_cuDeviceGetDefaultMemPool(CUmemoryPool *pool, CUdevice device) {
  return pool_of(pool, device, vs_sim_pool_default);
}
CUresult sim_cuDeviceGetMemPool(CUmemoryPool *pool, CUdevice device) {
  return pool_of(pool, device, vs_sim_pool_current);
}

CUresult sim_cuDeviceSetMemPool(CUdevice device, CUmemoryPool pool) {
  VS_CU_TRY(vs_driver_begin());
  if (!vs_driver_is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
  VS_CU_LOOK(vs_sim_pool_make_current(sim, (uint32_t)device, vs_number(pool)));
}

/* Only pinned memory of a device has pools. */
static CUresult check_location(const CUmemLocation *location, CUmemAllocationType type) {
  VS_CU_NEED(location != NULL);
  if (location->type == CU_MEM_LOCATION_TYPE_DEVICE && type == CU_MEM_ALLOCATION_TYPE_PINNED)
    return CUDA_SUCCESS;
  vs_simcuda_not_simulated("CUDA driver", "memory pools of the host, or of managed memory");
  return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult sim_cuMemGetDefaultMemPool(CUmemoryPool *pool, CUmemLocation *location, CUmemAllocationType type) {
  VS_CU_TRY(check_location(location, type));
  return pool_of(pool, location->id, vs_sim_pool_default);
}
CUresult sim_cuMemGetMemPool(CUmemoryPool *pool, CUmemLocation *location, CUmemAllocationType type) {
  VS_CU_TRY(check_location(location, type));
  return pool_of(pool, location->id, vs_sim_pool_current);
}
CUresult sim_cuMemSetMemPool(CUmemLocation *location, CUmemAllocationType type, CUmemoryPool pool) {
  VS_CU_TRY(check_location(location, type));
  return sim_cuDeviceSetMemPool(location->id, pool);
}

CUresult sim_cuMemPoolCreate(CUmemoryPool *pool, const CUmemPoolProps *properties) {
  VS_CU_NEED(pool != NULL && properties != NULL);
  VS_CU_TRY(vs_driver_begin());
  VS_CU_TRY(check_location(&properties->location, properties->allocType));
  if (!vs_driver_is_device(properties->location.id)) return CUDA_ERROR_INVALID_DEVICE;
  if (properties->handleTypes != CU_MEM_HANDLE_TYPE_NONE) {
    vs_simcuda_not_simulated("CUDA driver", "memory pools that go to other processes");
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  VS_CU_TRY(vs_simcuda_use((uint32_t)properties->location.id));
  VS_CU_LOOK(
      vs_sim_pool_create(sim, (uint32_t)properties->location.id, properties->maxSize, vs_numbers(pool)));
}

CUresult sim_cuMemPoolDestroy(CUmemoryPool pool) { VS_CU_LOOK(vs_sim_pool_destroy(sim, vs_number(pool))); }

CUresult sim_cuMemPoolTrimTo(CUmemoryPool pool, size_t keep) {
  VS_CU_LOOK(vs_sim_pool_trim(sim, vs_number(pool), keep));
}

/* The three reuse settings are 32-bit words, the rest 64-bit ones. */
static bool is_small(CUmemPool_attribute attribute) {
  return attribute <= CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES;
}

CUresult sim_cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void *value) {
  VS_CU_NEED(value != NULL);
  vs_sim *sim;
  VS_CU_TRY(vs_driver_lock_sim(&sim));
  uint64_t is = 0;
  const vs_sim_error error = vs_sim_pool_get(sim, vs_number(pool), (vs_sim_pool_attribute)attribute, &is);
  if (error == VS_SIM_OK) memcpy(value, &is, is_small(attribute) ? sizeof(uint32_t) : sizeof is);
  return vs_driver_done(error);
}

CUresult sim_cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void *value) {
  VS_CU_NEED(value != NULL);
  VS_CU_TRY(vs_driver_begin());
  uint64_t wanted = 0;
  memcpy(&wanted, value, is_small(attribute) ? sizeof(uint32_t) : sizeof wanted);
  VS_CU_LOOK(vs_sim_pool_set(sim, vs_number(pool), (vs_sim_pool_attribute)attribute, wanted));
}

/* Every device can use every pool here; a removal of access is checked but not enforced. */
CUresult sim_cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc *access, size_t count) {
  VS_CU_NEED(access != NULL || count == 0);
  vs_sim *sim;
  VS_CU_TRY(vs_driver_lock_sim(&sim));
  const bool is_pool = vs_sim_pool_find(sim, vs_number(pool)) != NULL;
  VS_CU_TRY(vs_driver_done(is_pool ? VS_SIM_OK : VS_SIM_INVALID_VALUE));
  for (size_t i = 0; i < count; i++)
    if (access[i].location.type == CU_MEM_LOCATION_TYPE_DEVICE && !vs_driver_is_device(access[i].location.id))
      return CUDA_ERROR_INVALID_DEVICE;
  return CUDA_SUCCESS;
}

CUresult sim_cuMemPoolGetAccess(CUmemAccess_flags *flags, CUmemoryPool pool, CUmemLocation *location) {
  VS_CU_NEED(flags != NULL && location != NULL);
  const CUmemAccessDesc asked = {.location = *location};
  VS_CU_TRY(sim_cuMemPoolSetAccess(pool, &asked, 1));
  *flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  return CUDA_SUCCESS;
}

/* ---- memory of graphs */

CUresult sim_cuDeviceGraphMemTrim(CUdevice device) {
  VS_CU_TRY(vs_driver_begin());
  if (!vs_driver_is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
  VS_CU_LOOK(vs_sim_graph_memory_trim(sim, (uint32_t)device));
}

CUresult sim_cuDeviceGetGraphMemAttribute(CUdevice device, CUgraphMem_attribute attribute, void *value) {
  VS_CU_NEED(value != NULL);
  VS_CU_TRY(vs_driver_begin());
  if (!vs_driver_is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
  vs_sim *sim;
  VS_CU_TRY(vs_driver_lock_sim(&sim));
  uint64_t bytes = 0;
  const vs_sim_error error =
      vs_sim_graph_memory_get(sim, (uint32_t)device, (vs_sim_graph_memory)attribute, &bytes);
  if (error == VS_SIM_OK) memcpy(value, &bytes, sizeof bytes);
  return vs_driver_done(error);
}

CUresult sim_cuDeviceSetGraphMemAttribute(CUdevice device, CUgraphMem_attribute attribute, void *value) {
  uint64_t wanted = 1;
  if (value != NULL) memcpy(&wanted, value, sizeof wanted);
  VS_CU_NEED(wanted == 0);
  VS_CU_TRY(vs_driver_begin());
  if (!vs_driver_is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
  VS_CU_LOOK(vs_sim_graph_memory_reset(sim, (uint32_t)device, (vs_sim_graph_memory)attribute));
}
