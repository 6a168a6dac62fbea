/* Versions, texts, and the log, which stays empty. */
#include "faces/simcuda/abi/cublaslt.h"
#include "faces/simcuda/core/objects.h"

/* The same as cuBLAS's. */
#if VS_TOOLKIT >= 13
static const unsigned version[] = {13, 3, 0};
static const size_t cudart_version = 13020;
#else
static const unsigned version[] = {12, 8, 4};
static const size_t cudart_version = 12080;
#endif

size_t sim_cublasLtGetVersion(void) { return version[0] * 10000 + version[1] * 100 + version[2]; }
size_t sim_cublasLtGetCudartVersion(void) { return cudart_version; }

cublasStatus_t sim_cublasLtGetProperty(libraryPropertyType type, int *value) {
  if (value == NULL || (unsigned)type > PATCH_LEVEL) return CUBLAS_STATUS_INVALID_VALUE;
  *value = (int)version[(unsigned)type];
  return CUBLAS_STATUS_SUCCESS;
}

#define VS_CUBLAS_STATUS(name, value, text) \
  case name: return is_name ? #name : text;
static const char *words(cublasStatus_t status, bool is_name) {
  switch ((int)status) {
#include "faces/simcuda/abi/cublas_status.def"
    default: return is_name ? "CUBLAS_STATUS_UNKNOWN" : "unknown status";
  }
}
#undef VS_CUBLAS_STATUS

const char *sim_cublasLtGetStatusName(cublasStatus_t status) { return words(status, true); }
const char *sim_cublasLtGetStatusString(cublasStatus_t status) { return words(status, false); }

/* The library's cache of heuristic results, which is not used here. */
static size_t cache_capacity = 8192;

cublasStatus_t sim_cublasLtHeuristicsCacheGetCapacity(size_t *capacity) {
  if (capacity == NULL) return CUBLAS_STATUS_INVALID_VALUE;
  *capacity = __atomic_load_n(&cache_capacity, __ATOMIC_RELAXED);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t sim_cublasLtHeuristicsCacheSetCapacity(size_t capacity) {
  __atomic_store_n(&cache_capacity, capacity, __ATOMIC_RELAXED);
  return CUBLAS_STATUS_SUCCESS;
}

#define LOGGER(name, type)                              \
  cublasStatus_t sim_cublasLtLogger##name(type value) { \
    (void)value;                                        \
    return CUBLAS_STATUS_SUCCESS;                       \
  }
LOGGER(SetCallback, cublasLtLoggerCallback_t)
LOGGER(SetFile, FILE *)
LOGGER(OpenFile, const char *)
LOGGER(SetLevel, int)
LOGGER(SetMask, int)

cublasStatus_t sim_cublasLtLoggerForceDisable(void) { return CUBLAS_STATUS_SUCCESS; }
