/* Memory of a card that the driver and NVIDIA's libraries take for their own objects: streams, handles, code. A program does not
 * ask for it, and PyTorch does not count it, but it is missing for the program's requests. own_memory.def has the figures.
 *
 * Objects are counted for each card of a process. Memory that was taken stays with the context, as the driver keeps it for the
 * next object: only a count above the highest so far takes more. */
#ifndef VS_DEVICE_SIM_OWN_MEMORY_H
#define VS_DEVICE_SIM_OWN_MEMORY_H

#include "device/sim/error.h"
#include "device/sim/profile.h"

struct vs_sim;

typedef enum vs_sim_own_kind {
#define VS_SIM_OWN(kind) VS_SIM_OWN_##kind,
#include "device/sim/own_memory.def"
  VS_SIM_OWN_KINDS
} vs_sim_own_kind;

/* Objects of each kind that exist on a card, and the highest number so far: live <= most. */
typedef struct vs_sim_own {
  uint32_t live[VS_SIM_OWN_KINDS];
  uint32_t most[VS_SIM_OWN_KINDS];
} vs_sim_own;

/* The bytes that `count` objects of a kind take on such a card: whole granules. */
uint64_t vs_sim_own_bytes(vs_sim_own_kind kind, const vs_sim_figures *figures, uint32_t count);

/* Counts one more object of a kind, and makes the context if there is none. A failure changes nothing.
 * Fails: VS_SIM_INVALID_DEVICE, VS_SIM_OUT_OF_MEMORY */
VS_MUST_CHECK vs_sim_error vs_sim_own_take(struct vs_sim *sim, uint32_t device, vs_sim_own_kind kind);

/* Counts one object less. The reset of a device forgets all objects, so there may be none. */
void vs_sim_own_give(struct vs_sim *sim, uint32_t device, vs_sim_own_kind kind);

#endif
