/* The processes that use memory of a card, for the sentence of a failure. NVML lists them, by the driver's pids. */
#include "faces/python/live.h"
#include "base/text.h"
#include <vramscope/devices.h>

static size_t copy(const vs_devices_processes *from, vs_live_process *rows, size_t capacity) {
  enum { COMPUTE = VS_DEVICES_COMPUTE };
  size_t count = 0;
  for (uint64_t i = 0; i < from->count.value && count < capacity; i++) {
    const vs_devices_process *p = &from->rows[i];
    if (p->bytes.reason != VS_REASON_KNOWN || (p->kinds & COMPUTE) == 0) continue;
    rows[count++] = (vs_live_process){.pid = p->pid, .bytes = p->bytes.value, .is_self = p->is_self};
  }
  return count;
}

/* Opens NVML for each call: failures are rare, and any thread may have one. */
size_t vs_python__processes(void *ctx, uint32_t device, vs_live_process *rows, size_t capacity) {
  vs_devices *devices = NULL;
  vs_devices_processes found;
  uint32_t unit;
  size_t units = 0, count = 0;
  char name[24];
  (void)ctx;
  if (vs_devices_open(NULL, &devices, NULL) != VS_OK) return 0;
  vs_format(name, sizeof name, "cuda:%u", device);
  if (vs_devices_ask_cuda(devices, NULL) == VS_OK &&
      vs_devices_select(devices, name, &unit, 1, &units, NULL) == VS_OK && units == 1 &&
      vs_devices_processes_of(devices, unit, &found) == VS_OK)
    count = copy(&found, rows, capacity);
  vs_devices_close(devices);
  return count;
}
