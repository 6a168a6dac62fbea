/* The used memory of a card and the processes that use it: the machine's figures, in NVML's layouts. */
#include "faces/simcuda/nvml/nvml.h"

/* The memory that the driver itself takes; programs cannot use it. */
static uint64_t reserved_of(const vs_sim_card *card) {
  const vs_sim_figures *f = &card->figures;
  return f->nvml_total_bytes > f->total_bytes ? f->nvml_total_bytes - f->total_bytes : 0;
}

nvmlReturn_t sim_nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t *memory) {
  VS_NVML_NEED(memory != NULL);
  vs_sim_card card;
  uint32_t number;
  VS_NVML_TRY(vs_nvml_card(device, &card, &number));
  memory->total = card.figures.total_bytes + reserved_of(&card);
  memory->used = card.used_bytes + reserved_of(&card);
  memory->free = memory->total - memory->used;
  return NVML_SUCCESS;
}

nvmlReturn_t sim_nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t device, nvmlMemory_v2_t *memory) {
  VS_NVML_NEED(memory != NULL);
  if (memory->version != VS_NVML_VERSION(nvmlMemory_v2_t, 2)) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
  vs_sim_card card;
  uint32_t number;
  VS_NVML_TRY(vs_nvml_card(device, &card, &number));
  memory->reserved = reserved_of(&card);
  memory->total = card.figures.total_bytes + memory->reserved;
  memory->used = card.used_bytes;
  memory->free = memory->total - memory->reserved - memory->used;
  return NVML_SUCCESS;
}

/* ---- processes */

typedef struct process {
  uint32_t pid;
  uint64_t bytes;
} process;

/* The processes that have a context on the card, in the order of their slots. */
static nvmlReturn_t list(nvmlDevice_t device, process processes[static VS_SIM_MAX_PROCESSES],
                         uint32_t *count) {
  vs_sim_card card;
  uint32_t number;
  VS_NVML_TRY(vs_nvml_card(device, &card, &number));
  const vs_sim_machine *machine = vs_simcuda_lock_machine();
  if (machine == NULL) return NVML_ERROR_DRIVER_NOT_LOADED;
  *count = 0;
  for (uint32_t i = 0; i < machine->process_limit; i++) {
    const vs_sim_process *p = &machine->processes[i];
    if (p->state == VS_SIM_PROCESS_LIVE && p->use[number].used_bytes != 0)
      processes[(*count)++] = (process){p->pid, p->use[number].used_bytes};
  }
  vs_simcuda_unlock_machine();
  return NVML_SUCCESS;
}

/* *count is the capacity, and is set to the number of processes. Every layout begins with the pid, and has the
 * bytes at offset 8. */
#define VS_NO_INSTANCE UINT32_MAX

nvmlReturn_t sim_nvmlDeviceGetComputeRunningProcesses(nvmlDevice_t device, unsigned int *count,
                                                      nvmlProcessInfo_v1_t *infos) {
  VS_NVML_NEED(count != NULL && (infos != NULL || *count == 0));
  process processes[VS_SIM_MAX_PROCESSES];
  uint32_t there = 0;
  VS_NVML_TRY(list(device, processes, &there));
  const uint32_t room = *count;
  *count = there;
  if (there > room) return NVML_ERROR_INSUFFICIENT_SIZE;
  for (uint32_t i = 0; i < there; i++)
    infos[i] = (nvmlProcessInfo_v1_t){.pid = processes[i].pid, .usedGpuMemory = processes[i].bytes};
  return NVML_SUCCESS;
}

nvmlReturn_t sim_nvmlDeviceGetComputeRunningProcesses_v2(nvmlDevice_t device, unsigned int *count,
                                                         nvmlProcessInfo_v2_t *infos) {
  VS_NVML_NEED(count != NULL && (infos != NULL || *count == 0));
  process processes[VS_SIM_MAX_PROCESSES];
  uint32_t there = 0;
  VS_NVML_TRY(list(device, processes, &there));
  const uint32_t room = *count;
  *count = there;
  if (there > room) return NVML_ERROR_INSUFFICIENT_SIZE;
  for (uint32_t i = 0; i < there; i++)
    infos[i] = (nvmlProcessInfo_v2_t){.pid = processes[i].pid,
                                      .usedGpuMemory = processes[i].bytes,
                                      .gpuInstanceId = VS_NO_INSTANCE,
                                      .computeInstanceId = VS_NO_INSTANCE};
  return NVML_SUCCESS;
}

/* No simulated process draws, or shares a card by MPS. */
static nvmlReturn_t no_processes(nvmlDevice_t device, unsigned int *count) {
  VS_NVML_NEED(count != NULL);
  vs_sim_card card;
  uint32_t number;
  VS_NVML_TRY(vs_nvml_card(device, &card, &number));
  *count = 0;
  return NVML_SUCCESS;
}

#define VS_NOBODY(name, version)                                                                             \
  nvmlReturn_t sim_##name(nvmlDevice_t device, unsigned int *count, nvmlProcessInfo_v##version##_t *infos) { \
    (void)infos;                                                                                             \
    return no_processes(device, count);                                                                      \
  }
VS_NOBODY(nvmlDeviceGetGraphicsRunningProcesses, 1)
VS_NOBODY(nvmlDeviceGetGraphicsRunningProcesses_v2, 2)
VS_NOBODY(nvmlDeviceGetGraphicsRunningProcesses_v3, 2)
VS_NOBODY(nvmlDeviceGetMPSComputeRunningProcesses, 1)
VS_NOBODY(nvmlDeviceGetMPSComputeRunningProcesses_v2, 2)
VS_NOBODY(nvmlDeviceGetMPSComputeRunningProcesses_v3, 2)

nvmlReturn_t sim_nvmlDeviceGetRunningProcessDetailList(nvmlDevice_t device,
                                                       nvmlProcessDetailList_t *details) {
  enum { COMPUTE = 0, GRAPHICS = 1, MPS = 2, ALL = 3 };
  VS_NVML_NEED(details != NULL && details->mode <= ALL);
  if (details->version != VS_NVML_VERSION(nvmlProcessDetailList_t, 1))
    return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
  process processes[VS_SIM_MAX_PROCESSES];
  uint32_t there = 0;
  VS_NVML_TRY(list(device, processes, &there));
  if (details->mode == GRAPHICS || details->mode == MPS) there = 0;
  const uint32_t room = details->procArray == NULL ? 0 : details->numProcArrayEntries;
  details->numProcArrayEntries = there;
  if (there > room) return NVML_ERROR_INSUFFICIENT_SIZE;
  for (uint32_t i = 0; i < there; i++)
    details->procArray[i] = (nvmlProcessDetail_v1_t){.pid = processes[i].pid,
                                                     .usedGpuMemory = processes[i].bytes,
                                                     .gpuInstanceId = VS_NO_INSTANCE,
                                                     .computeInstanceId = VS_NO_INSTANCE};
  return NVML_SUCCESS;
}
