/* The part of contexts that the driver and the runtime share.
 *
 * A CUcontext is a number that says what it is: the primary context of a visible device, or one that a program
 * made with cuCtxCreate (the driver face keeps those). Either number contains the device. Each thread has a
 * stack of contexts; the device of its top is the thread's current device, for driver and runtime alike. */
#ifndef VS_SIMCUDA_CONTEXT_H
#define VS_SIMCUDA_CONTEXT_H

#include "faces/simcuda/core/process.h"

#define VS_CONTEXT_PRIMARY UINT64_C(0x48000000) /* + 256 * device */
#define VS_CONTEXT_MADE    UINT64_C(0x49000000) /* + 65536 * number + 256 * device */

static inline void *vs_context_primary(uint32_t device) {
  return (void *)(uintptr_t)(VS_CONTEXT_PRIMARY + device * UINT64_C(256));
}

static inline uint32_t vs_context_device(const void *context) {
  return (uint32_t)((uintptr_t)context >> 8) & 0xff;
}

/* Called first by every call of the runtime that needs a device: a context of `device` becomes the thread's
 * current one if it is not already. If the current context is of another device, the primary context replaces
 * it. */
static inline void vs_context_bind(vs_simcuda_thread *thread, uint32_t device) {
  thread->device = device;
  if (thread->context_count == 0) thread->context_count = 1;
  else if (vs_context_device(thread->contexts[thread->context_count - 1]) == device) return;
  thread->contexts[thread->context_count - 1] = vs_context_primary(device);
}

#endif
