/* Memory: allocation, host memory, pointer attributes, and memory of other processes. */
#include <string.h>

#include "faces/simcuda/driver/driver.h"

enum { PITCH_ALIGNMENT = 512 };

CUresult sim_cuMemGetInfo_v2(size_t *free_bytes, size_t *total_bytes) {
  VS_CU_NEED(free_bytes != NULL && total_bytes != NULL);
  vs_driver_at at;
  VS_CU_TRY(vs_driver_enter(&at));
  uint64_t is_free = 0, total = 0;
  VS_CU_TRY(vs_simcuda_memory_info(at.device, &is_free, &total));
  VS_ASSERT(is_free <= total);
  *free_bytes = is_free;
  *total_bytes = total;
  return CUDA_SUCCESS;
}

static vs_sim_error allocate(vs_driver_at *at, uint64_t size, CUdeviceptr *address) {
  uint64_t where = 0;
  VS_SIM_TRY(vs_call_alloc(at->sim, &at->thread->sim, at->device, size, &where));
  VS_ASSERT(where != 0 && at->sim != NULL);
  VS_SIM_TRY(vs_driver_own(at, where));
  *address = where;
  return VS_SIM_OK;
}

CUresult sim_cuMemAlloc_v2(CUdeviceptr *address, size_t size) {
  VS_CU_NEED(address != NULL && size != 0);
  vs_simcuda_charge_caller(__builtin_return_address(0));
  VS_CU_CALL(allocate(&at, size, address));
}

CUresult sim_cuMemAllocPitch_v2(CUdeviceptr *address, size_t *pitch, size_t width, size_t height,
                                unsigned int element_bytes) {
  VS_CU_NEED(address != NULL && pitch != NULL && width != 0 && height != 0);
  VS_CU_NEED(element_bytes == 4 || element_bytes == 8 || element_bytes == 16);
  VS_CU_NEED(width <= INT32_MAX - PITCH_ALIGNMENT);
  const uint64_t row = (width + PITCH_ALIGNMENT - 1) / PITCH_ALIGNMENT * PITCH_ALIGNMENT;
  if (height > UINT64_MAX / row) return CUDA_ERROR_OUT_OF_MEMORY;
  VS_ASSERT(row >= width && row % PITCH_ALIGNMENT == 0);
  vs_simcuda_charge_caller(__builtin_return_address(0));
  VS_CU_TRY(sim_cuMemAlloc_v2(address, row * height));
  *pitch = row;
  return CUDA_SUCCESS;
}

/* Freeing NULL is allowed. */
CUresult sim_cuMemFree_v2(CUdeviceptr address) {
  if (address == 0) return CUDA_SUCCESS;
  vs_driver_at at;
  VS_CU_TRY(vs_driver_lock(&at));
  return vs_driver_done_synchronized(vs_call_free(at.sim, &at.thread->sim, address));
}

CUresult sim_cuMemAllocManaged(CUdeviceptr *address, size_t size, unsigned int flags) {
  VS_CU_NEED(address != NULL && size != 0 && (flags == 1 || flags == 2));
  vs_driver_at at;
  VS_CU_TRY(vs_driver_enter(&at));
  void *memory = NULL;
  VS_CU_TRY(vs_call_managed_alloc(size, &memory));
  *address = vs_number(memory);
  vs_sim *sim;
  VS_CU_TRY(vs_driver_lock_sim(&sim));
  at.sim = sim;
  return vs_driver_done(vs_driver_own(&at, *address));
}

/* Frees memory of every form of allocation. */
CUresult sim_cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *size, CUdeviceptr address) {
  vs_driver_at at;
  VS_CU_TRY(vs_driver_lock(&at));
  const vs_sim_range *range = vs_sim_find(at.sim, address);
  if (range == NULL || range->kind == VS_SIM_RANGE_HOST) return vs_driver_done(VS_SIM_NOT_FOUND);
  if (base != NULL) *base = range->base;
  if (size != NULL) *size = range->size;
  return vs_driver_done(VS_SIM_OK);
}

/* ---- host memory */

enum { HOST_FLAGS = 7, REGISTER_FLAGS = 15 };

CUresult sim_cuMemHostAlloc(void **memory, size_t size, unsigned int flags) {
  VS_CU_NEED(memory != NULL && (flags & ~(unsigned int)HOST_FLAGS) == 0);
  vs_driver_at at;
  VS_CU_TRY(vs_driver_enter(&at));
  return (CUresult)vs_call_host_alloc(size, flags, memory);
}

CUresult sim_cuMemAllocHost_v2(void **memory, size_t size) { return sim_cuMemHostAlloc(memory, size, 0); }
CUresult sim_cuMemAllocHost(void **memory, unsigned int size) { return sim_cuMemHostAlloc(memory, size, 0); }

CUresult sim_cuMemFreeHost(void *memory) {
  if (memory == NULL) return CUDA_SUCCESS;
  vs_driver_at at;
  VS_CU_TRY(vs_driver_enter(&at));
  return (CUresult)vs_call_host_free(memory);
}

CUresult sim_cuMemHostRegister_v2(void *memory, size_t size, unsigned int flags) {
  VS_CU_NEED(memory != NULL && size != 0 && (flags & ~(unsigned int)REGISTER_FLAGS) == 0);
  VS_CU_CALL(vs_call_host_register(at.sim, &at.thread->sim, vs_number(memory), size, flags));
}

CUresult sim_cuMemHostUnregister(void *memory) {
  VS_CU_NEED(memory != NULL);
  VS_CU_CALL(vs_call_host_unregister(at.sim, vs_number(memory)));
}

/* Registered memory has one address for host and device. */
CUresult sim_cuMemHostGetDevicePointer_v2(CUdeviceptr *address, void *memory, unsigned int flags) {
  VS_CU_NEED(address != NULL && memory != NULL && flags == 0);
  vs_driver_at at;
  VS_CU_TRY(vs_driver_lock(&at));
  const vs_sim_range *range = vs_sim_find(at.sim, vs_number(memory));
  if (range == NULL || range->kind != VS_SIM_RANGE_HOST) return vs_driver_done(VS_SIM_INVALID_VALUE);
  *address = vs_number(memory);
  return vs_driver_done(VS_SIM_OK);
}

CUresult sim_cuMemHostGetFlags(unsigned int *flags, void *memory) {
  VS_CU_NEED(flags != NULL && memory != NULL);
  vs_driver_at at;
  VS_CU_TRY(vs_driver_lock(&at));
  const vs_sim_range *range = vs_sim_find(at.sim, vs_number(memory));
  if (range == NULL || range->kind != VS_SIM_RANGE_HOST) return vs_driver_done(VS_SIM_INVALID_VALUE);
  *flags = range->flags;
  return vs_driver_done(VS_SIM_OK);
}

/* ---- pointer attributes */

static uint32_t memory_type(const vs_sim_range *range) {
  return range->kind == VS_SIM_RANGE_HOST || range->device == VS_SIM_NO_DEVICE_ID ? CU_MEMORYTYPE_HOST
                                                                                  : CU_MEMORYTYPE_DEVICE;
}

static void put_u32(void *data, uint32_t value) { memcpy(data, &value, sizeof value); }
static void put_u64(void *data, uint64_t value) { memcpy(data, &value, sizeof value); }

/* Writes one attribute of an address inside `range`. */
static vs_sim_error put_attribute(void *data, CUpointer_attribute attribute, uint64_t address,
                                  const vs_sim_range *range) {
  const bool is_host = memory_type(range) == CU_MEMORYTYPE_HOST;
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
      put_u64(data, is_host ? vs_number(vs_driver_current()) : vs_number(vs_context_primary(range->device)));
      return VS_SIM_OK;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE: put_u32(data, memory_type(range)); return VS_SIM_OK;
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER: put_u64(data, address); return VS_SIM_OK;
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
      if (!is_host && range->kind != VS_SIM_RANGE_MANAGED) return VS_SIM_INVALID_VALUE;
      put_u64(data, address);
      return VS_SIM_OK;
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS: put_u32(data, 0); return VS_SIM_OK;
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
    case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID: put_u64(data, range->id); return VS_SIM_OK;
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
      put_u32(data, range->kind == VS_SIM_RANGE_MANAGED);
      return VS_SIM_OK;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      put_u32(data, is_host ? vs_simcuda_this_thread()->device : range->device);
      return VS_SIM_OK;
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
      put_u32(data, range->kind == VS_SIM_RANGE_DEVICE);
      return VS_SIM_OK;
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR: put_u64(data, range->base); return VS_SIM_OK;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE: put_u64(data, range->size); return VS_SIM_OK;
    case CU_POINTER_ATTRIBUTE_MAPPED: put_u32(data, 1); return VS_SIM_OK;
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
      put_u64(data, range->kind == VS_SIM_RANGE_MAPPING ? CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR : 0);
      return VS_SIM_OK;
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE: put_u32(data, 0); return VS_SIM_OK;
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
      put_u32(data, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
      return VS_SIM_OK;
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
      put_u64(data, range->kind == VS_SIM_RANGE_POOL ? range->owner : 0);
      return VS_SIM_OK;
    default: return VS_SIM_INVALID_VALUE;
  }
}

CUresult sim_cuPointerGetAttribute(void *data, CUpointer_attribute attribute, CUdeviceptr address) {
  VS_CU_NEED(data != NULL);
  vs_driver_at at;
  VS_CU_TRY(vs_driver_lock(&at));
  const vs_sim_range *range = vs_sim_find(at.sim, address);
  return vs_driver_done(range == NULL ? VS_SIM_INVALID_VALUE
                                      : put_attribute(data, attribute, address, range));
}

/* For an address unknown to CUDA, the form with several attributes writes zeros and no error. */
static vs_sim_error put_nothing(void *data, CUpointer_attribute attribute) {
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
    case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID: put_u64(data, 0); return VS_SIM_OK;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL: put_u32(data, (uint32_t)-2); return VS_SIM_OK;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
    case CU_POINTER_ATTRIBUTE_MAPPED:
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS: put_u32(data, 0); return VS_SIM_OK;
    default: return VS_SIM_INVALID_VALUE;
  }
}

CUresult sim_cuPointerGetAttributes(unsigned int count, CUpointer_attribute *attributes, void **data,
                                    CUdeviceptr address) {
  VS_CU_NEED(attributes != NULL && data != NULL);
  vs_driver_at at;
  VS_CU_TRY(vs_driver_lock(&at));
  const vs_sim_range *range = vs_sim_find(at.sim, address);
  for (unsigned int i = 0; i < count; i++) {
    if (data[i] == NULL) return vs_driver_done(VS_SIM_INVALID_VALUE);
    vs_sim_error error =
        range == NULL ? VS_SIM_INVALID_VALUE : put_attribute(data[i], attributes[i], address, range);
    if (error != VS_SIM_OK) error = put_nothing(data[i], attributes[i]);
    if (error != VS_SIM_OK) return vs_driver_done(error);
  }
  return vs_driver_done(VS_SIM_OK);
}

/* The only attribute that can be set: copies of this memory wait. They do so here in any case. */
CUresult sim_cuPointerSetAttribute(const void *value, CUpointer_attribute attribute, CUdeviceptr address) {
  VS_CU_NEED(value != NULL && attribute == CU_POINTER_ATTRIBUTE_SYNC_MEMOPS);
  VS_CU_CALL(vs_sim_find(at.sim, address) == NULL ? VS_SIM_INVALID_VALUE : VS_SIM_OK);
}

/* ---- managed memory: advice is checked (the range must be managed or host memory) and has no effect */

static CUresult check_managed(uint64_t address, uint64_t size) {
  VS_CU_CALL(vs_call_check_managed(at.sim, address, size));
}

static bool is_location(CUmemLocation location) {
  return location.type == CU_MEM_LOCATION_TYPE_DEVICE ? vs_driver_is_device(location.id)
                                                      : (unsigned int)location.type <= 4;
}

CUresult sim_cuMemAdvise(CUdeviceptr address, size_t size, CUmem_advise advice, CUdevice device) {
  VS_CU_NEED((unsigned int)advice >= 1 && (unsigned int)advice <= 6);
  (void)device;
  return check_managed(address, size);
}

CUresult sim_cuMemAdvise_v2(CUdeviceptr address, size_t size, CUmem_advise advice, CUmemLocation location) {
  VS_CU_NEED((unsigned int)advice >= 1 && (unsigned int)advice <= 6);
  if (!is_location(location)) return CUDA_ERROR_INVALID_DEVICE;
  return check_managed(address, size);
}

CUresult sim_cuMemPrefetchAsync(CUdeviceptr address, size_t size, CUdevice device, CUstream stream) {
  if (device != -1 && !vs_driver_is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
  VS_CU_TRY(check_managed(address, size));
  VS_CU_CALL(vs_sim_op(at.sim, at.device, vs_number(stream), VS_SIM_NODE_MEMCPY));
}

CUresult sim_cuMemPrefetchAsync_v2(CUdeviceptr address, size_t size, CUmemLocation location,
                                   unsigned int flags, CUstream stream) {
  VS_CU_NEED(flags == 0);
  if (!is_location(location)) return CUDA_ERROR_INVALID_DEVICE;
  return sim_cuMemPrefetchAsync(address, size, -1, stream);
}

/* Advice is not stored, so the answers are the defaults: read mostly 0, locations "none" (-2). */
CUresult sim_cuMemRangeGetAttribute(void *data, size_t data_size, CUmem_range_attribute attribute,
                                    CUdeviceptr address, size_t size) {
  VS_CU_NEED(data != NULL && data_size >= 4 && data_size % 4 == 0);
  VS_CU_NEED((unsigned int)attribute >= 1 && (unsigned int)attribute <= 8);
  VS_CU_TRY(check_managed(address, size));
  for (size_t i = 0; i < data_size / 4; i++)
    put_u32((uint8_t *)data + i * 4, attribute == CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY ? 0
                                     : (unsigned int)attribute >= 5                  ? 0
                                                                                     : (uint32_t)-2);
  return CUDA_SUCCESS;
}

CUresult sim_cuMemRangeGetAttributes(void **data, size_t *data_sizes, CUmem_range_attribute *attributes,
                                     size_t count, CUdeviceptr address, size_t size) {
  VS_CU_NEED(data != NULL && data_sizes != NULL && attributes != NULL && count != 0);
  for (size_t i = 0; i < count; i++)
    VS_CU_TRY(sim_cuMemRangeGetAttribute(data[i], data_sizes[i], attributes[i], address, size));
  return CUDA_SUCCESS;
}

/* ---- memory of other processes */

CUresult sim_cuIpcGetMemHandle(CUipcMemHandle *handle, CUdeviceptr address) {
  VS_CU_NEED(handle != NULL);
  vs_driver_at at;
  VS_CU_TRY(vs_driver_lock(&at));
  vs_sim_token token;
  const vs_sim_error error = vs_sim_ipc_export(at.sim, address, &token);
  _Static_assert(sizeof token == sizeof *handle, "a token is a handle");
  if (error == VS_SIM_OK) memcpy(handle, &token, sizeof token);
  return vs_driver_done(error);
}

CUresult sim_cuIpcOpenMemHandle_v2(CUdeviceptr *address, CUipcMemHandle handle, unsigned int flags) {
  VS_CU_NEED(address != NULL && flags <= 1);
  vs_driver_at at;
  VS_CU_TRY(vs_driver_lock(&at));
  vs_sim_token token;
  memcpy(&token, &handle, sizeof token);
  uint64_t where = 0;
  const vs_sim_error error = vs_sim_ipc_open(at.sim, &token, &where);
  if (error == VS_SIM_OK) *address = where;
  return vs_driver_done(error);
}

CUresult sim_cuIpcCloseMemHandle(CUdeviceptr address) { VS_CU_CALL(vs_sim_ipc_close(at.sim, address)); }
