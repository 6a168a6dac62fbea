/* Initialization and shutdown, versions, names of processes, texts of results. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "faces/simcuda/nvml/nvml.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint32_t users; /* initializations without a shutdown yet */

nvmlReturn_t vs_nvml_begin(void) {
  pthread_mutex_lock(&lock);
  const bool is_used = users != 0;
  pthread_mutex_unlock(&lock);
  return is_used ? NVML_SUCCESS : NVML_ERROR_UNINITIALIZED;
}

nvmlReturn_t sim_nvmlInitWithFlags(unsigned int flags) {
  (void)flags;
  if (vs_simcuda_lock_machine() == NULL) return NVML_ERROR_DRIVER_NOT_LOADED;
  vs_simcuda_unlock_machine();
  pthread_mutex_lock(&lock);
  users++;
  pthread_mutex_unlock(&lock);
  return NVML_SUCCESS;
}

nvmlReturn_t sim_nvmlInit_v2(void) { return sim_nvmlInitWithFlags(0); }
nvmlReturn_t sim_nvmlInit(void) { return sim_nvmlInitWithFlags(0); }

nvmlReturn_t sim_nvmlShutdown(void) {
  VS_NVML_TRY(vs_nvml_begin());
  pthread_mutex_lock(&lock);
  if (users != 0) users--;
  pthread_mutex_unlock(&lock);
  return NVML_SUCCESS;
}

const char *sim_nvmlErrorString(nvmlReturn_t error) {
  switch ((int)error) {
#define VS_NVML_RETURN(name, number, words) \
  case number:                              \
    return words;
#include "device/abi/nvml_returns.def"
#undef VS_NVML_RETURN
    default: return "unknown error";
  }
}

static nvmlReturn_t answer(const char *text, char *to, unsigned int size) {
  VS_NVML_NEED(to != NULL);
  if (strlen(text) >= size) return NVML_ERROR_INSUFFICIENT_SIZE;
  memcpy(to, text, strlen(text) + 1);
  return NVML_SUCCESS;
}

/* No real driver has this number; programs parse it. */
nvmlReturn_t sim_nvmlSystemGetDriverVersion(char *version, unsigned int size) {
  VS_NVML_TRY(vs_nvml_begin());
  return answer("595.0.0", version, size);
}

nvmlReturn_t sim_nvmlSystemGetNVMLVersion(char *version, unsigned int size) {
  VS_NVML_TRY(vs_nvml_begin());
  return answer("13.595.0.0", version, size);
}

nvmlReturn_t sim_nvmlSystemGetCudaDriverVersion_v2(int *version) {
  VS_NVML_NEED(version != NULL);
  *version = VS_SIMCUDA_DRIVER_VERSION;
  return NVML_SUCCESS;
}
nvmlReturn_t sim_nvmlSystemGetCudaDriverVersion(int *version) {
  return sim_nvmlSystemGetCudaDriverVersion_v2(version);
}

nvmlReturn_t sim_nvmlSystemGetProcessName(unsigned int pid, char *name, unsigned int size) {
  VS_NVML_NEED(name != NULL && size != 0);
  VS_NVML_TRY(vs_nvml_begin());
  char path[64];
  snprintf(path, sizeof path, "/proc/%u/cmdline", pid);
  FILE *file = fopen(path, "rb");
  if (file == NULL) return NVML_ERROR_NOT_FOUND;
  const size_t count = fread(name, 1, size - 1, file); /* its first argument is zero-terminated */
  fclose(file);
  name[count] = 0;
  return count == 0 ? NVML_ERROR_NOT_FOUND : NVML_SUCCESS;
}

static nvmlReturn_t none(unsigned int *count) {
  VS_NVML_NEED(count != NULL);
  VS_NVML_TRY(vs_nvml_begin());
  *count = 0;
  return NVML_SUCCESS;
}
nvmlReturn_t sim_nvmlUnitGetCount(unsigned int *count) { return none(count); }
nvmlReturn_t sim_nvmlGetExcludedDeviceCount(unsigned int *count) { return none(count); }

/* ---- confidential computing: the machine has none, and its cards take work */

nvmlReturn_t sim_nvmlSystemGetConfComputeState(nvmlConfComputeSystemState_t *state) {
  VS_NVML_TRY(vs_nvml_begin());
  VS_NVML_NEED(state != NULL);
  *state = (nvmlConfComputeSystemState_t){0};
  return NVML_SUCCESS;
}
nvmlReturn_t sim_nvmlSystemGetConfComputeCapabilities(nvmlConfComputeSystemCaps_t *capabilities) {
  VS_NVML_TRY(vs_nvml_begin());
  VS_NVML_NEED(capabilities != NULL);
  *capabilities = (nvmlConfComputeSystemCaps_t){0};
  return NVML_SUCCESS;
}
nvmlReturn_t sim_nvmlSystemGetConfComputeSettings(nvmlSystemConfComputeSettings_v1_t *settings) {
  VS_NVML_TRY(vs_nvml_begin());
  VS_NVML_NEED(settings != NULL);
  if (settings->version != VS_NVML_VERSION(nvmlSystemConfComputeSettings_v1_t, 1))
    return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
  *settings = (nvmlSystemConfComputeSettings_v1_t){.version = settings->version};
  return NVML_SUCCESS;
}
nvmlReturn_t sim_nvmlSystemGetConfComputeGpusReadyState(unsigned int *is_ready) {
  VS_NVML_TRY(vs_nvml_begin());
  VS_NVML_NEED(is_ready != NULL);
  *is_ready = 1;
  return NVML_SUCCESS;
}

nvmlReturn_t sim_nvml_unknown(void) { return NVML_ERROR_NOT_SUPPORTED; }
