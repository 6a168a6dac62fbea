/* Declarations that the files of the NVML face share. NVML counts the cards of the machine, whichever are visible
 * to the program, and only reads the machine: a query of GPUs does not use one. */
#ifndef VS_SIMCUDA_NVML_H
#define VS_SIMCUDA_NVML_H

#include "faces/simcuda/abi/nvml.h"
#include "faces/simcuda/core/attributes.h"
#include "faces/simcuda/core/process.h"

/* Returns a failure of `expression` to the caller. */
#define VS_NVML_TRY(expression)                                        \
  do {                                                                 \
    const nvmlReturn_t vs_nvml_try_result = (expression);              \
    if (vs_nvml_try_result != NVML_SUCCESS) return vs_nvml_try_result; \
  } while (0)

#define VS_NVML_NEED(condition)                           \
  do {                                                    \
    if (!(condition)) return NVML_ERROR_INVALID_ARGUMENT; \
  } while (0)

/* Checks that NVML was initialized (UNINITIALIZED) and that there is a machine (DRIVER_NOT_LOADED). */
nvmlReturn_t vs_nvml_begin(void);

/* A copy of a card's present state, and its number. Fails like vs_nvml_begin; INVALID_ARGUMENT for an invalid
 * handle. */
nvmlReturn_t vs_nvml_card(nvmlDevice_t device, vs_sim_card *card, uint32_t *number);
/* The handle of a card. */
nvmlDevice_t vs_nvml_handle(uint32_t card);

#endif
