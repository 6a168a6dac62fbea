/* Handles and their settings. */
#include "faces/simcuda/cublas/handle.h"

/* The version of this library: that of toolkits 13.2 and 12.8, like the runtime's and PyTorch's. */
enum {
#if VS_TOOLKIT >= 13
  VERSION_MAJOR = 13,
  VERSION_MINOR = 3,
  VERSION_PATCH = 0,
  CUDART_VERSION = 13020
#else
  VERSION_MAJOR = 12,
  VERSION_MINOR = 8,
  VERSION_PATCH = 4,
  CUDART_VERSION = 12080
#endif
};

static vs_shelf handles = VS_SHELF(VS_TAG_CUBLAS, struct cublasContext);

cublasStatus_t sim_cublasCreate_v2(cublasHandle_t *handle) {
  if (handle == NULL) return CUBLAS_STATUS_INVALID_VALUE;
  if (vs_begin_library() != VS_SIM_OK) return CUBLAS_STATUS_NOT_INITIALIZED;
  cublasHandle_t made = vs_shelf_take(&handles);
  if (made == NULL) return CUBLAS_STATUS_ALLOC_FAILED;
  made->device = vs_simcuda_this_thread()->device;
  if (vs_simcuda_own_take(made->device, VS_SIM_OWN_CUBLAS) != VS_SIM_OK) {
    (void)vs_shelf_put_back(&handles, made);
    return CUBLAS_STATUS_ALLOC_FAILED;
  }
  *handle = made;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t sim_cublasDestroy_v2(cublasHandle_t handle) {
  if (!vs_cublas_is(handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
  vs_simcuda_own_give(handle->device, VS_SIM_OWN_CUBLAS);
  return vs_shelf_put_back(&handles, handle) ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_INITIALIZED;
}

cublasStatus_t vs_cublas_work(cublasHandle_t handle) {
  const vs_sim_error error = vs_simcuda_work_on(handle->stream, VS_SIMCUDA_KERNEL);
  return error == VS_SIM_OK ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}

/* ---- settings */

#define SETTING(what, type, member)                                        \
  cublasStatus_t sim_cublasSet##what(cublasHandle_t handle, type value) {  \
    if (!vs_cublas_is(handle)) return CUBLAS_STATUS_NOT_INITIALIZED;       \
    handle->member = value;                                                \
    return CUBLAS_STATUS_SUCCESS;                                          \
  }                                                                        \
  cublasStatus_t sim_cublasGet##what(cublasHandle_t handle, type *value) { \
    if (!vs_cublas_is(handle)) return CUBLAS_STATUS_NOT_INITIALIZED;       \
    if (value == NULL) return CUBLAS_STATUS_INVALID_VALUE;                 \
    *value = handle->member;                                               \
    return CUBLAS_STATUS_SUCCESS;                                          \
  }
SETTING(PointerMode_v2, cublasPointerMode_t, pointer_mode)
SETTING(AtomicsMode, cublasAtomicsMode_t, atomics_mode)
SETTING(MathMode, cublasMath_t, math_mode)
SETTING(EmulationStrategy, cublasEmulationStrategy_t, strategy)
SETTING(EmulationSpecialValuesSupport, cudaEmulationSpecialValuesSupport, special_values)
SETTING(FixedPointEmulationMantissaControl, cudaEmulationMantissaControl, mantissa_control)
SETTING(FixedPointEmulationMaxMantissaBitCount, int, most_mantissa_bits)
SETTING(FixedPointEmulationMantissaBitOffset, int, mantissa_offset)

cublasStatus_t sim_cublasSetFixedPointEmulationMantissaBitCountPointer(cublasHandle_t handle, int *pointer) {
  if (!vs_cublas_is(handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
  handle->mantissa_count = pointer;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t sim_cublasGetFixedPointEmulationMantissaBitCountPointer(cublasHandle_t handle, int **pointer) {
  if (!vs_cublas_is(handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (pointer == NULL) return CUBLAS_STATUS_INVALID_VALUE;
  *pointer = handle->mantissa_count;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t sim_cublasSetSmCountTarget(cublasHandle_t handle, int count) {
  if (!vs_cublas_is(handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (count < 0) return CUBLAS_STATUS_INVALID_VALUE;
  handle->sm_count_target = count;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t sim_cublasGetSmCountTarget(cublasHandle_t handle, int *count) {
  if (!vs_cublas_is(handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (count == NULL) return CUBLAS_STATUS_INVALID_VALUE;
  *count = handle->sm_count_target;
  return CUBLAS_STATUS_SUCCESS;
}

/* As documented, setting the stream also resets the workspace to the library's own. */
cublasStatus_t sim_cublasSetStream_v2(cublasHandle_t handle, cudaStream_t stream) {
  if (!vs_cublas_is(handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
  handle->stream = (uintptr_t)stream;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t sim_cublasGetStream_v2(cublasHandle_t handle, cudaStream_t *stream) {
  if (!vs_cublas_is(handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (stream == NULL) return CUBLAS_STATUS_INVALID_VALUE;
  *stream = (cudaStream_t)(uintptr_t)handle->stream;
  return CUBLAS_STATUS_SUCCESS;
}

/* The workspace must be aligned to 256 bytes. */
cublasStatus_t sim_cublasSetWorkspace_v2(cublasHandle_t handle, void *workspace, size_t size) {
  if (!vs_cublas_is(handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
  if ((uintptr_t)workspace % 256 != 0 || (workspace == NULL && size != 0)) return CUBLAS_STATUS_INVALID_VALUE;
  return CUBLAS_STATUS_SUCCESS;
}

/* ---- versions and texts */

cublasStatus_t sim_cublasGetVersion_v2(cublasHandle_t handle, int *version) {
  (void)handle; /* may be NULL */
  if (version == NULL) return CUBLAS_STATUS_INVALID_VALUE;
  *version = VERSION_MAJOR * 10000 + VERSION_MINOR * 100 + VERSION_PATCH;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t sim_cublasGetProperty(libraryPropertyType type, int *value) {
  static const int values[] = {VERSION_MAJOR, VERSION_MINOR, VERSION_PATCH};
  if (value == NULL || (unsigned)type > PATCH_LEVEL) return CUBLAS_STATUS_INVALID_VALUE;
  *value = values[(unsigned)type];
  return CUBLAS_STATUS_SUCCESS;
}

size_t sim_cublasGetCudartVersion(void) { return CUDART_VERSION; }

#define VS_CUBLAS_STATUS(name, value, text) {value, #name, text},
static const struct {
  int value;
  const char *name, *text;
} statuses[] = {
#include "faces/simcuda/abi/cublas_status.def"
};
#undef VS_CUBLAS_STATUS

const char *sim_cublasGetStatusName(cublasStatus_t status) {
  for (size_t i = 0; i < sizeof statuses / sizeof statuses[0]; i++)
    if (statuses[i].value == (int)status) return statuses[i].name;
  return "CUBLAS_STATUS_UNKNOWN";
}

const char *sim_cublasGetStatusString(cublasStatus_t status) {
  for (size_t i = 0; i < sizeof statuses / sizeof statuses[0]; i++)
    if (statuses[i].value == (int)status) return statuses[i].text;
  return "unknown status";
}

/* ---- the log, which stays empty */

static cublasLogCallback log_callback;

cublasStatus_t sim_cublasLoggerConfigure(int is_on, int to_stdout, int to_stderr, const char *file) {
  (void)is_on, (void)to_stdout, (void)to_stderr, (void)file;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t sim_cublasSetLoggerCallback(cublasLogCallback callback) {
  log_callback = callback;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t sim_cublasGetLoggerCallback(cublasLogCallback *callback) {
  if (callback == NULL) return CUBLAS_STATUS_INVALID_VALUE;
  *callback = log_callback;
  return CUBLAS_STATUS_SUCCESS;
}

void sim_cublasXerbla(const char *name, int info) { (void)name, (void)info; }
