/* cuSPARSELt: the types and the functions written by hand. Handles and descriptors lie in the program's
 * memory, in structs of thousands of bytes whose size differs from release to release: only their beginning
 * is used. Enumerations are ints. */
#ifndef VS_SIMCUDA_ABI_CUSPARSELT_H
#define VS_SIMCUDA_ABI_CUSPARSELT_H

#include "faces/simcuda/abi/math_types.h"

typedef struct cusparseLtHandle_t cusparseLtHandle_t;
typedef struct cusparseLtMatDescriptor_t cusparseLtMatDescriptor_t;
typedef struct cusparseLtMatmulDescriptor_t cusparseLtMatmulDescriptor_t;
typedef struct cusparseLtMatmulAlgSelection_t cusparseLtMatmulAlgSelection_t;
typedef struct cusparseLtMatmulPlan_t cusparseLtMatmulPlan_t;
typedef int cusparseLtStatus; /* cusparseStatus_t */

cusparseLtStatus sim_cusparseLtInit(cusparseLtHandle_t *handle);
cusparseLtStatus sim_cusparseLtDenseDescriptorInit(const cusparseLtHandle_t *handle,
                                                   cusparseLtMatDescriptor_t *matrix, int64_t rows,
                                                   int64_t cols, int64_t ld, uint32_t alignment,
                                                   cudaDataType type, int order);
cusparseLtStatus sim_cusparseLtStructuredDescriptorInit(const cusparseLtHandle_t *handle,
                                                        cusparseLtMatDescriptor_t *matrix, int64_t rows,
                                                        int64_t cols, int64_t ld, uint32_t alignment,
                                                        cudaDataType type, int order, int sparsity);
cusparseLtStatus sim_cusparseLtMatDescriptorDestroy(const cusparseLtMatDescriptor_t *matrix);
cusparseLtStatus sim_cusparseLtMatmulDescriptorInit(const cusparseLtHandle_t *handle,
                                                    cusparseLtMatmulDescriptor_t *matmul, int opa, int opb,
                                                    const cusparseLtMatDescriptor_t *a,
                                                    const cusparseLtMatDescriptor_t *b,
                                                    const cusparseLtMatDescriptor_t *c,
                                                    const cusparseLtMatDescriptor_t *d, int compute_type);
cusparseLtStatus sim_cusparseLtMatmulDescSetAttribute(const cusparseLtHandle_t *handle,
                                                      cusparseLtMatmulDescriptor_t *matmul, int attribute,
                                                      const void *value, size_t size);
cusparseLtStatus sim_cusparseLtMatmulAlgSelectionInit(const cusparseLtHandle_t *handle,
                                                      cusparseLtMatmulAlgSelection_t *selection,
                                                      const cusparseLtMatmulDescriptor_t *matmul,
                                                      int algorithm);
cusparseLtStatus sim_cusparseLtMatmulAlgSetAttribute(const cusparseLtHandle_t *handle,
                                                     cusparseLtMatmulAlgSelection_t *selection, int attribute,
                                                     const void *value, size_t size);
cusparseLtStatus sim_cusparseLtMatmulAlgGetAttribute(const cusparseLtHandle_t *handle,
                                                     const cusparseLtMatmulAlgSelection_t *selection,
                                                     int attribute, void *value, size_t size);
cusparseLtStatus sim_cusparseLtMatmulPlanInit(const cusparseLtHandle_t *handle, cusparseLtMatmulPlan_t *plan,
                                              const cusparseLtMatmulDescriptor_t *matmul,
                                              const cusparseLtMatmulAlgSelection_t *selection);
cusparseLtStatus sim_cusparseLtMatmulPlanDestroy(const cusparseLtMatmulPlan_t *plan);
cusparseLtStatus sim_cusparseLtMatmulGetWorkspace(const cusparseLtHandle_t *handle,
                                                  const cusparseLtMatmulPlan_t *plan, size_t *size);
cusparseLtStatus sim_cusparseLtMatmul(const cusparseLtHandle_t *handle, const cusparseLtMatmulPlan_t *plan,
                                      const void *alpha, const void *a, const void *b, const void *beta,
                                      const void *c, void *d, void *workspace, cudaStream_t *streams,
                                      int32_t stream_count);
cusparseLtStatus sim_cusparseLtMatmulSearch(const cusparseLtHandle_t *handle, cusparseLtMatmulPlan_t *plan,
                                            const void *alpha, const void *a, const void *b, const void *beta,
                                            const void *c, void *d, void *workspace, cudaStream_t *streams,
                                            int32_t stream_count);
cusparseLtStatus sim_cusparseLtSpMMACompressedSize2(const cusparseLtHandle_t *handle,
                                                    const cusparseLtMatDescriptor_t *matrix, size_t *size,
                                                    size_t *buffer_size);
cusparseLtStatus sim_cusparseLtSpMMACompress2(const cusparseLtHandle_t *handle,
                                              const cusparseLtMatDescriptor_t *matrix, int is_sparse_a,
                                              int op, const void *dense, void *compressed, void *buffer,
                                              cudaStream_t stream);

#endif
