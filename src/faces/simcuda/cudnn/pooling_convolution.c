/* Pooling and convolutions of the interface before graphs: windows that slide over a tensor. */
#include "faces/simcuda/cudnn/objects.h"

#define ANSWER(to, value)              \
  do {                                 \
    if ((to) != NULL) *(to) = (value); \
  } while (0)

static void copy_ints(int *to, const int *from, int count) {
  if (to != NULL && count > 0) memcpy(to, from, (size_t)count * sizeof *to);
}

/* The number of positions of a window of `size` values, `dilation` apart, in `length` values with `pad` on both
 * sides. */
static int places(int length, int pad, int size, int dilation, int stride) {
  const int reach = (size - 1) * dilation + 1, room = length + 2 * pad - reach;
  return room < 0 || stride <= 0 ? 0 : room / stride + 1;
}

/* ---- pooling */

cudnnStatus_t sim_cudnnSetPoolingNdDescriptor(cudnnPoolingDescriptor_t descriptor,
                                              const cudnnPoolingMode_t mode, const cudnnNanPropagation_t nan,
                                              int count, const int window[], const int pad[],
                                              const int stride[]) {
  if (!IS(Pooling, descriptor) || count < 1 || count > CUDNN_MOST_DIMS - 2 || window == NULL || pad == NULL ||
      stride == NULL)
    return FAIL(BAD_PARAM);
  for (int i = 0; i < count; i++)
    if (window[i] <= 0 || pad[i] < 0 || stride[i] <= 0) return FAIL(BAD_PARAM);
  descriptor->mode = mode, descriptor->nan = nan, descriptor->count = count;
  copy_ints(descriptor->window, window, count);
  copy_ints(descriptor->pad, pad, count);
  copy_ints(descriptor->stride, stride, count);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t sim_cudnnSetPooling2dDescriptor(cudnnPoolingDescriptor_t descriptor, cudnnPoolingMode_t mode,
                                              cudnnNanPropagation_t nan, int window_h, int window_w,
                                              int pad_h, int pad_w, int stride_h, int stride_w) {
  return sim_cudnnSetPoolingNdDescriptor(descriptor, mode, nan, 2, (const int[]){window_h, window_w},
                                         (const int[]){pad_h, pad_w}, (const int[]){stride_h, stride_w});
}

cudnnStatus_t sim_cudnnGetPoolingNdDescriptor(const cudnnPoolingDescriptor_t descriptor, int wanted,
                                              cudnnPoolingMode_t *mode, cudnnNanPropagation_t *nan,
                                              int *count, int window[], int pad[], int stride[]) {
  if (!IS(Pooling, descriptor)) return FAIL(BAD_PARAM);
  const int given = wanted < descriptor->count ? wanted : descriptor->count;
  ANSWER(mode, descriptor->mode);
  ANSWER(nan, descriptor->nan);
  ANSWER(count, descriptor->count);
  copy_ints(window, descriptor->window, given);
  copy_ints(pad, descriptor->pad, given);
  copy_ints(stride, descriptor->stride, given);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t sim_cudnnGetPooling2dDescriptor(const cudnnPoolingDescriptor_t descriptor,
                                              cudnnPoolingMode_t *mode, cudnnNanPropagation_t *nan,
                                              int *window_h, int *window_w, int *pad_h, int *pad_w,
                                              int *stride_h, int *stride_w) {
  if (!IS(Pooling, descriptor) || descriptor->count != 2) return FAIL(BAD_PARAM);
  ANSWER(mode, descriptor->mode);
  ANSWER(nan, descriptor->nan);
  ANSWER(window_h, descriptor->window[0]);
  ANSWER(window_w, descriptor->window[1]);
  ANSWER(pad_h, descriptor->pad[0]);
  ANSWER(pad_w, descriptor->pad[1]);
  ANSWER(stride_h, descriptor->stride[0]);
  ANSWER(stride_w, descriptor->stride[1]);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t sim_cudnnGetPoolingNdForwardOutputDim(const cudnnPoolingDescriptor_t descriptor,
                                                    const cudnnTensorDescriptor_t x, int count, int dims[]) {
  if (!IS(Pooling, descriptor) || !IS(Tensor, x) || dims == NULL || count != x->count ||
      count != descriptor->count + 2)
    return FAIL(BAD_PARAM);
  copy_ints(dims, x->dims, 2);
  for (int i = 0; i < descriptor->count; i++)
    dims[i + 2] = places(x->dims[i + 2], descriptor->pad[i], descriptor->window[i], 1, descriptor->stride[i]);
  return CUDNN_STATUS_SUCCESS;
}

/* The four numbers of a result with two spatial dimensions. */
static void answer_four(const int dims[4], int *n, int *c, int *h, int *w) {
  ANSWER(n, dims[0]);
  ANSWER(c, dims[1]);
  ANSWER(h, dims[2]);
  ANSWER(w, dims[3]);
}

cudnnStatus_t sim_cudnnGetPooling2dForwardOutputDim(const cudnnPoolingDescriptor_t descriptor,
                                                    const cudnnTensorDescriptor_t x, int *n, int *c, int *h,
                                                    int *w) {
  int dims[4] = {0};
  const cudnnStatus_t status = sim_cudnnGetPoolingNdForwardOutputDim(descriptor, x, 4, dims);
  if (status == CUDNN_STATUS_SUCCESS) answer_four(dims, n, c, h, w);
  return status;
}

/* ---- convolutions */

#define SETTING(What, type, member, law)                                                              \
  cudnnStatus_t sim_cudnnSetConvolution##What(cudnnConvolutionDescriptor_t descriptor, type value) {  \
    if (!IS(Convolution, descriptor) || !(law)) return FAIL(BAD_PARAM);                               \
    descriptor->member = value;                                                                       \
    return CUDNN_STATUS_SUCCESS;                                                                      \
  }                                                                                                   \
  cudnnStatus_t sim_cudnnGetConvolution##What(cudnnConvolutionDescriptor_t descriptor, type *value) { \
    if (!IS(Convolution, descriptor) || value == NULL) return FAIL(BAD_PARAM);                        \
    *value = descriptor->member;                                                                      \
    return CUDNN_STATUS_SUCCESS;                                                                      \
  }
SETTING(MathType, cudnnMathType_t, math, true)
SETTING(ReorderType, cudnnReorderType_t, reorder, true)
SETTING(GroupCount, int, groups, value >= 1)

cudnnStatus_t sim_cudnnSetConvolutionNdDescriptor(cudnnConvolutionDescriptor_t descriptor, int count,
                                                  const int pad[], const int stride[], const int dilation[],
                                                  cudnnConvolutionMode_t mode, cudnnDataType_t type) {
  if (!IS(Convolution, descriptor) || count < 1 || count > CUDNN_MOST_DIMS - 2 || pad == NULL ||
      stride == NULL || dilation == NULL)
    return FAIL(BAD_PARAM);
  for (int i = 0; i < count; i++)
    if (pad[i] < 0 || stride[i] <= 0 || dilation[i] <= 0) return FAIL(BAD_PARAM);
  descriptor->mode = mode, descriptor->type = type, descriptor->count = count;
  if (descriptor->groups == 0) descriptor->groups = 1;
  copy_ints(descriptor->pad, pad, count);
  copy_ints(descriptor->stride, stride, count);
  copy_ints(descriptor->dilation, dilation, count);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t sim_cudnnSetConvolution2dDescriptor(cudnnConvolutionDescriptor_t descriptor, int pad_h,
                                                  int pad_w, int stride_h, int stride_w, int dilation_h,
                                                  int dilation_w, cudnnConvolutionMode_t mode,
                                                  cudnnDataType_t type) {
  return sim_cudnnSetConvolutionNdDescriptor(descriptor, 2, (const int[]){pad_h, pad_w},
                                             (const int[]){stride_h, stride_w},
                                             (const int[]){dilation_h, dilation_w}, mode, type);
}

cudnnStatus_t sim_cudnnGetConvolutionNdDescriptor(const cudnnConvolutionDescriptor_t descriptor, int wanted,
                                                  int *count, int pad[], int stride[], int dilation[],
                                                  cudnnConvolutionMode_t *mode, cudnnDataType_t *type) {
  if (!IS(Convolution, descriptor)) return FAIL(BAD_PARAM);
  const int given = wanted < descriptor->count ? wanted : descriptor->count;
  ANSWER(count, descriptor->count);
  copy_ints(pad, descriptor->pad, given);
  copy_ints(stride, descriptor->stride, given);
  copy_ints(dilation, descriptor->dilation, given);
  ANSWER(mode, descriptor->mode);
  ANSWER(type, descriptor->type);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t sim_cudnnGetConvolution2dDescriptor(const cudnnConvolutionDescriptor_t descriptor, int *pad_h,
                                                  int *pad_w, int *stride_h, int *stride_w, int *dilation_h,
                                                  int *dilation_w, cudnnConvolutionMode_t *mode,
                                                  cudnnDataType_t *type) {
  if (!IS(Convolution, descriptor) || descriptor->count != 2) return FAIL(BAD_PARAM);
  ANSWER(pad_h, descriptor->pad[0]);
  ANSWER(pad_w, descriptor->pad[1]);
  ANSWER(stride_h, descriptor->stride[0]);
  ANSWER(stride_w, descriptor->stride[1]);
  ANSWER(dilation_h, descriptor->dilation[0]);
  ANSWER(dilation_w, descriptor->dilation[1]);
  ANSWER(mode, descriptor->mode);
  ANSWER(type, descriptor->type);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t sim_cudnnGetConvolutionNdForwardOutputDim(const cudnnConvolutionDescriptor_t descriptor,
                                                        const cudnnTensorDescriptor_t x,
                                                        const cudnnFilterDescriptor_t w, int count,
                                                        int dims[]) {
  if (!IS(Convolution, descriptor) || !IS(Tensor, x) || !IS(Filter, w) || dims == NULL || count != x->count ||
      count != w->count || count != descriptor->count + 2 || x->dims[1] != w->dims[1] * descriptor->groups)
    return FAIL(BAD_PARAM);
  dims[0] = x->dims[0];
  dims[1] = w->dims[0];
  for (int i = 0; i < descriptor->count; i++)
    dims[i + 2] = places(x->dims[i + 2], descriptor->pad[i], w->dims[i + 2], descriptor->dilation[i],
                         descriptor->stride[i]);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t sim_cudnnGetConvolution2dForwardOutputDim(const cudnnConvolutionDescriptor_t descriptor,
                                                        const cudnnTensorDescriptor_t x,
                                                        const cudnnFilterDescriptor_t w, int *n, int *c,
                                                        int *h, int *width) {
  int dims[4] = {0};
  const cudnnStatus_t status = sim_cudnnGetConvolutionNdForwardOutputDim(descriptor, x, w, 4, dims);
  if (status == CUDNN_STATUS_SUCCESS) answer_four(dims, n, c, h, width);
  return status;
}

/* ---- searches for an algorithm: the result is always the deterministic one, number 1, with the configured
 * workspace */

#pragma GCC diagnostic ignored "-Wunused-parameter"

#define VS_SEARCH(Direction, algorithm_type, result_type, operands, operands_and_data)                      \
  cudnnStatus_t sim_cudnnGetConvolution##Direction##AlgorithmMaxCount(cudnnHandle_t handle, int *count) {   \
    if (!IS_HANDLE(handle) || count == NULL) return FAIL(BAD_PARAM);                                        \
    *count = 1;                                                                                             \
    return CUDNN_STATUS_SUCCESS;                                                                            \
  }                                                                                                         \
  static cudnnStatus_t search_##Direction(cudnnHandle_t handle, const void *a, const void *b,               \
                                          const void *descriptor, const void *c, int wanted, int *count,    \
                                          result_type *results) {                                           \
    if (!IS_HANDLE(handle) || a == NULL || b == NULL || c == NULL || !IS(Convolution, descriptor) ||        \
        wanted < 1 || count == NULL || results == NULL)                                                     \
      return vs_cudnn_fail(CUDNN_STATUS_BAD_PARAM, "cudnnGetConvolution" #Direction "Algorithm");           \
    results[0] = (result_type){.algo = (algorithm_type)1,                                                   \
                               .status = CUDNN_STATUS_SUCCESS,                                              \
                               .time = 1.0F,                                                                \
                               .memory = vs_cudnn_workspace(),                                              \
                               .determinism = CUDNN_DETERMINISTIC,                                          \
                               .mathType = ((const struct cudnnConvolutionStruct *)descriptor)->math};      \
    *count = 1;                                                                                             \
    return CUDNN_STATUS_SUCCESS;                                                                            \
  }                                                                                                         \
  cudnnStatus_t sim_cudnnGetConvolution##Direction##Algorithm_v7(                                           \
      cudnnHandle_t handle, VS_EACH operands, const int wanted, int *count, result_type *results) {         \
    return search_##Direction(handle, a, b, descriptor, c, wanted, count, results);                         \
  }                                                                                                         \
  cudnnStatus_t sim_cudnnFindConvolution##Direction##Algorithm(                                             \
      cudnnHandle_t handle, VS_EACH operands, const int wanted, int *count, result_type *results) {         \
    return search_##Direction(handle, a, b, descriptor, c, wanted, count, results);                         \
  }                                                                                                         \
  cudnnStatus_t sim_cudnnFindConvolution##Direction##AlgorithmEx(                                           \
      cudnnHandle_t handle, VS_EACH operands_and_data, const int wanted, int *count, result_type *results,  \
      void *workspace, size_t workspace_size) {                                                             \
    return search_##Direction(handle, a, b, descriptor, c, wanted, count, results);                         \
  }                                                                                                         \
  cudnnStatus_t sim_cudnnGetConvolution##Direction##WorkspaceSize(cudnnHandle_t handle, VS_EACH operands,   \
                                                                  algorithm_type algorithm, size_t *size) { \
    if (!IS_HANDLE(handle) || !IS(Convolution, descriptor) || size == NULL) return FAIL(BAD_PARAM);         \
    *size = vs_cudnn_workspace();                                                                           \
    return CUDNN_STATUS_SUCCESS;                                                                            \
  }
VS_CUDNN_SEARCHES(VS_SEARCH)
