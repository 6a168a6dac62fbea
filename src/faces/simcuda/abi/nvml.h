/* Declarations of the functions of NVML that are written by hand, from the list of its names. */
#ifndef VS_SIMCUDA_ABI_NVML_H
#define VS_SIMCUDA_ABI_NVML_H

#include "device/abi/nvml_types.h"

/* Queries of a physical property, such as the temperature: return "not supported" without a message, whatever the
 * arguments. Real cards answer many of these queries in the same way, so programs handle it. */
nvmlReturn_t sim_nvml_unknown(void);

#include "faces/simcuda/abi/declare.h"
#include "faces/simcuda/abi/nvml_names.def"
#include "faces/simcuda/abi/declared.h"

#endif
