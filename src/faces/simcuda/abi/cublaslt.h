/* cuBLASLt: the types, and declarations of the functions of its list. */
#ifndef VS_SIMCUDA_ABI_CUBLASLT_H
#define VS_SIMCUDA_ABI_CUBLASLT_H

#include <stdio.h>

#include "faces/simcuda/abi/cublas_types.h"

#if VS_ABI_TOOLKIT
#include <cublasLt.h>
#else
typedef struct cublasLtContext *cublasLtHandle_t;

/* Descriptors may be in the program's own memory, so their sizes are fixed. */
typedef struct {
  uint64_t data[8];
} cublasLtMatrixLayoutOpaque_t, cublasLtMatmulPreferenceOpaque_t, cublasLtMatrixTransformDescOpaque_t,
    cublasLtEmulationDescOpaque_t;
typedef struct {
  uint64_t data[8];
} cublasLtMatmulAlgo_t;
typedef struct {
  uint64_t data[32];
} cublasLtMatmulDescOpaque_t;
typedef cublasLtMatrixLayoutOpaque_t *cublasLtMatrixLayout_t;
typedef cublasLtMatmulPreferenceOpaque_t *cublasLtMatmulPreference_t;
typedef cublasLtMatmulDescOpaque_t *cublasLtMatmulDesc_t;
typedef cublasLtMatrixTransformDescOpaque_t *cublasLtMatrixTransformDesc_t;
typedef cublasLtEmulationDescOpaque_t *cublasLtEmulationDesc_t;

typedef enum {
  CUBLASLT_MATRIX_LAYOUT_TYPE,
  CUBLASLT_MATRIX_LAYOUT_MOST = 0xff
} cublasLtMatrixLayoutAttribute_t;
typedef enum {
  CUBLASLT_MATMUL_DESC_COMPUTE_TYPE,
  CUBLASLT_MATMUL_DESC_MOST = 0xff
} cublasLtMatmulDescAttributes_t;
typedef enum {
  CUBLASLT_MATMUL_PREF_SEARCH_MODE,
  CUBLASLT_MATMUL_PREF_MOST = 0xff
} cublasLtMatmulPreferenceAttributes_t;
typedef enum {
  CUBLASLT_MATRIX_TRANSFORM_DESC_SCALE_TYPE,
  CUBLASLT_MATRIX_TRANSFORM_DESC_MOST = 0xff
} cublasLtMatrixTransformDescAttributes_t;
typedef enum {
  CUBLASLT_EMULATION_DESC_STRATEGY,
  CUBLASLT_EMULATION_DESC_MOST = 0xff
} cublasLtEmulationDescAttributes_t;
typedef enum {
  CUBLASLT_ALGO_CAP_SPLITK_SUPPORT,
  CUBLASLT_ALGO_CAP_MOST = 0xff
} cublasLtMatmulAlgoCapAttributes_t;
typedef enum {
  CUBLASLT_ALGO_CONFIG_ID,
  CUBLASLT_ALGO_CONFIG_MOST = 0xff
} cublasLtMatmulAlgoConfigAttributes_t;

typedef struct {
  cublasLtMatmulAlgo_t algo;
  size_t workspaceSize;
  cublasStatus_t state;
  float wavesCount;
  int reserved[4];
} cublasLtMatmulHeuristicResult_t;

typedef void (*cublasLtLoggerCallback_t)(int level, const char *function, const char *text);
#endif

#include "faces/simcuda/abi/declare.h"
#include "faces/simcuda/abi/cublaslt_names.def"
#include "faces/simcuda/abi/declared.h"

#endif
