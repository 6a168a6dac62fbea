#include "devices/json.h"
#include "faces/cli/doctor.h"
#include "os/library.h"
#include "os/process.h"

/* Loads the CUDA driver's library without initialising it. */
static bool loads_cuda(void) {
  const char *given = vs_process_variable("VRAMSCOPE_CUDA");
  const char *const names[] = {given != NULL && given[0] != 0 ? given : "libcuda.so.1", NULL};
  vs_library library;
  vs_error error;
  if (vs_library_open(&library, names, &error) != VS_OK) return false;
  vs_library_close(&library);
  return true;
}

/* The functions of NVML that vramscope uses, and how many of them this library lacks. */
static void put_functions(vs_jsonw *w, const vs_devices *devices, const vs_host *host) {
  const size_t count = devices == NULL ? 0 : vs_devices_costs(devices, NULL, 0);
  vs_devices_cost *costs = count == 0 ? NULL : vs_host_alloc(host, count * sizeof *costs);
  uint64_t missing = 0;
  if (costs != NULL) {
    (void)vs_devices_costs(devices, costs, count);
    for (size_t i = 0; i < count; i++) missing += costs[i].is_missing;
    vs_host_free(host, costs, count * sizeof *costs);
  }
  vs_jsonw_member_u64(w, "functions", count);
  vs_jsonw_member_u64(w, "functions_missing", missing);
}

static uint32_t parts_of(const vs_devices *devices, uint32_t card) {
  uint32_t count = 0;
  vs_devices_info info;
  for (uint32_t i = card + 1; i < vs_devices_count(devices); i++)
    count += vs_devices_info_of(devices, i, &info) == VS_OK && info.parent == card;
  return count;
}

static void put_card(vs_jsonw *w, vs_devices *devices, uint32_t unit, const vs_devices_info *info) {
  vs_devices_memory memory;
  vs_jsonw_object_begin(w);
  vs_jsonw_member_u64(w, "index", info->index);
  vs_devices_json_text(w, "name", info->name);
  vs_devices_json_text(w, "uuid", info->uuid);
  vs_devices_json_metric(w, "cuda", info->cuda_index);
  vs_jsonw_member_bool(w, "divided", info->is_divided);
  vs_jsonw_member_u64(w, "mig_devices", parts_of(devices, unit));
  vs_jsonw_member_bool(w, "is_unified", info->is_unified);
  if (vs_devices_memory_of(devices, unit, false, &memory) == VS_OK)
    vs_jsonw_member_str(w, "memory", vs_str_from(vs_reason_name(memory.free.reason)));
  vs_jsonw_object_end(w);
}

static void put_cards(vs_jsonw *w, vs_devices *devices) {
  vs_devices_info info;
  vs_jsonw_key(w, VS_STR("gpus"));
  vs_jsonw_array_begin(w);
  for (uint32_t i = 0; devices != NULL && i < vs_devices_count(devices); i++)
    if (vs_devices_info_of(devices, i, &info) == VS_OK && !info.is_mig) put_card(w, devices, i, &info);
  vs_jsonw_array_end(w);
}

void vs_doctor_put_driver(vs_jsonw *w, const vs_host *host) {
  const vs_devices_options options = {.host = host};
  vs_devices *devices = NULL;
  vs_devices_failure failure;
  vs_devices_driver driver;
  const bool is_open = vs_devices_open(&options, &devices, &failure) == VS_OK;
  if (is_open) vs_devices_driver_of(devices, &driver);
  else driver = failure.driver;
  vs_jsonw_key(w, VS_STR("driver"));
  vs_jsonw_object_begin(w);
  vs_devices_json_driver(w, &driver);
  vs_devices_json_text(w, "nvml_library", driver.library);
  vs_jsonw_member_bool(w, "wsl", driver.is_wsl);
  vs_devices_json_metric(w, "pids_hidden", driver.is_pid_hidden);
  vs_jsonw_member_bool(w, "libcuda", loads_cuda());
  put_functions(w, devices, host);
  vs_devices_json_text(w, "problem", is_open ? NULL : failure.text);
  vs_jsonw_member_i64(w, "code", is_open ? 0 : failure.code);
  put_cards(w, devices);
  vs_jsonw_object_end(w);
  vs_devices_close(devices);
}
