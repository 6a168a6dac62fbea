/* Declarations of the functions of the driver that are written by hand, from the list of its names.
 *
 * VS_ABI_TOOLKIT takes the types from the toolkit's cuda.h instead (with __CUDA_API_VERSION_INTERNAL: all versions
 * of all functions), so that tests/abi can compare signatures. */
#ifndef VS_SIMCUDA_ABI_DRIVER_H
#define VS_SIMCUDA_ABI_DRIVER_H

#if defined(VS_ABI_TOOLKIT) && VS_ABI_TOOLKIT
#include <cuda.h>
#include <cudaProfiler.h>
#else
#include "device/abi/driver_types.h"
#endif

#include "faces/simcuda/abi/declare.h"
#include "faces/simcuda/abi/driver_names.def"
#include "faces/simcuda/abi/declared.h"

#endif
