/* The functions of the interface without handles that return values: they return zero and report that they are not
 * simulated. */
#include "faces/simcuda/abi/cublas.h"

#include "faces/simcuda/core/process.h"

#pragma GCC diagnostic ignored "-Wunused-parameter"

#define VS_FACE(result, name, arguments)       \
  result sim_##name arguments {                \
    static const result zero;                  \
    vs_simcuda_not_simulated("cuBLAS", #name); \
    return zero;                               \
  }
#include "faces/simcuda/abi/cublas_legacy.def"
