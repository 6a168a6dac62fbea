/* cuRAND: the types and the functions written by hand. */
#ifndef VS_SIMCUDA_ABI_CURAND_H
#define VS_SIMCUDA_ABI_CURAND_H

#include "faces/simcuda/abi/math_types.h"

#if VS_ABI_TOOLKIT
#include <curand.h>
#else
typedef enum curandStatus {
  CURAND_STATUS_SUCCESS = 0,
  CURAND_STATUS_VERSION_MISMATCH = 100,
  CURAND_STATUS_NOT_INITIALIZED = 101,
  CURAND_STATUS_ALLOCATION_FAILED = 102,
  CURAND_STATUS_TYPE_ERROR = 103,
  CURAND_STATUS_OUT_OF_RANGE = 104,
  CURAND_STATUS_LENGTH_NOT_MULTIPLE = 105,
  CURAND_STATUS_LAUNCH_FAILURE = 201,
  CURAND_STATUS_INITIALIZATION_FAILED = 203,
  CURAND_STATUS_INTERNAL_ERROR = 999
} curandStatus_t;

typedef enum curandRngType {
  CURAND_RNG_PSEUDO_DEFAULT = 100,
  CURAND_RNG_PSEUDO_XORWOW = 101,
  CURAND_RNG_PSEUDO_MRG32K3A = 121,
  CURAND_RNG_PSEUDO_MTGP32 = 141,
  CURAND_RNG_PSEUDO_MT19937 = 142,
  CURAND_RNG_PSEUDO_PHILOX4_32_10 = 161,
  CURAND_RNG_QUASI_DEFAULT = 200,
  CURAND_RNG_QUASI_SOBOL32 = 201,
  CURAND_RNG_QUASI_SCRAMBLED_SOBOL32 = 202,
  CURAND_RNG_QUASI_SOBOL64 = 203,
  CURAND_RNG_QUASI_SCRAMBLED_SOBOL64 = 204
} curandRngType_t;
typedef enum curandOrdering {
  CURAND_ORDERING_PSEUDO_BEST = 100,
  CURAND_ORDERING_QUASI_DEFAULT = 201
} curandOrdering_t;
typedef struct curandGenerator_st *curandGenerator_t;
#endif

curandStatus_t sim_curandCreateGenerator(curandGenerator_t *generator, curandRngType_t type);
curandStatus_t sim_curandCreateGeneratorHost(curandGenerator_t *generator, curandRngType_t type);
curandStatus_t sim_curandDestroyGenerator(curandGenerator_t generator);
curandStatus_t sim_curandGetVersion(int *to);
curandStatus_t sim_curandGetProperty(libraryPropertyType type, int *value);
curandStatus_t sim_curandSetStream(curandGenerator_t generator, cudaStream_t stream);
curandStatus_t sim_curandSetPseudoRandomGeneratorSeed(curandGenerator_t generator, unsigned long long seed);
curandStatus_t sim_curandSetGeneratorOffset(curandGenerator_t generator, unsigned long long offset);
curandStatus_t sim_curandSetGeneratorOrdering(curandGenerator_t generator, curandOrdering_t order);
curandStatus_t sim_curandSetQuasiRandomGeneratorDimensions(curandGenerator_t generator,
                                                           unsigned int dimensions);
curandStatus_t sim_curandGenerateSeeds(curandGenerator_t generator);
curandStatus_t sim_curandGenerate(curandGenerator_t generator, unsigned int *to, size_t count);
curandStatus_t sim_curandGenerateLongLong(curandGenerator_t generator, unsigned long long *to, size_t count);
curandStatus_t sim_curandGenerateUniform(curandGenerator_t generator, float *to, size_t count);
curandStatus_t sim_curandGenerateUniformDouble(curandGenerator_t generator, double *to, size_t count);
curandStatus_t sim_curandGenerateNormal(curandGenerator_t generator, float *to, size_t count, float mean,
                                        float deviation);
curandStatus_t sim_curandGenerateNormalDouble(curandGenerator_t generator, double *to, size_t count,
                                              double mean, double deviation);
curandStatus_t sim_curandGenerateLogNormal(curandGenerator_t generator, float *to, size_t count, float mean,
                                           float deviation);
curandStatus_t sim_curandGenerateLogNormalDouble(curandGenerator_t generator, double *to, size_t count,
                                                 double mean, double deviation);
curandStatus_t sim_curandGeneratePoisson(curandGenerator_t generator, unsigned int *to, size_t count,
                                         double lambda);

#endif
