#define VS_FACE_REFUSAL 801
#include "faces/simcuda/core/trampoline.h"
#include "faces/simcuda/abi/driver_names.def"
VS_FACE_LIBRARY("CUDA driver")
