/* cuSOLVER: the types and the functions written by hand. The computations and the sizes of their workspaces
 * are rows of cusolver_computes.def. */
#ifndef VS_SIMCUDA_ABI_CUSOLVER_H
#define VS_SIMCUDA_ABI_CUSOLVER_H

#include "faces/simcuda/abi/cublas_types.h"

#if VS_ABI_TOOLKIT
#include <cusolverDn.h>
#include <cusolverSp.h>
#else
typedef struct cusolverDnContext *cusolverDnHandle_t;
typedef struct cusolverSpContext *cusolverSpHandle_t;
typedef struct cusolverDnParams *cusolverDnParams_t;
typedef struct syevjInfo *syevjInfo_t;
typedef struct gesvdjInfo *gesvdjInfo_t;
typedef struct cusparseMatDescr *cusparseMatDescr_t;
typedef int cusolver_int_t;

typedef enum {
  CUSOLVER_STATUS_SUCCESS = 0,
  CUSOLVER_STATUS_NOT_INITIALIZED = 1,
  CUSOLVER_STATUS_ALLOC_FAILED = 2,
  CUSOLVER_STATUS_INVALID_VALUE = 3,
  CUSOLVER_STATUS_EXECUTION_FAILED = 6,
  CUSOLVER_STATUS_INTERNAL_ERROR = 7,
  CUSOLVER_STATUS_NOT_SUPPORTED = 9
} cusolverStatus_t;
typedef enum { CUSOLVER_EIG_MODE_NOVECTOR, CUSOLVER_EIG_MODE_VECTOR } cusolverEigMode_t;
typedef enum {
  CUSOLVER_EIG_RANGE_ALL = 1001,
  CUSOLVER_EIG_RANGE_I = 1002,
  CUSOLVER_EIG_RANGE_V = 1003
} cusolverEigRange_t;
typedef enum { CUSOLVER_ALG_0, CUSOLVER_ALG_1, CUSOLVER_ALG_2 } cusolverAlgMode_t;
typedef enum { CUSOLVERDN_GETRF, CUSOLVERDN_FUNCTION_MOST = 0xff } cusolverDnFunction_t;
typedef enum {
  CUSOLVER_DETERMINISTIC_RESULTS = 1,
  CUSOLVER_ALLOW_NON_DETERMINISTIC_RESULTS = 2
} cusolverDeterministicMode_t;
#endif

cusolverStatus_t sim_cusolverGetProperty(libraryPropertyType type, int *value);
cusolverStatus_t sim_cusolverGetVersion(int *to);

/* Handles of the dense and the sparse part. */
#define VS_CUSOLVER_HANDLE(Part)                                                                        \
  cusolverStatus_t sim_cusolver##Part##Create(cusolver##Part##Handle_t *handle);                        \
  cusolverStatus_t sim_cusolver##Part##Destroy(cusolver##Part##Handle_t handle);                        \
  cusolverStatus_t sim_cusolver##Part##SetStream(cusolver##Part##Handle_t handle, cudaStream_t stream); \
  cusolverStatus_t sim_cusolver##Part##GetStream(cusolver##Part##Handle_t handle, cudaStream_t *stream);
VS_CUSOLVER_HANDLE(Dn)
VS_CUSOLVER_HANDLE(Sp)
#undef VS_CUSOLVER_HANDLE

cusolverStatus_t sim_cusolverDnCreateParams(cusolverDnParams_t *made);
cusolverStatus_t sim_cusolverDnDestroyParams(cusolverDnParams_t made);
cusolverStatus_t sim_cusolverDnSetAdvOptions(cusolverDnParams_t params, cusolverDnFunction_t function,
                                             cusolverAlgMode_t algorithm);
cusolverStatus_t sim_cusolverDnSetDeterministicMode(cusolverDnHandle_t handle,
                                                    cusolverDeterministicMode_t mode);
cusolverStatus_t sim_cusolverDnGetDeterministicMode(cusolverDnHandle_t handle,
                                                    cusolverDeterministicMode_t *mode);

/* Settings of the two Jacobi methods. */
#define VS_CUSOLVER_JACOBI(Create, Destroy, X, info_type)                                    \
  cusolverStatus_t sim_cusolverDn##Create(info_type *info);                                  \
  cusolverStatus_t sim_cusolverDn##Destroy(info_type info);                                  \
  cusolverStatus_t sim_cusolverDn##X##SetTolerance(info_type info, double tolerance);        \
  cusolverStatus_t sim_cusolverDn##X##SetMaxSweeps(info_type info, int sweeps);              \
  cusolverStatus_t sim_cusolverDn##X##SetSortEig(info_type info, int is_sorted);             \
  cusolverStatus_t sim_cusolverDn##X##GetResidual(cusolverDnHandle_t handle, info_type info, \
                                                  double *residual);                         \
  cusolverStatus_t sim_cusolverDn##X##GetSweeps(cusolverDnHandle_t handle, info_type info, int *sweeps);
VS_CUSOLVER_JACOBI(CreateSyevjInfo, DestroySyevjInfo, Xsyevj, syevjInfo_t)
VS_CUSOLVER_JACOBI(CreateGesvdjInfo, DestroyGesvdjInfo, Xgesvdj, gesvdjInfo_t)
#undef VS_CUSOLVER_JACOBI

#define VS_COMPUTE(name, arguments, laws, results) cusolverStatus_t sim_##name arguments;
#define VS_SIZE                                    VS_COMPUTE
#include "faces/simcuda/abi/cusolver_computes.def"
#undef VS_SIZE
#undef VS_COMPUTE

#endif
