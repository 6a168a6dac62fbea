/* Every call of the memory part that asks the host for memory, with each of its requests failing once: the
 * answer is "out of memory", the process holds of the card what it held before, and nothing is left behind.
 */
#include "unit/device/sim/machine.h"

enum { ROUNDS = 40 };

static machine m;

/* One kind of call, round after round. */
typedef vs_sim_error (*call)(vs_sim *sim, uint64_t round);

static vs_sim_error call_alloc(vs_sim *sim, uint64_t round) {
  uint64_t address;
  return vs_sim_alloc(sim, 0, round % 3 == 0 ? 3 * MIB : 700 * round, &address);
}

static vs_sim_error call_managed(vs_sim *sim, uint64_t round) {
  uint64_t address;
  return vs_sim_managed_alloc(sim, 0, round * 100 * MIB, &address);
}

static vs_sim_error call_host(vs_sim *sim, uint64_t round) {
  return vs_sim_host_add(sim, round * 0x1000, 0x1000, 0, 0);
}

/* Hints leave a free range on both sides of each. */
static vs_sim_error call_reserve(vs_sim *sim, uint64_t round) {
  uint64_t address;
  return vs_sim_reserve(sim, VS_SIM_GRANULE, 0, VS_SIM_RESERVED_BASE + 2 * round * VS_SIM_GRANULE, &address);
}

static vs_sim_error call_create(vs_sim *sim, uint64_t round) {
  uint64_t handle;
  return vs_sim_physical_create(sim, 0, (1 + round % 3) * VS_SIM_GRANULE, 0, &handle);
}

/* The first round reserves and makes what the others map. */
static vs_sim_error call_map(vs_sim *sim, uint64_t round) {
  static uint64_t address, handle;
  if (round == 1) {
    VS_SIM_TRY(vs_sim_reserve(sim, (ROUNDS + 1) * VS_SIM_GRANULE, 0, 0, &address));
    VS_SIM_TRY(vs_sim_physical_create(sim, 0, VS_SIM_GRANULE, 0, &handle));
  }
  return vs_sim_map(sim, address + round * VS_SIM_GRANULE, VS_SIM_GRANULE, 0, handle);
}

static vs_sim_error call_pool(vs_sim *sim, uint64_t round) {
  uint64_t address;
  return vs_sim_pool_alloc(sim, vs_sim_pool_default(sim, 0), round * MIB, &address);
}

static vs_sim_error call_pool_create(vs_sim *sim, uint64_t round) {
  uint64_t pool;
  (void)round;
  return vs_sim_pool_create(sim, 0, 0, &pool);
}

static vs_sim_error call_ipc(vs_sim *sim, uint64_t round) {
  const vs_sim_token token = {
      .magic = 0x6b6f7476, .pid = 99, .base = round, .size = MIB, .id = round, .kind = VS_SIM_RANGE_DEVICE};
  uint64_t address;
  return vs_sim_ipc_open(sim, &token, &address);
}

static vs_sim_error call_import(vs_sim *sim, uint64_t round) {
  const vs_sim_token token = {.magic = 0x6b6f7476,
                              .pid = 99,
                              .base = round,
                              .size = 4 * MIB,
                              .id = round,
                              .kind = VS_SIM_RANGE_MAPPING};
  uint64_t handle;
  return vs_sim_physical_import(sim, &token, &handle);
}

/* The calls in one life of a view. A failed call has changed nothing that the account or the checks see,
 * except that a pool may keep a chunk it got. */
static vs_status live(const vs_host *host, void *ctx) {
  const call one = *(const call *)ctx;
  vs_sim sim;
  uint32_t slot;
  machine_begin(&m, 1, 4 * GIB);
  expect_sim_ok(vs_sim_machine_enter(&m.machine, 7, 1, &slot));
  if (vs_sim_init(&sim, host, &m.machine, slot, NULL, VS_SIM_EVENTS_AT_ONCE) != VS_SIM_OK) {
    assert_int_equal(m.machine.cards[0].used_bytes, 0);
    return VS_NO_MEMORY;
  }
  vs_sim_error error = VS_SIM_OK;
  for (uint64_t round = 1; round <= ROUNDS && error == VS_SIM_OK; round++) {
    const uint64_t before = held(&sim, 0);
    error = one(&sim, round);
    if (error != VS_SIM_OK && one != call_pool && one != call_map) assert_int_equal(held(&sim, 0), before);
    assert_true(vs_sim_check(&sim));
  }
  if (error != VS_SIM_OK) expect_sim(error, VS_SIM_OUT_OF_MEMORY);
  assert_int_equal(m.machine.cards[0].refused_count, 0); /* the card has room for all of it */
  /* Whatever happened, the end needs no memory and finds everything. */
  expect_sim_ok(vs_sim_device_reset(&sim, 0));
  assert_true(vs_sim_check(&sim));
  assert_int_equal(m.machine.cards[0].used_bytes, 0);
  vs_sim_deinit(&sim);
  return error == VS_SIM_OK ? VS_OK : VS_NO_MEMORY;
}

static void every_call_survives_every_failure(void **state) {
  (void)state;
  static call calls[] = {call_alloc, call_managed, call_host,        call_reserve, call_create,
                         call_map,   call_pool,    call_pool_create, call_ipc,     call_import};
  for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) assert_true(fault_prove(live, &calls[i]) > 3);
}

/* Giving back never asks for memory: it must succeed when there is none. */
static void giving_back_needs_nothing(void **state) {
  (void)state;
  enum { COUNT = 200 };
  static uint64_t big[COUNT], small[COUNT], pieces[COUNT], reserved[COUNT];
  machine_begin(&m, 1, 64 * GIB);
  vs_sim *sim = process_begin(&m, 7);
  for (int i = 0; i < COUNT; i++) {
    big[i] = allocated(sim, 0, 3 * MIB);
    small[i] = allocated(sim, 0, 300 * 1024);
    expect_sim_ok(vs_sim_pool_alloc(sim, vs_sim_pool_default(sim, 0), 5 * MIB, &pieces[i]));
    expect_sim_ok(vs_sim_reserve(sim, VS_SIM_GRANULE, 0, 0, &reserved[i]));
  }
  m.host.fail_at = m.host.requests; /* the very next request */
  const uint64_t requests = m.host.requests;
  for (int odd = 0; odd < 2;
       odd++) { /* first every other one, which leaves the largest number of free ranges */
    for (int i = odd; i < COUNT; i += 2) {
      expect_sim_ok(vs_sim_free(sim, big[i], NULL));
      expect_sim_ok(vs_sim_free(sim, small[i], NULL));
      expect_sim_ok(vs_sim_pool_free(sim, pieces[i]));
      expect_sim_ok(vs_sim_unreserve(sim, reserved[i], VS_SIM_GRANULE));
    }
    assert_true(vs_sim_check(sim));
  }
  vs_sim_pools_synchronize(sim, 0);
  assert_int_equal(m.host.requests, requests);
  assert_int_equal(held(sim, 0), 0);
  machine_end(&m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_call_survives_every_failure),
      cmocka_unit_test(giving_back_needs_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
