/* Memory pools, and stream-ordered memory. */
#include "faces/simcuda/cudart/runtime.h"

/* ---- allocating and freeing */

static cudaError_t alloc_from(void **memory, uint64_t size, uint64_t pool, cudaStream_t stream) {
  if (memory == NULL) return vs_rt_answer(VS_SIM_INVALID_VALUE);
  VS_RT_CALL(vs_sim_alloc_async(rt.sim, rt.device, VS_RT_NUMBER(stream), pool, size, VS_RT_NUMBERS(memory)));
}

cudaError_t sim_cudaMallocAsync(void **memory, size_t size, cudaStream_t stream) {
  vs_simcuda_charge_caller(__builtin_return_address(0));
  return alloc_from(memory, size, 0, stream);
}

cudaError_t sim_cudaMallocFromPoolAsync(void **memory, size_t size, cudaMemPool_t pool, cudaStream_t stream) {
  vs_simcuda_charge_caller(__builtin_return_address(0));
  return pool == NULL ? vs_rt_answer(VS_SIM_INVALID_VALUE)
                      : alloc_from(memory, size, VS_RT_NUMBER(pool), stream);
}

cudaError_t sim_cudaFreeAsync(void *memory, cudaStream_t stream) {
  VS_RT_CALL(vs_call_free_async(rt.sim, rt.device, VS_RT_NUMBER(stream), VS_RT_NUMBER(memory)));
}

/* ---- the pools of a device */

typedef uint64_t (*pool_of)(const vs_sim *sim, uint32_t device);

static cudaError_t get_pool(cudaMemPool_t *pool, int device, pool_of which) {
  vs_rt rt;
  if (pool == NULL) return vs_rt_answer(VS_SIM_INVALID_VALUE);
  if (!vs_rt_enter(&rt)) return rt.failure;
  const uint64_t handle = device < 0 ? 0 : which(rt.sim, (uint32_t)device);
  if (handle != 0) *pool = VS_RT_HANDLE(cudaMemPool_t, handle);
  return vs_rt_leave(handle != 0 ? VS_SIM_OK : VS_SIM_INVALID_DEVICE);
}

cudaError_t sim_cudaDeviceGetDefaultMemPool(cudaMemPool_t *pool, int device) {
  return get_pool(pool, device, vs_sim_pool_default);
}

cudaError_t sim_cudaDeviceGetMemPool(cudaMemPool_t *pool, int device) {
  return get_pool(pool, device, vs_sim_pool_current);
}

cudaError_t sim_cudaDeviceSetMemPool(int device, cudaMemPool_t pool) {
  if (device < 0) return vs_rt_answer(VS_SIM_INVALID_DEVICE);
  VS_RT_CALL(vs_sim_pool_make_current(rt.sim, (uint32_t)device, VS_RT_NUMBER(pool)));
}

#if VS_CUDART >= 13
/* The same for any location; only pinned memory of devices has pools here. */
static bool is_device_pool(const struct cudaMemLocation *where, enum cudaMemAllocationType type) {
  if (where->type == cudaMemLocationTypeDevice && type == cudaMemAllocationTypePinned) return true;
  vs_simcuda_not_simulated("cudart", "a memory pool of the host, or of managed memory");
  return false;
}

cudaError_t sim_cudaMemGetDefaultMemPool(cudaMemPool_t *pool, struct cudaMemLocation *where,
                                         enum cudaMemAllocationType type) {
  if (where == NULL) return vs_rt_answer(VS_SIM_INVALID_VALUE);
  if (!is_device_pool(where, type)) return vs_rt_answer(VS_SIM_NOT_SUPPORTED);
  return sim_cudaDeviceGetDefaultMemPool(pool, where->id);
}

cudaError_t sim_cudaMemGetMemPool(cudaMemPool_t *pool, struct cudaMemLocation *where,
                                  enum cudaMemAllocationType type) {
  if (where == NULL) return vs_rt_answer(VS_SIM_INVALID_VALUE);
  if (!is_device_pool(where, type)) return vs_rt_answer(VS_SIM_NOT_SUPPORTED);
  return sim_cudaDeviceGetMemPool(pool, where->id);
}

cudaError_t sim_cudaMemSetMemPool(struct cudaMemLocation *where, enum cudaMemAllocationType type,
                                  cudaMemPool_t pool) {
  if (where == NULL) return vs_rt_answer(VS_SIM_INVALID_VALUE);
  if (!is_device_pool(where, type)) return vs_rt_answer(VS_SIM_NOT_SUPPORTED);
  return sim_cudaDeviceSetMemPool(where->id, pool);
}
#endif

/* ---- pools of the program */

cudaError_t sim_cudaMemPoolCreate(cudaMemPool_t *pool, const struct cudaMemPoolProps *wanted) {
  vs_rt rt;
  uint64_t handle = 0;
  if (pool == NULL || wanted == NULL) return vs_rt_answer(VS_SIM_INVALID_VALUE);
  if (wanted->allocType != cudaMemAllocationTypePinned ||
      wanted->location.type != cudaMemLocationTypeDevice) {
    vs_simcuda_not_simulated("cudart", "a memory pool of the host, or of managed memory");
    return vs_rt_answer(VS_SIM_NOT_SUPPORTED);
  }
  if (wanted->location.id < 0) return vs_rt_answer(VS_SIM_INVALID_DEVICE);
  if (!vs_rt_enter(&rt)) return rt.failure;
  const vs_sim_error error =
      vs_sim_pool_create(rt.sim, (uint32_t)wanted->location.id, wanted->maxSize, &handle);
  if (error == VS_SIM_OK) *pool = VS_RT_HANDLE(cudaMemPool_t, handle);
  return vs_rt_leave(error);
}

cudaError_t sim_cudaMemPoolDestroy(cudaMemPool_t pool) {
  VS_RT_CALL(vs_sim_pool_destroy(rt.sim, VS_RT_NUMBER(pool)));
}

cudaError_t sim_cudaMemPoolTrimTo(cudaMemPool_t pool, size_t keep_bytes) {
  VS_RT_CALL(vs_sim_pool_trim(rt.sim, VS_RT_NUMBER(pool), keep_bytes));
}

/* The first three are ints, the others 64-bit numbers. */
static bool is_switch(enum cudaMemPoolAttr attribute) {
  return (unsigned)attribute <= cudaMemPoolReuseAllowInternalDependencies;
}

cudaError_t sim_cudaMemPoolGetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr attribute, void *value) {
  vs_rt rt;
  uint64_t number = 0;
  if (value == NULL) return vs_rt_answer(VS_SIM_INVALID_VALUE);
  if (!vs_rt_enter(&rt)) return rt.failure;
  const vs_sim_error error =
      vs_sim_pool_get(rt.sim, VS_RT_NUMBER(pool), (vs_sim_pool_attribute)attribute, &number);
  if (error == VS_SIM_OK && is_switch(attribute)) *(int *)value = (int)number;
  else if (error == VS_SIM_OK) *(uint64_t *)value = number;
  return vs_rt_leave(error);
}

cudaError_t sim_cudaMemPoolSetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr attribute, void *value) {
  vs_rt rt;
  if (value == NULL) return vs_rt_answer(VS_SIM_INVALID_VALUE);
  const uint64_t number = is_switch(attribute) ? *(const int *)value != 0 : *(const uint64_t *)value;
  if (!vs_rt_enter(&rt)) return rt.failure;
  return vs_rt_leave(vs_sim_pool_set(rt.sim, VS_RT_NUMBER(pool), (vs_sim_pool_attribute)attribute, number));
}

/* Checks a change of access. The host always has access, and nothing is stored. */
static vs_sim_error set_access(vs_sim *sim, cudaMemPool_t pool, const struct cudaMemAccessDesc *wanted) {
  if (wanted->location.type != cudaMemLocationTypeDevice) return VS_SIM_OK;
  if (wanted->location.id < 0) return VS_SIM_INVALID_DEVICE;
  return vs_sim_pool_access_set(sim, VS_RT_NUMBER(pool), (uint32_t)wanted->location.id,
                                (vs_sim_access)wanted->flags);
}

cudaError_t sim_cudaMemPoolSetAccess(cudaMemPool_t pool, const struct cudaMemAccessDesc *wanted,
                                     size_t count) {
  vs_rt rt;
  vs_sim_error error = VS_SIM_OK;
  if (wanted == NULL && count != 0) return vs_rt_answer(VS_SIM_INVALID_VALUE);
  if (!vs_rt_enter(&rt)) return rt.failure;
  for (size_t i = 0; error == VS_SIM_OK && i < count; i++) error = set_access(rt.sim, pool, &wanted[i]);
  return vs_rt_leave(error);
}

cudaError_t sim_cudaMemPoolGetAccess(enum cudaMemAccessFlags *flags, cudaMemPool_t pool,
                                     struct cudaMemLocation *where) {
  vs_rt rt;
  vs_sim_access access = VS_SIM_ACCESS_NONE;
  if (flags == NULL || where == NULL) return vs_rt_answer(VS_SIM_INVALID_VALUE);
  if (where->type != cudaMemLocationTypeDevice || where->id < 0) return vs_rt_answer(VS_SIM_INVALID_DEVICE);
  if (!vs_rt_enter(&rt)) return rt.failure;
  const vs_sim_error error = vs_sim_pool_access_get(rt.sim, VS_RT_NUMBER(pool), (uint32_t)where->id, &access);
  if (error == VS_SIM_OK) *flags = (enum cudaMemAccessFlags)access;
  return vs_rt_leave(error);
}

/* ---- memory held by graphs */

cudaError_t sim_cudaDeviceGetGraphMemAttribute(int device, enum cudaGraphMemAttributeType attribute,
                                               void *value) {
  vs_rt rt;
  uint64_t bytes = 0;
  if (value == NULL) return vs_rt_answer(VS_SIM_INVALID_VALUE);
  if (device < 0) return vs_rt_answer(VS_SIM_INVALID_DEVICE);
  if (!vs_rt_enter(&rt)) return rt.failure;
  const vs_sim_error error =
      vs_sim_graph_memory_get(rt.sim, (uint32_t)device, (vs_sim_graph_memory)attribute, &bytes);
  if (error == VS_SIM_OK) *(uint64_t *)value = bytes;
  return vs_rt_leave(error);
}

cudaError_t sim_cudaDeviceSetGraphMemAttribute(int device, enum cudaGraphMemAttributeType attribute,
                                               void *value) {
  if (value == NULL || *(const uint64_t *)value != 0) return vs_rt_answer(VS_SIM_INVALID_VALUE);
  if (device < 0) return vs_rt_answer(VS_SIM_INVALID_DEVICE);
  VS_RT_CALL(vs_sim_graph_memory_reset(rt.sim, (uint32_t)device, (vs_sim_graph_memory)attribute));
}

cudaError_t sim_cudaDeviceGraphMemTrim(int device) {
  if (device < 0) return vs_rt_answer(VS_SIM_INVALID_DEVICE);
  VS_RT_CALL(vs_sim_graph_memory_trim(rt.sim, (uint32_t)device));
}
