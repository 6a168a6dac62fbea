/* Declarations of the functions of NVML that are written by hand, from the list of its names. */
#ifndef VS_SIMCUDA_ABI_NVML_H
#define VS_SIMCUDA_ABI_NVML_H

#include "device/abi/nvml_types.h"

/* Questions about a physical thing, such as its temperature: not supported, without a word, whatever the arguments. Real cards
 * answer many of them so, too, so that programs are used to it. */
nvmlReturn_t sim_nvml_unknown(void);

#include "faces/simcuda/abi/declare.h"
#include "faces/simcuda/abi/nvml_names.def"
#include "faces/simcuda/abi/declared.h"

#endif
