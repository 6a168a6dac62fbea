/* vs_rankset against a plain array, for bounds on both sides of each level. */
#include "analyze/rankset.h"
#include "support/random.h"
#include "support/test.h"

enum { LARGEST = 64 * 64 * 64 + 70, STEPS = 3000 };

static bool model[LARGEST];

static void expect_neighbours(const vs_rankset *set, uint32_t bound, uint32_t number) {
  uint32_t below = number, above = number + 1, got;
  while (below > 0 && !model[below - 1]) below--;
  while (above < bound && !model[above]) above++;
  assert_int_equal(vs_rankset_before(set, number, &got), below > 0);
  if (below > 0) assert_int_equal(got, below - 1);
  assert_int_equal(vs_rankset_after(set, number, &got), above < bound);
  if (above < bound) assert_int_equal(got, above);
}

static void try_bound(uint32_t bound, uint32_t step) {
  const vs_host *host = vs_host_default();
  test_random random = {bound};
  vs_rankset set;
  expect_ok(vs_rankset_init(host, bound, &set));
  memset(model, 0, sizeof model);
  for (int i = 0; i < STEPS; i++) {
    const uint32_t number =
        (uint32_t)random_below(&random, bound) / step * step; /* sparse where step is large */
    assert_int_equal(vs_rankset_has(&set, number), model[number]);
    if (!model[number]) vs_rankset_put(&set, number);
    else vs_rankset_remove(&set, number);
    model[number] = !model[number];
    if (i % 16 == 0) expect_neighbours(&set, bound, number);
    if (i % 16 == 0) expect_neighbours(&set, bound, (uint32_t)random_below(&random, bound));
  }
  expect_neighbours(&set, bound, bound - 1);
  expect_neighbours(&set, bound, bound); /* behind the last */
  vs_rankset_deinit(host, &set);
}

static void test_against_an_array(void **state) {
  (void)state;
  static const uint32_t bounds[] = {1, 2, 63, 64, 65, 4095, 4096, 4097, LARGEST};
  for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++) {
    try_bound(bounds[i], 1);
    try_bound(bounds[i], 1 + bounds[i] / 5);
  }
}

static void test_empty(void **state) {
  (void)state;
  vs_rankset set;
  uint32_t got;
  expect_ok(vs_rankset_init(vs_host_default(), 0, &set));
  assert_false(vs_rankset_before(&set, 0, &got));
  assert_false(vs_rankset_after(&set, 0, &got));
  vs_rankset_deinit(vs_host_default(), &set);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_against_an_array),
      cmocka_unit_test(test_empty),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
