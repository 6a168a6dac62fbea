/* Devices: their number, the current one, and their properties. */
#include <stdio.h>

#include "faces/simcuda/core/attributes.h"
#include "faces/simcuda/core/context.h"
#include "faces/simcuda/core/limits.h"
#include "faces/simcuda/cudart/registry.h"
#include "faces/simcuda/cudart/runtime.h"

/* VS_SIM_OK for a visible device, else the error. */
static vs_sim_error check_device(int device) {
  VS_SIM_TRY(vs_simcuda_begin());
  return vs_rt_is_device(device) ? VS_SIM_OK : VS_SIM_INVALID_DEVICE;
}

/* ---- the current device */

cudaError_t sim_cudaGetDeviceCount(int *count) {
  if (count == NULL) return vs_rt_answer(VS_SIM_INVALID_VALUE);
  *count = 0;
  const vs_sim_error error = vs_simcuda_begin();
  if (error != VS_SIM_OK) return vs_rt_answer(error);
  *count = (int)vs_simcuda_device_count();
  return cudaSuccess;
}

cudaError_t sim_cudaGetDevice(int *device) {
  if (device == NULL) return vs_rt_answer(VS_SIM_INVALID_VALUE);
  const vs_sim_error error = vs_simcuda_begin();
  if (error != VS_SIM_OK) return vs_rt_answer(error);
  *device = (int)vs_simcuda_this_thread()->device;
  return cudaSuccess;
}

/* Makes the device's context, as the runtime does since 12.0. */
static vs_sim_error make_current(int device) {
  VS_SIM_TRY(check_device(device));
  VS_SIM_TRY(vs_simcuda_use((uint32_t)device));
  vs_context_bind(vs_simcuda_this_thread(), (uint32_t)device);
  return VS_SIM_OK;
}

cudaError_t sim_cudaSetDevice(int device) { return vs_rt_answer(make_current(device)); }

cudaError_t sim_cudaInitDevice(int device, unsigned int device_flags, unsigned int flags) {
  if ((flags & ~(unsigned)cudaInitDeviceFlagsAreValid) != 0 ||
      (device_flags & ~(unsigned)cudaDeviceMask) != 0)
    return vs_rt_answer(VS_SIM_INVALID_VALUE);
  const vs_sim_error error = check_device(device);
  return vs_rt_answer(error == VS_SIM_OK ? vs_simcuda_use((uint32_t)device) : error);
}

/* All devices are always available, so the first of the list becomes the current one. */
cudaError_t sim_cudaSetValidDevices(int *devices, int count) {
  vs_sim_error error = vs_simcuda_begin();
  if (error == VS_SIM_OK && (count < 0 || (devices == NULL && count != 0))) error = VS_SIM_INVALID_VALUE;
  for (int i = 0; error == VS_SIM_OK && i < count; i++) error = check_device(devices[i]);
  if (error == VS_SIM_OK && count > 0) vs_simcuda_this_thread()->device = (uint32_t)devices[0];
  return vs_rt_answer(error);
}

cudaError_t sim_cudaChooseDevice(int *device, const struct cudaDeviceProp *wanted) {
  if (device == NULL || wanted == NULL) return vs_rt_answer(VS_SIM_INVALID_VALUE);
  const vs_sim_error error = vs_simcuda_begin();
  if (error != VS_SIM_OK) return vs_rt_answer(error);
  *device = 0;
  for (uint32_t i = 0; i < vs_simcuda_device_count(); i++) {
    const vs_sim_figures *figures = vs_simcuda_figures(i);
    if ((int)figures->compute_major != wanted->major || (int)figures->compute_minor != wanted->minor)
      continue;
    *device = (int)i;
    break;
  }
  return cudaSuccess;
}

/* How the host waits has no effect here, but the flags that were set can be read. */
static unsigned int device_flags[VS_SIM_MAX_DEVICES];

cudaError_t sim_cudaSetDeviceFlags(unsigned int flags) {
  const unsigned int schedule = flags & cudaDeviceScheduleMask;
  if ((flags & ~(unsigned)cudaDeviceMask) != 0 || (schedule & (schedule - 1)) != 0)
    return vs_rt_answer(VS_SIM_INVALID_VALUE);
  const vs_sim_error error = vs_simcuda_begin();
  if (error != VS_SIM_OK) return vs_rt_answer(error);
  __atomic_store_n(&device_flags[vs_simcuda_this_thread()->device], flags, __ATOMIC_RELAXED);
  return cudaSuccess;
}

cudaError_t sim_cudaGetDeviceFlags(unsigned int *flags) {
  if (flags == NULL) return vs_rt_answer(VS_SIM_INVALID_VALUE);
  const vs_sim_error error = vs_simcuda_begin();
  if (error != VS_SIM_OK) return vs_rt_answer(error);
  *flags =
      __atomic_load_n(&device_flags[vs_simcuda_this_thread()->device], __ATOMIC_RELAXED) | cudaDeviceMapHost;
  return cudaSuccess;
}

cudaError_t sim_cudaDeviceGetByPCIBusId(int *device, const char *text) {
  unsigned domain = 0, bus, slot;
  if (device == NULL || text == NULL) return vs_rt_answer(VS_SIM_INVALID_VALUE);
  const vs_sim_error error = vs_simcuda_begin();
  if (error != VS_SIM_OK) return vs_rt_answer(error);
  if (sscanf(text, "%x:%x:%x", &domain, &bus, &slot) != 3) {
    domain = 0;
    if (sscanf(text, "%x:%x", &bus, &slot) != 2) return vs_rt_answer(VS_SIM_INVALID_VALUE);
  }
  for (uint32_t i = 0; i < vs_simcuda_device_count(); i++) {
    if (domain != 0 || slot != 0 || bus != vs_card_bus(vs_simcuda_card(i))) continue;
    *device = (int)i;
    return cudaSuccess;
  }
  return vs_rt_answer(VS_SIM_INVALID_DEVICE);
}

cudaError_t sim_cudaDeviceGetPCIBusId(char *text, int size, int device) {
  if (text == NULL || size <= 0) return vs_rt_answer(VS_SIM_INVALID_VALUE);
  const vs_sim_error error = check_device(device);
  if (error != VS_SIM_OK) return vs_rt_answer(error);
  const int length =
      snprintf(text, (size_t)size, "0000:%02x:00.0", vs_card_bus(vs_simcuda_card((uint32_t)device)));
  return length < size ? cudaSuccess : vs_rt_answer(VS_SIM_INVALID_VALUE);
}

/* ---- attributes and properties */

cudaError_t sim_cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int device) {
  if (value == NULL) return vs_rt_answer(VS_SIM_INVALID_VALUE);
  vs_sim_error error = check_device(device);
  int32_t answer = 0;
  if (error == VS_SIM_OK) error = vs_simcuda_attribute((uint32_t)device, (uint32_t)attribute, &answer);
  if (error == VS_SIM_OK) *value = answer;
  return vs_rt_answer(error);
}

/* A member of the properties, and the attribute with the same value. */
typedef struct property {
  size_t offset, size;
  uint32_t attribute;
} property;

#define PROPERTY(member, attribute) \
  { offsetof(struct cudaDeviceProp, member), sizeof(((struct cudaDeviceProp *)0)->member), (attribute) }

static const property properties[] = {
    PROPERTY(sharedMemPerBlock, 8),
    PROPERTY(regsPerBlock, 12),
    PROPERTY(warpSize, 10),
    PROPERTY(memPitch, 11),
    PROPERTY(maxThreadsPerBlock, 1),
    PROPERTY(maxThreadsDim[0], 2),
    PROPERTY(maxThreadsDim[1], 3),
    PROPERTY(maxThreadsDim[2], 4),
    PROPERTY(maxGridSize[0], 5),
    PROPERTY(maxGridSize[1], 6),
    PROPERTY(maxGridSize[2], 7),
    PROPERTY(totalConstMem, 9),
    PROPERTY(major, 75),
    PROPERTY(minor, 76),
    PROPERTY(textureAlignment, 14),
    PROPERTY(texturePitchAlignment, 51),
    PROPERTY(multiProcessorCount, 16),
    PROPERTY(integrated, 18),
    PROPERTY(canMapHostMemory, 19),
    PROPERTY(maxTexture1D, 21),
    PROPERTY(maxTexture1DMipmap, 77),
    PROPERTY(maxTexture2D[0], 22),
    PROPERTY(maxTexture2D[1], 23),
    PROPERTY(maxTexture2DMipmap[0], 73),
    PROPERTY(maxTexture2DMipmap[1], 74),
    PROPERTY(maxTexture2DLinear[0], 70),
    PROPERTY(maxTexture2DLinear[1], 71),
    PROPERTY(maxTexture2DLinear[2], 72),
    PROPERTY(maxTexture2DGather[0], 45),
    PROPERTY(maxTexture2DGather[1], 46),
    PROPERTY(maxTexture3D[0], 24),
    PROPERTY(maxTexture3D[1], 25),
    PROPERTY(maxTexture3D[2], 26),
    PROPERTY(maxTexture3DAlt[0], 47),
    PROPERTY(maxTexture3DAlt[1], 48),
    PROPERTY(maxTexture3DAlt[2], 49),
    PROPERTY(maxTextureCubemap, 52),
    PROPERTY(maxTexture1DLayered[0], 42),
    PROPERTY(maxTexture1DLayered[1], 43),
    PROPERTY(maxTexture2DLayered[0], 27),
    PROPERTY(maxTexture2DLayered[1], 28),
    PROPERTY(maxTexture2DLayered[2], 29),
    PROPERTY(maxTextureCubemapLayered[0], 53),
    PROPERTY(maxTextureCubemapLayered[1], 54),
    PROPERTY(maxSurface1D, 55),
    PROPERTY(maxSurface2D[0], 56),
    PROPERTY(maxSurface2D[1], 57),
    PROPERTY(maxSurface3D[0], 58),
    PROPERTY(maxSurface3D[1], 59),
    PROPERTY(maxSurface3D[2], 60),
    PROPERTY(maxSurface1DLayered[0], 61),
    PROPERTY(maxSurface1DLayered[1], 62),
    PROPERTY(maxSurface2DLayered[0], 63),
    PROPERTY(maxSurface2DLayered[1], 64),
    PROPERTY(maxSurface2DLayered[2], 65),
    PROPERTY(maxSurfaceCubemap, 66),
    PROPERTY(maxSurfaceCubemapLayered[0], 67),
    PROPERTY(maxSurfaceCubemapLayered[1], 68),
    PROPERTY(surfaceAlignment, 30),
    PROPERTY(concurrentKernels, 31),
    PROPERTY(ECCEnabled, 32),
    PROPERTY(pciBusID, 33),
    PROPERTY(pciDeviceID, 34),
    PROPERTY(pciDomainID, 50),
    PROPERTY(tccDriver, 35),
    PROPERTY(asyncEngineCount, 40),
    PROPERTY(unifiedAddressing, 41),
    PROPERTY(memoryBusWidth, 37),
    PROPERTY(l2CacheSize, 38),
    PROPERTY(persistingL2CacheMaxSize, 108),
    PROPERTY(maxThreadsPerMultiProcessor, 39),
    PROPERTY(streamPrioritiesSupported, 78),
    PROPERTY(globalL1CacheSupported, 79),
    PROPERTY(localL1CacheSupported, 80),
    PROPERTY(sharedMemPerMultiprocessor, 81),
    PROPERTY(regsPerMultiprocessor, 82),
    PROPERTY(managedMemory, 83),
    PROPERTY(isMultiGpuBoard, 84),
    PROPERTY(multiGpuBoardGroupID, 85),
    PROPERTY(hostNativeAtomicSupported, 86),
    PROPERTY(pageableMemoryAccess, 88),
    PROPERTY(concurrentManagedAccess, 89),
    PROPERTY(computePreemptionSupported, 90),
    PROPERTY(canUseHostPointerForRegisteredMem, 91),
    PROPERTY(cooperativeLaunch, 95),
    PROPERTY(sharedMemPerBlockOptin, 97),
    PROPERTY(pageableMemoryAccessUsesHostPageTables, 100),
    PROPERTY(directManagedMemAccessFromHost, 101),
    PROPERTY(maxBlocksPerMultiProcessor, 106),
    PROPERTY(accessPolicyMaxWindowSize, 109),
    PROPERTY(reservedSharedMemPerBlock, 111),
    PROPERTY(hostRegisterSupported, 99),
    PROPERTY(sparseCudaArraySupported, 112),
    PROPERTY(hostRegisterReadOnlySupported, 113),
    PROPERTY(timelineSemaphoreInteropSupported, 114),
    PROPERTY(memoryPoolsSupported, 115),
    PROPERTY(gpuDirectRDMASupported, 116),
    PROPERTY(gpuDirectRDMAFlushWritesOptions, 117),
    PROPERTY(gpuDirectRDMAWritesOrdering, 118),
    PROPERTY(memoryPoolSupportedHandleTypes, 119),
    PROPERTY(deferredMappingCudaArraySupported, 121),
    PROPERTY(ipcEventSupported, 125),
    PROPERTY(clusterLaunch, 120),
    PROPERTY(unifiedFunctionPointers, 129),
#if VS_CUDART >= 13
    PROPERTY(deviceNumaConfig, 130),
    PROPERTY(deviceNumaId, 131),
    PROPERTY(mpsEnabled, 133),
    PROPERTY(hostNumaId, 134),
    PROPERTY(gpuPciDeviceID, 139),
    PROPERTY(gpuPciSubsystemID, 140),
    PROPERTY(hostNumaMultinodeIpcSupported, 143),
#else
    PROPERTY(clockRate, 13),
    PROPERTY(deviceOverlap, 15),
    PROPERTY(kernelExecTimeoutEnabled, 17),
    PROPERTY(computeMode, 20),
    PROPERTY(maxTexture1DLinear, 69),
    PROPERTY(memoryClockRate, 36),
    PROPERTY(singleToDoublePrecisionPerfRatio, 87),
    PROPERTY(cooperativeMultiDeviceLaunch, 96),
#endif
};

static vs_sim_error set_property(struct cudaDeviceProp *all, const property *one, uint32_t device) {
  int32_t value = 0;
  VS_SIM_TRY(vs_simcuda_attribute(device, one->attribute, &value));
  const size_t wide = (size_t)value;
  memcpy((char *)all + one->offset, one->size == sizeof wide ? (const void *)&wide : (const void *)&value,
         one->size);
  return VS_SIM_OK;
}

static vs_sim_error get_properties(struct cudaDeviceProp *all, int device) {
  VS_SIM_TRY(check_device(device));
  const uint32_t number = (uint32_t)device;
  memset(all, 0, sizeof *all);
  vs_format(all->name, sizeof all->name, "%s", vs_simcuda_name(number));
  vs_card_uuid(vs_simcuda_card(number), (uint8_t *)all->uuid.bytes);
  all->totalGlobalMem = vs_simcuda_figures(number)->total_bytes;
  for (size_t i = 0; i < sizeof properties / sizeof *properties; i++)
    VS_SIM_TRY(set_property(all, &properties[i], number));
  return VS_SIM_OK;
}

#if VS_CUDART >= 13
cudaError_t sim_cudaGetDeviceProperties(struct cudaDeviceProp *all, int device) {
  return vs_rt_answer(all == NULL ? VS_SIM_INVALID_VALUE : get_properties(all, device));
}
#else
cudaError_t sim_cudaGetDeviceProperties_v2(struct cudaDeviceProp *all, int device) {
  return vs_rt_answer(all == NULL ? VS_SIM_INVALID_VALUE : get_properties(all, device));
}

/* For programs built with CUDA 11, whose struct ends with reservedSharedMemPerBlock and is equal up to there. */
cudaError_t sim_cudaGetDeviceProperties(struct cudaDeviceProp *all, int device) {
  struct cudaDeviceProp whole;
  const vs_sim_error error = all == NULL ? VS_SIM_INVALID_VALUE : get_properties(&whole, device);
  if (error == VS_SIM_OK) memcpy(all, &whole, offsetof(struct cudaDeviceProp, hostRegisterSupported));
  return vs_rt_answer(error);
}
#endif

cudaError_t sim_cudaDeviceGetStreamPriorityRange(int *least, int *greatest) {
  const vs_sim_error error = vs_simcuda_begin();
  if (error != VS_SIM_OK) return vs_rt_answer(error);
  if (least != NULL) *least = VS_SIM_PRIORITY_LEAST;
  if (greatest != NULL) *greatest = VS_SIM_PRIORITY_GREATEST;
  return cudaSuccess;
}

cudaError_t sim_cudaDeviceGetTexture1DLinearMaxWidth(size_t *width,
                                                     const struct cudaChannelFormatDesc *format, int device) {
  int32_t most = 0;
  if (width == NULL || format == NULL) return vs_rt_answer(VS_SIM_INVALID_VALUE);
  vs_sim_error error = check_device(device);
  if (error == VS_SIM_OK) error = vs_simcuda_attribute((uint32_t)device, 69, &most);
  if (error == VS_SIM_OK) *width = (size_t)most;
  return vs_rt_answer(error);
}

cudaError_t sim_cudaDriverGetVersion(int *version) {
  if (version == NULL) return vs_rt_answer(VS_SIM_INVALID_VALUE);
  *version = VS_SIMCUDA_DRIVER_VERSION;
  return cudaSuccess;
}

cudaError_t sim_cudaRuntimeGetVersion(int *version) {
  if (version == NULL) return vs_rt_answer(VS_SIM_INVALID_VALUE);
  *version = VS_CUDART >= 13 ? VS_SIMCUDA_DRIVER_VERSION : 12080;
  return cudaSuccess;
}

/* ---- limits and settings */

cudaError_t sim_cudaDeviceGetLimit(size_t *value, enum cudaLimit limit) {
  vs_rt rt;
  uint64_t bytes = 0;
  if (value == NULL) return vs_rt_answer(VS_SIM_INVALID_VALUE);
  vs_sim_error error = vs_rt_use(&rt);
  if (error == VS_SIM_OK) error = vs_simcuda_limit_get(rt.device, (uint32_t)limit, &bytes);
  if (error == VS_SIM_OK) *value = (size_t)bytes;
  return vs_rt_answer(error);
}

cudaError_t sim_cudaDeviceSetLimit(enum cudaLimit limit, size_t value) {
  vs_rt rt;
  vs_sim_error error = vs_rt_use(&rt);
  if (error == VS_SIM_OK) error = vs_simcuda_limit_set(rt.device, (uint32_t)limit, value);
  return vs_rt_answer(error);
}

/* Preferences about caches and banks do not affect memory. The last value of each is stored, for all devices
 * together. */
static int cache_preference, bank_preference;

static cudaError_t set_preference(int *preference, unsigned value, unsigned most) {
  if (value > most) return vs_rt_answer(VS_SIM_INVALID_VALUE);
  __atomic_store_n(preference, (int)value, __ATOMIC_RELAXED);
  return vs_rt_answer(vs_simcuda_begin());
}

cudaError_t sim_cudaDeviceSetCacheConfig(enum cudaFuncCache preference) {
  return set_preference(&cache_preference, (unsigned)preference, cudaFuncCachePreferEqual);
}

cudaError_t sim_cudaDeviceGetCacheConfig(enum cudaFuncCache *preference) {
  if (preference == NULL) return vs_rt_answer(VS_SIM_INVALID_VALUE);
  *preference = (enum cudaFuncCache)__atomic_load_n(&cache_preference, __ATOMIC_RELAXED);
  return vs_rt_answer(vs_simcuda_begin());
}

cudaError_t sim_cudaDeviceSetSharedMemConfig(enum cudaSharedMemConfig preference) {
  return set_preference(&bank_preference, (unsigned)preference, cudaSharedMemBankSizeEightByte);
}

cudaError_t sim_cudaDeviceGetSharedMemConfig(enum cudaSharedMemConfig *preference) {
  if (preference == NULL) return vs_rt_answer(VS_SIM_INVALID_VALUE);
  const int value = __atomic_load_n(&bank_preference, __ATOMIC_RELAXED);
  *preference = value == 0 ? cudaSharedMemBankSizeFourByte : (enum cudaSharedMemConfig)value;
  return vs_rt_answer(vs_simcuda_begin());
}

/* There is no cache to reset. */
cudaError_t sim_cudaCtxResetPersistingL2Cache(void) { return vs_rt_answer(vs_simcuda_begin()); }

cudaError_t sim_cudaProfilerStart(void) { return vs_rt_answer(vs_simcuda_begin()); }
cudaError_t sim_cudaProfilerStop(void) { return vs_rt_answer(vs_simcuda_begin()); }

/* ---- synchronising and resetting */

cudaError_t sim_cudaDeviceSynchronize(void) {
  vs_rt rt;
  if (!vs_rt_enter(&rt)) return rt.failure;
  const vs_sim_error error = vs_sim_device_synchronize(rt.sim, rt.device);
  return vs_rt_leave_synchronized(error);
}

cudaError_t sim_cudaDeviceReset(void) {
  vs_sim_error error = vs_simcuda_begin();
  const uint32_t device = vs_simcuda_this_thread()->device;
  if (error == VS_SIM_OK) error = vs_simcuda_reset(device);
  if (error == VS_SIM_OK) vs_rt_forget_addresses(device);
  return vs_rt_answer(error);
}

/* ---- peers */

cudaError_t sim_cudaDeviceCanAccessPeer(int *can, int device, int peer) {
  if (can == NULL) return vs_rt_answer(VS_SIM_INVALID_VALUE);
  vs_rt rt;
  if (!vs_rt_look(&rt)) return rt.failure;
  const bool are_devices = vs_rt_is_device(device) && vs_rt_is_device(peer);
  if (are_devices) *can = vs_sim_peer_possible(rt.sim, (uint32_t)device, (uint32_t)peer) ? 1 : 0;
  return vs_rt_leave(are_devices ? VS_SIM_OK : VS_SIM_INVALID_DEVICE);
}

cudaError_t sim_cudaDeviceEnablePeerAccess(int peer, unsigned int flags) {
  if (flags != 0) return vs_rt_answer(VS_SIM_INVALID_VALUE);
  VS_RT_CALL(peer < 0 ? VS_SIM_INVALID_DEVICE : vs_sim_peer_enable(rt.sim, rt.device, (uint32_t)peer));
}

cudaError_t sim_cudaDeviceDisablePeerAccess(int peer) {
  VS_RT_CALL(peer < 0 ? VS_SIM_INVALID_DEVICE : vs_sim_peer_disable(rt.sim, rt.device, (uint32_t)peer));
}

/* Every pair of cards supports peer access, with equal performance. */
cudaError_t sim_cudaDeviceGetP2PAttribute(int *value, enum cudaDeviceP2PAttr attribute, int device,
                                          int peer) {
  if (value == NULL) return vs_rt_answer(VS_SIM_INVALID_VALUE);
  vs_sim_error error = check_device(device);
  if (error == VS_SIM_OK) error = check_device(peer);
  if (error == VS_SIM_OK && device == peer) error = VS_SIM_INVALID_DEVICE;
  if (error != VS_SIM_OK) return vs_rt_answer(error);
  switch ((unsigned)attribute) {
    case cudaDevP2PAttrPerformanceRank: *value = 0; return cudaSuccess;
    case cudaDevP2PAttrAccessSupported:
    case cudaDevP2PAttrNativeAtomicSupported:
    case cudaDevP2PAttrCudaArrayAccessSupported: *value = 1; return cudaSuccess;
    default: return vs_rt_answer(VS_SIM_INVALID_VALUE);
  }
}

#if VS_CUDART < 13
/* ---- older names: calls without effect, and calls with newer names */

cudaError_t sim_cudaThreadExit(void) { return sim_cudaDeviceReset(); }
cudaError_t sim_cudaThreadSynchronize(void) { return sim_cudaDeviceSynchronize(); }
cudaError_t sim_cudaThreadSetLimit(enum cudaLimit limit, size_t value) {
  return sim_cudaDeviceSetLimit(limit, value);
}
cudaError_t sim_cudaThreadGetLimit(size_t *value, enum cudaLimit limit) {
  return sim_cudaDeviceGetLimit(value, limit);
}
cudaError_t sim_cudaThreadGetCacheConfig(enum cudaFuncCache *preference) {
  return sim_cudaDeviceGetCacheConfig(preference);
}
cudaError_t sim_cudaThreadSetCacheConfig(enum cudaFuncCache preference) {
  return sim_cudaDeviceSetCacheConfig(preference);
}
cudaError_t sim_cudaSetDoubleForDevice(double *value) {
  return vs_rt_answer(value == NULL ? VS_SIM_INVALID_VALUE : VS_SIM_OK);
}
cudaError_t sim_cudaSetDoubleForHost(double *value) {
  return vs_rt_answer(value == NULL ? VS_SIM_INVALID_VALUE : VS_SIM_OK);
}
#endif
