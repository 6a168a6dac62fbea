/* Handles, matrix products, and the heuristic, which returns one algorithm: number 0, without a workspace. */
#include "faces/simcuda/cublaslt/descriptors.h"

#define TAG_LT VS_TAG('b', 'l', 'l', 't')

struct cublasLtContext {
  vs_object object;
};

static vs_shelf handles = VS_SHELF(TAG_LT, struct cublasLtContext);

/* A cuBLAS handle is also valid. */
static bool is_handle(cublasLtHandle_t handle) {
  return vs_object_is(handle, TAG_LT) || vs_object_is(handle, VS_TAG_CUBLAS);
}

cublasStatus_t sim_cublasLtCreate(cublasLtHandle_t *handle) {
  if (handle == NULL) return CUBLAS_STATUS_INVALID_VALUE;
  if (vs_begin_library() != VS_SIM_OK) return CUBLAS_STATUS_NOT_INITIALIZED;
  *handle = vs_shelf_take(&handles);
  return *handle != NULL ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_ALLOC_FAILED;
}

cublasStatus_t sim_cublasLtDestroy(cublasLtHandle_t handle) {
  return vs_shelf_put_back(&handles, handle) ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_INITIALIZED;
}

/* ---- checks of shapes */

static const lt_layout *layout_of(cublasLtMatrixLayout_t layout) {
  const lt_layout *of = (const lt_layout *)(void *)layout;
  return of != NULL && of->tag == LT_TAG_LAYOUT ? of : NULL;
}

static const lt_matmul *matmul_of(cublasLtMatmulDesc_t matmul) {
  const lt_matmul *of = (const lt_matmul *)(void *)matmul;
  return of != NULL && of->tag == LT_TAG_MATMUL ? of : NULL;
}

/* Rows and columns of op(A), op(B) and D agree. Layouts in tiles of 32 (int8) keep the same logical sizes. */
static bool fits(const lt_matmul *matmul, const lt_layout *a, const lt_layout *b, const lt_layout *c,
                 const lt_layout *d) {
  if (matmul == NULL || a == NULL || b == NULL || c == NULL || d == NULL) return false;
  const uint64_t m = matmul->opa == CUBLAS_OP_N ? a->rows : a->cols,
                 k = matmul->opa == CUBLAS_OP_N ? a->cols : a->rows;
  const uint64_t bk = matmul->opb == CUBLAS_OP_N ? b->rows : b->cols;
  const uint64_t n = matmul->opb == CUBLAS_OP_N ? b->cols : b->rows;
  return k == bk && d->rows == m && d->cols == n && c->rows == m && c->cols == n;
}

/* The algorithm of every result. */
static lt_algorithm first_algorithm(void) {
  return (lt_algorithm){.tag = LT_TAG_ALGORITHM, .tile = 1, .split_k = 1};
}

static void write_result(cublasLtMatmulHeuristicResult_t *result) {
  const lt_algorithm algorithm = first_algorithm();
  *result = (cublasLtMatmulHeuristicResult_t){
      .workspaceSize = 0, .state = CUBLAS_STATUS_SUCCESS, .wavesCount = 1.0F};
  memcpy(&result->algo, &algorithm, sizeof algorithm);
}

cublasStatus_t sim_cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t matmul,
                                                  cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                                  cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                                  cublasLtMatmulPreference_t preference, int wanted,
                                                  cublasLtMatmulHeuristicResult_t results[], int *count) {
  const lt_preference *wish = (const lt_preference *)(void *)preference;
  if (!is_handle(handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (wish == NULL || wish->tag != LT_TAG_PREFERENCE || wanted <= 0 || results == NULL || count == NULL)
    return CUBLAS_STATUS_INVALID_VALUE;
  *count = 0;
  if (!fits(matmul_of(matmul), layout_of(a), layout_of(b), layout_of(c), layout_of(d)))
    return CUBLAS_STATUS_INVALID_VALUE;
  write_result(&results[0]);
  *count = 1;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t sim_cublasLtMatmulAlgoGetIds(cublasLtHandle_t handle, cublasComputeType_t compute,
                                            cudaDataType_t scale, cudaDataType_t a, cudaDataType_t b,
                                            cudaDataType_t c, cudaDataType_t d, int wanted, int ids[],
                                            int *count) {
  (void)compute, (void)scale, (void)a, (void)b, (void)c, (void)d;
  if (!is_handle(handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (wanted <= 0 || ids == NULL || count == NULL) return CUBLAS_STATUS_INVALID_VALUE;
  ids[0] = 0;
  *count = 1;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t sim_cublasLtMatmulAlgoInit(cublasLtHandle_t handle, cublasComputeType_t compute,
                                          cudaDataType_t scale, cudaDataType_t a, cudaDataType_t b,
                                          cudaDataType_t c, cudaDataType_t d, int id,
                                          cublasLtMatmulAlgo_t *algorithm) {
  (void)compute, (void)scale, (void)a, (void)b, (void)c, (void)d;
  if (!is_handle(handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (algorithm == NULL || id < 0) return CUBLAS_STATUS_INVALID_VALUE;
  lt_algorithm made = first_algorithm();
  made.id = (uint32_t)id;
  *algorithm = (cublasLtMatmulAlgo_t){{0}};
  memcpy(algorithm, &made, sizeof made);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t sim_cublasLtMatmulAlgoCheck(cublasLtHandle_t handle, cublasLtMatmulDesc_t matmul,
                                           cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                           cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                           const cublasLtMatmulAlgo_t *algorithm,
                                           cublasLtMatmulHeuristicResult_t *result) {
  if (!is_handle(handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (algorithm == NULL || result == NULL ||
      !fits(matmul_of(matmul), layout_of(a), layout_of(b), layout_of(c), layout_of(d)))
    return CUBLAS_STATUS_INVALID_VALUE;
  const cublasLtMatmulAlgo_t same = *algorithm; /* may be part of *result */
  write_result(result);
  result->algo = same;
  return CUBLAS_STATUS_SUCCESS;
}

/* The capabilities of the algorithm: every request is supported. Lists of tiles and stages have one entry, "not
 * defined". */
cublasStatus_t sim_cublasLtMatmulAlgoCapGetAttribute(const cublasLtMatmulAlgo_t *algorithm,
                                                     cublasLtMatmulAlgoCapAttributes_t which, void *value,
                                                     size_t size, size_t *written) {
  enum {
    REDUCTIONS = 1,
    UPLO = 5,
    TILES = 6,
    CUSTOM_MOST = 7,
    POINTER_MODES = 11,
    EPILOGUES = 12,
    STAGES = 13
  };
  enum { FLAGS = 15, ALIGN_A = 16, ALIGN_D = 19 };
  const lt_algorithm *of = (const lt_algorithm *)(const void *)algorithm;
  if (of == NULL || of->tag != LT_TAG_ALGORITHM) return CUBLAS_STATUS_INVALID_VALUE;
  uint64_t answer = 1;
  const uint32_t number = (uint32_t)which;
  if (number == UPLO || number == TILES || number == CUSTOM_MOST || number == STAGES) answer = 0;
  if (number == REDUCTIONS) answer = 7;
  if (number == POINTER_MODES) answer = 0x1f;
  if (number == EPILOGUES) answer = 0x7fffffff;
  if (number >= ALIGN_A && number <= ALIGN_D) answer = 16;
  const size_t own = number == FLAGS ? sizeof(uint64_t) : sizeof(uint32_t);
  if (written != NULL) *written = own;
  if (size == 0) return written != NULL ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
  if (value == NULL || size < own) return CUBLAS_STATUS_INVALID_VALUE;
  memcpy(value, &answer, own);
  return CUBLAS_STATUS_SUCCESS;
}

/* ---- work */

static cublasStatus_t work_on(cudaStream_t stream) {
  return vs_simcuda_work_on((uintptr_t)stream, VS_SIMCUDA_KERNEL) == VS_SIM_OK
             ? CUBLAS_STATUS_SUCCESS
             : CUBLAS_STATUS_EXECUTION_FAILED;
}

cublasStatus_t sim_cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t matmul, const void *alpha,
                                  const void *a, cublasLtMatrixLayout_t a_layout, const void *b,
                                  cublasLtMatrixLayout_t b_layout, const void *beta, const void *c,
                                  cublasLtMatrixLayout_t c_layout, void *d, cublasLtMatrixLayout_t d_layout,
                                  const cublasLtMatmulAlgo_t *algorithm, void *workspace,
                                  size_t workspace_size, cudaStream_t stream) {
  (void)a, (void)b, (void)c, (void)d, (void)algorithm, (void)beta;
  if (!is_handle(handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (alpha == NULL || (workspace == NULL && workspace_size != 0)) return CUBLAS_STATUS_INVALID_VALUE;
  if (!fits(matmul_of(matmul), layout_of(a_layout), layout_of(b_layout), layout_of(c_layout),
            layout_of(d_layout)))
    return CUBLAS_STATUS_INVALID_VALUE;
  return work_on(stream);
}

cublasStatus_t sim_cublasLtMatrixTransform(cublasLtHandle_t handle, cublasLtMatrixTransformDesc_t transform,
                                           const void *alpha, const void *a, cublasLtMatrixLayout_t a_layout,
                                           const void *beta, const void *b, cublasLtMatrixLayout_t b_layout,
                                           void *c, cublasLtMatrixLayout_t c_layout, cudaStream_t stream) {
  (void)alpha, (void)beta, (void)b, (void)b_layout;
  const lt_transform *of = (const lt_transform *)(void *)transform;
  if (!is_handle(handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (of == NULL || of->tag != LT_TAG_TRANSFORM || a == NULL || c == NULL || layout_of(a_layout) == NULL ||
      layout_of(c_layout) == NULL)
    return CUBLAS_STATUS_INVALID_VALUE;
  return work_on(stream);
}
