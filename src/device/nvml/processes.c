/* The processes with memory on a unit: merges three lists (compute, graphics, MPS), each of which has one of four layouts. */
#include "device/nvml/connection.h"

/* ---- one list, by one version of its call */

static nvmlReturn_t call_detail(vs_nvml_api *api, nvmlDevice_t device, unsigned kind, unsigned int *count,
                                void *list) {
  nvmlProcessDetailList_t all = {VS_NVML_VERSION(nvmlProcessDetailList_t, 1), kind, *count, list};
  const nvmlReturn_t code = VS_NVML_CALL(api, nvmlDeviceGetRunningProcessDetailList, device, &all);
  *count = all.numProcArrayEntries;
  return code;
}

#define VS_LADDER(kind, rung, function) \
  case (kind)*VS_NVML_RUNGS + (rung): return VS_NVML_CALL(api, function, device, count, list)

static nvmlReturn_t call(vs_nvml_api *api, nvmlDevice_t device, unsigned kind, vs_nvml_rung rung,
                         unsigned int *count, void *list) {
  switch (kind * VS_NVML_RUNGS + rung) {
    VS_LADDER(VS_NVML_COMPUTE, VS_NVML_V3, nvmlDeviceGetComputeRunningProcesses_v3);
    VS_LADDER(VS_NVML_COMPUTE, VS_NVML_V2, nvmlDeviceGetComputeRunningProcesses_v2);
    VS_LADDER(VS_NVML_COMPUTE, VS_NVML_V1, nvmlDeviceGetComputeRunningProcesses);
    VS_LADDER(VS_NVML_GRAPHICS, VS_NVML_V3, nvmlDeviceGetGraphicsRunningProcesses_v3);
    VS_LADDER(VS_NVML_GRAPHICS, VS_NVML_V2, nvmlDeviceGetGraphicsRunningProcesses_v2);
    VS_LADDER(VS_NVML_GRAPHICS, VS_NVML_V1, nvmlDeviceGetGraphicsRunningProcesses);
    VS_LADDER(VS_NVML_MPS, VS_NVML_V3, nvmlDeviceGetMPSComputeRunningProcesses_v3);
    VS_LADDER(VS_NVML_MPS, VS_NVML_V2, nvmlDeviceGetMPSComputeRunningProcesses_v2);
    VS_LADDER(VS_NVML_MPS, VS_NVML_V1, nvmlDeviceGetMPSComputeRunningProcesses);
    default: return call_detail(api, device, kind, count, list);
  }
}

/* Repeats the call with more space if processes began between two calls. The space is enough for the widest layout. */
static nvmlReturn_t call_with_room(vs_nvml *nvml, nvmlDevice_t device, unsigned kind, vs_nvml_rung rung,
                                   unsigned int *count) {
  enum { ATTEMPTS = 4, SPARE = 16 };
  nvmlReturn_t code = NVML_ERROR_INSUFFICIENT_SIZE;
  *count = 0;
  for (int i = 0; i < ATTEMPTS && code == NVML_ERROR_INSUFFICIENT_SIZE; i++) {
    nvml->entries.count = 0;
    if (vs_vec_reserve(nvml->host, &nvml->entries, (size_t)*count + SPARE) != VS_OK) return NVML_ERROR_MEMORY;
    memset(nvml->entries.data, 0, nvml->entries.capacity * sizeof *nvml->entries.data);
    *count = (unsigned int)vs_min_u64(nvml->entries.capacity, UINT32_MAX);
    code = call(&nvml->api, device, kind, rung, count, nvml->entries.data);
  }
  if (code == NVML_SUCCESS && *count > nvml->entries.capacity) return NVML_ERROR_UNKNOWN;
  return code;
}

/* ---- the entries */

/* Reads an entry of a layout with `stride` bytes. All layouts begin with the same members. */
static nvmlProcessDetail_v1_t entry_at(const vs_nvml *nvml, unsigned int i, size_t stride) {
  VS_ASSERT(stride <= sizeof(nvmlProcessDetail_v1_t) && i < nvml->entries.capacity);
  nvmlProcessDetail_v1_t entry = {
      .gpuInstanceId = UINT32_MAX, .computeInstanceId = UINT32_MAX, .usedGpuCcProtectedMemory = UINT64_MAX};
  memcpy(&entry, (const char *)nvml->entries.data + i * stride, stride);
  return entry;
}

/* Whether the entries are plausible: with the wrong stride, bytes are read as pids. Bytes are only compared with more than any
 * machine has, because on a card with the system's memory a process may have more than the card's total. */
static bool are_plausible(const vs_nvml *nvml, unsigned int count, size_t stride) {
  const uint32_t most_pid = UINT32_C(1) << 22; /* of Linux */
  const uint64_t most_bytes = UINT64_C(1) << 46;
  for (unsigned int i = 0; i < count; i++) {
    const nvmlProcessDetail_v1_t entry = entry_at(nvml, i, stride);
    if (entry.pid == 0 || entry.pid > most_pid) return false;
    if (entry.usedGpuMemory != UINT64_MAX && entry.usedGpuMemory > most_bytes) return false;
  }
  return true;
}

/* The stride of the entries of a version; 0 if they are not plausible with any. */
static size_t stride_of(const vs_nvml *nvml, vs_nvml_rung rung, unsigned int count) {
  static const size_t strides[VS_NVML_RUNGS] = {
      [VS_NVML_DETAIL] = sizeof(nvmlProcessDetail_v1_t),
      [VS_NVML_V3] = sizeof(nvmlProcessInfo_v2_t),
      [VS_NVML_V2] = sizeof(nvmlProcessInfo_v2_t),
      [VS_NVML_V1] = sizeof(nvmlProcessInfo_v1_t),
  };
  if (are_plausible(nvml, count, strides[rung])) return strides[rung];
  const size_t wide = sizeof(nvmlProcessDetail_v1_t);
  return rung != VS_NVML_V1 && are_plausible(nvml, count, wide) ? wide : 0;
}

/* Reads a list by the first version that works, beginning with the one that worked last time. */
static nvmlReturn_t read_list(vs_nvml *nvml, nvmlDevice_t device, unsigned kind, unsigned int *count,
                              size_t *stride) {
  nvmlReturn_t code = NVML_ERROR_FUNCTION_NOT_FOUND;
  VS_ASSERT(kind < VS_NVML_KINDS);
  for (vs_nvml_rung rung = nvml->rungs[kind]; rung < VS_NVML_RUNGS; rung++) {
    code = call_with_room(nvml, device, kind, rung, count);
    const bool is_refused = code == NVML_ERROR_NOT_SUPPORTED || code == NVML_ERROR_INVALID_ARGUMENT;
    if (vs_nvml_is_too_new(code) || (rung == VS_NVML_DETAIL && is_refused)) continue;
    if (code != NVML_SUCCESS) return code;
    *stride = stride_of(nvml, rung, *count);
    code = NVML_ERROR_UNKNOWN;
    if (*stride == 0) continue;
    nvml->rungs[kind] = rung;
    return NVML_SUCCESS;
  }
  return code;
}

/* ---- merging the lists */

static int32_t instance_of(unsigned int id) { return id <= INT32_MAX ? (int32_t)id : VS_TELEMETRY_NONE; }

static int compare(const vs_telemetry_process *a, const vs_telemetry_process *b) {
  if (a->pid != b->pid) return a->pid < b->pid ? -1 : 1;
  if (a->gpu_instance != b->gpu_instance) return a->gpu_instance < b->gpu_instance ? -1 : 1;
  return (a->compute_instance > b->compute_instance) - (a->compute_instance < b->compute_instance);
}

/* A process in two lists has the same memory in both, but one list may not know it. */
static vs_metric known_of(vs_metric a, vs_metric b) {
  if (!vs_metric_is_known(a)) return b;
  return vs_metric_is_known(b) && b.value > a.value ? b : a;
}

static vs_telemetry_process *find(vs_nvml *nvml, const vs_telemetry_process *process) {
  for (size_t i = 0; i < nvml->processes.count; i++)
    if (compare(&nvml->processes.data[i], process) == 0) return &nvml->processes.data[i];
  return NULL;
}

/* Inserts a process at its place, or merges it with its entry. There is space for it. */
static void put(vs_nvml *nvml, const vs_telemetry_process *process) {
  vs_telemetry_process *same = find(nvml, process);
  if (same != NULL) {
    same->kinds |= process->kinds;
    same->bytes = known_of(same->bytes, process->bytes);
    same->protected_bytes = known_of(same->protected_bytes, process->protected_bytes);
    return;
  }
  VS_ASSERT(nvml->processes.count < nvml->processes.capacity);
  vs_telemetry_process *list = nvml->processes.data;
  size_t at = nvml->processes.count++;
  for (; at > 0 && compare(&list[at - 1], process) > 0; at--) list[at] = list[at - 1];
  list[at] = *process;
}

static nvmlReturn_t add_list(vs_nvml *nvml, nvmlDevice_t device, unsigned kind) {
  static const vs_process_kind kinds[VS_NVML_KINDS] = {VS_PROCESS_COMPUTE, VS_PROCESS_GRAPHICS,
                                                       VS_PROCESS_MPS};
  unsigned int count = 0;
  size_t stride = 0;
  const nvmlReturn_t code = read_list(nvml, device, kind, &count, &stride);
  if (code != NVML_SUCCESS) return code;
  VS_ASSERT(stride != 0 && count <= nvml->entries.capacity);
  if (vs_vec_reserve(nvml->host, &nvml->processes, count) != VS_OK) return NVML_ERROR_MEMORY;
  const bool is_wide = stride == sizeof(nvmlProcessDetail_v1_t);
  for (unsigned int i = 0; i < count; i++) {
    const nvmlProcessDetail_v1_t entry = entry_at(nvml, i, stride);
    const vs_metric protected_bytes = is_wide && entry.usedGpuCcProtectedMemory != UINT64_MAX
                                          ? vs_nvml_bytes(NVML_SUCCESS, entry.usedGpuCcProtectedMemory)
                                          : (vs_metric){.reason = VS_REASON_NOT_SUPPORTED};
    put(nvml, &(vs_telemetry_process){.pid = entry.pid,
                                      .kinds = kinds[kind],
                                      .bytes = vs_nvml_bytes(NVML_SUCCESS, entry.usedGpuMemory),
                                      .protected_bytes = protected_bytes,
                                      .gpu_instance = instance_of(entry.gpuInstanceId),
                                      .compute_instance = instance_of(entry.computeInstanceId)});
  }
  return NVML_SUCCESS;
}

/* A missing list, such as graphics, is not a failure if another list exists. */
static bool is_absent(nvmlReturn_t code) {
  return code == NVML_ERROR_NOT_SUPPORTED || code == NVML_ERROR_FUNCTION_NOT_FOUND;
}

vs_metric vs_nvml_processes(void *ctx, uint32_t unit, uint32_t kinds, const vs_telemetry_process **list) {
  vs_nvml *nvml = ctx;
  const vs_nvml_unit *of = vs_nvml_unit_at(nvml, unit);
  *list = NULL;
  nvml->processes.count = 0;
  if (of == NULL) return (vs_metric){.reason = VS_REASON_NOT_FOUND};
  if (!vs_metric_is_known(of->told.handle)) return of->told.handle;
  nvmlReturn_t result = NVML_ERROR_NOT_SUPPORTED;
  for (unsigned kind = 0; kind < VS_NVML_KINDS; kind++) {
    if ((kinds & 1u << kind) == 0) continue;
    const nvmlReturn_t code = add_list(nvml, of->device, kind);
    if (code != NVML_SUCCESS && !is_absent(code)) return vs_nvml_metric(code, 0);
    if (code == NVML_SUCCESS) result = code;
  }
  if (result == NVML_SUCCESS) *list = nvml->processes.data;
  return vs_nvml_metric(result, nvml->processes.count);
}
