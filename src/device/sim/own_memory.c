#include "device/sim/memory_internal.h"
#include "device/sim/own_memory.h"
#include "device/sim/sim.h"

/* The workspace that NVIDIA recommends for cuBLAS is 32 MiB since Hopper and 4 MiB before; a handle takes twice that. */
#define HOPPER               9
#define CUBLAS_EACH          (UINT64_C(64) << 20)
#define CUBLAS_BEFORE_HOPPER (UINT64_C(8) << 20)

typedef struct own_part {
  vs_sim_own_kind kind;
  uint64_t base, each, spare;
} own_part;

static const own_part parts[] = {
#define VS_SIM_OWN_PART(kind, base, each, spare) {VS_SIM_OWN_##kind, base, each, spare},
#include "device/sim/own_memory.def"
};

static uint64_t each_of(const own_part *part, const vs_sim_figures *figures) {
  const bool has_cublas = part->kind == VS_SIM_OWN_CUBLAS || part->kind == VS_SIM_OWN_CUSOLVER;
  if (!has_cublas || figures->compute_major >= HOPPER) return part->each;
  return part->each - CUBLAS_EACH + CUBLAS_BEFORE_HOPPER;
}

uint64_t vs_sim_own_bytes(vs_sim_own_kind kind, const vs_sim_figures *figures, uint32_t count) {
  VS_ASSERT(kind < VS_SIM_OWN_KINDS);
  uint64_t sum = 0;
  for (size_t i = 0; count > 0 && i < sizeof parts / sizeof *parts; i++) {
    if (parts[i].kind != kind) continue;
    const uint64_t bytes = parts[i].base + each_of(&parts[i], figures) * count;
    if (bytes > parts[i].spare) sum += vs_sim_round_up(bytes - parts[i].spare, VS_SIM_GRANULE);
  }
  return sum;
}

vs_sim_error vs_sim_own_take(vs_sim *sim, uint32_t device, vs_sim_own_kind kind) {
  VS_ASSERT(kind < VS_SIM_OWN_KINDS);
  VS_SIM_TRY(vs_sim_context_use(sim, device));
  vs_sim_own *own = &sim->memory.windows[device].own;
  VS_ASSERT(own->live[kind] <= own->most[kind]);
  if (own->live[kind] == own->most[kind]) {
    const vs_sim_figures *figures = &sim->machine->cards[sim->cards[device]].figures;
    const uint64_t before = vs_sim_own_bytes(kind, figures, own->most[kind]);
    const uint64_t after = vs_sim_own_bytes(kind, figures, own->most[kind] + 1);
    VS_ASSERT(before <= after);
    if (after > before) VS_SIM_TRY(vs_sim_context_grow(sim, device, after - before));
    own->most[kind]++;
  }
  own->live[kind]++;
  return VS_SIM_OK;
}

void vs_sim_own_give(vs_sim *sim, uint32_t device, vs_sim_own_kind kind) {
  VS_ASSERT(device < sim->device_count && kind < VS_SIM_OWN_KINDS);
  uint32_t *live = &sim->memory.windows[device].own.live[kind];
  if (*live > 0) --*live;
}
