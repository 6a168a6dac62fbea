/* Which GPUs this machine has, how full they are, and who holds their memory.
 *
 *   devices [cuda:0 | 0 | GPU-8f6c | 83:00.0 | 0:1 ...]
 *
 * It needs neither CUDA nor a GPU to be built or started: without a driver it says so. Under `vramscope dryrun` it shows the
 * simulated cards. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <vramscope/vramscope.h>

#define MIB (UINT64_C(1) << 20)

/* A figure, or why there is none: never a 0 that nobody measured. */
static void put(const char *label, vs_metric bytes) {
  if (vs_metric_is_known(bytes)) printf("  %-13s %8" PRIu64 " MiB\n", label, bytes.value / MIB);
  else printf("  %-13s %s\n", label, vs_reason_text(bytes.reason));
}

static vs_status show(vs_devices *devices, uint32_t unit) {
  vs_devices_info info;
  vs_devices_memory memory;
  vs_devices_processes processes;
  vs_status status = vs_devices_info_of(devices, unit, &info);
  if (status == VS_OK) status = vs_devices_memory_of(devices, unit, true, &memory);
  if (status == VS_OK) status = vs_devices_processes_of(devices, unit, &processes);
  if (status != VS_OK) return status;

  printf("%s\n  %s, PCI %s", info.name, info.uuid, info.bus_id);
  if (vs_metric_is_known(info.cuda_index)) printf(", cuda:%" PRIu64, info.cuda_index.value);
  printf("\n");
  put(memory.is_shared ? "machine" : "total", memory.total);
  put("free", memory.free);
  put("reserved", memory.reserved);
  put("used", memory.used);
  put("by processes", memory.attributed);
  put("by others", memory.unattributed);
  for (uint64_t i = 0; vs_metric_is_known(processes.count) && i < processes.count.value; i++) {
    const vs_devices_process *row = &processes.rows[i];
    char label[64];
    snprintf(label, sizeof label, "  %" PRIu64 " %s", row->pid, row->kind);
    put(label, row->bytes);
    printf("    %s %s\n", row->user, row->is_visible ? row->name : "(pid not visible here)");
  }
  return VS_OK;
}

int main(int count, char **words) {
  vs_devices *devices;
  vs_devices_failure failure;
  const vs_devices_options options = {.may_ask_cuda =
                                          true}; /* for cuda:0, where only CUDA's driver knows its order */
  if (vs_devices_open(&options, &devices, &failure) != VS_OK) {
    printf("no GPU: %s\n", failure.text);
    return 0;
  }

  uint32_t units[64];
  size_t chosen;
  vs_error error;
  const bool is_list =
      count == 2 && strstr(words[1], ".pickle") == NULL; /* the other examples take a snapshot */
  vs_status status = vs_devices_select(devices, is_list ? words[1] : NULL, units, 64, &chosen, &error);
  if (status != VS_OK) printf("%s\n", error.text);
  else if (chosen == 0) printf("the driver runs, and sees no GPU\n");
  for (size_t i = 0; i < chosen && i < 64 && status == VS_OK; i++) status = show(devices, units[i]);

  uint32_t unit;
  uint64_t bytes;
  vs_devices_info info;
  if (status == VS_OK) status = vs_devices_most_free(devices, false, &unit, &bytes);
  if (status == VS_OK && unit != VS_DEVICES_NONE && vs_devices_info_of(devices, unit, &info) == VS_OK)
    printf("most free: %s, %" PRIu64 " MiB\n", info.name, bytes / MIB);
  vs_devices_close(devices);
  return status == VS_OK ? 0 : 1;
}
