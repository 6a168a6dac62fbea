/* A simulated card behind the face that allocators use (device/device.h).
 *
 *   vs_sim_device card;
 *   vs_sim_device_init(&card, sim, 0);
 *   vs_alloc_create(host, &card.device, ...)
 *
 * Equal calls in equal order get equal answers, addresses too. Two things are decided here: an allocator
 * calls as a thread in relaxed capture mode, so that no capture stands in its way; and its events carry no
 * times. Stream-ordered memory is that of the card's default pool, which keeps it until async_trim. */
#ifndef VS_DEVICE_SIM_DEVICE_H
#define VS_DEVICE_SIM_DEVICE_H

#include "device/device.h"
#include "device/sim/sim.h"

typedef struct vs_sim_device {
  vs_device device; /* ctx is this struct: it must not move */
  vs_sim *sim;      /* borrowed */
  vs_sim_thread thread;
  bool keeps_pool;         /* the default pool was told to keep its memory */
  vs_sim_error last;       /* behind the last answer that was no VS_DEVICE_OK */
  VS_VEC(uint64_t) nodes;  /* what capture_info answered with */
  VS_VEC(uint64_t) needed; /* what needs answered with */
} vs_sim_device;

/* Card `index` of `sim`, which must have it. Nothing is taken of the card yet. */
void vs_sim_device_init(vs_sim_device *device, vs_sim *sim, uint32_t index);

/* Gives the host's memory back; the simulation keeps what was taken of it. Before vs_sim_deinit. */
void vs_sim_device_deinit(vs_sim_device *device);

#endif
