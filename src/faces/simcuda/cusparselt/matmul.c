/* Products with matrices of which two of four values are zero. Descriptors are in the program's memory: a tag,
 * then the values that later calls need. There is one algorithm, number 0, without a workspace. */
#include "faces/simcuda/abi/cusparselt.h"
#include "faces/simcuda/core/objects.h"

enum { SUCCESS = 0, NOT_INITIALIZED = 1, INVALID_VALUE = 3, EXECUTION_FAILED = 6 }; /* statuses of cuSPARSE */

struct cusparseLtHandle_t {
  uint64_t tag;
};
struct cusparseLtMatDescriptor_t {
  uint64_t tag;
  int64_t rows, cols;
  cudaDataType type;
};
struct cusparseLtMatmulDescriptor_t {
  uint64_t tag;
};
struct cusparseLtMatmulAlgSelection_t {
  uint64_t tag;
  uint32_t attributes[16]; /* by number */
};
struct cusparseLtMatmulPlan_t {
  uint64_t tag;
};

#define TAG_HANDLE    VS_TAG('l', 's', 'h', ' ')
#define TAG_MATRIX    VS_TAG('l', 's', 'm', 'a')
#define TAG_MATMUL    VS_TAG('l', 's', 'm', 'm')
#define TAG_SELECTION VS_TAG('l', 's', 's', 'e')
#define TAG_PLAN      VS_TAG('l', 's', 'p', 'l')

/* Checks at the beginning of every call. */
#define CHECK(handle, law)                                                       \
  do {                                                                           \
    if ((handle) == NULL || (handle)->tag != TAG_HANDLE) return NOT_INITIALIZED; \
    if (!(law)) return INVALID_VALUE;                                            \
  } while (0)

static bool is_matrix(const cusparseLtMatDescriptor_t *matrix) {
  return matrix != NULL && matrix->tag == TAG_MATRIX;
}
static bool is_plan(const cusparseLtMatmulPlan_t *plan) { return plan != NULL && plan->tag == TAG_PLAN; }

cusparseLtStatus sim_cusparseLtInit(cusparseLtHandle_t *handle) {
  if (handle == NULL) return INVALID_VALUE;
  if (vs_begin_library() != VS_SIM_OK) return NOT_INITIALIZED;
  handle->tag = TAG_HANDLE;
  return SUCCESS;
}

cusparseLtStatus sim_cusparseLtDenseDescriptorInit(const cusparseLtHandle_t *handle,
                                                   cusparseLtMatDescriptor_t *matrix, int64_t rows,
                                                   int64_t cols, int64_t ld, uint32_t alignment,
                                                   cudaDataType type, int order) {
  (void)ld, (void)alignment, (void)order;
  CHECK(handle, matrix != NULL && rows > 0 && cols > 0 && vs_data_type_bits(type) != 0);
  *matrix = (cusparseLtMatDescriptor_t){TAG_MATRIX, rows, cols, type};
  return SUCCESS;
}

cusparseLtStatus sim_cusparseLtStructuredDescriptorInit(const cusparseLtHandle_t *handle,
                                                        cusparseLtMatDescriptor_t *matrix, int64_t rows,
                                                        int64_t cols, int64_t ld, uint32_t alignment,
                                                        cudaDataType type, int order, int sparsity) {
  (void)sparsity;
  return sim_cusparseLtDenseDescriptorInit(handle, matrix, rows, cols, ld, alignment, type, order);
}

/* The struct may be const, and owns no memory, so nothing is changed. */
cusparseLtStatus sim_cusparseLtMatDescriptorDestroy(const cusparseLtMatDescriptor_t *matrix) {
  return is_matrix(matrix) ? SUCCESS : INVALID_VALUE;
}

cusparseLtStatus sim_cusparseLtMatmulDescriptorInit(const cusparseLtHandle_t *handle,
                                                    cusparseLtMatmulDescriptor_t *matmul, int opa, int opb,
                                                    const cusparseLtMatDescriptor_t *a,
                                                    const cusparseLtMatDescriptor_t *b,
                                                    const cusparseLtMatDescriptor_t *c,
                                                    const cusparseLtMatDescriptor_t *d, int compute_type) {
  (void)opa, (void)opb, (void)compute_type;
  CHECK(handle, matmul != NULL && is_matrix(a) && is_matrix(b) && is_matrix(c) && is_matrix(d));
  matmul->tag = TAG_MATMUL;
  return SUCCESS;
}

cusparseLtStatus sim_cusparseLtMatmulDescSetAttribute(const cusparseLtHandle_t *handle,
                                                      cusparseLtMatmulDescriptor_t *matmul, int attribute,
                                                      const void *value, size_t size) {
  (void)attribute;
  CHECK(handle, matmul != NULL && matmul->tag == TAG_MATMUL && value != NULL && size != 0);
  return SUCCESS;
}

cusparseLtStatus sim_cusparseLtMatmulAlgSelectionInit(const cusparseLtHandle_t *handle,
                                                      cusparseLtMatmulAlgSelection_t *selection,
                                                      const cusparseLtMatmulDescriptor_t *matmul,
                                                      int algorithm) {
  (void)algorithm;
  CHECK(handle, selection != NULL && matmul != NULL && matmul->tag == TAG_MATMUL);
  *selection = (cusparseLtMatmulAlgSelection_t){.tag = TAG_SELECTION};
  return SUCCESS;
}

cusparseLtStatus sim_cusparseLtMatmulAlgSetAttribute(const cusparseLtHandle_t *handle,
                                                     cusparseLtMatmulAlgSelection_t *selection, int attribute,
                                                     const void *value, size_t size) {
  CHECK(handle, selection != NULL && selection->tag == TAG_SELECTION && attribute >= 0 && attribute < 16 &&
                    value != NULL && size == sizeof(uint32_t));
  memcpy(&selection->attributes[attribute], value, size);
  return SUCCESS;
}

/* Attribute 1 is the number of algorithms. */
cusparseLtStatus sim_cusparseLtMatmulAlgGetAttribute(const cusparseLtHandle_t *handle,
                                                     const cusparseLtMatmulAlgSelection_t *selection,
                                                     int attribute, void *value, size_t size) {
  enum { CONFIG_MAX_ID = 1 };
  static const uint32_t one = 1;
  CHECK(handle, selection != NULL && selection->tag == TAG_SELECTION && attribute >= 0 && attribute < 16 &&
                    value != NULL && size == sizeof(uint32_t));
  memcpy(value, attribute == CONFIG_MAX_ID ? &one : &selection->attributes[attribute], size);
  return SUCCESS;
}

cusparseLtStatus sim_cusparseLtMatmulPlanInit(const cusparseLtHandle_t *handle, cusparseLtMatmulPlan_t *plan,
                                              const cusparseLtMatmulDescriptor_t *matmul,
                                              const cusparseLtMatmulAlgSelection_t *selection) {
  CHECK(handle, plan != NULL && matmul != NULL && matmul->tag == TAG_MATMUL && selection != NULL &&
                    selection->tag == TAG_SELECTION);
  plan->tag = TAG_PLAN;
  return SUCCESS;
}

cusparseLtStatus sim_cusparseLtMatmulPlanDestroy(const cusparseLtMatmulPlan_t *plan) {
  return is_plan(plan) ? SUCCESS : INVALID_VALUE;
}

cusparseLtStatus sim_cusparseLtMatmulGetWorkspace(const cusparseLtHandle_t *handle,
                                                  const cusparseLtMatmulPlan_t *plan, size_t *size) {
  CHECK(handle, is_plan(plan) && size != NULL);
  *size = 0;
  return SUCCESS;
}

static cusparseLtStatus work_on(uint64_t stream) {
  return vs_simcuda_work_on(stream, VS_SIMCUDA_KERNEL) == VS_SIM_OK ? SUCCESS : EXECUTION_FAILED;
}

cusparseLtStatus sim_cusparseLtMatmul(const cusparseLtHandle_t *handle, const cusparseLtMatmulPlan_t *plan,
                                      const void *alpha, const void *a, const void *b, const void *beta,
                                      const void *c, void *d, void *workspace, cudaStream_t *streams,
                                      int32_t stream_count) {
  (void)a, (void)b, (void)c, (void)d, (void)workspace;
  CHECK(handle, is_plan(plan) && alpha != NULL && beta != NULL && stream_count >= 0);
  return work_on(streams != NULL && stream_count > 0 ? (uintptr_t)streams[0] : 0);
}

cusparseLtStatus sim_cusparseLtMatmulSearch(const cusparseLtHandle_t *handle, cusparseLtMatmulPlan_t *plan,
                                            const void *alpha, const void *a, const void *b, const void *beta,
                                            const void *c, void *d, void *workspace, cudaStream_t *streams,
                                            int32_t stream_count) {
  return sim_cusparseLtMatmul(handle, plan, alpha, a, b, beta, c, d, workspace, streams, stream_count);
}

/* Half of the values, and two bits for each of them (for float: for each half). PyTorch allocates by the same
 * rule: nine sixteenths of the matrix, ten sixteenths for types of one byte. */
cusparseLtStatus sim_cusparseLtSpMMACompressedSize2(const cusparseLtHandle_t *handle,
                                                    const cusparseLtMatDescriptor_t *matrix, size_t *size,
                                                    size_t *buffer_size) {
  CHECK(handle, is_matrix(matrix) && size != NULL);
  const uint64_t bytes =
      (uint64_t)matrix->rows * (uint64_t)matrix->cols * vs_data_type_bits(matrix->type) / 8;
  *size = bytes * (vs_data_type_bits(matrix->type) == 8 ? 10 : 9) / 16;
  if (buffer_size != NULL) *buffer_size = 0;
  return SUCCESS;
}

cusparseLtStatus sim_cusparseLtSpMMACompress2(const cusparseLtHandle_t *handle,
                                              const cusparseLtMatDescriptor_t *matrix, int is_sparse_a,
                                              int op, const void *dense, void *compressed, void *buffer,
                                              cudaStream_t stream) {
  (void)is_sparse_a, (void)op, (void)buffer;
  CHECK(handle, is_matrix(matrix) && dense != NULL && compressed != NULL);
  return work_on((uintptr_t)stream);
}
