/* Types that the mathematics libraries share, under their public names. VS_ABI_TOOLKIT: from the toolkit's
 * headers, for the test that compares signatures. */
#ifndef VS_SIMCUDA_ABI_MATH_TYPES_H
#define VS_SIMCUDA_ABI_MATH_TYPES_H

#include <stddef.h>
#include <stdint.h>

#ifndef VS_ABI_TOOLKIT
#define VS_ABI_TOOLKIT 0
#endif

#if VS_ABI_TOOLKIT
#include <cuComplex.h>
#include <driver_types.h>
#include <library_types.h>
#else
typedef struct CUstream_st *cudaStream_t;
typedef struct CUgraph_st *cudaGraph_t;

typedef enum cudaDataType_t {
  CUDA_R_32F = 0,
  CUDA_R_64F = 1,
  CUDA_R_16F = 2,
  CUDA_R_8I = 3,
  CUDA_C_32F = 4,
  CUDA_C_64F = 5,
  CUDA_C_16F = 6,
  CUDA_C_8I = 7,
  CUDA_R_8U = 8,
  CUDA_C_8U = 9,
  CUDA_R_32I = 10,
  CUDA_C_32I = 11,
  CUDA_R_32U = 12,
  CUDA_C_32U = 13,
  CUDA_R_16BF = 14,
  CUDA_C_16BF = 15,
  CUDA_R_4I = 16,
  CUDA_C_4I = 17,
  CUDA_R_4U = 18,
  CUDA_C_4U = 19,
  CUDA_R_16I = 20,
  CUDA_C_16I = 21,
  CUDA_R_16U = 22,
  CUDA_C_16U = 23,
  CUDA_R_64I = 24,
  CUDA_C_64I = 25,
  CUDA_R_64U = 26,
  CUDA_C_64U = 27,
  CUDA_R_8F_E4M3 = 28,
  CUDA_R_8F_E5M2 = 29,
  CUDA_R_8F_UE8M0 = 30,
  CUDA_R_6F_E2M3 = 31,
  CUDA_R_6F_E3M2 = 32,
  CUDA_R_4F_E2M1 = 33
} cudaDataType_t;
typedef cudaDataType_t cudaDataType;

typedef enum libraryPropertyType_t { MAJOR_VERSION, MINOR_VERSION, PATCH_LEVEL } libraryPropertyType;

typedef struct cuComplex {
  float x, y;
} __attribute__((aligned(8))) cuComplex;
typedef struct cuDoubleComplex {
  double x, y;
} __attribute__((aligned(16))) cuDoubleComplex;
#endif

/* A number of 16 bits, which is never read here. */
typedef struct vs_half {
  uint16_t bits;
} vs_half;

/* Bits of an element; 0 for an invalid type. */
static inline uint32_t vs_data_type_bits(cudaDataType_t type) {
  static const uint8_t bits[] = {32, 64, 16, 8,  64, 128, 32, 16, 8,   16, 32,  64, 32, 64, 16, 32, 4,
                                 8,  4,  8,  16, 32, 16,  32, 64, 128, 64, 128, 8,  8,  8,  6,  6,  4};
  return (unsigned)type < sizeof bits ? bits[(unsigned)type] : 0;
}

#endif
