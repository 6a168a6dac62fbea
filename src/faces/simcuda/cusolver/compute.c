/* The computations: checks handle and arguments, and counts the work on the handle's stream. Nothing is computed.
 * Also the sizes of their workspaces. */
#include <string.h>

#include "faces/simcuda/cusolver/handle.h"
#include "faces/simcuda/cusolver/sizes.h"

#pragma GCC diagnostic ignored "-Wunused-parameter" /* unchecked parameters only complete the signature */

/* Whether the library was measured on this card, in this version. */
static bool is_measured_card(const solver *of) {
  if (VS_TOOLKIT < 13) return false;
  const vs_sim_gpu *gpu = vs_simcuda_gpu(of->device);
  return gpu != NULL && strcmp(gpu->profile->key, "H100") == 0;
}

static void note_guess(const solver *of, vs_workspace workspace) {
  if (!workspace.is_measured)
    vs_simcuda_guess("cusolver_workspace", workspace.bytes,
                     "cuSOLVER does not document the sizes of its workspaces; where none was measured, one "
                     "was taken that is near, or that LAPACK documents");
  else if (!is_measured_card(of))
    vs_simcuda_guess("cusolver_measured_workspace", workspace.bytes,
                     "the sizes of cuSOLVER's workspaces were measured on an H100 with CUDA 13.0; on other "
                     "GPUs and with other versions they may differ");
}

/* If the size overflows an int, the program has to use the interface with 64 bits. */
static cusolverStatus_t answer_values(const void *handle, int *to, size_t value, vs_workspace workspace) {
  VS_ASSERT(workspace.bytes % value == 0);
  const uint64_t values = workspace.bytes / value;
  if (values > INT32_MAX) return CUSOLVER_STATUS_INVALID_VALUE;
  note_guess(handle, workspace);
  *to = (int)values;
  return CUSOLVER_STATUS_SUCCESS;
}

static cusolverStatus_t answer_bytes(const void *handle, size_t *to, vs_workspace workspace) {
  note_guess(handle, workspace);
  *to = workspace.bytes;
  return CUSOLVER_STATUS_SUCCESS;
}

static uint64_t bytes_of(cudaDataType type) { return vs_data_type_bits(type) / 8; }

static cusolverStatus_t answer_both(const void *handle, size_t *device, size_t *host, cudaDataType type,
                                    vs_workspace workspace) {
  if (bytes_of(type) == 0) return CUSOLVER_STATUS_INVALID_VALUE;
  *host = 0;
  return answer_bytes(handle, device, workspace);
}

static cusolverStatus_t work_on(const void *handle) {
  const solver *of = handle;
  return vs_simcuda_work_on(of->stream, VS_SIMCUDA_KERNEL) == VS_SIM_OK ? CUSOLVER_STATUS_SUCCESS
                                                                        : CUSOLVER_STATUS_EXECUTION_FAILED;
}

#define INFO         vs_result_zeros(info, sizeof(int))
#define INFOS(count) vs_result_zeros(infos, sizeof(int) * (uint64_t)(count))

#define VALUES(T, size, ...) answer_values(handle, lwork, sizeof(T), vs_size_##size(sizeof(T), __VA_ARGS__))
#define BYTES(T, size, ...)  answer_bytes(handle, bytes, vs_size_##size(sizeof(T), __VA_ARGS__))
#define BYTES_OF(type, size, ...) \
  answer_both(handle, device_bytes, host_bytes, type, vs_size_##size(bytes_of(type), __VA_ARGS__))

#define VS_SIZE(name, arguments, laws, answer)                         \
  cusolverStatus_t sim_##name arguments {                              \
    if (!vs_is_solver(handle)) return CUSOLVER_STATUS_NOT_INITIALIZED; \
    return (laws) ? (answer) : CUSOLVER_STATUS_INVALID_VALUE;          \
  }
#define VS_COMPUTE(name, arguments, laws, results)                     \
  cusolverStatus_t sim_##name arguments {                              \
    if (!vs_is_solver(handle)) return CUSOLVER_STATUS_NOT_INITIALIZED; \
    if (!(laws)) return CUSOLVER_STATUS_INVALID_VALUE;                 \
    const cusolverStatus_t status = work_on(handle);                   \
    if (status == CUSOLVER_STATUS_SUCCESS) results;                    \
    return status;                                                     \
  }
#include "faces/simcuda/abi/cusolver_computes.def"
