/* Processes of a card, in every layout, and the driver's account of them. */
#include "fake.h"

#include <string.h>

/* Those of a card are its own and those of its MIG devices. `kind` 0: all. */
static uint32_t collect(fake_card *card, char kind, const fake_process **to) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < card->process_count; i++)
    if (kind == 0 || card->processes[i].kind == kind) to[count++] = &card->processes[i];
  for (uint32_t m = 0; m < fake_machine.mig_count; m++)
    for (uint32_t i = 0; fake_machine.mig[m].parent == card && i < fake_machine.mig[m].process_count; i++)
      if (kind == 0 || fake_machine.mig[m].processes[i].kind == kind)
        to[count++] = &fake_machine.mig[m].processes[i];
  return count;
}

static nvmlReturn_t processes_code(fake_card *card) {
  uint64_t code = 0;
  return fake_number(card, "processes", &code) == 0 ? (nvmlReturn_t)code : NVML_SUCCESS;
}

enum { V1, V2 };

static nvmlReturn_t put_processes(fake_card *card, char kind, unsigned int *room, void *list, int version) {
  TRY(processes_code(card));
  const fake_process *found[MOST_PROCESSES * (1 + MOST_MIG_DEVICES)];
  const uint32_t count = collect(card, kind, found);
  const unsigned int there = *room;
  *room = count;
  if (there < count) return NVML_ERROR_INSUFFICIENT_SIZE;
  const char *layout = NULL;
  const bool is_r535 =
      version == V2 && fake_text(&fake_machine.system, "layout", &layout) == 0 && strcmp(layout, "r535") == 0;
  for (uint32_t i = 0; i < count; i++) {
    const fake_process *p = found[i];
    if (version == V1) ((nvmlProcessInfo_v1_t *)list)[i] = (nvmlProcessInfo_v1_t){p->pid, p->bytes};
    else if (is_r535)
      ((nvmlProcessDetail_v1_t *)list)[i] =
          (nvmlProcessDetail_v1_t){p->pid, p->bytes, p->gpu_instance, p->compute_instance, 0};
    else
      ((nvmlProcessInfo_v2_t *)list)[i] =
          (nvmlProcessInfo_v2_t){p->pid, p->bytes, p->gpu_instance, p->compute_instance};
  }
  return NVML_SUCCESS;
}

#define PROCESSES(function, kind, type, version)                                \
  nvmlReturn_t function(nvmlDevice_t device, unsigned int *count, type *list) { \
    CARD;                                                                       \
    return put_processes(card, kind, count, list, version);                     \
  }
PROCESSES(nvmlDeviceGetComputeRunningProcesses_v3, 'C', nvmlProcessInfo_v2_t, V2)
PROCESSES(nvmlDeviceGetComputeRunningProcesses_v2, 'C', nvmlProcessInfo_v2_t, V2)
PROCESSES(nvmlDeviceGetComputeRunningProcesses, 'C', nvmlProcessInfo_v1_t, V1)
PROCESSES(nvmlDeviceGetGraphicsRunningProcesses_v3, 'G', nvmlProcessInfo_v2_t, V2)
PROCESSES(nvmlDeviceGetGraphicsRunningProcesses_v2, 'G', nvmlProcessInfo_v2_t, V2)
PROCESSES(nvmlDeviceGetGraphicsRunningProcesses, 'G', nvmlProcessInfo_v1_t, V1)
PROCESSES(nvmlDeviceGetMPSComputeRunningProcesses_v3, 'M', nvmlProcessInfo_v2_t, V2)
PROCESSES(nvmlDeviceGetMPSComputeRunningProcesses_v2, 'M', nvmlProcessInfo_v2_t, V2)
PROCESSES(nvmlDeviceGetMPSComputeRunningProcesses, 'M', nvmlProcessInfo_v1_t, V1)

nvmlReturn_t nvmlDeviceGetRunningProcessDetailList(nvmlDevice_t device, nvmlProcessDetailList_t *list) {
  static const char kinds[] = {'C', 'G', 'M', 0};
  CARD;
  NEED_VERSION(list, nvmlProcessDetailList_t, 1);
  if (list->mode > 3) return NVML_ERROR_INVALID_ARGUMENT;
  TRY(processes_code(card));
  const fake_process *found[MOST_PROCESSES * (1 + MOST_MIG_DEVICES)];
  const uint32_t count = collect(card, kinds[list->mode], found);
  const unsigned int there = list->numProcArrayEntries;
  list->numProcArrayEntries = count;
  if (there < count) return NVML_ERROR_INSUFFICIENT_SIZE;
  for (uint32_t i = 0; i < count; i++)
    list->procArray[i] = (nvmlProcessDetail_v1_t){found[i]->pid, found[i]->bytes, found[i]->gpu_instance,
                                                  found[i]->compute_instance, found[i]->protected_bytes};
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetAccountingPids(nvmlDevice_t device, unsigned int *count, unsigned int *pids) {
  CARD;
  unsigned int mode = 0;
  TRY(fake_put_uint(card, "accounting.mode", &mode));
  const unsigned int there = *count;
  *count = mode == 0 ? 0 : card->account_count;
  if (there < *count) return NVML_ERROR_INSUFFICIENT_SIZE;
  for (uint32_t i = 0; i < *count; i++) pids[i] = card->accounts[i].pid;
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetAccountingStats(nvmlDevice_t device, unsigned int pid,
                                          nvmlAccountingStats_t *stats) {
  CARD;
  for (uint32_t i = 0; i < card->account_count; i++) {
    const fake_account *a = &card->accounts[i];
    if (a->pid != pid) continue;
    *stats = (nvmlAccountingStats_t){.gpuUtilization = a->gpu,
                                     .memoryUtilization = a->memory,
                                     .maxMemoryUsage = a->peak,
                                     .time = a->time_ms,
                                     .startTime = a->start_us,
                                     .isRunning = a->is_running};
    return NVML_SUCCESS;
  }
  return NVML_ERROR_NOT_FOUND;
}
