/* Opens, reopens and closes a connection. */
#include "device/nvml/nvml.h"

#include "base/text.h"
#include "device/nvml/connection.h"

/* ---- failures */

static vs_status refuse(vs_telemetry_failure *failure, nvmlReturn_t code) {
  failure->code = (int32_t)code;
  vs_format(failure->text, sizeof failure->text, "%s", vs_nvml_sentence(code));
  return VS_DEVICE;
}

/* "12.550.144" is CUDA's version followed by the driver's, of which users know the second. It can be read without a connection. */
static void put_library_version(vs_nvml_api *api, vs_telemetry_failure *failure) {
  char text[VS_METRIC_TEXT_SIZE] = "";
  if (VS_NVML_CALL(api, nvmlSystemGetNVMLVersion, text, sizeof text) != NVML_SUCCESS) return;
  const char *from = text;
  while (*from != 0 && *from != '.') from++;
  vs_format(failure->library_version, sizeof failure->library_version, "%s", *from == '.' ? from + 1 : text);
}

/* ---- the connection */

static nvmlReturn_t init(vs_nvml_api *api) {
  const nvmlReturn_t code = VS_NVML_CALL(api, nvmlInit_v2);
  return vs_nvml_is_too_new(code) ? VS_NVML_CALL(api, nvmlInit) : code;
}

static void disconnect(vs_nvml *nvml) {
  VS_ASSERT(nvml->is_open || nvml->units.count == 0);
  if (nvml->is_open) vs_nvml_forget_xids(nvml);
  if (nvml->is_open) (void)VS_NVML_CALL(&nvml->api, nvmlShutdown);
  nvml->is_open = false;
  nvml->units.count = 0;
  vs_nvml_api_close(&nvml->api);
}

static bool has_protected_memory(vs_nvml *nvml) {
  for (uint32_t i = 0; i < nvml->units.count; i++)
    if (vs_nvml_one_metric(nvml, i, VS_METRIC_ID_PROTECTED_TOTAL).value != 0) return true;
  return false;
}

/* Connects, after the library was opened. Errors during this phase are reported here, so lifecycle is reset at the end. */
static vs_status begin(vs_nvml *nvml, vs_telemetry_failure *failure) {
  nvmlReturn_t code = init(&nvml->api);
  if (code != NVML_SUCCESS) {
    if (code == NVML_ERROR_LIB_RM_VERSION_MISMATCH) put_library_version(&nvml->api, failure);
    return refuse(failure, code);
  }
  VS_ASSERT(!nvml->is_open && nvml->units.count == 0);
  nvml->is_open = true;
  if (vs_nvml_read_cuda(&nvml->api, &nvml->cuda) != NVML_SUCCESS) nvml->cuda = 0;
  const vs_status status = vs_nvml_enumerate(nvml, &code);
  if (status == VS_NO_MEMORY) code = NVML_ERROR_MEMORY;
  if (status != VS_OK) (void)refuse(failure, code);
  const vs_nvml_rung first = has_protected_memory(nvml) ? VS_NVML_DETAIL : VS_NVML_V3;
  for (unsigned kind = 0; kind < VS_NVML_KINDS; kind++) nvml->rungs[kind] = first;
  nvml->api.lifecycle = 0;
  return status;
}

static vs_status connect(vs_nvml *nvml, vs_telemetry_failure *failure) {
  vs_error error = {0};
  *failure = (vs_telemetry_failure){0};
  vs_status status = vs_nvml_api_open(&nvml->api, nvml->path, &error);
  if (status == VS_OK) status = begin(nvml, failure);
  else {
    (void)refuse(failure, NVML_ERROR_LIBRARY_NOT_FOUND);
    if (status != VS_NOT_FOUND) vs_format(failure->text, sizeof failure->text, "%s", error.text);
    status = VS_NOT_FOUND;
  }
  if (status == VS_OK) return VS_OK;
  disconnect(nvml);
  nvml->api.lifecycle = failure->code; /* until a reopen succeeds */
  return status;
}

/* ---- as a vs_telemetry */

static uint32_t count(void *ctx) { return (uint32_t)((const vs_nvml *)ctx)->units.count; }

static const vs_telemetry_unit *unit(void *ctx, uint32_t number) {
  const vs_nvml_unit *of = vs_nvml_unit_at(ctx, number);
  return of == NULL ? NULL : &of->told;
}

static const char *library(void *ctx) {
  const vs_nvml *nvml = ctx;
  return nvml->api.library.path == NULL ? "" : nvml->api.library.path;
}

static uint32_t costs(void *ctx, const vs_telemetry_cost **list) {
  *list = ((const vs_nvml *)ctx)->api.costs;
  return VS_NVML_FUNCTION_COUNT;
}

static int32_t lifecycle(void *ctx) { return ((const vs_nvml *)ctx)->api.lifecycle; }

/* Reopens the library, too, because an upgrade of the driver replaces it. */
static vs_status reopen(void *ctx, vs_telemetry_failure *failure) {
  disconnect(ctx);
  return connect(ctx, failure);
}

static void close(void *ctx) {
  vs_nvml *nvml = ctx;
  const vs_host *host = nvml->host;
  disconnect(nvml);
  vs_vec_free(host, &nvml->units);
  vs_vec_free(host, &nvml->entries);
  vs_vec_free(host, &nvml->processes);
  vs_vec_free(host, &nvml->pids);
  vs_vec_free(host, &nvml->accounts);
  vs_host_free(host, nvml, sizeof *nvml + (nvml->path == NULL ? 0 : strlen(nvml->path) + 1));
}

static const vs_telemetry_ops ops = {
    .count = count,
    .unit = unit,
    .metric = vs_nvml_one_metric,
    .metrics = vs_nvml_metrics,
    .memory = vs_nvml_memory,
    .text = vs_nvml_text,
    .processes = vs_nvml_processes,
    .accounts = vs_nvml_accounts,
    .watch_xids = vs_nvml_watch_xids,
    .next_xid = vs_nvml_next_xid,
    .driver = vs_nvml_driver,
    .library = library,
    .costs = costs,
    .lifecycle = lifecycle,
    .reopen = reopen,
    .close = close,
};

vs_status vs_nvml_open(const vs_host *host, const char *path, vs_telemetry *telemetry,
                       vs_telemetry_failure *failure) {
  const size_t path_size = path == NULL ? 0 : strlen(path) + 1;
  vs_nvml *nvml = vs_host_alloc(host, sizeof *nvml + path_size);
  *telemetry = (vs_telemetry){0};
  *failure = (vs_telemetry_failure){0};
  if (nvml == NULL) return VS_NO_MEMORY;
  *nvml = (vs_nvml){.host = host};
  if (path != NULL) nvml->path = memcpy(nvml + 1, path, path_size);
  const vs_status status = connect(nvml, failure);
  if (status != VS_OK) {
    close(nvml);
    return status;
  }
  *telemetry = (vs_telemetry){&ops, nvml};
  return VS_OK;
}
