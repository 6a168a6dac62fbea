/* The cuSPARSE face: descriptors give back what they got, and a product knows how many values it has. */
#include "faces/simcuda/cusparse/compute.c"
#include "faces/simcuda/cusparse/descriptors.c"
#include "faces/simcuda/cusparse/library.c"
#include "unit/faces/simcuda/apart.h"

#define GOOD(call)  CHECK((call) == CUSPARSE_STATUS_SUCCESS)
#define WRONG(call) CHECK((call) == CUSPARSE_STATUS_INVALID_VALUE)

static cusparseSpMatDescr_t matrix(int64_t rows, int64_t cols, int64_t nnz) {
  cusparseSpMatDescr_t made = NULL;
  GOOD(sim_cusparseCreateCsr(&made, rows, cols, nnz, (void *)1, (void *)2, (void *)3, CUSPARSE_INDEX_32I,
                             CUSPARSE_INDEX_64I, CUSPARSE_INDEX_BASE_ONE, CUDA_R_32F));
  return made;
}

static void descriptors(void) {
  const cusparseSpMatDescr_t a = matrix(5, 6, 7);
  int64_t rows, cols, nnz;
  void *offsets, *indices, *values;
  cusparseIndexType_t offset_type, index_type;
  cusparseIndexBase_t base;
  cudaDataType type;
  GOOD(sim_cusparseCsrGet(a, &rows, &cols, &nnz, &offsets, &indices, &values, &offset_type, &index_type,
                          &base, &type));
  CHECK(rows == 5 && cols == 6 && nnz == 7 && offsets == (void *)1 && indices == (void *)2 &&
        values == (void *)3);
  CHECK(offset_type == CUSPARSE_INDEX_32I && index_type == CUSPARSE_INDEX_64I &&
        base == CUSPARSE_INDEX_BASE_ONE);
  WRONG(sim_cusparseCscGet(a, &rows, &cols, &nnz, &offsets, &indices, &values, &offset_type, &index_type,
                           &base, &type));
  GOOD(sim_cusparseDestroySpMat(a));
  WRONG(sim_cusparseDestroySpMat(a));
  WRONG(sim_cusparseSpMatGetSize(a, &rows, &cols, &nnz));
  cusparseSpMatDescr_t none = NULL;
  WRONG(sim_cusparseCreateCsr(&none, -1, 6, 7, NULL, NULL, NULL, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I,
                              CUSPARSE_INDEX_BASE_ZERO, CUDA_R_32F));
  CHECK(strcmp(sim_cusparseGetErrorName(CUSPARSE_STATUS_INVALID_VALUE), "CUSPARSE_STATUS_INVALID_VALUE") ==
        0);
}
static void test_descriptors(void **state) {
  (void)state;
  expect_apart(descriptors, WITH_NOTHING, "");
}

static void product(void) {
  cusparseHandle_t handle = NULL;
  cusparseSpGEMMDescr_t descriptor = NULL;
  GOOD(sim_cusparseCreate(&handle));
  GOOD(sim_cusparseSpGEMM_createDescr(&descriptor));
  const cusparseSpMatDescr_t a = matrix(100, 50, 500), b = matrix(50, 80, 200), c = matrix(100, 80, 0);
  size_t size = 0;
  int64_t rows = 0, cols = 0, nnz = -1;
#define STEP(name, buffer)                                                                               \
  sim_cusparseSpGEMM_##name(handle, CUSPARSE_OPERATION_NON_TRANSPOSE, CUSPARSE_OPERATION_NON_TRANSPOSE,  \
                            NULL, a, b, NULL, c, CUDA_R_32F, CUSPARSE_SPGEMM_DEFAULT, descriptor, &size, \
                            buffer)
  GOOD(STEP(workEstimation, NULL));
  CHECK(size > 0);
  GOOD(STEP(workEstimation, (void *)8));
  GOOD(STEP(compute, NULL));
  GOOD(sim_cusparseSpMatGetSize(c, &rows, &cols, &nnz));
  CHECK(nnz == 0);
  GOOD(STEP(compute, (void *)8));
  GOOD(sim_cusparseSpMatGetSize(c, &rows, &cols, &nnz));
  CHECK(nnz == 500 * 200 / 50);
  GOOD(sim_cusparseSpGEMM_destroyDescr(descriptor));
  WRONG(STEP(compute, (void *)8));
  GOOD(sim_cusparseDestroy(handle));
  CHECK(STEP(compute, (void *)8) == CUSPARSE_STATUS_NOT_INITIALIZED);
}
static void test_product(void **state) {
  (void)state;
  expect_apart(product, WITH_NOTHING, "");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_descriptors), cmocka_unit_test(test_product)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
