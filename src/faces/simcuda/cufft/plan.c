/* Plans of Fourier transforms. A plan is a small number. Its memory is its work area, device memory that cuFFT
 * allocates when the plan is made, unless automatic allocation is off.
 *
 * Only bounds of its size are documented: between once and eight times the complex values of all transforms. Here
 * it is once, with each length that has a prime factor above 127 (which cuFFT transforms by way of a longer one)
 * counted as the next power of two of its double. */
#include "faces/simcuda/abi/cufft.h"
#include "faces/simcuda/core/objects.h"

typedef struct plan {
  bool is_taken, is_made;
  bool allocates; /* the work area is ours */
  uint32_t device;
  uint64_t stream;
  uint64_t size, area; /* of the work area; area 0: none, or the program's */
  bool is_double;
} plan;

enum { MOST_PLANS = 1 << 20 };

static struct {
  plan *items;
  int count, capacity;
} plans;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards the table and all plans in it */

/* NULL if there is no such plan. The caller holds the lock. */
static plan *find(cufftHandle handle) {
  return handle >= 1 && handle <= plans.count && plans.items[handle - 1].is_taken ? &plans.items[handle - 1]
                                                                                  : NULL;
}

/* The lowest free number; 0 if out of memory. */
static cufftHandle new_plan(uint32_t device) {
  int i = 0;
  while (i < plans.count && plans.items[i].is_taken) i++;
  if (i == plans.capacity) {
    const int capacity = plans.capacity == 0 ? 64 : 2 * plans.capacity;
    plan *grown = capacity > MOST_PLANS ? NULL : realloc(plans.items, (size_t)capacity * sizeof *grown);
    if (grown == NULL) return 0;
    plans.items = grown;
    plans.capacity = capacity;
  }
  if (i == plans.count) plans.count++;
  plans.items[i] = (plan){.is_taken = true, .allocates = true, .device = device};
  return i + 1;
}

static void give_back(plan *of) {
  if (of->area == 0) return;
  vs_sim *sim = vs_simcuda_lock();
  if (sim != NULL) {
    (void)!vs_sim_free(sim, of->area, NULL);
    vs_simcuda_unlock();
  }
  of->area = 0;
}

cufftResult sim_cufftCreate(cufftHandle *handle) {
  if (handle == NULL) return CUFFT_INVALID_VALUE;
  if (vs_begin_library() != VS_SIM_OK) return CUFFT_SETUP_FAILED;
  pthread_mutex_lock(&lock);
  const cufftHandle made = new_plan(vs_simcuda_this_thread()->device);
  pthread_mutex_unlock(&lock);
  if (made == 0) return CUFFT_ALLOC_FAILED;
  *handle = made;
  return CUFFT_SUCCESS;
}

cufftResult sim_cufftDestroy(cufftHandle handle) {
  pthread_mutex_lock(&lock);
  plan *of = find(handle);
  if (of != NULL) {
    give_back(of);
    of->is_taken = false;
  }
  pthread_mutex_unlock(&lock);
  return of != NULL ? CUFFT_SUCCESS : CUFFT_INVALID_PLAN;
}

/* ---- sizes */

/* One transform: its lengths, batch and type. */
typedef struct transform {
  int rank;
  uint64_t lengths[3];
  uint64_t batch;
  uint64_t complex_bytes; /* of one value: 4, 8, 16 */
  bool is_real;           /* real on one side: the last length is halved */
} transform;

/* What an H100 with CUDA 13.0 answered for 1,035 plans (tests/gpu/facts.py, part transforms): a transform needs no work area while
 * no length is above 16,384, and longer ones a copy of their complex values. Exceptions are lengths with a prime factor above 127,
 * in real transforms or above 4,096, for which five copies are near the most that was measured, and the last length of real transforms,
 * which needs a copy unless it is small or a power of two. */
enum {
  MOST_WITHOUT_AREA = 16384,
  MOST_REAL_WITHOUT_AREA = 128,
  LARGEST_FACTOR = 127,
  MOST_PRIME = 4096,
  PRIME_COPIES = 5
};

/* A real length that is no power of two and needed no work area. */
#define REAL_WITHOUT_AREA 1000

static bool is_smooth(uint64_t length) {
  for (uint64_t factor = 2; factor <= LARGEST_FACTOR; factor++)
    while (length % factor == 0) length /= factor;
  return length == 1;
}

static bool real_needs_area(uint64_t length) {
  return length > MOST_REAL_WITHOUT_AREA && length != REAL_WITHOUT_AREA && (length & (length - 1)) != 0;
}

typedef struct work_area {
  uint64_t bytes;
  uint64_t most; /* the documented bound; UINT64_MAX if it exceeds 64 bits */
} work_area;

static cufftResult size_area(const transform *of, work_area *area) {
  enum { MOST_COPIES = 8 };
  uint64_t values = of->batch, copies = 0;
  for (int i = 0; i < of->rank; i++) {
    const uint64_t length = of->lengths[i];
    const bool is_halved = of->is_real && i == of->rank - 1;
    if (length == 0 || length > UINT64_C(1) << 40) return CUFFT_INVALID_SIZE;
    if (length > MOST_WITHOUT_AREA || (is_halved && real_needs_area(length)))
      copies = copies > 1 ? copies : 1;
    if ((of->is_real || length > MOST_PRIME) && !is_smooth(length)) copies = PRIME_COPIES;
    if (__builtin_mul_overflow(values, is_halved ? length / 2 + 1 : length, &values))
      return CUFFT_INVALID_SIZE;
  }
  if (__builtin_mul_overflow(values, copies * of->complex_bytes, &area->bytes)) return CUFFT_INVALID_SIZE;
  if (__builtin_mul_overflow(values, MOST_COPIES * of->complex_bytes, &area->most)) area->most = UINT64_MAX;
  return CUFFT_SUCCESS;
}

static cufftResult read_type(cufftType type, transform *to) {
  switch ((int)type) {
    case CUFFT_C2C: *to = (transform){.complex_bytes = 8}; break;
    case CUFFT_R2C:
    case CUFFT_C2R: *to = (transform){.complex_bytes = 8, .is_real = true}; break;
    case CUFFT_Z2Z: *to = (transform){.complex_bytes = 16}; break;
    case CUFFT_D2Z:
    case CUFFT_Z2D: *to = (transform){.complex_bytes = 16, .is_real = true}; break;
    default: return CUFFT_INVALID_TYPE;
  }
  return CUFFT_SUCCESS;
}

/* The kinds by their numbers: half is 2 and 6, single 0 and 4, double 1 and 5, bfloat16 14 and 15; complex is
 * the other. */
static cufftResult read_data_types(cudaDataType in, cudaDataType out, cudaDataType execution, transform *to) {
  const bool in_complex = in == CUDA_C_32F || in == CUDA_C_64F || in == CUDA_C_16F || in == CUDA_C_16BF;
  const bool out_complex = out == CUDA_C_32F || out == CUDA_C_64F || out == CUDA_C_16F || out == CUDA_C_16BF;
  if (!in_complex && !out_complex) return CUFFT_INVALID_TYPE;
  const uint32_t bits = vs_data_type_bits(in_complex ? in : out);
  if (bits == 0) return CUFFT_INVALID_TYPE;
  (void)execution;
  *to = (transform){.complex_bytes = bits / 8, .is_real = !(in_complex && out_complex)};
  return CUFFT_SUCCESS;
}

static cufftResult read_lengths(int rank, const long long *n, long long batch, transform *to) {
  if (rank < 1 || rank > 3 || n == NULL) return CUFFT_INVALID_VALUE;
  if (batch <= 0) return CUFFT_INVALID_SIZE;
  to->rank = rank;
  to->batch = (uint64_t)batch;
  for (int i = 0; i < rank; i++) {
    if (n[i] <= 0) return CUFFT_INVALID_SIZE;
    to->lengths[i] = (uint64_t)n[i];
  }
  return CUFFT_SUCCESS;
}

/* ---- making plans. Each public form is converted to a transform. */

/* The caller holds the lock. */
static cufftResult make(plan *of, const transform *what, size_t *size) {
  if (of->is_made) return CUFFT_INVALID_PLAN;
  work_area area = {0};
  const cufftResult status = size_area(what, &area);
  if (status != CUFFT_SUCCESS) return status;
  if (of->allocates && area.bytes != 0) {
    vs_simcuda_charge(VS_SIM_ACCOUNT_CUFFT);
    vs_sim *sim = vs_simcuda_lock();
    if (sim == NULL) return CUFFT_SETUP_FAILED;
    const vs_sim_error error = vs_sim_alloc(sim, of->device, area.bytes, &of->area);
    vs_simcuda_unlock();
    if (error != VS_SIM_OK) return CUFFT_ALLOC_FAILED;
  }
  of->is_made = true;
  of->size = area.bytes;
  of->is_double = what->complex_bytes == 16;
  if (size != NULL) *size = area.bytes;
  vs_simcuda_guess_below("cufft_work_area", area.bytes, area.most,
                         "cuFFT documents only bounds for the work area of a plan, once to eight times its "
                         "complex values; the rule was fitted to an H100 with CUDA 13.0");
  return CUFFT_SUCCESS;
}

static cufftResult make_plan(cufftHandle handle, const transform *what, size_t *size) {
  pthread_mutex_lock(&lock);
  plan *of = find(handle);
  const cufftResult status = of != NULL ? make(of, what, size) : CUFFT_INVALID_PLAN;
  pthread_mutex_unlock(&lock);
  return status;
}

static cufftResult estimate(cufftHandle none, const transform *what, size_t *size) {
  work_area area = {0};
  (void)none;
  const cufftResult status = size == NULL ? CUFFT_INVALID_VALUE : size_area(what, &area);
  if (status == CUFFT_SUCCESS) *size = area.bytes;
  return status;
}

static cufftResult get_size(cufftHandle handle, const transform *what, size_t *size) {
  pthread_mutex_lock(&lock);
  const bool is_plan = find(handle) != NULL;
  pthread_mutex_unlock(&lock);
  return is_plan ? estimate(handle, what, size) : CUFFT_INVALID_PLAN;
}

typedef cufftResult verb(cufftHandle handle, const transform *what, size_t *size);

static cufftResult with_type(verb *then, cufftHandle handle, int rank, const long long *n, cufftType type,
                             long long batch, size_t *size) {
  transform what;
  cufftResult status = read_type(type, &what);
  if (status == CUFFT_SUCCESS) status = read_lengths(rank, n, batch, &what);
  return status == CUFFT_SUCCESS ? then(handle, &what, size) : status;
}

static cufftResult with_type_int(verb *then, cufftHandle handle, int rank, const int *n, cufftType type,
                                 int batch, size_t *size) {
  long long wide[3] = {0};
  if (rank < 1 || rank > 3 || n == NULL) return CUFFT_INVALID_VALUE;
  for (int i = 0; i < rank; i++) wide[i] = n[i];
  return with_type(then, handle, rank, wide, type, batch, size);
}

#pragma GCC diagnostic ignored "-Wunused-parameter" /* strides and distances do not change the work area */

#define SIZED(Verb, then)                                                                                   \
  cufftResult sim_cufft##Verb##1d(cufftHandle handle, int nx, cufftType type, int batch, size_t *size) {    \
    return with_type(then, handle, 1, (const long long[]){nx}, type, batch, size);                          \
  }                                                                                                         \
  cufftResult sim_cufft##Verb##2d(cufftHandle handle, int nx, int ny, cufftType type, size_t *size) {       \
    return with_type(then, handle, 2, (const long long[]){nx, ny}, type, 1, size);                          \
  }                                                                                                         \
  cufftResult sim_cufft##Verb##3d(cufftHandle handle, int nx, int ny, int nz, cufftType type,               \
                                  size_t *size) {                                                           \
    return with_type(then, handle, 3, (const long long[]){nx, ny, nz}, type, 1, size);                      \
  }                                                                                                         \
  cufftResult sim_cufft##Verb##Many(cufftHandle handle, int rank, int *n, int *inembed, int istride,        \
                                    int idist, int *onembed, int ostride, int odist, cufftType type,        \
                                    int batch, size_t *size) {                                              \
    return with_type_int(then, handle, rank, n, type, batch, size);                                         \
  }                                                                                                         \
  cufftResult sim_cufft##Verb##Many64(cufftHandle handle, int rank, long long int *n,                       \
                                      long long int *inembed, long long int istride, long long int idist,   \
                                      long long int *onembed, long long int ostride, long long int odist,   \
                                      cufftType type, long long int batch, size_t *size) {                  \
    return with_type(then, handle, rank, n, type, batch, size);                                             \
  }                                                                                                         \
  cufftResult sim_cufftXt##Verb##Many(cufftHandle handle, int rank, long long int *n,                       \
                                      long long int *inembed, long long int istride, long long int idist,   \
                                      cudaDataType input_type, long long int *onembed,                      \
                                      long long int ostride, long long int odist, cudaDataType output_type, \
                                      long long int batch, size_t *size, cudaDataType execution_type) {     \
    transform what;                                                                                         \
    cufftResult status = read_data_types(input_type, output_type, execution_type, &what);                   \
    if (status == CUFFT_SUCCESS) status = read_lengths(rank, n, batch, &what);                              \
    return status == CUFFT_SUCCESS ? then(handle, &what, size) : status;                                    \
  }
SIZED(MakePlan, make_plan)
SIZED(GetSize, get_size)

cufftResult sim_cufftEstimate1d(int nx, cufftType type, int batch, size_t *size) {
  return with_type(estimate, 0, 1, (const long long[]){nx}, type, batch, size);
}
cufftResult sim_cufftEstimate2d(int nx, int ny, cufftType type, size_t *size) {
  return with_type(estimate, 0, 2, (const long long[]){nx, ny}, type, 1, size);
}
cufftResult sim_cufftEstimate3d(int nx, int ny, int nz, cufftType type, size_t *size) {
  return with_type(estimate, 0, 3, (const long long[]){nx, ny, nz}, type, 1, size);
}
cufftResult sim_cufftEstimateMany(int rank, int *n, int *inembed, int istride, int idist, int *onembed,
                                  int ostride, int odist, cufftType type, int batch, size_t *size) {
  return with_type_int(estimate, 0, rank, n, type, batch, size);
}

/* Creates and makes a plan in one call. */
static cufftResult plan_many(cufftHandle *handle, int rank, const int *n, cufftType type, int batch) {
  cufftResult status = sim_cufftCreate(handle);
  if (status != CUFFT_SUCCESS) return status;
  status = with_type_int(make_plan, *handle, rank, n, type, batch, NULL);
  if (status != CUFFT_SUCCESS) (void)sim_cufftDestroy(*handle);
  return status;
}

cufftResult sim_cufftPlan1d(cufftHandle *handle, int nx, cufftType type, int batch) {
  return plan_many(handle, 1, (const int[]){nx}, type, batch);
}
cufftResult sim_cufftPlan2d(cufftHandle *handle, int nx, int ny, cufftType type) {
  return plan_many(handle, 2, (const int[]){nx, ny}, type, 1);
}
cufftResult sim_cufftPlan3d(cufftHandle *handle, int nx, int ny, int nz, cufftType type) {
  return plan_many(handle, 3, (const int[]){nx, ny, nz}, type, 1);
}
cufftResult sim_cufftPlanMany(cufftHandle *handle, int rank, int *n, int *inembed, int istride, int idist,
                              int *onembed, int ostride, int odist, cufftType type, int batch) {
  return plan_many(handle, rank, n, type, batch);
}

/* ---- settings */

/* Executes `statement` with the plan `of` under the lock. */
#define WITH_PLAN(handle, statement) \
  pthread_mutex_lock(&lock);         \
  plan *of = find(handle);           \
  if (of != NULL) statement;         \
  pthread_mutex_unlock(&lock);       \
  return of != NULL ? CUFFT_SUCCESS : CUFFT_INVALID_PLAN

cufftResult sim_cufftSetStream(cufftHandle handle, cudaStream_t stream) {
  WITH_PLAN(handle, of->stream = (uintptr_t)stream);
}

/* Allowed only before the plan is made. */
cufftResult sim_cufftSetAutoAllocation(cufftHandle handle, int is_automatic) {
  WITH_PLAN(handle, of->allocates = is_automatic != 0);
}

/* The program's area replaces ours. */
cufftResult sim_cufftSetWorkArea(cufftHandle handle, void *area) { WITH_PLAN(handle, give_back(of)); }
cufftResult sim_cufftXtSetWorkArea(cufftHandle handle, void **areas) { WITH_PLAN(handle, give_back(of)); }

cufftResult sim_cufftXtSetWorkAreaPolicy(cufftHandle handle, cufftXtWorkAreaPolicy policy, size_t *size) {
  WITH_PLAN(handle, if (size != NULL) *size = of->size);
}

cufftResult sim_cufftGetSize(cufftHandle handle, size_t *size) {
  if (size == NULL) return CUFFT_INVALID_VALUE;
  WITH_PLAN(handle, *size = of->size);
}

cufftResult sim_cufftSetPlanPropertyInt64(cufftHandle handle, cufftProperty property,
                                          const long long int value) {
  WITH_PLAN(handle, (void)value);
}
cufftResult sim_cufftGetPlanPropertyInt64(cufftHandle handle, cufftProperty property, long long int *value) {
  if (value == NULL) return CUFFT_INVALID_VALUE;
  WITH_PLAN(handle, *value = 0);
}
cufftResult sim_cufftResetPlanProperty(cufftHandle handle, cufftProperty property) {
  WITH_PLAN(handle, (void)property);
}

#if VS_TOOLKIT >= 13
static const int version[] = {12, 2, 0};
#else
static const int version[] = {11, 3, 3};
#endif

cufftResult sim_cufftGetVersion(int *to) {
  if (to == NULL) return CUFFT_INVALID_VALUE;
  *to = version[0] * 1000 + version[1] * 100 + version[2];
  return CUFFT_SUCCESS;
}

cufftResult sim_cufftGetProperty(libraryPropertyType type, int *value) {
  if (value == NULL || (unsigned)type > PATCH_LEVEL) return CUFFT_INVALID_VALUE;
  *value = version[(unsigned)type];
  return CUFFT_SUCCESS;
}

/* ---- work */

static cufftResult execute(cufftHandle handle, const void *in, const void *out) {
  pthread_mutex_lock(&lock);
  const plan *of = find(handle);
  const bool is_ready = of != NULL && of->is_made;
  const uint64_t stream = is_ready ? of->stream : 0;
  pthread_mutex_unlock(&lock);
  if (!is_ready) return CUFFT_INVALID_PLAN;
  if (in == NULL || out == NULL) return CUFFT_INVALID_VALUE;
  return vs_simcuda_work_on(stream, VS_SIMCUDA_KERNEL) == VS_SIM_OK ? CUFFT_SUCCESS : CUFFT_EXEC_FAILED;
}

static bool is_direction(int direction) { return direction == -1 || direction == 1; }

cufftResult sim_cufftExecC2C(cufftHandle handle, cufftComplex *in, cufftComplex *out, int direction) {
  return is_direction(direction) ? execute(handle, in, out) : CUFFT_INVALID_VALUE;
}
cufftResult sim_cufftExecZ2Z(cufftHandle handle, cufftDoubleComplex *in, cufftDoubleComplex *out,
                             int direction) {
  return is_direction(direction) ? execute(handle, in, out) : CUFFT_INVALID_VALUE;
}
cufftResult sim_cufftExecR2C(cufftHandle handle, cufftReal *in, cufftComplex *out) {
  return execute(handle, in, out);
}
cufftResult sim_cufftExecC2R(cufftHandle handle, cufftComplex *in, cufftReal *out) {
  return execute(handle, in, out);
}
cufftResult sim_cufftExecD2Z(cufftHandle handle, cufftDoubleReal *in, cufftDoubleComplex *out) {
  return execute(handle, in, out);
}
cufftResult sim_cufftExecZ2D(cufftHandle handle, cufftDoubleComplex *in, cufftDoubleReal *out) {
  return execute(handle, in, out);
}
cufftResult sim_cufftXtExec(cufftHandle handle, void *in, void *out, int direction) {
  return execute(handle, in, out);
}
