#include "base/sort.h"
#include "support/random.h"
#include "support/test.h"

enum { MOST = 5000 };

static uint64_t keys[MOST];
static uint32_t rows[MOST];
static vs_sort_pair pairs[MOST];

typedef struct counted {
  const uint64_t *keys;
  uint64_t comparisons;
} counted;

static bool smaller_key(const void *ctx, uint32_t a, uint32_t b) {
  counted *c = (counted *)(uintptr_t)ctx;
  c->comparisons++;
  return c->keys[a] < c->keys[b];
}

static void fill(size_t count, uint64_t seed, uint64_t bound) {
  test_random random = {seed};
  for (uint32_t i = 0; i < count; i++) {
    keys[i] = bound == 0 ? random_u64(&random) : random_below(&random, bound);
    rows[i] = i;
    pairs[i] = (vs_sort_pair){keys[i], i};
  }
}

/* Rising keys, and rising rows among equal ones: sorted, stable, and a permutation at once. */
static void expect_sorted(size_t count) {
  for (size_t i = 1; i < count; i++) {
    assert_true(keys[rows[i - 1]] < keys[rows[i]] ||
                (keys[rows[i - 1]] == keys[rows[i]] && rows[i - 1] < rows[i]));
    assert_true(pairs[i - 1].key < pairs[i].key ||
                (pairs[i - 1].key == pairs[i].key && pairs[i - 1].value < pairs[i].value));
  }
  for (size_t i = 0; i < count; i++) {
    assert_true(rows[i] < count);
    assert_int_equal(pairs[i].key, keys[pairs[i].value]);
  }
}

static void sort_both(size_t count) {
  fault_host fault;
  fault_host_init(&fault, FAULT_NEVER);
  counted ctx = {.keys = keys};
  expect_ok(vs_sort_rows(&fault.host, rows, count, smaller_key, &ctx));
  expect_ok(vs_sort_pairs(&fault.host, pairs, count));
  fault_host_expect_empty(&fault);
  expect_sorted(count);
}

static void all_sizes_and_spreads(void **state) {
  (void)state;
  static const uint64_t bounds[] = {0, 1, 2, 10, 1000, UINT64_C(1) << 40};
  for (size_t count = 0; count < 130; count++) {
    for (size_t b = 0; b < sizeof bounds / sizeof *bounds; b++) {
      fill(count, count + 1, bounds[b]);
      sort_both(count);
    }
  }
  for (size_t b = 0; b < sizeof bounds / sizeof *bounds; b++) {
    fill(MOST, 11, bounds[b]);
    sort_both(MOST);
  }
}

static void order_and_reverse_are_cheap(void **state) {
  (void)state;
  counted ctx = {.keys = keys};
  fill(MOST, 5, 0);
  for (uint64_t i = 0; i < MOST; i++) keys[i] = i;
  expect_ok(vs_sort_rows(vs_host_default(), rows, MOST, smaller_key, &ctx));
  assert_int_equal(ctx.comparisons, MOST - 1);
  ctx.comparisons = 0;
  for (uint64_t i = 0; i < MOST; i++) keys[i] = MOST - i;
  expect_ok(vs_sort_rows(vs_host_default(), rows, MOST, smaller_key, &ctx));
  assert_true(ctx.comparisons < MOST * 20);
}

static bool liar(const void *ctx, uint32_t a, uint32_t b) {
  (void)a;
  (void)b;
  return random_below((test_random *)(uintptr_t)ctx, 2) == 0;
}

static void contradictions_do_no_harm(void **state) {
  (void)state;
  test_random random = {9};
  fill(MOST, 6, 0);
  expect_ok(vs_sort_rows(vs_host_default(), rows, MOST, liar, &random));
  static bool seen[MOST];
  for (size_t i = 0; i < MOST; i++) {
    assert_false(seen[rows[i]]);
    seen[rows[i]] = true;
  }
}

static void without_memory_nothing_moves(void **state) {
  (void)state;
  fault_host fault;
  counted ctx = {.keys = keys};
  fill(100, 7, 0);
  fault_host_init(&fault, 0);
  expect_status(vs_sort_rows(&fault.host, rows, 100, smaller_key, &ctx), VS_NO_MEMORY);
  fault_host_init(&fault, 0);
  expect_status(vs_sort_pairs(&fault.host, pairs, 100), VS_NO_MEMORY);
  for (uint32_t i = 0; i < 100; i++) {
    assert_int_equal(rows[i], i);
    assert_int_equal(pairs[i].value, i);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(all_sizes_and_spreads),
      cmocka_unit_test(order_and_reverse_are_cheap),
      cmocka_unit_test(contradictions_do_no_harm),
      cmocka_unit_test(without_memory_nothing_moves),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
