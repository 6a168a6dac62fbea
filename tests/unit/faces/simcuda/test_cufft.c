/* The cuFFT face: its work areas are device memory, taken and given back exactly. */
#include "faces/simcuda/cufft/plan.c"
#include "unit/faces/simcuda/apart.h"

static uint64_t free_bytes(void) {
  uint64_t of_device = 0, total = 0;
  vs_sim *sim = vs_simcuda_lock();
  CHECK(sim != NULL && vs_sim_memory_info(sim, 0, &of_device, &total) == VS_SIM_OK);
  vs_simcuda_unlock();
  return of_device;
}

static void work_areas(void) {
  CHECK(vs_begin_library() == VS_SIM_OK);
  const uint64_t before = free_bytes();
  cufftHandle made = 0;
  size_t size = 0;
  CHECK(sim_cufftPlan1d(&made, 1 << 20, CUFFT_C2C, 4) == CUFFT_SUCCESS);
  CHECK(sim_cufftGetSize(made, &size) == CUFFT_SUCCESS && size == (size_t)4 * 8 << 20);
  CHECK(before - free_bytes() == size);
  CHECK(sim_cufftSetWorkArea(made, (void *)(uintptr_t)0x200000000000) == CUFFT_SUCCESS);
  CHECK(free_bytes() == before);
  CHECK(sim_cufftDestroy(made) == CUFFT_SUCCESS);
  CHECK(sim_cufftDestroy(made) == CUFFT_INVALID_PLAN);

  CHECK(sim_cufftCreate(&made) == CUFFT_SUCCESS);
  CHECK(sim_cufftExecC2C(made, (cufftComplex *)8, (cufftComplex *)8, -1) ==
        CUFFT_INVALID_PLAN); /* not made */
  CHECK(sim_cufftSetAutoAllocation(made, 0) == CUFFT_SUCCESS);
  CHECK(sim_cufftMakePlan1d(made, 1 << 20, CUFFT_Z2Z, 1, &size) == CUFFT_SUCCESS && size == 16 << 20);
  CHECK(free_bytes() == before);
  CHECK(sim_cufftMakePlan1d(made, 8, CUFFT_C2C, 1, &size) == CUFFT_INVALID_PLAN); /* made already */
  CHECK(sim_cufftExecC2C(made, (cufftComplex *)8, (cufftComplex *)8, -1) == CUFFT_SUCCESS);
  CHECK(sim_cufftExecC2C(made, (cufftComplex *)8, (cufftComplex *)8, 2) == CUFFT_INVALID_VALUE);
  CHECK(sim_cufftDestroy(made) == CUFFT_SUCCESS);
}
static void test_work_areas(void **state) {
  (void)state;
  expect_apart(work_areas, WITH("VRAMSCOPE_SIM_GPU=A100"), "");
}

static void sizes(void) {
  size_t size = 0;
#define SIZE_1D(length, type, batch, wanted) \
  CHECK(sim_cufftEstimate1d(length, type, batch, &size) == CUFFT_SUCCESS && size == (wanted))
  /* As on an H100 with CUDA 13.0. */
  SIZE_1D(1000, CUFFT_R2C, 16, 0);
  SIZE_1D(16384, CUFFT_C2C, 16, 0);
  SIZE_1D(16384, CUFFT_R2C, 1, 0);
  SIZE_1D(1009, CUFFT_C2C, 1, 0);
  SIZE_1D(32768, CUFFT_C2C, 1, 262144);
  SIZE_1D(50000, CUFFT_Z2Z, 16, 12800000);
  SIZE_1D(65536, CUFFT_R2C, 16, 4194432);
  SIZE_1D(1 << 20, CUFFT_Z2D, 1, 8388624);
  CHECK(sim_cufftEstimate2d(1024, 4096, CUFFT_C2R, &size) == CUFFT_SUCCESS && size == 0);
  CHECK(sim_cufftEstimate2d(10, 20, CUFFT_Z2D, &size) == CUFFT_SUCCESS && size == 0);
  /* Near to it: 2,000, 139,264 and 172,056 bytes. */
  SIZE_1D(500, CUFFT_R2C, 1, 8 * 251);
  SIZE_1D(4099, CUFFT_C2C, 1, 5 * 8 * 4099);
  SIZE_1D(4099, CUFFT_R2C, 1, 5 * 8 * 2050);
  CHECK(sim_cufftEstimate1d(0, CUFFT_C2C, 1, &size) == CUFFT_INVALID_SIZE);
  CHECK(sim_cufftEstimate1d(8, (cufftType)1, 1, &size) == CUFFT_INVALID_TYPE);
}
static void test_sizes(void **state) {
  (void)state;
  expect_apart(sizes, WITH_NOTHING, "");
}

static void too_large(void) {
  cufftHandle made = 0;
  CHECK(sim_cufftPlan1d(&made, 1 << 30, CUFFT_C2C, 16) == CUFFT_ALLOC_FAILED);
  CHECK(sim_cufftPlan1d(&made, 8, CUFFT_C2C, 1) == CUFFT_SUCCESS && made == 1); /* the failed plan is gone */
}
static void test_too_large(void **state) {
  (void)state;
  apart result;
  run_apart(too_large, WITH("VRAMSCOPE_SIM_GPU=8GiB"), &result);
  assert_true(WIFEXITED(result.status) && WEXITSTATUS(result.status) == 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_work_areas), cmocka_unit_test(test_sizes),
                                     cmocka_unit_test(test_too_large)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
