#include "faces/tui/json.h"
#include "codec/json_writer.h"
#include "devices/json.h"

/* ---- a device. One list gives the figures and the reasons. */

typedef struct figure {
  const char *key;
  vs_metric metric;
  bool is_signed;
} figure;

enum { FIGURES = 12 };

static void figures_of(const vs_top_device *device, figure figures[static FIGURES]) {
  const vs_devices_memory *m = &device->memory;
  const figure all[FIGURES] = {{"memory_total_bytes", m->total, false},
                               {"memory_used_bytes", m->used, false},
                               {"memory_free_bytes", m->free, false},
                               {"memory_reserved_bytes", m->reserved, false},
                               {"memory_attributed_bytes", m->attributed, false},
                               {"memory_unattributed_bytes", m->unattributed, false},
                               {"utilization_gpu_percent", device->utilization, false},
                               {"utilization_memory_percent", device->memory_utilization, false},
                               {"temperature_celsius", device->temperature, true},
                               {"power_milliwatts", device->power, false},
                               {"power_limit_milliwatts", device->power_limit, false},
                               {"process_count", device->process_count, false}};
  memcpy(figures, all, sizeof all);
}

static void put_device(vs_jsonw *w, const vs_top_device *device) {
  const vs_devices_info *info = &device->info;
  figure figures[FIGURES];
  vs_jsonw_object_begin(w);
  vs_jsonw_member_str(w, "label", vs_str_from(device->label));
  vs_jsonw_member_u64(w, "index", info->index);
  vs_devices_json_text(w, "uuid", info->uuid);
  vs_jsonw_member_str(w, "name", vs_str_from(info->name));
  vs_devices_json_text(w, "bus_id", info->bus_id);
  vs_devices_json_metric(w, "cuda_index", info->cuda_index);
  vs_jsonw_member_bool(w, "is_mig", info->is_mig);
  vs_devices_json_index(w, "mig_index", info->mig_index);
  vs_devices_json_index(w, "gpu_instance", info->gpu_instance);
  vs_devices_json_index(w, "compute_instance", info->compute_instance);
  vs_jsonw_member_bool(w, "is_divided", info->is_divided);
  vs_jsonw_member_bool(w, "is_simulated", info->is_simulated);
  vs_jsonw_member_u64(w, "memory_api", device->memory.api);
  vs_jsonw_member_bool(w, "memory_is_shared_with_host", device->memory.is_shared);
  vs_jsonw_member_bool(w, "memory_is_approximate", device->memory.is_approximate);
  vs_jsonw_member_bool(w, "processes_may_be_missing", device->may_miss);
  figures_of(device, figures);
  for (size_t i = 0; i < FIGURES; i++) {
    if (figures[i].is_signed) vs_devices_json_signed(w, figures[i].key, figures[i].metric);
    else vs_devices_json_metric(w, figures[i].key, figures[i].metric);
  }
  vs_jsonw_key(w, VS_STR("unknown"));
  vs_jsonw_object_begin(w);
  for (size_t i = 0; i < FIGURES; i++) {
    char reason[VS_DEVICES_REASON_SIZE];
    vs_devices_reason_key(reason, figures[i].metric.reason);
    if (!vs_metric_is_known(figures[i].metric)) vs_jsonw_member_str(w, figures[i].key, vs_str_from(reason));
  }
  vs_jsonw_object_end(w);
  vs_jsonw_object_end(w);
}

/* ---- a process */

static void put_process(vs_jsonw *w, const vs_top_sample *sample, const vs_top_process *process) {
  const vs_top_device *device = &sample->devices.data[process->device];
  vs_jsonw_object_begin(w);
  vs_jsonw_member_str(w, "device", vs_str_from(device->label));
  vs_devices_json_text(w, "uuid", device->info.uuid);
  vs_jsonw_member_u64(w, "pid", process->pid);
  vs_devices_json_metric(w, "used_bytes", process->bytes);
  vs_jsonw_member_str(w, "type", vs_str_from(process->kind));
  vs_jsonw_member_bool(w, "is_visible", process->is_visible);
  vs_devices_json_text(w, "user", process->user);
  vs_devices_json_text(w, "name", process->name);
  vs_devices_json_text(w, "command", process->command);
  vs_devices_json_text(w, "container", process->container);
  if (process->start_us != 0) vs_jsonw_member_u64(w, "started_us", process->start_us);
  else vs_jsonw_member_null(w, "started_us");
  if (process->inner_pid != 0) vs_jsonw_member_u64(w, "pid_in_container", process->inner_pid);
  else vs_jsonw_member_null(w, "pid_in_container");
  vs_jsonw_object_end(w);
}

/* ---- the whole */

void vs_top_put_json(vs_text *text, const vs_top_sample *sample, const vs_top_view *view, uint32_t indent) {
  vs_jsonw writer, *w = &writer;
  vs_jsonw_begin(w, text, indent);
  vs_jsonw_object_begin(w);
  vs_jsonw_member_u64(w, "schema", VS_TOP_SCHEMA);
  vs_jsonw_member_u64(w, "time_us", sample->wall_us);
  vs_jsonw_member_str(w, "host", vs_str_from(sample->host));
  vs_devices_json_text(w, "trouble", sample->trouble);
  vs_jsonw_key(w, VS_STR("driver"));
  vs_jsonw_object_begin(w);
  vs_devices_json_driver(w, &sample->driver);
  vs_jsonw_object_end(w);
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
