/* vs_ranges against one bit for each address. */
#include "analyze/ranges.h"
#include "support/random.h"
#include "support/test.h"

enum { ADDRESSES = 96, STEPS = 4000 };

static bool model_any(const bool *model, uint64_t start, uint64_t end) {
  for (uint64_t i = start; i < end; i++)
    if (model[i]) return true;
  return false;
}

static bool model_all(const bool *model, uint64_t start, uint64_t end) {
  for (uint64_t i = start; i < end; i++)
    if (!model[i]) return false;
  return true;
}

static void expect_same(const vs_ranges *ranges, const bool *model) {
  assert_true(vs_ordmap_check(&ranges->by_start));
  uint64_t at = 0;
  for (vs_ordmap_pos pos = vs_ordmap_begin(); !vs_ordmap_at_end(&ranges->by_start, pos);
       pos = vs_ordmap_next(&ranges->by_start, pos)) {
    const vs_range range = ranges->list.data[vs_ordmap_value(&ranges->by_start, pos)];
    assert_int_equal(range.start, vs_ordmap_key(&ranges->by_start, pos));
    assert_true(range.start < range.end);
    assert_true(at == 0 || range.start > at); /* a gap of one at least: else they were joined */
    assert_false(model_any(model, at, range.start));
    assert_true(model_all(model, range.start, range.end));
    at = range.end;
  }
  assert_false(model_any(model, at, ADDRESSES));
}

static void test_against_bits(void **state) {
  (void)state;
  const vs_host *host = vs_host_default();
  test_random random = {7};
  vs_ranges ranges = {0};
  bool model[ADDRESSES] = {false};
  for (int step = 0; step < STEPS; step++) {
    const uint64_t start = random_below(&random, ADDRESSES),
                   end = start + random_below(&random, ADDRESSES - start) / 4;
    const bool add = random_below(&random, 2) == 0;
    if (start < end) {
      assert_int_equal(vs_ranges_cover(&ranges, start, end, NULL), model_all(model, start, end));
      assert_int_equal(vs_ranges_meet(&ranges, start, end), model_any(model, start, end));
    } else {
      const bool inside = start > 0 && model[start - 1] && model[start];
      assert_int_equal(vs_ranges_meet(&ranges, start, start), inside);
      assert_int_equal(vs_ranges_cover(&ranges, start, start, NULL),
                       model[start] || (start > 0 && model[start - 1]));
    }
    expect_ok(add ? vs_ranges_add(host, &ranges, start, end) : vs_ranges_cut(host, &ranges, start, end));
    for (uint64_t i = start; i < end; i++) model[i] = add;
    expect_same(&ranges, model);
  }
  vs_ranges_deinit(host, &ranges);
}

static void test_the_highest_addresses(void **state) {
  (void)state;
  const vs_host *host = vs_host_default();
  vs_ranges ranges = {0};
  expect_ok(vs_ranges_add(host, &ranges, UINT64_MAX - 8, UINT64_MAX));
  assert_true(vs_ranges_meet(&ranges, UINT64_MAX - 1, UINT64_MAX));
  assert_false(vs_ranges_meet(&ranges, UINT64_MAX, UINT64_MAX));
  expect_ok(vs_ranges_cut(host, &ranges, UINT64_MAX - 4, UINT64_MAX));
  vs_range in;
  assert_true(vs_ranges_cover(&ranges, UINT64_MAX - 8, UINT64_MAX - 4, &in));
  assert_true(in.start == UINT64_MAX - 8 && in.end == UINT64_MAX - 4);
  vs_ranges_deinit(host, &ranges);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_against_bits),
      cmocka_unit_test(test_the_highest_addresses),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
