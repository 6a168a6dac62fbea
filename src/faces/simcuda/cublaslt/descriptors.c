/* Descriptors: creating, destroying, setting and reading, by the table of attributes. */
#include "faces/simcuda/cublaslt/descriptors.h"

/* An attribute of one kind of descriptor: `size` bytes at `offset`. */
typedef struct lt_attribute {
  uint32_t number;
  uint32_t size;
  size_t offset;
} lt_attribute;

#define TABLE_layout     0
#define TABLE_matmul     1
#define TABLE_preference 2
#define TABLE_transform  3
#define TABLE_emulation  4
#define TABLE_algorithm  5
#define VS_LT_ATTRIBUTE(kind, number, bytes, member) \
  {TABLE_##kind, {number, bytes, offsetof(lt_##kind, member)}},
static const struct {
  uint32_t table;
  lt_attribute attribute;
} attributes[] = {
#include "faces/simcuda/cublaslt/attributes.def"
};
#undef VS_LT_ATTRIBUTE

static const lt_attribute *find(uint32_t table, uint32_t number) {
  for (size_t i = 0; i < sizeof attributes / sizeof attributes[0]; i++)
    if (attributes[i].table == table && attributes[i].attribute.number == number)
      return &attributes[i].attribute;
  return NULL;
}

/* As documented, the size must match. */
static cublasStatus_t set(void *descriptor, uint32_t table, uint32_t number, const void *value, size_t size) {
  const lt_attribute *attribute = find(table, number);
  if (attribute == NULL || value == NULL || size != attribute->size) return CUBLAS_STATUS_INVALID_VALUE;
  memcpy((char *)descriptor + attribute->offset, value, size);
  return CUBLAS_STATUS_SUCCESS;
}

/* Size 0 queries the size of the value. */
static cublasStatus_t get(const void *descriptor, uint32_t table, uint32_t number, void *value, size_t size,
                          size_t *written) {
  const lt_attribute *attribute = find(table, number);
  if (attribute == NULL) return CUBLAS_STATUS_INVALID_VALUE;
  if (written != NULL) *written = attribute->size;
  if (size == 0) return written != NULL ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
  if (value == NULL || size < attribute->size) return CUBLAS_STATUS_INVALID_VALUE;
  memcpy(value, (const char *)descriptor + attribute->offset, attribute->size);
  return CUBLAS_STATUS_SUCCESS;
}

/* An allocated descriptor of any kind. */
typedef struct lt_box {
  vs_object object;
  cublasLtMatmulDescOpaque_t content; /* the largest kind */
} lt_box;

static vs_shelf boxes = VS_SHELF(VS_TAG('l', 'b', 'o', 'x'), lt_box);

static void *new_descriptor(void) {
  lt_box *box = vs_shelf_take(&boxes);
  return box != NULL ? &box->content : NULL;
}

static void give_back(void *descriptor) {
  (void)vs_shelf_put_back(&boxes, (char *)descriptor - offsetof(lt_box, content));
}

/* The functions that are alike for all kinds; `init` fills a zeroed struct. */
#define KIND(Name, kind, TAG, type, attribute)                                                         \
  cublasStatus_t sim_cublasLt##Name##Destroy(type descriptor) {                                        \
    lt_##kind *made = (lt_##kind *)(void *)descriptor;                                                 \
    if (made == NULL) return CUBLAS_STATUS_SUCCESS;                                                    \
    if (made->tag != (TAG)) return CUBLAS_STATUS_INVALID_VALUE;                                        \
    made->tag = 0;                                                                                     \
    give_back(descriptor);                                                                             \
    return CUBLAS_STATUS_SUCCESS;                                                                      \
  }                                                                                                    \
  cublasStatus_t sim_cublasLt##Name##SetAttribute(type descriptor, attribute which, const void *value, \
                                                  size_t size) {                                       \
    lt_##kind *of = (lt_##kind *)(void *)descriptor;                                                   \
    if (of == NULL || of->tag != (TAG)) return CUBLAS_STATUS_INVALID_VALUE;                            \
    return set(of, TABLE_##kind, (uint32_t)which, value, size);                                        \
  }                                                                                                    \
  cublasStatus_t sim_cublasLt##Name##GetAttribute(type descriptor, attribute which, void *value,       \
                                                  size_t size, size_t *written) {                      \
    const lt_##kind *of = (const lt_##kind *)(void *)descriptor;                                       \
    if (of == NULL || of->tag != (TAG)) return CUBLAS_STATUS_INVALID_VALUE;                            \
    return get(of, TABLE_##kind, (uint32_t)which, value, size, written);                               \
  }
KIND(MatrixLayout, layout, LT_TAG_LAYOUT, cublasLtMatrixLayout_t, cublasLtMatrixLayoutAttribute_t)
KIND(MatmulDesc, matmul, LT_TAG_MATMUL, cublasLtMatmulDesc_t, cublasLtMatmulDescAttributes_t)
KIND(MatmulPreference, preference, LT_TAG_PREFERENCE, cublasLtMatmulPreference_t,
     cublasLtMatmulPreferenceAttributes_t)
KIND(MatrixTransformDesc, transform, LT_TAG_TRANSFORM, cublasLtMatrixTransformDesc_t,
     cublasLtMatrixTransformDescAttributes_t)
KIND(EmulationDesc, emulation, LT_TAG_EMULATION, cublasLtEmulationDesc_t, cublasLtEmulationDescAttributes_t)

/* Create allocates, and does what Init does. `values` are the members that do not start as zero. */
#define MAKE(kind, ...)                                                                     \
  {                                                                                         \
    if (descriptor == NULL || size < sizeof(lt_##kind)) return CUBLAS_STATUS_INVALID_VALUE; \
    *(lt_##kind *)(void *)descriptor = (lt_##kind){__VA_ARGS__};                            \
    return CUBLAS_STATUS_SUCCESS;                                                           \
  }
#define CREATE(Name, ...)                                                                      \
  {                                                                                            \
    if (descriptor == NULL) return CUBLAS_STATUS_INVALID_VALUE;                                \
    *descriptor = new_descriptor();                                                            \
    if (*descriptor == NULL) return CUBLAS_STATUS_ALLOC_FAILED;                                \
    return sim_cublasLt##Name##Init_internal(*descriptor, sizeof **descriptor, ##__VA_ARGS__); \
  }

cublasStatus_t sim_cublasLtMatrixLayoutInit_internal(cublasLtMatrixLayout_t descriptor, size_t size,
                                                     cudaDataType type, uint64_t rows, uint64_t cols,
                                                     int64_t ld)
    MAKE(layout, .tag = LT_TAG_LAYOUT, .type = (uint32_t)type, .rows = rows, .cols = cols, .ld = (uint64_t)ld,
         .batch_count = 1) cublasStatus_t
    sim_cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *descriptor, cudaDataType type, uint64_t rows,
                                   uint64_t cols, int64_t ld) CREATE(MatrixLayout, type, rows, cols, ld)

        cublasStatus_t
    sim_cublasLtMatmulDescInit_internal(cublasLtMatmulDesc_t descriptor, size_t size,
                                        cublasComputeType_t compute_type, cudaDataType_t scale_type)
        MAKE(matmul, .tag = LT_TAG_MATMUL, .compute_type = (uint32_t)compute_type,
             .scale_type = (uint32_t)scale_type, .fill_mode = CUBLAS_FILL_MODE_FULL,
             .epilogue = 1) cublasStatus_t
    sim_cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *descriptor, cublasComputeType_t compute_type,
                                 cudaDataType_t scale_type) CREATE(MatmulDesc, compute_type, scale_type)

        cublasStatus_t sim_cublasLtMatrixTransformDescInit_internal(cublasLtMatrixTransformDesc_t descriptor,
                                                                    size_t size, cudaDataType scale_type)
            MAKE(transform, .tag = LT_TAG_TRANSFORM, .scale_type = (uint32_t)scale_type) cublasStatus_t
    sim_cublasLtMatrixTransformDescCreate(cublasLtMatrixTransformDesc_t *descriptor, cudaDataType scale_type)
        CREATE(MatrixTransformDesc, scale_type)

    /* All reduction schemes, 256 bytes of alignment, no limit of waves. */
    cublasStatus_t
    sim_cublasLtMatmulPreferenceInit_internal(cublasLtMatmulPreference_t descriptor, size_t size)
        MAKE(preference, .tag = LT_TAG_PREFERENCE, .reductions = 7, .align_a = 256, .align_b = 256,
             .align_c = 256, .align_d = 256, .implementations = UINT64_MAX) cublasStatus_t
    sim_cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *descriptor) CREATE(MatmulPreference)

        cublasStatus_t sim_cublasLtEmulationDescInit_internal(cublasLtEmulationDesc_t descriptor, size_t size)
            MAKE(emulation, .tag = LT_TAG_EMULATION) cublasStatus_t
    sim_cublasLtEmulationDescCreate(cublasLtEmulationDesc_t *descriptor) CREATE(EmulationDesc)

    /* ---- algorithms: values in the program's memory, which need no destruction */

    cublasStatus_t sim_cublasLtMatmulAlgoConfigSetAttribute(cublasLtMatmulAlgo_t *algorithm,
                                                            cublasLtMatmulAlgoConfigAttributes_t which,
                                                            const void *value, size_t size) {
  lt_algorithm *of = (lt_algorithm *)(void *)algorithm;
  if (of == NULL || of->tag != LT_TAG_ALGORITHM) return CUBLAS_STATUS_INVALID_VALUE;
  return set(of, TABLE_algorithm, (uint32_t)which, value, size);
}

cublasStatus_t sim_cublasLtMatmulAlgoConfigGetAttribute(const cublasLtMatmulAlgo_t *algorithm,
                                                        cublasLtMatmulAlgoConfigAttributes_t which,
                                                        void *value, size_t size, size_t *written) {
  const lt_algorithm *of = (const lt_algorithm *)(const void *)algorithm;
  if (of == NULL || of->tag != LT_TAG_ALGORITHM) return CUBLAS_STATUS_INVALID_VALUE;
  return get(of, TABLE_algorithm, (uint32_t)which, value, size, written);
}
