/* The cuBLAS face: which handles it knows, which arguments it refuses, that work is counted exactly once. */
#include "faces/simcuda/cublas/compute.c"
#include "faces/simcuda/cublas/handle.c"
#include "unit/faces/simcuda/apart.h"

static uint64_t work_so_far(void) {
  const vs_sim *sim = vs_simcuda_lock();
  CHECK(sim != NULL);
  const uint64_t sequence = sim->streams.sequence;
  vs_simcuda_unlock();
  return sequence;
}

static cublasHandle_t new_handle(void) {
  cublasHandle_t handle = NULL;
  CHECK(sim_cublasCreate_v2(&handle) == CUBLAS_STATUS_SUCCESS);
  return handle;
}

static void use_handles(void) {
  CHECK(sim_cublasCreate_v2(NULL) == CUBLAS_STATUS_INVALID_VALUE);
  const cublasHandle_t handle = new_handle(), other = new_handle();
  CHECK(handle != other);
  cublasMath_t mode = CUBLAS_MATH_MOST;
  CHECK(sim_cublasGetMathMode(handle, &mode) == CUBLAS_STATUS_SUCCESS && mode == CUBLAS_DEFAULT_MATH);
  CHECK(sim_cublasSetMathMode(handle, (cublasMath_t)3) == CUBLAS_STATUS_SUCCESS);
  CHECK(sim_cublasGetMathMode(handle, &mode) == CUBLAS_STATUS_SUCCESS && (int)mode == 3);
  CHECK(sim_cublasGetMathMode(other, &mode) == CUBLAS_STATUS_SUCCESS && mode == CUBLAS_DEFAULT_MATH);
  CHECK(sim_cublasGetMathMode(handle, NULL) == CUBLAS_STATUS_INVALID_VALUE);
  CHECK(sim_cublasSetWorkspace_v2(handle, (void *)(uintptr_t)0x200000000080, 1024) ==
        CUBLAS_STATUS_INVALID_VALUE);
  CHECK(sim_cublasSetWorkspace_v2(handle, (void *)(uintptr_t)0x200000000100, 1024) == CUBLAS_STATUS_SUCCESS);
  CHECK(sim_cublasSetStream_v2(handle, NULL) == CUBLAS_STATUS_SUCCESS);

  CHECK(sim_cublasDestroy_v2(handle) == CUBLAS_STATUS_SUCCESS);
  CHECK(sim_cublasDestroy_v2(handle) == CUBLAS_STATUS_NOT_INITIALIZED);
  CHECK(sim_cublasGetMathMode(handle, &mode) == CUBLAS_STATUS_NOT_INITIALIZED);
  CHECK(sim_cublasDestroy_v2(NULL) == CUBLAS_STATUS_NOT_INITIALIZED);
  CHECK(sim_cublasGetMathMode(other, &mode) == CUBLAS_STATUS_SUCCESS);
}
static void test_handles(void **state) {
  (void)state;
  expect_apart(use_handles, WITH_NOTHING, "");
}

static void products(void) {
  const cublasHandle_t handle = new_handle();
  const float one = 1, *a = (const float *)(uintptr_t)0x200000000000;
  float *c = (float *)(uintptr_t)0x200000000000;
  const uint64_t before = work_so_far();
#define GEMM(opa, m, n, k, lda, ldb, ldc) \
  sim_cublasSgemm_v2(handle, opa, CUBLAS_OP_N, m, n, k, &one, a, lda, a, ldb, &one, c, ldc)
  CHECK(GEMM(CUBLAS_OP_N, 8, 4, 2, 8, 2, 8) == CUBLAS_STATUS_SUCCESS);
  CHECK(work_so_far() == before + 1);
  CHECK(GEMM(CUBLAS_OP_N, -1, 4, 2, 8, 2, 8) == CUBLAS_STATUS_INVALID_VALUE);
  CHECK(GEMM(CUBLAS_OP_N, 8, 4, 2, 7, 2, 8) == CUBLAS_STATUS_INVALID_VALUE);
  CHECK(GEMM(CUBLAS_OP_T, 8, 4, 2, 2, 2, 8) == CUBLAS_STATUS_SUCCESS); /* a transposed factor has k rows */
  CHECK(GEMM(CUBLAS_OP_N, 8, 4, 2, 8, 1, 8) == CUBLAS_STATUS_INVALID_VALUE);
  CHECK(GEMM(CUBLAS_OP_N, 8, 4, 2, 8, 2, 7) == CUBLAS_STATUS_INVALID_VALUE);
  CHECK(GEMM(CUBLAS_OP_N, 0, 0, 0, 1, 1, 1) == CUBLAS_STATUS_SUCCESS);
  CHECK(work_so_far() == before + 3);
  CHECK(sim_cublasSgemm_v2_64(handle, CUBLAS_OP_N, CUBLAS_OP_N, INT64_C(1) << 40, 4, 2, &one, a, 1, a, 2,
                              &one, c, 1) == CUBLAS_STATUS_INVALID_VALUE);
  CHECK(sim_cublasDestroy_v2(handle) == CUBLAS_STATUS_SUCCESS);
  CHECK(GEMM(CUBLAS_OP_N, 8, 4, 2, 8, 2, 8) == CUBLAS_STATUS_NOT_INITIALIZED);
  CHECK(work_so_far() == before + 3);
}
static void test_products(void **state) {
  (void)state;
  expect_apart(products, WITH_NOTHING, "");
}

/* Results on the host are written, all of them. */
static void results(void) {
  const cublasHandle_t handle = new_handle();
  const double *x = (const double *)(uintptr_t)0x200000000000;
  double dot = 7;
  CHECK(sim_cublasDdot_v2(handle, 4, x, 1, x, 1, &dot) == CUBLAS_STATUS_SUCCESS && dot == 0);
  CHECK(sim_cublasDdot_v2(handle, 4, x, 1, x, 1, NULL) == CUBLAS_STATUS_INVALID_VALUE);
  int index = 9;
  CHECK(sim_cublasIdamax_v2(handle, 4, x, 1, &index) == CUBLAS_STATUS_SUCCESS && index == 1);
  CHECK(sim_cublasIdamax_v2(handle, 0, x, 1, &index) == CUBLAS_STATUS_SUCCESS && index == 0);
  int infos[3] = {5, 5, 5};
  CHECK(sim_cublasSgetrfBatched(handle, 2, NULL, 2, NULL, infos, 2) == CUBLAS_STATUS_SUCCESS);
  CHECK(infos[0] == 0 && infos[1] == 0 && infos[2] == 5);
}
static void test_results(void **state) {
  (void)state;
  expect_apart(results, WITH_NOTHING, "");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_handles), cmocka_unit_test(test_products),
                                     cmocka_unit_test(test_results)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
