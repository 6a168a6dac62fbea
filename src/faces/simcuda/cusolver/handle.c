/* Handles, parameters, and the settings of the Jacobi methods. */
#include "faces/simcuda/cusolver/handle.h"

/* Charges the memory of a handle that was just taken from its shelf, or puts it back. */
static cusolverStatus_t charge(vs_shelf *shelf, void *handle) {
  if (handle == NULL) return CUSOLVER_STATUS_ALLOC_FAILED;
  solver *made = handle;
  made->device = vs_simcuda_this_thread()->device;
  if (vs_simcuda_own_take(made->device, VS_SIM_OWN_CUSOLVER) == VS_SIM_OK) return CUSOLVER_STATUS_SUCCESS;
  (void)vs_shelf_put_back(shelf, handle);
  return CUSOLVER_STATUS_ALLOC_FAILED;
}

static cusolverStatus_t give_back(vs_shelf *shelf, void *handle) {
  if (!vs_is_solver(handle)) return CUSOLVER_STATUS_NOT_INITIALIZED;
  const uint32_t device = ((const solver *)handle)->device;
  if (!vs_shelf_put_back(shelf, handle)) return CUSOLVER_STATUS_NOT_INITIALIZED;
  vs_simcuda_own_give(device, VS_SIM_OWN_CUSOLVER);
  return CUSOLVER_STATUS_SUCCESS;
}

#define PART(Part, TAG)                                                                                   \
  static vs_shelf shelf_of_##Part = VS_SHELF(TAG, solver);                                                \
  cusolverStatus_t sim_cusolver##Part##Create(cusolver##Part##Handle_t *handle) {                         \
    if (handle == NULL) return CUSOLVER_STATUS_INVALID_VALUE;                                             \
    if (vs_begin_library() != VS_SIM_OK) return CUSOLVER_STATUS_NOT_INITIALIZED;                          \
    void *made = vs_shelf_take(&shelf_of_##Part);                                                         \
    *handle = made;                                                                                       \
    return charge(&shelf_of_##Part, made);                                                                \
  }                                                                                                       \
  cusolverStatus_t sim_cusolver##Part##Destroy(cusolver##Part##Handle_t handle) {                         \
    return give_back(&shelf_of_##Part, handle);                                                           \
  }                                                                                                       \
  cusolverStatus_t sim_cusolver##Part##SetStream(cusolver##Part##Handle_t handle, cudaStream_t stream) {  \
    if (!vs_object_is(handle, TAG)) return CUSOLVER_STATUS_NOT_INITIALIZED;                               \
    ((solver *)(void *)handle)->stream = (uintptr_t)stream;                                               \
    return CUSOLVER_STATUS_SUCCESS;                                                                       \
  }                                                                                                       \
  cusolverStatus_t sim_cusolver##Part##GetStream(cusolver##Part##Handle_t handle, cudaStream_t *stream) { \
    if (!vs_object_is(handle, TAG)) return CUSOLVER_STATUS_NOT_INITIALIZED;                               \
    if (stream == NULL) return CUSOLVER_STATUS_INVALID_VALUE;                                             \
    *stream = (cudaStream_t)(uintptr_t)((const solver *)(const void *)handle)->stream;                    \
    return CUSOLVER_STATUS_SUCCESS;                                                                       \
  }
PART(Dn, CUSOLVER_TAG_DENSE)
PART(Sp, CUSOLVER_TAG_SPARSE)

cusolverStatus_t sim_cusolverDnSetDeterministicMode(cusolverDnHandle_t handle,
                                                    cusolverDeterministicMode_t mode) {
  if (!vs_object_is(handle, CUSOLVER_TAG_DENSE)) return CUSOLVER_STATUS_NOT_INITIALIZED;
  ((solver *)(void *)handle)->deterministic = (int)mode;
  return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t sim_cusolverDnGetDeterministicMode(cusolverDnHandle_t handle,
                                                    cusolverDeterministicMode_t *mode) {
  if (!vs_object_is(handle, CUSOLVER_TAG_DENSE)) return CUSOLVER_STATUS_NOT_INITIALIZED;
  if (mode == NULL) return CUSOLVER_STATUS_INVALID_VALUE;
  const int set = ((const solver *)(const void *)handle)->deterministic;
  *mode = set != 0 ? (cusolverDeterministicMode_t)set : CUSOLVER_DETERMINISTIC_RESULTS;
  return CUSOLVER_STATUS_SUCCESS;
}

/* ---- parameters and settings: stored, without effect */

typedef struct settings {
  vs_object object;
} settings;

#define SETTINGS(Create, Destroy, type, a, b, c, d)                                                     \
  static vs_shelf shelf_of_##Create = VS_SHELF(VS_TAG(a, b, c, d), settings);                           \
  cusolverStatus_t sim_cusolverDn##Create(type *made) {                                                 \
    if (made == NULL) return CUSOLVER_STATUS_INVALID_VALUE;                                             \
    *made = vs_shelf_take(&shelf_of_##Create);                                                          \
    return *made != NULL ? CUSOLVER_STATUS_SUCCESS : CUSOLVER_STATUS_ALLOC_FAILED;                      \
  }                                                                                                     \
  cusolverStatus_t sim_cusolverDn##Destroy(type made) {                                                 \
    return made == NULL || vs_shelf_put_back(&shelf_of_##Create, made) ? CUSOLVER_STATUS_SUCCESS        \
                                                                       : CUSOLVER_STATUS_INVALID_VALUE; \
  }                                                                                                     \
  static bool is_of_##Create(type made) { return vs_object_is(made, VS_TAG(a, b, c, d)); }
SETTINGS(CreateParams, DestroyParams, cusolverDnParams_t, 's', 'p', 'a', 'r')
SETTINGS(CreateSyevjInfo, DestroySyevjInfo, syevjInfo_t, 's', 's', 'y', 'e')
SETTINGS(CreateGesvdjInfo, DestroyGesvdjInfo, gesvdjInfo_t, 's', 'g', 'e', 's')

cusolverStatus_t sim_cusolverDnSetAdvOptions(cusolverDnParams_t params, cusolverDnFunction_t function,
                                             cusolverAlgMode_t algorithm) {
  (void)function, (void)algorithm;
  return is_of_CreateParams(params) ? CUSOLVER_STATUS_SUCCESS : CUSOLVER_STATUS_INVALID_VALUE;
}

#define JACOBI(Create, X, type)                                                                              \
  cusolverStatus_t sim_cusolverDn##X##SetTolerance(type info, double tolerance) {                            \
    return is_of_##Create(info) && tolerance >= 0 ? CUSOLVER_STATUS_SUCCESS : CUSOLVER_STATUS_INVALID_VALUE; \
  }                                                                                                          \
  cusolverStatus_t sim_cusolverDn##X##SetMaxSweeps(type info, int sweeps) {                                  \
    return is_of_##Create(info) && sweeps >= 0 ? CUSOLVER_STATUS_SUCCESS : CUSOLVER_STATUS_INVALID_VALUE;    \
  }                                                                                                          \
  cusolverStatus_t sim_cusolverDn##X##SetSortEig(type info, int is_sorted) {                                 \
    (void)is_sorted;                                                                                         \
    return is_of_##Create(info) ? CUSOLVER_STATUS_SUCCESS : CUSOLVER_STATUS_INVALID_VALUE;                   \
  }                                                                                                          \
  cusolverStatus_t sim_cusolverDn##X##GetResidual(cusolverDnHandle_t handle, type info, double *residual) {  \
    if (!vs_object_is(handle, CUSOLVER_TAG_DENSE)) return CUSOLVER_STATUS_NOT_INITIALIZED;                   \
    if (!is_of_##Create(info) || residual == NULL) return CUSOLVER_STATUS_INVALID_VALUE;                     \
    *residual = 0;                                                                                           \
    return CUSOLVER_STATUS_SUCCESS;                                                                          \
  }                                                                                                          \
  cusolverStatus_t sim_cusolverDn##X##GetSweeps(cusolverDnHandle_t handle, type info, int *sweeps) {         \
    if (!vs_object_is(handle, CUSOLVER_TAG_DENSE)) return CUSOLVER_STATUS_NOT_INITIALIZED;                   \
    if (!is_of_##Create(info) || sweeps == NULL) return CUSOLVER_STATUS_INVALID_VALUE;                       \
    *sweeps = 0;                                                                                             \
    return CUSOLVER_STATUS_SUCCESS;                                                                          \
  }
JACOBI(CreateSyevjInfo, Xsyevj, syevjInfo_t)
JACOBI(CreateGesvdjInfo, Xgesvdj, gesvdjInfo_t)

/* ---- versions */

#if VS_TOOLKIT >= 13
static const int version[] = {12, 1, 0};
#else
static const int version[] = {11, 7, 3};
#endif

cusolverStatus_t sim_cusolverGetProperty(libraryPropertyType type, int *value) {
  if (value == NULL || (unsigned)type > PATCH_LEVEL) return CUSOLVER_STATUS_INVALID_VALUE;
  *value = version[(unsigned)type];
  return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t sim_cusolverGetVersion(int *to) {
  if (to == NULL) return CUSOLVER_STATUS_INVALID_VALUE;
  *to = version[0] * 1000 + version[1] * 100 + version[2];
  return CUSOLVER_STATUS_SUCCESS;
}
