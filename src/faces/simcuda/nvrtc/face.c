#define VS_FACE_REFUSAL 11
#include "faces/simcuda/core/trampoline.h"
#include "faces/simcuda/nvrtc/names.def"
VS_FACE_LIBRARY("NVRTC")
