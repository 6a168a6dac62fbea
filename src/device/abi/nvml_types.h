/* The types of NVML under their public names: numbers and layouts of our own declaration. The toolkit has no nvml.h;
 * tests/sim compares the layouts with those of NVIDIA's own Python binding.
 *
 * A name without a version has the oldest layout, whatever a header of today makes of it. */
#ifndef VS_DEVICE_ABI_NVML_TYPES_H
#define VS_DEVICE_ABI_NVML_TYPES_H

#include <stddef.h>
#include <stdint.h>

typedef enum nvmlReturn_t {
#define VS_NVML_RETURN(name, number, text) name = number,
#include "device/abi/nvml_returns.def"
#undef VS_NVML_RETURN
} nvmlReturn_t;

typedef struct nvmlDevice_st *nvmlDevice_t;
typedef struct nvmlUnit_st *nvmlUnit_t;

/* ---- events of cards */
typedef struct nvmlEventSet_st *nvmlEventSet_t;
typedef struct nvmlEventData_t {
  nvmlDevice_t device;
  unsigned long long eventType, eventData;       /* of an XID error its number; 999: unknown */
  unsigned int gpuInstanceId, computeInstanceId; /* not of the oldest version of the call */
} nvmlEventData_t;
enum { VS_NVML_EVENT_XID = 8 }; /* nvmlEventTypeXidCriticalError */

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

typedef struct nvmlBAR1Memory_t {
  unsigned long long bar1Total, bar1Free, bar1Used;
} nvmlBAR1Memory_t;

typedef struct nvmlConfComputeMemSizeInfo_t {
  unsigned long long protectedMemSizeKib, unprotectedMemSizeKib;
} nvmlConfComputeMemSizeInfo_t;

typedef struct nvmlConfComputeSystemState_t {
  unsigned int environment, ccFeature, devToolsMode;
} nvmlConfComputeSystemState_t;

typedef struct nvmlConfComputeSystemCaps_t {
  unsigned int cpuCaps, gpusCaps;
} nvmlConfComputeSystemCaps_t;

typedef struct nvmlSystemConfComputeSettings_v1_t {
  unsigned int version, environment, ccFeature, devToolsMode, multiGpuMode;
} nvmlSystemConfComputeSettings_v1_t;

typedef struct nvmlTemperature_v1_t {
  unsigned int version, sensorType;
  int temperature;
} nvmlTemperature_v1_t;
typedef struct nvmlMarginTemperature_v1_t {
  unsigned int version;
  int marginTemperature;
} nvmlMarginTemperature_v1_t;

typedef struct nvmlDeviceAddressingMode_v1_t {
  unsigned int version, value;
} nvmlDeviceAddressingMode_v1_t;
typedef struct nvmlDramEncryptionInfo_v1_t {
  unsigned int version, encryptionState;
} nvmlDramEncryptionInfo_v1_t;
typedef struct nvmlC2cModeInfo_v1_t { /* the word is no member: the call has it in its name */
  unsigned int isC2cEnabled;
} nvmlC2cModeInfo_v1_t;
typedef struct nvmlHostname_v1_t {
  char value[64];
} nvmlHostname_v1_t;

typedef struct nvmlDeviceAttributes_t {
  unsigned int multiprocessorCount, sharedCopyEngineCount, sharedDecoderCount, sharedEncoderCount,
      sharedJpegCount, sharedOfaCount, gpuInstanceSliceCount, computeInstanceSliceCount;
  unsigned long long memorySizeMB;
} nvmlDeviceAttributes_t;

typedef struct nvmlEccSramErrorStatus_v1_t {
  unsigned int version;
  unsigned long long aggregateUncParity, aggregateUncSecDed, aggregateCor, volatileUncParity,
      volatileUncSecDed, volatileCor, aggregateUncBucketL2, aggregateUncBucketSm, aggregateUncBucketPcie,
      aggregateUncBucketMcu, aggregateUncBucketOther;
  unsigned int bThresholdExceeded;
} nvmlEccSramErrorStatus_v1_t;
typedef struct nvmlRowRemapperHistogramValues_t {
  unsigned int max, high, partial, low, none;
} nvmlRowRemapperHistogramValues_t;

typedef struct nvmlAccountingStats_t {
  unsigned int gpuUtilization, memoryUtilization;
  unsigned long long maxMemoryUsage, time, startTime; /* bytes, milliseconds, microseconds since 1970 */
  unsigned int isRunning, reserved[5];
} nvmlAccountingStats_t;

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
VS_LAYOUT(nvmlBAR1Memory_t, 24);
VS_LAYOUT(nvmlConfComputeMemSizeInfo_t, 16);
VS_LAYOUT(nvmlConfComputeSystemState_t, 12);
VS_LAYOUT(nvmlConfComputeSystemCaps_t, 8);
VS_LAYOUT(nvmlSystemConfComputeSettings_v1_t, 20);
VS_LAYOUT(nvmlTemperature_v1_t, 0x0c);
VS_LAYOUT(nvmlMarginTemperature_v1_t, 0x08);
VS_LAYOUT(nvmlDeviceAddressingMode_v1_t, 0x08);
VS_LAYOUT(nvmlDramEncryptionInfo_v1_t, 0x08);
VS_LAYOUT(nvmlC2cModeInfo_v1_t, 0x04);
VS_LAYOUT(nvmlHostname_v1_t, 64);
VS_LAYOUT(nvmlDeviceAttributes_t, 40);
VS_LAYOUT(nvmlEccSramErrorStatus_v1_t, 0x68);
VS_LAYOUT(nvmlRowRemapperHistogramValues_t, 20);
VS_LAYOUT(nvmlAccountingStats_t, 56);
#undef VS_LAYOUT

#endif
