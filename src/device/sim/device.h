/* A simulated card as a vs_device for allocators (device/device.h).
 *
 *   vs_sim_device card;
 *   vs_sim_device_init(&card, sim, 0);
 *   vs_alloc_create(host, &card.device, ...)
 *
 * Equal calls in equal order get equal answers, addresses included. An allocator calls as a thread in relaxed capture mode, so
 * that no capture forbids its calls, and its events have no times. Stream-ordered memory comes from the card's default pool,
 * which keeps it until async_trim. */
#ifndef VS_DEVICE_SIM_DEVICE_H
#define VS_DEVICE_SIM_DEVICE_H

#include "device/device.h"
#include "device/sim/sim.h"

typedef struct vs_sim_device {
  vs_device device; /* ctx is this struct: it must not move */
  vs_sim *sim;      /* borrowed */
  vs_sim_thread thread;
  bool keeps_pool;         /* the default pool's release threshold is set */
  vs_sim_error last;       /* the error of the last call that did not return VS_DEVICE_OK */
  VS_VEC(uint64_t) nodes;  /* the answer of capture_info */
  VS_VEC(uint64_t) needed; /* the answer of needs */
} vs_sim_device;

/* Card `index` of `sim`, which must exist. It takes no memory of the card yet. */
void vs_sim_device_init(vs_sim_device *device, vs_sim *sim, uint32_t index);

/* Frees host memory; memory of the simulated card stays allocated. Called before vs_sim_deinit. */
void vs_sim_device_deinit(vs_sim_device *device);

#endif
