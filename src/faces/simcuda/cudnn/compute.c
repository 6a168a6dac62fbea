/* The computations: checks handle and descriptors, and counts the work on the handle's stream. Nothing is
 * computed. Batch normalisation needs no workspace. */
#include "faces/simcuda/cudnn/objects.h"

#pragma GCC diagnostic ignored "-Wunused-parameter" /* unchecked parameters only complete the signature */

#define NOTHING (void)0
#define VS_COMPUTE(name, arguments, laws, results)             \
  cudnnStatus_t sim_##name arguments {                         \
    if (!IS_HANDLE(handle) || !(laws)) return FAIL(BAD_PARAM); \
    results;                                                   \
    return vs_cudnn_work(handle);                              \
  }
#include "faces/simcuda/abi/cudnn_computes.def"

static cudnnStatus_t no_bytes(cudnnHandle_t handle, cudnnTensorDescriptor_t x, size_t *size,
                              const char *function) {
  if (!IS_HANDLE(handle) || !IS(Tensor, x) || size == NULL)
    return vs_cudnn_fail(CUDNN_STATUS_BAD_PARAM, function);
  *size = 0;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t sim_cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize(
    cudnnHandle_t handle, cudnnBatchNormMode_t mode, cudnnBatchNormOps_t ops, const cudnnTensorDescriptor_t x,
    const cudnnTensorDescriptor_t z, const cudnnTensorDescriptor_t y,
    const cudnnTensorDescriptor_t parameters, const cudnnActivationDescriptor_t activation, size_t *size) {
  return no_bytes(handle, x, size, __func__);
}

cudnnStatus_t sim_cudnnGetBatchNormalizationBackwardExWorkspaceSize(
    cudnnHandle_t handle, cudnnBatchNormMode_t mode, cudnnBatchNormOps_t ops, const cudnnTensorDescriptor_t x,
    const cudnnTensorDescriptor_t y, const cudnnTensorDescriptor_t dy, const cudnnTensorDescriptor_t dz,
    const cudnnTensorDescriptor_t dx, const cudnnTensorDescriptor_t parameters,
    const cudnnActivationDescriptor_t activation, size_t *size) {
  return no_bytes(handle, x, size, __func__);
}

cudnnStatus_t sim_cudnnGetBatchNormalizationTrainingExReserveSpaceSize(
    cudnnHandle_t handle, cudnnBatchNormMode_t mode, cudnnBatchNormOps_t ops,
    const cudnnActivationDescriptor_t activation, const cudnnTensorDescriptor_t x, size_t *size) {
  return no_bytes(handle, x, size, __func__);
}
