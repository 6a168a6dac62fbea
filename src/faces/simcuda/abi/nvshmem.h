/* NVSHMEM: declarations of the functions of its list, which return no status. */
#ifndef VS_SIMCUDA_ABI_NVSHMEM_H
#define VS_SIMCUDA_ABI_NVSHMEM_H

#include <stddef.h>
#include <stdint.h>

#include "faces/simcuda/abi/declare.h"
#include "faces/simcuda/abi/nvshmem_names.def"
#include "faces/simcuda/abi/declared.h"

#endif
