/* Vectors and matrices as descriptors: setting, reading, destroying. Their arrays are the program's. */
#include "faces/simcuda/cusparse/objects.h"

#define ANSWER(to, value)              \
  do {                                 \
    if ((to) != NULL) *(to) = (value); \
  } while (0)

/* ---- shapes of the old interface */

static vs_shelf shapes = VS_SHELF(CUSPARSE_TAG_Shape, struct cusparseMatDescr);

cusparseStatus_t sim_cusparseCreateMatDescr(cusparseMatDescr_t *descriptor) {
  if (descriptor == NULL) return CUSPARSE_STATUS_INVALID_VALUE;
  *descriptor = vs_shelf_take(&shapes);
  return *descriptor != NULL ? CUSPARSE_STATUS_SUCCESS : CUSPARSE_STATUS_ALLOC_FAILED;
}

cusparseStatus_t sim_cusparseDestroyMatDescr(cusparseMatDescr_t descriptor) {
  return descriptor == NULL || vs_shelf_put_back(&shapes, descriptor) ? CUSPARSE_STATUS_SUCCESS
                                                                      : CUSPARSE_STATUS_INVALID_VALUE;
}

#define SHAPE(What, value_type, member, most)                                                    \
  cusparseStatus_t sim_cusparseSetMat##What(cusparseMatDescr_t descriptor, value_type value) {   \
    if (!IS_SHAPE(descriptor) || (unsigned)value > (most)) return CUSPARSE_STATUS_INVALID_VALUE; \
    descriptor->member = value;                                                                  \
    return CUSPARSE_STATUS_SUCCESS;                                                              \
  }                                                                                              \
  value_type sim_cusparseGetMat##What(const cusparseMatDescr_t descriptor) {                     \
    return IS_SHAPE(descriptor) ? descriptor->member : (value_type)0;                            \
  }
SHAPE(Type, cusparseMatrixType_t, type, 3)
SHAPE(FillMode, cusparseFillMode_t, fill, 1)
SHAPE(DiagType, cusparseDiagType_t, diag, 1)
SHAPE(IndexBase, cusparseIndexBase_t, base, 1)

/* ---- results of analyses: one kind of empty object for all */

typedef struct analysis {
  vs_object object;
} analysis;

static vs_shelf analyses = VS_SHELF(CUSPARSE_TAG_Info, analysis);

#define VS_INFO(type, create, destroy)                                                         \
  cusparseStatus_t sim_cusparse##create(type *info) {                                          \
    if (info == NULL) return CUSPARSE_STATUS_INVALID_VALUE;                                    \
    *info = vs_shelf_take(&analyses);                                                          \
    return *info != NULL ? CUSPARSE_STATUS_SUCCESS : CUSPARSE_STATUS_ALLOC_FAILED;             \
  }                                                                                            \
  cusparseStatus_t sim_cusparse##destroy(type info) {                                          \
    return info == NULL || vs_shelf_put_back(&analyses, info) ? CUSPARSE_STATUS_SUCCESS        \
                                                              : CUSPARSE_STATUS_INVALID_VALUE; \
  }
VS_CUSPARSE_INFOS(VS_INFO)

cusparseStatus_t sim_cusparseSpGEMM_getNumProducts(cusparseSpGEMMDescr_t descriptor, int64_t *count) {
  if (!IS_INFO(descriptor) || count == NULL) return CUSPARSE_STATUS_INVALID_VALUE;
  *count = 0;
  return CUSPARSE_STATUS_SUCCESS;
}

/* ---- creating */

static vs_shelf sparse_vectors = VS_SHELF(CUSPARSE_TAG_SpVec, struct cusparseSpVecDescr);
static vs_shelf dense_vectors = VS_SHELF(CUSPARSE_TAG_DnVec, struct cusparseDnVecDescr);
static vs_shelf sparse_matrices = VS_SHELF(CUSPARSE_TAG_SpMat, struct cusparseSpMatDescr);
static vs_shelf dense_matrices = VS_SHELF(CUSPARSE_TAG_DnMat, struct cusparseDnMatDescr);

/* The const forms store the same pointers. */
static void *writable(const void *memory) {
  void *same;
  memcpy(&same, &memory, sizeof same);
  return same;
}

/* Copies a filled struct, except its head, into a new object of the shelf. */
static cusparseStatus_t make(vs_shelf *shelf, const void *content, const void **descriptor, bool is_lawful) {
  if (descriptor == NULL || !is_lawful) return CUSPARSE_STATUS_INVALID_VALUE;
  char *made = vs_shelf_take(shelf);
  if (made == NULL) return CUSPARSE_STATUS_ALLOC_FAILED;
  memcpy(made + sizeof(vs_object), (const char *)content + sizeof(vs_object),
         shelf->size - sizeof(vs_object));
  *descriptor = made;
  return CUSPARSE_STATUS_SUCCESS;
}

static cusparseStatus_t make_matrix(const struct cusparseSpMatDescr *content, const void **descriptor) {
  return make(&sparse_matrices, content, descriptor,
              content->rows >= 0 && content->cols >= 0 && content->nnz >= 0);
}

#define AS_MADE(descriptor) (const void **)(descriptor)

#define PARTS(Const, qualifier)                                                                              \
  cusparseStatus_t sim_cusparseCreate##Const##SpVec(                                                         \
      cusparse##Const##SpVecDescr_t *vector, int64_t size, int64_t nnz, qualifier void *indices,             \
      qualifier void *values, cusparseIndexType_t index_type, cusparseIndexBase_t base, cudaDataType type) { \
    const struct cusparseSpVecDescr content = {.size = size,                                                 \
                                               .nnz = nnz,                                                   \
                                               .indices = writable(indices),                                 \
                                               .values = writable(values),                                   \
                                               .index_type = index_type,                                     \
                                               .base = base,                                                 \
                                               .type = type};                                                \
    return make(&sparse_vectors, &content, AS_MADE(vector), size >= 0 && nnz >= 0 && nnz <= size);           \
  }                                                                                                          \
  cusparseStatus_t sim_cusparse##Const##SpVecGet(cusparse##Const##SpVecDescr_t vector, int64_t *size,        \
                                                 int64_t *nnz, qualifier void **indices,                     \
                                                 qualifier void **values, cusparseIndexType_t *index_type,   \
                                                 cusparseIndexBase_t *base, cudaDataType *type) {            \
    if (!IS(SpVec, vector)) return CUSPARSE_STATUS_INVALID_VALUE;                                            \
    ANSWER(size, vector->size);                                                                              \
    ANSWER(nnz, vector->nnz);                                                                                \
    ANSWER(indices, vector->indices);                                                                        \
    ANSWER(values, vector->values);                                                                          \
    ANSWER(index_type, vector->index_type);                                                                  \
    ANSWER(base, vector->base);                                                                              \
    ANSWER(type, vector->type);                                                                              \
    return CUSPARSE_STATUS_SUCCESS;                                                                          \
  }                                                                                                          \
  cusparseStatus_t sim_cusparse##Const##SpVecGetValues(cusparse##Const##SpVecDescr_t vector,                 \
                                                       qualifier void **values) {                            \
    return sim_cusparse##Const##SpVecGet(vector, NULL, NULL, NULL, values, NULL, NULL, NULL);                \
  }                                                                                                          \
  cusparseStatus_t sim_cusparseCreate##Const##DnVec(cusparse##Const##DnVecDescr_t *vector, int64_t size,     \
                                                    qualifier void *values, cudaDataType type) {             \
    const struct cusparseDnVecDescr content = {.size = size, .values = writable(values), .type = type};      \
    return make(&dense_vectors, &content, AS_MADE(vector), size >= 0);                                       \
  }                                                                                                          \
  cusparseStatus_t sim_cusparse##Const##DnVecGet(cusparse##Const##DnVecDescr_t vector, int64_t *size,        \
                                                 qualifier void **values, cudaDataType *type) {              \
    if (!IS(DnVec, vector)) return CUSPARSE_STATUS_INVALID_VALUE;                                            \
    ANSWER(size, vector->size);                                                                              \
    ANSWER(values, vector->values);                                                                          \
    ANSWER(type, vector->type);                                                                              \
    return CUSPARSE_STATUS_SUCCESS;                                                                          \
  }                                                                                                          \
  cusparseStatus_t sim_cusparse##Const##DnVecGetValues(cusparse##Const##DnVecDescr_t vector,                 \
                                                       qualifier void **values) {                            \
    return sim_cusparse##Const##DnVecGet(vector, NULL, values, NULL);                                        \
  }                                                                                                          \
  cusparseStatus_t sim_cusparseCreate##Const##DnMat(cusparse##Const##DnMatDescr_t *matrix, int64_t rows,     \
                                                    int64_t cols, int64_t ld, qualifier void *values,        \
                                                    cudaDataType type, cusparseOrder_t order) {              \
    const struct cusparseDnMatDescr content = {.rows = rows,                                                 \
                                               .cols = cols,                                                 \
                                               .ld = ld,                                                     \
                                               .values = writable(values),                                   \
                                               .type = type,                                                 \
                                               .order = order,                                               \
                                               .batch = 1};                                                  \
    const int64_t least = order == CUSPARSE_ORDER_ROW ? cols : rows;                                         \
    return make(&dense_matrices, &content, AS_MADE(matrix), rows >= 0 && cols >= 0 && ld >= least);          \
  }                                                                                                          \
  cusparseStatus_t sim_cusparse##Const##DnMatGet(cusparse##Const##DnMatDescr_t matrix, int64_t *rows,        \
                                                 int64_t *cols, int64_t *ld, qualifier void **values,        \
                                                 cudaDataType *type, cusparseOrder_t *order) {               \
    if (!IS(DnMat, matrix)) return CUSPARSE_STATUS_INVALID_VALUE;                                            \
    ANSWER(rows, matrix->rows);                                                                              \
    ANSWER(cols, matrix->cols);                                                                              \
    ANSWER(ld, matrix->ld);                                                                                  \
    ANSWER(values, matrix->values);                                                                          \
    ANSWER(type, matrix->type);                                                                              \
    ANSWER(order, matrix->order);                                                                            \
    return CUSPARSE_STATUS_SUCCESS;                                                                          \
  }                                                                                                          \
  cusparseStatus_t sim_cusparse##Const##DnMatGetValues(cusparse##Const##DnMatDescr_t matrix,                 \
                                                       qualifier void **values) {                            \
    return sim_cusparse##Const##DnMatGet(matrix, NULL, NULL, NULL, values, NULL, NULL);                      \
  }                                                                                                          \
  cusparseStatus_t sim_cusparse##Const##SpMatGetValues(cusparse##Const##SpMatDescr_t matrix,                 \
                                                       qualifier void **values) {                            \
    if (!IS(SpMat, matrix)) return CUSPARSE_STATUS_INVALID_VALUE;                                            \
    ANSWER(values, matrix->values);                                                                          \
    return CUSPARSE_STATUS_SUCCESS;                                                                          \
  }                                                                                                          \
  COMPRESSED(Const, qualifier, Csr, CUSPARSE_FORMAT_CSR)                                                     \
  COMPRESSED(Const, qualifier, Csc, CUSPARSE_FORMAT_CSC)                                                     \
  cusparseStatus_t sim_cusparseCreate##Const##Coo(                                                           \
      cusparse##Const##SpMatDescr_t *matrix, int64_t rows, int64_t cols, int64_t nnz,                        \
      qualifier void *row_indices, qualifier void *col_indices, qualifier void *values,                      \
      cusparseIndexType_t index_type, cusparseIndexBase_t base, cudaDataType type) {                         \
    const struct cusparseSpMatDescr content = {.format = CUSPARSE_FORMAT_COO,                                \
                                               .rows = rows,                                                 \
                                               .cols = cols,                                                 \
                                               .nnz = nnz,                                                   \
                                               .first = writable(row_indices),                               \
                                               .second = writable(col_indices),                              \
                                               .values = writable(values),                                   \
                                               .first_type = index_type,                                     \
                                               .second_type = index_type,                                    \
                                               .base = base,                                                 \
                                               .type = type,                                                 \
                                               .batch = 1};                                                  \
    return make_matrix(&content, AS_MADE(matrix));                                                           \
  }                                                                                                          \
  cusparseStatus_t sim_cusparse##Const##CooGet(                                                              \
      cusparse##Const##SpMatDescr_t matrix, int64_t *rows, int64_t *cols, int64_t *nnz,                      \
      qualifier void **row_indices, qualifier void **col_indices, qualifier void **values,                   \
      cusparseIndexType_t *index_type, cusparseIndexBase_t *base, cudaDataType *type) {                      \
    if (!IS(SpMat, matrix) || matrix->format != CUSPARSE_FORMAT_COO) return CUSPARSE_STATUS_INVALID_VALUE;   \
    ANSWER(rows, matrix->rows);                                                                              \
    ANSWER(cols, matrix->cols);                                                                              \
    ANSWER(nnz, matrix->nnz);                                                                                \
    ANSWER(row_indices, matrix->first);                                                                      \
    ANSWER(col_indices, matrix->second);                                                                     \
    ANSWER(values, matrix->values);                                                                          \
    ANSWER(index_type, matrix->second_type);                                                                 \
    ANSWER(base, matrix->base);                                                                              \
    ANSWER(type, matrix->type);                                                                              \
    return CUSPARSE_STATUS_SUCCESS;                                                                          \
  }                                                                                                          \
  cusparseStatus_t sim_cusparseCreate##Const##Bsr(                                                           \
      cusparse##Const##SpMatDescr_t *matrix, int64_t block_rows, int64_t block_cols, int64_t block_nnz,      \
      int64_t row_block, int64_t col_block, qualifier void *offsets, qualifier void *indices,                \
      qualifier void *values, cusparseIndexType_t offset_type, cusparseIndexType_t index_type,               \
      cusparseIndexBase_t base, cudaDataType type, cusparseOrder_t order) {                                  \
    (void)order;                                                                                             \
    const struct cusparseSpMatDescr content = {.format = CUSPARSE_FORMAT_BSR,                                \
                                               .rows = block_rows * row_block,                               \
                                               .cols = block_cols * col_block,                               \
                                               .nnz = block_nnz * row_block * col_block,                     \
                                               .first = writable(offsets),                                   \
                                               .second = writable(indices),                                  \
                                               .values = writable(values),                                   \
                                               .first_type = offset_type,                                    \
                                               .second_type = index_type,                                    \
                                               .base = base,                                                 \
                                               .type = type,                                                 \
                                               .batch = 1};                                                  \
    return row_block > 0 && col_block > 0 ? make_matrix(&content, AS_MADE(matrix))                           \
                                          : CUSPARSE_STATUS_INVALID_VALUE;                                   \
  }                                                                                                          \
  cusparseStatus_t sim_cusparseCreate##Const##BlockedEll(                                                    \
      cusparse##Const##SpMatDescr_t *matrix, int64_t rows, int64_t cols, int64_t block, int64_t ell_cols,    \
      qualifier void *indices, qualifier void *values, cusparseIndexType_t index_type,                       \
      cusparseIndexBase_t base, cudaDataType type) {                                                         \
    const struct cusparseSpMatDescr content = {.format = CUSPARSE_FORMAT_BLOCKED_ELL,                        \
                                               .rows = rows,                                                 \
                                               .cols = cols,                                                 \
                                               .nnz = rows * ell_cols,                                       \
                                               .second = writable(indices),                                  \
                                               .values = writable(values),                                   \
                                               .second_type = index_type,                                    \
                                               .base = base,                                                 \
                                               .type = type,                                                 \
                                               .batch = 1};                                                  \
    return block > 0 && ell_cols >= 0 ? make_matrix(&content, AS_MADE(matrix))                               \
                                      : CUSPARSE_STATUS_INVALID_VALUE;                                       \
  }                                                                                                          \
  cusparseStatus_t sim_cusparseCreate##Const##SlicedEll(                                                     \
      cusparse##Const##SpMatDescr_t *matrix, int64_t rows, int64_t cols, int64_t nnz, int64_t size,          \
      int64_t slice, qualifier void *offsets, qualifier void *indices, qualifier void *values,               \
      cusparseIndexType_t offset_type, cusparseIndexType_t index_type, cusparseIndexBase_t base,             \
      cudaDataType type) {                                                                                   \
    const struct cusparseSpMatDescr content = {.format = CUSPARSE_FORMAT_SLICED_ELLPACK,                     \
                                               .rows = rows,                                                 \
                                               .cols = cols,                                                 \
                                               .nnz = nnz,                                                   \
                                               .first = writable(offsets),                                   \
                                               .second = writable(indices),                                  \
                                               .values = writable(values),                                   \
                                               .first_type = offset_type,                                    \
                                               .second_type = index_type,                                    \
                                               .base = base,                                                 \
                                               .type = type,                                                 \
                                               .batch = 1};                                                  \
    return slice > 0 && size >= 0 ? make_matrix(&content, AS_MADE(matrix)) : CUSPARSE_STATUS_INVALID_VALUE;  \
  }

#define COMPRESSED(Const, qualifier, Format, format_value)                                            \
  cusparseStatus_t sim_cusparseCreate##Const##Format(                                                 \
      cusparse##Const##SpMatDescr_t *matrix, int64_t rows, int64_t cols, int64_t nnz,                 \
      qualifier void *offsets, qualifier void *indices, qualifier void *values,                       \
      cusparseIndexType_t offset_type, cusparseIndexType_t index_type, cusparseIndexBase_t base,      \
      cudaDataType type) {                                                                            \
    const struct cusparseSpMatDescr content = {.format = (format_value),                              \
                                               .rows = rows,                                          \
                                               .cols = cols,                                          \
                                               .nnz = nnz,                                            \
                                               .first = writable(offsets),                            \
                                               .second = writable(indices),                           \
                                               .values = writable(values),                            \
                                               .first_type = offset_type,                             \
                                               .second_type = index_type,                             \
                                               .base = base,                                          \
                                               .type = type,                                          \
                                               .batch = 1};                                           \
    return make_matrix(&content, AS_MADE(matrix));                                                    \
  }                                                                                                   \
  cusparseStatus_t sim_cusparse##Const##Format##Get(                                                  \
      cusparse##Const##SpMatDescr_t matrix, int64_t *rows, int64_t *cols, int64_t *nnz,               \
      qualifier void **offsets, qualifier void **indices, qualifier void **values,                    \
      cusparseIndexType_t *offset_type, cusparseIndexType_t *index_type, cusparseIndexBase_t *base,   \
      cudaDataType *type) {                                                                           \
    if (!IS(SpMat, matrix) || matrix->format != (format_value)) return CUSPARSE_STATUS_INVALID_VALUE; \
    ANSWER(rows, matrix->rows);                                                                       \
    ANSWER(cols, matrix->cols);                                                                       \
    ANSWER(nnz, matrix->nnz);                                                                         \
    ANSWER(offsets, matrix->first);                                                                   \
    ANSWER(indices, matrix->second);                                                                  \
    ANSWER(values, matrix->values);                                                                   \
    ANSWER(offset_type, matrix->first_type);                                                          \
    ANSWER(index_type, matrix->second_type);                                                          \
    ANSWER(base, matrix->base);                                                                       \
    ANSWER(type, matrix->type);                                                                       \
    return CUSPARSE_STATUS_SUCCESS;                                                                   \
  }
PARTS(, )
PARTS(Const, const)

/* ---- destroying */

#define DESTROY(Kind, shelf)                                                            \
  cusparseStatus_t sim_cusparseDestroy##Kind(cusparseConst##Kind##Descr_t descriptor) { \
    return descriptor == NULL || vs_shelf_put_back(&shelf, writable(descriptor))        \
               ? CUSPARSE_STATUS_SUCCESS                                                \
               : CUSPARSE_STATUS_INVALID_VALUE;                                         \
  }
DESTROY(SpVec, sparse_vectors)
DESTROY(DnVec, dense_vectors)
DESTROY(SpMat, sparse_matrices)
DESTROY(DnMat, dense_matrices)

/* ---- settings */

#define SET_VALUES(Kind)                                                                     \
  cusparseStatus_t sim_cusparse##Kind##SetValues(cusparse##Kind##Descr_t of, void *values) { \
    if (!IS(Kind, of)) return CUSPARSE_STATUS_INVALID_VALUE;                                 \
    of->values = values;                                                                     \
    return CUSPARSE_STATUS_SUCCESS;                                                          \
  }
SET_VALUES(SpVec)
SET_VALUES(DnVec)
SET_VALUES(SpMat)
SET_VALUES(DnMat)

cusparseStatus_t sim_cusparseSpVecGetIndexBase(cusparseConstSpVecDescr_t vector, cusparseIndexBase_t *base) {
  if (!IS(SpVec, vector) || base == NULL) return CUSPARSE_STATUS_INVALID_VALUE;
  *base = vector->base;
  return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t sim_cusparseDnMatSetStridedBatch(cusparseDnMatDescr_t matrix, int count, int64_t stride) {
  if (!IS(DnMat, matrix) || count <= 0) return CUSPARSE_STATUS_INVALID_VALUE;
  matrix->batch = count;
  matrix->stride = stride;
  return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t sim_cusparseDnMatGetStridedBatch(cusparseConstDnMatDescr_t matrix, int *count,
                                                  int64_t *stride) {
  if (!IS(DnMat, matrix)) return CUSPARSE_STATUS_INVALID_VALUE;
  ANSWER(count, matrix->batch);
  ANSWER(stride, matrix->stride);
  return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t sim_cusparseSpMatGetFormat(cusparseConstSpMatDescr_t matrix, cusparseFormat_t *format) {
  if (!IS(SpMat, matrix) || format == NULL) return CUSPARSE_STATUS_INVALID_VALUE;
  *format = matrix->format;
  return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t sim_cusparseSpMatGetIndexBase(cusparseConstSpMatDescr_t matrix, cusparseIndexBase_t *base) {
  if (!IS(SpMat, matrix) || base == NULL) return CUSPARSE_STATUS_INVALID_VALUE;
  *base = matrix->base;
  return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t sim_cusparseSpMatGetSize(cusparseConstSpMatDescr_t matrix, int64_t *rows, int64_t *cols,
                                          int64_t *nnz) {
  if (!IS(SpMat, matrix)) return CUSPARSE_STATUS_INVALID_VALUE;
  ANSWER(rows, matrix->rows);
  ANSWER(cols, matrix->cols);
  ANSWER(nnz, matrix->nnz);
  return CUSPARSE_STATUS_SUCCESS;
}

static cusparseStatus_t set_batch(cusparseSpMatDescr_t matrix, int count) {
  if (!IS(SpMat, matrix) || count <= 0) return CUSPARSE_STATUS_INVALID_VALUE;
  matrix->batch = count;
  return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t sim_cusparseCsrSetStridedBatch(cusparseSpMatDescr_t matrix, int count, int64_t offsets,
                                                int64_t values) {
  (void)offsets, (void)values;
  return set_batch(matrix, count);
}
cusparseStatus_t sim_cusparseCooSetStridedBatch(cusparseSpMatDescr_t matrix, int count, int64_t stride) {
  (void)stride;
  return set_batch(matrix, count);
}
cusparseStatus_t sim_cusparseBsrSetStridedBatch(cusparseSpMatDescr_t matrix, int count, int64_t offsets,
                                                int64_t columns, int64_t values) {
  (void)offsets, (void)columns, (void)values;
  return set_batch(matrix, count);
}

cusparseStatus_t sim_cusparseSpMatGetStridedBatch(cusparseConstSpMatDescr_t matrix, int *count) {
  if (!IS(SpMat, matrix) || count == NULL) return CUSPARSE_STATUS_INVALID_VALUE;
  *count = matrix->batch;
  return CUSPARSE_STATUS_SUCCESS;
}

/* Both attributes are enumerations with the size of an int. */
cusparseStatus_t sim_cusparseSpMatSetAttribute(cusparseSpMatDescr_t matrix,
                                               cusparseSpMatAttribute_t attribute, void *value, size_t size) {
  if (!IS(SpMat, matrix) || value == NULL || size != sizeof(int) ||
      (unsigned)attribute > CUSPARSE_SPMAT_DIAG_TYPE)
    return CUSPARSE_STATUS_INVALID_VALUE;
  if (attribute == CUSPARSE_SPMAT_FILL_MODE) memcpy(&matrix->fill, value, size);
  else memcpy(&matrix->diag, value, size);
  return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t sim_cusparseSpMatGetAttribute(cusparseConstSpMatDescr_t matrix,
                                               cusparseSpMatAttribute_t attribute, void *value, size_t size) {
  if (!IS(SpMat, matrix) || value == NULL || size != sizeof(int) ||
      (unsigned)attribute > CUSPARSE_SPMAT_DIAG_TYPE)
    return CUSPARSE_STATUS_INVALID_VALUE;
  if (attribute == CUSPARSE_SPMAT_FILL_MODE) memcpy(value, &matrix->fill, size);
  else memcpy(value, &matrix->diag, size);
  return CUSPARSE_STATUS_SUCCESS;
}

static cusparseStatus_t set_pointers(cusparseSpMatDescr_t matrix, cusparseFormat_t format, void *first,
                                     void *second, void *values) {
  if (!IS(SpMat, matrix) || matrix->format != format) return CUSPARSE_STATUS_INVALID_VALUE;
  matrix->first = first, matrix->second = second, matrix->values = values;
  return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t sim_cusparseCsrSetPointers(cusparseSpMatDescr_t matrix, void *offsets, void *indices,
                                            void *values) {
  return set_pointers(matrix, CUSPARSE_FORMAT_CSR, offsets, indices, values);
}
cusparseStatus_t sim_cusparseCscSetPointers(cusparseSpMatDescr_t matrix, void *offsets, void *indices,
                                            void *values) {
  return set_pointers(matrix, CUSPARSE_FORMAT_CSC, offsets, indices, values);
}
cusparseStatus_t sim_cusparseCooSetPointers(cusparseSpMatDescr_t matrix, void *rows, void *cols,
                                            void *values) {
  return set_pointers(matrix, CUSPARSE_FORMAT_COO, rows, cols, values);
}
