/* The library as a whole: versions, handles, errors. */
#include <stdio.h>

#include "faces/simcuda/cudnn/objects.h"

/* A release that PyTorch 2.8 to 2.15 and ONNX Runtime accept: they require major version 9 and at least their own
 * minor. */
enum { VERSION_MAJOR = 9, VERSION_MINOR = 26, VERSION_PATCH = 0, CUDART_VERSION = 13020 };

size_t sim_cudnnGetVersion(void) { return VERSION_MAJOR * 10000 + VERSION_MINOR * 100 + VERSION_PATCH; }
size_t sim_cudnnGetCudartVersion(void) { return CUDART_VERSION; }
size_t sim_cudnnGetMaxDeviceVersion(void) { return 1210; } /* compute capability times 100 */

cudnnStatus_t sim_cudnnGetProperty(libraryPropertyType type, int *value) {
  static const int values[] = {VERSION_MAJOR, VERSION_MINOR, VERSION_PATCH};
  if (value == NULL || (unsigned)type > PATCH_LEVEL) return FAIL(BAD_PARAM);
  *value = values[(unsigned)type];
  return CUDNN_STATUS_SUCCESS;
}

/* ---- errors */

static _Thread_local struct {
  cudnnStatus_t status;
  const char *function;
} last_failure;

cudnnStatus_t vs_cudnn_fail(cudnnStatus_t status, const char *function) {
  last_failure.status = status;
  last_failure.function = strncmp(function, "sim_", 4) == 0 ? function + 4 : function;
  return status;
}

const char *sim_cudnnGetErrorString(cudnnStatus_t status) {
  switch ((int)status) {
#define VS_CUDNN_STATUS(name, value) \
  case name:                         \
    return #name;
#include "faces/simcuda/abi/cudnn_status.def"
#undef VS_CUDNN_STATUS
    default: return "CUDNN_UNKNOWN_STATUS";
  }
}

void sim_cudnnGetLastErrorString(char *text, size_t size) {
  if (text == NULL || size == 0) return;
  text[0] = '\0';
  if (last_failure.function != NULL)
    (void)snprintf(text, size, "%s: %s (simulated cuDNN)", last_failure.function,
                   sim_cudnnGetErrorString(last_failure.status));
  last_failure.function = NULL;
}

cudnnStatus_t sim_cudnnQueryRuntimeError(cudnnHandle_t handle, cudnnStatus_t *status,
                                         cudnnErrQueryMode_t mode, cudnnRuntimeTag_t *tag) {
  (void)mode, (void)tag;
  if (!IS_HANDLE(handle) || status == NULL) return FAIL(BAD_PARAM);
  *status = CUDNN_STATUS_SUCCESS;
  return CUDNN_STATUS_SUCCESS;
}

static struct {
  unsigned mask;
  void *own;
  cudnnCallback_t function;
} callback;

cudnnStatus_t sim_cudnnSetCallback(unsigned mask, void *own, cudnnCallback_t function) {
  callback.mask = mask, callback.own = own, callback.function = function;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t sim_cudnnGetCallback(unsigned *mask, void **own, cudnnCallback_t *function) {
  if (mask == NULL || own == NULL || function == NULL) return FAIL(BAD_PARAM);
  *mask = callback.mask, *own = callback.own, *function = callback.function;
  return CUDNN_STATUS_SUCCESS;
}

/* All parts of the library are in this one, so their versions agree. */
cudnnStatus_t sim_cudnnGraphVersionCheck(void) { return CUDNN_STATUS_SUCCESS; }
cudnnStatus_t sim_cudnnOpsVersionCheck(void) { return CUDNN_STATUS_SUCCESS; }
cudnnStatus_t sim_cudnnCnnVersionCheck(void) { return CUDNN_STATUS_SUCCESS; }
cudnnStatus_t sim_cudnnAdvVersionCheck(void) { return CUDNN_STATUS_SUCCESS; }

/* ---- handles */

static vs_shelf handles = VS_SHELF(CUDNN_TAG_Handle, struct cudnnContext);

cudnnStatus_t sim_cudnnCreate(cudnnHandle_t *handle) {
  if (handle == NULL) return FAIL(BAD_PARAM_NULL_POINTER);
  if (vs_begin_library() != VS_SIM_OK) return FAIL(NOT_INITIALIZED);
  cudnnHandle_t made = vs_shelf_take(&handles);
  if (made == NULL) return FAIL(INTERNAL_ERROR_HOST_ALLOCATION_FAILED);
  made->device = vs_simcuda_this_thread()->device;
  if (vs_simcuda_own_take(made->device, VS_SIM_OWN_CUDNN) != VS_SIM_OK) {
    (void)vs_shelf_put_back(&handles, made);
    return FAIL(INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED);
  }
  *handle = made;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t sim_cudnnDestroy(cudnnHandle_t handle) {
  if (!IS_HANDLE(handle)) return FAIL(BAD_PARAM);
  vs_simcuda_own_give(handle->device, VS_SIM_OWN_CUDNN);
  return vs_shelf_put_back(&handles, handle) ? CUDNN_STATUS_SUCCESS : FAIL(BAD_PARAM);
}

cudnnStatus_t sim_cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream) {
  if (!IS_HANDLE(handle)) return FAIL(BAD_PARAM);
  handle->stream = (uintptr_t)stream;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t sim_cudnnGetStream(cudnnHandle_t handle, cudaStream_t *stream) {
  if (!IS_HANDLE(handle) || stream == NULL) return FAIL(BAD_PARAM);
  *stream = (cudaStream_t)(uintptr_t)handle->stream;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t vs_cudnn_work(cudnnHandle_t handle) {
  return vs_simcuda_work_on(handle->stream, VS_SIMCUDA_KERNEL) == VS_SIM_OK ? CUDNN_STATUS_SUCCESS
                                                                            : FAIL(EXECUTION_FAILED);
}

/* ---- the workspaces of convolutions */

static struct {
  vs_cudnn_workspaces kind;
  uint64_t bytes; /* with VS_CUDNN_EQUAL */
} configured;

static void read_workspaces(void) {
  const char *text = getenv("VRAMSCOPE_SIM_CUDNN_WORKSPACE");
  if (text == NULL || *text == '\0') return;
  configured.kind = strcmp(text, "most") == 0 ? VS_CUDNN_MOST : VS_CUDNN_EQUAL;
  if (configured.kind == VS_CUDNN_EQUAL &&
      !vs_sim_size_parse((vs_str){text, strlen(text)}, &configured.bytes)) {
    configured.bytes = 0;
    vs_simcuda_say_once("VRAMSCOPE_SIM_CUDNN_WORKSPACE is neither a size such as 128MiB nor \"most\": "
                        "convolutions get no workspace");
  }
}

vs_cudnn_workspaces vs_cudnn_configured_workspaces(uint64_t *bytes) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  (void)pthread_once(&once, read_workspaces);
  if (configured.kind == VS_CUDNN_EQUAL) *bytes = configured.bytes;
  return configured.kind;
}

static const char *why_workspace(uint64_t most) {
  const vs_sim_figures *figures = vs_simcuda_figures(vs_simcuda_this_thread()->device);
  if (configured.kind == VS_CUDNN_EQUAL)
    return "every convolution got the workspace of VRAMSCOPE_SIM_CUDNN_WORKSPACE";
  if (most == UINT64_MAX)
    return "cuDNN asks for 0 to some hundred MiB (3-D: GiB); no rule is known for this convolution, and it "
           "got none "
           "(VRAMSCOPE_SIM_CUDNN_WORKSPACE sets one size for all)";
  if (figures != NULL && figures->compute_major == 9)
    return "cuDNN chooses an engine for each convolution; the workspace follows a rule measured on an H100 "
           "with cuDNN 9.19, where "
           "most sizes are exact; other versions, and cudnn.benchmark, choose others";
  return "cuDNN chooses an engine for each convolution by the card; the workspace follows a rule measured on "
         "an H100, and this "
         "card may ask for more or less";
}

/* By how much `value` exceeds the largest before. */
static uint64_t grow(uint64_t *largest, uint64_t value) {
  const uint64_t more = value > *largest ? value - *largest : 0;
  *largest += more;
  return more;
}

/* The sizes of a key are summed in the notes, so a note adds what exceeds the largest before: the sum is the
 * largest. */
void vs_cudnn_note_convolution(uint64_t bytes, uint64_t most) {
  static pthread_mutex_t largest_lock = PTHREAD_MUTEX_INITIALIZER;
  static uint64_t largest, largest_most;
  if (configured.kind != VS_CUDNN_MEASURED) most = UINT64_MAX;
  pthread_mutex_lock(&largest_lock);
  const uint64_t more = grow(&largest, bytes), more_most = grow(&largest_most, most);
  pthread_mutex_unlock(&largest_lock);
  vs_simcuda_guess_below("cudnn_workspace", more, more_most, why_workspace(most));
}

uint64_t vs_cudnn_workspace(void) {
  uint64_t bytes = 0;
  (void)vs_cudnn_configured_workspaces(&bytes);
  vs_cudnn_note_convolution(bytes, UINT64_MAX);
  return bytes;
}
