/* Contexts: the primary one of each device, those that programs make, and each thread's stack of them
 * (core/context.h).
 *
 * All contexts of a process on one device share one context's memory, which the first one takes. Memory that is
 * allocated while a context of the program's own is current is freed with it. A primary context stays until
 * it is reset, however often it is released, because the runtime may use it too. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "faces/simcuda/core/limits.h"
#include "faces/simcuda/driver/driver.h"

enum { MOST_CONTEXTS = 4096 };

typedef struct owned {
  uint64_t address;
  uint64_t id; /* of the range, because a later allocation may have the same address */
} owned;

typedef struct made_context {
  bool is_there;
  uint32_t device;
  uint32_t flags;
  owned *memory; /* under the simulation's lock */
  size_t count, capacity;
} made_context;

static atomic_bool is_initialized;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static made_context made[MOST_CONTEXTS]; /* is_there, device and flags under `lock` */
static uint32_t retained[VS_SIM_MAX_DEVICES], primary_flags[VS_SIM_MAX_DEVICES];

CUresult vs_driver_begin(void) {
  if (!atomic_load(&is_initialized)) {
    if (!vs_simcuda_has_begun()) return CUDA_ERROR_NOT_INITIALIZED;
    atomic_store(&is_initialized, true);
  }
  return (CUresult)vs_simcuda_begin();
}

CUresult sim_cuInit(unsigned int flags) {
  VS_CU_NEED(flags == 0);
  VS_CU_TRY(vs_simcuda_begin());
  if (vs_simcuda_device_count() == 0) return CUDA_ERROR_NO_DEVICE;
  atomic_store(&is_initialized, true);
  return CUDA_SUCCESS;
}

CUresult sim_cuDriverGetVersion(int *version) {
  VS_CU_NEED(version != NULL);
  *version = VS_SIMCUDA_DRIVER_VERSION;
  return CUDA_SUCCESS;
}

/* ---- recognising contexts */

static uint32_t made_number(CUcontext context) {
  VS_ASSERT(vs_number(context) >= VS_CONTEXT_MADE);
  return (uint32_t)((vs_number(context) - VS_CONTEXT_MADE) >> 16);
}

static bool looks_made(CUcontext context) {
  const uint64_t number = vs_number(context);
  return number >= VS_CONTEXT_MADE && number < VS_CONTEXT_MADE + ((uint64_t)MOST_CONTEXTS << 16) &&
         number % 256 == 0;
}

static CUcontext made_handle(uint32_t number) {
  VS_ASSERT(number < MOST_CONTEXTS && made[number].device < VS_SIM_MAX_DEVICES);
  return vs_handle(VS_CONTEXT_MADE + ((uint64_t)number << 16) + made[number].device * UINT64_C(256));
}

static bool is_primary(CUcontext context) {
  const uint32_t device = vs_context_device(context);
  return device < vs_simcuda_device_count() && vs_context_primary(device) == (void *)context;
}

bool vs_driver_is_context(CUcontext context) {
  if (is_primary(context)) return true;
  if (!looks_made(context)) return false;
  pthread_mutex_lock(&lock);
  const uint32_t number = made_number(context);
  const bool is = made[number].is_there && made_handle(number) == context;
  pthread_mutex_unlock(&lock);
  return is;
}

CUcontext vs_driver_current(void) {
  const vs_simcuda_thread *thread = vs_simcuda_this_thread();
  VS_ASSERT(thread->context_count <= VS_COUNT(thread->contexts));
  return thread->context_count == 0 ? NULL : thread->contexts[thread->context_count - 1];
}

/* Distinguishes a context that another thread destroyed while it was current here from a value that never was
 * one. */
CUresult vs_driver_check(CUcontext context) {
  if (context == NULL) return CUDA_ERROR_INVALID_CONTEXT;
  if (vs_driver_is_context(context)) return CUDA_SUCCESS;
  return looks_made(context) ? CUDA_ERROR_CONTEXT_IS_DESTROYED : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult vs_driver_enter(vs_driver_at *at) {
  VS_CU_TRY(vs_driver_begin());
  const CUcontext context = vs_driver_current();
  VS_CU_TRY(vs_driver_check(context));
  at->sim = NULL;
  at->thread = vs_simcuda_this_thread();
  at->device = at->thread->device = vs_context_device(context);
  VS_ASSERT(at->device < vs_simcuda_device_count());
  return (CUresult)vs_simcuda_use(at->device);
}

CUresult vs_driver_lock(vs_driver_at *at) {
  VS_CU_TRY(vs_driver_enter(at));
  at->sim = vs_simcuda_lock();
  return at->sim == NULL ? CUDA_ERROR_NOT_INITIALIZED : CUDA_SUCCESS;
}

CUresult vs_driver_lock_sim(vs_sim **sim) {
  VS_CU_TRY(vs_driver_begin());
  *sim = vs_simcuda_lock();
  return *sim == NULL ? CUDA_ERROR_NOT_INITIALIZED : CUDA_SUCCESS;
}

/* ---- memory owned by contexts of the program */

/* Removes entries whose memory has been freed. */
static void compact(vs_sim *sim, made_context *context) {
  size_t kept = 0;
  for (size_t i = 0; i < context->count; i++) {
    const vs_sim_range *range = vs_sim_find(sim, context->memory[i].address);
    if (range != NULL && range->id == context->memory[i].id) context->memory[kept++] = context->memory[i];
  }
  VS_ASSERT(kept <= context->count && context->count <= context->capacity);
  context->count = kept;
}

vs_sim_error vs_driver_own(vs_driver_at *at, uint64_t address) {
  const CUcontext current = vs_driver_current();
  if (!looks_made(current)) return VS_SIM_OK;
  made_context *context = &made[made_number(current)];
  if (context->count == context->capacity) compact(at->sim, context);
  if (context->count * 2 >= context->capacity) {
    const size_t capacity = context->capacity == 0 ? 64 : context->capacity * 2;
    owned *memory = realloc(context->memory, capacity * sizeof *memory);
    if (memory == NULL) {
      (void)!vs_sim_free(at->sim, address, NULL);
      return VS_SIM_OUT_OF_MEMORY;
    }
    context->memory = memory;
    context->capacity = capacity;
  }
  const vs_sim_range *range = vs_sim_find(at->sim, address);
  VS_ASSERT(range != NULL && context->count < context->capacity);
  context->memory[context->count++] = (owned){address, range->id};
  return VS_SIM_OK;
}

static void free_owned(made_context *context) {
  vs_sim *sim = vs_simcuda_lock();
  if (sim == NULL) return;
  compact(sim, context);
  for (size_t i = 0; i < context->count; i++) (void)!vs_sim_free(sim, context->memory[i].address, NULL);
  free(context->memory);
  context->memory = NULL;
  context->count = context->capacity = 0;
  vs_simcuda_unlock();
}

/* ---- creating and destroying */

static CUresult make(CUcontext *context, unsigned int flags, CUdevice device) {
  VS_CU_NEED(context != NULL && flags <= 0xff);
  VS_CU_TRY(vs_driver_begin());
  if (!vs_driver_is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
  vs_simcuda_thread *thread = vs_simcuda_this_thread();
  if (thread->context_count == VS_COUNT(thread->contexts)) return CUDA_ERROR_OUT_OF_MEMORY;
  VS_CU_TRY(vs_simcuda_use((uint32_t)device));
  pthread_mutex_lock(&lock);
  uint32_t number = 0;
  while (number < MOST_CONTEXTS && made[number].is_there) number++;
  if (number < MOST_CONTEXTS) {
    made[number].is_there = true;
    made[number].device = (uint32_t)device;
    made[number].flags = flags;
    *context = made_handle(number);
  }
  pthread_mutex_unlock(&lock);
  if (number == MOST_CONTEXTS) return CUDA_ERROR_OUT_OF_MEMORY;
  VS_ASSERT(looks_made(*context) && thread->context_count < VS_COUNT(thread->contexts));
  thread->contexts[thread->context_count++] = *context;
  thread->device = (uint32_t)device;
  return CUDA_SUCCESS;
}

CUresult sim_cuCtxCreate_v2(CUcontext *context, unsigned int flags, CUdevice device) {
  return make(context, flags, device);
}

CUresult sim_cuCtxCreate_v3(CUcontext *context, CUexecAffinityParam *affinity, int count, unsigned int flags,
                            CUdevice device) {
  if (affinity != NULL || count != 0) return CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY;
  return make(context, flags, device);
}

CUresult sim_cuCtxCreate_v4(CUcontext *context, CUctxCreateParams *parameters, unsigned int flags,
                            CUdevice device) {
  if (parameters != NULL &&
      (parameters->execAffinityParams != NULL || parameters->numExecAffinityParams != 0))
    return CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY;
  if (parameters != NULL && parameters->cigParams != NULL) {
    vs_simcuda_not_simulated("CUDA driver", "cuCtxCreate with a graphics context");
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  return make(context, flags, device);
}

/* Pops the thread's stack. The current device becomes that of the new top, or stays if the stack is empty. */
static CUcontext pop(vs_simcuda_thread *thread) {
  VS_ASSERT(thread->context_count != 0 && thread->context_count <= VS_COUNT(thread->contexts));
  const CUcontext top = thread->contexts[--thread->context_count];
  if (thread->context_count != 0)
    thread->device = vs_context_device(thread->contexts[thread->context_count - 1]);
  return top;
}

CUresult sim_cuCtxDestroy_v2(CUcontext context) {
  VS_CU_TRY(vs_driver_begin());
  if (!looks_made(context) || !vs_driver_is_context(context)) return CUDA_ERROR_INVALID_CONTEXT;
  vs_simcuda_thread *thread = vs_simcuda_this_thread();
  if (vs_driver_current() == context) pop(thread);
  made_context *ended = &made[made_number(context)];
  free_owned(ended);
  pthread_mutex_lock(&lock);
  ended->is_there = false;
  pthread_mutex_unlock(&lock);
  return CUDA_SUCCESS;
}

/* The interface from before CUDA 4: attaching counts, and the last detach destroys the context. */
CUresult sim_cuCtxAttach(CUcontext *context, unsigned int flags) {
  VS_CU_NEED(context != NULL && flags == 0);
  vs_driver_at at;
  VS_CU_TRY(vs_driver_enter(&at));
  *context = vs_driver_current();
  return CUDA_SUCCESS;
}

CUresult sim_cuCtxDetach(CUcontext context) {
  if (is_primary(context)) return CUDA_ERROR_INVALID_CONTEXT;
  return sim_cuCtxDestroy_v2(context);
}

/* ---- the stack */

CUresult sim_cuCtxGetCurrent(CUcontext *context) {
  VS_CU_NEED(context != NULL);
  VS_CU_TRY(vs_driver_begin());
  *context = vs_driver_current();
  return CUDA_SUCCESS;
}

CUresult sim_cuCtxSetCurrent(CUcontext context) {
  VS_CU_TRY(vs_driver_begin());
  vs_simcuda_thread *thread = vs_simcuda_this_thread();
  if (context == NULL) {
    if (thread->context_count != 0) pop(thread);
    return CUDA_SUCCESS;
  }
  VS_CU_TRY(vs_driver_check(context));
  if (thread->context_count == 0) thread->context_count = 1;
  thread->contexts[thread->context_count - 1] = context;
  thread->device = vs_context_device(context);
  return CUDA_SUCCESS;
}

CUresult sim_cuCtxPushCurrent_v2(CUcontext context) {
  VS_CU_TRY(vs_driver_begin());
  VS_CU_TRY(vs_driver_check(context));
  vs_simcuda_thread *thread = vs_simcuda_this_thread();
  if (thread->context_count == VS_COUNT(thread->contexts)) return CUDA_ERROR_OUT_OF_MEMORY;
  thread->contexts[thread->context_count++] = context;
  thread->device = vs_context_device(context);
  return CUDA_SUCCESS;
}

CUresult sim_cuCtxPopCurrent_v2(CUcontext *context) {
  VS_CU_TRY(vs_driver_begin());
  vs_simcuda_thread *thread = vs_simcuda_this_thread();
  if (thread->context_count == 0) return CUDA_ERROR_INVALID_CONTEXT;
  const CUcontext top = pop(thread);
  if (context != NULL) *context = top;
  return CUDA_SUCCESS;
}

/* ---- primary contexts */

CUresult sim_cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device) {
  VS_CU_NEED(context != NULL);
  VS_CU_TRY(vs_driver_begin());
  if (!vs_driver_is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
  VS_CU_TRY(vs_simcuda_use((uint32_t)device));
  pthread_mutex_lock(&lock);
  retained[device]++;
  pthread_mutex_unlock(&lock);
  *context = vs_context_primary((uint32_t)device);
  return CUDA_SUCCESS;
}

CUresult sim_cuDevicePrimaryCtxRelease_v2(CUdevice device) {
  VS_CU_TRY(vs_driver_begin());
  if (!vs_driver_is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
  pthread_mutex_lock(&lock);
  const bool was_retained = retained[device] != 0;
  if (was_retained) retained[device]--;
  pthread_mutex_unlock(&lock);
  return was_retained ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult sim_cuDevicePrimaryCtxReset_v2(CUdevice device) {
  VS_CU_TRY(vs_driver_begin());
  if (!vs_driver_is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
  return (CUresult)vs_simcuda_reset((uint32_t)device);
}

CUresult sim_cuDevicePrimaryCtxSetFlags_v2(CUdevice device, unsigned int flags) {
  VS_CU_NEED(flags <= 0xff);
  VS_CU_TRY(vs_driver_begin());
  if (!vs_driver_is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
  pthread_mutex_lock(&lock);
  primary_flags[device] = flags;
  pthread_mutex_unlock(&lock);
  return CUDA_SUCCESS;
}

CUresult sim_cuDevicePrimaryCtxGetState(CUdevice device, unsigned int *flags, int *active) {
  VS_CU_NEED(flags != NULL && active != NULL);
  VS_CU_TRY(vs_driver_begin());
  if (!vs_driver_is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
  pthread_mutex_lock(&lock);
  *flags = primary_flags[device];
  pthread_mutex_unlock(&lock);
  *active = vs_simcuda_is_used((uint32_t)device);
  return CUDA_SUCCESS;
}

/* ---- queries of the current context */

CUresult sim_cuCtxGetDevice(CUdevice *device) {
  VS_CU_NEED(device != NULL);
  VS_CU_TRY(vs_driver_begin());
  const CUcontext context = vs_driver_current();
  VS_CU_TRY(vs_driver_check(context));
  *device = (CUdevice)vs_context_device(context);
  return CUDA_SUCCESS;
}

CUresult sim_cuCtxGetDevice_v2(CUdevice *device, CUcontext context) {
  if (context == NULL) return sim_cuCtxGetDevice(device);
  VS_CU_NEED(device != NULL);
  VS_CU_TRY(vs_driver_begin());
  VS_CU_TRY(vs_driver_check(context));
  *device = (CUdevice)vs_context_device(context);
  return CUDA_SUCCESS;
}

/* The stored flags of a context. Under `lock`. */
static uint32_t *flags_of(CUcontext context) {
  return is_primary(context) ? &primary_flags[vs_context_device(context)] : &made[made_number(context)].flags;
}

CUresult sim_cuCtxGetFlags(unsigned int *flags) {
  VS_CU_NEED(flags != NULL);
  vs_driver_at at;
  VS_CU_TRY(vs_driver_enter(&at));
  pthread_mutex_lock(&lock);
  *flags = *flags_of(vs_driver_current());
  pthread_mutex_unlock(&lock);
  return CUDA_SUCCESS;
}

CUresult sim_cuCtxSetFlags(unsigned int flags) {
  VS_CU_NEED(flags <= 0xff);
  vs_driver_at at;
  VS_CU_TRY(vs_driver_enter(&at));
  pthread_mutex_lock(&lock);
  *flags_of(vs_driver_current()) = flags;
  pthread_mutex_unlock(&lock);
  return CUDA_SUCCESS;
}

CUresult sim_cuCtxGetId(CUcontext context, unsigned long long *id) {
  VS_CU_NEED(id != NULL);
  VS_CU_TRY(vs_driver_begin());
  if (context == NULL) context = vs_driver_current();
  VS_CU_TRY(vs_driver_check(context));
  *id = is_primary(context) ? 1 + vs_context_device(context) : 1 + VS_SIM_MAX_DEVICES + made_number(context);
  return CUDA_SUCCESS;
}

CUresult sim_cuCtxGetApiVersion(CUcontext context, unsigned int *version) {
  VS_CU_NEED(version != NULL);
  VS_CU_TRY(vs_driver_begin());
  VS_CU_TRY(vs_driver_check(context == NULL ? vs_driver_current() : context));
  *version = 3020; /* the last version that changed contexts */
  return CUDA_SUCCESS;
}

CUresult sim_cuCtxGetStreamPriorityRange(int *least, int *greatest) {
  vs_driver_at at;
  VS_CU_TRY(vs_driver_enter(&at));
  if (least != NULL) *least = VS_SIM_PRIORITY_LEAST;
  if (greatest != NULL) *greatest = VS_SIM_PRIORITY_GREATEST;
  return CUDA_SUCCESS;
}

/* ---- settings: those without effect on memory are accepted and not stored */

CUresult sim_cuCtxGetLimit(size_t *value, CUlimit limit) {
  VS_CU_NEED(value != NULL);
  vs_driver_at at;
  VS_CU_TRY(vs_driver_enter(&at));
  uint64_t is = 0;
  VS_CU_TRY(vs_simcuda_limit_get(at.device, (uint32_t)limit, &is));
  *value = is;
  return CUDA_SUCCESS;
}

CUresult sim_cuCtxSetLimit(CUlimit limit, size_t value) {
  vs_driver_at at;
  VS_CU_TRY(vs_driver_enter(&at));
  return (CUresult)vs_simcuda_limit_set(at.device, (uint32_t)limit, value);
}

CUresult sim_cuCtxGetCacheConfig(CUfunc_cache *config) {
  VS_CU_NEED(config != NULL);
  vs_driver_at at;
  VS_CU_TRY(vs_driver_enter(&at));
  *config = CU_FUNC_CACHE_PREFER_NONE;
  return CUDA_SUCCESS;
}

CUresult sim_cuCtxSetCacheConfig(CUfunc_cache config) {
  VS_CU_NEED((unsigned int)config <= 3);
  vs_driver_at at;
  return vs_driver_enter(&at);
}

CUresult sim_cuCtxGetSharedMemConfig(CUsharedconfig *config) {
  VS_CU_NEED(config != NULL);
  vs_driver_at at;
  VS_CU_TRY(vs_driver_enter(&at));
  *config = CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE;
  return CUDA_SUCCESS;
}

CUresult sim_cuCtxSetSharedMemConfig(CUsharedconfig config) {
  VS_CU_NEED((unsigned int)config <= 2);
  vs_driver_at at;
  return vs_driver_enter(&at);
}

CUresult sim_cuCtxResetPersistingL2Cache(void) {
  vs_driver_at at;
  return vs_driver_enter(&at);
}

/* ---- peers */

static CUresult peer(CUcontext context, vs_sim_error (*change)(vs_sim *sim, uint32_t device, uint32_t peer)) {
  VS_CU_TRY(vs_driver_begin());
  VS_CU_TRY(vs_driver_check(context));
  VS_CU_CALL(change(at.sim, at.device, vs_context_device(context)));
}

CUresult sim_cuCtxEnablePeerAccess(CUcontext context, unsigned int flags) {
  VS_CU_NEED(flags == 0);
  return peer(context, vs_sim_peer_enable);
}

CUresult sim_cuCtxDisablePeerAccess(CUcontext context) { return peer(context, vs_sim_peer_disable); }
