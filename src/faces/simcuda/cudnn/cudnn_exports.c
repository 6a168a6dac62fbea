#define VS_FACE_REFUSAL 3000
#include "faces/simcuda/core/trampoline.h"
#include "faces/simcuda/abi/cudnn_names.def"
VS_FACE_LIBRARY("cuDNN")
