/* cuFFT: the types, and declarations of the functions of its list. */
#ifndef VS_SIMCUDA_ABI_CUFFT_H
#define VS_SIMCUDA_ABI_CUFFT_H

#include "faces/simcuda/abi/math_types.h"

#if VS_ABI_TOOLKIT
#include <cufft.h>
#include <cufftXt.h>
#else
typedef int cufftHandle;

typedef enum cufftResult_t {
  CUFFT_SUCCESS = 0,
  CUFFT_INVALID_PLAN = 1,
  CUFFT_ALLOC_FAILED = 2,
  CUFFT_INVALID_TYPE = 3,
  CUFFT_INVALID_VALUE = 4,
  CUFFT_INTERNAL_ERROR = 5,
  CUFFT_EXEC_FAILED = 6,
  CUFFT_SETUP_FAILED = 7,
  CUFFT_INVALID_SIZE = 8,
  CUFFT_NO_WORKSPACE = 13,
  CUFFT_NOT_SUPPORTED = 16
} cufftResult;

typedef enum cufftType_t {
  CUFFT_R2C = 0x2a,
  CUFFT_C2R = 0x2c,
  CUFFT_C2C = 0x29,
  CUFFT_D2Z = 0x6a,
  CUFFT_Z2D = 0x6c,
  CUFFT_Z2Z = 0x69
} cufftType;

typedef float cufftReal;
typedef double cufftDoubleReal;
typedef cuComplex cufftComplex;
typedef cuDoubleComplex cufftDoubleComplex;

typedef enum cufftProperty_t {
  NVFFT_PLAN_PROPERTY_INT64_PATIENT_JIT = 1,
  NVFFT_PLAN_PROPERTY_MOST = 0xff
} cufftProperty;
typedef enum cufftXtWorkAreaPolicy_t {
  CUFFT_WORKAREA_MINIMAL,
  CUFFT_WORKAREA_USER,
  CUFFT_WORKAREA_PERFORMANCE
} cufftXtWorkAreaPolicy;
#endif

#include "faces/simcuda/abi/declare.h"
#include "faces/simcuda/abi/cufft_names.def"
#include "faces/simcuda/abi/declared.h"

#endif
