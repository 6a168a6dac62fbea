#include "devices/json.h"

void vs_devices_json_metric(vs_jsonw *w, const char *key, vs_metric metric) {
  if (vs_metric_is_known(metric)) vs_jsonw_member_u64(w, key, metric.value);
  else vs_jsonw_member_null(w, key);
}

void vs_devices_json_signed(vs_jsonw *w, const char *key, vs_metric metric) {
  if (vs_metric_is_known(metric)) vs_jsonw_member_i64(w, key, (int64_t)metric.value);
  else vs_jsonw_member_null(w, key);
}

void vs_devices_json_text(vs_jsonw *w, const char *key, const char *text) {
  if (text != NULL && text[0] != 0) vs_jsonw_member_str(w, key, vs_str_from(text));
  else vs_jsonw_member_null(w, key);
}

void vs_devices_json_index(vs_jsonw *w, const char *key, uint32_t index) {
  if (index != VS_DEVICES_NONE) vs_jsonw_member_u64(w, key, index);
  else vs_jsonw_member_null(w, key);
}

static char small(char c) { return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c; }

void vs_devices_reason_key(char to[static VS_DEVICES_REASON_SIZE], vs_reason reason) {
  vs_format(to, VS_DEVICES_REASON_SIZE, "%s", vs_reason_name(reason));
  VS_ASSERT(strlen(vs_reason_name(reason)) < VS_DEVICES_REASON_SIZE);
  for (char *c = to; *c != 0; c++) *c = small(*c);
}

static bool is_same(const char *name, vs_str key) {
  size_t i = 0;
  while (i < key.size && name[i] != 0 && small(name[i]) == small(key.data[i])) i++;
  return i == key.size && name[i] == 0;
}

vs_reason vs_devices_reason_named(vs_str key) {
#define VS_REASON(name, number, text) \
  if (is_same(#name, key)) return VS_REASON_##name;
#include <vramscope/reasons.def>
#undef VS_REASON
  return VS_REASON_FAILED;
}

void vs_devices_json_driver(vs_jsonw *w, const vs_devices_driver *driver) {
  vs_devices_json_text(w, "version", driver->driver_version);
  vs_devices_json_text(w, "nvml_version", driver->library_version);
  vs_devices_json_text(w, "kernel_version", driver->kernel_version);
  vs_devices_json_metric(w, "cuda_version", driver->cuda_version);
  vs_jsonw_member_bool(w, "versions_differ", driver->versions_differ);
  vs_jsonw_member_bool(w, "is_simulated", driver->is_simulated);
}
