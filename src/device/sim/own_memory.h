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

/* What else than PyTorch's allocator takes of such a card while a model is trained: the context, PyTorch's kernels, and a handle of
 * cuBLAS and one of cuDNN for each of two threads, the program's and that of the backward pass. With `has_streams` the program
 * uses more than the default stream, and PyTorch has made its pool of streams. A program that does not train takes a little less. */
uint64_t vs_sim_beside_bytes(const vs_sim_profile *profile, bool has_streams);

/* What that leaves the allocator of such a card, if it has `total_bytes` and no other program uses it. 0: nothing. */
uint64_t vs_sim_room_bytes(const vs_sim_profile *profile, uint64_t total_bytes, bool has_streams);

/* The size of the smallest card that leaves it `room` bytes, of the kind that a size alone selects (vs_sim_gpu_parse). */
uint64_t vs_sim_size_with_room(uint64_t room, bool has_streams);

/* Counts one more object of a kind, and makes the context if there is none. `taken_bytes`, unless NULL, receives what the card has
 * less for it: 0 where memory of an earlier object serves. A failure changes nothing.
 * Fails: VS_SIM_INVALID_DEVICE, VS_SIM_OUT_OF_MEMORY */
VS_MUST_CHECK vs_sim_error vs_sim_own_take(struct vs_sim *sim, uint32_t device, vs_sim_own_kind kind,
                                           uint64_t *taken_bytes);

/* Counts one object less. The reset of a device forgets all objects, so there may be none. */
void vs_sim_own_give(struct vs_sim *sim, uint32_t device, vs_sim_own_kind kind);

#endif
