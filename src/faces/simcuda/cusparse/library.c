/* Handles, versions, texts, and the log, which stays empty. */
#include "faces/simcuda/cusparse/objects.h"

static vs_shelf handles = VS_SHELF(CUSPARSE_TAG_Handle, struct cusparseContext);

cusparseStatus_t sim_cusparseCreate(cusparseHandle_t *handle) {
  if (handle == NULL) return CUSPARSE_STATUS_INVALID_VALUE;
  if (vs_begin_library() != VS_SIM_OK) return CUSPARSE_STATUS_NOT_INITIALIZED;
  *handle = vs_shelf_take(&handles);
  return *handle != NULL ? CUSPARSE_STATUS_SUCCESS : CUSPARSE_STATUS_ALLOC_FAILED;
}

cusparseStatus_t sim_cusparseDestroy(cusparseHandle_t handle) {
  return vs_shelf_put_back(&handles, handle) ? CUSPARSE_STATUS_SUCCESS : CUSPARSE_STATUS_NOT_INITIALIZED;
}

cusparseStatus_t sim_cusparseSetStream(cusparseHandle_t handle, cudaStream_t stream) {
  if (!IS_HANDLE(handle)) return CUSPARSE_STATUS_NOT_INITIALIZED;
  handle->stream = (uintptr_t)stream;
  return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t sim_cusparseGetStream(cusparseHandle_t handle, cudaStream_t *stream) {
  if (!IS_HANDLE(handle)) return CUSPARSE_STATUS_NOT_INITIALIZED;
  if (stream == NULL) return CUSPARSE_STATUS_INVALID_VALUE;
  *stream = (cudaStream_t)(uintptr_t)handle->stream;
  return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t sim_cusparseSetPointerMode(cusparseHandle_t handle, cusparsePointerMode_t mode) {
  if (!IS_HANDLE(handle)) return CUSPARSE_STATUS_NOT_INITIALIZED;
  handle->pointer_mode = mode;
  return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t sim_cusparseGetPointerMode(cusparseHandle_t handle, cusparsePointerMode_t *mode) {
  if (!IS_HANDLE(handle)) return CUSPARSE_STATUS_NOT_INITIALIZED;
  if (mode == NULL) return CUSPARSE_STATUS_INVALID_VALUE;
  *mode = handle->pointer_mode;
  return CUSPARSE_STATUS_SUCCESS;
}

static const int version[] = {12, 7, 0};

cusparseStatus_t sim_cusparseGetVersion(cusparseHandle_t handle, int *to) {
  if (!IS_HANDLE(handle)) return CUSPARSE_STATUS_NOT_INITIALIZED;
  if (to == NULL) return CUSPARSE_STATUS_INVALID_VALUE;
  *to = version[0] * 1000 + version[1] * 100 + version[2];
  return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t sim_cusparseGetProperty(libraryPropertyType type, int *value) {
  if (value == NULL || (unsigned)type > PATCH_LEVEL) return CUSPARSE_STATUS_INVALID_VALUE;
  *value = version[(unsigned)type];
  return CUSPARSE_STATUS_SUCCESS;
}

static const char *words(cusparseStatus_t status, bool is_name) {
  switch ((int)status) {
#define VS_CUSPARSE_STATUS(name, value, text) \
  case value: return is_name ? #name : text;
    VS_CUSPARSE_STATUSES(VS_CUSPARSE_STATUS)
#undef VS_CUSPARSE_STATUS
    default: return is_name ? "CUSPARSE_STATUS_UNKNOWN" : "unknown status";
  }
}

const char *sim_cusparseGetErrorName(cusparseStatus_t status) { return words(status, true); }
const char *sim_cusparseGetErrorString(cusparseStatus_t status) { return words(status, false); }

#define LOGGER(name, type)                                \
  cusparseStatus_t sim_cusparseLogger##name(type value) { \
    (void)value;                                          \
    return CUSPARSE_STATUS_SUCCESS;                       \
  }
LOGGER(SetCallback, cusparseLoggerCallback_t)
LOGGER(SetFile, FILE *)
LOGGER(OpenFile, const char *)
LOGGER(SetLevel, int)
LOGGER(SetMask, int)

cusparseStatus_t sim_cusparseLoggerForceDisable(void) { return CUSPARSE_STATUS_SUCCESS; }
