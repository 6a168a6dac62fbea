/* Texts of a unit, by the list texts.def, and of the driver. */
#include "device/nvml/connection.h"

#include "base/text.h"

static nvmlReturn_t read_bus_id(vs_nvml_api *api, nvmlDevice_t device, char *text) {
  vs_nvml_pci pci;
  const nvmlReturn_t code = vs_nvml_read_pci(api, device, &pci);
  if (code == NVML_SUCCESS) vs_nvml_put_bus_id(&pci, text);
  return code;
}

/* 16 bytes as 8-4-4-4-12 digits. */
static void put_uuid(const unsigned char uuid[16], char *to) {
  for (unsigned i = 0; i < 16; i++) {
    if (i == 4 || i == 6 || i == 8 || i == 10) *to++ = '-';
    *to++ = "0123456789abcdef"[uuid[i] >> 4];
    *to++ = "0123456789abcdef"[uuid[i] & 15];
  }
  *to = 0;
}

static nvmlReturn_t read_cluster(vs_nvml_api *api, nvmlDevice_t device, char *text) {
  nvmlGpuFabricInfoV_t fabric;
  const nvmlReturn_t code = vs_nvml_read_fabric(api, device, &fabric);
  if (code == NVML_SUCCESS) put_uuid(fabric.clusterUuid, text);
  return code;
}

static nvmlReturn_t read_hostname(vs_nvml_api *api, nvmlDevice_t device, char *text) {
  nvmlHostname_v1_t name = {0};
  const nvmlReturn_t code = VS_NVML_CALL(api, nvmlDeviceGetHostname_v1, device, &name);
  _Static_assert(sizeof name.value < VS_METRIC_TEXT_SIZE, "the host name and its NUL fit");
  memcpy(text, name.value, sizeof name.value);
  text[sizeof name.value] = 0;
  return code;
}

/* The metric of a text that a call has written: its length, or the reason. */
static vs_metric text_of(nvmlReturn_t code, char *text) {
  text[VS_METRIC_TEXT_SIZE - 1] = 0;
  if (code != NVML_SUCCESS) text[0] = 0;
  return vs_nvml_metric(code, strlen(text));
}

vs_metric vs_nvml_text(void *ctx, uint32_t unit, vs_metric_text_id id, char *text) {
  vs_nvml *nvml = ctx;
  const vs_nvml_unit *of = vs_nvml_unit_at(nvml, unit);
  memset(text, 0, VS_METRIC_TEXT_SIZE);
  if (of == NULL) return (vs_metric){.reason = VS_REASON_NOT_FOUND};
  if (!vs_metric_is_known(of->told.handle)) return of->told.handle;
  vs_nvml_api *api = &nvml->api;
  const nvmlDevice_t own = of->device, card = of->card;
  const unsigned int size = VS_METRIC_TEXT_SIZE;
  switch (id) {
#define VS_TEXT(name, call)      \
  case VS_METRIC_TEXT_ID_##name: \
    return text_of((call), text);
#include "device/nvml/texts.def"
#undef VS_TEXT
    case VS_METRIC_TEXT_ID_COUNT: break;
  }
  return (vs_metric){.reason = VS_REASON_NOT_SUPPORTED};
}

/* ---- of the driver */

/* The versioned call needs libcuda, which a container may lack; the other one does not. */
nvmlReturn_t vs_nvml_read_cuda(vs_nvml_api *api, int *version) {
  const nvmlReturn_t code = VS_NVML_CALL(api, nvmlSystemGetCudaDriverVersion_v2, version);
  return code == NVML_SUCCESS ? code : VS_NVML_CALL(api, nvmlSystemGetCudaDriverVersion, version);
}

static nvmlReturn_t put_cuda(vs_nvml_api *api, char *text) {
  int version = 0;
  const nvmlReturn_t code = vs_nvml_read_cuda(api, &version);
  if (code == NVML_SUCCESS)
    vs_format(text, VS_METRIC_TEXT_SIZE, "%d.%d", version / 1000, version % 1000 / 10);
  return code;
}

vs_metric vs_nvml_driver(void *ctx, vs_driver_text which, char *text) {
  vs_nvml *nvml = ctx;
  vs_nvml_api *api = &nvml->api;
  const unsigned int size = VS_METRIC_TEXT_SIZE;
  memset(text, 0, VS_METRIC_TEXT_SIZE);
  if (!nvml->is_open) return (vs_metric){.reason = VS_REASON_NO_DRIVER, .code = api->lifecycle};
  switch (which) {
    case VS_DRIVER_VERSION: return text_of(VS_NVML_CALL(api, nvmlSystemGetDriverVersion, text, size), text);
    case VS_DRIVER_NVML_VERSION:
      return text_of(VS_NVML_CALL(api, nvmlSystemGetNVMLVersion, text, size), text);
    case VS_DRIVER_CUDA_VERSION: return text_of(put_cuda(api, text), text);
  }
  return (vs_metric){.reason = VS_REASON_NOT_SUPPORTED};
}
