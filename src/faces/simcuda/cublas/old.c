/* The old interface's functions that return values: zero, and a word that they are not simulated. */
#include "faces/simcuda/abi/cublas.h"

#include "faces/simcuda/core/world.h"

#pragma GCC diagnostic ignored "-Wunused-parameter"

#define VS_FACE(result, name, arguments)     \
  result sim_##name arguments {              \
    static const result zero;                \
    vs_world_not_simulated("cuBLAS", #name); \
    return zero;                             \
  }
#include "faces/simcuda/abi/cublas_old.def"
