/* The overview: the answer of `smi` without a query, as a document. */
#include "base/check.h"
#include "devices/json.h"
#include "faces/smi/smi.h"
#include "faces/smi/value.h"

/* The members that are null; their reasons are written after all members. */
typedef struct vs_smi_gaps {
  struct {
    const char *name;
    vs_metric metric;
  } rows[24];
  size_t count;
} vs_smi_gaps;

static void add_gap(vs_smi_gaps *gaps, const char *name, vs_metric metric) {
  if (vs_metric_is_known(metric)) return;
  VS_ASSERT(gaps->count < sizeof gaps->rows / sizeof gaps->rows[0]);
  if (gaps->count == sizeof gaps->rows / sizeof gaps->rows[0]) return;
  gaps->rows[gaps->count].name = name;
  gaps->rows[gaps->count++].metric = metric;
}

static void put_metric(vs_jsonw *w, vs_smi_gaps *gaps, const char *name, vs_metric metric) {
  vs_devices_json_metric(w, name, metric);
  add_gap(gaps, name, metric);
}

static void put_gaps(vs_jsonw *w, const vs_smi_gaps *gaps) {
  vs_jsonw_key(w, VS_STR("unknown"));
  vs_jsonw_object_begin(w);
  for (size_t i = 0; i < gaps->count; i++) {
    vs_jsonw_key(w, vs_str_from(gaps->rows[i].name));
    vs_smi_json_reason(w, gaps->rows[i].metric);
  }
  vs_jsonw_object_end(w);
}

/* Compute instances of one GPU instance (MIG) share one memory: each except the first names the first. */
static void put_shared_with(vs_jsonw *w, const vs_smi *smi, uint32_t unit, uint32_t first) {
  vs_devices_info info = {.mig_index = VS_DEVICES_NONE};
  if (first == unit || vs_devices_info_of(smi->devices, first, &info) != VS_OK)
    info.mig_index = VS_DEVICES_NONE;
  vs_devices_json_index(w, "shared_with_mig_index", info.mig_index);
}

static void put_memory(vs_jsonw *w, const vs_smi *smi, uint32_t unit, const vs_devices_memory *memory) {
  vs_smi_gaps gaps = {.count = 0};
  vs_jsonw_key(w, VS_STR("memory"));
  vs_jsonw_object_begin(w);
  put_metric(w, &gaps, "total_bytes", memory->total);
  put_metric(w, &gaps, "reserved_bytes", memory->reserved);
  put_metric(w, &gaps, "used_bytes", memory->used);
  put_metric(w, &gaps, "free_bytes", memory->free);
  put_metric(w, &gaps, "attributed_bytes", memory->attributed);
  put_metric(w, &gaps, "unattributed_bytes", memory->unattributed);
  vs_jsonw_member_u64(w, "memory_api", memory->api);
  vs_jsonw_member_bool(w, "is_shared", memory->is_shared);
  vs_jsonw_member_bool(w, "is_approximate", memory->is_approximate);
  put_shared_with(w, smi, unit, memory->shared_with);
  put_gaps(w, &gaps);
  vs_jsonw_object_end(w);
}

static vs_status put_process(vs_jsonw *w, const vs_smi *smi, const vs_devices_process *process) {
  vs_smi_gaps gaps = {.count = 0};
  vs_devices_info info;
  VS_TRY(vs_devices_info_of(smi->devices, process->unit, &info));
  vs_jsonw_object_begin(w);
  vs_jsonw_member_u64(w, "pid", process->pid);
  vs_devices_json_index(w, "mig_index", info.is_mig ? info.mig_index : VS_DEVICES_NONE);
  put_metric(w, &gaps, "used_bytes", process->bytes);
  vs_jsonw_member_str(w, "type", vs_str_from(process->kind));
  vs_devices_json_index(w, "gpu_instance", process->gpu_instance);
  vs_devices_json_index(w, "compute_instance", process->compute_instance);
  vs_jsonw_member_bool(w, "is_visible", process->is_visible);
  vs_devices_json_text(w, "user", process->user);
  vs_devices_json_text(w, "name", process->name);
  vs_devices_json_text(w, "command", process->command);
  vs_devices_json_text(w, "container", process->container);
  vs_jsonw_key(w, VS_STR("start_us"));
  if (process->start_us == 0) vs_jsonw_null(w);
  else vs_jsonw_u64(w, process->start_us);
  put_gaps(w, &gaps);
  vs_jsonw_object_end(w);
  return VS_OK;
}

static void put_identity(vs_jsonw *w, const vs_devices_info *info) {
  vs_jsonw_member_u64(w, "index", info->index);
  vs_devices_json_index(w, "mig_index", info->is_mig ? info->mig_index : VS_DEVICES_NONE);
  vs_devices_json_index(w, "gpu_instance", info->is_mig ? info->gpu_instance : VS_DEVICES_NONE);
  vs_devices_json_index(w, "compute_instance", info->is_mig ? info->compute_instance : VS_DEVICES_NONE);
  vs_jsonw_member_str(w, "uuid", vs_str_from(info->uuid));
  vs_jsonw_member_str(w, "name", vs_str_from(info->name));
  vs_jsonw_member_str(w, "bus_id", vs_str_from(info->bus_id));
  vs_devices_json_text(w, "serial", info->serial);
  vs_jsonw_member_bool(w, "is_mig", info->is_mig);
  vs_jsonw_member_bool(w, "is_divided", info->is_divided);
  vs_jsonw_member_bool(w, "is_simulated", info->is_simulated);
  vs_jsonw_member_bool(w, "is_unified", info->is_unified);
}

static const struct {
  const char *key;
  vs_metric_id id;
} figures[] = {
    {"power_mw", VS_METRIC_ID_POWER_DRAW},
    {"power_limit_mw", VS_METRIC_ID_POWER_LIMIT_ENFORCED},
    {"utilization_gpu_percent", VS_METRIC_ID_UTILIZATION_GPU},
};

static vs_status put_unit(vs_smi *smi, vs_jsonw *w, uint32_t unit) {
  vs_smi_gaps gaps = {.count = 0};
  vs_devices_info info;
  vs_devices_memory memory;
  vs_devices_processes list;
  VS_TRY(vs_devices_info_of(smi->devices, unit, &info));
  VS_TRY(vs_devices_memory_of(smi->devices, unit, true, &memory));
  VS_TRY(vs_devices_processes_of(smi->devices, unit, &list));
  vs_jsonw_object_begin(w);
  put_identity(w, &info);
  put_metric(w, &gaps, "cuda_index", info.cuda_index);
  const vs_metric heat = vs_devices_metric(smi->devices, unit, VS_METRIC_ID_TEMPERATURE);
  vs_devices_json_signed(w, "temperature_c", heat);
  add_gap(&gaps, "temperature_c", heat);
  for (size_t i = 0; i < sizeof figures / sizeof figures[0]; i++)
    put_metric(w, &gaps, figures[i].key, vs_devices_metric(smi->devices, unit, figures[i].id));
  put_metric(w, &gaps, "process_count", list.count);
  put_memory(w, smi, unit, &memory);
  vs_jsonw_key(w, VS_STR("processes"));
  vs_jsonw_array_begin(w);
  for (size_t i = 0; i < list.count.value; i++) VS_TRY(put_process(w, smi, &list.rows[i]));
  vs_jsonw_array_end(w);
  vs_jsonw_member_bool(w, "may_miss_processes", list.may_miss);
  put_gaps(w, &gaps);
  vs_jsonw_object_end(w);
  return VS_OK;
}

/* A card is followed by its MIG devices, also if only the card was named. */
static vs_status put_card(vs_smi *smi, vs_jsonw *w, uint32_t unit) {
  vs_devices_info info;
  VS_TRY(put_unit(smi, w, unit));
  for (uint32_t mig = unit + 1; mig < vs_devices_count(smi->devices); mig++) {
    VS_TRY(vs_devices_info_of(smi->devices, mig, &info));
    if (!info.is_mig || info.parent != unit) break;
    VS_TRY(put_unit(smi, w, mig));
  }
  return VS_OK;
}

vs_status vs_smi_put_overview(vs_smi *smi, vs_text *text) {
  vs_jsonw w;
  vs_smi_json_begin(&w, text, smi->devices, NULL);
  vs_jsonw_key(&w, VS_STR("devices"));
  vs_jsonw_array_begin(&w);
  for (size_t i = 0; i < smi->units.count; i++) VS_TRY(put_card(smi, &w, smi->units.data[i]));
  vs_jsonw_array_end(&w);
  vs_smi_json_end(&w);
  return text->status;
}
