/* The computations: checks handle and arguments, and counts the work on the handle's stream. Nothing is computed.
 * Also the sizes of their workspaces. */
#include "faces/simcuda/cusolver/handle.h"
#include "faces/simcuda/cusolver/sizes.h"

#pragma GCC diagnostic ignored "-Wunused-parameter" /* unchecked parameters only complete the signature */

static void note_guess(uint64_t bytes) {
  vs_simcuda_guess(
      "cusolver_workspace", bytes,
      "cuSOLVER does not document the sizes of its workspaces; those that LAPACK documents were taken");
}

/* If the size overflows an int, the program has to use the interface with 64 bits. */
static cusolverStatus_t answer_values(int *to, uint64_t values, size_t size_of_value) {
  if (values > INT32_MAX) return CUSOLVER_STATUS_INVALID_VALUE;
  note_guess(values * size_of_value);
  *to = (int)values;
  return CUSOLVER_STATUS_SUCCESS;
}

static cusolverStatus_t answer_bytes(size_t *to, uint64_t bytes) {
  note_guess(bytes);
  *to = bytes;
  return CUSOLVER_STATUS_SUCCESS;
}

static cusolverStatus_t answer_both(size_t *device, size_t *host, cudaDataType type, uint64_t values) {
  const uint64_t bytes = vs_data_type_bits(type) / 8;
  if (bytes == 0) return CUSOLVER_STATUS_INVALID_VALUE;
  *host = 0;
  return answer_bytes(device, values * bytes);
}

static cusolverStatus_t work_on(const void *handle) {
  const solver *of = handle;
  return vs_simcuda_work_on(of->stream, VS_SIMCUDA_KERNEL) == VS_SIM_OK ? CUSOLVER_STATUS_SUCCESS
                                                                        : CUSOLVER_STATUS_EXECUTION_FAILED;
}

#define INFO                  vs_result_zeros(info, sizeof(int))
#define INFOS(count)          vs_result_zeros(infos, sizeof(int) * (uint64_t)(count))
#define VALUES(T, count)      answer_values(lwork, count, sizeof(T))
#define BYTES(count)          answer_bytes(bytes, count)
#define BYTES_OF(type, count) answer_both(device_bytes, host_bytes, type, count)

#define VS_SIZE(name, arguments, laws, answer)                         \
  cusolverStatus_t sim_##name arguments {                              \
    if (!vs_is_solver(handle)) return CUSOLVER_STATUS_NOT_INITIALIZED; \
    return (laws) ? answer : CUSOLVER_STATUS_INVALID_VALUE;            \
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
