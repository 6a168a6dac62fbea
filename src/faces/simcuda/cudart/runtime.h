/* What every call of the runtime does at its begin and end.
 *
 *   cudaError_t sim_cudaX(type *out, ...) {
 *     if (out == NULL) return vs_rt_answer(VS_SIM_INVALID_VALUE);
 *     vs_rt rt;
 *     if (!vs_rt_enter(&rt)) return rt.failure;            the device is ready, the world is locked
 *     return vs_rt_leave(vs_sim_x(rt.sim, ...));           unlocked; the error is kept for cudaGetLastError
 *   }
 *
 * or, where that is all, VS_RT_CALL(vs_sim_x(rt.sim, ...)).
 *
 * Errors of device/sim are the runtime's numbers. An answer that is no failure (cudaErrorNotReady) is not
 * kept. */
#ifndef VS_SIMCUDA_RUNTIME_H
#define VS_SIMCUDA_RUNTIME_H

#include "faces/simcuda/abi/cudart.h"
#include "faces/simcuda/core/shared_calls.h"
#include "faces/simcuda/core/process.h"

/* The errors that only the runtime has. */
enum {
  VS_RT_INVALID_CONFIGURATION = 9,
  VS_RT_INVALID_PITCH = 12,
  VS_RT_INVALID_SYMBOL = 13,
  VS_RT_INVALID_DIRECTION = 21,
};

/* The call ends with this: remembers a failure as the thread's last error. */
static inline cudaError_t vs_rt_answer(vs_sim_error error) {
  if (error != VS_SIM_OK && error != VS_SIM_NOT_READY) vs_simcuda_this_thread()->last_error = (int)error;
  return (cudaError_t)error;
}

typedef struct vs_rt {
  vs_simcuda_thread *thread;
  vs_sim *sim;
  uint32_t device; /* the thread's current one */
  cudaError_t failure;
} vs_rt;

/* The current device of this thread, with its context made and current; without the lock. */
VS_MUST_CHECK vs_sim_error vs_rt_use(vs_rt *rt);
/* The same, and locked. false: rt->failure is the call's answer, and nothing is locked. */
VS_MUST_CHECK bool vs_rt_enter(vs_rt *rt);
/* As enter, for calls that do not need the device. */
VS_MUST_CHECK bool vs_rt_look(vs_rt *rt);
/* The ways out of the lock (core/process.h), and the call's answer. */
static inline cudaError_t vs_rt_leave(vs_sim_error error) { return vs_rt_answer(vs_simcuda_leave(error)); }
static inline cudaError_t vs_rt_leave_synchronized(vs_sim_error error) {
  return vs_rt_answer(vs_simcuda_leave_synchronized(error));
}
static inline cudaError_t vs_rt_leave_query(vs_sim_error error) {
  return vs_rt_answer(vs_simcuda_leave_query(error));
}

/* The whole of a call that is one expression: VS_RT_CALL where it needs the device, VS_RT_LOOK where it does
 * not. `call` is made between enter (or look) and leave, and reads `rt`; these return. */
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

/* Handles, which C calls pointers and device/sim numbers. */
#define VS_RT_NUMBER(handle)       ((uint64_t)(uintptr_t)(handle))
#define VS_RT_HANDLE(type, number) ((type)(uintptr_t)(number))
/* Where one is written, and lists of them: both have eight bytes. */
#define VS_RT_NUMBERS(handles) ((uint64_t *)(void *)(handles))
_Static_assert(sizeof(cudaGraphNode_t) == sizeof(uint64_t), "handles are numbers");

/* Whether a number is that of a visible device. */
static inline bool vs_rt_is_device(int device) {
  return device >= 0 && (uint32_t)device < vs_simcuda_device_count();
}

#endif
