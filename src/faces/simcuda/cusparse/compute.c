/* The computations: checks handle, descriptors and arguments, and counts the work on the handle's stream. Nothing
 * is computed. Also the sizes of their buffers. */
#include "faces/simcuda/cusparse/objects.h"
#include "faces/simcuda/cusparse/sizes.h"

#pragma GCC diagnostic ignored "-Wunused-parameter" /* unchecked parameters only complete the signature */

static cusparseStatus_t answer_bytes(size_t *to, uint64_t bytes) {
  vs_simcuda_guess(
      "cusparse_buffer", bytes,
      "cuSPARSE does not document the sizes of its buffers; what its methods need at least was counted");
  *to = bytes;
  return CUSPARSE_STATUS_SUCCESS;
}

static cusparseStatus_t answer_int(int *to, uint64_t bytes) {
  size_t wide = 0;
  if (bytes > INT32_MAX) return CUSPARSE_STATUS_INSUFFICIENT_RESOURCES;
  (void)answer_bytes(&wide, bytes);
  *to = (int)wide;
  return CUSPARSE_STATUS_SUCCESS;
}

static cusparseStatus_t answer_position(int *to, int position) {
  vs_result(to, &position, sizeof position);
  return CUSPARSE_STATUS_SUCCESS;
}

/* A step of a sparse product: returns the buffer size if the buffer is NULL, else counts the work. After the
 * second step the number of values of the result is set. */
static cusparseStatus_t answer_step(cusparseHandle_t handle, const struct cusparseSpMatDescr *a,
                                    const struct cusparseSpMatDescr *b, struct cusparseSpMatDescr *c,
                                    size_t *size, const void *buffer, bool is_last) {
  if (buffer == NULL) return answer_bytes(size, vs_size_of_product(a, b));
  if (vs_simcuda_work_on(handle->stream, VS_SIMCUDA_KERNEL) != VS_SIM_OK)
    return CUSPARSE_STATUS_EXECUTION_FAILED;
  if (!is_last) return CUSPARSE_STATUS_SUCCESS;
  c->nnz = (int64_t)vs_count_of_product(a, b);
  vs_simcuda_guess("cusparse_product", (uint64_t)c->nnz * (vs_data_type_bits(c->type) / 8 + 4),
                   "how many values a product of sparse matrices has, depends on where theirs lie; they were "
                   "taken to lie evenly");
  return CUSPARSE_STATUS_SUCCESS;
}

#define NOTHING                         (void)0
#define ZEROS(to, size)                 vs_result_zeros(to, size)
#define COUNT(to, value)                vs_result(to, &(const int){value}, sizeof(int))
#define BYTES(to, count)                answer_bytes(to, count)
#define INT_BYTES(to, count)            answer_int(to, count)
#define MINUS_ONE(to)                   answer_position(to, -1)
#define ESTIMATE(size, buffer, is_last) answer_step(handle, a, b, c, size, buffer, is_last)

#define VS_SIZE(name, arguments, laws, answer)                      \
  cusparseStatus_t sim_##name arguments {                           \
    if (!IS_HANDLE(handle)) return CUSPARSE_STATUS_NOT_INITIALIZED; \
    return (laws) ? (answer) : CUSPARSE_STATUS_INVALID_VALUE;       \
  }
#define VS_COMPUTE(name, arguments, laws, results)                          \
  cusparseStatus_t sim_##name arguments {                                   \
    if (!IS_HANDLE(handle)) return CUSPARSE_STATUS_NOT_INITIALIZED;         \
    if (!(laws)) return CUSPARSE_STATUS_INVALID_VALUE;                      \
    if (vs_simcuda_work_on(handle->stream, VS_SIMCUDA_KERNEL) != VS_SIM_OK) \
      return CUSPARSE_STATUS_EXECUTION_FAILED;                              \
    results;                                                                \
    return CUSPARSE_STATUS_SUCCESS;                                         \
  }
#include "faces/simcuda/abi/cusparse_computes.def"
