/* The types of cuBLAS, which cuSOLVER uses too. */
#ifndef VS_SIMCUDA_ABI_CUBLAS_TYPES_H
#define VS_SIMCUDA_ABI_CUBLAS_TYPES_H

#include "faces/simcuda/abi/math_types.h"

#if VS_ABI_TOOLKIT
#include <cublas_v2.h>
#else
typedef struct cublasContext *cublasHandle_t;

typedef enum cublasStatus_t {
#define VS_CUBLAS_STATUS(name, value, text) name = (value),
#include "faces/simcuda/abi/cublas_status.def"
#undef VS_CUBLAS_STATUS
} cublasStatus_t;

typedef enum { CUBLAS_FILL_MODE_LOWER, CUBLAS_FILL_MODE_UPPER, CUBLAS_FILL_MODE_FULL } cublasFillMode_t;
typedef enum { CUBLAS_DIAG_NON_UNIT, CUBLAS_DIAG_UNIT } cublasDiagType_t;
typedef enum { CUBLAS_SIDE_LEFT, CUBLAS_SIDE_RIGHT } cublasSideMode_t;
typedef enum { CUBLAS_OP_N, CUBLAS_OP_T, CUBLAS_OP_C, CUBLAS_OP_CONJG } cublasOperation_t;
typedef enum { CUBLAS_POINTER_MODE_HOST, CUBLAS_POINTER_MODE_DEVICE } cublasPointerMode_t;
typedef enum { CUBLAS_ATOMICS_NOT_ALLOWED, CUBLAS_ATOMICS_ALLOWED } cublasAtomicsMode_t;
typedef enum { CUBLAS_GEMM_DEFAULT = -1, CUBLAS_GEMM_AUTOTUNE = 999 } cublasGemmAlgo_t;
typedef enum { CUBLAS_DEFAULT_MATH, CUBLAS_MATH_MOST = 0xff } cublasMath_t;
typedef enum { CUBLAS_COMPUTE_16F = 64, CUBLAS_COMPUTE_32F_EMULATED_16BFX9 = 78 } cublasComputeType_t;
typedef enum {
  CUBLAS_EMULATION_STRATEGY_DEFAULT,
  CUBLAS_EMULATION_STRATEGY_EAGER = 2
} cublasEmulationStrategy_t;
typedef enum cudaEmulationSpecialValuesSupport_t {
  CUDA_EMULATION_SPECIAL_VALUES_SUPPORT_DEFAULT = 0xffff
} cudaEmulationSpecialValuesSupport;
typedef enum cudaEmulationMantissaControl_t {
  CUDA_EMULATION_MANTISSA_CONTROL_DYNAMIC
} cudaEmulationMantissaControl;
typedef void (*cublasLogCallback)(const char *text);
#endif

#endif
