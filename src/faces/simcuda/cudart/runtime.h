/* The beginning and end of every call of the runtime.
 *
 *   cudaError_t sim_cudaX(type *out, ...) {
 *     if (out == NULL) return vs_rt_answer(VS_SIM_INVALID_VALUE);
 *     vs_rt rt;
 *     if (!vs_rt_enter(&rt)) return rt.failure;            the device is ready, the simulation is locked
 *     return vs_rt_leave(vs_sim_x(rt.sim, ...));           unlocked; the error is stored for cudaGetLastError
 *   }
 *
 * or, if the call is one expression, VS_RT_CALL(vs_sim_x(rt.sim, ...)).
 *
 * Errors of device/sim are the runtime's numbers. cudaErrorNotReady is an answer, not a failure, and is not
 * stored. */
#ifndef VS_SIMCUDA_RUNTIME_H
#define VS_SIMCUDA_RUNTIME_H

#include "faces/simcuda/abi/cudart.h"
#include "faces/simcuda/core/shared_calls.h"
#include "faces/simcuda/core/process.h"

/* Errors that only the runtime has. */
enum {
  VS_RT_INVALID_CONFIGURATION = 9,
  VS_RT_INVALID_PITCH = 12,
  VS_RT_INVALID_SYMBOL = 13,
  VS_RT_INVALID_DIRECTION = 21,
};

/* Ends a call: stores a failure as the thread's last error. */
static inline cudaError_t vs_rt_answer(vs_sim_error error) {
  if (error != VS_SIM_OK && error != VS_SIM_NOT_READY) vs_simcuda_this_thread()->last_error = (int)error;
  return (cudaError_t)error;
}

typedef struct vs_rt {
  vs_simcuda_thread *thread;
  vs_sim *sim;
  uint32_t device; /* the thread's current device */
  cudaError_t failure;
} vs_rt;

/* The current device of this thread, whose context is made and current. Does not lock. */
VS_MUST_CHECK vs_sim_error vs_rt_use(vs_rt *rt);
/* The same, and locks. false: rt->failure is the call's result, and nothing is locked. */
VS_MUST_CHECK bool vs_rt_enter(vs_rt *rt);
/* Like enter, for calls that do not need the device. */
VS_MUST_CHECK bool vs_rt_look(vs_rt *rt);
/* The ways to release the lock (core/process.h), and the call's result. */
static inline cudaError_t vs_rt_leave(vs_sim_error error) { return vs_rt_answer(vs_simcuda_leave(error)); }
static inline cudaError_t vs_rt_leave_synchronized(vs_sim_error error) {
  return vs_rt_answer(vs_simcuda_leave_synchronized(error));
}
static inline cudaError_t vs_rt_leave_query(vs_sim_error error) {
  return vs_rt_answer(vs_simcuda_leave_query(error));
}

/* The body of a call that is one expression: VS_RT_CALL if it needs the device, VS_RT_LOOK if not. `call` is
 * evaluated between enter (or look) and leave, and may read `rt`; both macros return. */
#define VS_RT_CALL(call)                      \
  do {                                        \
    vs_rt rt;                                 \
    if (!vs_rt_enter(&rt)) return rt.failure; \
    return vs_rt_leave(call);                 \
  } while (0)
#define VS_RT_LOOK(call)                     \
  do {                                       \
    vs_rt rt;                                \
    if (!vs_rt_look(&rt)) return rt.failure; \
    return vs_rt_leave(call);                \
  } while (0)

/* Handles are pointers in C and numbers in device/sim. */
#define VS_RT_NUMBER(handle)       ((uint64_t)(uintptr_t)(handle))
#define VS_RT_HANDLE(type, number) ((type)(uintptr_t)(number))
/* The place where a handle is written, or a list of handles: handles and numbers both have eight bytes. */
#define VS_RT_NUMBERS(handles) ((uint64_t *)(void *)(handles))
_Static_assert(sizeof(cudaGraphNode_t) == sizeof(uint64_t), "handles are numbers");

/* Whether this is the number of a visible device. */
static inline bool vs_rt_is_device(int device) {
  return device >= 0 && (uint32_t)device < vs_simcuda_device_count();
}

#endif
