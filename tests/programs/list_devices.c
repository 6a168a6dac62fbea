/* What <vramscope/devices.h> says of this machine, as JSON on one line:
 *
 *   list_devices [ask] [preload=N] [take=BYTES] [select=TEXT]
 *
 * ask      CUDA's driver for its numbers     preload  the context of cuda:N, and what it cost
 * take     so many bytes of cuda:0, and how its used bytes moved       select   which units the text names */
#include <vramscope/devices.h>

#include <dlfcn.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void put_metric(const char *key, vs_metric metric) {
  if (vs_metric_is_known(metric)) printf(", \"%s\": %" PRIu64, key, metric.value);
  else printf(", \"%s\": \"%s\"", key, vs_reason_name(metric.reason));
}

static vs_status put_device(vs_devices *devices, uint32_t unit) {
  vs_devices_info info;
  vs_devices_memory memory;
  vs_devices_processes processes;
  vs_status status = vs_devices_info_of(devices, unit, &info);
  if (status == VS_OK) status = vs_devices_memory_of(devices, unit, true, &memory);
  if (status == VS_OK) status = vs_devices_processes_of(devices, unit, &processes);
  if (status != VS_OK) return status;
  printf("{\"name\": \"%s\", \"uuid\": \"%s\", \"bus_id\": \"%s\", \"index\": %u, \"is_simulated\": %s",
         info.name, info.uuid, info.bus_id, info.index, info.is_simulated ? "true" : "false");
  put_metric("cuda", info.cuda_index);
  put_metric("total", memory.total);
  put_metric("reserved", memory.reserved);
  put_metric("used", memory.used);
  put_metric("free", memory.free);
  put_metric("attributed", memory.attributed);
  put_metric("unattributed", memory.unattributed);
  printf(", \"processes\": [");
  for (uint64_t i = 0; vs_metric_is_known(processes.count) && i < processes.count.value; i++) {
    const vs_devices_process *row = &processes.rows[i];
    printf("%s{\"pid\": %" PRIu64 ", \"is_self\": %s, \"is_visible\": %s, \"name\": \"%s\"",
           i == 0 ? "" : ", ", row->pid, row->is_self ? "true" : "false", row->is_visible ? "true" : "false",
           row->name);
    put_metric("bytes", row->bytes);
    printf("}");
  }
  printf("]}");
  return VS_OK;
}

/* Of cuda:0, by the driver that is loaded already. */
static vs_status take(vs_devices *devices, uint64_t bytes) {
  uint32_t unit;
  size_t count;
  vs_error error;
  vs_status status = vs_devices_select(devices, "cuda:0", &unit, 1, &count, &error);
  void *driver = dlopen("libcuda.so.1", RTLD_NOW);
  if (status != VS_OK || driver == NULL) return VS_NOT_FOUND;
  int (*current)(void *) = NULL, (*retain)(void **, int) = NULL, (*allocate)(uint64_t *, size_t) = NULL;
  *(void **)&current = dlsym(driver, "cuCtxSetCurrent");
  *(void **)&retain = dlsym(driver, "cuDevicePrimaryCtxRetain");
  *(void **)&allocate = dlsym(driver, "cuMemAlloc_v2");
  void *context;
  uint64_t address;
  if (retain(&context, 0) != 0 || current(context) != 0) return VS_DEVICE;
  const vs_metric before = vs_devices_used_fast(devices, unit);
  if (allocate(&address, bytes) != 0) return VS_DEVICE_MEMORY;
  const vs_metric after = vs_devices_used_fast(devices, unit);
  printf(", \"taken\": %" PRIu64, after.value - before.value);
  return VS_OK;
}

static vs_status obey(vs_devices *devices, const char *word) {
  vs_error error = {.status = VS_OK};
  vs_status status = VS_OK;
  if (strcmp(word, "ask") == 0) status = vs_devices_ask_cuda(devices, &error);
  if (strncmp(word, "take=", 5) == 0) status = take(devices, strtoull(word + 5, NULL, 10));
  if (strncmp(word, "preload=", 8) == 0) {
    vs_devices_preload_cost cost;
    status = vs_devices_preload(devices, (uint32_t)atoi(word + 8), &cost, &error);
    if (status == VS_OK)
      printf(", \"preload\": {\"bytes\": %" PRIu64 ", \"us\": %" PRIu64 ", \"was_there\": %s}", cost.bytes,
             cost.us, cost.was_there ? "true" : "false");
  }
  if (strncmp(word, "select=", 7) == 0) {
    uint32_t units[32];
    size_t count;
    status = vs_devices_select(devices, word + 7, units, 32, &count, &error);
    printf(", \"select\": [");
    for (size_t i = 0; i < count; i++) printf("%s%u", i == 0 ? "" : ", ", units[i]);
    printf("]");
  }
  if (status != VS_OK) printf(", \"error\": \"%s\"", error.text);
  return status;
}

int main(int count, char **words) {
  vs_devices *devices;
  vs_devices_failure failure;
  const vs_devices_options options = {.may_ask_cuda = true};
  if (vs_devices_open(&options, &devices, &failure) != VS_OK) {
    printf("{\"failure\": \"%s\", \"code\": %d}\n", failure.text, failure.code);
    return 0;
  }
  printf("{\"schema\": 1");
  vs_status status = VS_OK;
  for (int i = 1; i < count && status == VS_OK; i++) status = obey(devices, words[i]);
  vs_devices_driver driver;
  vs_devices_driver_of(devices, &driver);
  printf(", \"is_simulated\": %s, \"library\": \"%s\", \"driver\": \"%s\", \"devices\": [",
         driver.is_simulated ? "true" : "false", driver.library, driver.driver_version);
  for (uint32_t i = 0; i < vs_devices_count(devices); i++) {
    if (i != 0) printf(", ");
    if (put_device(devices, i) != VS_OK) break;
  }
  printf("]}\n");
  vs_devices_close(devices);
  return 0;
}
