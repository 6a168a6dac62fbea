#include "base/sized.h"
#include "devices/state.h"
#include "device/nvml/nvml.h"
#include "os/process.h"

uint64_t vs_devices__now(const vs_devices *devices) {
  return devices->options.clock != NULL ? devices->options.clock(devices->options.clock_ctx)
                                        : vs_process_clock_us();
}

/* Copies a variable of the environment, which may change while the object lives. *to stays NULL if it is not set. */
static vs_status copy_variable(vs_devices *devices, const char *name, const char **to) {
  const char *value = vs_process_variable(name);
  if (value == NULL) return VS_OK;
  const size_t size = strlen(value) + 1;
  VS_TRY(vs_vec_reserve(devices->host, &devices->copies, 1));
  char *copy = vs_host_alloc(devices->host, size);
  if (copy == NULL) return VS_NO_MEMORY;
  memcpy(copy, value, size);
  devices->copies.data[devices->copies.count++] = copy;
  *to = copy;
  return VS_OK;
}

static vs_status settle_options(vs_devices *devices, const vs_devices_options *options) {
  vs_devices_options *all = &devices->options;
  if (options != NULL) *all = *options;
  all->host = devices->host;
  if (all->proc == NULL) all->proc = "/proc";
  if (all->slow_us == 0) all->slow_us = 1000000;
  if (all->nvml == NULL) VS_TRY(copy_variable(devices, "VRAMSCOPE_NVML", &all->nvml));
  if (all->nvml != NULL && all->nvml[0] == 0) all->nvml = NULL;
  if (all->visible == NULL) VS_TRY(copy_variable(devices, "CUDA_VISIBLE_DEVICES", &all->visible));
  return all->order != NULL ? VS_OK : copy_variable(devices, "CUDA_DEVICE_ORDER", &all->order);
}

/* Lists the units and derives what depends on them, after an open or a reopen of NVML. */
static vs_status list(vs_devices *devices) {
  VS_TRY(vs_devices__list(devices));
  vs_devices__look_at_library(devices);
  VS_TRY(vs_devices__number(devices));
  VS_ASSERT(vs_devices__check(devices));
  return VS_OK;
}

static void forget_units(vs_devices *devices) {
  devices->units.count = 0;
  devices->answers.count = 0;
  devices->by_cuda.count = 0;
  devices->rows.count = 0;
  devices->accounts.count = 0;
}

static vs_status open_new(vs_devices *devices, const vs_devices_options *options,
                          vs_devices_failure *failure) {
  vs_telemetry_failure was = {0};
  vs_status status = settle_options(devices, options);
  if (status == VS_OK) {
    vs_devices__look_at_system(devices);
    status = vs_nvml_open(devices->host, devices->options.nvml, &devices->telemetry, &was);
  }
  if (status == VS_OK) status = list(devices);
  if (status == VS_OK) return VS_OK;
  vs_devices__explain(devices, status, &was, failure);
  return failure->status;
}

static vs_status open_as(const vs_devices_options *options, vs_devices **devices,
                         vs_devices_failure *failure) {
  *failure = (vs_devices_failure){.status = VS_OK};
  *devices = NULL;
  const vs_host *host = options != NULL && options->host != NULL ? options->host : vs_host_default();
  vs_devices *made = vs_host_alloc(host, sizeof *made);
  if (made == NULL) {
    failure->status = vs_fail(NULL, VS_NO_MEMORY, VS_NO_OFFSET, "");
    vs_format(failure->text, sizeof failure->text, "%s", vs_status_text(VS_NO_MEMORY));
    return VS_NO_MEMORY;
  }
  *made = (vs_devices){.host = host};
  vs_text_init(&made->texts, host, NULL);
  const vs_status status = open_new(made, options, failure);
  if (status == VS_OK) *devices = made;
  else vs_devices_close(made);
  return status;
}

vs_status vs_devices_open_sized(const vs_devices_options *options, size_t options_size, vs_devices **devices,
                                vs_devices_failure *failure, size_t failure_size) {
  vs_devices_options wanted = {0};
  vs_devices_failure own = {.status = VS_OK};
  vs_error error;
  *devices = NULL;
  if (options != NULL) own.status = vs_sized_take(&wanted, sizeof wanted, options, options_size, &error);
  vs_status status = own.status;
  if (status != VS_OK) vs_format(own.text, sizeof own.text, "%s", error.text);
  else status = open_as(&wanted, devices, &own);
  if (failure != NULL) vs_sized_give(failure, failure_size, &own, sizeof own);
  return status;
}

void vs_devices_close(vs_devices *devices) {
  if (devices == NULL) return;
  const vs_host *host = devices->host;
  if (devices->telemetry.ops != NULL) devices->telemetry.ops->close(devices->telemetry.ctx);
  vs_cuda_close(devices->cuda);
  vs_vec_free(host, &devices->units);
  vs_vec_free(host, &devices->by_cuda);
  vs_vec_free(host, &devices->answers);
  vs_vec_free(host, &devices->rows);
  vs_vec_free(host, &devices->row_texts);
  vs_vec_free(host, &devices->users);
  vs_vec_free(host, &devices->accounts);
  vs_text_deinit(&devices->texts);
  for (size_t i = 0; i < devices->copies.count; i++)
    vs_host_free(host, devices->copies.data[i], strlen(devices->copies.data[i]) + 1);
  vs_vec_free(host, &devices->copies);
  vs_host_free(host, devices, sizeof *devices);
}

bool vs_devices_is_stale(const vs_devices *devices) {
  return devices->telemetry.ops->lifecycle(devices->telemetry.ctx) != 0;
}

static vs_status refresh(vs_devices *devices, vs_devices_failure *failure) {
  vs_telemetry_failure was = {0};
  *failure = (vs_devices_failure){.status = VS_OK};
  forget_units(devices);
  vs_devices__look_at_system(devices);
  vs_status status = devices->telemetry.ops->reopen(devices->telemetry.ctx, &was);
  if (status == VS_OK) status = list(devices);
  if (status == VS_OK) return VS_OK;
  forget_units(devices);
  VS_ASSERT(vs_devices__check(devices));
  vs_devices__explain(devices, status, &was, failure);
  return failure->status;
}

vs_status vs_devices_refresh_sized(vs_devices *devices, vs_devices_failure *failure, size_t size) {
  vs_devices_failure own;
  const vs_status status = refresh(devices, &own);
  if (failure != NULL) vs_sized_give(failure, size, &own, sizeof own);
  return status;
}

void vs_devices_driver_of_sized(const vs_devices *devices, vs_devices_driver *driver, size_t size) {
  vs_sized_give(driver, size, &devices->driver, sizeof devices->driver);
}

/* ---- what things cost */

static bool is_dearer(const vs_telemetry_cost *a, const vs_telemetry_cost *b) {
  if (a->total_ns != b->total_ns) return a->total_ns > b->total_ns;
  return vs_str_compare(vs_str_from(a->function), vs_str_from(b->function)) < 0;
}

/* Sorts by counting, for each row, the rows that come before it. That is quadratic, but it needs no memory and so cannot
 * fail; there are about a hundred functions and the caller asks rarely. */
size_t vs_devices_costs(const vs_devices *devices, vs_devices_cost *costs, size_t capacity) {
  const vs_telemetry_cost *all;
  const uint32_t count = devices->telemetry.ops->costs(devices->telemetry.ctx, &all);
  for (uint32_t i = 0; i < count; i++) {
    size_t rank = 0;
    for (uint32_t k = 0; k < count; k++) rank += is_dearer(&all[k], &all[i]);
    VS_ASSERT(rank < count);
    if (rank >= capacity) continue;
    costs[rank] = (vs_devices_cost){.function = all[i].function,
                                    .is_missing = all[i].is_missing,
                                    .calls = all[i].calls,
                                    .total_ns = all[i].total_ns,
                                    .most_ns = all[i].max_ns};
  }
  return count;
}

uint64_t vs_devices_spared(const vs_devices *devices) { return devices->spared; }
