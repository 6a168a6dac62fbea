/* The cards that a vs_live has, each as a vs_device that any thread may call.
 *
 * A machine is of one of two kinds. Simulated cards are one object that knows no threads: `lock` is held around each of its
 * calls, and only there (machine.c). Those of the CUDA driver need no such lock (machine_cuda.c). */
#ifndef VS_LIVE_MACHINE_H
#define VS_LIVE_MACHINE_H

#include "device/cuda/device.h"
#include "device/sim/device.h"
#include "live/lock.h"

typedef struct vs_live_machine vs_live_machine;

typedef struct vs_live_card {
  vs_device device; /* to hand on */
  vs_live_machine *machine;
  char name[96]; /* as the driver says it */
  union {
    vs_sim_device sim;
    vs_cuda_device cuda;
  };
} vs_live_card;

enum { VS_LIVE_CARDS = 64 }; /* the driver's: 8 cards of 7 MIG devices, and a few */

struct vs_live_machine {
  const vs_host *host;
  vs_cuda *cuda; /* the driver; NULL: the cards are simulated */
  vs_live_lock
      lock; /* guards sim_machine, sim and the simulated cards, but for what is constant: count, names, totals */
  vs_sim_machine *sim_machine;
  vs_sim sim;
  uint32_t count;
  vs_live_card cards[VS_LIVE_CARDS];
};

/* Must not move. `gpus` as vs_sim_gpus_parse takes them; or "cuda", all cards of the driver, or "cuda:0,2", those of its
 * cards, in that order.
 * Fails: VS_BAD_ARGUMENT (with the offset in `gpus`), VS_LIMIT, VS_NO_MEMORY; of the driver: VS_NOT_FOUND, VS_UNSUPPORTED,
 * VS_DEVICE */
VS_MUST_CHECK vs_status vs_live_machine_init(vs_live_machine *machine, const vs_host *host, vs_str gpus,
                                             bool done_at_sync, vs_error *error);
void vs_live_machine_deinit(vs_live_machine *machine);

/* Constant while the machine is there. */
const char *vs_live_machine_name(const vs_live_machine *machine, uint32_t card);

/* Fails: VS_NO_MEMORY, VS_UNSUPPORTED (the driver's cards) */
VS_MUST_CHECK vs_status vs_live_machine_stream(vs_live_machine *machine, uint32_t card, uint64_t *stream);

/* ---- machine_cuda.c */

bool vs_live_machine__is_cuda(vs_str gpus);
/* The rest of `machine` is zero. */
VS_MUST_CHECK vs_status vs_live_machine__cuda_init(vs_live_machine *machine, vs_str gpus, vs_error *error);
void vs_live_machine__cuda_deinit(vs_live_machine *machine);

#endif
