/* The limits of a context (cudaDeviceSetLimit, cuCtxSetLimit), one set for each visible device. The driver and
 * the runtime share them and use the same numbers. */
#ifndef VS_SIMCUDA_LIMITS_H
#define VS_SIMCUDA_LIMITS_H

#include "faces/simcuda/core/process.h"

typedef enum vs_simcuda_limit {
  VS_SIMCUDA_LIMIT_STACK = 0,      /* bytes per thread of a kernel */
  VS_SIMCUDA_LIMIT_PRINTF = 1,     /* bytes of the buffer that kernels print into */
  VS_SIMCUDA_LIMIT_HEAP = 2,       /* bytes of the heap that kernels allocate from */
  VS_SIMCUDA_LIMIT_SYNC_DEPTH = 3, /* removed from newer drivers */
  VS_SIMCUDA_LIMIT_PENDING_LAUNCHES = 4,
  VS_SIMCUDA_LIMIT_L2_FETCH = 5,
  VS_SIMCUDA_LIMIT_PERSISTING_L2 = 6,
  VS_SIMCUDA_LIMIT_COUNT,
} vs_simcuda_limit;

/* The error for a limit that a device does not have (CUDA_ERROR_UNSUPPORTED_LIMIT, cudaErrorUnsupportedLimit). */
#define VS_SIMCUDA_UNSUPPORTED_LIMIT ((vs_sim_error)215)

/* A larger stack takes memory of the card for every thread that can be resident, and keeps it; a context already
 * includes 1 KiB per thread. A larger heap takes its bytes above the default when it is set. Fails:
 * VS_SIMCUDA_UNSUPPORTED_LIMIT, VS_SIM_INVALID_DEVICE, VS_SIM_OUT_OF_MEMORY */
VS_SIMCUDA_API vs_sim_error vs_simcuda_limit_get(uint32_t device, uint32_t limit, uint64_t *value);
VS_SIMCUDA_API vs_sim_error vs_simcuda_limit_set(uint32_t device, uint32_t limit, uint64_t value);

#endif
