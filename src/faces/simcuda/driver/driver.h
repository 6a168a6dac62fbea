/* Declarations that the files of the driver face share.
 *
 *   context.c   cuInit, contexts, the stack of each thread     device.c   devices and their properties
 *   memory.c    allocation, host memory, pointer attributes     vmm.c      reserved addresses and physical memory
 *   pool.c      stream-ordered allocation                       copy.c     copies and memsets; array.c: arrays
 *   stream.c    streams, events, values in memory               graph.c    captures and graphs
 *   module.c    images, functions, kernels, globals             launch.c   launches, occupancy
 *   entry.c     cuGetProcAddress, cuGetExportTable
 *
 * Every call that needs a context begins with vs_driver_lock and ends with vs_driver_done, or with
 * vs_driver_enter if it calls functions of the core that take the lock themselves. */
#ifndef VS_SIMCUDA_DRIVER_H
#define VS_SIMCUDA_DRIVER_H

#include "faces/simcuda/abi/driver.h"
#include "faces/simcuda/core/attributes.h"
#include "faces/simcuda/core/shared_calls.h"
#include "faces/simcuda/core/context.h"
#include "faces/simcuda/core/process.h"

/* The thread, context and device of a call. */
typedef struct vs_driver_at {
  vs_simcuda_thread *thread;
  uint32_t device; /* of the current context, visible numbering */
  vs_sim *sim;     /* locked; set by vs_driver_lock only */
} vs_driver_at;

/* Returns a failure of `expression` to the caller (VS_TRY for CUresult). */
#define VS_CU_TRY(expression)                                      \
  do {                                                             \
    const CUresult vs_cu_try_result = (CUresult)(expression);      \
    if (vs_cu_try_result != CUDA_SUCCESS) return vs_cu_try_result; \
  } while (0)

/* Checks that cuInit was called, or that the runtime has initialised the driver. Fails: NOT_INITIALIZED,
 * NO_DEVICE. */
CUresult vs_driver_begin(void);
/* Also checks that there is a current context, and makes its device's context. Fails also: INVALID_CONTEXT,
 * OUT_OF_MEMORY. */
CUresult vs_driver_enter(vs_driver_at *at);
/* Also locks the simulation, until vs_driver_done. */
CUresult vs_driver_lock(vs_driver_at *at);

/* For calls that need no context: the simulation, locked until vs_driver_done. */
CUresult vs_driver_lock_sim(vs_sim **sim);

/* The ways to release the lock (core/process.h). */
static inline CUresult vs_driver_done(vs_sim_error error) { return (CUresult)vs_simcuda_leave(error); }
static inline CUresult vs_driver_done_synchronized(vs_sim_error error) {
  return (CUresult)vs_simcuda_leave_synchronized(error);
}
static inline CUresult vs_driver_done_query(vs_sim_error error) {
  return (CUresult)vs_simcuda_leave_query(error);
}

/* The body of a call that is one expression: VS_CU_CALL if it needs a context, which `at` then has; VS_CU_LOOK
 * if it needs only `sim`. `call` is evaluated under the lock; both macros return. */
#define VS_CU_CALL(call)            \
  do {                              \
    vs_driver_at at;                \
    VS_CU_TRY(vs_driver_lock(&at)); \
    return vs_driver_done(call);    \
  } while (0)
#define VS_CU_LOOK(call)                 \
  do {                                   \
    vs_sim *sim;                         \
    VS_CU_TRY(vs_driver_lock_sim(&sim)); \
    return vs_driver_done(call);         \
  } while (0)

/* Returns INVALID_VALUE if an argument is invalid. */
#define VS_CU_NEED(condition)                          \
  do {                                                 \
    if (!(condition)) return CUDA_ERROR_INVALID_VALUE; \
  } while (0)

/* Whether `device` is one that the program can see. */
static inline bool vs_driver_is_device(CUdevice device) {
  return device >= 0 && (uint32_t)device < vs_simcuda_device_count();
}

#define VS_COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* The number that a handle is. */
static inline uint64_t vs_number(const void *handle) { return (uint64_t)(uintptr_t)handle; }
static inline void *vs_handle(uint64_t number) { return (void *)(uintptr_t)number; }
/* The place where a handle is written, or a list of handles: handles and numbers both have eight bytes. */
static inline uint64_t *vs_numbers(const void *handles) { return (uint64_t *)(uintptr_t)handles; }
_Static_assert(sizeof(CUgraphNode) == sizeof(uint64_t), "handles are numbers");

/* ---- contexts (context.c) */

/* Whether it is a primary context of a visible device, or a context that the program made and has not destroyed. */
bool vs_driver_is_context(CUcontext context);
/* Fails: INVALID_CONTEXT for a value that is no context; CONTEXT_IS_DESTROYED for a destroyed one. */
CUresult vs_driver_check(CUcontext context);
/* The calling thread's current context, NULL if it has none. */
CUcontext vs_driver_current(void);
/* Records that memory was allocated, or freed, while a context that the program made was current: destroying the
 * context frees its memory. Under the lock. */
vs_sim_error vs_driver_own(vs_driver_at *at, uint64_t address);

/* ---- arrays (array.c) */

/* An array as memory: rows of `pitch` bytes, `height` of them in each of `depth` layers. */
typedef struct vs_driver_array {
  uint64_t address;
  uint64_t pitch, height, depth;
  uint32_t element_bytes;
  CUDA_ARRAY3D_DESCRIPTOR descriptor;
} vs_driver_array;

/* NULL for a handle of no array. */
const vs_driver_array *vs_driver_array_find(CUarray array);

/* ---- functions (module.c) */

/* The known properties of a function; defaults for a function of the runtime, of which nothing is known here. */
typedef struct vs_driver_function {
  const char *name; /* NULL: unknown */
  uint32_t registers;
  uint64_t static_shared;
  uint64_t dynamic_shared; /* the limit that was set, else the default */
} vs_driver_function;

/* Fails: INVALID_HANDLE for NULL, or for a function of a module that was unloaded. */
CUresult vs_driver_function_find(CUfunction handle, vs_driver_function *out);

#endif
