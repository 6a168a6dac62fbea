/* The part of doctor that looks at GPUs: which driver, does it fit its library, what may be seen, and why not. */
#include "faces/cli/doctor.h"
#include "faces/cli/screen.h"
#include "os/library.h"
#include "os/process.h"

void vs_doctor_put(vs_cli *cli, bool is_good, const char *what, const char *format, const char *value) {
  char label[48];
  vs_text text;
  vs_format(label, sizeof label, "%s  %s", is_good ? "yes" : "no ", what);
  vs_scratch_init(&text, &cli->screen);
  vs_text_format(&text, format, value);
  vs_screen_labelled(&cli->screen, label, 25, is_good ? VS_STYLE_PLAIN : VS_STYLE_TITLE, vs_text_view(&text));
  vs_text_deinit(&text);
}

static bool loads_cuda(void) {
  const char *given = vs_process_variable("VRAMSCOPE_CUDA");
  const char *const names[] = {given != NULL && given[0] != 0 ? given : "libcuda.so.1", NULL};
  vs_library library;
  vs_error error;
  if (vs_library_open(&library, names, &error) != VS_OK) return false;
  vs_library_close(&library);
  return true;
}

static void count_functions(vs_machine *machine, const vs_host *host) {
  const size_t count = vs_devices_costs(machine->devices, NULL, 0);
  vs_devices_cost *costs = vs_host_alloc(host, count * sizeof *costs);
  machine->function_count = (uint32_t)count;
  if (costs == NULL) return;
  (void)vs_devices_costs(machine->devices, costs, count);
  for (size_t i = 0; i < count; i++) machine->missing_count += costs[i].is_missing;
  vs_host_free(host, costs, count * sizeof *costs);
}

void vs_machine_look(vs_machine *machine, const vs_host *host) {
  const vs_devices_options options = {.host = host};
  *machine = (vs_machine){.has_cuda = loads_cuda()};
  if (vs_devices_open(&options, &machine->devices, &machine->failure) != VS_OK) {
    machine->driver = machine->failure.driver;
    return;
  }
  vs_devices_driver_of(machine->devices, &machine->driver);
  count_functions(machine, host);
}

void vs_machine_close(vs_machine *machine) { vs_devices_close(machine->devices); }

/* ---- as text */

/* What was collected, shown as a row and emptied. */
static void put_row(vs_cli *cli, bool is_good, const char *what, vs_text *line) {
  vs_text_byte(line, 0);
  if (line->status == VS_OK) vs_doctor_put(cli, is_good, what, "%s", line->bytes.data);
  line->bytes.count = 0;
}

static void put_driver(vs_cli *cli, const vs_machine *machine, vs_text *line) {
  const vs_devices_driver *driver = &machine->driver;
  if (machine->devices == NULL) {
    vs_screen_safe(line, vs_str_from(machine->failure.text));
    put_row(cli, false, "NVIDIA driver", line);
    return;
  }
  vs_screen_safe(line, vs_str_from(driver->driver_version));
  if (driver->is_simulated) vs_text_cstr(line, " (simulated)");
  if (vs_metric_is_known(driver->cuda_version))
    vs_text_format(line, ", for CUDA up to %U.%U", driver->cuda_version.value / 1000,
                   driver->cuda_version.value % 1000 / 10);
  if (driver->is_wsl) vs_text_cstr(line, ", of Windows: what single processes hold is not known");
  put_row(cli, true, "NVIDIA driver", line);
  if (driver->versions_differ) {
    vs_text_format(
        line, "the library is of %s, the kernel module of %s: restart the machine, or load the new module",
        driver->library_version, driver->kernel_version);
    put_row(cli, false, "one version", line);
  }
  vs_screen_safe(line, vs_str_from(driver->library_version));
  vs_text_cstr(line, " in ");
  vs_screen_safe(line, vs_str_from(driver->library));
  if (machine->missing_count != 0)
    vs_text_format(line, "; it has not got %u of %u functions, and what they tell stays unknown",
                   machine->missing_count, machine->function_count);
  put_row(cli, true, "NVML", line);
}

static uint32_t parts_of(const vs_devices *devices, uint32_t card) {
  uint32_t count = 0;
  vs_devices_info info;
  for (uint32_t i = card + 1; i < vs_devices_count(devices); i++)
    count += vs_devices_info_of(devices, i, &info) == VS_OK && info.parent == card;
  return count;
}

static void put_card(vs_cli *cli, const vs_machine *machine, uint32_t unit, const vs_devices_info *info,
                     vs_text *line) {
  char label[24];
  vs_devices_memory memory;
  vs_screen_safe(line, vs_str_from(info->name[0] == 0 ? "without a name" : info->name));
  if (vs_metric_is_known(info->cuda_index)) vs_text_format(line, ", cuda:%U here", info->cuda_index.value);
  if (info->is_divided)
    vs_text_format(line, ", divided into %u MIG devices", parts_of(machine->devices, unit));
  if (info->is_unified) vs_text_cstr(line, ", uses the machine's memory");
  bool is_told = vs_devices_memory_of(machine->devices, unit, false, &memory) == VS_OK;
  if (is_told && !vs_metric_is_known(memory.free)) {
    vs_text_format(line, "; its memory is unknown: %s", vs_reason_text(memory.free.reason));
    if (memory.free.reason == VS_REASON_NO_PERMISSION && info->is_divided)
      vs_text_cstr(line, " (in a container: NVIDIA_MIG_MONITOR_DEVICES=all)");
    is_told = false;
  }
  vs_format(label, sizeof label, "GPU %u", info->index);
  put_row(cli, is_told, label, line);
}

static void put_cards(vs_cli *cli, const vs_machine *machine, vs_text *line) {
  const uint32_t count = vs_devices_count(machine->devices);
  vs_devices_info info;
  if (count == 0) vs_doctor_put(cli, false, "GPUs", "%s", "the driver runs and sees none");
  for (uint32_t i = 0; i < count; i++)
    if (vs_devices_info_of(machine->devices, i, &info) == VS_OK && !info.is_mig)
      put_card(cli, machine, i, &info, line);
}

static void put_processes(vs_cli *cli, const vs_machine *machine) {
  const vs_metric hidden = machine->driver.is_pid_hidden;
  const bool is_whole = vs_metric_is_known(hidden) && hidden.value == 0;
  if (!vs_metric_is_known(hidden))
    vs_doctor_put(cli, false, "GPU processes", "%s",
                  "this system does not say whether it shows all processes");
  else
    vs_doctor_put(cli, is_whole, "GPU processes", "%s",
                  is_whole ? "their numbers are those of this machine"
                           : "this is a container: the driver lists the host's numbers, or none "
                             "(docker run --pid=host)");
}

void vs_machine_put(vs_cli *cli, const vs_machine *machine) {
  vs_text line;
  vs_scratch_init(&line, &cli->screen);
  put_driver(cli, machine, &line);
  if (machine->devices != NULL) {
    vs_doctor_put(cli, machine->has_cuda, "CUDA driver", "%s",
                  machine->has_cuda
                      ? "libcuda.so.1 loads"
                      : "libcuda.so.1 does not load: a container needs the capability \"compute\"");
    put_cards(cli, machine, &line);
    put_processes(cli, machine);
  }
  vs_text_deinit(&line);
}

/* ---- as JSON */

static void put_str_or_null(vs_jsonw *json, const char *key, const char *value) {
  if (*value == 0) vs_jsonw_member_null(json, key);
  else vs_jsonw_member_str(json, key, vs_str_from(value));
}

static void put_metric(vs_jsonw *json, const char *key, vs_metric metric) {
  if (vs_metric_is_known(metric)) vs_jsonw_member_u64(json, key, metric.value);
  else vs_jsonw_member_null(json, key);
}

static void put_card_json(vs_jsonw *json, const vs_machine *machine, uint32_t unit,
                          const vs_devices_info *info) {
  vs_devices_memory memory;
  vs_jsonw_object_begin(json);
  vs_jsonw_member_u64(json, "index", info->index);
  put_str_or_null(json, "name", info->name);
  put_str_or_null(json, "uuid", info->uuid);
  put_metric(json, "cuda", info->cuda_index);
  vs_jsonw_member_bool(json, "divided", info->is_divided);
  vs_jsonw_member_u64(json, "mig_devices", parts_of(machine->devices, unit));
  vs_jsonw_member_bool(json, "is_unified", info->is_unified);
  if (vs_devices_memory_of(machine->devices, unit, false, &memory) == VS_OK)
    vs_jsonw_member_str(json, "memory", vs_str_from(vs_reason_name(memory.free.reason)));
  vs_jsonw_object_end(json);
}

void vs_machine_put_json(vs_jsonw *json, const vs_machine *machine) {
  const vs_devices_driver *driver = &machine->driver;
  vs_devices_info info;
  vs_jsonw_key(json, VS_STR("driver"));
  vs_jsonw_object_begin(json);
  put_str_or_null(json, "version", driver->driver_version);
  put_str_or_null(json, "kernel_version", driver->kernel_version);
  put_str_or_null(json, "nvml_version", driver->library_version);
  put_str_or_null(json, "nvml_library", driver->library);
  put_metric(json, "cuda_version", driver->cuda_version);
  vs_jsonw_member_bool(json, "versions_differ", driver->versions_differ);
  vs_jsonw_member_bool(json, "is_simulated", driver->is_simulated);
  vs_jsonw_member_bool(json, "wsl", driver->is_wsl);
  put_metric(json, "pids_hidden", driver->is_pid_hidden);
  vs_jsonw_member_bool(json, "libcuda", machine->has_cuda);
  vs_jsonw_member_u64(json, "functions", machine->function_count);
  vs_jsonw_member_u64(json, "functions_missing", machine->missing_count);
  put_str_or_null(json, "problem", machine->failure.text);
  vs_jsonw_member_i64(json, "code", machine->failure.code);
  vs_jsonw_key(json, VS_STR("gpus"));
  vs_jsonw_array_begin(json);
  for (uint32_t i = 0; machine->devices != NULL && i < vs_devices_count(machine->devices); i++)
    if (vs_devices_info_of(machine->devices, i, &info) == VS_OK && !info.is_mig)
      put_card_json(json, machine, i, &info);
  vs_jsonw_array_end(json);
  vs_jsonw_object_end(json);
}
