/* How full a unit is. There are two sums: total = reserved + used + free comes from one answer of NVML; used = attributed +
 * unattributed needs a second question, for the processes. */
#include "base/sized.h"
#include "devices/state.h"
#include "os/proc.h"

static void read_device(vs_devices *devices, uint32_t unit, vs_devices_memory *memory) {
  vs_telemetry_memory told;
  devices->telemetry.ops->memory(devices->telemetry.ctx, unit, &told);
  memory->total = told.total;
  memory->reserved = told.reserved;
  memory->used = told.used;
  memory->free = told.free;
  memory->api = told.api;
}

/* Whether two units have the same memory: with MIG it belongs to the GPU instance. */
static bool shares(const vs_devices *devices, uint32_t a, uint32_t b) {
  const vs_devices_info *left = &devices->units.data[a], *right = &devices->units.data[b];
  return a == b || (left->is_mig && right->is_mig && left->parent == right->parent &&
                    left->gpu_instance == right->gpu_instance);
}

/* A unit without memory of its own uses the machine's, which is labelled as shared. NVML has no figures for such a unit.
 * MemTotal - MemAvailable would count every program of the host, so `used` is the sum over the GPU's processes instead. */
static void read_machine(vs_devices *devices, vs_devices_memory *memory) {
  uint64_t total, available;
  memory->is_shared = true;
  memory->api = 0;
  memory->reserved = memory->used = vs_metric_unknown(VS_REASON_NOT_SUPPORTED);
  memory->total = memory->free = vs_metric_unknown(VS_REASON_FAILED);
  if (!vs_proc_memory(devices->options.proc, &total, &available)) return;
  memory->total = vs_metric_of(total);
  memory->free = vs_metric_of(available);
}

/* Sums the bytes of the unit's processes. If those of one process are unknown, the sum is unknown for the same reason. */
static vs_metric sum_of_list(vs_devices *devices, uint32_t unit) {
  const vs_telemetry_process *list = NULL;
  const vs_metric count =
      devices->telemetry.ops->processes(devices->telemetry.ctx, unit, VS_PROCESS_ALL, &list);
  if (!vs_metric_is_known(count)) return count;
  uint64_t sum = 0;
  for (uint64_t i = 0; i < count.value; i++) {
    if (!vs_metric_is_known(list[i].bytes)) return list[i].bytes;
    sum = vs_sat_add_u64(sum, list[i].bytes.value);
  }
  return vs_metric_of(sum);
}

/* The sum for a unit, together with the other MIG devices of its GPU instance, which have the same memory. */
static vs_metric sum_of(vs_devices *devices, uint32_t unit) {
  VS_ASSERT(vs_devices_has(devices, unit));
  const vs_devices_info *all = devices->units.data;
  if (!all[unit].is_mig) return sum_of_list(devices, unit);
  uint64_t sum = 0;
  for (uint32_t i = 0; i < devices->units.count; i++) {
    if (!shares(devices, i, unit)) continue;
    const vs_metric part = sum_of_list(devices, i);
    if (!vs_metric_is_known(part)) return part;
    sum = vs_sat_add_u64(sum, part.value);
  }
  return vs_metric_of(sum);
}

static void set_unattributed(vs_devices_memory *memory) {
  if (!vs_metric_is_known(memory->used)) memory->unattributed = memory->used;
  else if (!vs_metric_is_known(memory->attributed)) memory->unattributed = memory->attributed;
  else if (memory->attributed.value > memory->used.value)
    memory->unattributed = vs_metric_unknown(VS_REASON_STALE);
  else memory->unattributed = vs_metric_of(memory->used.value - memory->attributed.value);
}

/* A process may allocate between the two questions. If their answers contradict each other, the cheap one is asked again. */
static void attribute(vs_devices *devices, uint32_t unit, vs_devices_memory *memory) {
  memory->attributed = sum_of(devices, unit);
  if (memory->is_shared) {
    memory->used = memory->attributed;
    memory->unattributed = vs_metric_unknown(VS_REASON_NOT_SUPPORTED);
    return;
  }
  set_unattributed(memory);
  if (memory->unattributed.reason != VS_REASON_STALE) return;
  read_device(devices, unit, memory);
  set_unattributed(memory);
}

static uint32_t shared_with(const vs_devices *devices, uint32_t unit) {
  for (uint32_t i = 0; i < unit; i++)
    if (shares(devices, i, unit)) return i;
  return unit;
}

static vs_status memory_of(vs_devices *devices, uint32_t unit, bool with_processes,
                           vs_devices_memory *memory) {
  *memory = (vs_devices_memory){.api = 0};
  if (!vs_devices_has(devices, unit)) return VS_BAD_ARGUMENT;
  memory->shared_with = shared_with(devices, unit);
  memory->is_approximate = devices->units.data[unit].is_numa;
  if (devices->units.data[unit].is_unified) read_machine(devices, memory);
  else read_device(devices, unit, memory);
  if (with_processes) attribute(devices, unit, memory);
  else if (memory->is_shared) memory->used = vs_metric_unknown(VS_REASON_NOT_SAMPLED);
  VS_ASSERT(vs_devices__check_memory(devices, unit, memory));
  return vs_devices__is_out_of_memory(memory->attributed) ? VS_NO_MEMORY : VS_OK;
}

vs_status vs_devices_memory_of_sized(vs_devices *devices, uint32_t unit, bool with_processes,
                                     vs_devices_memory *memory, size_t size) {
  vs_devices_memory own;
  const vs_status status = memory_of(devices, unit, with_processes, &own);
  vs_sized_give(memory, size, &own, sizeof own);
  return status;
}

vs_metric vs_devices_used_fast(vs_devices *devices, uint32_t unit) {
  if (!vs_devices_has(devices, unit)) return vs_metric_unknown(VS_REASON_NOT_FOUND);
  return devices->telemetry.ops->metric(devices->telemetry.ctx, unit, VS_METRIC_ID_MEMORY_USED);
}

vs_status vs_devices_most_free(vs_devices *devices, bool cuda_only, uint32_t *unit, uint64_t *bytes) {
  *unit = VS_DEVICES_NONE;
  *bytes = 0;
  if (cuda_only && vs_devices__needs_cuda(devices)) return VS_UNSUPPORTED;
  for (uint32_t i = 0; i < vs_devices_count(devices); i++) {
    const vs_devices_info *info = &devices->units.data[i];
    if (info->is_divided || (cuda_only && !vs_metric_is_known(info->cuda_index))) continue;
    vs_devices_memory memory;
    VS_TRY(vs_devices_memory_of(devices, i, false, &memory));
    if (!vs_metric_is_known(memory.free) || (*unit != VS_DEVICES_NONE && memory.free.value <= *bytes))
      continue;
    *unit = i;
    *bytes = memory.free.value;
  }
  VS_ASSERT(*unit == VS_DEVICES_NONE || !devices->units.data[*unit].is_divided);
  return VS_OK;
}
