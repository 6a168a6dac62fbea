/* Types of cuDNN 9 under their public names. Only enumerations that the face reads are declared; for callers they
 * are ints. */
#ifndef VS_SIMCUDA_ABI_CUDNN_TYPES_H
#define VS_SIMCUDA_ABI_CUDNN_TYPES_H

#include "faces/simcuda/abi/math_types.h"

#if VS_ABI_TOOLKIT
#include <cudnn.h>
#else
typedef enum cudnnStatus_t {
#define VS_CUDNN_STATUS(name, value) name = (value),
#include "faces/simcuda/abi/cudnn_status.def"
#undef VS_CUDNN_STATUS
} cudnnStatus_t;

typedef struct cudnnContext *cudnnHandle_t;
typedef struct cudnnTensorStruct *cudnnTensorDescriptor_t;
typedef struct cudnnFilterStruct *cudnnFilterDescriptor_t;
typedef struct cudnnConvolutionStruct *cudnnConvolutionDescriptor_t;
typedef struct cudnnPoolingStruct *cudnnPoolingDescriptor_t;
typedef struct cudnnLRNStruct *cudnnLRNDescriptor_t;
typedef struct cudnnActivationStruct *cudnnActivationDescriptor_t;
typedef struct cudnnSpatialTransformerStruct *cudnnSpatialTransformerDescriptor_t;
typedef struct cudnnOpTensorStruct *cudnnOpTensorDescriptor_t;
typedef struct cudnnReduceTensorStruct *cudnnReduceTensorDescriptor_t;
typedef struct cudnnCTCLossStruct *cudnnCTCLossDescriptor_t;
typedef struct cudnnDropoutStruct *cudnnDropoutDescriptor_t;
typedef struct cudnnRNNStruct *cudnnRNNDescriptor_t;
typedef struct cudnnRNNDataStruct *cudnnRNNDataDescriptor_t;
typedef void *cudnnBackendDescriptor_t;
typedef struct cudnnRuntimeTag_t cudnnRuntimeTag_t;

typedef enum {
  CUDNN_DATA_FLOAT,
  CUDNN_DATA_DOUBLE,
  CUDNN_DATA_HALF,
  CUDNN_DATA_INT8,
  CUDNN_DATA_INT32,
  CUDNN_DATA_INT8x4,
  CUDNN_DATA_UINT8,
  CUDNN_DATA_UINT8x4,
  CUDNN_DATA_INT8x32,
  CUDNN_DATA_BFLOAT16,
  CUDNN_DATA_INT64,
  CUDNN_DATA_BOOLEAN,
  CUDNN_DATA_FP8_E4M3,
  CUDNN_DATA_FP8_E5M2,
  CUDNN_DATA_FAST_FLOAT_FOR_FP8
} cudnnDataType_t;
typedef enum { CUDNN_TENSOR_NCHW, CUDNN_TENSOR_NHWC, CUDNN_TENSOR_NCHW_VECT_C } cudnnTensorFormat_t;
typedef enum { CUDNN_DEFAULT_MATH, CUDNN_TENSOR_OP_MATH, CUDNN_FMA_MATH = 3 } cudnnMathType_t;
typedef enum { CUDNN_NOT_PROPAGATE_NAN, CUDNN_PROPAGATE_NAN } cudnnNanPropagation_t;
typedef enum { CUDNN_NON_DETERMINISTIC, CUDNN_DETERMINISTIC } cudnnDeterminism_t;
typedef enum { CUDNN_CONVOLUTION, CUDNN_CROSS_CORRELATION } cudnnConvolutionMode_t;
typedef enum { CUDNN_DEFAULT_REORDER, CUDNN_NO_REORDER } cudnnReorderType_t;
typedef enum {
  CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM,
  CUDNN_CONVOLUTION_FWD_ALGO_COUNT = 8
} cudnnConvolutionFwdAlgo_t;
typedef enum {
  CUDNN_CONVOLUTION_BWD_DATA_ALGO_0,
  CUDNN_CONVOLUTION_BWD_DATA_ALGO_1,
  CUDNN_CONVOLUTION_BWD_DATA_ALGO_COUNT = 6
} cudnnConvolutionBwdDataAlgo_t;
typedef enum {
  CUDNN_CONVOLUTION_BWD_FILTER_ALGO_0,
  CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1,
  CUDNN_CONVOLUTION_BWD_FILTER_ALGO_COUNT = 7
} cudnnConvolutionBwdFilterAlgo_t;

/* One result of a search for an algorithm; three types with one layout. */
#define VS_CUDNN_PERFORMANCE(name, algorithm) \
  typedef struct name {                       \
    algorithm algo;                           \
    cudnnStatus_t status;                     \
    float time;                               \
    size_t memory;                            \
    cudnnDeterminism_t determinism;           \
    cudnnMathType_t mathType;                 \
    int reserved[3];                          \
  } name;
VS_CUDNN_PERFORMANCE(cudnnConvolutionFwdAlgoPerf_t, cudnnConvolutionFwdAlgo_t)
VS_CUDNN_PERFORMANCE(cudnnConvolutionBwdDataAlgoPerf_t, cudnnConvolutionBwdDataAlgo_t)
VS_CUDNN_PERFORMANCE(cudnnConvolutionBwdFilterAlgoPerf_t, cudnnConvolutionBwdFilterAlgo_t)
#undef VS_CUDNN_PERFORMANCE

typedef enum { CUDNN_POOLING_MAX, CUDNN_POOLING_MAX_DETERMINISTIC = 3 } cudnnPoolingMode_t;
typedef enum {
  CUDNN_ACTIVATION_SIGMOID,
  CUDNN_ACTIVATION_IDENTITY = 5,
  CUDNN_ACTIVATION_SWISH
} cudnnActivationMode_t;
typedef enum { CUDNN_OP_TENSOR_ADD, CUDNN_OP_TENSOR_NOT = 5 } cudnnOpTensorOp_t;
typedef enum { CUDNN_REDUCE_TENSOR_ADD, CUDNN_REDUCE_TENSOR_MUL_NO_ZEROS = 8 } cudnnReduceTensorOp_t;
typedef enum {
  CUDNN_REDUCE_TENSOR_NO_INDICES,
  CUDNN_REDUCE_TENSOR_FLATTENED_INDICES
} cudnnReduceTensorIndices_t;
typedef enum {
  CUDNN_32BIT_INDICES,
  CUDNN_64BIT_INDICES,
  CUDNN_16BIT_INDICES,
  CUDNN_8BIT_INDICES
} cudnnIndicesType_t;
typedef enum { CUDNN_SOFTMAX_FAST, CUDNN_SOFTMAX_LOG = 2 } cudnnSoftmaxAlgorithm_t;
typedef enum { CUDNN_SOFTMAX_MODE_INSTANCE, CUDNN_SOFTMAX_MODE_CHANNEL } cudnnSoftmaxMode_t;
typedef enum { CUDNN_LRN_CROSS_CHANNEL_DIM1 } cudnnLRNMode_t;
typedef enum {
  CUDNN_BATCHNORM_PER_ACTIVATION,
  CUDNN_BATCHNORM_SPATIAL,
  CUDNN_BATCHNORM_SPATIAL_PERSISTENT
} cudnnBatchNormMode_t;
typedef enum {
  CUDNN_BATCHNORM_OPS_BN,
  CUDNN_BATCHNORM_OPS_BN_ACTIVATION,
  CUDNN_BATCHNORM_OPS_BN_ADD_ACTIVATION
} cudnnBatchNormOps_t;
typedef enum { CUDNN_SAMPLER_BILINEAR } cudnnSamplerType_t;
typedef enum { CUDNN_LOSS_NORMALIZATION_NONE, CUDNN_LOSS_NORMALIZATION_SOFTMAX } cudnnLossNormalizationMode_t;
typedef enum { CUDNN_CTC_ZERO_OOB_GRADIENTS, CUDNN_CTC_SKIP_OOB_GRADIENTS } cudnnCTCGradMode_t;
typedef enum { CUDNN_CTC_LOSS_ALGO_DETERMINISTIC, CUDNN_CTC_LOSS_ALGO_NON_DETERMINISTIC } cudnnCTCLossAlgo_t;

typedef enum { CUDNN_RNN_ALGO_STANDARD, CUDNN_RNN_ALGO_COUNT = 4 } cudnnRNNAlgo_t;
typedef enum { CUDNN_FWD_MODE_INFERENCE, CUDNN_FWD_MODE_TRAINING } cudnnForwardMode_t;
typedef enum { CUDNN_RNN_RELU, CUDNN_RNN_TANH, CUDNN_LSTM, CUDNN_GRU } cudnnRNNMode_t;
typedef enum {
  CUDNN_RNN_NO_BIAS,
  CUDNN_RNN_SINGLE_INP_BIAS,
  CUDNN_RNN_DOUBLE_BIAS,
  CUDNN_RNN_SINGLE_REC_BIAS
} cudnnRNNBiasMode_t;
typedef enum { CUDNN_UNIDIRECTIONAL, CUDNN_BIDIRECTIONAL } cudnnDirectionMode_t;
typedef enum { CUDNN_LINEAR_INPUT, CUDNN_SKIP_INPUT } cudnnRNNInputMode_t;
typedef enum { CUDNN_RNN_CLIP_NONE, CUDNN_RNN_CLIP_MINMAX } cudnnRNNClipMode_t;
typedef enum {
  CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_UNPACKED,
  CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_PACKED,
  CUDNN_RNN_DATA_LAYOUT_BATCH_MAJOR_UNPACKED
} cudnnRNNDataLayout_t;
typedef enum { CUDNN_WGRAD_MODE_ADD, CUDNN_WGRAD_MODE_SET } cudnnWgradMode_t;
typedef enum { CUDNN_ERRQUERY_RAWCODE, CUDNN_ERRQUERY_BLOCKING = 2 } cudnnErrQueryMode_t;

typedef struct cudnnDebug_t cudnnDebug_t;
typedef enum { CUDNN_SEV_FATAL, CUDNN_SEV_INFO = 3 } cudnnSeverity_t;
typedef void (*cudnnCallback_t)(cudnnSeverity_t severity, void *own, const cudnnDebug_t *what,
                                const char *text);

typedef enum {
  CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR = 1,
  CUDNN_BACKEND_ENGINE_DESCRIPTOR = 2,
  CUDNN_BACKEND_ENGINECFG_DESCRIPTOR = 3,
  CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR = 4,
  CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR = 5,
  CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR = 10,
  CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR = 11,
  CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR = 12,
  CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR = 15,
  CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR = 16,
  CUDNN_BACKEND_TENSOR_DESCRIPTOR = 17,
  CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR = 38
} cudnnBackendDescriptorType_t;

typedef enum {
  CUDNN_ATTR_ENGINEHEUR_MODE = 200,
  CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH = 201,
  CUDNN_ATTR_ENGINEHEUR_RESULTS = 202,
  CUDNN_ATTR_ENGINECFG_ENGINE = 300,
  CUDNN_ATTR_ENGINECFG_INTERMEDIATE_INFO = 301,
  CUDNN_ATTR_ENGINECFG_KNOB_CHOICES = 302,
  CUDNN_ATTR_ENGINECFG_WORKSPACE_SIZE = 303,
  CUDNN_ATTR_ENGINECFG_SHARED_MEMORY_USED = 304,
  CUDNN_ATTR_EXECUTION_PLAN_HANDLE = 400,
  CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG = 401,
  CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE = 402,
  CUDNN_ATTR_EXECUTION_PLAN_COMPUTED_INTERMEDIATE_UIDS = 403,
  CUDNN_ATTR_EXECUTION_PLAN_RUN_ONLY_INTERMEDIATE_UIDS = 404,
  CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION = 405,
  CUDNN_ATTR_OPERATIONGRAPH_HANDLE = 800,
  CUDNN_ATTR_OPERATIONGRAPH_OPS = 801,
  CUDNN_ATTR_OPERATIONGRAPH_ENGINE_GLOBAL_COUNT = 802,
  CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT = 900,
  CUDNN_ATTR_TENSOR_DATA_TYPE = 901,
  CUDNN_ATTR_TENSOR_DIMENSIONS = 902,
  CUDNN_ATTR_TENSOR_STRIDES = 903,
  CUDNN_ATTR_TENSOR_UNIQUE_ID = 906,
  CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS = 1000,
  CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS = 1001,
  CUDNN_ATTR_VARIANT_PACK_WORKSPACE = 1003,
  CUDNN_ATTR_ENGINE_OPERATION_GRAPH = 1300,
  CUDNN_ATTR_ENGINE_GLOBAL_INDEX = 1301,
  CUDNN_ATTR_ENGINE_KNOB_INFO = 1302,
  CUDNN_ATTR_ENGINE_NUMERICAL_NOTE = 1303,
  CUDNN_ATTR_ENGINE_LAYOUT_INFO = 1304,
  CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE = 1305
} cudnnBackendAttributeName_t;

typedef enum {
  CUDNN_TYPE_HANDLE,
  CUDNN_TYPE_DATA_TYPE,
  CUDNN_TYPE_BOOLEAN,
  CUDNN_TYPE_INT64,
  CUDNN_TYPE_FLOAT,
  CUDNN_TYPE_DOUBLE,
  CUDNN_TYPE_VOID_PTR,
  CUDNN_TYPE_NUMERICAL_NOTE = 11,
  CUDNN_TYPE_BACKEND_DESCRIPTOR = 15,
  CUDNN_TYPE_BEHAVIOR_NOTE = 19,
  CUDNN_TYPE_INT32 = 23,
  CUDNN_TYPE_CHAR = 24,
  CUDNN_TYPE_FRACTION = 26,
  CUDNN_TYPE_MOST = 63
} cudnnBackendAttributeType_t;
#endif

#endif
