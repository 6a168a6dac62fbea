/* cuSOLVER: the types, and declarations of the functions of its list. The computations and the sizes of their workspaces
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

#include "faces/simcuda/abi/declare.h"
#include "faces/simcuda/abi/cusolver_names.def"
#include "faces/simcuda/abi/declared.h"

#endif
