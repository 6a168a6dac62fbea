/* The handle of cuBLAS. */
#ifndef VS_SIMCUDA_CUBLAS_HANDLE_H
#define VS_SIMCUDA_CUBLAS_HANDLE_H

#include "faces/simcuda/abi/cublas.h"
#include "faces/simcuda/core/objects.h"

struct cublasContext {
  vs_object object;
  uint64_t stream;
  uint32_t device;
  cublasPointerMode_t pointer_mode;
  cublasAtomicsMode_t atomics_mode;
  cublasMath_t math_mode;
  int sm_count_target;
  cublasEmulationStrategy_t strategy;
  cudaEmulationSpecialValuesSupport special_values;
  cudaEmulationMantissaControl mantissa_control;
  int most_mantissa_bits, mantissa_offset, *mantissa_count;
};

static inline bool vs_cublas_is(cublasHandle_t handle) { return vs_object_is(handle, VS_TAG_CUBLAS); }

/* Counts a kernel on the handle's stream. */
cublasStatus_t vs_cublas_work(cublasHandle_t handle);

#endif
