#define VS_FACE_REFUSAL 15
#include "faces/simcuda/core/trampoline.h"
#include "faces/simcuda/cublas/names.def"
VS_FACE_LIBRARY("cuBLAS")
