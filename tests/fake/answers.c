/* Texts and numbers of a card. */
#include "fake.h"

#include <stdio.h>
#include <string.h>

/* ---- one key each */

#define TEXT(function, key)                                                   \
  nvmlReturn_t function(nvmlDevice_t device, char *text, unsigned int size) { \
    CARD;                                                                     \
    return fake_put_text(card, key, text, size);                              \
  }
#define NUMBER(function, key)                                        \
  nvmlReturn_t function(nvmlDevice_t device, unsigned int *number) { \
    CARD;                                                            \
    return fake_put_uint(card, key, number);                         \
  }
#define NUMBERS(function, first, second)                                         \
  nvmlReturn_t function(nvmlDevice_t device, unsigned int *a, unsigned int *b) { \
    CARD;                                                                        \
    TRY(fake_put_uint(card, first, a));                                          \
    return fake_put_uint(card, second, b);                                       \
  }
#define SHARE(function, key)                                                                \
  nvmlReturn_t function(nvmlDevice_t device, unsigned int *percent, unsigned int *period) { \
    CARD;                                                                                   \
    *period = 1000000;                                                                      \
    return fake_put_uint(card, key, percent);                                               \
  }
#define LONG_NUMBER(function, key)                                         \
  nvmlReturn_t function(nvmlDevice_t device, unsigned long long *number) { \
    CARD;                                                                  \
    return fake_put_ulong(card, key, number);                              \
  }
/* A function that picks one of several keys. */
#define CHOICE(function, ...)                                                            \
  nvmlReturn_t function(nvmlDevice_t device, unsigned int which, unsigned int *number) { \
    static const char *const keys[] = {__VA_ARGS__};                                     \
    CARD;                                                                                \
    if (which >= sizeof keys / sizeof keys[0]) return NVML_ERROR_INVALID_ARGUMENT;       \
    return fake_put_uint(card, keys[which], number);                                     \
  }

TEXT(nvmlDeviceGetName, "name")
TEXT(nvmlDeviceGetUUID, "uuid")
TEXT(nvmlDeviceGetSerial, "serial")
TEXT(nvmlDeviceGetVbiosVersion, "vbios_version")
TEXT(nvmlDeviceGetBoardPartNumber, "board_part")
TEXT(nvmlDeviceGetInforomImageVersion, "inforom.img")
NUMBER(nvmlDeviceGetGpuInstanceId, "gi")
NUMBER(nvmlDeviceGetComputeInstanceId, "ci")
NUMBER(nvmlDeviceGetAccountingMode, "accounting.mode")
NUMBER(nvmlDeviceGetAccountingBufferSize, "accounting.buffer_size")
NUMBER(nvmlDeviceGetPerformanceState, "pstate")
SHARE(nvmlDeviceGetEncoderUtilization, "utilization.encoder")
SHARE(nvmlDeviceGetDecoderUtilization, "utilization.decoder")
SHARE(nvmlDeviceGetJpgUtilization, "utilization.jpeg")
SHARE(nvmlDeviceGetOfaUtilization, "utilization.ofa")
CHOICE(nvmlDeviceGetTemperature, "temperature.gpu")
NUMBER(nvmlDeviceGetFanSpeed, "fan.speed")
NUMBER(nvmlDeviceGetPowerUsage, "power.draw")
NUMBER(nvmlDeviceGetPowerManagementLimit, "power.limit")
NUMBER(nvmlDeviceGetEnforcedPowerLimit, "enforced.power.limit")
NUMBER(nvmlDeviceGetPowerManagementDefaultLimit, "power.default_limit")
NUMBERS(nvmlDeviceGetPowerManagementLimitConstraints, "power.min_limit", "power.max_limit")
LONG_NUMBER(nvmlDeviceGetTotalEnergyConsumption, "energy")
CHOICE(nvmlDeviceGetClockInfo, "clocks.current.graphics", "clocks.current.sm", "clocks.current.memory",
       "clocks.current.video")
CHOICE(nvmlDeviceGetMaxClockInfo, "clocks.max.graphics", "clocks.max.sm", "clocks.max.memory",
       "clocks.max.video")
LONG_NUMBER(nvmlDeviceGetCurrentClocksEventReasons, "clocks_event_reasons.active")
LONG_NUMBER(nvmlDeviceGetCurrentClocksThrottleReasons, "clocks_event_reasons.active")
LONG_NUMBER(nvmlDeviceGetSupportedClocksEventReasons, "clocks_event_reasons.supported")
LONG_NUMBER(nvmlDeviceGetSupportedClocksThrottleReasons, "clocks_event_reasons.supported")
NUMBER(nvmlDeviceGetCurrPcieLinkGeneration, "pcie.link.gen.current")
NUMBER(nvmlDeviceGetMaxPcieLinkGeneration, "pcie.link.gen.max")
NUMBER(nvmlDeviceGetGpuMaxPcieLinkGeneration, "pcie.link.gen.gpumax")
NUMBER(nvmlDeviceGetCurrPcieLinkWidth, "pcie.link.width.current")
NUMBER(nvmlDeviceGetMaxPcieLinkWidth, "pcie.link.width.max")
CHOICE(nvmlDeviceGetPcieThroughput, "pcie.sent", "pcie.received")
NUMBER(nvmlDeviceGetPcieReplayCounter, "pcie.replays")
NUMBER(nvmlDeviceGetNumaNodeId, "numa.node")
NUMBER(nvmlDeviceGetComputeMode, "compute_mode")
NUMBER(nvmlDeviceGetPersistenceMode, "persistence_mode")
NUMBER(nvmlDeviceGetDisplayMode, "display_attached")
NUMBER(nvmlDeviceGetDisplayActive, "display_active")
NUMBERS(nvmlDeviceGetGspFirmwareMode, "gsp.mode.current", "gsp.mode.default")
NUMBERS(nvmlDeviceGetGpuOperationMode, "gom.current", "gom.pending")
NUMBERS(nvmlDeviceGetEccMode, "ecc.mode.current", "ecc.mode.pending")
NUMBER(nvmlDeviceGetRetiredPagesPendingStatus, "retired_pages.pending")

/* ---- texts with a form of their own */

nvmlReturn_t nvmlDeviceGetInforomVersion(nvmlDevice_t device, unsigned int part, char *text,
                                         unsigned int size) {
  static const char *const keys[] = {"inforom.oem", "inforom.ecc", "inforom.pwr"};
  CARD;
  return part < 3 ? fake_put_text(card, keys[part], text, size) : NVML_ERROR_INVALID_ARGUMENT;
}
nvmlReturn_t nvmlDeviceGetGspFirmwareVersion(nvmlDevice_t device, char *text) {
  CARD;
  return fake_put_text(card, "gsp.version", text, 64);
}
nvmlReturn_t nvmlDeviceGetHostname_v1(nvmlDevice_t device, nvmlHostname_v1_t *name) {
  CARD;
  return fake_put_text(card, "hostname", name->value, sizeof name->value);
}

/* ---- structs */

/* Of a MIG device without its own memory that of the other compute instances of its GPU instance is given there, too: the
 * scenario writes it. */
nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t device, nvmlMemory_v2_t *memory) {
  CARD;
  NEED_VERSION(memory, nvmlMemory_v2_t, 2);
  TRY(fake_put_ulong(card, "memory.total", &memory->total));
  TRY(fake_put_ulong(card, "memory.reserved", &memory->reserved));
  TRY(fake_put_ulong(card, "memory.used", &memory->used));
  memory->free = memory->total - memory->reserved - memory->used;
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t *memory) {
  CARD;
  unsigned long long reserved;
  TRY(fake_put_ulong(card, "memory.total", &memory->total));
  TRY(fake_put_ulong(card, "memory.reserved", &reserved));
  TRY(fake_put_ulong(card, "memory.used", &memory->used));
  memory->used += reserved;
  memory->free = memory->total - memory->used;
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetBAR1MemoryInfo(nvmlDevice_t device, nvmlBAR1Memory_t *memory) {
  CARD;
  TRY(fake_put_ulong(card, "bar1.total", &memory->bar1Total));
  TRY(fake_put_ulong(card, "bar1.used", &memory->bar1Used));
  memory->bar1Free = memory->bar1Total - memory->bar1Used;
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetConfComputeMemSizeInfo(nvmlDevice_t device, nvmlConfComputeMemSizeInfo_t *sizes) {
  CARD;
  TRY(fake_put_ulong(card, "protected_memory.total", &sizes->protectedMemSizeKib));
  sizes->protectedMemSizeKib >>= 10;
  sizes->unprotectedMemSizeKib = 0;
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetConfComputeProtectedMemoryUsage(nvmlDevice_t device, nvmlMemory_t *memory) {
  CARD;
  TRY(fake_put_ulong(card, "protected_memory.total", &memory->total));
  TRY(fake_put_ulong(card, "protected_memory.used", &memory->used));
  memory->free = memory->total - memory->used;
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t device, nvmlUtilization_t *rates) {
  CARD;
  TRY(fake_put_uint(card, "utilization.gpu", &rates->gpu));
  return fake_put_uint(card, "utilization.memory", &rates->memory);
}
nvmlReturn_t nvmlDeviceGetEncoderStats(nvmlDevice_t device, unsigned int *sessions, unsigned int *fps,
                                       unsigned int *latency) {
  CARD;
  TRY(fake_put_uint(card, "encoder.stats.sessionCount", sessions));
  TRY(fake_put_uint(card, "encoder.stats.averageFps", fps));
  return fake_put_uint(card, "encoder.stats.averageLatency", latency);
}
nvmlReturn_t nvmlDeviceGetTemperatureV(nvmlDevice_t device, nvmlTemperature_v1_t *temperature) {
  CARD;
  NEED_VERSION(temperature, nvmlTemperature_v1_t, 1);
  return fake_put_uint(card, "temperature.gpu", (unsigned int *)&temperature->temperature);
}
nvmlReturn_t nvmlDeviceGetMarginTemperature(nvmlDevice_t device, nvmlMarginTemperature_v1_t *margin) {
  CARD;
  NEED_VERSION(margin, nvmlMarginTemperature_v1_t, 1);
  return fake_put_uint(card, "temperature.gpu.tlimit", (unsigned int *)&margin->marginTemperature);
}
nvmlReturn_t nvmlDeviceGetC2cModeInfoV(nvmlDevice_t device, nvmlC2cModeInfo_v1_t *mode) {
  CARD;
  return fake_put_uint(card, "c2c.mode", &mode->isC2cEnabled);
}
nvmlReturn_t nvmlDeviceGetAddressingMode(nvmlDevice_t device, nvmlDeviceAddressingMode_v1_t *mode) {
  CARD;
  NEED_VERSION(mode, nvmlDeviceAddressingMode_v1_t, 1);
  return fake_put_uint(card, "addressing_mode", &mode->value);
}
nvmlReturn_t nvmlDeviceGetDramEncryptionMode(nvmlDevice_t device, nvmlDramEncryptionInfo_v1_t *current,
                                             nvmlDramEncryptionInfo_v1_t *pending) {
  CARD;
  NEED_VERSION(current, nvmlDramEncryptionInfo_v1_t, 1);
  NEED_VERSION(pending, nvmlDramEncryptionInfo_v1_t, 1);
  TRY(fake_put_uint(card, "dramEncryption.mode.current", &current->encryptionState));
  return fake_put_uint(card, "dramEncryption.mode.pending", &pending->encryptionState);
}
nvmlReturn_t nvmlDeviceGetAttributes_v2(nvmlDevice_t device, nvmlDeviceAttributes_t *attributes) {
  CARD;
  memset(attributes, 0, sizeof *attributes);
  return fake_put_uint(card, "multiprocessors", &attributes->multiprocessorCount);
}
nvmlReturn_t nvmlDeviceGetCudaComputeCapability(nvmlDevice_t device, int *major, int *minor) {
  CARD;
  const char *text;
  TRY(fake_text(card, "compute_cap", &text));
  return sscanf(text, "%d.%d", major, minor) == 2 ? NVML_SUCCESS : NVML_ERROR_UNKNOWN;
}

/* pci.bus_id = 00000000:83:00.0 gives domain, bus and device, too. */
static nvmlReturn_t pci_of(fake_card *card, char *bus_id, size_t size, unsigned int *domain,
                           unsigned int *bus, unsigned int *device) {
  TRY(fake_put_text(card, "pci.bus_id", bus_id, size));
  return sscanf(bus_id, "%x:%x:%x", domain, bus, device) == 3 ? NVML_SUCCESS : NVML_ERROR_UNKNOWN;
}
nvmlReturn_t nvmlDeviceGetPciInfoExt(nvmlDevice_t device, nvmlPciInfoExt_v1_t *pci) {
  CARD;
  NEED_VERSION(pci, nvmlPciInfoExt_v1_t, 1);
  TRY(pci_of(card, pci->busId, sizeof pci->busId, &pci->domain, &pci->bus, &pci->device));
  TRY(fake_put_uint(card, "pci.device_id", &pci->pciDeviceId));
  TRY(fake_put_uint(card, "pci.sub_device_id", &pci->pciSubSystemId));
  TRY(fake_put_uint(card, "pci.baseClass", &pci->baseClass));
  return fake_put_uint(card, "pci.subClass", &pci->subClass);
}
nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t device, nvmlPciInfo_t *pci) {
  CARD;
  TRY(pci_of(card, pci->busId, sizeof pci->busId, &pci->domain, &pci->bus, &pci->device));
  snprintf(pci->busIdLegacy, sizeof pci->busIdLegacy, "%04X:%02X:%02X.0", pci->domain, pci->bus, pci->device);
  TRY(fake_put_uint(card, "pci.device_id", &pci->pciDeviceId));
  return fake_put_uint(card, "pci.sub_device_id", &pci->pciSubSystemId);
}
nvmlReturn_t nvmlDeviceGetPciInfo_v2(nvmlDevice_t device, nvmlPciInfo_v2_t *pci) {
  CARD;
  char text[32];
  TRY(pci_of(card, text, sizeof text, &pci->domain, &pci->bus, &pci->device));
  snprintf(pci->busId, sizeof pci->busId, "%04X:%02X:%02X.0", pci->domain, pci->bus, pci->device);
  TRY(fake_put_uint(card, "pci.device_id", &pci->pciDeviceId));
  return fake_put_uint(card, "pci.sub_device_id", &pci->pciSubSystemId);
}

nvmlReturn_t nvmlDeviceGetGpuFabricInfoV(nvmlDevice_t device, nvmlGpuFabricInfoV_t *fabric) {
  CARD;
  NEED_VERSION(fabric, nvmlGpuFabricInfoV_t, 3);
  unsigned int state, status = 0, clique = 0, health = 0;
  TRY(fake_put_uint(card, "fabric.state", &state));
  (void)fake_put_uint(card, "fabric.status", &status);
  (void)fake_put_uint(card, "fabric.cliqueId", &clique);
  (void)fake_put_uint(card, "fabric.health", &health);
  memset(fabric->clusterUuid, 0x11, sizeof fabric->clusterUuid);
  fabric->state = (unsigned char)state;
  fabric->status = (nvmlReturn_t)status;
  fabric->cliqueId = clique;
  fabric->healthMask = health;
  fabric->healthSummary = 0;
  return NVML_SUCCESS;
}

/* ---- health of the memory */

static const char *const counters[] = {"volatile", "aggregate"};
static const char *const types[] = {"corrected", "uncorrected"};

nvmlReturn_t nvmlDeviceGetTotalEccErrors(nvmlDevice_t device, unsigned int type, unsigned int counter,
                                         unsigned long long *count) {
  CARD;
  if (type > 1 || counter > 1) return NVML_ERROR_INVALID_ARGUMENT;
  char key[96];
  snprintf(key, sizeof key, "ecc.errors.%s.%s.total", types[type], counters[counter]);
  return fake_put_ulong(card, key, count);
}
nvmlReturn_t nvmlDeviceGetMemoryErrorCounter(nvmlDevice_t device, unsigned int type, unsigned int counter,
                                             unsigned int place, unsigned long long *count) {
  static const char *const places[] = {"l1_cache",       "l2_cache",    "dram", "register_file",
                                       "texture_memory", "texture_shm", "cbu",  "sram"};
  CARD;
  if (type > 1 || counter > 1 || place > 7) return NVML_ERROR_INVALID_ARGUMENT;
  char key[96];
  snprintf(key, sizeof key, "ecc.errors.%s.%s.%s", types[type], counters[counter], places[place]);
  return fake_put_ulong(card, key, count);
}
nvmlReturn_t nvmlDeviceGetSramEccErrorStatus(nvmlDevice_t device, nvmlEccSramErrorStatus_v1_t *status) {
  CARD;
  NEED_VERSION(status, nvmlEccSramErrorStatus_v1_t, 1);
  TRY(fake_put_ulong(card, "ecc.sram.volatile.parity", &status->volatileUncParity));
  TRY(fake_put_ulong(card, "ecc.sram.volatile.secded", &status->volatileUncSecDed));
  TRY(fake_put_ulong(card, "ecc.sram.aggregate.parity", &status->aggregateUncParity));
  TRY(fake_put_ulong(card, "ecc.sram.aggregate.secded", &status->aggregateUncSecDed));
  TRY(fake_put_ulong(card, "ecc.sram.aggregate.l2", &status->aggregateUncBucketL2));
  TRY(fake_put_ulong(card, "ecc.sram.aggregate.sm", &status->aggregateUncBucketSm));
  TRY(fake_put_ulong(card, "ecc.sram.aggregate.mcu", &status->aggregateUncBucketMcu));
  TRY(fake_put_ulong(card, "ecc.sram.aggregate.pcie", &status->aggregateUncBucketPcie));
  TRY(fake_put_ulong(card, "ecc.sram.aggregate.other", &status->aggregateUncBucketOther));
  return fake_put_uint(card, "ecc.sram.thresholdExceeded", &status->bThresholdExceeded);
}
nvmlReturn_t nvmlDeviceGetRetiredPages(nvmlDevice_t device, unsigned int cause, unsigned int *count,
                                       unsigned long long *pages) {
  CARD;
  unsigned int there;
  TRY(fake_put_uint(card, cause == 0 ? "retired_pages.sbe" : "retired_pages.dbe", &there));
  const unsigned int room = *count;
  *count = there;
  if (room < there) return NVML_ERROR_INSUFFICIENT_SIZE;
  for (unsigned int i = 0; i < there; i++) pages[i] = 4096ull * (i + 1);
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetRemappedRows(nvmlDevice_t device, unsigned int *correctable,
                                       unsigned int *uncorrectable, unsigned int *pending,
                                       unsigned int *failure) {
  CARD;
  TRY(fake_put_uint(card, "remapped_rows.correctable", correctable));
  TRY(fake_put_uint(card, "remapped_rows.uncorrectable", uncorrectable));
  TRY(fake_put_uint(card, "remapped_rows.pending", pending));
  return fake_put_uint(card, "remapped_rows.failure", failure);
}
nvmlReturn_t nvmlDeviceGetRowRemapperHistogram(nvmlDevice_t device,
                                               nvmlRowRemapperHistogramValues_t *histogram) {
  CARD;
  TRY(fake_put_uint(card, "remapped_rows.histogram.max", &histogram->max));
  TRY(fake_put_uint(card, "remapped_rows.histogram.high", &histogram->high));
  TRY(fake_put_uint(card, "remapped_rows.histogram.partial", &histogram->partial));
  TRY(fake_put_uint(card, "remapped_rows.histogram.low", &histogram->low));
  return fake_put_uint(card, "remapped_rows.histogram.none", &histogram->none);
}

/* ---- field values: by name where one has one, else field.N */

nvmlReturn_t nvmlDeviceGetFieldValues(nvmlDevice_t device, int count, nvmlFieldValue_t *values) {
  static const struct {
    unsigned int id;
    const char *key;
  } names[] = {
      {82, "temperature.memory"},      {185, "power.draw.average"},     {186, "power.draw.instant"},
      {230, "gpu_recovery_action"},    {74, "clocks.time.power_cap"},   {76, "clocks.time.sync_boost"},
      {269, "clocks.time.sw_thermal"}, {270, "clocks.time.hw_thermal"}, {271, "clocks.time.power_brake"}};
  CARD;
  for (int i = 0; i < count; i++) {
    char key[64];
    snprintf(key, sizeof key, "field.%u", values[i].fieldId);
    for (size_t n = 0; n < sizeof names / sizeof names[0]; n++)
      if (names[n].id == values[i].fieldId) snprintf(key, sizeof key, "%s", names[n].key);
    uint64_t number = 0;
    values[i].nvmlReturn = (nvmlReturn_t)fake_number(card, key, &number);
    values[i].valueType = 3; /* unsigned long long */
    values[i].value = number;
    values[i].timestamp = values[i].latencyUsec = 0;
  }
  return NVML_SUCCESS;
}
