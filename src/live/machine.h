/* The cards of a vs_live, each as a vs_device that any thread may call.
 *
 * A machine has cards of one kind. All simulated cards are one object without locks, so `lock` is held around each of its
 * calls, and only there (machine.c). The CUDA driver's cards need no such lock (machine_cuda.c). */
#ifndef VS_LIVE_MACHINE_H
#define VS_LIVE_MACHINE_H

#include "device/cuda/device.h"
#include "device/sim/device.h"
#include "live/lock.h"

typedef struct vs_live_machine vs_live_machine;

typedef struct vs_live_card {
  vs_device device; /* what the allocator calls */
  vs_live_machine *machine;
  char name[96]; /* the driver's name of the card */
  union {
    vs_sim_device sim;
    vs_cuda_device cuda;
  };
} vs_live_card;

enum { VS_LIVE_CARDS = 64 }; /* 8 cards of 7 MIG devices are 56 */

struct vs_live_machine {
  const vs_host *host;
  vs_cuda *cuda; /* the driver; NULL: the cards are simulated */
  vs_live_lock
      lock; /* guards sim_machine, sim and the simulated cards; count, names and totals are constant */
  vs_sim_machine *sim_machine;
  vs_sim sim;
  uint32_t count;
  vs_live_card cards[VS_LIVE_CARDS];
};

/* Must not move. `gpus` as vs_sim_gpus_parse takes them; or "cuda", all cards of the driver, or "cuda:0,2", those of
 * its cards, in that order. Fails: VS_BAD_ARGUMENT (with the offset in `gpus`), VS_LIMIT, VS_NO_MEMORY; of the
 * driver: VS_NOT_FOUND, VS_UNSUPPORTED, VS_DEVICE */
VS_MUST_CHECK vs_status vs_live_machine_init(vs_live_machine *machine, const vs_host *host, vs_str gpus,
                                             bool done_at_sync, vs_error *error);
void vs_live_machine_deinit(vs_live_machine *machine);

/* Valid until deinit. */
const char *vs_live_machine_name(const vs_live_machine *machine, uint32_t card);

/* Fails: VS_NO_MEMORY, VS_UNSUPPORTED (the driver's cards) */
VS_MUST_CHECK vs_status vs_live_machine_stream(vs_live_machine *machine, uint32_t card, uint64_t *stream);

/* ---- machine_cuda.c */

bool vs_live_machine__is_cuda(vs_str gpus);
/* The rest of `machine` is zero. */
VS_MUST_CHECK vs_status vs_live_machine__cuda_init(vs_live_machine *machine, vs_str gpus, vs_error *error);
void vs_live_machine__cuda_deinit(vs_live_machine *machine);

#endif
