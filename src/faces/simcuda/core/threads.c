#include "faces/simcuda/core/inside.h"

static _Thread_local vs_world_thread thread;

vs_world_thread *vs_world_this_thread(void) {
  static atomic_uint_fast64_t last_id;
  if (thread.id == 0) thread.id = atomic_fetch_add_explicit(&last_id, 1, memory_order_relaxed) + 1;
  return &thread;
}
