/* cuSPARSE: the types, and declarations of the functions of its list. The computations and the sizes of their buffers are
 * rows of cusparse_computes.def. */
#ifndef VS_SIMCUDA_ABI_CUSPARSE_H
#define VS_SIMCUDA_ABI_CUSPARSE_H

#include <stdio.h>

#include "faces/simcuda/abi/math_types.h"

#if VS_ABI_TOOLKIT
#include <cusparse.h>
#else
/* VS_CUSPARSE_STATUS(name, value, text) */
#define VS_CUSPARSE_STATUSES(VS_CUSPARSE_STATUS)                                                          \
  VS_CUSPARSE_STATUS(CUSPARSE_STATUS_SUCCESS, 0, "success")                                               \
  VS_CUSPARSE_STATUS(CUSPARSE_STATUS_NOT_INITIALIZED, 1, "the library was not initialized")               \
  VS_CUSPARSE_STATUS(CUSPARSE_STATUS_ALLOC_FAILED, 2, "the library found no memory")                      \
  VS_CUSPARSE_STATUS(CUSPARSE_STATUS_INVALID_VALUE, 3, "an argument has an unlawful value")               \
  VS_CUSPARSE_STATUS(CUSPARSE_STATUS_ARCH_MISMATCH, 4, "the device lacks a feature that is needed")       \
  VS_CUSPARSE_STATUS(CUSPARSE_STATUS_MAPPING_ERROR, 5, "GPU memory could not be accessed")                \
  VS_CUSPARSE_STATUS(CUSPARSE_STATUS_EXECUTION_FAILED, 6, "the work could not be started on the GPU")     \
  VS_CUSPARSE_STATUS(CUSPARSE_STATUS_INTERNAL_ERROR, 7, "an internal operation failed")                   \
  VS_CUSPARSE_STATUS(CUSPARSE_STATUS_MATRIX_TYPE_NOT_SUPPORTED, 8, "the type of matrix is not supported") \
  VS_CUSPARSE_STATUS(CUSPARSE_STATUS_ZERO_PIVOT, 9, "a pivot is zero")                                    \
  VS_CUSPARSE_STATUS(CUSPARSE_STATUS_NOT_SUPPORTED, 10, "not supported")                                  \
  VS_CUSPARSE_STATUS(CUSPARSE_STATUS_INSUFFICIENT_RESOURCES, 11, "the resources do not suffice")
#define VS_CUSPARSE_STATUS(name, value, text) name = (value),
typedef enum { VS_CUSPARSE_STATUSES(VS_CUSPARSE_STATUS) } cusparseStatus_t;
#undef VS_CUSPARSE_STATUS

typedef struct cusparseContext *cusparseHandle_t;
typedef struct cusparseMatDescr *cusparseMatDescr_t;
typedef struct cusparseSpVecDescr *cusparseSpVecDescr_t;
typedef struct cusparseDnVecDescr *cusparseDnVecDescr_t;
typedef struct cusparseSpMatDescr *cusparseSpMatDescr_t;
typedef struct cusparseDnMatDescr *cusparseDnMatDescr_t;
typedef struct cusparseSpVecDescr const *cusparseConstSpVecDescr_t;
typedef struct cusparseDnVecDescr const *cusparseConstDnVecDescr_t;
typedef struct cusparseSpMatDescr const *cusparseConstSpMatDescr_t;
typedef struct cusparseDnMatDescr const *cusparseConstDnMatDescr_t;
typedef struct csric02Info *csric02Info_t;
typedef struct bsric02Info *bsric02Info_t;
typedef struct csrilu02Info *csrilu02Info_t;
typedef struct bsrilu02Info *bsrilu02Info_t;
typedef struct bsrsv2Info *bsrsv2Info_t;
typedef struct bsrsm2Info *bsrsm2Info_t;
typedef struct cusparseSpSVDescr *cusparseSpSVDescr_t;
typedef struct cusparseSpSMDescr *cusparseSpSMDescr_t;
typedef struct cusparseSpGEMMDescr *cusparseSpGEMMDescr_t;

typedef enum { CUSPARSE_POINTER_MODE_HOST, CUSPARSE_POINTER_MODE_DEVICE } cusparsePointerMode_t;
typedef enum { CUSPARSE_ACTION_SYMBOLIC, CUSPARSE_ACTION_NUMERIC } cusparseAction_t;
typedef enum { CUSPARSE_MATRIX_TYPE_GENERAL, CUSPARSE_MATRIX_TYPE_TRIANGULAR = 3 } cusparseMatrixType_t;
typedef enum { CUSPARSE_FILL_MODE_LOWER, CUSPARSE_FILL_MODE_UPPER } cusparseFillMode_t;
typedef enum { CUSPARSE_DIAG_TYPE_NON_UNIT, CUSPARSE_DIAG_TYPE_UNIT } cusparseDiagType_t;
typedef enum { CUSPARSE_INDEX_BASE_ZERO, CUSPARSE_INDEX_BASE_ONE } cusparseIndexBase_t;
typedef enum {
  CUSPARSE_OPERATION_NON_TRANSPOSE,
  CUSPARSE_OPERATION_TRANSPOSE,
  CUSPARSE_OPERATION_CONJUGATE_TRANSPOSE
} cusparseOperation_t;
typedef enum { CUSPARSE_DIRECTION_ROW, CUSPARSE_DIRECTION_COLUMN } cusparseDirection_t;
typedef enum { CUSPARSE_SOLVE_POLICY_NO_LEVEL, CUSPARSE_SOLVE_POLICY_USE_LEVEL } cusparseSolvePolicy_t;
typedef enum { CUSPARSE_CSR2CSC_ALG_DEFAULT = 1 } cusparseCsr2CscAlg_t;
typedef enum {
  CUSPARSE_FORMAT_CSR = 1,
  CUSPARSE_FORMAT_CSC = 2,
  CUSPARSE_FORMAT_COO = 3,
  CUSPARSE_FORMAT_BLOCKED_ELL = 5,
  CUSPARSE_FORMAT_BSR = 6,
  CUSPARSE_FORMAT_SLICED_ELLPACK = 7
} cusparseFormat_t;
typedef enum { CUSPARSE_ORDER_COL = 1, CUSPARSE_ORDER_ROW = 2 } cusparseOrder_t;
typedef enum { CUSPARSE_INDEX_16U = 1, CUSPARSE_INDEX_32I = 2, CUSPARSE_INDEX_64I = 3 } cusparseIndexType_t;
typedef enum { CUSPARSE_SPMAT_FILL_MODE, CUSPARSE_SPMAT_DIAG_TYPE } cusparseSpMatAttribute_t;
typedef enum { CUSPARSE_SPMV_ALG_DEFAULT } cusparseSpMVAlg_t;
typedef enum { CUSPARSE_SPMM_ALG_DEFAULT } cusparseSpMMAlg_t;
typedef enum { CUSPARSE_SPGEMM_DEFAULT } cusparseSpGEMMAlg_t;
typedef enum { CUSPARSE_SPSV_ALG_DEFAULT } cusparseSpSVAlg_t;
typedef enum { CUSPARSE_SPSM_ALG_DEFAULT } cusparseSpSMAlg_t;
typedef enum { CUSPARSE_SPSV_UPDATE_GENERAL } cusparseSpSVUpdate_t;
typedef enum { CUSPARSE_SPSM_UPDATE_GENERAL } cusparseSpSMUpdate_t;
typedef enum { CUSPARSE_SDDMM_ALG_DEFAULT } cusparseSDDMMAlg_t;
typedef enum { CUSPARSE_SPARSETODENSE_ALG_DEFAULT } cusparseSparseToDenseAlg_t;
typedef enum { CUSPARSE_DENSETOSPARSE_ALG_DEFAULT } cusparseDenseToSparseAlg_t;
typedef void (*cusparseLoggerCallback_t)(int level, const char *function, const char *text);
#endif

#include "faces/simcuda/abi/declare.h"
#include "faces/simcuda/abi/cusparse_names.def"
#include "faces/simcuda/abi/declared.h"

#endif
