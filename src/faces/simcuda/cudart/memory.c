/* Memory: device, host, managed, and pointer attributes. */
#include "faces/simcuda/cudart/runtime.h"

enum { ROW_UNIT = 512 }; /* rows of 2D memory begin at multiples of this */

/* ---- device memory */

static vs_sim_error alloc_device(uint64_t size, uint64_t *address) {
  vs_rt rt;
  *address = 0;
  if (!vs_rt_enter(&rt)) return (vs_sim_error)rt.failure;
  vs_sim_error error = VS_SIM_OK;
  if (size != 0) error = vs_call_alloc(rt.sim, &rt.thread->sim, rt.device, size, address);
  else error = vs_sim_unsafe_call(rt.sim, &rt.thread->sim);
  return (vs_sim_error)vs_rt_leave(error);
}

cudaError_t sim_cudaMalloc(void **memory, size_t size) {
  vs_simcuda_charge_caller(__builtin_return_address(0));
  uint64_t address = 0;
  if (memory == NULL) return vs_rt_answer(VS_SIM_INVALID_VALUE);
  const vs_sim_error error = alloc_device(size, &address);
  if (error == VS_SIM_OK) *memory = VS_RT_HANDLE(void *, address);
  return (cudaError_t)error;
}

/* The size and pitch of `height` rows of `width` bytes; false if the size overflows. */
static bool pitched(uint64_t width, uint64_t height, uint64_t *pitch, uint64_t *size) {
  size_t bytes;
  if (width > UINT64_MAX - ROW_UNIT) return false;
  *pitch = (width + ROW_UNIT - 1) / ROW_UNIT * ROW_UNIT;
  if (!vs_mul_size((size_t)*pitch, (size_t)height, &bytes)) return false;
  *size = bytes;
  return true;
}

cudaError_t sim_cudaMallocPitch(void **memory, size_t *pitch, size_t width, size_t height) {
  vs_simcuda_charge_caller(__builtin_return_address(0));
  uint64_t address = 0, bytes = 0, size = 0;
  if (memory == NULL || pitch == NULL) return vs_rt_answer(VS_SIM_INVALID_VALUE);
  if (!pitched(width, height, &bytes, &size)) return vs_rt_answer(VS_SIM_OUT_OF_MEMORY);
  const vs_sim_error error = alloc_device(size, &address);
  if (error != VS_SIM_OK) return (cudaError_t)error;
  *memory = VS_RT_HANDLE(void *, address);
  VS_ASSERT(bytes >= width && bytes % ROW_UNIT == 0);
  *pitch = (size_t)bytes;
  return cudaSuccess;
}

cudaError_t sim_cudaMalloc3D(struct cudaPitchedPtr *memory, struct cudaExtent extent) {
  vs_simcuda_charge_caller(__builtin_return_address(0));
  uint64_t address = 0, pitch = 0, size = 0;
  size_t rows;
  if (memory == NULL) return vs_rt_answer(VS_SIM_INVALID_VALUE);
  if (!vs_mul_size(extent.height, extent.depth, &rows) || !pitched(extent.width, rows, &pitch, &size))
    return vs_rt_answer(VS_SIM_OUT_OF_MEMORY);
  const vs_sim_error error = alloc_device(size, &address);
  if (error != VS_SIM_OK) return (cudaError_t)error;
  *memory = (struct cudaPitchedPtr){.ptr = VS_RT_HANDLE(void *, address),
                                    .pitch = (size_t)pitch,
                                    .xsize = extent.width,
                                    .ysize = extent.height};
  return cudaSuccess;
}

/* cudaFree(NULL) is a common way to make a context. */
cudaError_t sim_cudaFree(void *memory) {
  vs_rt rt;
  if (!vs_rt_enter(&rt)) return rt.failure;
  if (memory == NULL) return vs_rt_leave(VS_SIM_OK);
  return vs_rt_leave_synchronized(vs_call_free(rt.sim, &rt.thread->sim, VS_RT_NUMBER(memory)));
}

cudaError_t sim_cudaMemGetInfo(size_t *free_bytes, size_t *total_bytes) {
  vs_rt rt;
  uint64_t free_now = 0, total = 0;
  if (free_bytes == NULL || total_bytes == NULL) return vs_rt_answer(VS_SIM_INVALID_VALUE);
  vs_sim_error error = vs_rt_use(&rt);
  if (error == VS_SIM_OK) error = vs_simcuda_memory_info(rt.device, &free_now, &total);
  if (error != VS_SIM_OK) return vs_rt_answer(error);
  *free_bytes = (size_t)free_now;
  *total_bytes = (size_t)total;
  return cudaSuccess;
}

/* ---- host memory */

static cudaError_t host_alloc(void **memory, size_t size, unsigned int flags) {
  vs_rt rt;
  if (memory == NULL) return vs_rt_answer(VS_SIM_INVALID_VALUE);
  const vs_sim_error error = vs_rt_use(&rt);
  return vs_rt_answer(error != VS_SIM_OK ? error : vs_call_host_alloc(size, flags, memory));
}

cudaError_t sim_cudaHostAlloc(void **memory, size_t size, unsigned int flags) {
  const unsigned known = cudaHostAllocPortable | cudaHostAllocMapped | cudaHostAllocWriteCombined;
  return (flags & ~known) != 0 ? vs_rt_answer(VS_SIM_INVALID_VALUE) : host_alloc(memory, size, flags);
}

cudaError_t sim_cudaMallocHost(void **memory, size_t size) { return host_alloc(memory, size, 0); }

cudaError_t sim_cudaFreeHost(void *memory) {
  vs_rt rt;
  const vs_sim_error error = vs_rt_use(&rt);
  return vs_rt_answer(error != VS_SIM_OK || memory == NULL ? error : vs_call_host_free(memory));
}

cudaError_t sim_cudaHostRegister(void *memory, size_t size, unsigned int flags) {
  const unsigned known =
      cudaHostRegisterPortable | cudaHostRegisterMapped | cudaHostRegisterIoMemory | cudaHostRegisterReadOnly;
  if (memory == NULL || size == 0 || (flags & ~known) != 0) return vs_rt_answer(VS_SIM_INVALID_VALUE);
  VS_RT_CALL(vs_call_host_register(rt.sim, &rt.thread->sim, VS_RT_NUMBER(memory), size, flags));
}

cudaError_t sim_cudaHostUnregister(void *memory) {
  VS_RT_CALL(vs_call_host_unregister(rt.sim, VS_RT_NUMBER(memory)));
}

/* Host and device use the same address. */
cudaError_t sim_cudaHostGetDevicePointer(void **device_memory, void *memory, unsigned int flags) {
  vs_rt rt;
  if (device_memory == NULL || memory == NULL || flags != 0) return vs_rt_answer(VS_SIM_INVALID_VALUE);
  if (!vs_rt_enter(&rt)) return rt.failure;
  const vs_sim_range *range = vs_sim_find(rt.sim, VS_RT_NUMBER(memory));
  const bool is_host =
      range != NULL && (range->kind == VS_SIM_RANGE_HOST || range->kind == VS_SIM_RANGE_MANAGED);
  if (is_host) *device_memory = memory;
  return vs_rt_leave(is_host ? VS_SIM_OK : VS_SIM_INVALID_VALUE);
}

cudaError_t sim_cudaHostGetFlags(unsigned int *flags, void *memory) {
  vs_rt rt;
  if (flags == NULL) return vs_rt_answer(VS_SIM_INVALID_VALUE);
  if (!vs_rt_enter(&rt)) return rt.failure;
  const vs_sim_range *range = vs_sim_find(rt.sim, VS_RT_NUMBER(memory));
  const bool is_host = range != NULL && range->kind == VS_SIM_RANGE_HOST;
  if (is_host) *flags = range->flags;
  return vs_rt_leave(is_host ? VS_SIM_OK : VS_SIM_INVALID_VALUE);
}

/* ---- managed memory: real pages. Their location is not modelled, so advice is checked and has no effect. */

cudaError_t sim_cudaMallocManaged(void **memory, size_t size, unsigned int flags) {
  vs_rt rt;
  if (memory == NULL || size == 0 || (flags != cudaMemAttachGlobal && flags != cudaMemAttachHost))
    return vs_rt_answer(VS_SIM_INVALID_VALUE);
  const vs_sim_error error = vs_rt_use(&rt);
  return vs_rt_answer(error != VS_SIM_OK ? error : vs_call_managed_alloc(size, memory));
}

static bool is_location(struct cudaMemLocation where) {
  switch ((unsigned)where.type) {
    case cudaMemLocationTypeDevice: return vs_rt_is_device(where.id);
    case cudaMemLocationTypeHost:
    case cudaMemLocationTypeHostNuma:
    case cudaMemLocationTypeHostNumaCurrent: return true;
    default: return false;
  }
}

static cudaError_t advise(const void *memory, size_t size, enum cudaMemoryAdvise advice,
                          struct cudaMemLocation where) {
  vs_rt rt;
  const unsigned kind = (unsigned)advice;
  if (kind < cudaMemAdviseSetReadMostly || kind > cudaMemAdviseUnsetAccessedBy)
    return vs_rt_answer(VS_SIM_INVALID_VALUE);
  const bool needs_place = kind == cudaMemAdviseSetPreferredLocation || kind >= cudaMemAdviseSetAccessedBy;
  const bool is_wrong = needs_place && !is_location(where);
  if (!vs_rt_enter(&rt)) return rt.failure;
  return vs_rt_leave(is_wrong ? VS_SIM_INVALID_DEVICE
                              : vs_call_check_managed(rt.sim, VS_RT_NUMBER(memory), size));
}

static cudaError_t prefetch(const void *memory, size_t size, struct cudaMemLocation where,
                            cudaStream_t stream) {
  vs_rt rt;
  const bool is_wrong = !is_location(where);
  if (!vs_rt_enter(&rt)) return rt.failure;
  vs_sim_error error =
      is_wrong ? VS_SIM_INVALID_DEVICE : vs_call_check_managed(rt.sim, VS_RT_NUMBER(memory), size);
  if (error == VS_SIM_OK) error = vs_sim_op_uncapturable(rt.sim, rt.device, VS_RT_NUMBER(stream));
  return vs_rt_leave(error);
}

#if VS_CUDART >= 13
cudaError_t sim_cudaMemAdvise(const void *memory, size_t size, enum cudaMemoryAdvise advice,
                              struct cudaMemLocation where) {
  return advise(memory, size, advice, where);
}

cudaError_t sim_cudaMemPrefetchAsync(const void *memory, size_t size, struct cudaMemLocation where,
                                     unsigned int flags, cudaStream_t stream) {
  return flags != 0 ? vs_rt_answer(VS_SIM_INVALID_VALUE) : prefetch(memory, size, where, stream);
}
#else
static struct cudaMemLocation place_of(int device) {
  if (device == cudaCpuDeviceId) return (struct cudaMemLocation){cudaMemLocationTypeHost, 0};
  return (struct cudaMemLocation){cudaMemLocationTypeDevice, device};
}

cudaError_t sim_cudaMemAdvise(const void *memory, size_t size, enum cudaMemoryAdvise advice, int device) {
  return advise(memory, size, advice, place_of(device));
}
cudaError_t sim_cudaMemAdvise_v2(const void *memory, size_t size, enum cudaMemoryAdvise advice,
                                 struct cudaMemLocation where) {
  return advise(memory, size, advice, where);
}

cudaError_t sim_cudaMemPrefetchAsync(const void *memory, size_t size, int device, cudaStream_t stream) {
  return prefetch(memory, size, place_of(device), stream);
}
cudaError_t sim_cudaMemPrefetchAsync_v2(const void *memory, size_t size, struct cudaMemLocation where,
                                        unsigned int flags, cudaStream_t stream) {
  return flags != 0 ? vs_rt_answer(VS_SIM_INVALID_VALUE) : prefetch(memory, size, where, stream);
}
#endif

cudaError_t sim_cudaStreamAttachMemAsync(cudaStream_t stream, void *memory, size_t size, unsigned int flags) {
  vs_rt rt;
  if (flags != cudaMemAttachGlobal && flags != cudaMemAttachHost && flags != cudaMemAttachSingle)
    return vs_rt_answer(VS_SIM_INVALID_VALUE);
  if (!vs_rt_enter(&rt)) return rt.failure;
  vs_sim_error error = vs_call_check_managed(rt.sim, VS_RT_NUMBER(memory), size == 0 ? 1 : size);
  if (error == VS_SIM_OK) error = vs_sim_op_uncapturable(rt.sim, rt.device, VS_RT_NUMBER(stream));
  return vs_rt_leave(error);
}

/* ---- pointer attributes */

cudaError_t sim_cudaPointerGetAttributes(struct cudaPointerAttributes *attributes, const void *memory) {
  vs_rt rt;
  void *const address = (void *)(uintptr_t)memory;
  if (attributes == NULL) return vs_rt_answer(VS_SIM_INVALID_VALUE);
  if (!vs_rt_enter(&rt)) return rt.failure;
  const vs_sim_range *range = vs_sim_find(rt.sim, VS_RT_NUMBER(memory));
  memset(attributes, 0, sizeof *attributes);
  attributes->hostPointer = address;
  attributes->device = cudaInvalidDeviceId;
  if (range != NULL) {
    attributes->device = (int)(range->device == VS_SIM_NO_DEVICE_ID ? rt.device : range->device);
    attributes->devicePointer = address;
    attributes->type = cudaMemoryTypeDevice;
    if (range->kind == VS_SIM_RANGE_HOST) attributes->type = cudaMemoryTypeHost;
    else if (range->kind == VS_SIM_RANGE_MANAGED) attributes->type = cudaMemoryTypeManaged;
    else attributes->hostPointer = NULL;
  }
  return vs_rt_leave(VS_SIM_OK);
}
