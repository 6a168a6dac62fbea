/* A machine for tests: cards of round sizes whose contexts cost 100 MiB, processes on it, and their views.
 *
 *   machine m;
 *   machine_begin(&m, 2, 1024 * MIB);     two cards
 *   vs_sim *sim = process_begin(&m, 7);   the view of process 7; at most MACHINE_PROCESSES of them
 *   ...                                   sim->host counts and spoils (support/fault_host.h)
 *   machine_end(&m);                      views end, all of the host's memory is back
 */
#ifndef VS_TESTS_MACHINE_H
#define VS_TESTS_MACHINE_H

#include "device/sim/sim.h"
#include "support/test.h"

#define MIB     (UINT64_C(1) << 20)
#define GIB     (UINT64_C(1) << 30)
#define CONTEXT (100 * MIB)

enum { MACHINE_PROCESSES = 4 };

typedef struct machine {
  vs_sim_machine machine;
  fault_host host;
  vs_sim views[MACHINE_PROCESSES];
  uint32_t view_count;
  int locks; /* how often the node is locked now: 0 or 1 */
} machine;

#define expect_sim(call, wanted) assert_int_equal((call), (wanted))
#define expect_sim_ok(call)      expect_sim(call, VS_SIM_OK)

static void machine_lock(void *ctx) { assert_int_equal(((machine *)ctx)->locks++, 0); }
static void machine_unlock(void *ctx) { assert_int_equal(--((machine *)ctx)->locks, 0); }

static inline void machine_begin(machine *m, uint32_t cards, uint64_t total) {
  vs_sim_gpu gpus[VS_SIM_MAX_DEVICES];
  for (uint32_t i = 0; i < cards; i++)
    gpus[i] = (vs_sim_gpu){.profile = vs_sim_profile_find(VS_STR("H100")),
                           .total_bytes = total,
                           .context_bytes = CONTEXT,
                           .has_context_bytes = true};
  m->view_count = 0;
  m->locks = 0;
  fault_host_init(&m->host, FAULT_NEVER);
  expect_ok(vs_sim_machine_init(&m->machine, gpus, cards));
}

static inline vs_sim *process_begin(machine *m, uint32_t pid) {
  uint32_t slot;
  vs_sim *sim = &m->views[m->view_count++];
  const vs_sim_hooks hooks = {.ctx = m, .lock_machine = machine_lock, .unlock_machine = machine_unlock};
  assert_true(m->view_count <= MACHINE_PROCESSES);
  expect_sim_ok(vs_sim_machine_enter(&m->machine, pid, 1000 + pid, &slot));
  expect_sim_ok(vs_sim_init(sim, &m->host.host, &m->machine, slot, &hooks, VS_SIM_EVENTS_AT_ONCE));
  return sim;
}

static inline void machine_end(machine *m) {
  for (uint32_t i = 0; i < m->view_count; i++) {
    assert_true(vs_sim_check(&m->views[i]));
    vs_sim_deinit(&m->views[i]);
  }
  assert_true(vs_sim_machine_check(&m->machine));
  assert_int_equal(m->locks, 0);
  fault_host_expect_empty(&m->host);
}

/* What this process holds of a card, its context apart. */
static inline uint64_t held(const vs_sim *sim, uint32_t device) {
  const vs_sim_use *use = &sim->machine->processes[sim->slot].use[device];
  return use->used_bytes - use->context_bytes;
}

/* The call has to succeed; its result. */
static inline uint64_t allocated(vs_sim *sim, uint32_t device, uint64_t size) {
  uint64_t address = 0;
  expect_sim_ok(vs_sim_alloc(sim, device, size, &address));
  return address;
}

#endif
