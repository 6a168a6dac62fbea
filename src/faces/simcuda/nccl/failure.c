/* Failures as NCCL's codes and as a sentence. */
#include "faces/simcuda/nccl/comm.h"

#include "base/text.h"
#include <pthread.h>

static char last_error[256]; /* one for the whole process, as in NCCL */
static pthread_mutex_t last_error_lock = PTHREAD_MUTEX_INITIALIZER;

ncclResult_t vs_nccl_fail(ncclResult_t result, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  (void)pthread_mutex_lock(&last_error_lock);
  vs_format_list(last_error, sizeof last_error, format, arguments);
  (void)pthread_mutex_unlock(&last_error_lock);
  va_end(arguments);
  return result;
}

ncclResult_t vs_nccl_fail_sim(vs_sim_error error, const char *name) {
  switch (error) {
    case VS_SIM_OUT_OF_MEMORY:
      return vs_nccl_fail(ncclUnhandledCudaError, "%s: out of memory on the simulated GPU", name);
    case VS_SIM_INVALID_VALUE:
      return vs_nccl_fail(ncclInvalidArgument, "%s: a buffer does not lie in memory of the simulated GPU",
                          name);
    default:
      return vs_nccl_fail(ncclUnhandledCudaError, "%s: CUDA error %d of the simulated GPU", name, (int)error);
  }
}

const char *sim_ncclGetErrorString(ncclResult_t result) {
  switch (result) {
    case ncclSuccess: return "no error";
    case ncclUnhandledCudaError: return "unhandled cuda error (simulated NCCL)";
    case ncclSystemError: return "unhandled system error (simulated NCCL)";
    case ncclInternalError: return "internal error (simulated NCCL)";
    case ncclInvalidArgument: return "invalid argument (simulated NCCL)";
    case ncclInvalidUsage: return "invalid usage (simulated NCCL)";
    case ncclRemoteError: return "remote process exited or there was a network error";
    case ncclInProgress: return "NCCL operation in progress";
    case ncclTimeout: return "operation timed out";
    default: return "unknown result code";
  }
}

const char *sim_ncclGetLastError(ncclComm_t comm) {
  (void)comm;
  return last_error;
}
