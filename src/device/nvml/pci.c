/* How a card is connected: its place on the bus, and the fabric. */
#include "device/nvml/connection.h"

#include "base/text.h"

static nvmlReturn_t read_ext(vs_nvml_api *api, nvmlDevice_t device, vs_nvml_pci *pci) {
  nvmlPciInfoExt_v1_t info = {.version = VS_NVML_VERSION(nvmlPciInfoExt_v1_t, 1)};
  const nvmlReturn_t code = VS_NVML_CALL(api, nvmlDeviceGetPciInfoExt, device, &info);
  *pci = (vs_nvml_pci){info.domain,         info.bus, info.device,    info.pciDeviceId,
                       info.pciSubSystemId, true,     info.baseClass, info.subClass};
  return code;
}

static nvmlReturn_t read_v3(vs_nvml_api *api, nvmlDevice_t device, vs_nvml_pci *pci) {
  nvmlPciInfo_t info = {0};
  const nvmlReturn_t code = VS_NVML_CALL(api, nvmlDeviceGetPciInfo_v3, device, &info);
  *pci =
      (vs_nvml_pci){info.domain, info.bus, info.device, info.pciDeviceId, info.pciSubSystemId, false, 0, 0};
  return code;
}

static nvmlReturn_t read_v2(vs_nvml_api *api, nvmlDevice_t device, vs_nvml_pci *pci) {
  nvmlPciInfo_v2_t info = {0};
  const nvmlReturn_t code = VS_NVML_CALL(api, nvmlDeviceGetPciInfo_v2, device, &info);
  *pci =
      (vs_nvml_pci){info.domain, info.bus, info.device, info.pciDeviceId, info.pciSubSystemId, false, 0, 0};
  return code;
}

nvmlReturn_t vs_nvml_read_pci(vs_nvml_api *api, nvmlDevice_t device, vs_nvml_pci *pci) {
  nvmlReturn_t code = read_ext(api, device, pci);
  if (vs_nvml_is_too_new(code) || code == NVML_ERROR_NOT_SUPPORTED) code = read_v3(api, device, pci);
  if (vs_nvml_is_too_new(code)) code = read_v2(api, device, pci);
  return code;
}

/* Writes `digits` hexadecimal digits in upper case, with leading zeros. */
static char *put_hex(char *to, uint64_t value, unsigned digits) {
  VS_ASSERT(digits >= 1 && digits <= 16);
  for (unsigned i = 0; i < digits; i++) to[i] = "0123456789ABCDEF"[value >> (4 * (digits - 1 - i)) & 15];
  return to + digits;
}

void vs_nvml_put_bus_id(const vs_nvml_pci *pci, char *text) {
  text = put_hex(text, pci->domain, 8);
  *text++ = ':';
  text = put_hex(text, pci->bus, 2);
  *text++ = ':';
  text = put_hex(text, pci->device, 2);
  memcpy(text, ".0", sizeof ".0"); /* a GPU is always function 0 */
}

/* Version 2 of the struct lacks the last member. */
nvmlReturn_t vs_nvml_read_fabric(vs_nvml_api *api, nvmlDevice_t device, nvmlGpuFabricInfoV_t *it) {
  *it = (nvmlGpuFabricInfoV_t){.version = VS_NVML_VERSION(nvmlGpuFabricInfoV_t, 3)};
  const nvmlReturn_t code = VS_NVML_CALL(api, nvmlDeviceGetGpuFabricInfoV, device, it);
  if (code != NVML_ERROR_ARGUMENT_VERSION_MISMATCH) return code;
  it->version = (unsigned int)offsetof(nvmlGpuFabricInfoV_t, healthSummary) | 2u << 24;
  return VS_NVML_CALL(api, nvmlDeviceGetGpuFabricInfoV, device, it);
}
