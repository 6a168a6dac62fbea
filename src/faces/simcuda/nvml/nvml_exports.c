#define VS_FACE_REFUSAL 3
#include "faces/simcuda/core/trampoline.h"
#include "faces/simcuda/abi/nvml_names.def"
VS_FACE_LIBRARY("NVML")
