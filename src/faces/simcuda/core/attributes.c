#include "faces/simcuda/core/attributes.h"

static bool is_at_least(const vs_sim_figures *f, uint32_t major, uint32_t minor) {
  return f->compute_major > major || (f->compute_major == major && f->compute_minor >= minor);
}

static bool is_of(const vs_sim_figures *f, uint32_t major, uint32_t minor) {
  return f->compute_major == major && f->compute_minor == minor;
}

/* Devices that share the host's memory: Orin, Thor, GB10. */
static bool is_integrated(const vs_sim_figures *f) {
  return is_of(f, 8, 7) || is_of(f, 11, 0) || is_of(f, 12, 1);
}

/* The share of the L2 cache that can be set aside for persisting accesses, in sixteenths, as measured on one
 * card of each kind. */
static uint64_t persisting_bytes(const vs_sim_figures *f) {
  const uint64_t sixteenths = !is_at_least(f, 8, 0)   ? 0
                              : is_of(f, 8, 0)        ? 12
                              : f->compute_major == 8 ? 11
                                                      : 10;
  return f->l2_bytes / 16 * sixteenths;
}

vs_sim_error vs_simcuda_attribute(uint32_t device, uint32_t number, int32_t *value) {
  const vs_sim_figures *f = vs_simcuda_figures(device);
  if (f == NULL) return VS_SIM_INVALID_DEVICE;
  const uint32_t card = vs_simcuda_card(device);
  VS_ASSERT(card < VS_SIM_MAX_DEVICES);
  switch (number) {
#define cc(major, minor) is_at_least(f, major, minor)
#define VS_ATTRIBUTE(number, is) \
  case number:                   \
    *value = (int32_t)(is);      \
    return VS_SIM_OK;
#include "faces/simcuda/core/attributes.def"
#undef VS_ATTRIBUTE
#undef cc
    default: return VS_SIM_INVALID_VALUE;
  }
}
