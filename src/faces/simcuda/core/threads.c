#include "faces/simcuda/core/process_internal.h"

static _Thread_local vs_simcuda_thread thread;

vs_simcuda_thread *vs_simcuda_this_thread(void) {
  static atomic_uint_fast64_t last_id;
  if (thread.id == 0) thread.id = atomic_fetch_add_explicit(&last_id, 1, memory_order_relaxed) + 1;
  VS_ASSERT(thread.id != 0);
  return &thread;
}
