/* The cards that a vs_live has, each as a vs_device that any thread may call.
 *
 * Today they are simulated. The simulation is one object for all cards and knows no threads: `lock` is held around each
 * of its calls, and only there. A real driver needs no such lock; it will come as another kind of machine behind the
 * same vs_device. */
#ifndef VS_LIVE_MACHINE_H
#define VS_LIVE_MACHINE_H

#include "device/sim/device.h"
#include "live/lock.h"

typedef struct vs_live_machine vs_live_machine;

typedef struct vs_live_card {
  vs_device device; /* to hand on: its ctx is this struct */
  vs_sim_device sim;
  vs_live_machine *machine;
} vs_live_card;

struct vs_live_machine {
  const vs_host *host;
  vs_live_lock lock; /* guards all below, but for what is constant: count, names and totals */
  vs_sim_node *node;
  vs_sim sim;
  uint32_t count;
  vs_live_card cards[VS_SIM_MAX_DEVICES];
};

/* Must not move. `gpus` as vs_sim_gpus_parse takes them.
 * Fails: VS_BAD_ARGUMENT (with the offset in `gpus`), VS_LIMIT, VS_NO_MEMORY */
VS_MUST_CHECK vs_status vs_live_machine_init(vs_live_machine *machine, const vs_host *host, vs_str gpus,
                                             bool done_at_sync, vs_error *error);
void vs_live_machine_deinit(vs_live_machine *machine);

/* Constant while the machine is there. */
const char *vs_live_machine_name(const vs_live_machine *machine, uint32_t card);

VS_MUST_CHECK vs_status vs_live_machine_stream(vs_live_machine *machine, uint32_t card, uint64_t *stream);

#endif
