#define VS_FACE_REFUSAL 11
#include "faces/simcuda/core/trampoline.h"
#include "faces/simcuda/abi/nvrtc_names.def"
VS_FACE_LIBRARY("NVRTC")
