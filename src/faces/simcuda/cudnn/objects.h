/* The handle and the descriptors of cuDNN. */
#ifndef VS_SIMCUDA_CUDNN_OBJECTS_H
#define VS_SIMCUDA_CUDNN_OBJECTS_H

#include "faces/simcuda/abi/cudnn.h"
#include "faces/simcuda/core/objects.h"

enum { CUDNN_MOST_DIMS = 8 }; /* as the library: tensors have 3 to 8 dimensions */

struct cudnnContext {
  vs_object object;
  uint64_t stream;
  uint32_t device; /* the thread's current one when the handle was made */
};

struct cudnnTensorStruct {
  vs_object object;
  cudnnDataType_t type;
  int count;
  int dims[CUDNN_MOST_DIMS], strides[CUDNN_MOST_DIMS];
};

struct cudnnFilterStruct {
  vs_object object;
  cudnnDataType_t type;
  cudnnTensorFormat_t format;
  int count;
  int dims[CUDNN_MOST_DIMS];
};

struct cudnnConvolutionStruct {
  vs_object object;
  cudnnConvolutionMode_t mode;
  cudnnDataType_t type;
  cudnnMathType_t math;
  cudnnReorderType_t reorder;
  int groups;
  int count; /* spatial dimensions */
  int pad[CUDNN_MOST_DIMS], stride[CUDNN_MOST_DIMS], dilation[CUDNN_MOST_DIMS];
};

struct cudnnPoolingStruct {
  vs_object object;
  cudnnPoolingMode_t mode;
  cudnnNanPropagation_t nan;
  int count;
  int window[CUDNN_MOST_DIMS], pad[CUDNN_MOST_DIMS], stride[CUDNN_MOST_DIMS];
};

struct cudnnActivationStruct {
  vs_object object;
  cudnnActivationMode_t mode;
  cudnnNanPropagation_t nan;
  double coefficient, swish_beta;
};

struct cudnnOpTensorStruct {
  vs_object object;
  cudnnOpTensorOp_t op;
  cudnnDataType_t type;
  cudnnNanPropagation_t nan;
};

struct cudnnReduceTensorStruct {
  vs_object object;
  cudnnReduceTensorOp_t op;
  cudnnDataType_t type;
  cudnnNanPropagation_t nan;
  cudnnReduceTensorIndices_t indices;
  cudnnIndicesType_t index_type;
};

struct cudnnLRNStruct {
  vs_object object;
  unsigned n;
  double alpha, beta, k;
};

struct cudnnSpatialTransformerStruct {
  vs_object object;
  cudnnSamplerType_t sampler;
  cudnnDataType_t type;
  int count;
  int dims[CUDNN_MOST_DIMS];
};

struct cudnnCTCLossStruct {
  vs_object object;
  cudnnDataType_t type;
  cudnnLossNormalizationMode_t normalization;
  int gradient; /* its mode; versions of the call name it differently */
  int longest_label;
};

struct cudnnDropoutStruct {
  vs_object object;
  float dropout;
  void *states;
  unsigned long long seed;
};

struct cudnnRNNDataStruct {
  vs_object object;
  cudnnDataType_t type;
  cudnnRNNDataLayout_t layout;
  int longest, batch, vector;
  int64_t steps; /* sum of the lengths */
};

struct cudnnRNNStruct {
  vs_object object;
  cudnnRNNAlgo_t algorithm;
  cudnnRNNMode_t mode;
  cudnnRNNBiasMode_t bias;
  cudnnDirectionMode_t direction;
  cudnnRNNInputMode_t input_mode;
  cudnnDataType_t type, precision;
  cudnnMathType_t math;
  int32_t input, hidden, projected, layers;
  cudnnDropoutDescriptor_t dropout;
  uint32_t flags;
  cudnnRNNClipMode_t clip;
  cudnnNanPropagation_t clip_nan;
  double clip_low, clip_high;
};

#define CUDNN_TAG(kind)              CUDNN_TAG_##kind
#define CUDNN_TAG_Handle             VS_TAG('d', 'n', 'n', ' ')
#define CUDNN_TAG_Tensor             VS_TAG('d', 't', 'e', 'n')
#define CUDNN_TAG_Filter             VS_TAG('d', 'f', 'i', 'l')
#define CUDNN_TAG_Convolution        VS_TAG('d', 'c', 'o', 'n')
#define CUDNN_TAG_Pooling            VS_TAG('d', 'p', 'o', 'o')
#define CUDNN_TAG_Activation         VS_TAG('d', 'a', 'c', 't')
#define CUDNN_TAG_OpTensor           VS_TAG('d', 'o', 'p', 't')
#define CUDNN_TAG_ReduceTensor       VS_TAG('d', 'r', 'e', 'd')
#define CUDNN_TAG_LRN                VS_TAG('d', 'l', 'r', 'n')
#define CUDNN_TAG_SpatialTransformer VS_TAG('d', 's', 'p', 't')
#define CUDNN_TAG_CTCLoss            VS_TAG('d', 'c', 't', 'c')
#define CUDNN_TAG_Dropout            VS_TAG('d', 'd', 'r', 'o')
#define CUDNN_TAG_RNN                VS_TAG('d', 'r', 'n', 'n')
#define CUDNN_TAG_RNNData            VS_TAG('d', 'r', 'n', 'd')
#define IS(kind, descriptor)         vs_object_is(descriptor, CUDNN_TAG(kind))
#define IS_HANDLE(handle)            vs_object_is(handle, CUDNN_TAG_Handle)

/* Stores the function and status of the last failure for cudnnGetLastErrorString, and returns the status. */
cudnnStatus_t vs_cudnn_fail(cudnnStatus_t status, const char *function);
#define FAIL(status) vs_cudnn_fail(CUDNN_STATUS_##status, __func__)

/* Counts a kernel on the handle's stream. */
cudnnStatus_t vs_cudnn_work(cudnnHandle_t handle);

/* Bytes of a value; 0 for a type that no tensor has. A vector of 4 or 32 values counts as one value. */
size_t vs_cudnn_size_of(cudnnDataType_t type);

/* The workspaces of convolutions, as VRAMSCOPE_SIM_CUDNN_WORKSPACE says. */
typedef enum vs_cudnn_workspaces {
  VS_CUDNN_MEASURED, /* it is not set: the rule of convolution_workspace.h */
  VS_CUDNN_MOST,     /* "most": the bound of convolution_workspace.h */
  VS_CUDNN_EQUAL     /* a size, which every convolution gets */
} vs_cudnn_workspaces;

/* `bytes`: set with VS_CUDNN_EQUAL only. */
vs_cudnn_workspaces vs_cudnn_configured_workspaces(uint64_t *bytes);
/* The workspace of the old convolutions: the configured size, else 0. Notes it as a guess. */
uint64_t vs_cudnn_workspace(void);
/* Notes the workspace of a convolution's plan. `most`: the bound for it, UINT64_MAX if none is known. */
void vs_cudnn_note_convolution(uint64_t bytes, uint64_t most);

size_t vs_cudnn_rnn_weight_size(cudnnRNNDescriptor_t rnn);

#endif
