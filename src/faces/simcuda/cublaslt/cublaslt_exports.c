#define VS_FACE_REFUSAL 15
#include "faces/simcuda/core/trampoline.h"
#include "faces/simcuda/abi/cublaslt_names.def"
VS_FACE_LIBRARY("cuBLASLt")
