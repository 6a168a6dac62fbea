/* Generators of random numbers. They generate none: numbers "generated" on the device read as zeros. Only the
 * memory of their states matters, which cuRAND allocates at the first use. */
#include "faces/simcuda/abi/curand.h"
#include "faces/simcuda/core/objects.h"

#define TAG_GENERATOR VS_TAG('r', 'a', 'n', 'd')

struct curandGenerator_st {
  vs_object object;
  curandRngType_t type;
  uint32_t device;
  uint64_t stream;
  uint64_t states; /* device memory; 0 before the first generation */
  bool is_quasi;
};

static vs_shelf generators = VS_SHELF(TAG_GENERATOR, struct curandGenerator_st);

static bool is_generator(curandGenerator_t generator) { return vs_object_is(generator, TAG_GENERATOR); }

static bool is_type(curandRngType_t type) {
  switch ((int)type) {
    case CURAND_RNG_PSEUDO_DEFAULT:
    case CURAND_RNG_PSEUDO_XORWOW:
    case CURAND_RNG_PSEUDO_MRG32K3A:
    case CURAND_RNG_PSEUDO_MTGP32:
    case CURAND_RNG_PSEUDO_MT19937:
    case CURAND_RNG_PSEUDO_PHILOX4_32_10:
    case CURAND_RNG_QUASI_DEFAULT:
    case CURAND_RNG_QUASI_SOBOL32:
    case CURAND_RNG_QUASI_SCRAMBLED_SOBOL32:
    case CURAND_RNG_QUASI_SOBOL64:
    case CURAND_RNG_QUASI_SCRAMBLED_SOBOL64: return true;
    default: return false;
  }
}

/* Bytes of one state, for generators with an array of states, one for each thread of a launch. */
static uint64_t state_bytes(curandRngType_t type) {
  switch ((int)type) {
    case CURAND_RNG_PSEUDO_PHILOX4_32_10: return 64;
    case CURAND_RNG_PSEUDO_MRG32K3A: return 72;
    case CURAND_RNG_PSEUDO_MTGP32:
    case CURAND_RNG_PSEUDO_MT19937: return 2560; /* 624 words and the rest of the state, for each group */
    default: return 48;
  }
}

curandStatus_t sim_curandCreateGenerator(curandGenerator_t *generator, curandRngType_t type) {
  if (generator == NULL) return CURAND_STATUS_NOT_INITIALIZED;
  if (!is_type(type)) return CURAND_STATUS_TYPE_ERROR;
  if (vs_begin_library() != VS_SIM_OK) return CURAND_STATUS_INITIALIZATION_FAILED;
  curandGenerator_t made = vs_shelf_take(&generators);
  if (made == NULL) return CURAND_STATUS_ALLOCATION_FAILED;
  made->type = type;
  made->is_quasi = (int)type >= CURAND_RNG_QUASI_DEFAULT;
  made->device = vs_simcuda_this_thread()->device;
  *generator = made;
  return CURAND_STATUS_SUCCESS;
}

/* Numbers generated on the host would be used by the program, so they would have to be real; refused. */
curandStatus_t sim_curandCreateGeneratorHost(curandGenerator_t *generator, curandRngType_t type) {
  (void)generator, (void)type;
  vs_simcuda_not_simulated("cuRAND", "curandCreateGeneratorHost");
  return CURAND_STATUS_INTERNAL_ERROR;
}

curandStatus_t sim_curandDestroyGenerator(curandGenerator_t generator) {
  if (!is_generator(generator)) return CURAND_STATUS_NOT_INITIALIZED;
  vs_sim *sim = generator->states != 0 ? vs_simcuda_lock() : NULL;
  if (sim != NULL) {
    (void)!vs_sim_free(sim, generator->states, NULL);
    vs_simcuda_unlock();
  }
  (void)vs_shelf_put_back(&generators, generator);
  return CURAND_STATUS_SUCCESS;
}

/* ---- settings */

curandStatus_t sim_curandSetStream(curandGenerator_t generator, cudaStream_t stream) {
  if (!is_generator(generator)) return CURAND_STATUS_NOT_INITIALIZED;
  generator->stream = (uintptr_t)stream;
  return CURAND_STATUS_SUCCESS;
}

curandStatus_t sim_curandSetPseudoRandomGeneratorSeed(curandGenerator_t generator, unsigned long long seed) {
  (void)seed;
  if (!is_generator(generator)) return CURAND_STATUS_NOT_INITIALIZED;
  return generator->is_quasi ? CURAND_STATUS_TYPE_ERROR : CURAND_STATUS_SUCCESS;
}

curandStatus_t sim_curandSetGeneratorOffset(curandGenerator_t generator, unsigned long long offset) {
  (void)offset;
  return is_generator(generator) ? CURAND_STATUS_SUCCESS : CURAND_STATUS_NOT_INITIALIZED;
}

curandStatus_t sim_curandSetGeneratorOrdering(curandGenerator_t generator, curandOrdering_t order) {
  (void)order;
  return is_generator(generator) ? CURAND_STATUS_SUCCESS : CURAND_STATUS_NOT_INITIALIZED;
}

curandStatus_t sim_curandSetQuasiRandomGeneratorDimensions(curandGenerator_t generator,
                                                           unsigned int dimensions) {
  enum { MOST_DIMENSIONS = 20000 };
  if (!is_generator(generator)) return CURAND_STATUS_NOT_INITIALIZED;
  if (!generator->is_quasi) return CURAND_STATUS_TYPE_ERROR;
  return dimensions >= 1 && dimensions <= MOST_DIMENSIONS ? CURAND_STATUS_SUCCESS
                                                          : CURAND_STATUS_OUT_OF_RANGE;
}

static const int version[] = {10, 4, 0};

curandStatus_t sim_curandGetVersion(int *to) {
  if (to == NULL) return CURAND_STATUS_OUT_OF_RANGE;
  *to = version[0] * 1000 + version[1] * 100 + version[2];
  return CURAND_STATUS_SUCCESS;
}

curandStatus_t sim_curandGetProperty(libraryPropertyType type, int *value) {
  if (value == NULL || (unsigned)type > PATCH_LEVEL) return CURAND_STATUS_OUT_OF_RANGE;
  *value = version[(unsigned)type];
  return CURAND_STATUS_SUCCESS;
}

/* ---- work */

/* Not documented; here, the states of a launch that fills half of the device's threads. */
static curandStatus_t take_states(curandGenerator_t generator) {
  const vs_sim_figures *figures = vs_simcuda_figures(generator->device);
  if (figures == NULL) return CURAND_STATUS_INITIALIZATION_FAILED;
  const uint64_t threads = (uint64_t)figures->sm_count * figures->threads_per_sm / 2;
  const bool is_by_group = state_bytes(generator->type) > 1024;
  const uint64_t bytes = state_bytes(generator->type) * (is_by_group ? 200 : threads);
  vs_simcuda_charge(VS_SIM_ACCOUNT_CURAND);
  vs_sim *sim = vs_simcuda_lock();
  if (sim == NULL) return CURAND_STATUS_INITIALIZATION_FAILED;
  const vs_sim_error error = vs_sim_alloc(sim, generator->device, bytes, &generator->states);
  vs_simcuda_unlock();
  if (error != VS_SIM_OK) return CURAND_STATUS_ALLOCATION_FAILED;
  vs_simcuda_guess(
      "curand_states", bytes,
      "cuRAND does not document the memory of a generator's states; one state for every second thread of the "
      "device was taken (200 for the Mersenne twisters)");
  return CURAND_STATUS_SUCCESS;
}

/* Normally distributed numbers are generated in pairs, so the count must be even. Quasi-random numbers come in
 * rows of all dimensions, which is not checked. */
static curandStatus_t generate(curandGenerator_t generator, const void *to, size_t count, bool is_paired) {
  if (!is_generator(generator)) return CURAND_STATUS_NOT_INITIALIZED;
  if (to == NULL && count != 0) return CURAND_STATUS_OUT_OF_RANGE;
  if (is_paired && !generator->is_quasi && count % 2 != 0) return CURAND_STATUS_LENGTH_NOT_MULTIPLE;
  if (generator->states == 0) {
    const curandStatus_t status = take_states(generator);
    if (status != CURAND_STATUS_SUCCESS) return status;
  }
  return vs_simcuda_work_on(generator->stream, VS_SIMCUDA_KERNEL) == VS_SIM_OK ? CURAND_STATUS_SUCCESS
                                                                               : CURAND_STATUS_LAUNCH_FAILURE;
}

curandStatus_t sim_curandGenerateSeeds(curandGenerator_t generator) {
  return generate(generator, NULL, 0, false);
}
curandStatus_t sim_curandGenerate(curandGenerator_t generator, unsigned int *to, size_t count) {
  return generate(generator, to, count, false);
}
curandStatus_t sim_curandGenerateLongLong(curandGenerator_t generator, unsigned long long *to, size_t count) {
  if (is_generator(generator) && (int)generator->type != CURAND_RNG_QUASI_SOBOL64 &&
      (int)generator->type != CURAND_RNG_QUASI_SCRAMBLED_SOBOL64)
    return CURAND_STATUS_TYPE_ERROR; /* as documented: only these have 64 bits */
  return generate(generator, to, count, false);
}
curandStatus_t sim_curandGenerateUniform(curandGenerator_t generator, float *to, size_t count) {
  return generate(generator, to, count, false);
}
curandStatus_t sim_curandGenerateUniformDouble(curandGenerator_t generator, double *to, size_t count) {
  return generate(generator, to, count, false);
}

#define PAIRED(Name, type)                                                                                \
  curandStatus_t sim_curandGenerate##Name(curandGenerator_t generator, type *to, size_t count, type mean, \
                                          type deviation) {                                               \
    (void)mean, (void)deviation;                                                                          \
    return generate(generator, to, count, true);                                                          \
  }
PAIRED(Normal, float)
PAIRED(NormalDouble, double)
PAIRED(LogNormal, float)
PAIRED(LogNormalDouble, double)

curandStatus_t sim_curandGeneratePoisson(curandGenerator_t generator, unsigned int *to, size_t count,
                                         double lambda) {
  return lambda > 0 && lambda < 400000 ? generate(generator, to, count, false) : CURAND_STATUS_OUT_OF_RANGE;
}
