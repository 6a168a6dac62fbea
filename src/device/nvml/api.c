#include "device/nvml/api.h"

#include "base/check.h"
#include "base/text.h"

static void look_up(vs_nvml_api *api) {
#define VS_NVML(name, parameters)                                      \
  vs_library_find(&api->library, #name, (void *)&api->functions.name); \
  api->costs[VS_NVML_##name].function = #name;                         \
  api->costs[VS_NVML_##name].is_missing = api->functions.name == NULL;
#include "device/nvml/nvml_api.def"
#undef VS_NVML
}

vs_status vs_nvml_api_open(vs_nvml_api *api, const char *path, vs_error *error) {
  VS_ASSERT(api->functions.nvmlShutdown == NULL); /* closed */
  const char *const given[] = {path, NULL};
  static const char *const usual[] = {"libnvidia-ml.so.1", "/usr/lib/wsl/lib/libnvidia-ml.so.1", NULL};
  VS_TRY(vs_library_open(&api->library, path != NULL ? given : usual, error));
  look_up(api);
  return VS_OK;
}

void vs_nvml_api_close(vs_nvml_api *api) {
  vs_library_close(&api->library);
  api->functions = (vs_nvml_functions){0};
  for (uint32_t i = 0; i < VS_NVML_FUNCTION_COUNT; i++) api->costs[i].is_missing = true;
}

static bool ends_connection(nvmlReturn_t code) {
  return code == NVML_ERROR_UNINITIALIZED || code == NVML_ERROR_DRIVER_NOT_LOADED ||
         code == NVML_ERROR_GPU_IS_LOST || code == NVML_ERROR_LIB_RM_VERSION_MISMATCH ||
         code == NVML_ERROR_GPU_NOT_FOUND;
}

nvmlReturn_t vs_nvml_called(vs_nvml_api *api, vs_nvml_function function, nvmlReturn_t code) {
  VS_ASSERT((unsigned)function < VS_NVML_FUNCTION_COUNT);
  vs_telemetry_cost *cost = &api->costs[function];
  if (cost->is_missing) return code;
  const uint64_t spent = vs_clock_ns() - api->started_ns;
  cost->calls++;
  cost->total_ns += spent;
  cost->max_ns = vs_max_u64(cost->max_ns, spent);
  if (ends_connection(code)) api->lifecycle = (int32_t)code;
  return code;
}

/* ---- results as metrics */

static vs_reason reason_of(nvmlReturn_t code) {
  switch ((int)code) {
    case NVML_SUCCESS: return VS_REASON_KNOWN;
    case NVML_ERROR_NOT_SUPPORTED: return VS_REASON_NOT_SUPPORTED;
    case NVML_ERROR_NO_PERMISSION: return VS_REASON_NO_PERMISSION;
    case NVML_ERROR_FUNCTION_NOT_FOUND:
    case NVML_ERROR_ARGUMENT_VERSION_MISMATCH: return VS_REASON_NO_FUNCTION;
    case NVML_ERROR_GPU_IS_LOST:
    case NVML_ERROR_GPU_NOT_FOUND: return VS_REASON_LOST;
    case NVML_ERROR_NOT_FOUND: return VS_REASON_NOT_FOUND;
    case NVML_ERROR_DEPRECATED: return VS_REASON_DEPRECATED;
    case NVML_ERROR_TIMEOUT: return VS_REASON_STALE;
    case NVML_ERROR_UNINITIALIZED:
    case NVML_ERROR_DRIVER_NOT_LOADED:
    case NVML_ERROR_LIBRARY_NOT_FOUND:
    case NVML_ERROR_LIB_RM_VERSION_MISMATCH: return VS_REASON_NO_DRIVER;
    default: return VS_REASON_FAILED;
  }
}

vs_metric vs_nvml_metric(nvmlReturn_t code, uint64_t value) {
  const vs_reason reason = reason_of(code);
  return (vs_metric){reason, (int32_t)code, reason == VS_REASON_KNOWN ? value : 0};
}

vs_metric vs_nvml_bytes(nvmlReturn_t code, uint64_t value) {
  if (code == NVML_SUCCESS && value == UINT64_MAX) return (vs_metric){.reason = VS_REASON_NOT_VISIBLE};
  return vs_nvml_metric(code, value);
}

const char *vs_nvml_sentence(nvmlReturn_t code) {
  switch (code) {
#define VS_NVML_RETURN(name, number, text) \
  case name:                               \
    return text;
#include "device/abi/nvml_returns.def"
#undef VS_NVML_RETURN
  }
  return "unknown error";
}
