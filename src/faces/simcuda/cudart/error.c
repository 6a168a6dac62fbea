/* Errors: each thread's last error, and the names and descriptions of all. */
#include "faces/simcuda/cudart/runtime.h"

cudaError_t sim_cudaGetLastError(void) {
  vs_simcuda_thread *thread = vs_simcuda_this_thread();
  const cudaError_t last = (cudaError_t)thread->last_error;
  thread->last_error = 0;
  return last;
}

cudaError_t sim_cudaPeekAtLastError(void) { return (cudaError_t)vs_simcuda_this_thread()->last_error; }

typedef struct error_row {
  const char *name, *text;
  int number;
} error_row;

static const error_row *find_error(cudaError_t error) {
  static const error_row rows[] = {
#define VS_CUDA_ERROR(name, number, text) {#name, text, number},
#include "faces/simcuda/abi/cudart_errors.def"
#undef VS_CUDA_ERROR
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (rows[i].number == (int)error) return &rows[i];
  return NULL;
}

const char *sim_cudaGetErrorName(cudaError_t error) {
  const error_row *row = find_error(error);
  return row == NULL ? "unrecognized error code" : row->name;
}

const char *sim_cudaGetErrorString(cudaError_t error) {
  const error_row *row = find_error(error);
  return row == NULL ? "unrecognized error code" : row->text;
}
