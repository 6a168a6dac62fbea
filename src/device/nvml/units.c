/* Lists the cards and MIG devices. A card that cannot be queried is listed, too, so that the count is right. */
#include "device/nvml/connection.h"

static nvmlReturn_t read_count(vs_nvml_api *api, unsigned int *count) {
  const nvmlReturn_t code = VS_NVML_CALL(api, nvmlDeviceGetCount_v2, count);
  return vs_nvml_is_too_new(code) ? VS_NVML_CALL(api, nvmlDeviceGetCount, count) : code;
}

static nvmlReturn_t read_handle(vs_nvml_api *api, unsigned int index, nvmlDevice_t *device) {
  const nvmlReturn_t code = VS_NVML_CALL(api, nvmlDeviceGetHandleByIndex_v2, index, device);
  return vs_nvml_is_too_new(code) ? VS_NVML_CALL(api, nvmlDeviceGetHandleByIndex, index, device) : code;
}

/* ---- the facts about a unit */

/* Reads the constant facts. A text that cannot be read is empty; whether the card is lost is known from the first call. */
static void describe(vs_nvml *nvml, vs_nvml_unit *unit) {
  vs_nvml_api *api = &nvml->api;
  vs_telemetry_unit *told = &unit->told;
  const nvmlReturn_t code = VS_NVML_CALL(api, nvmlDeviceGetName, unit->device, told->name, sizeof told->name);
  if (code == NVML_ERROR_GPU_IS_LOST) told->handle = vs_nvml_metric(code, 0);
  if (code != NVML_SUCCESS) told->name[0] = 0;
  if (VS_NVML_CALL(api, nvmlDeviceGetUUID, unit->device, told->uuid, sizeof told->uuid) != NVML_SUCCESS)
    told->uuid[0] = 0;
  if (VS_NVML_CALL(api, nvmlDeviceGetSerial, unit->card, told->serial, sizeof told->serial) != NVML_SUCCESS)
    told->serial[0] = 0;
  vs_nvml_pci pci;
  told->bus = vs_nvml_metric(vs_nvml_read_pci(api, unit->card, &pci), 0);
  if (!vs_metric_is_known(told->bus)) return;
  told->pci_domain = pci.domain;
  told->pci_bus = pci.bus;
  told->pci_device = pci.device;
  vs_nvml_put_bus_id(&pci, told->bus_id);
}

static int32_t read_instance(nvmlReturn_t code, unsigned int id) {
  return code == NVML_SUCCESS && id <= INT32_MAX ? (int32_t)id : VS_TELEMETRY_NONE;
}

/* Adds a unit at the end of the list. The caller makes it a MIG device if it is one. */
static vs_nvml_unit *add(vs_nvml *nvml, uint32_t index, nvmlDevice_t device) {
  VS_ASSERT(nvml->units.count < nvml->units.capacity);
  vs_nvml_unit *unit = &nvml->units.data[nvml->units.count++];
  *unit = (vs_nvml_unit){.told = {.index = index,
                                  .parent = VS_TELEMETRY_NONE,
                                  .mig_slot = VS_TELEMETRY_NONE,
                                  .gpu_instance = VS_TELEMETRY_NONE,
                                  .compute_instance = VS_TELEMETRY_NONE,
                                  .handle = {.reason = VS_REASON_KNOWN}},
                         .device = device,
                         .card = device};
  return unit;
}

static void finish(vs_nvml *nvml) {
  const uint32_t number = (uint32_t)nvml->units.count - 1;
  describe(nvml, &nvml->units.data[number]);
  nvml->units.data[number].told.total_bytes = vs_nvml_one_metric(nvml, number, VS_METRIC_ID_MEMORY_TOTAL);
}

/* ---- MIG devices: any slot may be empty, so all are tried */

static vs_status add_mig_devices(vs_nvml *nvml, uint32_t parent) {
  vs_nvml_api *api = &nvml->api;
  VS_ASSERT(parent < nvml->units.count && !nvml->units.data[parent].told.is_mig);
  const nvmlDevice_t card = nvml->units.data[parent].device;
  unsigned int is_on = 0, pending = 0, slots = 0;
  if (VS_NVML_CALL(api, nvmlDeviceGetMigMode, card, &is_on, &pending) != NVML_SUCCESS || is_on != 1)
    return VS_OK;
  if (VS_NVML_CALL(api, nvmlDeviceGetMaxMigDeviceCount, card, &slots) != NVML_SUCCESS) return VS_OK;
  for (unsigned int slot = 0; slot < slots; slot++) {
    nvmlDevice_t device = NULL;
    if (VS_NVML_CALL(api, nvmlDeviceGetMigDeviceHandleByIndex, card, slot, &device) != NVML_SUCCESS) continue;
    VS_TRY(vs_vec_reserve(nvml->host, &nvml->units, 1));
    vs_nvml_unit *unit = add(nvml, nvml->units.data[parent].told.index, device);
    unit->card = card;
    unit->told.is_mig = true;
    unit->told.parent = (int32_t)parent;
    unit->told.mig_slot = (int32_t)slot;
    unsigned int id = 0;
    nvmlReturn_t code = VS_NVML_CALL(api, nvmlDeviceGetGpuInstanceId, device, &id);
    unit->told.gpu_instance = read_instance(code, id);
    code = VS_NVML_CALL(api, nvmlDeviceGetComputeInstanceId, device, &id);
    unit->told.compute_instance = read_instance(code, id);
    finish(nvml);
  }
  return VS_OK;
}

vs_status vs_nvml_enumerate(vs_nvml *nvml, nvmlReturn_t *code) {
  unsigned int count = 0;
  *code = read_count(&nvml->api, &count);
  if (*code != NVML_SUCCESS) return VS_DEVICE;
  for (unsigned int index = 0; index < count; index++) {
    VS_TRY(vs_vec_reserve(nvml->host, &nvml->units, 1));
    const uint32_t number = (uint32_t)nvml->units.count;
    nvmlDevice_t device = NULL;
    const nvmlReturn_t refused = read_handle(&nvml->api, index, &device);
    vs_nvml_unit *unit = add(nvml, index, device);
    if (refused != NVML_SUCCESS) {
      unit->told.handle = unit->told.bus = unit->told.total_bytes = vs_nvml_metric(refused, 0);
      continue;
    }
    finish(nvml);
    VS_TRY(add_mig_devices(nvml, number));
  }
  return VS_OK;
}
