/* The runtime's functions as they are written by hand in cudart/: the names of the list with sim_ in
 * front. The types are ours (cudart_types.h), or a toolkit's where VS_ABI_TOOLKIT is 1: so does tests/abi
 * compare them. */
#ifndef VS_SIMCUDA_ABI_CUDART_H
#define VS_SIMCUDA_ABI_CUDART_H

#if defined(VS_ABI_TOOLKIT) && VS_ABI_TOOLKIT
#include <cuda_runtime_api.h>
#else
#include "faces/simcuda/abi/cudart_types.h"
#endif

#include "faces/simcuda/abi/declare.h"
#include "faces/simcuda/abi/cudart_names.def"
#include "faces/simcuda/abi/declared.h"

#endif
