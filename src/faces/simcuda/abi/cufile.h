/* cuFile: declarations of the functions of its list. */
#ifndef VS_SIMCUDA_ABI_CUFILE_H
#define VS_SIMCUDA_ABI_CUFILE_H

#include <stddef.h>
#include <sys/types.h>

#include "faces/simcuda/abi/declare.h"
#include "faces/simcuda/abi/cufile_names.def"
#include "faces/simcuda/abi/declared.h"

#endif
