#define VS_FACE_REFUSAL 999
#include "faces/simcuda/core/trampoline.h"
#include "faces/simcuda/curand/names.def"
VS_FACE_LIBRARY("cuRAND")
