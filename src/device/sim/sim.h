/* One process' view of the simulated machine: its addresses, its memory, its streams. The cards themselves,
 * and how much of them is used, stand in the node, which other processes may share.
 *
 * The parts are headers of their own, each with functions over a vs_sim:
 *   memory.h    ranges of addresses: device, managed, host, shared; free and total
 *   vmm.h       reserved addresses, physical memory, mappings
 *   mempool.h   memory pools (stream-ordered allocation)
 *   stream.h    streams and events; graph.h: capture and graphs
 *   fault.h     failures on request
 * What concerns several of them is here: begin and end, reset, a plain free, the check. README.md says which
 * file stands on which.
 *
 * Not safe for threads: the caller holds a lock around every call. Nothing here blocks, waits or looks at a
 * clock; time is streams.clock_ns, which calls move on. Equal calls in equal order give equal answers,
 * addresses and handles included. */
#ifndef VS_DEVICE_SIM_SIM_H
#define VS_DEVICE_SIM_SIM_H

#include "device/sim/error.h"
#include "device/sim/fault.h"
#include "device/sim/graph.h"
#include "device/sim/memory.h"
#include "device/sim/mempool.h"
#include "device/sim/machine.h"
#include "device/sim/stream.h"
#include "device/sim/vmm.h"

/* What the caller does for a vs_sim; each may be NULL.
 *
 * The node is locked where processes share it: the locks nest in the caller's own, are held for a few
 * instructions, and never twice at once. Before a card refuses somebody, `make_room` is asked, without the
 * node's lock, whether it can do something about it (processes that are dead hold nothing); then the card is
 * asked for good. `gone` hears of every range that vs_sim_find could have answered with, when it is there no
 * more. No hook may call the vs_sim. */
typedef struct vs_sim_hooks {
  void *ctx;
  void (*lock_machine)(void *ctx);
  void (*unlock_machine)(void *ctx);
  void (*make_room)(void *ctx, uint32_t device, uint64_t bytes);
  void (*gone)(void *ctx, const vs_sim_range *range);
} vs_sim_hooks;

struct vs_sim {
  const vs_host *host;
  vs_sim_machine *machine; /* borrowed */
  uint32_t slot;           /* this process' in it */
  uint32_t device_count;
  uint32_t cards[VS_SIM_MAX_DEVICES]; /* of the node, that devices stand for; at first d is d */
  vs_sim_hooks hooks;
  vs_sim_faults faults;
  struct vs_sim_memory memory;
  struct vs_sim_streams streams;
  struct vs_sim_graphs graphs;
};

/* `sim` must not move while it is in use. Nothing is taken of a card yet. `hooks` may be NULL: nobody else
 * is there. `rule`: when an event counts as complete (stream.h).
 * Fails: VS_SIM_OUT_OF_MEMORY of the host */
VS_MUST_CHECK vs_sim_error vs_sim_init(vs_sim *sim, const vs_host *host, vs_sim_machine *machine,
                                       uint32_t slot, const vs_sim_hooks *hooks, vs_sim_event_rule rule);

/* Right after vs_sim_init, for a process that sees only some of the cards: device d of this process is
 * cards[d] of the node from now on. No two are equal, and all are there. Fails: VS_SIM_OUT_OF_MEMORY, and
 * then there is nothing to deinit. */
VS_MUST_CHECK vs_sim_error vs_sim_show(vs_sim *sim, const uint32_t *cards, uint32_t count);

/* Gives the host's memory back. What the process holds of the cards is vs_sim_machine_leave's business. */
void vs_sim_deinit(vs_sim *sim);

/* Ends what this process has on a card: captures, created streams, events, memory, mappings too, and the
 * context. Graphs stay; those with memory nodes of the card can no longer be launched.
 * Fails: VS_SIM_INVALID_DEVICE */
VS_MUST_CHECK vs_sim_error vs_sim_device_reset(vs_sim *sim, uint32_t device);

/* Frees what begins at exactly `address`: device, managed or pool memory, or a graph's piece. *was (may be
 * NULL) is what it had been.
 * Fails: VS_SIM_INVALID_VALUE  nothing of that kind begins there, so a second free too */
VS_MUST_CHECK vs_sim_error vs_sim_free(vs_sim *sim, uint64_t address, vs_sim_range *was);

/* Executes the invariants of all parts, and that the node was charged with what is held. For tests. */
bool vs_sim_check(vs_sim *sim);

static inline void vs_sim_lock_machine(vs_sim *sim) {
  if (sim->hooks.lock_machine != NULL) sim->hooks.lock_machine(sim->hooks.ctx);
}
static inline void vs_sim_unlock_machine(vs_sim *sim) {
  if (sim->hooks.unlock_machine != NULL) sim->hooks.unlock_machine(sim->hooks.ctx);
}

/* Makes the n-th call of `kind` from now on fail (1: the next one; 0: none), and each take `ns` of virtual
 * time. */
void vs_sim_fault_set(vs_sim *sim, vs_sim_fault kind, uint64_t n);
void vs_sim_delay_set(vs_sim *sim, vs_sim_fault kind, uint64_t ns);

/* What every call of a kind begins with: counts it, lets time pass, and fails the one that has to.
 * Fails: VS_SIM_OUT_OF_MEMORY */
VS_MUST_CHECK vs_sim_error vs_sim_fault_step(vs_sim *sim, vs_sim_fault kind);

#endif
