/* The limits of a context (cudaDeviceSetLimit, cuCtxSetLimit), one set for each visible device, for driver
 * and runtime alike. Numbers as both have them. */
#ifndef VS_SIMCUDA_LIMITS_H
#define VS_SIMCUDA_LIMITS_H

#include "faces/simcuda/core/process.h"

typedef enum vs_simcuda_limit {
  VS_SIMCUDA_LIMIT_STACK = 0,      /* bytes for each thread of a kernel */
  VS_SIMCUDA_LIMIT_PRINTF = 1,     /* bytes for what kernels print */
  VS_SIMCUDA_LIMIT_HEAP = 2,       /* bytes for what kernels allocate */
  VS_SIMCUDA_LIMIT_SYNC_DEPTH = 3, /* gone from newer drivers */
  VS_SIMCUDA_LIMIT_PENDING_LAUNCHES = 4,
  VS_SIMCUDA_LIMIT_L2_FETCH = 5,
  VS_SIMCUDA_LIMIT_PERSISTING_L2 = 6,
  VS_SIMCUDA_LIMIT_COUNT,
} vs_simcuda_limit;

/* The number of a limit that a device does not have (CUDA_ERROR_UNSUPPORTED_LIMIT,
 * cudaErrorUnsupportedLimit). */
#define VS_SIMCUDA_UNSUPPORTED_LIMIT ((vs_sim_error)215)

/* A larger stack takes card memory for every thread that can be resident, and keeps it: 1 KiB of it is in
 * what a context costs. What the heap takes above its default is taken too, when it is set. Fails:
 * VS_SIMCUDA_UNSUPPORTED_LIMIT, VS_SIM_INVALID_DEVICE, VS_SIM_OUT_OF_MEMORY */
VS_SIMCUDA_API vs_sim_error vs_simcuda_limit_get(uint32_t device, uint32_t limit, uint64_t *value);
VS_SIMCUDA_API vs_sim_error vs_simcuda_limit_set(uint32_t device, uint32_t limit, uint64_t value);

#endif
