/* cuSPARSELt: the types, and declarations of the functions of its list. Handles and descriptors are in the program's
 * memory, in structs of thousands of bytes whose size differs from release to release: only their beginning
 * is used. Enumerations are ints. */
#ifndef VS_SIMCUDA_ABI_CUSPARSELT_H
#define VS_SIMCUDA_ABI_CUSPARSELT_H

#include "faces/simcuda/abi/math_types.h"

#include "faces/simcuda/abi/declare.h"
#include "faces/simcuda/abi/cusparselt_names.def"
#include "faces/simcuda/abi/declared.h"

#endif
