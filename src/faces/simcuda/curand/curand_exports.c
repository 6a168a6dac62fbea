#define VS_FACE_REFUSAL 999
#include "faces/simcuda/core/trampoline.h"
#include "faces/simcuda/abi/curand_names.def"
VS_FACE_LIBRARY("cuRAND")
