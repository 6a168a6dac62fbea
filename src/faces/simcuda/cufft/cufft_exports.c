#define VS_FACE_REFUSAL 16
#include "faces/simcuda/core/trampoline.h"
#include "faces/simcuda/abi/cufft_names.def"
VS_FACE_LIBRARY("cuFFT")
