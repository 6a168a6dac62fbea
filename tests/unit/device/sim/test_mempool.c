#include "unit/device/sim/machine.h"

#define CHUNK    VS_SIM_POOL_CHUNK
#define FOREVER  UINT64_MAX
#define WINDOW_0 VS_SIM_WINDOW_BASE

static machine m;

static uint64_t pooled(vs_sim *sim, uint64_t pool, uint64_t size) {
  uint64_t address = 0;
  expect_sim_ok(vs_sim_pool_alloc(sim, pool, size, &address));
  return address;
}

static uint64_t figure(const vs_sim *sim, uint64_t pool, vs_sim_pool_attribute attribute) {
  uint64_t value = 0;
  expect_sim_ok(vs_sim_pool_get(sim, pool, attribute, &value));
  return value;
}

static void expect_figures(const vs_sim *sim, uint64_t pool, uint64_t used, uint64_t used_high,
                           uint64_t reserved, uint64_t reserved_high) {
  assert_int_equal(figure(sim, pool, VS_SIM_POOL_USED_CURRENT), used);
  assert_int_equal(figure(sim, pool, VS_SIM_POOL_USED_HIGH), used_high);
  assert_int_equal(figure(sim, pool, VS_SIM_POOL_RESERVED_CURRENT), reserved);
  assert_int_equal(figure(sim, pool, VS_SIM_POOL_RESERVED_HIGH), reserved_high);
}

static void pieces_come_from_chunks(void **state) {
  (void)state;
  machine_begin(&m, 1, GIB);
  vs_sim *sim = process_begin(&m, 7);
  const uint64_t pool = vs_sim_pool_default(sim, 0);
  expect_figures(sim, pool, 0, 0, 0, 0);
  const uint64_t a = pooled(sim, pool, 100), b = pooled(sim, pool, MIB);
  assert_int_equal(a, WINDOW_0);
  assert_int_equal(b, a + 512);
  assert_int_equal(held(sim, 0), CHUNK);
  expect_figures(sim, pool, MIB + 512, MIB + 512, CHUNK, CHUNK);
  const uint64_t c = pooled(sim, pool, 40 * MIB); /* not in what is left: a chunk of its own, of two units */
  assert_int_equal(c, WINDOW_0 + CHUNK);
  expect_figures(sim, pool, 41 * MIB + 512, 41 * MIB + 512, 3 * CHUNK, 3 * CHUNK);
  expect_sim_ok(vs_sim_pool_free(sim, b));
  assert_int_equal(pooled(sim, pool, 512), b); /* at once, whatever the stream */
  assert_int_equal(vs_sim_find(sim, a + 99)->base, a);
  assert_int_equal(vs_sim_find(sim, a)->kind, VS_SIM_RANGE_POOL);
  assert_int_equal(vs_sim_find(sim, a)->owner, pool);
  assert_null(vs_sim_find(sim, a + 100));
  assert_null(vs_sim_find(sim, c - 1)); /* a chunk is no answer */
  expect_sim(vs_sim_pool_free(sim, a + 1), VS_SIM_INVALID_VALUE);
  expect_sim(vs_sim_pool_free(sim, c + CHUNK), VS_SIM_INVALID_VALUE);
  expect_sim(vs_sim_pool_free(sim, allocated(sim, 0, 100)), VS_SIM_INVALID_VALUE);
  machine_end(&m);
}

static void a_synchronisation_gives_back(void **state) {
  (void)state;
  machine_begin(&m, 1, GIB);
  vs_sim *sim = process_begin(&m, 7);
  const uint64_t pool = vs_sim_pool_default(sim, 0);
  uint64_t a[4];
  for (int i = 0; i < 4; i++) a[i] = pooled(sim, pool, 20 * MIB); /* a chunk each */
  assert_int_equal(held(sim, 0), 4 * CHUNK);
  expect_sim_ok(vs_sim_pool_free(sim, a[1]));
  expect_sim_ok(vs_sim_pool_free(sim, a[2]));
  assert_int_equal(held(sim, 0), 4 * CHUNK); /* not before */
  vs_sim_pools_synchronize(sim, 1);          /* another device */
  assert_int_equal(held(sim, 0), 4 * CHUNK);
  vs_sim_pools_synchronize(sim, 0);
  assert_int_equal(held(sim, 0), 2 * CHUNK);
  expect_figures(sim, pool, 40 * MIB, 80 * MIB, 2 * CHUNK, 4 * CHUNK);
  assert_int_equal(pooled(sim, pool, 20 * MIB), a[1]);
  machine_end(&m);
}

static void the_threshold_stays(void **state) {
  (void)state;
  machine_begin(&m, 1, GIB);
  vs_sim *sim = process_begin(&m, 7);
  const uint64_t pool = vs_sim_pool_default(sim, 0);
  uint64_t a[4];
  for (int i = 0; i < 4; i++) a[i] = pooled(sim, pool, 20 * MIB);
  expect_sim_ok(vs_sim_pool_set(sim, pool, VS_SIM_POOL_RELEASE_THRESHOLD, 2 * CHUNK));
  for (int i = 0; i < 4; i++) expect_sim_ok(vs_sim_pool_free(sim, a[i]));
  vs_sim_pools_synchronize(sim, 0);
  assert_int_equal(held(sim, 0), 2 * CHUNK);
  assert_int_equal(pooled(sim, pool, 20 * MIB), a[0]); /* the low ones stayed */
  expect_sim_ok(vs_sim_pool_set(sim, pool, VS_SIM_POOL_RELEASE_THRESHOLD, FOREVER));
  vs_sim_pools_synchronize(sim, 0);
  assert_int_equal(held(sim, 0), 2 * CHUNK);
  expect_sim_ok(vs_sim_pool_trim(sim, pool, CHUNK + 1)); /* at least that stays */
  assert_int_equal(held(sim, 0), 2 * CHUNK);
  expect_sim_ok(vs_sim_pool_trim(sim, pool, 0));
  assert_int_equal(held(sim, 0), CHUNK); /* the other one is allocated */
  machine_end(&m);
}

/* Before "out of memory" the pools of the card give back what lies idle, and chunks become tight. */
static void a_full_card(void **state) {
  (void)state;
  machine_begin(&m, 1, CONTEXT + 10 * CHUNK);
  vs_sim *sim = process_begin(&m, 7);
  const uint64_t pool = vs_sim_pool_default(sim, 0);
  uint64_t other, address = 1;
  expect_sim_ok(vs_sim_pool_create(sim, 0, 0, &other));
  expect_sim_ok(vs_sim_pool_set(sim, other, VS_SIM_POOL_RELEASE_THRESHOLD, FOREVER));
  const uint64_t a = pooled(sim, other, 5 * CHUNK);
  const uint64_t b = pooled(sim, pool, 4 * CHUNK + 4 * MIB); /* five chunks */
  assert_int_equal(held(sim, 0), 10 * CHUNK);
  expect_sim_ok(vs_sim_pool_free(sim, a));
  vs_sim_pools_synchronize(sim, 0);
  assert_int_equal(held(sim, 0), 10 * CHUNK);
  const uint64_t c = pooled(sim, pool, 29 * MIB); /* no room in b's chunk: the other pool gives way */
  assert_int_equal(figure(sim, other, VS_SIM_POOL_RESERVED_CURRENT), 0);
  assert_int_equal(figure(sim, pool, VS_SIM_POOL_RESERVED_CURRENT), 6 * CHUNK);
  expect_sim_ok(vs_sim_pool_free(sim, c));
  const uint64_t d = allocated(sim, 0, 3 * CHUNK + 4 * MIB);
  expect_sim(vs_sim_pool_alloc(sim, pool, CHUNK + 29 * MIB, &address), VS_SIM_OUT_OF_MEMORY);
  assert_int_equal(address, 1);
  assert_int_equal(m.machine.cards[0].refused_count, 1); /* one refusal, however often it was tried */
  assert_int_equal(m.machine.cards[0].largest_refused_bytes, CHUNK + 30 * MIB);
  (void)pooled(sim, pool, CHUNK + 27 * MIB); /* just what there is, not a multiple of 32 MiB */
  assert_int_equal(vs_sim_machine_free_bytes(&m.machine, 0), 0);
  (void)pooled(sim, pool, 28 * MIB); /* in b's chunk */
  expect_sim(vs_sim_pool_alloc(sim, pool, MIB + 1, &address), VS_SIM_OUT_OF_MEMORY);
  expect_sim_ok(vs_sim_free(sim, d, NULL));
  expect_sim_ok(vs_sim_pool_free(sim, b));
  machine_end(&m);
}

/* A tight chunk comes before taking away what another pool keeps. */
static void what_others_keep_is_the_last_resort(void **state) {
  (void)state;
  machine_begin(&m, 1, CONTEXT + 2 * CHUNK + 12 * MIB);
  vs_sim *sim = process_begin(&m, 7);
  const uint64_t pool = vs_sim_pool_default(sim, 0);
  uint64_t other;
  expect_sim_ok(vs_sim_pool_create(sim, 0, 0, &other));
  expect_sim_ok(vs_sim_pool_set(sim, other, VS_SIM_POOL_RELEASE_THRESHOLD, FOREVER));
  expect_sim_ok(vs_sim_pool_free(sim, pooled(sim, other, 2 * CHUNK)));
  (void)pooled(sim, pool, 7 * MIB);
  assert_int_equal(figure(sim, pool, VS_SIM_POOL_RESERVED_CURRENT), 8 * MIB);
  assert_int_equal(figure(sim, other, VS_SIM_POOL_RESERVED_CURRENT), 2 * CHUNK);
  machine_end(&m);
}

/* Idle chunks are gaps without pieces. */
static void many_chunks_and_few_pieces(void **state) {
  (void)state;
  machine_begin(&m, 1, 64 * GIB);
  vs_sim *sim = process_begin(&m, 7);
  const uint64_t pool = vs_sim_pool_default(sim, 0);
  expect_sim_ok(vs_sim_pool_set(sim, pool, VS_SIM_POOL_RELEASE_THRESHOLD, FOREVER));
  for (uint64_t i = 1; i <= 50; i++) {
    expect_sim_ok(vs_sim_pool_free(sim, pooled(sim, pool, i * CHUNK - MIB)));
    assert_true(vs_sim_check(sim));
  }
  assert_int_equal(figure(sim, pool, VS_SIM_POOL_RESERVED_CURRENT), 50 * 51 / 2 * CHUNK);
  machine_end(&m);
}

static void pools_of_the_program(void **state) {
  (void)state;
  machine_begin(&m, 2, GIB);
  vs_sim *sim = process_begin(&m, 7);
  uint64_t pool, address = 1;
  assert_int_equal(vs_sim_pool_current(sim, 1), vs_sim_pool_default(sim, 1));
  assert_int_not_equal(vs_sim_pool_default(sim, 0), vs_sim_pool_default(sim, 1));
  assert_int_not_equal(vs_sim_pool_graph(sim, 1), vs_sim_pool_default(sim, 1));
  assert_int_equal(vs_sim_pool_default(sim, 2) | vs_sim_pool_graph(sim, 2) | vs_sim_pool_current(sim, 2), 0);
  expect_sim_ok(vs_sim_pool_create(sim, 1, 3 * CHUNK, &pool));
  expect_sim_ok(vs_sim_pool_make_current(sim, 1, pool));
  expect_sim(vs_sim_pool_make_current(sim, 0, pool), VS_SIM_INVALID_VALUE);
  expect_sim(vs_sim_pool_make_current(sim, 2, pool), VS_SIM_INVALID_DEVICE);
  const uint64_t a = pooled(sim, pool, CHUNK), b = pooled(sim, pool, 2 * CHUNK);
  expect_sim(vs_sim_pool_alloc(sim, pool, 512, &address), VS_SIM_OUT_OF_MEMORY); /* its own limit */
  assert_int_equal(vs_sim_find(sim, a)->device, 1);
  expect_sim_ok(vs_sim_pool_set(sim, pool, VS_SIM_POOL_RELEASE_THRESHOLD, FOREVER));
  expect_sim_ok(vs_sim_pool_destroy(sim, pool));
  assert_int_equal(vs_sim_pool_current(sim, 1), vs_sim_pool_default(sim, 1));
  expect_sim(vs_sim_pool_alloc(sim, pool, 512, &address), VS_SIM_INVALID_VALUE);
  expect_sim(vs_sim_pool_destroy(sim, pool), VS_SIM_INVALID_VALUE);
  assert_null(vs_sim_pool_find(sim, pool));
  assert_non_null(vs_sim_find(sim, a)); /* pieces stay good */
  assert_int_equal(held(sim, 1), 3 * CHUNK);
  expect_sim_ok(vs_sim_pool_free(sim, a));
  assert_true(vs_sim_check(sim));
  vs_sim_pools_synchronize(sim, 1); /* a threshold means nothing any more */
  assert_int_equal(held(sim, 1), 2 * CHUNK);
  expect_sim_ok(vs_sim_pool_free(sim, b));
  assert_int_equal(held(sim, 1), 0); /* and with the last one it is gone */
  uint64_t again;
  expect_sim_ok(vs_sim_pool_create(sim, 0, 0, &again));
  assert_int_equal(again, pool); /* its slot is used again ... */
  assert_int_equal(vs_sim_pool_find(sim, again)->device, 0);
  assert_int_equal(figure(sim, again, VS_SIM_POOL_USED_HIGH), 0); /* ... as new */
  expect_sim(vs_sim_pool_destroy(sim, vs_sim_pool_default(sim, 0)), VS_SIM_INVALID_VALUE);
  expect_sim(vs_sim_pool_destroy(sim, vs_sim_pool_graph(sim, 0)), VS_SIM_INVALID_VALUE);
  expect_sim(vs_sim_pool_create(sim, 2, 0, &pool), VS_SIM_INVALID_DEVICE);
  machine_end(&m);
}

static void an_unordered_free_synchronises(void **state) {
  (void)state;
  machine_begin(&m, 1, GIB);
  vs_sim *sim = process_begin(&m, 7);
  vs_sim_range was;
  const uint64_t a = pooled(sim, vs_sim_pool_default(sim, 0), 100);
  expect_sim_ok(vs_sim_free(sim, a, &was));
  assert_int_equal(was.kind, VS_SIM_RANGE_POOL);
  assert_int_equal(held(sim, 0), 0);
  expect_sim(vs_sim_free(sim, a, NULL), VS_SIM_INVALID_VALUE);
  machine_end(&m);
}

static void attributes(void **state) {
  (void)state;
  machine_begin(&m, 1, GIB);
  vs_sim *sim = process_begin(&m, 7);
  const uint64_t pool = vs_sim_pool_default(sim, 0);
  uint64_t value;
  for (int i = VS_SIM_POOL_REUSE_FOLLOW_EVENTS; i <= VS_SIM_POOL_REUSE_INTERNAL; i++) {
    const vs_sim_pool_attribute attribute = (vs_sim_pool_attribute)i;
    assert_int_equal(figure(sim, pool, attribute), 1);
    expect_sim_ok(vs_sim_pool_set(sim, pool, attribute, 0));
    assert_int_equal(figure(sim, pool, attribute), 0);
    expect_sim_ok(vs_sim_pool_set(sim, pool, attribute, 5));
    assert_int_equal(figure(sim, pool, attribute), 1);
  }
  assert_int_equal(figure(sim, pool, VS_SIM_POOL_RELEASE_THRESHOLD), 0);
  const uint64_t a = pooled(sim, pool, 40 * MIB);
  expect_sim_ok(vs_sim_free(sim, a, NULL));
  expect_figures(sim, pool, 0, 40 * MIB, 0, 2 * CHUNK);
  (void)pooled(sim, pool, 512);
  expect_sim_ok(vs_sim_pool_set(sim, pool, VS_SIM_POOL_USED_HIGH, 0));
  expect_figures(sim, pool, 512, 512, CHUNK, 2 * CHUNK);
  expect_sim_ok(vs_sim_pool_set(sim, pool, VS_SIM_POOL_RESERVED_HIGH, 0));
  expect_figures(sim, pool, 512, 512, CHUNK, CHUNK);
  expect_sim(vs_sim_pool_set(sim, pool, VS_SIM_POOL_USED_HIGH, 1), VS_SIM_INVALID_VALUE);
  expect_sim(vs_sim_pool_set(sim, pool, VS_SIM_POOL_RESERVED_HIGH, 1), VS_SIM_INVALID_VALUE);
  expect_sim(vs_sim_pool_set(sim, pool, VS_SIM_POOL_USED_CURRENT, 0), VS_SIM_INVALID_VALUE);
  expect_sim(vs_sim_pool_set(sim, pool, VS_SIM_POOL_RESERVED_CURRENT, 0), VS_SIM_INVALID_VALUE);
  for (int i = 0; i < 20; i++) {
    if (i >= VS_SIM_POOL_REUSE_FOLLOW_EVENTS && i <= VS_SIM_POOL_USED_HIGH) continue;
    expect_sim(vs_sim_pool_get(sim, pool, (vs_sim_pool_attribute)i, &value), VS_SIM_INVALID_VALUE);
    expect_sim(vs_sim_pool_set(sim, pool, (vs_sim_pool_attribute)i, 0), VS_SIM_INVALID_VALUE);
  }
  machine_end(&m);
}

static void what_is_no_pool(void **state) {
  (void)state;
  machine_begin(&m, 1, GIB);
  vs_sim *sim = process_begin(&m, 7);
  const uint64_t none[] = {0,
                           1,
                           UINT64_MAX,
                           VS_SIM_POOL_HANDLES + 1,
                           VS_SIM_POOL_HANDLES - 256,
                           VS_SIM_POOL_HANDLES + 256 /* of a device that is not there */,
                           VS_SIM_POOL_HANDLES + 256 * 16};
  uint64_t value;
  for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
    expect_sim(vs_sim_pool_alloc(sim, none[i], 1, &value), VS_SIM_INVALID_VALUE);
    expect_sim(vs_sim_pool_destroy(sim, none[i]), VS_SIM_INVALID_VALUE);
    expect_sim(vs_sim_pool_trim(sim, none[i], 0), VS_SIM_INVALID_VALUE);
    expect_sim(vs_sim_pool_make_current(sim, 0, none[i]), VS_SIM_INVALID_VALUE);
    expect_sim(vs_sim_pool_get(sim, none[i], VS_SIM_POOL_USED_HIGH, &value), VS_SIM_INVALID_VALUE);
    expect_sim(vs_sim_pool_set(sim, none[i], VS_SIM_POOL_USED_HIGH, 0), VS_SIM_INVALID_VALUE);
  }
  const uint64_t pool = vs_sim_pool_default(sim, 0);
  expect_sim(vs_sim_pool_alloc(sim, pool, 0, &value), VS_SIM_INVALID_VALUE);
  static const uint64_t hostile[] = {UINT64_MAX, UINT64_MAX - 511, UINT64_C(1) << 63, VS_SIM_MOST_TOTAL,
                                     VS_SIM_MOST_TOTAL + 1};
  for (size_t i = 0; i < sizeof hostile / sizeof *hostile; i++)
    expect_sim(vs_sim_pool_alloc(sim, pool, hostile[i], &value), VS_SIM_OUT_OF_MEMORY);
  machine_end(&m);
}

static void access_for_peers(void **state) {
  (void)state;
  machine_begin(&m, 2, GIB);
  vs_sim *sim = process_begin(&m, 7);
  const uint64_t pool = vs_sim_pool_default(sim, 0);
  vs_sim_access access;
  expect_sim_ok(vs_sim_pool_access_get(sim, pool, 0, &access));
  assert_int_equal(access, VS_SIM_ACCESS_READ_WRITE);
  expect_sim_ok(vs_sim_pool_access_get(sim, pool, 1, &access));
  assert_int_equal(access, VS_SIM_ACCESS_NONE);
  expect_sim_ok(vs_sim_pool_access_set(sim, pool, 1, VS_SIM_ACCESS_READ));
  expect_sim_ok(vs_sim_pool_access_get(sim, pool, 1, &access));
  assert_int_equal(access, VS_SIM_ACCESS_READ);
  expect_sim(vs_sim_pool_access_set(sim, pool, 0, VS_SIM_ACCESS_READ), VS_SIM_INVALID_VALUE);
  expect_sim(vs_sim_pool_access_set(sim, pool, 2, VS_SIM_ACCESS_READ), VS_SIM_INVALID_DEVICE);
  expect_sim(vs_sim_pool_access_get(sim, pool, 2, &access), VS_SIM_INVALID_DEVICE);
  expect_sim(vs_sim_pool_access_get(sim, pool + 1, 0, &access), VS_SIM_INVALID_VALUE);
  machine_end(&m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(pieces_come_from_chunks),
      cmocka_unit_test(a_synchronisation_gives_back),
      cmocka_unit_test(the_threshold_stays),
      cmocka_unit_test(a_full_card),
      cmocka_unit_test(what_others_keep_is_the_last_resort),
      cmocka_unit_test(many_chunks_and_few_pieces),
      cmocka_unit_test(pools_of_the_program),
      cmocka_unit_test(an_unordered_free_synchronises),
      cmocka_unit_test(attributes),
      cmocka_unit_test(what_is_no_pool),
      cmocka_unit_test(access_for_peers),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
