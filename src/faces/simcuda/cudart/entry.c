/* The driver's functions for programs that get them through the runtime. They come from the driver face, which
 * is a separate library. */
#include <dlfcn.h>

#include "faces/simcuda/core/attributes.h"
#include "faces/simcuda/cudart/runtime.h"

enum { RUNTIME_VERSION = VS_CUDART >= 13 ? VS_SIMCUDA_DRIVER_VERSION : 12080 };

typedef int (*get_address)(const char *name, void **function, int version, uint64_t flags, int *status);

/* A preloaded driver face is found by its soname; otherwise it is in this library's folder. */
static get_address find_driver(void) {
  static get_address found;
  get_address function = __atomic_load_n(&found, __ATOMIC_ACQUIRE);
  if (function != NULL) return function;
  void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
  void *symbol = driver == NULL ? NULL : dlsym(driver, "cuGetProcAddress_v2");
  memcpy(&function, &symbol, sizeof function);
  __atomic_store_n(&found, function, __ATOMIC_RELEASE);
  return function;
}

static cudaError_t find_entry(const char *name, void **function, unsigned version, unsigned long long flags,
                              enum cudaDriverEntryPointQueryResult *status) {
  int result = cudaDriverEntryPointSymbolNotFound;
  if (name == NULL || function == NULL || flags > (cudaEnableLegacyStream | cudaEnablePerThreadDefaultStream))
    return vs_rt_answer(VS_SIM_INVALID_VALUE);
  *function = NULL;
  const get_address ask = find_driver();
  if (ask == NULL) {
    vs_simcuda_say_once(
        "the simulated driver (libcuda.so.1) is not loaded: the program gets no driver functions");
  } else if (ask(name, function, (int)version, flags, &result) != 0 &&
             result == cudaDriverEntryPointSuccess) {
    result = cudaDriverEntryPointSymbolNotFound;
  }
  if (result != cudaDriverEntryPointSuccess) *function = NULL;
  if (status != NULL) *status = (enum cudaDriverEntryPointQueryResult)result;
  return status == NULL && *function == NULL ? vs_rt_answer(VS_SIM_NOT_FOUND) : cudaSuccess;
}

cudaError_t sim_cudaGetDriverEntryPoint(const char *name, void **function, unsigned long long flags,
                                        enum cudaDriverEntryPointQueryResult *status) {
  return find_entry(name, function, RUNTIME_VERSION, flags, status);
}

cudaError_t sim_cudaGetDriverEntryPointByVersion(const char *name, void **function, unsigned int version,
                                                 unsigned long long flags,
                                                 enum cudaDriverEntryPointQueryResult *status) {
  return find_entry(name, function, version, flags, status);
}

/* A program for per-thread default streams gets the driver's functions for them. */
cudaError_t sim_cudaGetDriverEntryPoint_ptsz(const char *name, void **function, unsigned long long flags,
                                             enum cudaDriverEntryPointQueryResult *status) {
  return sim_cudaGetDriverEntryPoint(name, function, flags | cudaEnablePerThreadDefaultStream, status);
}

cudaError_t sim_cudaGetDriverEntryPointByVersion_ptsz(const char *name, void **function, unsigned int version,
                                                      unsigned long long flags,
                                                      enum cudaDriverEntryPointQueryResult *status) {
  return sim_cudaGetDriverEntryPointByVersion(name, function, version,
                                              flags | cudaEnablePerThreadDefaultStream, status);
}
