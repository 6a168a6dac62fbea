#include "faces/simcuda/core/limits.h"

static const uint64_t defaults[VS_SIMCUDA_LIMIT_COUNT] = {1024, 1 << 20, 8 << 20, 0, 2048, 64, 0};

/* Under the simulation's lock. `most` is the largest value that was set: memory taken for it is kept. */
static struct {
  bool is_set;
  uint64_t value;
  uint64_t most;
} limits[VS_SIM_MAX_DEVICES][VS_SIMCUDA_LIMIT_COUNT];

static bool is_a_limit(uint32_t limit) {
  return limit < VS_SIMCUDA_LIMIT_COUNT && limit != VS_SIMCUDA_LIMIT_SYNC_DEPTH;
}

vs_sim_error vs_simcuda_limit_get(uint32_t device, uint32_t limit, uint64_t *value) {
  if (!is_a_limit(limit)) return VS_SIMCUDA_UNSUPPORTED_LIMIT;
  if (vs_simcuda_figures(device) == NULL) return VS_SIM_INVALID_DEVICE;
  if (vs_simcuda_lock() == NULL) return VS_SIM_NOT_INITIALIZED;
  *value = limits[device][limit].is_set ? limits[device][limit].value : defaults[limit];
  vs_simcuda_unlock();
  return VS_SIM_OK;
}

/* The bytes of card memory that one byte of a limit takes. */
static uint64_t weight(const vs_sim_figures *figures, uint32_t limit) {
  if (limit == VS_SIMCUDA_LIMIT_STACK) return (uint64_t)figures->sm_count * figures->threads_per_sm;
  return limit == VS_SIMCUDA_LIMIT_HEAP ? 1 : 0;
}

/* Rounds a requested limit the way the driver does. */
static uint64_t granted(const vs_sim_figures *figures, uint32_t limit, uint64_t value) {
  if (limit == VS_SIMCUDA_LIMIT_STACK) return (value + 15) / 16 * 16;
  if (limit == VS_SIMCUDA_LIMIT_L2_FETCH) return value > 64 ? 128 : value > 32 ? 64 : 32;
  if (limit == VS_SIMCUDA_LIMIT_PERSISTING_L2 && value > figures->l2_bytes) return figures->l2_bytes;
  return value;
}

vs_sim_error vs_simcuda_limit_set(uint32_t device, uint32_t limit, uint64_t value) {
  if (!is_a_limit(limit)) return VS_SIMCUDA_UNSUPPORTED_LIMIT;
  const vs_sim_figures *figures = vs_simcuda_figures(device);
  if (figures == NULL) return VS_SIM_INVALID_DEVICE;
  if (limit == VS_SIMCUDA_LIMIT_STACK && value > UINT64_C(512) << 10) return VS_SIM_INVALID_VALUE;
  VS_SIM_TRY(vs_simcuda_use(device));
  vs_sim *sim = vs_simcuda_lock();
  if (sim == NULL) return VS_SIM_NOT_INITIALIZED;
  VS_ASSERT(device < VS_SIM_MAX_DEVICES && limit < VS_SIMCUDA_LIMIT_COUNT);
  value = granted(figures, limit, value);
  const uint64_t most =
      limits[device][limit].most > defaults[limit] ? limits[device][limit].most : defaults[limit];
  vs_sim_error error = VS_SIM_OK;
  if (value > most && weight(figures, limit) != 0)
    error = value - most > figures->total_bytes
                ? VS_SIM_OUT_OF_MEMORY
                : vs_sim_context_grow(sim, device, VS_SIM_ACCOUNT_CONTEXT,
                                      (value - most) * weight(figures, limit));
  if (error == VS_SIM_OK) {
    limits[device][limit].is_set = true;
    limits[device][limit].value = value;
    if (value > limits[device][limit].most) limits[device][limit].most = value;
  }
  vs_simcuda_unlock();
  return error;
}
