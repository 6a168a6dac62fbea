/* The handle and the descriptors of cuSPARSE. */
#ifndef VS_SIMCUDA_CUSPARSE_OBJECTS_H
#define VS_SIMCUDA_CUSPARSE_OBJECTS_H

#include "faces/simcuda/abi/cusparse.h"
#include "faces/simcuda/core/objects.h"

struct cusparseContext {
  vs_object object;
  uint64_t stream;
  cusparsePointerMode_t pointer_mode;
};

/* The shape of a matrix of the old interface. */
struct cusparseMatDescr {
  vs_object object;
  cusparseMatrixType_t type;
  cusparseFillMode_t fill;
  cusparseDiagType_t diag;
  cusparseIndexBase_t base;
};

struct cusparseSpVecDescr {
  vs_object object;
  int64_t size, nnz;
  void *indices, *values;
  cusparseIndexType_t index_type;
  cusparseIndexBase_t base;
  cudaDataType type;
};

struct cusparseDnVecDescr {
  vs_object object;
  int64_t size;
  void *values;
  cudaDataType type;
};

/* Members that each format names differently: `first` are row offsets (CSR, BSR, sliced ELL), column offsets (CSC)
 * or row indices (COO); `second` are the indices of the other direction. */
struct cusparseSpMatDescr {
  vs_object object;
  cusparseFormat_t format;
  int64_t rows, cols, nnz;
  void *first, *second, *values;
  cusparseIndexType_t first_type, second_type;
  cusparseIndexBase_t base;
  cudaDataType type;
  int batch;
  cusparseFillMode_t fill;
  cusparseDiagType_t diag;
};

struct cusparseDnMatDescr {
  vs_object object;
  int64_t rows, cols, ld;
  void *values;
  cudaDataType type;
  cusparseOrder_t order;
  int batch;
  int64_t stride;
};

#define CUSPARSE_TAG(kind)   CUSPARSE_TAG_##kind
#define CUSPARSE_TAG_Handle  VS_TAG('s', 'p', 'h', ' ')
#define CUSPARSE_TAG_Shape   VS_TAG('s', 'p', 's', 'h')
#define CUSPARSE_TAG_SpVec   VS_TAG('s', 'p', 's', 'v')
#define CUSPARSE_TAG_DnVec   VS_TAG('s', 'p', 'd', 'v')
#define CUSPARSE_TAG_SpMat   VS_TAG('s', 'p', 's', 'm')
#define CUSPARSE_TAG_DnMat   VS_TAG('s', 'p', 'd', 'm')
#define CUSPARSE_TAG_Info    VS_TAG('s', 'p', 'i', 'n')
#define IS(kind, descriptor) vs_object_is(descriptor, CUSPARSE_TAG(kind))
#define IS_HANDLE(handle)    vs_object_is(handle, CUSPARSE_TAG_Handle)
#define IS_SHAPE(shape)      vs_object_is(shape, CUSPARSE_TAG_Shape)
#define IS_INFO(info)        vs_object_is(info, CUSPARSE_TAG_Info)

#endif
