#define VS_FACE_REFUSAL 10
#include "faces/simcuda/core/trampoline.h"
#include "faces/simcuda/abi/cusparse_names.def"
VS_FACE_LIBRARY("cuSPARSE")
