/* The computations: checks handle and arguments, and counts the work on the handle's stream. Nothing is computed. */
#include "faces/simcuda/cublas/handle.h"

#pragma GCC diagnostic ignored "-Wunused-parameter" /* unchecked parameters only complete the signature */

#define NOTHING               (void)0
#define ZEROS(to, size)       vs_result_zeros(to, size)
#define ONE(to, type, is_one) vs_result(to, &(const type){(is_one) ? 1 : 0}, sizeof(type))

#define VS_COMPUTE(name, arguments, laws, results)                   \
  cublasStatus_t sim_##name arguments {                              \
    if (!vs_cublas_is(handle)) return CUBLAS_STATUS_NOT_INITIALIZED; \
    if (!(laws)) return CUBLAS_STATUS_INVALID_VALUE;                 \
    const cublasStatus_t status = vs_cublas_work(handle);            \
    if (status == CUBLAS_STATUS_SUCCESS) results;                    \
    return status;                                                   \
  }
#include "faces/simcuda/abi/cublas_computes.def"
