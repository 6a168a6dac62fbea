/* The functions of NVML that are written by hand, by the names that they are exported under. */
#ifndef VS_SIMCUDA_ABI_NVML_H
#define VS_SIMCUDA_ABI_NVML_H

#include "device/abi/nvml_types.h"

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

nvmlReturn_t sim_nvmlDeviceGetCount_v2(unsigned int *);
nvmlReturn_t sim_nvmlDeviceGetHandleByIndex_v2(unsigned int, nvmlDevice_t *);
nvmlReturn_t sim_nvmlDeviceGetHandleBySerial(const char *, nvmlDevice_t *);
nvmlReturn_t sim_nvmlDeviceGetHandleByUUID(const char *, nvmlDevice_t *);
nvmlReturn_t sim_nvmlDeviceGetHandleByUUIDV(const nvmlUUID_t *, nvmlDevice_t *);
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

/* Questions about a physical thing, such as its temperature: not supported, without a word, whatever the arguments. Real cards
 * answer many of them so, too, so that programs are used to it. */
nvmlReturn_t sim_nvml_unknown(void);

#endif
