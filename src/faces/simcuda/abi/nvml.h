/* NVML under its public names: types, numbers and layouts of our own declaration, and the functions that are
 * written by hand. The toolkit has no nvml.h; tests/sim compares the layouts with those of NVIDIA's own
 * Python binding.
 *
 * A name without a version has the oldest layout, whatever a header of today makes of it. */
#ifndef VS_SIMCUDA_ABI_NVML_H
#define VS_SIMCUDA_ABI_NVML_H

#include <stddef.h>
#include <stdint.h>

typedef enum nvmlReturn_t {
#define VS_NVML_RETURN(name, number, text) name = number,
#include "faces/simcuda/abi/nvml_returns.def"
#undef VS_NVML_RETURN
} nvmlReturn_t;

typedef struct nvmlDevice_st *nvmlDevice_t;
typedef struct nvmlUnit_st *nvmlUnit_t;

typedef struct nvmlPciInfo_v1_t {
  char busId[16];
  unsigned int domain, bus, device, pciDeviceId;
} nvmlPciInfo_v1_t;
typedef struct nvmlPciInfo_v2_t {
  char busId[16];
  unsigned int domain, bus, device, pciDeviceId, pciSubSystemId, reserved[4];
} nvmlPciInfo_v2_t;
typedef struct nvmlPciInfo_t { /* of _v3 */
  char busIdLegacy[16];
  unsigned int domain, bus, device, pciDeviceId, pciSubSystemId;
  char busId[32];
} nvmlPciInfo_t;
typedef struct nvmlPciInfoExt_v1_t {
  unsigned int version, domain, bus, device, pciDeviceId, pciSubSystemId, baseClass, subClass;
  char busId[32];
} nvmlPciInfoExt_v1_t;

typedef struct nvmlMemory_t {
  unsigned long long total, free, used; /* what the driver keeps is in used */
} nvmlMemory_t;
typedef struct nvmlMemory_v2_t {
  unsigned int version;
  unsigned long long total, reserved, free, used;
} nvmlMemory_v2_t;

typedef struct nvmlUtilization_t {
  unsigned int gpu, memory;
} nvmlUtilization_t;

typedef struct nvmlProcessInfo_v1_t {
  unsigned int pid;
  unsigned long long usedGpuMemory;
} nvmlProcessInfo_v1_t;
typedef struct nvmlProcessInfo_v2_t { /* of _v3 too */
  unsigned int pid;
  unsigned long long usedGpuMemory;
  unsigned int gpuInstanceId, computeInstanceId;
} nvmlProcessInfo_v2_t;
typedef struct nvmlProcessDetail_v1_t {
  unsigned int pid;
  unsigned long long usedGpuMemory;
  unsigned int gpuInstanceId, computeInstanceId;
  unsigned long long usedGpuCcProtectedMemory;
} nvmlProcessDetail_v1_t;
typedef struct nvmlProcessDetailList_t {
  unsigned int version, mode, numProcArrayEntries;
  nvmlProcessDetail_v1_t *procArray;
} nvmlProcessDetailList_t;

typedef struct nvmlGpuFabricInfo_t {
  unsigned char clusterUuid[16];
  nvmlReturn_t status;
  unsigned int cliqueId;
  unsigned char state;
} nvmlGpuFabricInfo_t;
/* Version 3; version 2 is without the last. */
typedef struct nvmlGpuFabricInfoV_t {
  unsigned int version;
  unsigned char clusterUuid[16];
  nvmlReturn_t status;
  unsigned int cliqueId;
  unsigned char state;
  unsigned int healthMask;
  unsigned char healthSummary;
} nvmlGpuFabricInfoV_t;

typedef struct nvmlFieldValue_t {
  unsigned int fieldId, scopeId;
  long long timestamp, latencyUsec;
  unsigned int valueType;
  nvmlReturn_t nvmlReturn;
  unsigned long long value;
} nvmlFieldValue_t;

typedef struct nvmlUUID_t {
  unsigned int version, type;
  union {
    char str[41];
    unsigned char bytes[16];
  } value;
} nvmlUUID_t;

/* A version word: the size, and the version above it. */
#define VS_NVML_VERSION(type, version) ((unsigned int)(sizeof(type) | (unsigned int)(version) << 24))

#define VS_LAYOUT(type, bytes) _Static_assert(sizeof(type) == (bytes), #type)
VS_LAYOUT(nvmlPciInfo_v1_t, 32);
VS_LAYOUT(nvmlPciInfo_v2_t, 52);
VS_LAYOUT(nvmlPciInfo_t, 68);
VS_LAYOUT(nvmlPciInfoExt_v1_t, 64);
VS_LAYOUT(nvmlMemory_t, 24);
VS_LAYOUT(nvmlMemory_v2_t, 40);
VS_LAYOUT(nvmlProcessInfo_v1_t, 16);
VS_LAYOUT(nvmlProcessInfo_v2_t, 24);
VS_LAYOUT(nvmlProcessDetail_v1_t, 32);
VS_LAYOUT(nvmlProcessDetailList_t, 24);
VS_LAYOUT(nvmlGpuFabricInfo_t, 28);
VS_LAYOUT(nvmlGpuFabricInfoV_t, 40);
VS_LAYOUT(nvmlFieldValue_t, 40);
VS_LAYOUT(nvmlUUID_t, 52);
#undef VS_LAYOUT

nvmlReturn_t sim_nvmlInit(void);
nvmlReturn_t sim_nvmlInit_v2(void);
nvmlReturn_t sim_nvmlInitWithFlags(unsigned int);
nvmlReturn_t sim_nvmlShutdown(void);
const char *sim_nvmlErrorString(nvmlReturn_t);

nvmlReturn_t sim_nvmlSystemGetDriverVersion(char *, unsigned int);
nvmlReturn_t sim_nvmlSystemGetNVMLVersion(char *, unsigned int);
nvmlReturn_t sim_nvmlSystemGetCudaDriverVersion(int *);
nvmlReturn_t sim_nvmlSystemGetCudaDriverVersion_v2(int *);
nvmlReturn_t sim_nvmlSystemGetProcessName(unsigned int, char *, unsigned int);
nvmlReturn_t sim_nvmlUnitGetCount(unsigned int *);
nvmlReturn_t sim_nvmlGetExcludedDeviceCount(unsigned int *);

nvmlReturn_t sim_nvmlDeviceGetCount(unsigned int *);
nvmlReturn_t sim_nvmlDeviceGetCount_v2(unsigned int *);
nvmlReturn_t sim_nvmlDeviceGetHandleByIndex(unsigned int, nvmlDevice_t *);
nvmlReturn_t sim_nvmlDeviceGetHandleByIndex_v2(unsigned int, nvmlDevice_t *);
nvmlReturn_t sim_nvmlDeviceGetHandleBySerial(const char *, nvmlDevice_t *);
nvmlReturn_t sim_nvmlDeviceGetHandleByUUID(const char *, nvmlDevice_t *);
nvmlReturn_t sim_nvmlDeviceGetHandleByUUIDV(const nvmlUUID_t *, nvmlDevice_t *);
nvmlReturn_t sim_nvmlDeviceGetHandleByPciBusId(const char *, nvmlDevice_t *);
nvmlReturn_t sim_nvmlDeviceGetHandleByPciBusId_v2(const char *, nvmlDevice_t *);

nvmlReturn_t sim_nvmlDeviceGetName(nvmlDevice_t, char *, unsigned int);
nvmlReturn_t sim_nvmlDeviceGetUUID(nvmlDevice_t, char *, unsigned int);
nvmlReturn_t sim_nvmlDeviceGetSerial(nvmlDevice_t, char *, unsigned int);
nvmlReturn_t sim_nvmlDeviceGetIndex(nvmlDevice_t, unsigned int *);
nvmlReturn_t sim_nvmlDeviceGetMinorNumber(nvmlDevice_t, unsigned int *);
nvmlReturn_t sim_nvmlDeviceGetBoardId(nvmlDevice_t, unsigned int *);
nvmlReturn_t sim_nvmlDeviceGetMultiGpuBoard(nvmlDevice_t, unsigned int *);
nvmlReturn_t sim_nvmlDeviceOnSameBoard(nvmlDevice_t, nvmlDevice_t, int *);
nvmlReturn_t sim_nvmlDeviceGetBrand(nvmlDevice_t, unsigned int *);
nvmlReturn_t sim_nvmlDeviceGetArchitecture(nvmlDevice_t, unsigned int *);
nvmlReturn_t sim_nvmlDeviceGetCudaComputeCapability(nvmlDevice_t, int *, int *);
nvmlReturn_t sim_nvmlDeviceGetMemoryBusWidth(nvmlDevice_t, unsigned int *);
nvmlReturn_t sim_nvmlDeviceGetMaxClockInfo(nvmlDevice_t, unsigned int, unsigned int *);
nvmlReturn_t sim_nvmlDeviceGetPciInfo(nvmlDevice_t, nvmlPciInfo_v1_t *);
nvmlReturn_t sim_nvmlDeviceGetPciInfo_v2(nvmlDevice_t, nvmlPciInfo_v2_t *);
nvmlReturn_t sim_nvmlDeviceGetPciInfo_v3(nvmlDevice_t, nvmlPciInfo_t *);
nvmlReturn_t sim_nvmlDeviceGetPciInfoExt(nvmlDevice_t, nvmlPciInfoExt_v1_t *);

nvmlReturn_t sim_nvmlDeviceGetMemoryInfo(nvmlDevice_t, nvmlMemory_t *);
nvmlReturn_t sim_nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t, nvmlMemory_v2_t *);
nvmlReturn_t sim_nvmlDeviceGetComputeRunningProcesses(nvmlDevice_t, unsigned int *, nvmlProcessInfo_v1_t *);
nvmlReturn_t sim_nvmlDeviceGetComputeRunningProcesses_v2(nvmlDevice_t, unsigned int *,
                                                         nvmlProcessInfo_v2_t *);
nvmlReturn_t sim_nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t, unsigned int *,
                                                         nvmlProcessInfo_v2_t *);
nvmlReturn_t sim_nvmlDeviceGetGraphicsRunningProcesses(nvmlDevice_t, unsigned int *, nvmlProcessInfo_v1_t *);
nvmlReturn_t sim_nvmlDeviceGetGraphicsRunningProcesses_v2(nvmlDevice_t, unsigned int *,
                                                          nvmlProcessInfo_v2_t *);
nvmlReturn_t sim_nvmlDeviceGetGraphicsRunningProcesses_v3(nvmlDevice_t, unsigned int *,
                                                          nvmlProcessInfo_v2_t *);
nvmlReturn_t sim_nvmlDeviceGetMPSComputeRunningProcesses(nvmlDevice_t, unsigned int *,
                                                         nvmlProcessInfo_v1_t *);
nvmlReturn_t sim_nvmlDeviceGetMPSComputeRunningProcesses_v2(nvmlDevice_t, unsigned int *,
                                                            nvmlProcessInfo_v2_t *);
nvmlReturn_t sim_nvmlDeviceGetMPSComputeRunningProcesses_v3(nvmlDevice_t, unsigned int *,
                                                            nvmlProcessInfo_v2_t *);
nvmlReturn_t sim_nvmlDeviceGetRunningProcessDetailList(nvmlDevice_t, nvmlProcessDetailList_t *);

nvmlReturn_t sim_nvmlDeviceGetUtilizationRates(nvmlDevice_t, nvmlUtilization_t *);
nvmlReturn_t sim_nvmlDeviceGetPerformanceState(nvmlDevice_t, unsigned int *);
nvmlReturn_t sim_nvmlDeviceGetPowerState(nvmlDevice_t, unsigned int *);
nvmlReturn_t sim_nvmlDeviceGetCurrentClocksEventReasons(nvmlDevice_t, unsigned long long *);
nvmlReturn_t sim_nvmlDeviceGetCurrentClocksThrottleReasons(nvmlDevice_t, unsigned long long *);
nvmlReturn_t sim_nvmlDeviceGetSupportedClocksEventReasons(nvmlDevice_t, unsigned long long *);
nvmlReturn_t sim_nvmlDeviceGetSupportedClocksThrottleReasons(nvmlDevice_t, unsigned long long *);
nvmlReturn_t sim_nvmlDeviceGetPersistenceMode(nvmlDevice_t, unsigned int *);
nvmlReturn_t sim_nvmlDeviceGetComputeMode(nvmlDevice_t, unsigned int *);
nvmlReturn_t sim_nvmlDeviceGetDisplayMode(nvmlDevice_t, unsigned int *);
nvmlReturn_t sim_nvmlDeviceGetDisplayActive(nvmlDevice_t, unsigned int *);
nvmlReturn_t sim_nvmlDeviceGetAccountingMode(nvmlDevice_t, unsigned int *);
nvmlReturn_t sim_nvmlDeviceGetEccMode(nvmlDevice_t, unsigned int *, unsigned int *);
nvmlReturn_t sim_nvmlDeviceGetDefaultEccMode(nvmlDevice_t, unsigned int *);
nvmlReturn_t sim_nvmlDeviceGetMigMode(nvmlDevice_t, unsigned int *, unsigned int *);
nvmlReturn_t sim_nvmlDeviceGetMaxMigDeviceCount(nvmlDevice_t, unsigned int *);
nvmlReturn_t sim_nvmlDeviceIsMigDeviceHandle(nvmlDevice_t, unsigned int *);
nvmlReturn_t sim_nvmlDeviceGetMigDeviceHandleByIndex(nvmlDevice_t, unsigned int, nvmlDevice_t *);
nvmlReturn_t sim_nvmlDeviceGetVirtualizationMode(nvmlDevice_t, unsigned int *);
nvmlReturn_t sim_nvmlDeviceGetTopologyCommonAncestor(nvmlDevice_t, nvmlDevice_t, unsigned int *);
nvmlReturn_t sim_nvmlDeviceGetP2PStatus(nvmlDevice_t, nvmlDevice_t, unsigned int, unsigned int *);
nvmlReturn_t sim_nvmlDeviceGetGpuFabricInfo(nvmlDevice_t, nvmlGpuFabricInfo_t *);
nvmlReturn_t sim_nvmlDeviceGetGpuFabricInfoV(nvmlDevice_t, nvmlGpuFabricInfoV_t *);
nvmlReturn_t sim_nvmlDeviceGetFieldValues(nvmlDevice_t, int, nvmlFieldValue_t *);

/* What a simulation cannot know: not supported, without a word, whatever the arguments. */
#define VS_NVML_UNKNOWN(name) nvmlReturn_t sim_##name(void);
#include "faces/simcuda/abi/nvml_unknown.def"
#undef VS_NVML_UNKNOWN

#endif
