/* cuDNN 9: the functions written by hand, grouped as the files of the face are. The computations are rows of
 * cudnn_computes.def. */
#ifndef VS_SIMCUDA_ABI_CUDNN_H
#define VS_SIMCUDA_ABI_CUDNN_H

#include "faces/simcuda/abi/cudnn_types.h"

/* ---- library */

size_t sim_cudnnGetVersion(void);
size_t sim_cudnnGetMaxDeviceVersion(void);
size_t sim_cudnnGetCudartVersion(void);
cudnnStatus_t sim_cudnnGetProperty(libraryPropertyType type, int *value);
const char *sim_cudnnGetErrorString(cudnnStatus_t status);
void sim_cudnnGetLastErrorString(char *text, size_t size);
cudnnStatus_t sim_cudnnQueryRuntimeError(cudnnHandle_t handle, cudnnStatus_t *status,
                                         cudnnErrQueryMode_t mode, cudnnRuntimeTag_t *tag);
cudnnStatus_t sim_cudnnCreate(cudnnHandle_t *handle);
cudnnStatus_t sim_cudnnDestroy(cudnnHandle_t handle);
cudnnStatus_t sim_cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream);
cudnnStatus_t sim_cudnnGetStream(cudnnHandle_t handle, cudaStream_t *stream);
cudnnStatus_t sim_cudnnSetCallback(unsigned mask, void *own, cudnnCallback_t function);
cudnnStatus_t sim_cudnnGetCallback(unsigned *mask, void **own, cudnnCallback_t *function);
cudnnStatus_t sim_cudnnGraphVersionCheck(void);
cudnnStatus_t sim_cudnnOpsVersionCheck(void);
cudnnStatus_t sim_cudnnCnnVersionCheck(void);
cudnnStatus_t sim_cudnnAdvVersionCheck(void);

/* ---- backend */

cudnnStatus_t sim_cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type,
                                               cudnnBackendDescriptor_t *descriptor);
cudnnStatus_t sim_cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t descriptor);
cudnnStatus_t sim_cudnnBackendInitialize(cudnnBackendDescriptor_t descriptor);
cudnnStatus_t sim_cudnnBackendFinalize(cudnnBackendDescriptor_t descriptor);
cudnnStatus_t sim_cudnnBackendSetAttribute(cudnnBackendDescriptor_t descriptor,
                                           cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                                           int64_t count, const void *values);
cudnnStatus_t sim_cudnnBackendGetAttribute(cudnnBackendDescriptor_t const descriptor,
                                           cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                                           int64_t wanted, int64_t *count, void *values);
cudnnStatus_t sim_cudnnBackendExecute(cudnnHandle_t handle, cudnnBackendDescriptor_t plan,
                                      cudnnBackendDescriptor_t variant_pack);

/* ---- tensors, filters, and descriptors of operations: VS_CUDNN_OBJECTS(kind): Create and Destroy of each */

#define VS_CUDNN_OBJECTS(VS_OBJECT)                                                                   \
  VS_OBJECT(Tensor)                                                                                   \
  VS_OBJECT(Filter)                                                                                   \
  VS_OBJECT(Convolution)                                                                              \
  VS_OBJECT(Pooling) VS_OBJECT(Activation) VS_OBJECT(OpTensor) VS_OBJECT(ReduceTensor) VS_OBJECT(LRN) \
      VS_OBJECT(SpatialTransformer) VS_OBJECT(CTCLoss) VS_OBJECT(Dropout) VS_OBJECT(RNN) VS_OBJECT(RNNData)
#define VS_OBJECT(Kind)                                                                   \
  cudnnStatus_t sim_cudnnCreate##Kind##Descriptor(cudnn##Kind##Descriptor_t *descriptor); \
  cudnnStatus_t sim_cudnnDestroy##Kind##Descriptor(cudnn##Kind##Descriptor_t descriptor);
VS_CUDNN_OBJECTS(VS_OBJECT)
#undef VS_OBJECT

cudnnStatus_t sim_cudnnSetTensor4dDescriptor(cudnnTensorDescriptor_t tensor, cudnnTensorFormat_t format,
                                             cudnnDataType_t type, int n, int c, int h, int w);
cudnnStatus_t sim_cudnnSetTensor4dDescriptorEx(cudnnTensorDescriptor_t tensor, cudnnDataType_t type, int n,
                                               int c, int h, int w, int n_stride, int c_stride, int h_stride,
                                               int w_stride);
cudnnStatus_t sim_cudnnGetTensor4dDescriptor(const cudnnTensorDescriptor_t tensor, cudnnDataType_t *type,
                                             int *n, int *c, int *h, int *w, int *n_stride, int *c_stride,
                                             int *h_stride, int *w_stride);
cudnnStatus_t sim_cudnnSetTensorNdDescriptor(cudnnTensorDescriptor_t tensor, cudnnDataType_t type, int count,
                                             const int dims[], const int strides[]);
cudnnStatus_t sim_cudnnSetTensorNdDescriptorEx(cudnnTensorDescriptor_t tensor, cudnnTensorFormat_t format,
                                               cudnnDataType_t type, int count, const int dims[]);
cudnnStatus_t sim_cudnnGetTensorNdDescriptor(const cudnnTensorDescriptor_t tensor, int wanted,
                                             cudnnDataType_t *type, int *count, int dims[], int strides[]);
cudnnStatus_t sim_cudnnGetTensorSizeInBytes(const cudnnTensorDescriptor_t tensor, size_t *size);
cudnnStatus_t sim_cudnnSetFilter4dDescriptor(cudnnFilterDescriptor_t filter, cudnnDataType_t type,
                                             cudnnTensorFormat_t format, int k, int c, int h, int w);
cudnnStatus_t sim_cudnnGetFilter4dDescriptor(const cudnnFilterDescriptor_t filter, cudnnDataType_t *type,
                                             cudnnTensorFormat_t *format, int *k, int *c, int *h, int *w);
cudnnStatus_t sim_cudnnSetFilterNdDescriptor(cudnnFilterDescriptor_t filter, cudnnDataType_t type,
                                             cudnnTensorFormat_t format, int count, const int dims[]);
cudnnStatus_t sim_cudnnGetFilterNdDescriptor(const cudnnFilterDescriptor_t filter, int wanted,
                                             cudnnDataType_t *type, cudnnTensorFormat_t *format, int *count,
                                             int dims[]);
cudnnStatus_t sim_cudnnGetFilterSizeInBytes(const cudnnFilterDescriptor_t filter, size_t *size);
cudnnStatus_t sim_cudnnDeriveBNTensorDescriptor(cudnnTensorDescriptor_t derived,
                                                const cudnnTensorDescriptor_t x, cudnnBatchNormMode_t mode);

cudnnStatus_t sim_cudnnSetOpTensorDescriptor(cudnnOpTensorDescriptor_t descriptor, cudnnOpTensorOp_t op,
                                             cudnnDataType_t type, cudnnNanPropagation_t nan);
cudnnStatus_t sim_cudnnGetOpTensorDescriptor(const cudnnOpTensorDescriptor_t descriptor,
                                             cudnnOpTensorOp_t *op, cudnnDataType_t *type,
                                             cudnnNanPropagation_t *nan);
cudnnStatus_t sim_cudnnSetReduceTensorDescriptor(cudnnReduceTensorDescriptor_t descriptor,
                                                 cudnnReduceTensorOp_t op, cudnnDataType_t type,
                                                 cudnnNanPropagation_t nan,
                                                 cudnnReduceTensorIndices_t indices,
                                                 cudnnIndicesType_t index_type);
cudnnStatus_t sim_cudnnGetReduceTensorDescriptor(const cudnnReduceTensorDescriptor_t descriptor,
                                                 cudnnReduceTensorOp_t *op, cudnnDataType_t *type,
                                                 cudnnNanPropagation_t *nan,
                                                 cudnnReduceTensorIndices_t *indices,
                                                 cudnnIndicesType_t *index_type);
cudnnStatus_t sim_cudnnGetReductionIndicesSize(cudnnHandle_t handle,
                                               const cudnnReduceTensorDescriptor_t descriptor,
                                               const cudnnTensorDescriptor_t a,
                                               const cudnnTensorDescriptor_t c, size_t *size);
cudnnStatus_t sim_cudnnGetReductionWorkspaceSize(cudnnHandle_t handle,
                                                 const cudnnReduceTensorDescriptor_t descriptor,
                                                 const cudnnTensorDescriptor_t a,
                                                 const cudnnTensorDescriptor_t c, size_t *size);
cudnnStatus_t sim_cudnnSetActivationDescriptor(cudnnActivationDescriptor_t descriptor,
                                               cudnnActivationMode_t mode, cudnnNanPropagation_t nan,
                                               double coefficient);
cudnnStatus_t sim_cudnnGetActivationDescriptor(const cudnnActivationDescriptor_t descriptor,
                                               cudnnActivationMode_t *mode, cudnnNanPropagation_t *nan,
                                               double *coefficient);
cudnnStatus_t sim_cudnnSetActivationDescriptorSwishBeta(cudnnActivationDescriptor_t descriptor, double beta);
cudnnStatus_t sim_cudnnGetActivationDescriptorSwishBeta(cudnnActivationDescriptor_t descriptor, double *beta);
cudnnStatus_t sim_cudnnSetLRNDescriptor(cudnnLRNDescriptor_t descriptor, unsigned n, double alpha,
                                        double beta, double k);
cudnnStatus_t sim_cudnnGetLRNDescriptor(cudnnLRNDescriptor_t descriptor, unsigned *n, double *alpha,
                                        double *beta, double *k);
cudnnStatus_t sim_cudnnSetSpatialTransformerNdDescriptor(cudnnSpatialTransformerDescriptor_t descriptor,
                                                         cudnnSamplerType_t sampler, cudnnDataType_t type,
                                                         const int count, const int dims[]);

/* ---- pooling and convolutions of the old interface */

cudnnStatus_t sim_cudnnSetPooling2dDescriptor(cudnnPoolingDescriptor_t descriptor, cudnnPoolingMode_t mode,
                                              cudnnNanPropagation_t nan, int window_h, int window_w,
                                              int pad_h, int pad_w, int stride_h, int stride_w);
cudnnStatus_t sim_cudnnGetPooling2dDescriptor(const cudnnPoolingDescriptor_t descriptor,
                                              cudnnPoolingMode_t *mode, cudnnNanPropagation_t *nan,
                                              int *window_h, int *window_w, int *pad_h, int *pad_w,
                                              int *stride_h, int *stride_w);
cudnnStatus_t sim_cudnnSetPoolingNdDescriptor(cudnnPoolingDescriptor_t descriptor,
                                              const cudnnPoolingMode_t mode, const cudnnNanPropagation_t nan,
                                              int count, const int window[], const int pad[],
                                              const int stride[]);
cudnnStatus_t sim_cudnnGetPoolingNdDescriptor(const cudnnPoolingDescriptor_t descriptor, int wanted,
                                              cudnnPoolingMode_t *mode, cudnnNanPropagation_t *nan,
                                              int *count, int window[], int pad[], int stride[]);
cudnnStatus_t sim_cudnnGetPoolingNdForwardOutputDim(const cudnnPoolingDescriptor_t descriptor,
                                                    const cudnnTensorDescriptor_t x, int count, int dims[]);
cudnnStatus_t sim_cudnnGetPooling2dForwardOutputDim(const cudnnPoolingDescriptor_t descriptor,
                                                    const cudnnTensorDescriptor_t x, int *n, int *c, int *h,
                                                    int *w);
cudnnStatus_t sim_cudnnSetConvolutionMathType(cudnnConvolutionDescriptor_t descriptor, cudnnMathType_t value);
cudnnStatus_t sim_cudnnGetConvolutionMathType(cudnnConvolutionDescriptor_t descriptor,
                                              cudnnMathType_t *value);
cudnnStatus_t sim_cudnnSetConvolutionGroupCount(cudnnConvolutionDescriptor_t descriptor, int value);
cudnnStatus_t sim_cudnnGetConvolutionGroupCount(cudnnConvolutionDescriptor_t descriptor, int *value);
cudnnStatus_t sim_cudnnSetConvolutionReorderType(cudnnConvolutionDescriptor_t descriptor,
                                                 cudnnReorderType_t value);
cudnnStatus_t sim_cudnnGetConvolutionReorderType(cudnnConvolutionDescriptor_t descriptor,
                                                 cudnnReorderType_t *value);
cudnnStatus_t sim_cudnnSetConvolution2dDescriptor(cudnnConvolutionDescriptor_t descriptor, int pad_h,
                                                  int pad_w, int stride_h, int stride_w, int dilation_h,
                                                  int dilation_w, cudnnConvolutionMode_t mode,
                                                  cudnnDataType_t type);
cudnnStatus_t sim_cudnnGetConvolution2dDescriptor(const cudnnConvolutionDescriptor_t descriptor, int *pad_h,
                                                  int *pad_w, int *stride_h, int *stride_w, int *dilation_h,
                                                  int *dilation_w, cudnnConvolutionMode_t *mode,
                                                  cudnnDataType_t *type);
cudnnStatus_t sim_cudnnSetConvolutionNdDescriptor(cudnnConvolutionDescriptor_t descriptor, int count,
                                                  const int pad[], const int stride[], const int dilation[],
                                                  cudnnConvolutionMode_t mode, cudnnDataType_t type);
cudnnStatus_t sim_cudnnGetConvolutionNdDescriptor(const cudnnConvolutionDescriptor_t descriptor, int wanted,
                                                  int *count, int pad[], int stride[], int dilation[],
                                                  cudnnConvolutionMode_t *mode, cudnnDataType_t *type);
cudnnStatus_t sim_cudnnGetConvolutionNdForwardOutputDim(const cudnnConvolutionDescriptor_t descriptor,
                                                        const cudnnTensorDescriptor_t x,
                                                        const cudnnFilterDescriptor_t w, int count,
                                                        int dims[]);
cudnnStatus_t sim_cudnnGetConvolution2dForwardOutputDim(const cudnnConvolutionDescriptor_t descriptor,
                                                        const cudnnTensorDescriptor_t x,
                                                        const cudnnFilterDescriptor_t w, int *n, int *c,
                                                        int *h, int *width);

/* The three directions ask for algorithms alike: VS_CUDNN_SEARCHES(direction, algorithm's type, result's
 * type, operands' types and names, with and without data). */
#define VS_CUDNN_SEARCHES(VS_SEARCH)                                                               \
  VS_SEARCH(Forward, cudnnConvolutionFwdAlgo_t, cudnnConvolutionFwdAlgoPerf_t,                     \
            (const cudnnTensorDescriptor_t a, const cudnnFilterDescriptor_t b,                     \
             const cudnnConvolutionDescriptor_t descriptor, const cudnnTensorDescriptor_t c),      \
            (const cudnnTensorDescriptor_t a, const void *a_data, const cudnnFilterDescriptor_t b, \
             const void *b_data, const cudnnConvolutionDescriptor_t descriptor,                    \
             const cudnnTensorDescriptor_t c, void *c_data))                                       \
  VS_SEARCH(BackwardData, cudnnConvolutionBwdDataAlgo_t, cudnnConvolutionBwdDataAlgoPerf_t,        \
            (const cudnnFilterDescriptor_t a, const cudnnTensorDescriptor_t b,                     \
             const cudnnConvolutionDescriptor_t descriptor, const cudnnTensorDescriptor_t c),      \
            (const cudnnFilterDescriptor_t a, const void *a_data, const cudnnTensorDescriptor_t b, \
             const void *b_data, const cudnnConvolutionDescriptor_t descriptor,                    \
             const cudnnTensorDescriptor_t c, void *c_data))                                       \
  VS_SEARCH(BackwardFilter, cudnnConvolutionBwdFilterAlgo_t, cudnnConvolutionBwdFilterAlgoPerf_t,  \
            (const cudnnTensorDescriptor_t a, const cudnnTensorDescriptor_t b,                     \
             const cudnnConvolutionDescriptor_t descriptor, const cudnnFilterDescriptor_t c),      \
            (const cudnnTensorDescriptor_t a, const void *a_data, const cudnnTensorDescriptor_t b, \
             const void *b_data, const cudnnConvolutionDescriptor_t descriptor,                    \
             const cudnnFilterDescriptor_t c, void *c_data))
#define VS_EACH(...) __VA_ARGS__
#define VS_SEARCH(Direction, algorithm_type, result_type, operands, operands_and_data)                     \
  cudnnStatus_t sim_cudnnGetConvolution##Direction##AlgorithmMaxCount(cudnnHandle_t handle, int *count);   \
  cudnnStatus_t sim_cudnnGetConvolution##Direction##Algorithm_v7(                                          \
      cudnnHandle_t handle, VS_EACH operands, const int wanted, int *count, result_type *results);         \
  cudnnStatus_t sim_cudnnFindConvolution##Direction##Algorithm(                                            \
      cudnnHandle_t handle, VS_EACH operands, const int wanted, int *count, result_type *results);         \
  cudnnStatus_t sim_cudnnFindConvolution##Direction##AlgorithmEx(                                          \
      cudnnHandle_t handle, VS_EACH operands_and_data, const int wanted, int *count, result_type *results, \
      void *workspace, size_t workspace_size);                                                             \
  cudnnStatus_t sim_cudnnGetConvolution##Direction##WorkspaceSize(cudnnHandle_t handle, VS_EACH operands,  \
                                                                  algorithm_type algorithm, size_t *size);
VS_CUDNN_SEARCHES(VS_SEARCH)
#undef VS_SEARCH

/* ---- normalisation, loss: sizes */

cudnnStatus_t sim_cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize(
    cudnnHandle_t handle, cudnnBatchNormMode_t mode, cudnnBatchNormOps_t ops, const cudnnTensorDescriptor_t x,
    const cudnnTensorDescriptor_t z, const cudnnTensorDescriptor_t y,
    const cudnnTensorDescriptor_t parameters, const cudnnActivationDescriptor_t activation, size_t *size);
cudnnStatus_t sim_cudnnGetBatchNormalizationBackwardExWorkspaceSize(
    cudnnHandle_t handle, cudnnBatchNormMode_t mode, cudnnBatchNormOps_t ops, const cudnnTensorDescriptor_t x,
    const cudnnTensorDescriptor_t y, const cudnnTensorDescriptor_t dy, const cudnnTensorDescriptor_t dz,
    const cudnnTensorDescriptor_t dx, const cudnnTensorDescriptor_t parameters,
    const cudnnActivationDescriptor_t activation, size_t *size);
cudnnStatus_t sim_cudnnGetBatchNormalizationTrainingExReserveSpaceSize(
    cudnnHandle_t handle, cudnnBatchNormMode_t mode, cudnnBatchNormOps_t ops,
    const cudnnActivationDescriptor_t activation, const cudnnTensorDescriptor_t x, size_t *size);
cudnnStatus_t sim_cudnnSetCTCLossDescriptor(cudnnCTCLossDescriptor_t descriptor, cudnnDataType_t type);
cudnnStatus_t sim_cudnnSetCTCLossDescriptorEx(cudnnCTCLossDescriptor_t descriptor, cudnnDataType_t type,
                                              cudnnLossNormalizationMode_t normalization,
                                              cudnnNanPropagation_t gradient);
cudnnStatus_t sim_cudnnSetCTCLossDescriptor_v8(cudnnCTCLossDescriptor_t descriptor, cudnnDataType_t type,
                                               cudnnLossNormalizationMode_t normalization,
                                               cudnnNanPropagation_t gradient, int longest_label);
cudnnStatus_t sim_cudnnSetCTCLossDescriptor_v9(cudnnCTCLossDescriptor_t descriptor, cudnnDataType_t type,
                                               cudnnLossNormalizationMode_t normalization,
                                               cudnnCTCGradMode_t gradient, int longest_label);
cudnnStatus_t sim_cudnnGetCTCLossWorkspaceSize(cudnnHandle_t handle,
                                               const cudnnTensorDescriptor_t probabilities,
                                               const cudnnTensorDescriptor_t gradients, const int *labels,
                                               const int *label_lengths, const int *input_lengths,
                                               cudnnCTCLossAlgo_t algorithm,
                                               cudnnCTCLossDescriptor_t descriptor, size_t *size);
cudnnStatus_t sim_cudnnGetCTCLossWorkspaceSize_v8(cudnnHandle_t handle, cudnnCTCLossAlgo_t algorithm,
                                                  cudnnCTCLossDescriptor_t descriptor,
                                                  const cudnnTensorDescriptor_t probabilities,
                                                  const cudnnTensorDescriptor_t gradients, size_t *size);

/* ---- dropout */

cudnnStatus_t sim_cudnnDropoutGetStatesSize(cudnnHandle_t handle, size_t *size);
cudnnStatus_t sim_cudnnDropoutGetReserveSpaceSize(cudnnTensorDescriptor_t x, size_t *size);
cudnnStatus_t sim_cudnnSetDropoutDescriptor(cudnnDropoutDescriptor_t descriptor, cudnnHandle_t handle,
                                            float dropout, void *states, size_t size,
                                            unsigned long long seed);
cudnnStatus_t sim_cudnnRestoreDropoutDescriptor(cudnnDropoutDescriptor_t descriptor, cudnnHandle_t handle,
                                                float dropout, void *states, size_t size,
                                                unsigned long long seed);
cudnnStatus_t sim_cudnnGetDropoutDescriptor(cudnnDropoutDescriptor_t descriptor, cudnnHandle_t handle,
                                            float *dropout, void **states, unsigned long long *seed);

/* ---- recurrent networks */

cudnnStatus_t sim_cudnnSetRNNDescriptor_v8(cudnnRNNDescriptor_t rnn, cudnnRNNAlgo_t algorithm,
                                           cudnnRNNMode_t mode, cudnnRNNBiasMode_t bias,
                                           cudnnDirectionMode_t direction, cudnnRNNInputMode_t input_mode,
                                           cudnnDataType_t type, cudnnDataType_t precision,
                                           cudnnMathType_t math, int32_t input, int32_t hidden,
                                           int32_t projected, int32_t layers,
                                           cudnnDropoutDescriptor_t dropout, uint32_t flags);
cudnnStatus_t sim_cudnnGetRNNDescriptor_v8(cudnnRNNDescriptor_t rnn, cudnnRNNAlgo_t *algorithm,
                                           cudnnRNNMode_t *mode, cudnnRNNBiasMode_t *bias,
                                           cudnnDirectionMode_t *direction, cudnnRNNInputMode_t *input_mode,
                                           cudnnDataType_t *type, cudnnDataType_t *precision,
                                           cudnnMathType_t *math, int32_t *input, int32_t *hidden,
                                           int32_t *projected, int32_t *layers,
                                           cudnnDropoutDescriptor_t *dropout, uint32_t *flags);
cudnnStatus_t sim_cudnnRNNSetClip_v8(cudnnRNNDescriptor_t rnn, cudnnRNNClipMode_t mode,
                                     cudnnNanPropagation_t nan, double low, double high);
cudnnStatus_t sim_cudnnRNNSetClip_v9(cudnnRNNDescriptor_t rnn, cudnnRNNClipMode_t mode, double low,
                                     double high);
cudnnStatus_t sim_cudnnRNNGetClip_v8(cudnnRNNDescriptor_t rnn, cudnnRNNClipMode_t *mode,
                                     cudnnNanPropagation_t *nan, double *low, double *high);
cudnnStatus_t sim_cudnnRNNGetClip_v9(cudnnRNNDescriptor_t rnn, cudnnRNNClipMode_t *mode, double *low,
                                     double *high);
cudnnStatus_t sim_cudnnBuildRNNDynamic(cudnnHandle_t handle, cudnnRNNDescriptor_t rnn, int batch);
cudnnStatus_t sim_cudnnGetRNNTempSpaceSizes(cudnnHandle_t handle, cudnnRNNDescriptor_t rnn,
                                            cudnnForwardMode_t mode, cudnnRNNDataDescriptor_t x,
                                            size_t *workspace, size_t *reserve);
cudnnStatus_t sim_cudnnGetRNNWeightSpaceSize(cudnnHandle_t handle, cudnnRNNDescriptor_t rnn, size_t *size);
cudnnStatus_t sim_cudnnGetRNNWeightParams(cudnnHandle_t handle, cudnnRNNDescriptor_t rnn,
                                          int32_t pseudo_layer, size_t size, const void *weights,
                                          int32_t linear, cudnnTensorDescriptor_t matrix, void **matrix_at,
                                          cudnnTensorDescriptor_t bias, void **bias_at);
cudnnStatus_t sim_cudnnSetRNNDataDescriptor(cudnnRNNDataDescriptor_t data, cudnnDataType_t type,
                                            cudnnRNNDataLayout_t layout, int longest, int batch, int vector,
                                            const int lengths[], void *padding);
cudnnStatus_t sim_cudnnGetRNNDataDescriptor(cudnnRNNDataDescriptor_t data, cudnnDataType_t *type,
                                            cudnnRNNDataLayout_t *layout, int *longest, int *batch,
                                            int *vector, int wanted, int lengths[], void *padding);

#define VS_COMPUTE(name, arguments, laws, results) cudnnStatus_t sim_##name arguments;
#include "faces/simcuda/abi/cudnn_computes.def"
#undef VS_COMPUTE

#endif
