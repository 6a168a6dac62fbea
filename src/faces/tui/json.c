#include "faces/tui/json.h"
#include "codec/json_writer.h"

/* ---- a figure, or null */

static void put_figure(vs_jsonw *w, const char *key, vs_metric metric) {
  if (vs_metric_is_known(metric)) vs_jsonw_member_u64(w, key, metric.value);
  else vs_jsonw_member_null(w, key);
}

/* "NO_PERMISSION" as "no_permission". */
static void put_reason(vs_jsonw *w, const char *key, vs_metric metric) {
  char name[40];
  size_t size = 0;
  if (vs_metric_is_known(metric)) return;
  for (const char *c = vs_reason_name(metric.reason); *c != 0 && size < sizeof name; c++)
    name[size++] = *c >= 'A' && *c <= 'Z' ? (char)(*c - 'A' + 'a') : *c;
  vs_jsonw_member_str(w, key, (vs_str){name, size});
}

static void put_text_or_null(vs_jsonw *w, const char *key, const char *text) {
  if (text[0] != 0) vs_jsonw_member_str(w, key, vs_str_from(text));
  else vs_jsonw_member_null(w, key);
}

static void put_number_or_null(vs_jsonw *w, const char *key, uint32_t number) {
  if (number != VS_DEVICES_NONE) vs_jsonw_member_u64(w, key, number);
  else vs_jsonw_member_null(w, key);
}

/* ---- a device. One list gives the figures and the reasons. */

typedef struct figure {
  const char *key;
  vs_metric metric;
} figure;

enum { FIGURES = 12 };

static void figures_of(const vs_top_device *device, figure figures[static FIGURES]) {
  const vs_devices_memory *m = &device->memory;
  const figure all[FIGURES] = {{"memory_total_bytes", m->total},
                               {"memory_used_bytes", m->used},
                               {"memory_free_bytes", m->free},
                               {"memory_reserved_bytes", m->reserved},
                               {"memory_attributed_bytes", m->attributed},
                               {"memory_unattributed_bytes", m->unattributed},
                               {"utilization_gpu_percent", device->utilization},
                               {"utilization_memory_percent", device->memory_utilization},
                               {"temperature_celsius", device->temperature},
                               {"power_milliwatts", device->power},
                               {"power_limit_milliwatts", device->power_limit},
                               {"process_count", device->process_count}};
  memcpy(figures, all, sizeof all);
}

static void put_device(vs_jsonw *w, const vs_top_device *device) {
  const vs_devices_info *info = &device->info;
  figure figures[FIGURES];
  vs_jsonw_object_begin(w);
  vs_jsonw_member_str(w, "label", vs_str_from(device->label));
  vs_jsonw_member_u64(w, "index", info->index);
  put_text_or_null(w, "uuid", info->uuid);
  vs_jsonw_member_str(w, "name", vs_str_from(info->name));
  put_text_or_null(w, "bus_id", info->bus_id);
  put_figure(w, "cuda_index", info->cuda_index);
  vs_jsonw_member_bool(w, "is_mig", info->is_mig);
  put_number_or_null(w, "mig_index", info->mig_index);
  put_number_or_null(w, "gpu_instance", info->gpu_instance);
  put_number_or_null(w, "compute_instance", info->compute_instance);
  vs_jsonw_member_bool(w, "is_divided", info->is_divided);
  vs_jsonw_member_bool(w, "is_simulated", info->is_simulated);
  vs_jsonw_member_u64(w, "memory_api", device->memory.api);
  vs_jsonw_member_bool(w, "memory_is_shared_with_host", device->memory.is_shared);
  vs_jsonw_member_bool(w, "memory_is_approximate", device->memory.is_approximate);
  vs_jsonw_member_bool(w, "processes_may_be_missing", device->may_miss);
  figures_of(device, figures);
  for (size_t i = 0; i < FIGURES; i++) put_figure(w, figures[i].key, figures[i].metric);
  vs_jsonw_key(w, VS_STR("unknown"));
  vs_jsonw_object_begin(w);
  for (size_t i = 0; i < FIGURES; i++) put_reason(w, figures[i].key, figures[i].metric);
  vs_jsonw_object_end(w);
  vs_jsonw_object_end(w);
}

/* ---- a process */

static void put_process(vs_jsonw *w, const vs_top_sample *sample, const vs_top_process *process) {
  const vs_top_device *device = &sample->devices.data[process->device];
  vs_jsonw_object_begin(w);
  vs_jsonw_member_str(w, "device", vs_str_from(device->label));
  put_text_or_null(w, "uuid", device->info.uuid);
  vs_jsonw_member_u64(w, "pid", process->pid);
  put_figure(w, "used_bytes", process->bytes);
  vs_jsonw_member_str(w, "type", vs_str_from(process->kind));
  vs_jsonw_member_bool(w, "is_visible", process->is_visible);
  put_text_or_null(w, "user", process->user);
  put_text_or_null(w, "name", process->name);
  put_text_or_null(w, "command", process->command);
  put_text_or_null(w, "container", process->container);
  if (process->start_us != 0) vs_jsonw_member_u64(w, "started_us", process->start_us);
  else vs_jsonw_member_null(w, "started_us");
  if (process->inner_pid != 0) vs_jsonw_member_u64(w, "pid_in_container", process->inner_pid);
  else vs_jsonw_member_null(w, "pid_in_container");
  vs_jsonw_object_end(w);
}

/* ---- the whole */

static void put_driver(vs_jsonw *w, const vs_devices_driver *driver) {
  vs_jsonw_key(w, VS_STR("driver"));
  vs_jsonw_object_begin(w);
  put_text_or_null(w, "version", driver->driver_version);
  put_text_or_null(w, "nvml_version", driver->library_version);
  put_text_or_null(w, "kernel_version", driver->kernel_version);
  put_figure(w, "cuda_version", driver->cuda_version);
  vs_jsonw_member_bool(w, "versions_differ", driver->versions_differ);
  vs_jsonw_member_bool(w, "is_simulated", driver->is_simulated);
  vs_jsonw_object_end(w);
}

void vs_top_put_json(vs_text *text, const vs_top_sample *sample, const vs_top_view *view, uint32_t indent) {
  vs_jsonw writer, *w = &writer;
  vs_jsonw_begin(w, text, indent);
  vs_jsonw_object_begin(w);
  vs_jsonw_member_u64(w, "schema", VS_TOP_SCHEMA);
  vs_jsonw_member_u64(w, "time_us", sample->wall_us);
  vs_jsonw_member_str(w, "host", vs_str_from(sample->host));
  put_text_or_null(w, "trouble", sample->trouble);
  put_driver(w, &sample->driver);
  vs_jsonw_key(w, VS_STR("devices"));
  vs_jsonw_array_begin(w);
  for (size_t i = 0; i < sample->devices.count; i++) put_device(w, &sample->devices.data[i]);
  vs_jsonw_array_end(w);
  vs_jsonw_key(w, VS_STR("processes"));
  vs_jsonw_array_begin(w);
  for (size_t i = 0; i < view->rows.count; i++)
    put_process(w, sample, &sample->processes.data[view->rows.data[i]]);
  vs_jsonw_array_end(w);
  vs_jsonw_object_end(w);
  vs_jsonw_end(w);
  if (indent == 0) vs_text_byte(text, '\n');
}
