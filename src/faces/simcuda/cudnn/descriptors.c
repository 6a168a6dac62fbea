/* Descriptors that are set and read: tensors, filters, and those of simple operations. */
#include "faces/simcuda/cudnn/objects.h"

/* Create and Destroy of every kind. Destroying NULL is a no-op, as the library has it for descriptors. */
#define VS_OBJECT(Kind)                                                                              \
  static vs_shelf shelf_of_##Kind = VS_SHELF(CUDNN_TAG_##Kind, struct cudnn##Kind##Struct);          \
  cudnnStatus_t sim_cudnnCreate##Kind##Descriptor(cudnn##Kind##Descriptor_t *descriptor) {           \
    if (descriptor == NULL) return FAIL(BAD_PARAM_NULL_POINTER);                                     \
    *descriptor = vs_shelf_take(&shelf_of_##Kind);                                                   \
    return *descriptor != NULL ? CUDNN_STATUS_SUCCESS : FAIL(INTERNAL_ERROR_HOST_ALLOCATION_FAILED); \
  }                                                                                                  \
  cudnnStatus_t sim_cudnnDestroy##Kind##Descriptor(cudnn##Kind##Descriptor_t descriptor) {           \
    if (descriptor == NULL) return CUDNN_STATUS_SUCCESS;                                             \
    return vs_shelf_put_back(&shelf_of_##Kind, descriptor) ? CUDNN_STATUS_SUCCESS : FAIL(BAD_PARAM); \
  }
VS_CUDNN_OBJECTS(VS_OBJECT)

/* Writes a result; NULL: it is not wanted. */
#define ANSWER(to, value)              \
  do {                                 \
    if ((to) != NULL) *(to) = (value); \
  } while (0)

size_t vs_cudnn_size_of(cudnnDataType_t type) {
  static const uint8_t sizes[] = {4, 8, 2, 1, 4, 4, 1, 4, 32, 2, 8, 1, 1, 1, 4, 1};
  return (unsigned)type < sizeof sizes ? sizes[(unsigned)type] : 0;
}

/* ---- tensors */

static bool dims_are_lawful(int count, const int *dims) {
  if (count < 1 || count > CUDNN_MOST_DIMS || dims == NULL) return false;
  for (int i = 0; i < count; i++)
    if (dims[i] <= 0) return false;
  return true;
}

/* The strides of a dense tensor; in NHWC the second dimension is innermost. */
static void pack(int count, const int *dims, bool is_nhwc, int *strides) {
  int stride = 1;
  if (is_nhwc && count > 1) strides[1] = 1, stride = dims[1];
  for (int i = count - 1; i >= 0; i--) {
    if (is_nhwc && i == 1) continue;
    strides[i] = stride;
    stride *= dims[i];
  }
}

static cudnnStatus_t set_tensor(cudnnTensorDescriptor_t tensor, cudnnDataType_t type, int count,
                                const int *dims, const int *strides) {
  if (!IS(Tensor, tensor) || vs_cudnn_size_of(type) == 0 || !dims_are_lawful(count, dims) || strides == NULL)
    return FAIL(BAD_PARAM);
  tensor->type = type;
  tensor->count = count;
  memcpy(tensor->dims, dims, (size_t)count * sizeof *dims);
  memcpy(tensor->strides, strides, (size_t)count * sizeof *strides);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t sim_cudnnSetTensorNdDescriptor(cudnnTensorDescriptor_t tensor, cudnnDataType_t type, int count,
                                             const int dims[], const int strides[]) {
  return set_tensor(tensor, type, count, dims, strides);
}

cudnnStatus_t sim_cudnnSetTensorNdDescriptorEx(cudnnTensorDescriptor_t tensor, cudnnTensorFormat_t format,
                                               cudnnDataType_t type, int count, const int dims[]) {
  int strides[CUDNN_MOST_DIMS] = {0};
  if (!dims_are_lawful(count, dims)) return FAIL(BAD_PARAM);
  pack(count, dims, format == CUDNN_TENSOR_NHWC, strides);
  return set_tensor(tensor, type, count, dims, strides);
}

cudnnStatus_t sim_cudnnSetTensor4dDescriptor(cudnnTensorDescriptor_t tensor, cudnnTensorFormat_t format,
                                             cudnnDataType_t type, int n, int c, int h, int w) {
  return sim_cudnnSetTensorNdDescriptorEx(tensor, format, type, 4, (const int[]){n, c, h, w});
}

cudnnStatus_t sim_cudnnSetTensor4dDescriptorEx(cudnnTensorDescriptor_t tensor, cudnnDataType_t type, int n,
                                               int c, int h, int w, int n_stride, int c_stride, int h_stride,
                                               int w_stride) {
  return set_tensor(tensor, type, 4, (const int[]){n, c, h, w},
                    (const int[]){n_stride, c_stride, h_stride, w_stride});
}

cudnnStatus_t sim_cudnnGetTensorNdDescriptor(const cudnnTensorDescriptor_t tensor, int wanted,
                                             cudnnDataType_t *type, int *count, int dims[], int strides[]) {
  if (!IS(Tensor, tensor)) return FAIL(BAD_PARAM);
  ANSWER(type, tensor->type);
  ANSWER(count, tensor->count);
  for (int i = 0; i < wanted && i < tensor->count; i++) {
    if (dims != NULL) dims[i] = tensor->dims[i];
    if (strides != NULL) strides[i] = tensor->strides[i];
  }
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t sim_cudnnGetTensor4dDescriptor(const cudnnTensorDescriptor_t tensor, cudnnDataType_t *type,
                                             int *n, int *c, int *h, int *w, int *n_stride, int *c_stride,
                                             int *h_stride, int *w_stride) {
  if (!IS(Tensor, tensor) || tensor->count != 4) return FAIL(BAD_PARAM);
  int *const dims[] = {n, c, h, w}, *const strides[] = {n_stride, c_stride, h_stride, w_stride};
  ANSWER(type, tensor->type);
  for (size_t i = 0; i < 4; i++) {
    ANSWER(dims[i], tensor->dims[i]);
    ANSWER(strides[i], tensor->strides[i]);
  }
  return CUDNN_STATUS_SUCCESS;
}

/* The bytes from the first element to the last, including gaps between strided elements. */
cudnnStatus_t sim_cudnnGetTensorSizeInBytes(const cudnnTensorDescriptor_t tensor, size_t *size) {
  if (!IS(Tensor, tensor) || size == NULL) return FAIL(BAD_PARAM);
  size_t last = 0;
  for (int i = 0; i < tensor->count; i++) last += (size_t)(tensor->dims[i] - 1) * (size_t)tensor->strides[i];
  *size = tensor->count == 0 ? 0 : (last + 1) * vs_cudnn_size_of(tensor->type);
  return CUDNN_STATUS_SUCCESS;
}

/* One value per channel, or one per element of a sample. */
cudnnStatus_t sim_cudnnDeriveBNTensorDescriptor(cudnnTensorDescriptor_t derived,
                                                const cudnnTensorDescriptor_t x, cudnnBatchNormMode_t mode) {
  if (!IS(Tensor, derived) || !IS(Tensor, x) || x->count < 2) return FAIL(BAD_PARAM);
  const bool is_half = x->type == CUDNN_DATA_HALF || x->type == CUDNN_DATA_BFLOAT16;
  int dims[CUDNN_MOST_DIMS] = {0}, strides[CUDNN_MOST_DIMS] = {0};
  for (int i = 0; i < x->count; i++)
    dims[i] = i == 1 || (i > 1 && mode == CUDNN_BATCHNORM_PER_ACTIVATION) ? x->dims[i] : 1;
  pack(x->count, dims, false, strides);
  return set_tensor(derived, is_half ? CUDNN_DATA_FLOAT : x->type, x->count, dims, strides);
}

/* ---- filters */

cudnnStatus_t sim_cudnnSetFilterNdDescriptor(cudnnFilterDescriptor_t filter, cudnnDataType_t type,
                                             cudnnTensorFormat_t format, int count, const int dims[]) {
  if (!IS(Filter, filter) || vs_cudnn_size_of(type) == 0 || !dims_are_lawful(count, dims))
    return FAIL(BAD_PARAM);
  filter->type = type;
  filter->format = format;
  filter->count = count;
  memcpy(filter->dims, dims, (size_t)count * sizeof *dims);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t sim_cudnnSetFilter4dDescriptor(cudnnFilterDescriptor_t filter, cudnnDataType_t type,
                                             cudnnTensorFormat_t format, int k, int c, int h, int w) {
  return sim_cudnnSetFilterNdDescriptor(filter, type, format, 4, (const int[]){k, c, h, w});
}

cudnnStatus_t sim_cudnnGetFilterNdDescriptor(const cudnnFilterDescriptor_t filter, int wanted,
                                             cudnnDataType_t *type, cudnnTensorFormat_t *format, int *count,
                                             int dims[]) {
  if (!IS(Filter, filter)) return FAIL(BAD_PARAM);
  ANSWER(type, filter->type);
  ANSWER(format, filter->format);
  ANSWER(count, filter->count);
  for (int i = 0; i < wanted && i < filter->count && dims != NULL; i++) dims[i] = filter->dims[i];
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t sim_cudnnGetFilter4dDescriptor(const cudnnFilterDescriptor_t filter, cudnnDataType_t *type,
                                             cudnnTensorFormat_t *format, int *k, int *c, int *h, int *w) {
  if (!IS(Filter, filter) || filter->count != 4) return FAIL(BAD_PARAM);
  int *const dims[] = {k, c, h, w};
  ANSWER(type, filter->type);
  ANSWER(format, filter->format);
  for (size_t i = 0; i < 4; i++) ANSWER(dims[i], filter->dims[i]);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t sim_cudnnGetFilterSizeInBytes(const cudnnFilterDescriptor_t filter, size_t *size) {
  if (!IS(Filter, filter) || size == NULL) return FAIL(BAD_PARAM);
  *size = filter->count == 0 ? 0 : vs_cudnn_size_of(filter->type);
  for (int i = 0; i < filter->count; i++) *size *= (size_t)filter->dims[i];
  return CUDNN_STATUS_SUCCESS;
}

/* ---- operations on tensors */

cudnnStatus_t sim_cudnnSetOpTensorDescriptor(cudnnOpTensorDescriptor_t descriptor, cudnnOpTensorOp_t op,
                                             cudnnDataType_t type, cudnnNanPropagation_t nan) {
  if (!IS(OpTensor, descriptor) || (unsigned)op > CUDNN_OP_TENSOR_NOT) return FAIL(BAD_PARAM);
  descriptor->op = op, descriptor->type = type, descriptor->nan = nan;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t sim_cudnnGetOpTensorDescriptor(const cudnnOpTensorDescriptor_t descriptor,
                                             cudnnOpTensorOp_t *op, cudnnDataType_t *type,
                                             cudnnNanPropagation_t *nan) {
  if (!IS(OpTensor, descriptor)) return FAIL(BAD_PARAM);
  ANSWER(op, descriptor->op);
  ANSWER(type, descriptor->type);
  ANSWER(nan, descriptor->nan);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t sim_cudnnSetReduceTensorDescriptor(cudnnReduceTensorDescriptor_t descriptor,
                                                 cudnnReduceTensorOp_t op, cudnnDataType_t type,
                                                 cudnnNanPropagation_t nan,
                                                 cudnnReduceTensorIndices_t indices,
                                                 cudnnIndicesType_t index_type) {
  if (!IS(ReduceTensor, descriptor) || (unsigned)op > CUDNN_REDUCE_TENSOR_MUL_NO_ZEROS)
    return FAIL(BAD_PARAM);
  descriptor->op = op, descriptor->type = type, descriptor->nan = nan;
  descriptor->indices = indices, descriptor->index_type = index_type;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t sim_cudnnGetReduceTensorDescriptor(const cudnnReduceTensorDescriptor_t descriptor,
                                                 cudnnReduceTensorOp_t *op, cudnnDataType_t *type,
                                                 cudnnNanPropagation_t *nan,
                                                 cudnnReduceTensorIndices_t *indices,
                                                 cudnnIndicesType_t *index_type) {
  if (!IS(ReduceTensor, descriptor)) return FAIL(BAD_PARAM);
  ANSWER(op, descriptor->op);
  ANSWER(type, descriptor->type);
  ANSWER(nan, descriptor->nan);
  ANSWER(indices, descriptor->indices);
  ANSWER(index_type, descriptor->index_type);
  return CUDNN_STATUS_SUCCESS;
}

static size_t elements(const struct cudnnTensorStruct *tensor) {
  size_t product = tensor->count == 0 ? 0 : 1;
  for (int i = 0; i < tensor->count; i++) product *= (size_t)tensor->dims[i];
  return product;
}

/* One index per result, if indices are wanted. */
cudnnStatus_t sim_cudnnGetReductionIndicesSize(cudnnHandle_t handle,
                                               const cudnnReduceTensorDescriptor_t descriptor,
                                               const cudnnTensorDescriptor_t a,
                                               const cudnnTensorDescriptor_t c, size_t *size) {
  static const uint8_t bytes[] = {4, 8, 2, 1};
  if (!IS_HANDLE(handle) || !IS(ReduceTensor, descriptor) || !IS(Tensor, a) || !IS(Tensor, c) || size == NULL)
    return FAIL(BAD_PARAM);
  const bool are_wanted =
      descriptor->indices != CUDNN_REDUCE_TENSOR_NO_INDICES && (unsigned)descriptor->index_type < 4;
  *size = are_wanted ? elements(c) * bytes[(unsigned)descriptor->index_type] : 0;
  return CUDNN_STATUS_SUCCESS;
}

/* The size is not documented: here, a result in the type of the computation for each output. */
cudnnStatus_t sim_cudnnGetReductionWorkspaceSize(cudnnHandle_t handle,
                                                 const cudnnReduceTensorDescriptor_t descriptor,
                                                 const cudnnTensorDescriptor_t a,
                                                 const cudnnTensorDescriptor_t c, size_t *size) {
  if (!IS_HANDLE(handle) || !IS(ReduceTensor, descriptor) || !IS(Tensor, a) || !IS(Tensor, c) || size == NULL)
    return FAIL(BAD_PARAM);
  *size = elements(a) == elements(c) ? 0 : elements(c) * vs_cudnn_size_of(descriptor->type);
  vs_simcuda_guess(
      "cudnn_reduction", *size,
      "cuDNN does not document the workspace of a reduction; one value of the computation's type "
      "was taken for "
      "each result");
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t sim_cudnnSetActivationDescriptor(cudnnActivationDescriptor_t descriptor,
                                               cudnnActivationMode_t mode, cudnnNanPropagation_t nan,
                                               double coefficient) {
  if (!IS(Activation, descriptor) || (unsigned)mode > CUDNN_ACTIVATION_SWISH) return FAIL(BAD_PARAM);
  descriptor->mode = mode, descriptor->nan = nan, descriptor->coefficient = coefficient;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t sim_cudnnGetActivationDescriptor(const cudnnActivationDescriptor_t descriptor,
                                               cudnnActivationMode_t *mode, cudnnNanPropagation_t *nan,
                                               double *coefficient) {
  if (!IS(Activation, descriptor)) return FAIL(BAD_PARAM);
  ANSWER(mode, descriptor->mode);
  ANSWER(nan, descriptor->nan);
  ANSWER(coefficient, descriptor->coefficient);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t sim_cudnnSetActivationDescriptorSwishBeta(cudnnActivationDescriptor_t descriptor, double beta) {
  if (!IS(Activation, descriptor)) return FAIL(BAD_PARAM);
  descriptor->swish_beta = beta;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t sim_cudnnGetActivationDescriptorSwishBeta(cudnnActivationDescriptor_t descriptor,
                                                        double *beta) {
  if (!IS(Activation, descriptor) || beta == NULL) return FAIL(BAD_PARAM);
  *beta = descriptor->swish_beta;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t sim_cudnnSetLRNDescriptor(cudnnLRNDescriptor_t descriptor, unsigned n, double alpha,
                                        double beta, double k) {
  if (!IS(LRN, descriptor) || n < 1 || n > 16 || k < 1e-5 || beta < 0.01) return FAIL(BAD_PARAM);
  descriptor->n = n, descriptor->alpha = alpha, descriptor->beta = beta, descriptor->k = k;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t sim_cudnnGetLRNDescriptor(cudnnLRNDescriptor_t descriptor, unsigned *n, double *alpha,
                                        double *beta, double *k) {
  if (!IS(LRN, descriptor)) return FAIL(BAD_PARAM);
  ANSWER(n, descriptor->n);
  ANSWER(alpha, descriptor->alpha);
  ANSWER(beta, descriptor->beta);
  ANSWER(k, descriptor->k);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t sim_cudnnSetSpatialTransformerNdDescriptor(cudnnSpatialTransformerDescriptor_t descriptor,
                                                         cudnnSamplerType_t sampler, cudnnDataType_t type,
                                                         const int count, const int dims[]) {
  if (!IS(SpatialTransformer, descriptor) || !dims_are_lawful(count, dims)) return FAIL(BAD_PARAM);
  descriptor->sampler = sampler, descriptor->type = type, descriptor->count = count;
  memcpy(descriptor->dims, dims, (size_t)count * sizeof *dims);
  return CUDNN_STATUS_SUCCESS;
}

/* ---- loss */

static cudnnStatus_t set_ctc(cudnnCTCLossDescriptor_t descriptor, cudnnDataType_t type,
                             cudnnLossNormalizationMode_t normalization, int gradient, int longest) {
  if (!IS(CTCLoss, descriptor)) return vs_cudnn_fail(CUDNN_STATUS_BAD_PARAM, "cudnnSetCTCLossDescriptor");
  descriptor->type = type, descriptor->normalization = normalization;
  descriptor->gradient = gradient, descriptor->longest_label = longest;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t sim_cudnnSetCTCLossDescriptor(cudnnCTCLossDescriptor_t descriptor, cudnnDataType_t type) {
  return set_ctc(descriptor, type, CUDNN_LOSS_NORMALIZATION_NONE, 0, 0);
}
cudnnStatus_t sim_cudnnSetCTCLossDescriptorEx(cudnnCTCLossDescriptor_t descriptor, cudnnDataType_t type,
                                              cudnnLossNormalizationMode_t normalization,
                                              cudnnNanPropagation_t gradient) {
  return set_ctc(descriptor, type, normalization, (int)gradient, 0);
}
cudnnStatus_t sim_cudnnSetCTCLossDescriptor_v8(cudnnCTCLossDescriptor_t descriptor, cudnnDataType_t type,
                                               cudnnLossNormalizationMode_t normalization,
                                               cudnnNanPropagation_t gradient, int longest_label) {
  return set_ctc(descriptor, type, normalization, (int)gradient, longest_label);
}
cudnnStatus_t sim_cudnnSetCTCLossDescriptor_v9(cudnnCTCLossDescriptor_t descriptor, cudnnDataType_t type,
                                               cudnnLossNormalizationMode_t normalization,
                                               cudnnCTCGradMode_t gradient, int longest_label) {
  return set_ctc(descriptor, type, normalization, (int)gradient, longest_label);
}

/* The forward and backward variables of the recursion: steps x batch x (2 x label + 1) numbers each. */
static size_t ctc_workspace(const struct cudnnTensorStruct *probabilities, int longest) {
  const size_t steps = (size_t)probabilities->dims[0], batch = (size_t)probabilities->dims[1];
  const size_t bytes = 2 * steps * batch * (2 * (size_t)longest + 1) * sizeof(float);
  vs_simcuda_guess(
      "cudnn_ctc", bytes,
      "cuDNN does not document the workspace of the CTC loss; the two variables of its recursion "
      "were counted");
  return bytes;
}

cudnnStatus_t sim_cudnnGetCTCLossWorkspaceSize(cudnnHandle_t handle,
                                               const cudnnTensorDescriptor_t probabilities,
                                               const cudnnTensorDescriptor_t gradients, const int *labels,
                                               const int *label_lengths, const int *input_lengths,
                                               cudnnCTCLossAlgo_t algorithm,
                                               cudnnCTCLossDescriptor_t descriptor, size_t *size) {
  (void)gradients, (void)labels, (void)input_lengths, (void)algorithm;
  if (!IS_HANDLE(handle) || !IS(Tensor, probabilities) || probabilities->count < 3 ||
      !IS(CTCLoss, descriptor) || label_lengths == NULL || size == NULL)
    return FAIL(BAD_PARAM);
  int longest = 0;
  for (int i = 0; i < probabilities->dims[1]; i++)
    if (label_lengths[i] > longest) longest = label_lengths[i];
  *size = ctc_workspace(probabilities, longest);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t sim_cudnnGetCTCLossWorkspaceSize_v8(cudnnHandle_t handle, cudnnCTCLossAlgo_t algorithm,
                                                  cudnnCTCLossDescriptor_t descriptor,
                                                  const cudnnTensorDescriptor_t probabilities,
                                                  const cudnnTensorDescriptor_t gradients, size_t *size) {
  (void)gradients, (void)algorithm;
  if (!IS_HANDLE(handle) || !IS(Tensor, probabilities) || probabilities->count < 3 ||
      !IS(CTCLoss, descriptor) || size == NULL)
    return FAIL(BAD_PARAM);
  *size = ctc_workspace(probabilities, descriptor->longest_label);
  return CUDNN_STATUS_SUCCESS;
}

/* ---- dropout */

/* Not documented; here, a generator of 48 bytes for each of 1024 threads of every multiprocessor. */
cudnnStatus_t sim_cudnnDropoutGetStatesSize(cudnnHandle_t handle, size_t *size) {
  if (!IS_HANDLE(handle) || size == NULL) return FAIL(BAD_PARAM);
  const vs_sim_figures *figures = vs_simcuda_figures(vs_simcuda_this_thread()->device);
  *size = (size_t)(figures != NULL ? figures->sm_count : 1) * 1024 * 48;
  vs_simcuda_guess(
      "cudnn_dropout", *size,
      "cuDNN does not document the size of its generators for dropout; 48 bytes for 1024 threads of each "
      "multiprocessor were taken");
  return CUDNN_STATUS_SUCCESS;
}

/* One bit per element, rounded up to whole bytes. */
cudnnStatus_t sim_cudnnDropoutGetReserveSpaceSize(cudnnTensorDescriptor_t x, size_t *size) {
  if (!IS(Tensor, x) || size == NULL) return FAIL(BAD_PARAM);
  *size = (elements(x) + 7) / 8;
  return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t set_dropout(cudnnDropoutDescriptor_t descriptor, cudnnHandle_t handle, float dropout,
                                 void *states, unsigned long long seed, bool is_new) {
  if (!IS(Dropout, descriptor) || !IS_HANDLE(handle) || !(dropout >= 0.0F && dropout <= 1.0F))
    return vs_cudnn_fail(CUDNN_STATUS_BAD_PARAM, "cudnnSetDropoutDescriptor");
  descriptor->dropout = dropout, descriptor->states = states, descriptor->seed = seed;
  return is_new && states != NULL ? vs_cudnn_work(handle)
                                  : CUDNN_STATUS_SUCCESS; /* the states are seeded by a kernel */
}

cudnnStatus_t sim_cudnnSetDropoutDescriptor(cudnnDropoutDescriptor_t descriptor, cudnnHandle_t handle,
                                            float dropout, void *states, size_t size,
                                            unsigned long long seed) {
  (void)size;
  return set_dropout(descriptor, handle, dropout, states, seed, true);
}

cudnnStatus_t sim_cudnnRestoreDropoutDescriptor(cudnnDropoutDescriptor_t descriptor, cudnnHandle_t handle,
                                                float dropout, void *states, size_t size,
                                                unsigned long long seed) {
  (void)size;
  return set_dropout(descriptor, handle, dropout, states, seed, false);
}

cudnnStatus_t sim_cudnnGetDropoutDescriptor(cudnnDropoutDescriptor_t descriptor, cudnnHandle_t handle,
                                            float *dropout, void **states, unsigned long long *seed) {
  if (!IS(Dropout, descriptor) || !IS_HANDLE(handle)) return FAIL(BAD_PARAM);
  ANSWER(dropout, descriptor->dropout);
  ANSWER(states, descriptor->states);
  ANSWER(seed, descriptor->seed);
  return CUDNN_STATUS_SUCCESS;
}
