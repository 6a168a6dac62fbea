#include "faces/tui/json.h"
#include "base/check.h"
#include "codec/json_writer.h"
#include "devices/json.h"
#include <stddef.h>

/* ---- members: the same lists write and read them */

typedef enum member_kind {
  NAME,   /* char[]: a text, also where it is empty */
  TEXT,   /* char[]: null for "" */
  NUMBER, /* uint64_t */
  COUNT,  /* uint64_t: null for 0 */
  WORD,   /* uint32_t */
  INDEX,  /* uint32_t: null for VS_DEVICES_NONE */
  FLAG,   /* bool */
  FIGURE, /* vs_metric: null where it is unknown, with the reason in "unknown" */
  SIGNED, /* the same of an int64_t */
  QUIET   /* vs_metric: null where it is unknown, without a reason */
} member_kind;

typedef struct member {
  member_kind kind;
  const char *key;
  size_t offset, size;
} member;

#define VS_MEMBER(kind, key, type, field) \
  { kind, key, offsetof(type, field), sizeof((type *)0)->field }
#define VS_DEVICE(kind, key, field)  VS_MEMBER(kind, key, vs_top_device, field)
#define VS_PROCESS(kind, key, field) VS_MEMBER(kind, key, vs_top_process, field)

static const member device_members[] = {
    VS_DEVICE(NAME, "label", label),
    VS_DEVICE(WORD, "index", info.index),
    VS_DEVICE(TEXT, "uuid", info.uuid),
    VS_DEVICE(NAME, "name", info.name),
    VS_DEVICE(TEXT, "bus_id", info.bus_id),
    VS_DEVICE(QUIET, "cuda_index", info.cuda_index),
    VS_DEVICE(FLAG, "is_mig", info.is_mig),
    VS_DEVICE(INDEX, "mig_index", info.mig_index),
    VS_DEVICE(INDEX, "gpu_instance", info.gpu_instance),
    VS_DEVICE(INDEX, "compute_instance", info.compute_instance),
    VS_DEVICE(FLAG, "is_divided", info.is_divided),
    VS_DEVICE(FLAG, "is_simulated", info.is_simulated),
    VS_DEVICE(WORD, "memory_api", memory.api),
    VS_DEVICE(FLAG, "memory_is_shared_with_host", memory.is_shared),
    VS_DEVICE(FLAG, "memory_is_shared_with_mig_devices", is_sharing),
    VS_DEVICE(FLAG, "memory_is_approximate", memory.is_approximate),
    VS_DEVICE(FLAG, "processes_may_be_missing", may_miss),
    VS_DEVICE(FIGURE, "memory_total_bytes", memory.total),
    VS_DEVICE(FIGURE, "memory_used_bytes", memory.used),
    VS_DEVICE(FIGURE, "memory_free_bytes", memory.free),
    VS_DEVICE(FIGURE, "memory_reserved_bytes", memory.reserved),
    VS_DEVICE(FIGURE, "memory_attributed_bytes", memory.attributed),
    VS_DEVICE(FIGURE, "memory_unattributed_bytes", memory.unattributed),
    VS_DEVICE(FIGURE, "utilization_gpu_percent", utilization),
    VS_DEVICE(FIGURE, "utilization_memory_percent", memory_utilization),
    VS_DEVICE(SIGNED, "temperature_celsius", temperature),
    VS_DEVICE(FIGURE, "power_milliwatts", power),
    VS_DEVICE(FIGURE, "power_limit_milliwatts", power_limit),
    VS_DEVICE(FIGURE, "process_count", process_count),
    VS_DEVICE(QUIET, "clocks_event_reasons", clock_reasons),
    VS_DEVICE(QUIET, "recovery_action", recovery_action),
};
enum { DEVICE_MEMBERS = sizeof device_members / sizeof device_members[0] };

/* They follow "device" and "uuid", which name the process's device. */
static const member process_members[] = {
    VS_PROCESS(NUMBER, "pid", pid),
    VS_PROCESS(QUIET, "used_bytes", bytes),
    VS_PROCESS(NAME, "type", kind),
    VS_PROCESS(FLAG, "is_visible", is_visible),
    VS_PROCESS(TEXT, "user", user),
    VS_PROCESS(TEXT, "name", name),
    VS_PROCESS(TEXT, "command", command),
    VS_PROCESS(TEXT, "container", container),
    VS_PROCESS(COUNT, "started_us", start_us),
    VS_PROCESS(COUNT, "pid_in_container", inner_pid),
    VS_PROCESS(QUIET, "pytorch_allocated_bytes", recorded.allocated),
    VS_PROCESS(QUIET, "pytorch_reserved_bytes", recorded.reserved),
    VS_PROCESS(TEXT, "pytorch_unknown", recorded.pytorch_why),
    VS_PROCESS(QUIET, "libraries_bytes", recorded.libraries),
    VS_PROCESS(TEXT, "libraries_unknown", recorded.libraries_why),
};
enum { PROCESS_MEMBERS = sizeof process_members / sizeof process_members[0] };

static bool has_reason(const member *m) { return m->kind == FIGURE || m->kind == SIGNED; }

/* ---- writing */

static void put_member(vs_jsonw *w, const member *m, const void *object) {
  const void *at = (const char *)object + m->offset;
  switch (m->kind) {
    case NAME: vs_jsonw_member_str(w, m->key, vs_str_from(at)); break;
    case TEXT: vs_devices_json_text(w, m->key, at); break;
    case NUMBER: vs_jsonw_member_u64(w, m->key, *(const uint64_t *)at); break;
    case COUNT:
      if (*(const uint64_t *)at != 0) vs_jsonw_member_u64(w, m->key, *(const uint64_t *)at);
      else vs_jsonw_member_null(w, m->key);
      break;
    case WORD: vs_jsonw_member_u64(w, m->key, *(const uint32_t *)at); break;
    case INDEX: vs_devices_json_index(w, m->key, *(const uint32_t *)at); break;
    case FLAG: vs_jsonw_member_bool(w, m->key, *(const bool *)at); break;
    case SIGNED: vs_devices_json_signed(w, m->key, *(const vs_metric *)at); break;
    case FIGURE:
    case QUIET: vs_devices_json_metric(w, m->key, *(const vs_metric *)at); break;
  }
}

static void put_device(vs_jsonw *w, const vs_top_device *device) {
  vs_jsonw_object_begin(w);
  for (size_t i = 0; i < DEVICE_MEMBERS; i++) put_member(w, &device_members[i], device);
  vs_jsonw_key(w, VS_STR("unknown"));
  vs_jsonw_object_begin(w);
  for (size_t i = 0; i < DEVICE_MEMBERS; i++) {
    const member *m = &device_members[i];
    const vs_metric *figure = (const void *)((const char *)device + m->offset);
    char reason[VS_DEVICES_REASON_SIZE];
    if (!has_reason(m) || vs_metric_is_known(*figure)) continue;
    vs_devices_reason_key(reason, figure->reason);
    vs_jsonw_member_str(w, m->key, vs_str_from(reason));
  }
  vs_jsonw_object_end(w);
  vs_jsonw_object_end(w);
}

static void put_process(vs_jsonw *w, const vs_top_sample *sample, const vs_top_process *process) {
  VS_ASSERT(process->device < sample->devices.count);
  const vs_top_device *device = &sample->devices.data[process->device];
  vs_jsonw_object_begin(w);
  vs_jsonw_member_str(w, "device", vs_str_from(device->label));
  vs_devices_json_text(w, "uuid", device->info.uuid);
  for (size_t i = 0; i < PROCESS_MEMBERS; i++) put_member(w, &process_members[i], process);
  vs_jsonw_object_end(w);
}

void vs_top_put_json(vs_text *text, const vs_top_sample *sample, const vs_top_view *view, uint32_t indent) {
  VS_ASSERT(vs_top_view_check(view, sample) == NULL);
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
  vs_jsonw_member_u64(w, "processes_left_out", view->left_out);
  vs_jsonw_object_end(w);
  vs_jsonw_end(w);
  if (indent == 0) vs_text_byte(text, '\n');
}

/* ---- reading */

static vs_json at_key(vs_json object, const char *key) { return vs_json_member(object, vs_str_from(key)); }

static void take_text(char *to, size_t size, vs_json text) {
  vs_format(to, size, "%S", vs_json_str(text, VS_STR("")));
}

static vs_metric take_metric(vs_json object, const char *key) {
  const vs_json value = at_key(object, key);
  const vs_str why = vs_json_str(at_key(at_key(object, "unknown"), key), VS_STR("not_visible"));
  if (vs_json_kind(value) == VS_VALUE_UINT || vs_json_kind(value) == VS_VALUE_INT)
    return (vs_metric){.reason = VS_REASON_KNOWN,
                       .value = vs_json_u64(value, (uint64_t)vs_json_i64(value, 0))};
  return (vs_metric){.reason = vs_devices_reason_named(why)};
}

static void take_member(vs_json object, const member *m, void *to) {
  const vs_json value = at_key(object, m->key);
  void *at = (char *)to + m->offset;
  switch (m->kind) {
    case NAME:
    case TEXT: take_text(at, m->size, value); break;
    case NUMBER:
    case COUNT: *(uint64_t *)at = vs_json_u64(value, 0); break;
    case WORD: *(uint32_t *)at = (uint32_t)vs_json_u64(value, 0); break;
    case INDEX: *(uint32_t *)at = (uint32_t)vs_json_u64(value, VS_DEVICES_NONE); break;
    case FLAG: *(bool *)at = vs_json_bool(value, false); break;
    case FIGURE:
    case SIGNED:
    case QUIET: *(vs_metric *)at = take_metric(object, m->key); break;
  }
}

static uint32_t row_of_label(const vs_top_sample *sample, vs_str label) {
  for (uint32_t i = 0; i < sample->devices.count; i++)
    if (vs_str_equal(vs_str_from(sample->devices.data[i].label), label)) return i;
  return 0;
}

static void take_driver(vs_devices_driver *driver, vs_json from) {
  take_text(driver->driver_version, sizeof driver->driver_version, at_key(from, "version"));
  take_text(driver->library_version, sizeof driver->library_version, at_key(from, "nvml_version"));
  take_text(driver->kernel_version, sizeof driver->kernel_version, at_key(from, "kernel_version"));
  driver->cuda_version = take_metric(from, "cuda_version");
  driver->versions_differ = vs_json_bool(at_key(from, "versions_differ"), false);
  driver->is_simulated = vs_json_bool(at_key(from, "is_simulated"), false);
}

vs_status vs_top_take_json(const vs_host *host, vs_json document, vs_top_sample *sample, size_t *left_out) {
  const vs_json devices = at_key(document, "devices"), processes = at_key(document, "processes");
  *sample = (vs_top_sample){.number = 1};
  vs_top_sample_set_time(sample, vs_json_u64(at_key(document, "time_us"), 0));
  *left_out = (size_t)vs_json_u64(at_key(document, "processes_left_out"), 0);
  take_text(sample->host, sizeof sample->host, at_key(document, "host"));
  take_text(sample->trouble, sizeof sample->trouble, at_key(document, "trouble"));
  take_driver(&sample->driver, at_key(document, "driver"));
  VS_TRY(vs_vec_reserve(host, &sample->devices, vs_json_count(devices)));
  VS_TRY(vs_vec_reserve(host, &sample->processes, vs_json_count(processes)));
  for (size_t i = 0; i < vs_json_count(devices); i++) {
    vs_top_device *device = &sample->devices.data[sample->devices.count++];
    *device = (vs_top_device){.info = {.parent = VS_DEVICES_NONE}};
    for (size_t k = 0; k < DEVICE_MEMBERS; k++)
      take_member(vs_json_at(devices, i), &device_members[k], device);
  }
  if (sample->devices.count == 0) return VS_OK;
  for (size_t i = 0; i < vs_json_count(processes); i++) {
    const vs_json from = vs_json_at(processes, i);
    vs_top_process *process = &sample->processes.data[sample->processes.count++];
    *process =
        (vs_top_process){.device = row_of_label(sample, vs_json_str(at_key(from, "device"), VS_STR("")))};
    for (size_t k = 0; k < PROCESS_MEMBERS; k++) take_member(from, &process_members[k], process);
    VS_ASSERT(process->device < sample->devices.count);
  }
  return VS_OK;
}
