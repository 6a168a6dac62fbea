/* What the files of the NVML face share. NVML counts the cards of the machine, whatever a program made
 * visible for itself, and looks at the shared machine only: a process that asks about GPUs does not use one by that. */
#ifndef VS_SIMCUDA_NVML_H
#define VS_SIMCUDA_NVML_H

#include "faces/simcuda/abi/nvml.h"
#include "faces/simcuda/core/attributes.h"
#include "faces/simcuda/core/process.h"

/* Returns what went wrong to the caller, if something did. */
#define VS_NVML_TRY(expression)                                        \
  do {                                                                 \
    const nvmlReturn_t vs_nvml_try_result = (expression);              \
    if (vs_nvml_try_result != NVML_SUCCESS) return vs_nvml_try_result; \
  } while (0)

#define VS_NVML_NEED(condition)                           \
  do {                                                    \
    if (!(condition)) return NVML_ERROR_INVALID_ARGUMENT; \
  } while (0)

/* NVML was initialized (UNINITIALIZED), and there is a machine (DRIVER_NOT_LOADED). */
nvmlReturn_t vs_nvml_begin(void);

/* A card as it is now, and its number. Fails as begin; INVALID_ARGUMENT for a handle that is none. */
nvmlReturn_t vs_nvml_card(nvmlDevice_t device, vs_sim_card *card, uint32_t *number);
/* The handle of a card. */
nvmlDevice_t vs_nvml_handle(uint32_t card);

#endif
