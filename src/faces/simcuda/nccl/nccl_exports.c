#define VS_FACE_REFUSAL 5 /* ncclInvalidUsage */
#include "faces/simcuda/core/trampoline.h"
#include "faces/simcuda/abi/nccl_names.def"
VS_FACE_LIBRARY("NCCL")
