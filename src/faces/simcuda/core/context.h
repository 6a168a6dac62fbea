/* Contexts, as far as the driver and the runtime have to agree about them.
 *
 * A CUcontext is a number that says what it is: the primary context of a visible device, or one that a
 * program made with cuCtxCreate (the driver face keeps those). Both say their device. Each thread has a stack
 * of them; the device of its top is the thread's current device, for driver and runtime alike. */
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

/* What every call of the runtime that needs its device begins with: some context of `device` is the thread's
 * current one, and if none is, the primary one becomes it. */
static inline void vs_context_bind(vs_simcuda_thread *thread, uint32_t device) {
  thread->device = device;
  if (thread->context_count == 0) thread->context_count = 1;
  else if (vs_context_device(thread->contexts[thread->context_count - 1]) == device) return;
  thread->contexts[thread->context_count - 1] = vs_context_primary(device);
}

#endif
