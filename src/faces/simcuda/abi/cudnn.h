/* cuDNN 9: declarations of the functions of its list, grouped as the files of the face are. The computations are rows of
 * cudnn_computes.def. */
#ifndef VS_SIMCUDA_ABI_CUDNN_H
#define VS_SIMCUDA_ABI_CUDNN_H

#include "faces/simcuda/abi/cudnn_types.h"

#include "faces/simcuda/abi/declare.h"
#include "faces/simcuda/abi/cudnn_names.def"
#include "faces/simcuda/abi/declared.h"

#endif
