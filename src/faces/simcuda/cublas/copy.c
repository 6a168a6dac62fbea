/* Vectors and matrices between host and device: copies of rows, as cuBLAS defines them. */
#include "faces/simcuda/cublas/handle.h"

static cublasStatus_t status_of(vs_sim_error error) {
  return error == VS_SIM_OK ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_MAPPING_ERROR;
}

/* A vector is a matrix of one row whose columns are elements. */
static cublasStatus_t copy(int64_t rows, int64_t cols, int64_t element, const void *from, int64_t from_ld,
                           void *to, int64_t to_ld, vs_simcuda_direction direction, uint64_t stream) {
  if (rows < 0 || cols < 0 || element <= 0 || from_ld <= 0 || to_ld <= 0) return CUBLAS_STATUS_INVALID_VALUE;
  if (rows == 0 || cols == 0) return CUBLAS_STATUS_SUCCESS;
  if (from_ld < rows || to_ld < rows) return CUBLAS_STATUS_INVALID_VALUE;
  const uint64_t size = (uint64_t)element;
  return status_of(vs_simcuda_copy_rows((uintptr_t)to, (uint64_t)to_ld * size, (uintptr_t)from,
                                        (uint64_t)from_ld * size, (uint64_t)rows * size, (uint64_t)cols,
                                        direction, stream));
}

#define SET VS_SIMCUDA_HOST_TO_DEVICE
#define GET VS_SIMCUDA_DEVICE_TO_HOST
#define COPIES(which, suffix, I, direction)                                                                  \
  cublasStatus_t sim_cublas##which##Vector##suffix(I n, I element, const void *x, I incx, void *y, I incy) { \
    return copy(1, n, element, x, incx, y, incy, direction, VS_SIMCUDA_NO_STREAM);                           \
  }                                                                                                          \
  cublasStatus_t sim_cublas##which##Matrix##suffix(I rows, I cols, I element, const void *a, I lda, void *b, \
                                                   I ldb) {                                                  \
    return copy(rows, cols, element, a, lda, b, ldb, direction, VS_SIMCUDA_NO_STREAM);                       \
  }                                                                                                          \
  cublasStatus_t sim_cublas##which##VectorAsync##suffix(I n, I element, const void *x, I incx, void *y,      \
                                                        I incy, cudaStream_t stream) {                       \
    return copy(1, n, element, x, incx, y, incy, direction, (uintptr_t)stream);                              \
  }                                                                                                          \
  cublasStatus_t sim_cublas##which##MatrixAsync##suffix(I rows, I cols, I element, const void *a, I lda,     \
                                                        void *b, I ldb, cudaStream_t stream) {               \
    return copy(rows, cols, element, a, lda, b, ldb, direction, (uintptr_t)stream);                          \
  }
COPIES(Set, , int, SET)
COPIES(Get, , int, GET)
COPIES(Set, _64, int64_t, SET)
COPIES(Get, _64, int64_t, GET)
