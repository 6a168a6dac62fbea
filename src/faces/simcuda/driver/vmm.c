/* Virtual memory management: reserved addresses, physical memory, and mappings between them. Physical memory is
 * passed to other processes as a descriptor of a memory file, which contains what the other process needs to
 * import it. None of these calls needs a current context. */
#include <string.h>
#include <unistd.h>

#include "faces/simcuda/driver/driver.h"
#include "os/kernel.h"

/* The bits of a physical allocation's flags that store its properties. */
enum { KEEPS_HANDLE_TYPES = 0xff, KEEPS_RDMA = 0x100 };

CUresult sim_cuMemAddressReserve(CUdeviceptr *address, size_t size, size_t alignment, CUdeviceptr hint,
                                 unsigned long long flags) {
  VS_CU_NEED(address != NULL && flags == 0);
  VS_CU_LOOK(vs_sim_reserve(sim, size, alignment, hint, vs_numbers(address)));
}

CUresult sim_cuMemAddressFree(CUdeviceptr address, size_t size) {
  VS_CU_LOOK(vs_sim_unreserve(sim, address, size));
}

/* The device on which memory with these properties is; host memory is charged to no device. */
static CUresult device_of(const CUmemAllocationProp *properties, uint32_t *device) {
  VS_CU_NEED(properties != NULL && properties->type == CU_MEM_ALLOCATION_TYPE_PINNED);
  switch (properties->location.type) {
    case CU_MEM_LOCATION_TYPE_DEVICE:
      if (!vs_driver_is_device(properties->location.id)) return CUDA_ERROR_INVALID_DEVICE;
      *device = (uint32_t)properties->location.id;
      return CUDA_SUCCESS;
    case CU_MEM_LOCATION_TYPE_HOST:
    case CU_MEM_LOCATION_TYPE_HOST_NUMA:
    case CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT:
      vs_simcuda_not_simulated("CUDA driver", "cuMemCreate of host memory");
      return CUDA_ERROR_NOT_SUPPORTED;
    default: return CUDA_ERROR_INVALID_VALUE;
  }
}

static CUresult check_handle_types(unsigned int types) {
  if ((types & ~(unsigned int)CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) == 0) return CUDA_SUCCESS;
  vs_simcuda_not_simulated("CUDA driver", "cuMemCreate with fabric handles, or those of Windows");
  return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult sim_cuMemGetAllocationGranularity(size_t *granularity, const CUmemAllocationProp *properties,
                                           CUmemAllocationGranularity_flags option) {
  VS_CU_NEED(granularity != NULL && (unsigned int)option <= 1);
  VS_CU_TRY(vs_driver_begin());
  uint32_t device = 0;
  VS_CU_TRY(device_of(properties, &device));
  *granularity = VS_SIM_GRANULE;
  return CUDA_SUCCESS;
}

CUresult sim_cuMemCreate(CUmemGenericAllocationHandle *handle, size_t size,
                         const CUmemAllocationProp *properties, unsigned long long flags) {
  VS_CU_NEED(handle != NULL && flags == 0);
  vs_simcuda_charge_caller(__builtin_return_address(0));
  VS_CU_TRY(vs_driver_begin());
  uint32_t device = 0;
  VS_CU_TRY(device_of(properties, &device));
  VS_CU_TRY(check_handle_types((unsigned int)properties->requestedHandleTypes));
  VS_CU_TRY(vs_simcuda_use(device));
  vs_sim *sim;
  VS_CU_TRY(vs_driver_lock_sim(&sim));
  uint64_t kept = (unsigned int)properties->requestedHandleTypes & KEEPS_HANDLE_TYPES;
  if (properties->allocFlags.gpuDirectRDMACapable != 0) kept |= KEEPS_RDMA;
  uint64_t made = 0;
  const vs_sim_error error = vs_sim_physical_create(sim, device, size, kept, &made);
  if (error == VS_SIM_OK) *handle = made;
  return vs_driver_done(error);
}

CUresult sim_cuMemRelease(CUmemGenericAllocationHandle handle) {
  VS_CU_LOOK(vs_sim_physical_release(sim, handle));
}

CUresult sim_cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *handle, void *address) {
  VS_CU_NEED(handle != NULL);
  VS_CU_LOOK(vs_sim_physical_retain(sim, vs_number(address), vs_numbers(handle)));
}

CUresult sim_cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp *properties,
                                                    CUmemGenericAllocationHandle handle) {
  VS_CU_NEED(properties != NULL);
  vs_sim *sim;
  VS_CU_TRY(vs_driver_lock_sim(&sim));
  const vs_sim_physical *physical = vs_sim_physical_find(sim, handle);
  if (physical == NULL) return vs_driver_done(VS_SIM_INVALID_VALUE);
  memset(properties, 0, sizeof *properties);
  properties->type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties->requestedHandleTypes = (CUmemAllocationHandleType)(physical->flags & KEEPS_HANDLE_TYPES);
  properties->location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  properties->location.id = (int)physical->device;
  properties->allocFlags.gpuDirectRDMACapable = (physical->flags & KEEPS_RDMA) != 0;
  return vs_driver_done(VS_SIM_OK);
}

CUresult sim_cuMemMap(CUdeviceptr address, size_t size, size_t offset, CUmemGenericAllocationHandle handle,
                      unsigned long long flags) {
  VS_CU_NEED(flags == 0);
  VS_CU_LOOK(vs_sim_map(sim, address, size, offset, handle));
}

CUresult sim_cuMemUnmap(CUdeviceptr address, size_t size) { VS_CU_LOOK(vs_sim_unmap(sim, address, size)); }

/* ---- access */

/* The device of a location; VS_SIM_NO_DEVICE_ID for the host. */
static bool location_device(const CUmemLocation *location, uint32_t *device) {
  *device = location->type == CU_MEM_LOCATION_TYPE_DEVICE ? (uint32_t)location->id : VS_SIM_NO_DEVICE_ID;
  return location->type == CU_MEM_LOCATION_TYPE_DEVICE
             ? vs_driver_is_device(location->id)
             : (unsigned int)location->type >= 2 && (unsigned int)location->type <= 4;
}

CUresult sim_cuMemSetAccess(CUdeviceptr address, size_t size, const CUmemAccessDesc *access, size_t count) {
  VS_CU_NEED(access != NULL);
  vs_sim *sim;
  VS_CU_TRY(vs_driver_lock_sim(&sim));
  for (size_t i = 0; i < count; i++) {
    uint32_t device = 0;
    if (!location_device(&access[i].location, &device)) return vs_driver_done(VS_SIM_INVALID_VALUE);
    const vs_sim_error error = vs_sim_access_set(sim, address, size, device, (vs_sim_access)access[i].flags);
    if (error != VS_SIM_OK) return vs_driver_done(error);
  }
  return vs_driver_done(VS_SIM_OK);
}

CUresult sim_cuMemGetAccess(unsigned long long *flags, const CUmemLocation *location, CUdeviceptr address) {
  VS_CU_NEED(flags != NULL && location != NULL);
  VS_CU_TRY(vs_driver_begin());
  uint32_t device = 0;
  VS_CU_NEED(location_device(location, &device));
  vs_sim *sim;
  VS_CU_TRY(vs_driver_lock_sim(&sim));
  vs_sim_access access = VS_SIM_ACCESS_NONE;
  const vs_sim_error error = vs_sim_access_get(sim, address, device, &access);
  if (error == VS_SIM_OK) *flags = (unsigned long long)access;
  return vs_driver_done(error);
}

/* ---- between processes */

/* A memory file that contains the token. -1 if the process cannot open more files. */
static int file_with(const vs_sim_token *token) {
  const int file = vs_kernel_memory_file("vramscope simulated GPU memory");
  if (file < 0) return -1;
  if (write(file, token, sizeof *token) == (ssize_t)sizeof *token) return file;
  close(file);
  return -1;
}

CUresult sim_cuMemExportToShareableHandle(void *to, CUmemGenericAllocationHandle handle,
                                          CUmemAllocationHandleType type, unsigned long long flags) {
  VS_CU_NEED(to != NULL && flags == 0);
  VS_CU_TRY(vs_driver_begin());
  if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) return check_handle_types((unsigned int)type);
  vs_sim *sim;
  VS_CU_TRY(vs_driver_lock_sim(&sim));
  const vs_sim_physical *physical = vs_sim_physical_find(sim, handle);
  vs_sim_token token;
  vs_sim_error error = VS_SIM_INVALID_VALUE;
  if (physical != NULL && (physical->flags & CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) != 0)
    error = vs_sim_physical_export(sim, handle, &token);
  VS_CU_TRY(vs_driver_done(error));
  const int file = file_with(&token);
  if (file < 0) return CUDA_ERROR_OPERATING_SYSTEM;
  memcpy(to, &file, sizeof file);
  return CUDA_SUCCESS;
}

/* The pointer's value is the descriptor, as in the real driver. It stays open, and the caller owns it. */
CUresult sim_cuMemImportFromShareableHandle(CUmemGenericAllocationHandle *handle, void *from,
                                            CUmemAllocationHandleType type) {
  VS_CU_NEED(handle != NULL);
  VS_CU_TRY(vs_driver_begin());
  if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) return check_handle_types((unsigned int)type);
  vs_sim_token token;
  if (pread((int)(intptr_t)from, &token, sizeof token, 0) != (ssize_t)sizeof token)
    return CUDA_ERROR_INVALID_VALUE;
  VS_CU_LOOK(vs_sim_physical_import(sim, &token, vs_numbers(handle)));
}
