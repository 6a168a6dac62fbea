/* The driver's accounting of processes, also of those that have ended. The driver itself records the peaks. */
#include "device/nvml/connection.h"

static nvmlReturn_t read_pids(vs_nvml *nvml, nvmlDevice_t device) {
  enum { ATTEMPTS = 4, SPARE = 16 };
  nvmlReturn_t code = NVML_ERROR_INSUFFICIENT_SIZE;
  unsigned int count = 0;
  for (int i = 0; i < ATTEMPTS && code == NVML_ERROR_INSUFFICIENT_SIZE; i++) {
    nvml->pids.count = 0;
    if (vs_vec_reserve(nvml->host, &nvml->pids, (size_t)count + SPARE) != VS_OK) return NVML_ERROR_MEMORY;
    count = (unsigned int)vs_min_u64(nvml->pids.capacity, UINT32_MAX);
    code = VS_NVML_CALL(&nvml->api, nvmlDeviceGetAccountingPids, device, &count, nvml->pids.data);
  }
  if (code == NVML_SUCCESS) nvml->pids.count = (size_t)vs_min_u64(count, nvml->pids.capacity);
  return code;
}

static vs_metric of_share(unsigned int percent) {
  if (percent == UINT32_MAX) return (vs_metric){.reason = VS_REASON_NOT_SUPPORTED};
  return vs_nvml_metric(NVML_SUCCESS, percent);
}

vs_metric vs_nvml_accounts(void *ctx, uint32_t unit, const vs_telemetry_account **list) {
  vs_nvml *nvml = ctx;
  const vs_nvml_unit *of = vs_nvml_unit_at(nvml, unit);
  *list = NULL;
  nvml->accounts.count = 0;
  if (of == NULL) return (vs_metric){.reason = VS_REASON_NOT_FOUND};
  if (!vs_metric_is_known(of->told.handle)) return of->told.handle;
  const nvmlReturn_t code = read_pids(nvml, of->card);
  if (code != NVML_SUCCESS) return vs_nvml_metric(code, 0);
  if (vs_vec_reserve(nvml->host, &nvml->accounts, nvml->pids.count) != VS_OK)
    return vs_nvml_metric(NVML_ERROR_MEMORY, 0);
  for (size_t i = 0; i < nvml->pids.count; i++) {
    nvmlAccountingStats_t it = {0};
    if (VS_NVML_CALL(&nvml->api, nvmlDeviceGetAccountingStats, of->card, nvml->pids.data[i], &it) !=
        NVML_SUCCESS)
      continue; /* the driver's buffer has dropped it since */
    VS_ASSERT(nvml->accounts.count < nvml->accounts.capacity);
    nvml->accounts.data[nvml->accounts.count++] =
        (vs_telemetry_account){.pid = nvml->pids.data[i],
                               .is_running = it.isRunning != 0,
                               .gpu_utilization = of_share(it.gpuUtilization),
                               .memory_utilization = of_share(it.memoryUtilization),
                               .peak_bytes = vs_nvml_bytes(NVML_SUCCESS, it.maxMemoryUsage),
                               .time_us = vs_nvml_metric(NVML_SUCCESS, it.time * 1000),
                               .start_us = vs_nvml_metric(NVML_SUCCESS, it.startTime)};
  }
  *list = nvml->accounts.data;
  return vs_nvml_metric(NVML_SUCCESS, nvml->accounts.count);
}
