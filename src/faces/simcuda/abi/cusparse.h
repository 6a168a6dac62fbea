/* cuSPARSE: the types and the functions written by hand. The computations and the sizes of their buffers are
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

/* ---- library */

cusparseStatus_t sim_cusparseCreate(cusparseHandle_t *handle);
cusparseStatus_t sim_cusparseDestroy(cusparseHandle_t handle);
cusparseStatus_t sim_cusparseGetVersion(cusparseHandle_t handle, int *to);
cusparseStatus_t sim_cusparseGetProperty(libraryPropertyType type, int *value);
const char *sim_cusparseGetErrorName(cusparseStatus_t status);
const char *sim_cusparseGetErrorString(cusparseStatus_t status);
cusparseStatus_t sim_cusparseSetStream(cusparseHandle_t handle, cudaStream_t stream);
cusparseStatus_t sim_cusparseGetStream(cusparseHandle_t handle, cudaStream_t *stream);
cusparseStatus_t sim_cusparseSetPointerMode(cusparseHandle_t handle, cusparsePointerMode_t mode);
cusparseStatus_t sim_cusparseGetPointerMode(cusparseHandle_t handle, cusparsePointerMode_t *mode);
cusparseStatus_t sim_cusparseLoggerSetCallback(cusparseLoggerCallback_t value);
cusparseStatus_t sim_cusparseLoggerSetFile(FILE *value);
cusparseStatus_t sim_cusparseLoggerOpenFile(const char *value);
cusparseStatus_t sim_cusparseLoggerSetLevel(int value);
cusparseStatus_t sim_cusparseLoggerSetMask(int value);
cusparseStatus_t sim_cusparseLoggerForceDisable(void);

/* ---- descriptors of the old interface */

cusparseStatus_t sim_cusparseCreateMatDescr(cusparseMatDescr_t *descriptor);
cusparseStatus_t sim_cusparseDestroyMatDescr(cusparseMatDescr_t descriptor);
cusparseStatus_t sim_cusparseSetMatType(cusparseMatDescr_t descriptor, cusparseMatrixType_t value);
cusparseMatrixType_t sim_cusparseGetMatType(const cusparseMatDescr_t descriptor);
cusparseStatus_t sim_cusparseSetMatFillMode(cusparseMatDescr_t descriptor, cusparseFillMode_t value);
cusparseFillMode_t sim_cusparseGetMatFillMode(const cusparseMatDescr_t descriptor);
cusparseStatus_t sim_cusparseSetMatDiagType(cusparseMatDescr_t descriptor, cusparseDiagType_t value);
cusparseDiagType_t sim_cusparseGetMatDiagType(const cusparseMatDescr_t descriptor);
cusparseStatus_t sim_cusparseSetMatIndexBase(cusparseMatDescr_t descriptor, cusparseIndexBase_t value);
cusparseIndexBase_t sim_cusparseGetMatIndexBase(const cusparseMatDescr_t descriptor);

/* What analyses keep: VS_INFO(type, create, destroy). Nothing is in them. */
#define VS_CUSPARSE_INFOS(VS_INFO)                                  \
  VS_INFO(csric02Info_t, CreateCsric02Info, DestroyCsric02Info)     \
  VS_INFO(bsric02Info_t, CreateBsric02Info, DestroyBsric02Info)     \
  VS_INFO(csrilu02Info_t, CreateCsrilu02Info, DestroyCsrilu02Info)  \
  VS_INFO(bsrilu02Info_t, CreateBsrilu02Info, DestroyBsrilu02Info)  \
  VS_INFO(bsrsv2Info_t, CreateBsrsv2Info, DestroyBsrsv2Info)        \
  VS_INFO(bsrsm2Info_t, CreateBsrsm2Info, DestroyBsrsm2Info)        \
  VS_INFO(cusparseSpSVDescr_t, SpSV_createDescr, SpSV_destroyDescr) \
  VS_INFO(cusparseSpSMDescr_t, SpSM_createDescr, SpSM_destroyDescr) \
  VS_INFO(cusparseSpGEMMDescr_t, SpGEMM_createDescr, SpGEMM_destroyDescr)
#define VS_INFO(type, create, destroy)               \
  cusparseStatus_t sim_cusparse##create(type *info); \
  cusparseStatus_t sim_cusparse##destroy(type info);
VS_CUSPARSE_INFOS(VS_INFO)
#undef VS_INFO

/* ---- vectors and matrices. Each is made, and asked for its parts, in two forms: the second promises not to
 * write. */

#define VS_CUSPARSE_PARTS(Const, qualifier)                                                                 \
  cusparseStatus_t sim_cusparseCreate##Const##SpVec(                                                        \
      cusparse##Const##SpVecDescr_t *vector, int64_t size, int64_t nnz, qualifier void *indices,            \
      qualifier void *values, cusparseIndexType_t index_type, cusparseIndexBase_t base, cudaDataType type); \
  cusparseStatus_t sim_cusparse##Const##SpVecGet(cusparse##Const##SpVecDescr_t vector, int64_t *size,       \
                                                 int64_t *nnz, qualifier void **indices,                    \
                                                 qualifier void **values, cusparseIndexType_t *index_type,  \
                                                 cusparseIndexBase_t *base, cudaDataType *type);            \
  cusparseStatus_t sim_cusparse##Const##SpVecGetValues(cusparse##Const##SpVecDescr_t vector,                \
                                                       qualifier void **values);                            \
  cusparseStatus_t sim_cusparseCreate##Const##DnVec(cusparse##Const##DnVecDescr_t *vector, int64_t size,    \
                                                    qualifier void *values, cudaDataType type);             \
  cusparseStatus_t sim_cusparse##Const##DnVecGet(cusparse##Const##DnVecDescr_t vector, int64_t *size,       \
                                                 qualifier void **values, cudaDataType *type);              \
  cusparseStatus_t sim_cusparse##Const##DnVecGetValues(cusparse##Const##DnVecDescr_t vector,                \
                                                       qualifier void **values);                            \
  cusparseStatus_t sim_cusparseCreate##Const##DnMat(cusparse##Const##DnMatDescr_t *matrix, int64_t rows,    \
                                                    int64_t cols, int64_t ld, qualifier void *values,       \
                                                    cudaDataType type, cusparseOrder_t order);              \
  cusparseStatus_t sim_cusparse##Const##DnMatGet(cusparse##Const##DnMatDescr_t matrix, int64_t *rows,       \
                                                 int64_t *cols, int64_t *ld, qualifier void **values,       \
                                                 cudaDataType *type, cusparseOrder_t *order);               \
  cusparseStatus_t sim_cusparse##Const##DnMatGetValues(cusparse##Const##DnMatDescr_t matrix,                \
                                                       qualifier void **values);                            \
  cusparseStatus_t sim_cusparse##Const##SpMatGetValues(cusparse##Const##SpMatDescr_t matrix,                \
                                                       qualifier void **values);                            \
  cusparseStatus_t sim_cusparseCreate##Const##Csr(                                                          \
      cusparse##Const##SpMatDescr_t *matrix, int64_t rows, int64_t cols, int64_t nnz,                       \
      qualifier void *offsets, qualifier void *indices, qualifier void *values,                             \
      cusparseIndexType_t offset_type, cusparseIndexType_t index_type, cusparseIndexBase_t base,            \
      cudaDataType type);                                                                                   \
  cusparseStatus_t sim_cusparseCreate##Const##Csc(                                                          \
      cusparse##Const##SpMatDescr_t *matrix, int64_t rows, int64_t cols, int64_t nnz,                       \
      qualifier void *offsets, qualifier void *indices, qualifier void *values,                             \
      cusparseIndexType_t offset_type, cusparseIndexType_t index_type, cusparseIndexBase_t base,            \
      cudaDataType type);                                                                                   \
  cusparseStatus_t sim_cusparse##Const##CsrGet(                                                             \
      cusparse##Const##SpMatDescr_t matrix, int64_t *rows, int64_t *cols, int64_t *nnz,                     \
      qualifier void **offsets, qualifier void **indices, qualifier void **values,                          \
      cusparseIndexType_t *offset_type, cusparseIndexType_t *index_type, cusparseIndexBase_t *base,         \
      cudaDataType *type);                                                                                  \
  cusparseStatus_t sim_cusparse##Const##CscGet(                                                             \
      cusparse##Const##SpMatDescr_t matrix, int64_t *rows, int64_t *cols, int64_t *nnz,                     \
      qualifier void **offsets, qualifier void **indices, qualifier void **values,                          \
      cusparseIndexType_t *offset_type, cusparseIndexType_t *index_type, cusparseIndexBase_t *base,         \
      cudaDataType *type);                                                                                  \
  cusparseStatus_t sim_cusparseCreate##Const##Coo(                                                          \
      cusparse##Const##SpMatDescr_t *matrix, int64_t rows, int64_t cols, int64_t nnz,                       \
      qualifier void *row_indices, qualifier void *col_indices, qualifier void *values,                     \
      cusparseIndexType_t index_type, cusparseIndexBase_t base, cudaDataType type);                         \
  cusparseStatus_t sim_cusparse##Const##CooGet(                                                             \
      cusparse##Const##SpMatDescr_t matrix, int64_t *rows, int64_t *cols, int64_t *nnz,                     \
      qualifier void **row_indices, qualifier void **col_indices, qualifier void **values,                  \
      cusparseIndexType_t *index_type, cusparseIndexBase_t *base, cudaDataType *type);                      \
  cusparseStatus_t sim_cusparseCreate##Const##Bsr(                                                          \
      cusparse##Const##SpMatDescr_t *matrix, int64_t block_rows, int64_t block_cols, int64_t block_nnz,     \
      int64_t row_block, int64_t col_block, qualifier void *offsets, qualifier void *indices,               \
      qualifier void *values, cusparseIndexType_t offset_type, cusparseIndexType_t index_type,              \
      cusparseIndexBase_t base, cudaDataType type, cusparseOrder_t order);                                  \
  cusparseStatus_t sim_cusparseCreate##Const##BlockedEll(                                                   \
      cusparse##Const##SpMatDescr_t *matrix, int64_t rows, int64_t cols, int64_t block, int64_t ell_cols,   \
      qualifier void *indices, qualifier void *values, cusparseIndexType_t index_type,                      \
      cusparseIndexBase_t base, cudaDataType type);                                                         \
  cusparseStatus_t sim_cusparseCreate##Const##SlicedEll(                                                    \
      cusparse##Const##SpMatDescr_t *matrix, int64_t rows, int64_t cols, int64_t nnz, int64_t size,         \
      int64_t slice, qualifier void *offsets, qualifier void *indices, qualifier void *values,              \
      cusparseIndexType_t offset_type, cusparseIndexType_t index_type, cusparseIndexBase_t base,            \
      cudaDataType type);
VS_CUSPARSE_PARTS(, )
VS_CUSPARSE_PARTS(Const, const)
#undef VS_CUSPARSE_PARTS

cusparseStatus_t sim_cusparseDestroySpVec(cusparseConstSpVecDescr_t descriptor);
cusparseStatus_t sim_cusparseDestroyDnVec(cusparseConstDnVecDescr_t descriptor);
cusparseStatus_t sim_cusparseDestroySpMat(cusparseConstSpMatDescr_t descriptor);
cusparseStatus_t sim_cusparseDestroyDnMat(cusparseConstDnMatDescr_t descriptor);
cusparseStatus_t sim_cusparseSpVecGetIndexBase(cusparseConstSpVecDescr_t vector, cusparseIndexBase_t *base);
cusparseStatus_t sim_cusparseSpVecSetValues(cusparseSpVecDescr_t of, void *values);
cusparseStatus_t sim_cusparseDnVecSetValues(cusparseDnVecDescr_t of, void *values);
cusparseStatus_t sim_cusparseDnMatSetValues(cusparseDnMatDescr_t of, void *values);
cusparseStatus_t sim_cusparseDnMatSetStridedBatch(cusparseDnMatDescr_t matrix, int count, int64_t stride);
cusparseStatus_t sim_cusparseDnMatGetStridedBatch(cusparseConstDnMatDescr_t matrix, int *count,
                                                  int64_t *stride);
cusparseStatus_t sim_cusparseSpMatGetFormat(cusparseConstSpMatDescr_t matrix, cusparseFormat_t *format);
cusparseStatus_t sim_cusparseSpMatGetIndexBase(cusparseConstSpMatDescr_t matrix, cusparseIndexBase_t *base);
cusparseStatus_t sim_cusparseSpMatSetValues(cusparseSpMatDescr_t of, void *values);
cusparseStatus_t sim_cusparseSpMatGetSize(cusparseConstSpMatDescr_t matrix, int64_t *rows, int64_t *cols,
                                          int64_t *nnz);
cusparseStatus_t sim_cusparseSpMatGetStridedBatch(cusparseConstSpMatDescr_t matrix, int *count);
cusparseStatus_t sim_cusparseCsrSetStridedBatch(cusparseSpMatDescr_t matrix, int count, int64_t offsets,
                                                int64_t values);
cusparseStatus_t sim_cusparseCooSetStridedBatch(cusparseSpMatDescr_t matrix, int count, int64_t stride);
cusparseStatus_t sim_cusparseBsrSetStridedBatch(cusparseSpMatDescr_t matrix, int count, int64_t offsets,
                                                int64_t columns, int64_t values);
cusparseStatus_t sim_cusparseSpMatSetAttribute(cusparseSpMatDescr_t matrix,
                                               cusparseSpMatAttribute_t attribute, void *value, size_t size);
cusparseStatus_t sim_cusparseSpMatGetAttribute(cusparseConstSpMatDescr_t matrix,
                                               cusparseSpMatAttribute_t attribute, void *value, size_t size);
cusparseStatus_t sim_cusparseCsrSetPointers(cusparseSpMatDescr_t matrix, void *offsets, void *indices,
                                            void *values);
cusparseStatus_t sim_cusparseCscSetPointers(cusparseSpMatDescr_t matrix, void *offsets, void *indices,
                                            void *values);
cusparseStatus_t sim_cusparseCooSetPointers(cusparseSpMatDescr_t matrix, void *rows, void *cols,
                                            void *values);
cusparseStatus_t sim_cusparseSpGEMM_getNumProducts(cusparseSpGEMMDescr_t descriptor, int64_t *count);

#define VS_COMPUTE(name, arguments, laws, results) cusparseStatus_t sim_##name arguments;
#define VS_SIZE                                    VS_COMPUTE
#include "faces/simcuda/abi/cusparse_computes.def"
#undef VS_SIZE
#undef VS_COMPUTE

#endif
