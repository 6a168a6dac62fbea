#include "device/sim/memory_internal.h"
#include "device/sim/own_memory.h"
#include "device/sim/sim.h"

enum { HOPPER = 9 }; /* compute capability */

typedef struct own_part {
  vs_sim_own_kind kind;
  uint64_t base, each, each_before, spare;
} own_part;

static const own_part parts[] = {
#define VS_SIM_OWN_PART(kind, base, each, each_before, spare) \
  {VS_SIM_OWN_##kind, base, each, each_before, spare},
#include "device/sim/own_memory.def"
};

static const uint32_t accounts[] = {
#define VS_SIM_OWN(kind) [VS_SIM_OWN_##kind] = VS_SIM_ACCOUNT_##kind,
#include "device/sim/own_memory.def"
};

uint64_t vs_sim_own_bytes(vs_sim_own_kind kind, const vs_sim_figures *figures, uint32_t count) {
  VS_ASSERT(kind < VS_SIM_OWN_KINDS);
  uint64_t sum = 0;
  for (size_t i = 0; count > 0 && i < sizeof parts / sizeof *parts; i++) {
    const own_part *part = &parts[i];
    if (part->kind != kind) continue;
    const uint64_t each = figures->compute_major >= HOPPER ? part->each : part->each_before;
    const uint64_t bytes = part->base + each * count;
    if (bytes > part->spare) sum += vs_sim_round_up(bytes - part->spare, VS_SIM_GRANULE);
  }
  return sum;
}

uint64_t vs_sim_beside_bytes(const vs_sim_profile *profile, bool has_streams) {
  enum { THREADS = 2, POOLED_STREAMS = 128 }; /* the program's thread, and that of the backward pass */
  const vs_sim_figures *figures = &profile->figures;
  return vs_sim_context_bytes(profile) + vs_sim_own_bytes(VS_SIM_OWN_KERNELS, figures, 1) +
         vs_sim_own_bytes(VS_SIM_OWN_CUBLAS, figures, THREADS) +
         vs_sim_own_bytes(VS_SIM_OWN_CUDNN, figures, THREADS) +
         vs_sim_own_bytes(VS_SIM_OWN_STREAM, figures, has_streams ? POOLED_STREAMS : 0);
}

uint64_t vs_sim_room_bytes(const vs_sim_profile *profile, uint64_t total_bytes, bool has_streams) {
  const uint64_t beside = vs_sim_beside_bytes(profile, has_streams);
  return total_bytes - (beside < total_bytes ? beside : total_bytes);
}

uint64_t vs_sim_size_with_room(uint64_t room, bool has_streams) {
  const uint64_t size =
      room + vs_sim_beside_bytes(vs_sim_profile_keyed(VS_STR(VS_SIM_SMALL_CARD_KEY)), has_streams);
  if (size <= VS_SIM_SMALL_CARD) return size;
  return room + vs_sim_beside_bytes(vs_sim_profile_keyed(VS_STR(VS_SIM_CARD_KEY)), has_streams);
}

vs_sim_error vs_sim_own_take(vs_sim *sim, uint32_t device, vs_sim_own_kind kind, uint64_t *taken_bytes) {
  VS_ASSERT(kind < VS_SIM_OWN_KINDS);
  VS_SIM_TRY(vs_sim_context_use(sim, device));
  vs_sim_own *own = &sim->memory.windows[device].own;
  VS_ASSERT(own->live[kind] <= own->most[kind]);
  uint64_t bytes = 0;
  if (own->live[kind] == own->most[kind]) {
    const vs_sim_figures *figures = &sim->machine->cards[sim->cards[device]].figures;
    bytes = vs_sim_own_bytes(kind, figures, own->most[kind] + 1) -
            vs_sim_own_bytes(kind, figures, own->most[kind]);
    if (bytes > 0) VS_SIM_TRY(vs_sim_context_grow(sim, device, accounts[kind], bytes));
    own->most[kind]++;
  }
  own->live[kind]++;
  if (taken_bytes != NULL) *taken_bytes = bytes;
  return VS_SIM_OK;
}

void vs_sim_own_give(vs_sim *sim, uint32_t device, vs_sim_own_kind kind) {
  VS_ASSERT(device < sim->device_count && kind < VS_SIM_OWN_KINDS);
  uint32_t *live = &sim->memory.windows[device].own.live[kind];
  if (*live > 0) --*live;
}
