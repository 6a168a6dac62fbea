#define VS_FACE_REFUSAL 9
#include "faces/simcuda/core/trampoline.h"
#include "faces/simcuda/cusolver/names.def"
VS_FACE_LIBRARY("cuSOLVER")
