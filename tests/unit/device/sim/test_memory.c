#include "unit/device/sim/machine.h"

#define WINDOW(d) (VS_SIM_WINDOW_BASE + (d)*VS_SIM_WINDOW_SIZE)
#define GRANULE   VS_SIM_GRANULE

static machine m;

/* ---- the card ------------------------------------------------------------------------------------------ */

static void first_use_makes_the_context(void **state) {
  (void)state;
  machine_begin(&m, 2, GIB);
  vs_sim *sim = process_begin(&m, 7);
  uint64_t free_bytes, total;
  assert_int_equal(m.machine.cards[0].used_bytes, 0);
  expect_sim_ok(vs_sim_memory_info(sim, 1, &free_bytes, &total));
  assert_int_equal(total, GIB);
  assert_int_equal(free_bytes, GIB - CONTEXT);
  assert_int_equal(m.machine.cards[0].used_bytes, 0); /* the other card was not touched */
  (void)allocated(sim, 1, 10 * MIB);
  expect_sim_ok(vs_sim_memory_info(sim, 1, &free_bytes, &total));
  assert_int_equal(free_bytes, GIB - CONTEXT - 10 * MIB);
  expect_sim_ok(vs_sim_context_grow(sim, 1, VS_SIM_ACCOUNT_UNKNOWN, 3 * MIB));
  expect_sim_ok(vs_sim_memory_info(sim, 1, &free_bytes, &total));
  assert_int_equal(free_bytes, GIB - CONTEXT - 13 * MIB);
  expect_sim(vs_sim_context_grow(sim, 1, VS_SIM_ACCOUNT_UNKNOWN, UINT64_MAX), VS_SIM_OUT_OF_MEMORY);
  expect_sim(vs_sim_memory_info(sim, 2, &free_bytes, &total), VS_SIM_INVALID_DEVICE);
  machine_end(&m);
}

static void a_full_card_takes_no_process_in(void **state) {
  (void)state;
  machine_begin(&m, 1, GIB);
  vs_sim *a = process_begin(&m, 7), *b = process_begin(&m, 8);
  uint64_t address = 1, free_bytes, total;
  (void)allocated(a, 0, GIB - CONTEXT - 50 * MIB);
  expect_sim(vs_sim_alloc(b, 0, 1, &address), VS_SIM_OUT_OF_MEMORY);
  expect_sim(vs_sim_memory_info(b, 0, &free_bytes, &total), VS_SIM_OUT_OF_MEMORY);
  assert_int_equal(address, 1); /* untouched */
  vs_sim_machine_leave(&m.machine, a->slot);
  a->memory.windows[0].charged_bytes = 0; /* the view of a process that is gone */
  (void)allocated(b, 0, GIB - CONTEXT);
  assert_true(vs_sim_check(b));
  vs_sim_deinit(a);
  vs_sim_deinit(b);
  fault_host_expect_empty(&m.host);
}

static void peers(void **state) {
  (void)state;
  machine_begin(&m, 3, GIB);
  vs_sim *sim = process_begin(&m, 7);
  assert_true(vs_sim_peer_possible(sim, 0, 2));
  assert_false(vs_sim_peer_possible(sim, 1, 1) || vs_sim_peer_possible(sim, 0, 3));
  expect_sim(vs_sim_peer_disable(sim, 0, 2), VS_SIM_PEER_ACCESS_NOT_ENABLED);
  expect_sim_ok(vs_sim_peer_enable(sim, 0, 2));
  expect_sim(vs_sim_peer_enable(sim, 0, 2), VS_SIM_PEER_ACCESS_ALREADY_ENABLED);
  expect_sim_ok(vs_sim_peer_enable(sim, 2, 0)); /* each direction for itself */
  expect_sim_ok(vs_sim_peer_disable(sim, 0, 2));
  expect_sim(vs_sim_peer_enable(sim, 0, 0), VS_SIM_INVALID_DEVICE);
  expect_sim(vs_sim_peer_disable(sim, 7, 0), VS_SIM_INVALID_DEVICE);
  assert_int_equal(m.machine.cards[2].used_bytes, CONTEXT); /* peers are used cards */
  expect_sim_ok(vs_sim_device_reset(sim, 2));
  expect_sim(vs_sim_peer_disable(sim, 2, 0), VS_SIM_PEER_ACCESS_NOT_ENABLED);
  machine_end(&m);
}

/* ---- device memory ------------------------------------------------------------------------------------- */

static void the_lowest_addresses_that_fit(void **state) {
  (void)state;
  machine_begin(&m, 2, GIB);
  vs_sim *sim = process_begin(&m, 7);
  const uint64_t a = allocated(sim, 0, 5 * MIB), b = allocated(sim, 0, 2 * MIB),
                 c = allocated(sim, 0, 2 * MIB);
  assert_int_equal(a, WINDOW(0));
  assert_int_equal(b, WINDOW(0) + 6 * MIB);
  assert_int_equal(c, WINDOW(0) + 8 * MIB);
  assert_int_equal(allocated(sim, 1, 2 * MIB), WINDOW(1));
  assert_int_equal(held(sim, 0), 10 * MIB);
  expect_sim_ok(vs_sim_free(sim, a, NULL));
  assert_int_equal(held(sim, 0), 4 * MIB);
  assert_int_equal(allocated(sim, 0, 8 * MIB), WINDOW(0) + 10 * MIB); /* does not fit into the gap */
  assert_int_equal(allocated(sim, 0, 4 * MIB), WINDOW(0));
  assert_int_equal(allocated(sim, 0, 1 * MIB), WINDOW(0) + 4 * MIB);
  expect_sim_ok(vs_sim_free(sim, b, NULL));
  expect_sim_ok(vs_sim_free(sim, c, NULL)); /* neighbours become one gap */
  assert_int_equal(allocated(sim, 0, 4 * MIB), b);
  machine_end(&m);
}

static void small_requests_share_granules(void **state) {
  (void)state;
  machine_begin(&m, 1, GIB);
  vs_sim *sim = process_begin(&m, 7);
  const uint64_t a = allocated(sim, 0, 1), b = allocated(sim, 0, 513), c = allocated(sim, 0, MIB - 1);
  assert_int_equal(a, WINDOW(0));
  assert_int_equal(b, a + 512);
  assert_int_equal(c, a + 3 * 512);
  assert_int_equal(held(sim, 0), GRANULE);
  const uint64_t d = allocated(sim, 0, MIB - 512); /* what is left of the granule is too little */
  assert_int_equal(d, WINDOW(0) + GRANULE);
  assert_int_equal(held(sim, 0), 2 * GRANULE);
  assert_int_equal(allocated(sim, 0, MIB + 1), WINDOW(0) + 2 * GRANULE); /* not small */
  assert_int_equal(allocated(sim, 0, 512), c + MIB);
  expect_sim_ok(vs_sim_free(sim, d, NULL));
  assert_int_equal(held(sim, 0), 2 * GRANULE); /* its granule went back */
  assert_int_equal(allocated(sim, 0, GRANULE), d);
  expect_sim_ok(vs_sim_free(sim, b, NULL));
  assert_int_equal(allocated(sim, 0, 1024), b);
  machine_end(&m);
}

static void two_of_one_mebibyte_share_a_granule(void **state) {
  (void)state;
  machine_begin(&m, 1, GIB);
  vs_sim *sim = process_begin(&m, 7);
  uint64_t pieces[16]; /* on an H100 these lie 1 MiB apart and take 16 MiB */
  for (uint32_t i = 0; i < 16; i++) {
    pieces[i] = allocated(sim, 0, MIB);
    assert_int_equal(pieces[i], WINDOW(0) + i * MIB);
  }
  assert_int_equal(held(sim, 0), 16 * MIB);
  for (uint32_t i = 0; i < 16; i++) expect_sim_ok(vs_sim_free(sim, pieces[i], NULL));
  assert_int_equal(held(sim, 0), 0);
  machine_end(&m);
}

/* Pieces of neighbouring granules never become one: each granule can go back for itself. */
static void small_holes_end_at_their_granule(void **state) {
  (void)state;
  enum { PIECES = 3 * 4 };
  machine_begin(&m, 1, GIB);
  vs_sim *sim = process_begin(&m, 7);
  uint64_t pieces[PIECES];
  for (int i = 0; i < PIECES; i++) pieces[i] = allocated(sim, 0, 512 * 1024);
  assert_int_equal(held(sim, 0), 3 * GRANULE);
  for (int i = 2; i < 6; i++) expect_sim_ok(vs_sim_free(sim, pieces[i], NULL)); /* across the border */
  assert_int_equal(held(sim, 0), 3 * GRANULE);
  assert_int_equal(allocated(sim, 0, MIB - 512), pieces[2]);
  assert_int_equal(allocated(sim, 0, MIB - 512), pieces[4]);
  assert_true(vs_sim_check(sim));
  for (int i = 8; i < 12; i++) expect_sim_ok(vs_sim_free(sim, pieces[i], NULL));
  assert_int_equal(held(sim, 0), 2 * GRANULE);
  machine_end(&m);
}

static void the_card_is_the_limit(void **state) {
  (void)state;
  machine_begin(&m, 1, GIB + MIB); /* half a granule that cannot be allocated */
  vs_sim *sim = process_begin(&m, 7);
  uint64_t address = 1;
  expect_sim(vs_sim_alloc(sim, 0, GIB - CONTEXT + 1, &address), VS_SIM_OUT_OF_MEMORY);
  const uint64_t all = allocated(sim, 0, GIB - CONTEXT);
  expect_sim(vs_sim_alloc(sim, 0, 1, &address), VS_SIM_OUT_OF_MEMORY);
  expect_sim(vs_sim_alloc(sim, 0, GRANULE, &address), VS_SIM_OUT_OF_MEMORY);
  expect_sim_ok(vs_sim_free(sim, all, NULL));
  static const uint64_t hostile[] = {
      UINT64_MAX,         UINT64_MAX - GRANULE + 2, UINT64_C(1) << 63, VS_SIM_WINDOW_SIZE + 1,
      VS_SIM_WINDOW_SIZE, VS_SIM_MOST_TOTAL + 1,    VS_SIM_MOST_TOTAL};
  for (size_t i = 0; i < sizeof hostile / sizeof *hostile; i++)
    expect_sim(vs_sim_alloc(sim, 0, hostile[i], &address), VS_SIM_OUT_OF_MEMORY);
  assert_int_equal(address, 1);
  assert_int_equal(m.machine.cards[0].refused_count, 3 + sizeof hostile / sizeof *hostile);
  assert_int_equal(m.machine.cards[0].largest_refused_bytes, UINT64_MAX);
  assert_int_equal(m.machine.cards[0].peak_bytes, GIB);
  expect_sim(vs_sim_alloc(sim, 0, 0, &address), VS_SIM_INVALID_VALUE);
  expect_sim(vs_sim_alloc(sim, 1, 1, &address), VS_SIM_INVALID_DEVICE);
  machine_end(&m);
}

static void what_cannot_be_freed(void **state) {
  (void)state;
  machine_begin(&m, 1, GIB);
  vs_sim *sim = process_begin(&m, 7);
  vs_sim_range was;
  const uint64_t a = allocated(sim, 0, 5 * MIB);
  expect_sim(vs_sim_free(sim, a + 512, NULL), VS_SIM_INVALID_VALUE);
  expect_sim(vs_sim_free(sim, 0, NULL), VS_SIM_INVALID_VALUE);
  expect_sim(vs_sim_free(sim, UINT64_MAX, NULL), VS_SIM_INVALID_VALUE);
  expect_sim_ok(vs_sim_free(sim, a, &was));
  assert_int_equal(was.base, a);
  assert_int_equal(was.size, 5 * MIB);
  expect_sim(vs_sim_free(sim, a, NULL), VS_SIM_INVALID_VALUE); /* twice */
  expect_sim_ok(vs_sim_host_add(sim, 0x1000, 0x1000, 0, 0));
  expect_sim(vs_sim_free(sim, 0x1000, NULL), VS_SIM_INVALID_VALUE);
  machine_end(&m);
}

static void any_inner_address_finds_the_range(void **state) {
  (void)state;
  machine_begin(&m, 2, GIB);
  vs_sim *sim = process_begin(&m, 7);
  const uint64_t a = allocated(sim, 1, 3 * MIB), b = allocated(sim, 1, 4 * MIB), c = allocated(sim, 1, 100);
  const vs_sim_range *range = vs_sim_find(sim, a + 3 * MIB - 1);
  assert_non_null(range);
  assert_int_equal(range->base, a);
  assert_int_equal(range->size, 3 * MIB);
  assert_int_equal(range->device, 1);
  assert_int_equal(range->kind, VS_SIM_RANGE_DEVICE);
  assert_int_equal(range->id, 1);
  assert_null(vs_sim_find(sim, a + 3 * MIB)); /* behind the requested bytes, before the next one */
  assert_null(vs_sim_find(sim, a - 1));
  assert_int_equal(vs_sim_find(sim, b)->id, 2);
  assert_int_equal(vs_sim_find(sim, c + 99)->base, c);
  assert_null(vs_sim_find(sim, c + 100));
  vs_sim_find_mutable(sim, b + 1)->user = 42;
  assert_int_equal(vs_sim_find(sim, b + 4 * MIB - 1)->user, 42);
  expect_sim_ok(vs_sim_free(sim, b, NULL));
  assert_null(vs_sim_find(sim, b));
  assert_int_equal(allocated(sim, 1, 4 * MIB), b);
  assert_int_equal(vs_sim_find(sim, b)->id, 4); /* the same address, another range */
  assert_int_equal(vs_sim_find(sim, b)->user, 0);
  machine_end(&m);
}

static void managed_memory_costs_the_card_nothing(void **state) {
  (void)state;
  machine_begin(&m, 1, GIB);
  vs_sim *sim = process_begin(&m, 7);
  uint64_t a, b;
  expect_sim_ok(vs_sim_managed_alloc(sim, 0, 4 * GIB + 1, &a)); /* more than the card has */
  expect_sim_ok(vs_sim_managed_alloc(sim, 0, 10, &b));
  assert_int_equal(a, WINDOW(0));
  assert_int_equal(b, WINDOW(0) + 4 * GIB + GRANULE);
  assert_int_equal(held(sim, 0), 0);
  assert_int_equal(sim->memory.windows[0].managed_bytes, 4 * GIB + 11);
  assert_int_equal(vs_sim_find(sim, a + 4 * GIB)->kind, VS_SIM_RANGE_MANAGED);
  expect_sim_ok(vs_sim_free(sim, a, NULL));
  assert_int_equal(sim->memory.windows[0].managed_bytes, 10);
  expect_sim(vs_sim_managed_alloc(sim, 0, 0, &a), VS_SIM_INVALID_VALUE);
  expect_sim(vs_sim_managed_alloc(sim, 0, UINT64_MAX, &a), VS_SIM_OUT_OF_MEMORY);
  expect_sim(vs_sim_managed_alloc(sim, 0, VS_SIM_WINDOW_SIZE, &a), VS_SIM_OUT_OF_MEMORY); /* no room left */
  expect_sim(vs_sim_managed_alloc(sim, 3, 1, &a), VS_SIM_INVALID_DEVICE);
  machine_end(&m);
}

/* The same calls give the same addresses, whatever the machine is. */
static uint64_t addresses_of_a_program(void) {
  uint64_t hash = 0, live[16] = {0};
  machine_begin(&m, 1, 8 * GIB);
  vs_sim *sim = process_begin(&m, 7);
  for (uint64_t i = 0; i < 2000; i++) {
    uint64_t *slot = &live[vs_hash_u64(i) % 16];
    if (*slot != 0) expect_sim_ok(vs_sim_free(sim, *slot, NULL));
    *slot = allocated(sim, 0, 1 + vs_hash_u64(i + 1) % (20 * MIB) / (1 + i % 50));
    hash = vs_hash_mix(hash ^ *slot, UINT64_C(0x8bb84b93962eacc9));
  }
  machine_end(&m);
  return hash;
}

static void equal_programs_get_equal_addresses(void **state) {
  (void)state;
  const uint64_t once = addresses_of_a_program();
  assert_int_equal(addresses_of_a_program(), once);
}

/* ---- host memory --------------------------------------------------------------------------------------- */

static void host_memory(void **state) {
  (void)state;
  machine_begin(&m, 1, GIB);
  vs_sim *sim = process_begin(&m, 7);
  const uint64_t base = UINT64_C(0x7f0000001000);
  vs_sim_range was;
  expect_sim_ok(vs_sim_host_add(sim, base, 0x3000, 5, 77));
  assert_int_equal(vs_sim_find(sim, base + 0x2fff)->kind, VS_SIM_RANGE_HOST);
  assert_int_equal(vs_sim_find(sim, base)->device, VS_SIM_NO_DEVICE_ID);
  assert_int_equal(m.machine.cards[0].used_bytes, 0);
  static const struct {
    int64_t from;
    uint64_t size;
  } meeting[] = {{0, 0x3000}, {0x1000, 1}, {-0x1000, 0x1001}, {0x2fff, 0x1000}, {-0x1000, 0x9000}};
  for (size_t i = 0; i < sizeof meeting / sizeof *meeting; i++)
    expect_sim(vs_sim_host_add(sim, base + (uint64_t)meeting[i].from, meeting[i].size, 0, 0),
               VS_SIM_HOST_MEMORY_ALREADY_REGISTERED);
  expect_sim_ok(vs_sim_host_add(sim, base - 0x1000, 0x1000, 0, 0)); /* touching is not meeting */
  expect_sim_ok(vs_sim_host_add(sim, base + 0x3000, 0x1000, 0, 0));
  expect_sim(vs_sim_host_remove(sim, base + 1, NULL), VS_SIM_HOST_MEMORY_NOT_REGISTERED);
  expect_sim_ok(vs_sim_host_remove(sim, base, &was));
  assert_int_equal(was.user, 77);
  assert_int_equal(was.flags, 5);
  expect_sim(vs_sim_host_remove(sim, base, NULL), VS_SIM_HOST_MEMORY_NOT_REGISTERED);
  const uint64_t device = allocated(sim, 0, 100);
  expect_sim(vs_sim_host_remove(sim, device, NULL), VS_SIM_HOST_MEMORY_NOT_REGISTERED);
  machine_end(&m);
}

static void what_is_no_host_memory(void **state) {
  (void)state;
  machine_begin(&m, 1, GIB);
  vs_sim *sim = process_begin(&m, 7);
  static const struct {
    uint64_t address, size;
  } bad[] = {{0, 1},
             {0x1000, 0},
             {0x1000, UINT64_MAX},
             {UINT64_MAX, 2},
             {VS_SIM_WINDOW_BASE, 1},
             {VS_SIM_WINDOW_BASE - 1, 2},
             {VS_SIM_RESERVED_END - 1, 1},
             {0x1000, VS_SIM_RESERVED_END}};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    expect_sim(vs_sim_host_add(sim, bad[i].address, bad[i].size, 0, 0), VS_SIM_INVALID_VALUE);
  expect_sim_ok(vs_sim_host_add(sim, VS_SIM_WINDOW_BASE - 1, 1, 0, 0));
  expect_sim_ok(vs_sim_host_add(sim, VS_SIM_RESERVED_END, 1, 0, 0));
  expect_sim_ok(vs_sim_host_add(sim, UINT64_MAX - 1, 1, 0, 0));
  machine_end(&m);
}

/* ---- between processes --------------------------------------------------------------------------------- */

static void another_process_memory(void **state) {
  (void)state;
  machine_begin(&m, 2, GIB);
  vs_sim *a = process_begin(&m, 7), *b = process_begin(&m, 8);
  vs_sim_token token;
  uint64_t first, second, third;
  (void)allocated(a, 1, 2 * MIB);
  const uint64_t address = allocated(a, 1, 5 * MIB);
  expect_sim_ok(vs_sim_ipc_export(a, address + 12345, &token));
  expect_sim_ok(vs_sim_ipc_open(b, &token, &first));
  assert_int_equal(m.machine.cards[1].used_bytes,
                   CONTEXT + 8 * MIB); /* no context of the one that opens it */
  expect_sim_ok(vs_sim_ipc_close(b, first));
  const uint64_t own = allocated(b, 1, 2 * MIB);
  assert_int_equal(sizeof token, 64);
  assert_int_equal(token.base, address);
  assert_int_equal(token.pid, 7);
  expect_sim(vs_sim_ipc_open(a, &token, &first), VS_SIM_INVALID_CONTEXT);
  expect_sim_ok(vs_sim_ipc_open(b, &token, &first));
  assert_int_equal(first, own + 2 * MIB);
  const vs_sim_range *range = vs_sim_find(b, first + 5 * MIB - 1);
  assert_int_equal(range->kind, VS_SIM_RANGE_IMPORTED);
  assert_int_equal(range->size, 5 * MIB);
  assert_int_equal(range->device, 1);
  assert_int_equal(held(b, 1), 2 * MIB); /* charged to the other one */
  expect_sim_ok(vs_sim_ipc_open(b, &token, &second));
  assert_int_equal(second, first);
  expect_sim_ok(vs_sim_ipc_close(b, first));
  assert_non_null(vs_sim_find(b, first));
  expect_sim(vs_sim_free(b, first, NULL), VS_SIM_INVALID_VALUE);
  expect_sim(vs_sim_ipc_export(b, first, &token), VS_SIM_INVALID_VALUE); /* it is not its own to share */
  expect_sim_ok(vs_sim_ipc_close(b, first));
  assert_null(vs_sim_find(b, first));
  expect_sim(vs_sim_ipc_close(b, first), VS_SIM_INVALID_VALUE);
  token.started++; /* an earlier process of the same number */
  expect_sim_ok(vs_sim_ipc_open(a, &token, &first));
  expect_sim_ok(vs_sim_ipc_close(a, first));
  /* Freed and made again at the same address: another range. */
  expect_sim_ok(vs_sim_ipc_export(a, address, &token));
  expect_sim_ok(vs_sim_ipc_open(b, &token, &first));
  expect_sim_ok(vs_sim_free(a, address, NULL));
  assert_int_equal(allocated(a, 1, 5 * MIB), address);
  expect_sim_ok(vs_sim_ipc_export(a, address, &token));
  expect_sim_ok(vs_sim_ipc_open(b, &token, &third));
  assert_int_not_equal(third, first);
  machine_end(&m);
}

static void what_is_no_token(void **state) {
  (void)state;
  machine_begin(&m, 2, GIB);
  vs_sim *a = process_begin(&m, 7), *b = process_begin(&m, 8);
  vs_sim_token token, bad;
  uint64_t address;
  expect_sim(vs_sim_ipc_export(a, 0x1000, &token), VS_SIM_INVALID_VALUE);
  expect_sim_ok(vs_sim_managed_alloc(a, 0, 10, &address));
  expect_sim(vs_sim_ipc_export(a, address, &token), VS_SIM_INVALID_VALUE);
  expect_sim_ok(vs_sim_ipc_export(a, allocated(a, 0, 10), &token));
  memset(&bad, 0, sizeof bad);
  expect_sim(vs_sim_ipc_open(b, &bad, &address), VS_SIM_INVALID_VALUE);
  bad = token, bad.card = 2;
  expect_sim(vs_sim_ipc_open(b, &bad, &address), VS_SIM_INVALID_VALUE);
  bad = token, bad.size = 0;
  expect_sim(vs_sim_ipc_open(b, &bad, &address), VS_SIM_INVALID_VALUE);
  bad = token, bad.size = UINT64_MAX;
  expect_sim(vs_sim_ipc_open(b, &bad, &address), VS_SIM_INVALID_VALUE);
  bad = token, bad.kind = VS_SIM_RANGE_MAPPING;
  expect_sim(vs_sim_ipc_open(b, &bad, &address), VS_SIM_INVALID_VALUE);
  uint64_t handle;
  expect_sim(vs_sim_physical_import(b, &token, &handle), VS_SIM_INVALID_VALUE);
  machine_end(&m);
}

/* ---- the whole ----------------------------------------------------------------------------------------- */

static void one_of_each_kind(vs_sim *sim, uint32_t device, const vs_sim_token *token) {
  uint64_t address, handle, pool;
  (void)allocated(sim, device, 5 * MIB);
  (void)allocated(sim, device, 100);
  expect_sim_ok(vs_sim_managed_alloc(sim, device, 100, &address));
  expect_sim_ok(vs_sim_reserve(sim, 4 * GRANULE, 0, 0, &address));
  expect_sim_ok(vs_sim_physical_create(sim, device, GRANULE, 0, &handle));
  expect_sim_ok(vs_sim_map(sim, address, GRANULE, 0, handle));
  expect_sim_ok(vs_sim_physical_create(sim, device, GRANULE, 0, &handle));
  expect_sim_ok(vs_sim_map(sim, address + GRANULE, GRANULE, 0, handle));
  expect_sim_ok(vs_sim_physical_release(sim, handle));
  expect_sim_ok(vs_sim_pool_alloc(sim, vs_sim_pool_default(sim, device), 100, &address));
  expect_sim_ok(vs_sim_pool_create(sim, device, 0, &pool));
  expect_sim_ok(vs_sim_pool_alloc(sim, pool, 100, &address));
  expect_sim_ok(vs_sim_pool_make_current(sim, device, pool));
  expect_sim_ok(vs_sim_pool_destroy(sim, pool));
  expect_sim_ok(vs_sim_ipc_open(sim, token, &address));
}

static void count_kinds(void *ctx, const vs_sim_range *range) {
  assert_in_range(range->kind, VS_SIM_RANGE_DEVICE, VS_SIM_RANGE_IMPORTED);
  ++((int *)ctx)[range->kind];
}

static void a_reset_takes_all_of_one_device(void **state) {
  (void)state;
  machine_begin(&m, 2, GIB);
  vs_sim *other = process_begin(&m, 8), *sim = process_begin(&m, 7);
  vs_sim_token token;
  expect_sim_ok(vs_sim_ipc_export(other, allocated(other, 0, 10), &token));
  one_of_each_kind(sim, 0, &token);
  token.card = 1;
  token.id++;
  one_of_each_kind(sim, 1, &token);
  expect_sim_ok(vs_sim_host_add(sim, 0x1000, 0x1000, 0, 0));
  assert_true(vs_sim_check(sim));
  const uint64_t used = m.machine.cards[1].used_bytes;
  expect_sim_ok(vs_sim_device_reset(sim, 0));
  assert_true(vs_sim_check(sim));
  assert_int_equal(m.machine.cards[0].used_bytes, CONTEXT + GRANULE); /* the other process' */
  assert_int_equal(m.machine.cards[1].used_bytes, used);
  int kinds[8] = {0};
  vs_sim_for_each_range(sim, count_kinds, kinds);
  assert_int_equal(kinds[VS_SIM_RANGE_DEVICE], 2);
  assert_int_equal(kinds[VS_SIM_RANGE_MANAGED], 1);
  assert_int_equal(kinds[VS_SIM_RANGE_HOST], 1);
  assert_int_equal(kinds[VS_SIM_RANGE_POOL], 2);
  assert_int_equal(kinds[VS_SIM_RANGE_MAPPING], 2);
  assert_int_equal(kinds[VS_SIM_RANGE_IMPORTED], 1);
  token.card = 0;
  one_of_each_kind(sim, 0, &token); /* it is as new */
  expect_sim(vs_sim_device_reset(sim, 2), VS_SIM_INVALID_DEVICE);
  machine_end(&m);
}

/* ---- hooks and cards ----------------------------------------------------------------------------------- */

typedef struct heard {
  vs_sim_machine *machine;
  uint32_t dead; /* the slot that leaves when memory is needed; UINT32_MAX: none */
  uint32_t asked, device;
  uint64_t bytes;
  uint32_t gone;
  vs_sim_range last;
} heard;

static void make_room(void *ctx, uint32_t device, uint64_t bytes) {
  heard *h = ctx;
  h->asked++;
  h->device = device;
  h->bytes = bytes;
  if (h->dead != UINT32_MAX) vs_sim_machine_leave(h->machine, h->dead);
}

static void gone(void *ctx, const vs_sim_range *range) {
  heard *h = ctx;
  h->gone++;
  h->last = *range;
}

static void a_card_asks_for_room_before_it_refuses(void **state) {
  (void)state;
  machine_begin(&m, 1, GIB);
  vs_sim *sim = process_begin(&m, 7);
  uint64_t address;
  uint32_t dead;
  heard h = {.machine = &m.machine};
  expect_sim_ok(vs_sim_machine_enter(&m.machine, 9, 1, &dead));
  expect_sim_ok(vs_sim_machine_take(&m.machine, dead, 0, VS_SIM_ACCOUNT_UNKNOWN, GIB - 50 * MIB));
  sim->hooks = (vs_sim_hooks){.ctx = &h, .make_room = make_room};
  h.dead = dead;
  (void)allocated(sim, 0, 10 * MIB); /* the context had no room either */
  assert_int_equal(h.asked, 1);
  assert_int_equal(h.bytes, CONTEXT);
  h.dead = UINT32_MAX;
  (void)allocated(sim, 0, 10 * MIB);
  assert_int_equal(h.asked, 1); /* there is enough memory: the hook is not called */
  assert_int_equal(m.machine.cards[0].refused_count, 0);
  expect_sim(vs_sim_alloc(sim, 0, GIB, &address), VS_SIM_OUT_OF_MEMORY);
  assert_int_equal(h.asked, 2);
  assert_int_equal(h.bytes, GIB);
  expect_sim(vs_sim_context_grow(sim, 0, VS_SIM_ACCOUNT_UNKNOWN, 2 * GIB), VS_SIM_OUT_OF_MEMORY);
  assert_int_equal(h.bytes, 2 * GIB);
  assert_int_equal(m.machine.cards[0].refused_count, 2);
  machine_end(&m);
}

static void every_end_of_a_range_is_told(void **state) {
  (void)state;
  machine_begin(&m, 1, GIB);
  vs_sim *other = process_begin(&m, 8), *sim = process_begin(&m, 7);
  heard h = {0};
  vs_sim_token token;
  uint64_t address, pooled_at, handle;
  expect_sim_ok(vs_sim_ipc_export(other, allocated(other, 0, 10), &token));
  sim->hooks = (vs_sim_hooks){.ctx = &h, .gone = gone};
  const uint64_t a = allocated(sim, 0, 5 * MIB);
  expect_sim(vs_sim_alloc(sim, 0, GIB, &address), VS_SIM_OUT_OF_MEMORY);
  expect_sim(vs_sim_alloc(sim, 0, UINT64_MAX, &address), VS_SIM_OUT_OF_MEMORY);
  expect_sim(vs_sim_free(sim, a + 1, NULL), VS_SIM_INVALID_VALUE);
  assert_int_equal(h.gone, 0); /* what never was is not gone */
  vs_sim_find_mutable(sim, a)->user = 42;
  expect_sim_ok(vs_sim_free(sim, a, NULL));
  assert_int_equal(h.gone, 1);
  assert_int_equal(h.last.base, a);
  assert_int_equal(h.last.user, 42);
  expect_sim_ok(vs_sim_managed_alloc(sim, 0, 100, &address));
  expect_sim_ok(vs_sim_free(sim, address, NULL));
  assert_int_equal(h.last.kind, VS_SIM_RANGE_MANAGED);
  expect_sim_ok(vs_sim_host_add(sim, 0x1000, 0x1000, 0, 0));
  expect_sim_ok(vs_sim_host_remove(sim, 0x1000, NULL));
  assert_int_equal(h.last.kind, VS_SIM_RANGE_HOST);
  expect_sim_ok(vs_sim_ipc_open(sim, &token, &address));
  expect_sim_ok(vs_sim_ipc_close(sim, address));
  assert_int_equal(h.last.kind, VS_SIM_RANGE_IMPORTED);
  expect_sim_ok(vs_sim_pool_alloc(sim, vs_sim_pool_default(sim, 0), 100, &pooled_at));
  expect_sim_ok(vs_sim_pool_free(sim, pooled_at));
  assert_int_equal(h.last.kind, VS_SIM_RANGE_POOL);
  expect_sim_ok(vs_sim_reserve(sim, 4 * GRANULE, 0, 0, &address));
  expect_sim_ok(vs_sim_physical_create(sim, 0, GRANULE, 0, &handle));
  expect_sim_ok(vs_sim_map(sim, address, GRANULE, 0, handle));
  expect_sim_ok(vs_sim_unmap(sim, address, GRANULE));
  assert_int_equal(h.last.kind, VS_SIM_RANGE_MAPPING);
  assert_int_equal(h.gone, 6);
  expect_sim_ok(vs_sim_unreserve(sim, address, 4 * GRANULE));
  vs_sim_pools_synchronize(sim, 0);
  assert_int_equal(h.gone, 6); /* addresses and chunks are nothing that could be found */
  one_of_each_kind(sim, 0, &token);
  expect_sim_ok(vs_sim_device_reset(sim, 0));
  assert_int_equal(h.gone, 6 + 8); /* of each kind, two of device, mapped and pooled */
  machine_end(&m);
}

/* CUDA_VISIBLE_DEVICES=2,0: device 0 of this process is card 2. */
static void a_process_may_see_some_cards(void **state) {
  (void)state;
  static const uint32_t cards[] = {2, 0}, others[] = {1, 2};
  machine_begin(&m, 3, GIB);
  vs_sim *a = process_begin(&m, 7), *b = process_begin(&m, 8);
  vs_sim_token token;
  uint64_t address, free_bytes, total, handle;
  expect_sim_ok(vs_sim_show(a, cards, 2));
  expect_sim_ok(vs_sim_show(b, others, 2));
  assert_int_equal(allocated(a, 0, 4 * MIB), WINDOW(0));              /* addresses follow devices, */
  assert_int_equal(m.machine.cards[2].used_bytes, CONTEXT + 4 * MIB); /* accounts follow cards */
  assert_int_equal(m.machine.cards[0].used_bytes, 0);
  expect_sim_ok(vs_sim_memory_info(a, 1, &free_bytes, &total));
  assert_int_equal(m.machine.cards[0].used_bytes, CONTEXT);
  expect_sim(vs_sim_alloc(a, 2, 1, &address), VS_SIM_INVALID_DEVICE);
  expect_sim_ok(vs_sim_ipc_export(a, WINDOW(0), &token));
  expect_sim_ok(vs_sim_ipc_open(b, &token, &address));
  assert_int_equal(vs_sim_find(b, address)->device, 1); /* card 2 is its device 1 */
  expect_sim_ok(vs_sim_ipc_export(a, allocated(a, 1, 100), &token));
  expect_sim(vs_sim_ipc_open(b, &token, &address), VS_SIM_INVALID_VALUE); /* a card that it does not see */
  expect_sim_ok(vs_sim_physical_create(a, 0, GRANULE, 0, &handle));
  expect_sim_ok(vs_sim_physical_export(a, handle, &token));
  expect_sim_ok(vs_sim_physical_import(b, &token, &handle));
  assert_int_equal(vs_sim_physical_find(b, handle)->device, 1);
  assert_true(vs_sim_check(a) && vs_sim_check(b));
  expect_sim_ok(vs_sim_device_reset(a, 0));
  assert_int_equal(m.machine.cards[2].used_bytes,
                   0);                    /* opening and importing made no context of the other one */
  expect_sim_ok(vs_sim_show(b, NULL, 0)); /* no card at all */
  expect_sim(vs_sim_alloc(b, 0, 1, &address), VS_SIM_INVALID_DEVICE);
  machine_end(&m);
}

/* ---- faults -------------------------------------------------------------------------------------------- */

static void the_nth_call_fails(void **state) {
  (void)state;
  machine_begin(&m, 1, GIB);
  vs_sim *sim = process_begin(&m, 7);
  uint64_t address;
  (void)allocated(sim, 0, 100);
  vs_sim_fault_set(sim, VS_SIM_FAULT_ALLOC, 3);
  (void)allocated(sim, 0, 100);
  (void)allocated(sim, 0, 100);
  expect_sim(vs_sim_alloc(sim, 0, 100, &address), VS_SIM_OUT_OF_MEMORY);
  (void)allocated(sim, 0, 100);
  vs_sim_fault_set(sim, VS_SIM_FAULT_ALLOC, 1);
  vs_sim_fault_set(sim, VS_SIM_FAULT_ALLOC, 0); /* or not */
  (void)allocated(sim, 0, 100);
  vs_sim_fault_set(sim, VS_SIM_FAULT_ALLOC, UINT64_MAX);
  (void)allocated(sim, 0, 100);
  assert_int_equal(sim->faults.calls[VS_SIM_FAULT_ALLOC], 7);
  assert_int_equal(m.machine.cards[0].refused_count, 0); /* the card had room */
  machine_end(&m);
}

static void every_kind_can_fail(void **state) {
  (void)state;
  machine_begin(&m, 1, GIB);
  vs_sim *sim = process_begin(&m, 7);
  const vs_sim_token token = {0};
  uint64_t x;
  for (int kind = 0; kind < VS_SIM_FAULT_COUNT; kind++) vs_sim_fault_set(sim, (vs_sim_fault)kind, 1);
  expect_sim(vs_sim_context_use(sim, 0), VS_SIM_OUT_OF_MEMORY);
  expect_sim_ok(vs_sim_context_use(sim, 0));
  expect_sim(vs_sim_alloc(sim, 0, 1, &x), VS_SIM_OUT_OF_MEMORY);
  expect_sim(vs_sim_managed_alloc(sim, 0, 1, &x), VS_SIM_OUT_OF_MEMORY);
  expect_sim(vs_sim_host_add(sim, 0x1000, 1, 0, 0), VS_SIM_OUT_OF_MEMORY);
  expect_sim(vs_sim_reserve(sim, GRANULE, 0, 0, &x), VS_SIM_OUT_OF_MEMORY);
  expect_sim(vs_sim_physical_create(sim, 0, GRANULE, 0, &x), VS_SIM_OUT_OF_MEMORY);
  expect_sim(vs_sim_map(sim, 0, 0, 0, 0), VS_SIM_OUT_OF_MEMORY);
  expect_sim(vs_sim_pool_alloc(sim, vs_sim_pool_default(sim, 0), 1, &x), VS_SIM_OUT_OF_MEMORY);
  expect_sim(vs_sim_pool_create(sim, 0, 0, &x), VS_SIM_OUT_OF_MEMORY);
  expect_sim(vs_sim_ipc_open(sim, &token, &x), VS_SIM_OUT_OF_MEMORY);
  assert_int_equal(held(sim, 0), 0);
  machine_end(&m);
}

static void delays_move_the_clock(void **state) {
  (void)state;
  machine_begin(&m, 1, GIB);
  vs_sim *sim = process_begin(&m, 7);
  const uint64_t before = sim->streams.clock_ns;
  vs_sim_delay_set(sim, VS_SIM_FAULT_ALLOC, 1500);
  (void)allocated(sim, 0, 1);
  (void)allocated(sim, 0, 1);
  assert_int_equal(sim->streams.clock_ns, before + 3000);
  machine_end(&m);
}

static void faults_in_words(void **state) {
  (void)state;
  vs_sim_fault kind;
  vs_error error;
  uint64_t n;
  char text[40];
  for (int i = 0; i < VS_SIM_FAULT_COUNT; i++) {
    vs_format(text, sizeof text, "%s:%d", vs_sim_fault_word((vs_sim_fault)i), i + 1);
    expect_ok(vs_sim_fault_parse(vs_str_from(text), &kind, &n, &error));
    assert_int_equal(kind, i);
    assert_int_equal(n, i + 1);
    assert_true(strlen(vs_sim_fault_what(kind)) > 3);
  }
  expect_status(vs_sim_fault_parse(VS_STR("alloc"), &kind, &n, &error), VS_BAD_ARGUMENT);
  assert_string_equal(error.text, "a fault is written KIND:N, like alloc:3");
  assert_int_equal(error.offset, 5);
  expect_status(vs_sim_fault_parse(VS_STR("pool:0"), &kind, &n, NULL), VS_BAD_ARGUMENT);
  expect_status(vs_sim_fault_parse(VS_STR("pool:x"), &kind, &n, NULL), VS_BAD_ARGUMENT);
  expect_status(vs_sim_fault_parse(VS_STR("allok:3"), &kind, &n, &error), VS_BAD_ARGUMENT);
  assert_true(
      vs_str_starts(vs_str_from(error.text), VS_STR("there is no fault 'allok'; there is alloc, managed")));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(first_use_makes_the_context),
      cmocka_unit_test(a_full_card_takes_no_process_in),
      cmocka_unit_test(peers),
      cmocka_unit_test(the_lowest_addresses_that_fit),
      cmocka_unit_test(small_requests_share_granules),
      cmocka_unit_test(two_of_one_mebibyte_share_a_granule),
      cmocka_unit_test(small_holes_end_at_their_granule),
      cmocka_unit_test(the_card_is_the_limit),
      cmocka_unit_test(what_cannot_be_freed),
      cmocka_unit_test(any_inner_address_finds_the_range),
      cmocka_unit_test(managed_memory_costs_the_card_nothing),
      cmocka_unit_test(equal_programs_get_equal_addresses),
      cmocka_unit_test(host_memory),
      cmocka_unit_test(what_is_no_host_memory),
      cmocka_unit_test(another_process_memory),
      cmocka_unit_test(what_is_no_token),
      cmocka_unit_test(a_reset_takes_all_of_one_device),
      cmocka_unit_test(a_card_asks_for_room_before_it_refuses),
      cmocka_unit_test(every_end_of_a_range_is_told),
      cmocka_unit_test(a_process_may_see_some_cards),
      cmocka_unit_test(the_nth_call_fails),
      cmocka_unit_test(every_kind_can_fail),
      cmocka_unit_test(delays_move_the_clock),
      cmocka_unit_test(faults_in_words),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
