/* 5007 is "the platform is not supported" in the error struct that cuFile's functions return by value. */
#define VS_FACE_REFUSAL 5007
#include "faces/simcuda/core/trampoline.h"
#include "faces/simcuda/abi/cufile_names.def"
VS_FACE_LIBRARY("cuFile")
