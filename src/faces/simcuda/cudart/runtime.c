#include "faces/simcuda/cudart/runtime.h"

#include "faces/simcuda/core/context.h"

vs_sim_error vs_rt_use(vs_rt *rt) {
  VS_SIM_TRY(vs_simcuda_begin());
  rt->thread = vs_simcuda_this_thread();
  rt->device = rt->thread->device;
  VS_SIM_TRY(vs_simcuda_use(rt->device));
  vs_context_bind(rt->thread, rt->device);
  VS_ASSERT(rt->device < vs_simcuda_device_count() && rt->thread->device == rt->device);
  return VS_SIM_OK;
}

static bool lock_simulation(vs_rt *rt, vs_sim_error error) {
  rt->sim = error == VS_SIM_OK ? vs_simcuda_lock() : NULL;
  VS_ASSERT(rt->sim == NULL || rt->thread != NULL);
  if (rt->sim != NULL) return true;
  rt->failure = vs_rt_answer(error != VS_SIM_OK ? error : VS_SIM_NOT_INITIALIZED);
  return false;
}

bool vs_rt_enter(vs_rt *rt) { return lock_simulation(rt, vs_rt_use(rt)); }

bool vs_rt_look(vs_rt *rt) {
  const vs_sim_error error = vs_simcuda_begin();
  rt->thread = vs_simcuda_this_thread();
  rt->device = rt->thread->device;
  return lock_simulation(rt, error);
}
