/* Devices: their number and properties. No call here makes a context. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "faces/simcuda/driver/driver.h"

/* Called first by every query of a device. */
static CUresult begin(CUdevice device) {
  VS_CU_TRY(vs_driver_begin());
  return vs_driver_is_device(device) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

CUresult sim_cuDeviceGetCount(int *count) {
  VS_CU_NEED(count != NULL);
  VS_CU_TRY(vs_driver_begin());
  *count = (int)vs_simcuda_device_count();
  return CUDA_SUCCESS;
}

CUresult sim_cuDeviceGet(CUdevice *device, int ordinal) {
  VS_CU_NEED(device != NULL);
  VS_CU_TRY(begin(ordinal));
  *device = ordinal;
  return CUDA_SUCCESS;
}

CUresult sim_cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device) {
  VS_CU_NEED(value != NULL);
  VS_CU_TRY(begin(device));
  return (CUresult)vs_simcuda_attribute((uint32_t)device, (uint32_t)attribute, value);
}

CUresult sim_cuDeviceGetName(char *name, int size, CUdevice device) {
  VS_CU_NEED(name != NULL && size > 0);
  VS_CU_TRY(begin(device));
  snprintf(name, (size_t)size, "%s", vs_simcuda_name((uint32_t)device));
  return CUDA_SUCCESS;
}

CUresult sim_cuDeviceTotalMem_v2(size_t *bytes, CUdevice device) {
  VS_CU_NEED(bytes != NULL);
  VS_CU_TRY(begin(device));
  *bytes = vs_simcuda_figures((uint32_t)device)->total_bytes;
  return CUDA_SUCCESS;
}

CUresult sim_cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice device) {
  VS_CU_NEED(uuid != NULL);
  VS_CU_TRY(begin(device));
  vs_card_uuid(vs_simcuda_card((uint32_t)device), (uint8_t *)uuid->bytes);
  return CUDA_SUCCESS;
}

/* LUIDs exist only on Windows. */
CUresult sim_cuDeviceGetLuid(char *luid, unsigned int *node_mask, CUdevice device) {
  (void)luid;
  (void)node_mask;
  VS_CU_TRY(begin(device));
  return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult sim_cuDeviceGetPCIBusId(char *text, int size, CUdevice device) {
  VS_CU_NEED(text != NULL && size > 0);
  VS_CU_TRY(begin(device));
  const int length =
      snprintf(text, (size_t)size, "0000:%02X:00.0", vs_card_bus(vs_simcuda_card((uint32_t)device)));
  return length < size ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* "0000:01:00.0", "01:00.0" with or without the function, in any case: domain, bus, device, function. */
CUresult sim_cuDeviceGetByPCIBusId(CUdevice *device, const char *text) {
  VS_CU_NEED(device != NULL && text != NULL);
  VS_CU_TRY(vs_driver_begin());
  unsigned int domain = 0, bus = 0, slot = 0;
  if (sscanf(text, "%x:%x:%x", &domain, &bus, &slot) != 3) {
    domain = 0;
    if (sscanf(text, "%x:%x", &bus, &slot) != 2) return CUDA_ERROR_INVALID_VALUE;
  }
  for (uint32_t i = 0; i < vs_simcuda_device_count(); i++)
    if (domain == 0 && slot == 0 && bus == vs_card_bus(vs_simcuda_card(i))) {
      *device = (CUdevice)i;
      return CUDA_SUCCESS;
    }
  return CUDA_ERROR_INVALID_DEVICE;
}

CUresult sim_cuDeviceComputeCapability(int *major, int *minor, CUdevice device) {
  VS_CU_NEED(major != NULL && minor != NULL);
  VS_CU_TRY(begin(device));
  *major = (int)vs_simcuda_figures((uint32_t)device)->compute_major;
  *minor = (int)vs_simcuda_figures((uint32_t)device)->compute_minor;
  return CUDA_SUCCESS;
}

/* The value of an attribute that every device has. */
static int attribute(CUdevice device, uint32_t number) {
  int32_t value = 0;
  const vs_sim_error error = vs_simcuda_attribute((uint32_t)device, number, &value);
  VS_ASSERT(error == VS_SIM_OK);
  (void)error;
  return value;
}

CUresult sim_cuDeviceGetProperties(CUdevprop *properties, CUdevice device) {
  VS_CU_NEED(properties != NULL);
  VS_CU_TRY(begin(device));
  *properties = (CUdevprop){.maxThreadsPerBlock = attribute(device, 1),
                            .sharedMemPerBlock = attribute(device, 8),
                            .totalConstantMemory = attribute(device, 9),
                            .SIMDWidth = attribute(device, 10),
                            .memPitch = attribute(device, 11),
                            .regsPerBlock = attribute(device, 12),
                            .clockRate = attribute(device, 13),
                            .textureAlign = attribute(device, 14)};
  for (uint32_t i = 0; i < 3; i++) {
    properties->maxThreadsDim[i] = attribute(device, 2 + i);
    properties->maxGridSize[i] = attribute(device, 5 + i);
  }
  return CUDA_SUCCESS;
}

CUresult sim_cuDeviceGetExecAffinitySupport(int *is_supported, CUexecAffinityType type, CUdevice device) {
  VS_CU_NEED(is_supported != NULL && (unsigned int)type == 0);
  VS_CU_TRY(begin(device));
  *is_supported = 0;
  return CUDA_SUCCESS;
}

CUresult sim_cuDeviceGetTexture1DLinearMaxWidth(size_t *width, CUarray_format format, unsigned channels,
                                                CUdevice device) {
  (void)format;
  VS_CU_NEED(width != NULL && channels != 0);
  VS_CU_TRY(begin(device));
  *width = (size_t)attribute(device, 69);
  return CUDA_SUCCESS;
}

/* ---- peers */

CUresult sim_cuDeviceCanAccessPeer(int *can, CUdevice device, CUdevice peer) {
  VS_CU_NEED(can != NULL);
  VS_CU_TRY(begin(device));
  VS_CU_TRY(begin(peer));
  vs_sim *sim;
  VS_CU_TRY(vs_driver_lock_sim(&sim));
  *can = vs_sim_peer_possible(sim, (uint32_t)device, (uint32_t)peer);
  return vs_driver_done(VS_SIM_OK);
}

CUresult sim_cuDeviceGetP2PAttribute(int *value, CUdevice_P2PAttribute asked, CUdevice device,
                                     CUdevice peer) {
  VS_CU_NEED(value != NULL && device != peer);
  int can = 0;
  VS_CU_TRY(sim_cuDeviceCanAccessPeer(&can, device, peer));
  switch (asked) {
    case CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK:
    case CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED:
    case CU_DEVICE_P2P_ATTRIBUTE_ONLY_PARTIAL_NATIVE_ATOMIC_SUPPORTED: *value = 0; return CUDA_SUCCESS;
    case CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED:
    case CU_DEVICE_P2P_ATTRIBUTE_CUDA_ARRAY_ACCESS_SUPPORTED: *value = can; return CUDA_SUCCESS;
    default: return CUDA_ERROR_INVALID_VALUE;
  }
}
