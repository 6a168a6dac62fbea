#define VS_FACE_REFUSAL 9
#include "faces/simcuda/core/trampoline.h"
#include "faces/simcuda/abi/cusolver_names.def"
VS_FACE_LIBRARY("cuSOLVER")
