/* cuBLAS: the functions written by hand. The hundreds of computations are rows of cublas_computes.def. */
#ifndef VS_SIMCUDA_ABI_CUBLAS_H
#define VS_SIMCUDA_ABI_CUBLAS_H

#include "faces/simcuda/abi/cublas_types.h"

cublasStatus_t sim_cublasCreate_v2(cublasHandle_t *handle);
cublasStatus_t sim_cublasDestroy_v2(cublasHandle_t handle);
cublasStatus_t sim_cublasGetVersion_v2(cublasHandle_t handle, int *version);
cublasStatus_t sim_cublasGetProperty(libraryPropertyType type, int *value);
size_t sim_cublasGetCudartVersion(void);
const char *sim_cublasGetStatusName(cublasStatus_t status);
const char *sim_cublasGetStatusString(cublasStatus_t status);

cublasStatus_t sim_cublasSetWorkspace_v2(cublasHandle_t handle, void *workspace, size_t size);
cublasStatus_t sim_cublasSetStream_v2(cublasHandle_t handle, cudaStream_t stream);
cublasStatus_t sim_cublasGetStream_v2(cublasHandle_t handle, cudaStream_t *stream);
cublasStatus_t sim_cublasSetPointerMode_v2(cublasHandle_t handle, cublasPointerMode_t value);
cublasStatus_t sim_cublasGetPointerMode_v2(cublasHandle_t handle, cublasPointerMode_t *value);
cublasStatus_t sim_cublasSetAtomicsMode(cublasHandle_t handle, cublasAtomicsMode_t value);
cublasStatus_t sim_cublasGetAtomicsMode(cublasHandle_t handle, cublasAtomicsMode_t *value);
cublasStatus_t sim_cublasSetMathMode(cublasHandle_t handle, cublasMath_t value);
cublasStatus_t sim_cublasGetMathMode(cublasHandle_t handle, cublasMath_t *value);
cublasStatus_t sim_cublasSetSmCountTarget(cublasHandle_t handle, int count);
cublasStatus_t sim_cublasGetSmCountTarget(cublasHandle_t handle, int *count);
cublasStatus_t sim_cublasSetEmulationStrategy(cublasHandle_t handle, cublasEmulationStrategy_t value);
cublasStatus_t sim_cublasGetEmulationStrategy(cublasHandle_t handle, cublasEmulationStrategy_t *value);
cublasStatus_t sim_cublasSetEmulationSpecialValuesSupport(cublasHandle_t handle,
                                                          cudaEmulationSpecialValuesSupport value);
cublasStatus_t sim_cublasGetEmulationSpecialValuesSupport(cublasHandle_t handle,
                                                          cudaEmulationSpecialValuesSupport *value);
cublasStatus_t sim_cublasSetFixedPointEmulationMantissaControl(cublasHandle_t handle,
                                                               cudaEmulationMantissaControl value);
cublasStatus_t sim_cublasGetFixedPointEmulationMantissaControl(cublasHandle_t handle,
                                                               cudaEmulationMantissaControl *value);
cublasStatus_t sim_cublasSetFixedPointEmulationMaxMantissaBitCount(cublasHandle_t handle, int value);
cublasStatus_t sim_cublasGetFixedPointEmulationMaxMantissaBitCount(cublasHandle_t handle, int *value);
cublasStatus_t sim_cublasSetFixedPointEmulationMantissaBitOffset(cublasHandle_t handle, int value);
cublasStatus_t sim_cublasGetFixedPointEmulationMantissaBitOffset(cublasHandle_t handle, int *value);
cublasStatus_t sim_cublasSetFixedPointEmulationMantissaBitCountPointer(cublasHandle_t handle, int *pointer);
cublasStatus_t sim_cublasGetFixedPointEmulationMantissaBitCountPointer(cublasHandle_t handle, int **pointer);

cublasStatus_t sim_cublasLoggerConfigure(int is_on, int to_stdout, int to_stderr, const char *file);
cublasStatus_t sim_cublasSetLoggerCallback(cublasLogCallback callback);
cublasStatus_t sim_cublasGetLoggerCallback(cublasLogCallback *callback);
void sim_cublasXerbla(const char *name, int info);

/* Copies between host and device: each for int and int64_t. */
#define VS_CUBLAS_COPIES(suffix, I)                                                                         \
  cublasStatus_t sim_cublasSetVector##suffix(I n, I element, const void *x, I incx, void *device, I incy);  \
  cublasStatus_t sim_cublasGetVector##suffix(I n, I element, const void *x, I incx, void *y, I incy);       \
  cublasStatus_t sim_cublasSetMatrix##suffix(I rows, I cols, I element, const void *a, I lda, void *b,      \
                                             I ldb);                                                        \
  cublasStatus_t sim_cublasGetMatrix##suffix(I rows, I cols, I element, const void *a, I lda, void *b,      \
                                             I ldb);                                                        \
  cublasStatus_t sim_cublasSetVectorAsync##suffix(I n, I element, const void *x, I incx, void *y, I incy,   \
                                                  cudaStream_t stream);                                     \
  cublasStatus_t sim_cublasGetVectorAsync##suffix(I n, I element, const void *x, I incx, void *y, I incy,   \
                                                  cudaStream_t stream);                                     \
  cublasStatus_t sim_cublasSetMatrixAsync##suffix(I rows, I cols, I element, const void *a, I lda, void *b, \
                                                  I ldb, cudaStream_t stream);                              \
  cublasStatus_t sim_cublasGetMatrixAsync##suffix(I rows, I cols, I element, const void *a, I lda, void *b, \
                                                  I ldb, cudaStream_t stream);
VS_CUBLAS_COPIES(, int)
VS_CUBLAS_COPIES(_64, int64_t)
#undef VS_CUBLAS_COPIES

#define VS_COMPUTE(name, arguments, laws, results) cublasStatus_t sim_##name arguments;
#include "faces/simcuda/abi/cublas_computes.def"
#undef VS_COMPUTE

#endif
