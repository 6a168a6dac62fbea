/* cuBLASLt: the types and the functions written by hand. */
#ifndef VS_SIMCUDA_ABI_CUBLASLT_H
#define VS_SIMCUDA_ABI_CUBLASLT_H

#include <stdio.h>

#include "faces/simcuda/abi/cublas.h"

#if VS_ABI_TOOLKIT
#include <cublasLt.h>
#else
typedef struct cublasLtContext *cublasLtHandle_t;

/* Descriptors may lie in the program's own memory, so that their sizes are fixed. */
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

cublasStatus_t sim_cublasLtCreate(cublasLtHandle_t *handle);
cublasStatus_t sim_cublasLtDestroy(cublasLtHandle_t handle);
const char *sim_cublasLtGetStatusName(cublasStatus_t status);
const char *sim_cublasLtGetStatusString(cublasStatus_t status);
size_t sim_cublasLtGetVersion(void);
size_t sim_cublasLtGetCudartVersion(void);
cublasStatus_t sim_cublasLtGetProperty(libraryPropertyType type, int *value);
cublasStatus_t sim_cublasLtHeuristicsCacheGetCapacity(size_t *capacity);
cublasStatus_t sim_cublasLtHeuristicsCacheSetCapacity(size_t capacity);

/* What all kinds of descriptors have: VS_LT_KIND(name, type, attribute enum, arguments that make one) */
#define VS_LT_KINDS(VS_LT_KIND)                                                                           \
  VS_LT_KIND(MatrixLayout, cublasLtMatrixLayout_t, cublasLtMatrixLayoutAttribute_t, cudaDataType type,    \
             uint64_t rows, uint64_t cols, int64_t ld)                                                    \
  VS_LT_KIND(MatmulDesc, cublasLtMatmulDesc_t, cublasLtMatmulDescAttributes_t,                            \
             cublasComputeType_t compute_type, cudaDataType_t scale_type)                                 \
  VS_LT_KIND(MatrixTransformDesc, cublasLtMatrixTransformDesc_t, cublasLtMatrixTransformDescAttributes_t, \
             cudaDataType scale_type)
#define VS_LT_PLAIN_KINDS(VS_LT_KIND)                                                            \
  VS_LT_KIND(MatmulPreference, cublasLtMatmulPreference_t, cublasLtMatmulPreferenceAttributes_t) \
  VS_LT_KIND(EmulationDesc, cublasLtEmulationDesc_t, cublasLtEmulationDescAttributes_t)

#define VS_LT_ATTRIBUTES(name, type, attribute)                                                        \
  cublasStatus_t sim_cublasLt##name##Destroy(type descriptor);                                         \
  cublasStatus_t sim_cublasLt##name##SetAttribute(type descriptor, attribute which, const void *value, \
                                                  size_t size);                                        \
  cublasStatus_t sim_cublasLt##name##GetAttribute(type descriptor, attribute which, void *value,       \
                                                  size_t size, size_t *written);
#define VS_LT_KIND(name, type, attribute, ...)                                                 \
  cublasStatus_t sim_cublasLt##name##Init_internal(type descriptor, size_t size, __VA_ARGS__); \
  cublasStatus_t sim_cublasLt##name##Create(type *descriptor, __VA_ARGS__);                    \
  VS_LT_ATTRIBUTES(name, type, attribute)
VS_LT_KINDS(VS_LT_KIND)
#undef VS_LT_KIND
#define VS_LT_KIND(name, type, attribute)                                         \
  cublasStatus_t sim_cublasLt##name##Init_internal(type descriptor, size_t size); \
  cublasStatus_t sim_cublasLt##name##Create(type *descriptor);                    \
  VS_LT_ATTRIBUTES(name, type, attribute)
VS_LT_PLAIN_KINDS(VS_LT_KIND)
#undef VS_LT_KIND
#undef VS_LT_ATTRIBUTES

cublasStatus_t sim_cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t matmul, const void *alpha,
                                  const void *a, cublasLtMatrixLayout_t a_layout, const void *b,
                                  cublasLtMatrixLayout_t b_layout, const void *beta, const void *c,
                                  cublasLtMatrixLayout_t c_layout, void *d, cublasLtMatrixLayout_t d_layout,
                                  const cublasLtMatmulAlgo_t *algorithm, void *workspace,
                                  size_t workspace_size, cudaStream_t stream);
cublasStatus_t sim_cublasLtMatrixTransform(cublasLtHandle_t handle, cublasLtMatrixTransformDesc_t transform,
                                           const void *alpha, const void *a, cublasLtMatrixLayout_t a_layout,
                                           const void *beta, const void *b, cublasLtMatrixLayout_t b_layout,
                                           void *c, cublasLtMatrixLayout_t c_layout, cudaStream_t stream);
cublasStatus_t sim_cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t matmul,
                                                  cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                                  cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                                  cublasLtMatmulPreference_t preference, int wanted,
                                                  cublasLtMatmulHeuristicResult_t results[], int *count);
cublasStatus_t sim_cublasLtMatmulAlgoGetIds(cublasLtHandle_t handle, cublasComputeType_t compute,
                                            cudaDataType_t scale, cudaDataType_t a, cudaDataType_t b,
                                            cudaDataType_t c, cudaDataType_t d, int wanted, int ids[],
                                            int *count);
cublasStatus_t sim_cublasLtMatmulAlgoInit(cublasLtHandle_t handle, cublasComputeType_t compute,
                                          cudaDataType_t scale, cudaDataType_t a, cudaDataType_t b,
                                          cudaDataType_t c, cudaDataType_t d, int id,
                                          cublasLtMatmulAlgo_t *algorithm);
cublasStatus_t sim_cublasLtMatmulAlgoCheck(cublasLtHandle_t handle, cublasLtMatmulDesc_t matmul,
                                           cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                           cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                           const cublasLtMatmulAlgo_t *algorithm,
                                           cublasLtMatmulHeuristicResult_t *result);
cublasStatus_t sim_cublasLtMatmulAlgoConfigSetAttribute(cublasLtMatmulAlgo_t *algorithm,
                                                        cublasLtMatmulAlgoConfigAttributes_t which,
                                                        const void *value, size_t size);
cublasStatus_t sim_cublasLtMatmulAlgoConfigGetAttribute(const cublasLtMatmulAlgo_t *algorithm,
                                                        cublasLtMatmulAlgoConfigAttributes_t which,
                                                        void *value, size_t size, size_t *written);
cublasStatus_t sim_cublasLtMatmulAlgoCapGetAttribute(const cublasLtMatmulAlgo_t *algorithm,
                                                     cublasLtMatmulAlgoCapAttributes_t which, void *value,
                                                     size_t size, size_t *written);

cublasStatus_t sim_cublasLtLoggerSetCallback(cublasLtLoggerCallback_t value);
cublasStatus_t sim_cublasLtLoggerSetFile(FILE *value);
cublasStatus_t sim_cublasLtLoggerOpenFile(const char *value);
cublasStatus_t sim_cublasLtLoggerSetLevel(int value);
cublasStatus_t sim_cublasLtLoggerSetMask(int value);
cublasStatus_t sim_cublasLtLoggerForceDisable(void);

#endif
