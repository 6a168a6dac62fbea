/* One process' view of the simulated machine: its addresses, memory and streams. The cards, and how much of them is used, are
 * in the vs_sim_machine, which other processes may share.
 *
 * The parts are headers of their own, each with functions over a vs_sim:
 *   memory.h    ranges of addresses: device, managed, host, shared; free and total
 *   vmm.h       reserved addresses, physical memory, mappings
 *   mempool.h   memory pools (stream-ordered allocation)
 *   stream.h    streams and events; graph.h: capture and graphs
 *   fault.h     failures on request
 * Functions that concern several parts are here: init and deinit, reset, a plain free, the check. README.md says which file
 * uses which.
 *
 * Not thread-safe: the caller holds a lock around every call. No function blocks, waits or reads a clock; time is
 * streams.clock_ns, which calls advance. Equal calls in equal order give equal answers, addresses and handles included. */
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

/* Functions that the caller supplies; each may be NULL.
 *
 * The lock protects the machine that processes share. It nests in the caller's own lock, is held for a few instructions, and
 * is never taken twice. Before a request is refused, `make_room` is called once without the lock: it can release the memory
 * of processes that have died, after which the request is tried for the last time. `gone` is called for each range that
 * vs_sim_find could have returned, just before it is removed. `charged` is called after memory of a card was taken
 * or given back for an account. No hook may call functions of the vs_sim. */
typedef struct vs_sim_hooks {
  void *ctx;
  void (*lock_machine)(void *ctx);
  void (*unlock_machine)(void *ctx);
  void (*make_room)(void *ctx, uint32_t device, uint64_t bytes);
  void (*gone)(void *ctx, const vs_sim_range *range);
  void (*charged)(void *ctx);
} vs_sim_hooks;

struct vs_sim {
  const vs_host *host;
  vs_sim_machine *machine; /* borrowed */
  uint32_t slot;           /* of this process in it */
  uint32_t account;        /* for whom memory is taken until the caller changes it (machine.h) */
  uint32_t device_count;
  uint32_t cards[VS_SIM_MAX_DEVICES]; /* the machine's card of each device; initially device d is card d */
  vs_sim_hooks hooks;
  vs_sim_faults faults;
  struct vs_sim_memory memory;
  struct vs_sim_streams streams;
  struct vs_sim_graphs graphs;
};

/* `sim` must not move until vs_sim_deinit. It takes no memory of a card yet. `hooks` may be NULL if no other process shares the
 * machine. `rule`: when an event counts as complete (stream.h).
 * Fails: VS_SIM_OUT_OF_MEMORY of the host */
VS_MUST_CHECK vs_sim_error vs_sim_init(vs_sim *sim, const vs_host *host, vs_sim_machine *machine,
                                       uint32_t slot, const vs_sim_hooks *hooks, vs_sim_event_rule rule);

/* Called directly after vs_sim_init, for a process that sees only some of the cards: from now on device d is the machine's
 * card cards[d]. The cards exist and are different. Fails: VS_SIM_OUT_OF_MEMORY; then there is nothing to deinit. */
VS_MUST_CHECK vs_sim_error vs_sim_show(vs_sim *sim, const uint32_t *cards, uint32_t count);

/* Frees host memory. vs_sim_machine_leave releases the memory of the cards. */
void vs_sim_deinit(vs_sim *sim);

/* Ends everything that this process has on a card: captures, created streams, events, memory, mappings and the context.
 * Graphs stay, but those with memory nodes of the card can no longer be launched.
 * Fails: VS_SIM_INVALID_DEVICE */
VS_MUST_CHECK vs_sim_error vs_sim_device_reset(vs_sim *sim, uint32_t device);

/* Frees the range that begins at exactly `address`: device, managed, pool or graph memory. *was (may be NULL) receives a copy
 * of it. Fails: VS_SIM_INVALID_VALUE  no such range begins there, for example at a second free */
VS_MUST_CHECK vs_sim_error vs_sim_free(vs_sim *sim, uint64_t address, vs_sim_range *was);

/* Executes the invariants of all parts, and compares the machine's account of this process with the ranges. For tests. */
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

/* Called at the beginning of each call of a kind: counts it, advances the clock, and fails the one that vs_sim_fault_set chose.
 * Fails: VS_SIM_OUT_OF_MEMORY */
VS_MUST_CHECK vs_sim_error vs_sim_fault_step(vs_sim *sim, vs_sim_fault kind);

#endif
