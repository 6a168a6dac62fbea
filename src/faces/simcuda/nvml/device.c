/* Cards: handles, properties, and the settings that a simulated card has. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "faces/simcuda/nvml/nvml.h"

#define HANDLES UINT64_C(0x4e000000) /* + 256 * card */

nvmlDevice_t vs_nvml_handle(uint32_t card) {
  return (nvmlDevice_t)(uintptr_t)(HANDLES + card * UINT64_C(256));
}

nvmlReturn_t vs_nvml_card(nvmlDevice_t device, vs_sim_card *card, uint32_t *number) {
  VS_NVML_TRY(vs_nvml_begin());
  const uint64_t offset = (uint64_t)(uintptr_t)device - HANDLES;
  const vs_sim_machine *machine = vs_simcuda_lock_machine();
  if (machine == NULL) return NVML_ERROR_DRIVER_NOT_LOADED;
  const bool is_card = offset % 256 == 0 && offset / 256 < machine->card_count;
  if (is_card) *card = machine->cards[offset / 256];
  vs_simcuda_unlock_machine();
  *number = (uint32_t)(offset / 256);
  return is_card ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT;
}

nvmlReturn_t sim_nvmlDeviceGetCount_v2(unsigned int *count) {
  VS_NVML_NEED(count != NULL);
  VS_NVML_TRY(vs_nvml_begin());
  const vs_sim_machine *machine = vs_simcuda_lock_machine();
  if (machine == NULL) return NVML_ERROR_DRIVER_NOT_LOADED;
  *count = machine->card_count;
  vs_simcuda_unlock_machine();
  return NVML_SUCCESS;
}

/* ---- handles */

nvmlReturn_t sim_nvmlDeviceGetHandleByIndex_v2(unsigned int index, nvmlDevice_t *device) {
  VS_NVML_NEED(device != NULL);
  unsigned int count = 0;
  VS_NVML_TRY(sim_nvmlDeviceGetCount_v2(&count));
  VS_NVML_NEED(index < count);
  *device = vs_nvml_handle(index);
  return NVML_SUCCESS;
}

static void put_uuid(uint32_t card, char text[static 41]) {
  uint8_t uuid[16];
  vs_card_uuid(card, uuid);
  char *to = text + sprintf(text, "GPU-");
  for (uint32_t i = 0; i < sizeof uuid; i++)
    to += sprintf(to, i == 4 || i == 6 || i == 8 || i == 10 ? "-%02x" : "%02x", uuid[i]);
}

static void put_serial(uint32_t card, char text[static 30]) { snprintf(text, 30, "simulated-%u", card); }

/* The first card for which `is` returns true. */
static nvmlReturn_t find(bool (*is)(uint32_t card, const void *what), const void *what,
                         nvmlDevice_t *device) {
  VS_NVML_NEED(what != NULL && device != NULL);
  unsigned int count = 0;
  VS_NVML_TRY(sim_nvmlDeviceGetCount_v2(&count));
  for (uint32_t card = 0; card < count; card++)
    if (is(card, what)) {
      *device = vs_nvml_handle(card);
      return NVML_SUCCESS;
    }
  return NVML_ERROR_NOT_FOUND;
}

static bool has_serial(uint32_t card, const void *serial) {
  char text[30];
  put_serial(card, text);
  return strcmp(text, serial) == 0;
}
static bool has_uuid(uint32_t card, const void *uuid) {
  char text[41];
  put_uuid(card, text);
  return strcasecmp(text, uuid) == 0;
}
static bool has_uuid_bytes(uint32_t card, const void *uuid) {
  uint8_t bytes[16];
  vs_card_uuid(card, bytes);
  return memcmp(bytes, uuid, sizeof bytes) == 0;
}
/* "0000:01:00.0", "00000000:01:00.0", "01:00.0". */
static bool has_bus_id(uint32_t card, const void *text) {
  unsigned int domain = 0, bus = 0, slot = 0;
  if (sscanf(text, "%x:%x:%x", &domain, &bus, &slot) != 3) {
    domain = 0;
    if (sscanf(text, "%x:%x", &bus, &slot) != 2) return false;
  }
  return domain == 0 && slot == 0 && bus == vs_card_bus(card);
}

nvmlReturn_t sim_nvmlDeviceGetHandleBySerial(const char *serial, nvmlDevice_t *device) {
  return find(has_serial, serial, device);
}
nvmlReturn_t sim_nvmlDeviceGetHandleByUUID(const char *uuid, nvmlDevice_t *device) {
  return find(has_uuid, uuid, device);
}
nvmlReturn_t sim_nvmlDeviceGetHandleByUUIDV(const nvmlUUID_t *uuid, nvmlDevice_t *device) {
  enum { TEXT = 1, BINARY = 2 };
  VS_NVML_NEED(uuid != NULL);
  if (uuid->version != VS_NVML_VERSION(nvmlUUID_t, 1)) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
  if (uuid->type == TEXT && memchr(uuid->value.str, 0, sizeof uuid->value.str) != NULL)
    return find(has_uuid, uuid->value.str, device);
  return uuid->type == BINARY ? find(has_uuid_bytes, uuid->value.bytes, device) : NVML_ERROR_INVALID_ARGUMENT;
}
nvmlReturn_t sim_nvmlDeviceGetHandleByPciBusId_v2(const char *bus_id, nvmlDevice_t *device) {
  return find(has_bus_id, bus_id, device);
}

/* ---- texts */

/* Begins a query of a card, and defines `card` and `number` for the code that follows. */
#define VS_CARD(device) \
  vs_sim_card card;     \
  uint32_t number;      \
  VS_NVML_TRY(vs_nvml_card((device), &card, &number))

static nvmlReturn_t answer(const char *text, char *to, unsigned int size) {
  if (strlen(text) >= size) return NVML_ERROR_INSUFFICIENT_SIZE;
  memcpy(to, text, strlen(text) + 1);
  return NVML_SUCCESS;
}

nvmlReturn_t sim_nvmlDeviceGetName(nvmlDevice_t device, char *name, unsigned int size) {
  VS_NVML_NEED(name != NULL);
  VS_CARD(device);
  return answer(card.name, name, size);
}

nvmlReturn_t sim_nvmlDeviceGetUUID(nvmlDevice_t device, char *uuid, unsigned int size) {
  VS_NVML_NEED(uuid != NULL);
  VS_CARD(device);
  char text[41];
  put_uuid(number, text);
  return answer(text, uuid, size);
}

nvmlReturn_t sim_nvmlDeviceGetSerial(nvmlDevice_t device, char *serial, unsigned int size) {
  VS_NVML_NEED(serial != NULL);
  VS_CARD(device);
  char text[30];
  put_serial(number, text);
  return answer(text, serial, size);
}

/* ---- numbers */

/* A query whose answer is one number, computed from the card and its number. */
#define VS_ANSWER(name, expression)                                     \
  nvmlReturn_t sim_##name(nvmlDevice_t device, unsigned int *answer_) { \
    VS_NVML_NEED(answer_ != NULL);                                      \
    VS_CARD(device);                                                    \
    *answer_ = (unsigned int)(expression);                              \
    return NVML_SUCCESS;                                                \
  }

static unsigned int brand_of(const char *name) {
  enum { TESLA = 2, GEFORCE = 5, RTX = 13, NVIDIA = 14, GEFORCE_RTX = 15 };
  if (strstr(name, "GeForce RTX") != NULL) return GEFORCE_RTX;
  if (strstr(name, "GeForce") != NULL) return GEFORCE;
  if (strstr(name, "RTX") != NULL) return RTX;
  return strstr(name, "Tesla") != NULL ? TESLA : NVIDIA;
}

static unsigned int architecture_of(const vs_sim_figures *f) {
  enum { PASCAL = 4, VOLTA = 5, TURING = 6, AMPERE = 7, ADA = 8, HOPPER = 9, BLACKWELL = 10 };
  switch (f->compute_major) {
    case 6: return PASCAL;
    case 7: return f->compute_minor < 5 ? VOLTA : TURING;
    case 8: return f->compute_minor < 9 ? AMPERE : ADA;
    case 9: return HOPPER;
    case 10:
    case 11:
    case 12: return BLACKWELL;
    default: return UINT32_MAX;
  }
}

/* Settings have a new card's defaults. Performance state 32 is "unknown". */
VS_ANSWER(nvmlDeviceGetIndex, number)
VS_ANSWER(nvmlDeviceGetMinorNumber, number)
VS_ANSWER(nvmlDeviceGetBoardId, vs_card_bus(number) << 8)
VS_ANSWER(nvmlDeviceGetMultiGpuBoard, 0)
VS_ANSWER(nvmlDeviceGetBrand, brand_of(card.name))
VS_ANSWER(nvmlDeviceGetArchitecture, architecture_of(&card.figures))
VS_ANSWER(nvmlDeviceGetMemoryBusWidth, card.figures.bus_bits)
VS_ANSWER(nvmlDeviceGetPerformanceState, 32)
VS_ANSWER(nvmlDeviceGetPowerState, 32)
VS_ANSWER(nvmlDeviceGetPersistenceMode, 0)
VS_ANSWER(nvmlDeviceGetComputeMode, 0)
VS_ANSWER(nvmlDeviceGetDisplayMode, 0)
VS_ANSWER(nvmlDeviceGetDisplayActive, 0)
VS_ANSWER(nvmlDeviceGetAccountingMode, 0)
VS_ANSWER(nvmlDeviceGetVirtualizationMode, 0)
VS_ANSWER(nvmlDeviceGetMaxMigDeviceCount, 0)
VS_ANSWER(nvmlDeviceIsMigDeviceHandle, 0)
VS_ANSWER(nvmlDeviceGetDefaultEccMode, vs_card_has_ecc(&card.figures))

/* The generation of the cards' data sheets, at which a link runs while it is used; the slot of the machine is none below it. */
static unsigned int pcie_generation(const vs_sim_figures *figures) {
  const uint32_t capability = figures->compute_major * 10 + figures->compute_minor;
  if (capability < 80) return 3;
  if (capability < 90) return 4;
  return capability == 103 ? 6 : 5;
}

/* Eight lanes: the cards with the narrowest memory, those of the RTX 4060's kind. */
static unsigned int pcie_lanes(const vs_sim_figures *figures) { return figures->bus_bits == 128 ? 8 : 16; }

VS_ANSWER(nvmlDeviceGetCurrPcieLinkGeneration, pcie_generation(&card.figures))
VS_ANSWER(nvmlDeviceGetMaxPcieLinkGeneration, pcie_generation(&card.figures))
VS_ANSWER(nvmlDeviceGetGpuMaxPcieLinkGeneration, pcie_generation(&card.figures))
VS_ANSWER(nvmlDeviceGetCurrPcieLinkWidth, pcie_lanes(&card.figures))
VS_ANSWER(nvmlDeviceGetMaxPcieLinkWidth, pcie_lanes(&card.figures))

nvmlReturn_t sim_nvmlDeviceGetCudaComputeCapability(nvmlDevice_t device, int *major, int *minor) {
  VS_NVML_NEED(major != NULL && minor != NULL);
  VS_CARD(device);
  *major = (int)card.figures.compute_major;
  *minor = (int)card.figures.compute_minor;
  return NVML_SUCCESS;
}

/* Graphics and multiprocessors share one clock, memory has its own; the video clock is unknown. */
nvmlReturn_t sim_nvmlDeviceGetMaxClockInfo(nvmlDevice_t device, unsigned int type, unsigned int *megahertz) {
  enum { GRAPHICS = 0, SM = 1, MEMORY = 2, VIDEO = 3 };
  VS_NVML_NEED(megahertz != NULL && type <= VIDEO);
  VS_CARD(device);
  const uint32_t khz = type == MEMORY ? card.figures.memory_khz : card.figures.core_khz;
  if (type == VIDEO || khz == 0) return NVML_ERROR_NOT_SUPPORTED;
  *megahertz = khz / 1000;
  return NVML_SUCCESS;
}

/* No kernel computes, so the card is idle, which is also why its clocks are low. */
nvmlReturn_t sim_nvmlDeviceGetUtilizationRates(nvmlDevice_t device, nvmlUtilization_t *rates) {
  VS_NVML_NEED(rates != NULL);
  VS_CARD(device);
  *rates = (nvmlUtilization_t){0};
  return NVML_SUCCESS;
}
nvmlReturn_t sim_nvmlDeviceGetCurrentClocksEventReasons(nvmlDevice_t device, unsigned long long *reasons) {
  VS_NVML_NEED(reasons != NULL);
  VS_CARD(device);
  *reasons = 1;
  return NVML_SUCCESS;
}

nvmlReturn_t sim_nvmlDeviceGetEccMode(nvmlDevice_t device, unsigned int *current, unsigned int *pending) {
  VS_NVML_NEED(current != NULL && pending != NULL);
  VS_CARD(device);
  *current = *pending = vs_card_has_ecc(&card.figures);
  return NVML_SUCCESS;
}

nvmlReturn_t sim_nvmlDeviceGetMigMode(nvmlDevice_t device, unsigned int *current, unsigned int *pending) {
  VS_NVML_NEED(current != NULL && pending != NULL);
  VS_CARD(device);
  const bool is_capable = card.figures.compute_major >= 8 && vs_card_has_ecc(&card.figures);
  if (!is_capable) return NVML_ERROR_NOT_SUPPORTED;
  *current = *pending = 0;
  return NVML_SUCCESS;
}

nvmlReturn_t sim_nvmlDeviceGetMigDeviceHandleByIndex(nvmlDevice_t device, unsigned int index,
                                                     nvmlDevice_t *slice) {
  (void)index;
  VS_NVML_NEED(slice != NULL);
  VS_CARD(device);
  return NVML_ERROR_NOT_FOUND;
}

/* ---- PCI */

nvmlReturn_t sim_nvmlDeviceGetPciInfo(nvmlDevice_t device, nvmlPciInfo_v1_t *info) {
  VS_NVML_NEED(info != NULL);
  VS_CARD(device);
  *info = (nvmlPciInfo_v1_t){.bus = vs_card_bus(number), .pciDeviceId = vs_card_pci_device(&card.figures)};
  snprintf(info->busId, sizeof info->busId, "0000:%02X:00.0", info->bus);
  return NVML_SUCCESS;
}

nvmlReturn_t sim_nvmlDeviceGetPciInfo_v2(nvmlDevice_t device, nvmlPciInfo_v2_t *info) {
  VS_NVML_NEED(info != NULL);
  VS_CARD(device);
  *info = (nvmlPciInfo_v2_t){.bus = vs_card_bus(number), .pciDeviceId = vs_card_pci_device(&card.figures)};
  snprintf(info->busId, sizeof info->busId, "0000:%02X:00.0", info->bus);
  return NVML_SUCCESS;
}

nvmlReturn_t sim_nvmlDeviceGetPciInfo_v3(nvmlDevice_t device, nvmlPciInfo_t *info) {
  VS_NVML_NEED(info != NULL);
  VS_CARD(device);
  *info = (nvmlPciInfo_t){.bus = vs_card_bus(number), .pciDeviceId = vs_card_pci_device(&card.figures)};
  snprintf(info->busIdLegacy, sizeof info->busIdLegacy, "0000:%02X:00.0", info->bus);
  snprintf(info->busId, sizeof info->busId, "00000000:%02X:00.0", info->bus);
  return NVML_SUCCESS;
}

nvmlReturn_t sim_nvmlDeviceGetPciInfoExt(nvmlDevice_t device, nvmlPciInfoExt_v1_t *info) {
  enum { DISPLAY_CONTROLLER = 3, THREE_D = 2 };
  VS_NVML_NEED(info != NULL);
  if (info->version != VS_NVML_VERSION(nvmlPciInfoExt_v1_t, 1)) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
  VS_CARD(device);
  *info = (nvmlPciInfoExt_v1_t){.version = info->version,
                                .bus = vs_card_bus(number),
                                .pciDeviceId = vs_card_pci_device(&card.figures),
                                .baseClass = DISPLAY_CONTROLLER,
                                .subClass = THREE_D};
  snprintf(info->busId, sizeof info->busId, "00000000:%02X:00.0", info->bus);
  return NVML_SUCCESS;
}

/* ---- between cards. They are in one machine; their connection is not modelled; peers can copy. */

nvmlReturn_t sim_nvmlDeviceOnSameBoard(nvmlDevice_t device, nvmlDevice_t other, int *is) {
  VS_NVML_NEED(is != NULL);
  VS_CARD(device);
  VS_NVML_TRY(vs_nvml_card(other, &card, &number));
  *is = device == other;
  return NVML_SUCCESS;
}

nvmlReturn_t sim_nvmlDeviceGetTopologyCommonAncestor(nvmlDevice_t device, nvmlDevice_t other,
                                                     unsigned int *level) {
  enum { INTERNAL = 0, SYSTEM = 50 };
  VS_NVML_NEED(level != NULL);
  VS_CARD(device);
  VS_NVML_TRY(vs_nvml_card(other, &card, &number));
  *level = device == other ? INTERNAL : SYSTEM;
  return NVML_SUCCESS;
}

nvmlReturn_t sim_nvmlDeviceGetP2PStatus(nvmlDevice_t device, nvmlDevice_t other, unsigned int capability,
                                        unsigned int *status) {
  enum { READ = 0, WRITE = 1, PCI = 4, OK = 0, NOT_SUPPORTED = 5 };
  VS_NVML_NEED(status != NULL && capability <= PCI);
  VS_CARD(device);
  VS_NVML_TRY(vs_nvml_card(other, &card, &number));
  *status = capability == READ || capability == WRITE || capability == PCI ? OK : NOT_SUPPORTED;
  return NVML_SUCCESS;
}

/* State 0: no fabric. The two sizes of the versioned struct end before and behind healthSummary. */
nvmlReturn_t sim_nvmlDeviceGetGpuFabricInfo(nvmlDevice_t device, nvmlGpuFabricInfo_t *info) {
  VS_NVML_NEED(info != NULL);
  VS_CARD(device);
  *info = (nvmlGpuFabricInfo_t){.status = NVML_SUCCESS};
  return NVML_SUCCESS;
}

nvmlReturn_t sim_nvmlDeviceGetGpuFabricInfoV(nvmlDevice_t device, nvmlGpuFabricInfoV_t *info) {
  enum { VERSION_2 = 36 | 2 << 24, VERSION_3 = 40 | 3 << 24 };
  VS_NVML_NEED(info != NULL);
  if (info->version != VERSION_2 && info->version != VERSION_3) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
  VS_CARD(device);
  memset((char *)info + sizeof info->version, 0, (info->version & 0xffffff) - sizeof info->version);
  return NVML_SUCCESS;
}

/* Each field has its own result. */
nvmlReturn_t sim_nvmlDeviceGetFieldValues(nvmlDevice_t device, int count, nvmlFieldValue_t *values) {
  VS_NVML_NEED(values != NULL && count > 0);
  VS_CARD(device);
  for (int i = 0; i < count; i++) values[i].nvmlReturn = NVML_ERROR_NOT_SUPPORTED;
  return NVML_SUCCESS;
}
