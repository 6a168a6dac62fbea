/* vs_sim_free_set against a bit for every unit, with its invariant executed after every step. */
#include "device/sim/free_set.h"
#include "support/random.h"
#include "support/test.h"

enum { UNITS = 256, STEPS = 20000 };
#define BASE UINT64_C(0x200000000000)
#define UNIT UINT64_C(512)

typedef struct model {
  bool is_free[UNITS];
  uint64_t region; /* ranges do not merge across multiples of it, in units */
} model;

static bool all_are(const model *m, uint64_t from, uint64_t count, bool is_free) {
  for (uint64_t i = from; i < from + count; i++)
    if (i >= UNITS || m->is_free[i] != is_free) return false;
  return true;
}

/* Whether one range contains these units: they are free and in one region. */
static bool covers(const model *m, uint64_t from, uint64_t count) {
  return all_are(m, from, count, true) && from / m->region == (from + count - 1) / m->region;
}

static bool first(const model *m, uint64_t count, uint64_t alignment, uint64_t *at) {
  for (*at = 0; *at < UNITS; ++*at)
    if (*at % alignment == 0 && covers(m, *at, count)) return true;
  return false;
}

static uint32_t count_ranges(const model *m) {
  uint32_t count = 0;
  for (uint64_t i = 0; i < UNITS; i++) count += m->is_free[i] && (i % m->region == 0 || !m->is_free[i - 1]);
  return count;
}

static void play(uint64_t seed, uint64_t region) {
  fault_host fault;
  fault_host_init(&fault, FAULT_NEVER);
  test_random random = {seed};
  vs_sim_free_set set = {0};
  static model m;
  m = (model){.region = region};
  expect_ok(vs_sim_free_set_reserve(&fault.host, &set, UNITS));
  const uint64_t requests = fault.requests;
  for (uint32_t step = 0; step < STEPS; step++) {
    const uint64_t count = 1 + random_below(&random, 12), alignment = UINT64_C(1) << random_below(&random, 5);
    const uint64_t from = random_below(&random, UNITS);
    uint64_t wanted, got, sum, free_units = 0;
    assert_int_equal(vs_sim_free_set_cover(&set, BASE + from * UNIT, count * UNIT), covers(&m, from, count));
    const bool is_there = first(&m, count, alignment, &wanted);
    assert_int_equal(vs_sim_free_set_first(&set, count * UNIT, alignment * UNIT, &got), is_there);
    if (is_there) assert_int_equal(got, BASE + wanted * UNIT);
    if (is_there && random_below(&random, 3) == 0) {
      vs_sim_free_set_cut(&set, got, count * UNIT);
      for (uint64_t i = 0; i < count; i++) m.is_free[wanted + i] = false;
    } else if (covers(&m, from, count) && random_below(&random, 2) == 0) {
      vs_sim_free_set_cut(&set, BASE + from * UNIT, count * UNIT);
      for (uint64_t i = 0; i < count; i++) m.is_free[from + i] = false;
    } else if (all_are(&m, from, count, false) && from / region == (from + count - 1) / region) {
      const vs_sim_span bounds = {BASE + from / region * region * UNIT, region * UNIT};
      const vs_sim_span all =
          vs_sim_free_set_put(&set, (vs_sim_span){BASE + from * UNIT, count * UNIT}, bounds);
      for (uint64_t i = 0; i < count; i++) m.is_free[from + i] = true;
      const uint64_t start = (all.start - BASE) / UNIT, end = start + all.size / UNIT;
      assert_true(start <= from && end >= from + count && covers(&m, start, end - start));
      assert_true(start % region == 0 || !m.is_free[start - 1]); /* it grew as far as it could */
      assert_true(end % region == 0 || !m.is_free[end]);
    }
    for (uint64_t i = 0; i < UNITS; i++) free_units += m.is_free[i];
    assert_true(vs_sim_free_set_check(&set, &sum));
    assert_int_equal(sum, free_units * UNIT);
    assert_int_equal(set.count, count_ranges(&m));
  }
  assert_int_equal(fault.requests, requests); /* there was room */
  vs_sim_free_set_deinit(&fault.host, &set);
  fault_host_expect_empty(&fault);
}

static void one_region(void **state) {
  (void)state;
  play(1, UNITS);
}

static void many_regions(void **state) {
  (void)state;
  play(2, 16);
}

static void nothing_in_it(void **state) {
  (void)state;
  vs_sim_free_set set = {0};
  uint64_t start;
  assert_false(vs_sim_free_set_first(&set, 1, 1, &start));
  assert_false(vs_sim_free_set_cover(&set, 0, 1));
  assert_true(vs_sim_free_set_check(&set, NULL));
  expect_status(vs_sim_free_set_reserve(vs_host_default(), &set, UINT64_MAX), VS_LIMIT);
  vs_sim_free_set_deinit(vs_host_default(), &set);
}

/* Ranges added by rising address, the worst order for an unbalanced tree, still give a shallow tree. */
static uint32_t depth_below(const vs_sim_free_set *set, uint32_t at) {
  if (at == 0) return 0;
  const uint32_t left = depth_below(set, set->nodes.data[at].left);
  const uint32_t right = depth_below(set, set->nodes.data[at].right);
  return 1 + (left > right ? left : right);
}

static void it_stays_shallow(void **state) {
  (void)state;
  enum { COUNT = 1 << 16 };
  vs_sim_free_set set = {0};
  expect_ok(vs_sim_free_set_reserve(vs_host_default(), &set, COUNT));
  for (uint64_t i = 0; i < COUNT; i++)
    (void)vs_sim_free_set_put(&set, (vs_sim_span){BASE + 2 * i * UNIT, UNIT}, (vs_sim_span){0, UINT64_MAX});
  assert_int_equal(set.count, COUNT);
  assert_in_range(depth_below(&set, set.root), 17, 50);
  vs_sim_free_set_deinit(vs_host_default(), &set);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(one_region),
      cmocka_unit_test(many_regions),
      cmocka_unit_test(nothing_in_it),
      cmocka_unit_test(it_stays_shallow),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
