/* NVSHMEM's calls that can fail return a number that is not 0. */
#define VS_FACE_REFUSAL 1
#include "faces/simcuda/core/trampoline.h"
#include "faces/simcuda/abi/nvshmem_names.def"
VS_FACE_LIBRARY("NVSHMEM")
