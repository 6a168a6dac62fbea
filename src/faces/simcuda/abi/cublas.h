/* cuBLAS: its types, and declarations of the functions of cublas_names.def. */
#ifndef VS_SIMCUDA_ABI_CUBLAS_H
#define VS_SIMCUDA_ABI_CUBLAS_H

#include "faces/simcuda/abi/cublas_types.h"

#include "faces/simcuda/abi/declare.h"
#include "faces/simcuda/abi/cublas_names.def"
#include "faces/simcuda/abi/declared.h"

#endif
