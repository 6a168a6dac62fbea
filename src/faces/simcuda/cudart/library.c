/* Libraries of kernels that are loaded at run time. Names of kernels are in compressed code, so every name is
 * accepted, and the code counts as made for the device. Global variables are refused, because their sizes are in
 * the code. */
#include <unistd.h>

#include "faces/simcuda/cudart/registry.h"
#include "faces/simcuda/cudart/runtime.h"

static cudaError_t load_library(cudaLibrary_t *library) {
  vs_rt rt;
  const vs_sim_error error = vs_rt_use(&rt);
  if (error != VS_SIM_OK) return vs_rt_answer(error);
  vs_rt_module *loaded = vs_rt_library_load();
  if (loaded == NULL) return vs_rt_answer(VS_SIM_OUT_OF_MEMORY);
  *library = (cudaLibrary_t)(void *)loaded;
  return cudaSuccess;
}

cudaError_t sim_cudaLibraryLoadData(cudaLibrary_t *library, const void *code, enum cudaJitOption *jit_options,
                                    void **jit_values, unsigned int jit_count,
                                    enum cudaLibraryOption *options, void **values, unsigned int count) {
  (void)jit_options, (void)jit_values, (void)jit_count, (void)options, (void)values, (void)count;
  return library == NULL || code == NULL ? vs_rt_answer(VS_SIM_INVALID_VALUE) : load_library(library);
}

cudaError_t sim_cudaLibraryLoadFromFile(cudaLibrary_t *library, const char *path,
                                        enum cudaJitOption *jit_options, void **jit_values,
                                        unsigned int jit_count, enum cudaLibraryOption *options,
                                        void **values, unsigned int count) {
  (void)jit_options, (void)jit_values, (void)jit_count, (void)options, (void)values, (void)count;
  if (library == NULL || path == NULL) return vs_rt_answer(VS_SIM_INVALID_VALUE);
  return access(path, R_OK) != 0 ? vs_rt_answer((vs_sim_error)cudaErrorFileNotFound) : load_library(library);
}

cudaError_t sim_cudaLibraryUnload(cudaLibrary_t library) {
  vs_rt_module *loaded = vs_rt_library_find(library);
  if (loaded == NULL) return vs_rt_answer(VS_SIM_INVALID_HANDLE);
  vs_rt_library_unload(loaded);
  return cudaSuccess;
}

cudaError_t sim_cudaLibraryGetKernel(cudaKernel_t *kernel, cudaLibrary_t library, const char *name) {
  vs_rt_module *loaded = vs_rt_library_find(library);
  if (kernel == NULL || name == NULL) return vs_rt_answer(VS_SIM_INVALID_VALUE);
  if (loaded == NULL) return vs_rt_answer(VS_SIM_INVALID_HANDLE);
  vs_rt_symbol *symbol = vs_rt_library_symbol(loaded, name, VS_RT_KERNEL);
  if (symbol == NULL) return vs_rt_answer(VS_SIM_OUT_OF_MEMORY);
  *kernel = (cudaKernel_t)(void *)symbol;
  return cudaSuccess;
}

#if VS_CUDART >= 13
/* ---- the driver's log, which stays empty. Programs register callbacks when they start, so registering
 * succeeds. */

cudaError_t sim_cudaLogsRegisterCallback(cudaLogsCallback_t function, void *argument,
                                         cudaLogsCallbackHandle *handle) {
  (void)argument;
  if (function == NULL) return vs_rt_answer(VS_SIM_INVALID_VALUE);
  if (handle != NULL) *handle = VS_RT_HANDLE(cudaLogsCallbackHandle, 1);
  return cudaSuccess;
}

cudaError_t sim_cudaLogsUnregisterCallback(cudaLogsCallbackHandle handle) {
  return VS_RT_NUMBER(handle) == 1 ? cudaSuccess : vs_rt_answer(VS_SIM_INVALID_VALUE);
}

cudaError_t sim_cudaLogsCurrent(cudaLogIterator *iterator, unsigned int flags) {
  if (iterator == NULL || flags != 0) return vs_rt_answer(VS_SIM_INVALID_VALUE);
  *iterator = 0;
  return cudaSuccess;
}
#endif
