/* XID errors, as events of the driver. */
#include "device/nvml/connection.h"

vs_metric vs_nvml_watch_xids(void *ctx, uint32_t number) {
  vs_nvml *nvml = ctx;
  const vs_nvml_unit *unit = vs_nvml_unit_at(nvml, number);
  if (unit == NULL) return vs_nvml_metric(NVML_ERROR_INVALID_ARGUMENT, 0);
  if (!vs_metric_is_known(unit->told.handle)) return unit->told.handle;
  if (unit->told.is_mig) return vs_nvml_metric(NVML_ERROR_NOT_SUPPORTED, 0);
  nvmlReturn_t code = NVML_SUCCESS;
  if (nvml->events == NULL) code = VS_NVML_CALL(&nvml->api, nvmlEventSetCreate, &nvml->events);
  if (code == NVML_SUCCESS)
    code = VS_NVML_CALL(&nvml->api, nvmlDeviceRegisterEvents, unit->device,
                        (unsigned long long)VS_NVML_EVENT_XID, nvml->events);
  return vs_nvml_metric(code, 0);
}

static nvmlReturn_t wait_for(vs_nvml *nvml, unsigned int milliseconds, nvmlEventData_t *event) {
  const nvmlReturn_t code = VS_NVML_CALL(&nvml->api, nvmlEventSetWait_v2, nvml->events, event, milliseconds);
  return vs_nvml_is_too_new(code)
             ? VS_NVML_CALL(&nvml->api, nvmlEventSetWait, nvml->events, event, milliseconds)
             : code;
}

/* The driver gives the card's handle. An event of another kind, or of a card that is not listed, counts as none. */
vs_metric vs_nvml_next_xid(void *ctx, uint32_t milliseconds, vs_telemetry_xid *xid) {
  vs_nvml *nvml = ctx;
  nvmlEventData_t event = {0};
  if (nvml->events == NULL) return vs_nvml_metric(NVML_ERROR_UNINITIALIZED, 0);
  const nvmlReturn_t code = wait_for(nvml, milliseconds, &event);
  if (code == NVML_ERROR_TIMEOUT) return vs_nvml_metric(NVML_SUCCESS, 0);
  if (code != NVML_SUCCESS) return vs_nvml_metric(code, 0);
  for (uint32_t i = 0; i < nvml->units.count && (event.eventType & VS_NVML_EVENT_XID) != 0; i++) {
    const vs_nvml_unit *unit = &nvml->units.data[i];
    if (unit->told.is_mig || unit->device != event.device) continue;
    *xid = (vs_telemetry_xid){.unit = i, .number = (uint32_t)vs_min_u64(event.eventData, UINT32_MAX)};
    return vs_nvml_metric(NVML_SUCCESS, 1);
  }
  return vs_nvml_metric(NVML_SUCCESS, 0);
}

void vs_nvml_forget_xids(vs_nvml *nvml) {
  if (nvml->events != NULL) (void)VS_NVML_CALL(&nvml->api, nvmlEventSetFree, nvml->events);
  nvml->events = NULL;
}
