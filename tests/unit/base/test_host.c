/* The budget, the growable array, the reader over bytes and the list of statuses: what everything else stands
 * on. */
#include "base/vec.h"
#include "support/test.h"

#include <string.h>

static void budget_counts_and_refuses(void **state) {
  (void)state;
  fault_host fault;
  fault_host_init(&fault, FAULT_NEVER);
  vs_budget budget;
  vs_budget_init(&budget, &fault.host, 100);
  void *a = vs_host_alloc(&budget.host, 60);
  assert_non_null(a);
  assert_null(vs_host_alloc(&budget.host, 41));
  assert_true(budget.refused);
  assert_int_equal(budget.used, 60);
  void *b = vs_host_alloc(&budget.host, 40);
  assert_non_null(b);
  assert_null(budget.host.resize(budget.host.ctx, b, 40, 41));
  b = budget.host.resize(budget.host.ctx, b, 40, 10);
  assert_int_equal(budget.used, 70);
  assert_null(vs_host_alloc(&budget.host, SIZE_MAX));
  vs_host_free(&budget.host, a, 60);
  vs_host_free(&budget.host, b, 10);
  vs_host_free(&budget.host, NULL, 0);
  assert_int_equal(budget.used, 0);
  fault_host_expect_empty(&fault);
}

static void budget_lowered_below_what_is_used(void **state) {
  (void)state;
  fault_host fault;
  fault_host_init(&fault, FAULT_NEVER);
  vs_budget budget;
  vs_budget_init(&budget, &fault.host, 100);
  void *a = vs_host_alloc(&budget.host, 80);
  budget.limit = 50;
  assert_null(vs_host_alloc(&budget.host, 1));
  a = budget.host.resize(budget.host.ctx, a, 80, 60); /* less is always welcome */
  assert_non_null(a);
  vs_host_free(&budget.host, a, 60);
  fault_host_expect_empty(&fault);
}

static void parent_failure_is_no_refusal(void **state) {
  (void)state;
  fault_host fault;
  fault_host_init(&fault, 0);
  vs_budget budget;
  vs_budget_init(&budget, &fault.host, 100);
  assert_null(vs_host_alloc(&budget.host, 10));
  assert_false(budget.refused);
  assert_int_equal(budget.used, 0);
}

static void vec_grows_and_keeps(void **state) {
  (void)state;
  fault_host fault;
  fault_host_init(&fault, FAULT_NEVER);
  VS_VEC(uint64_t) v = {0};
  for (uint64_t i = 0; i < 1000; i++) {
    expect_ok(vs_vec_reserve(&fault.host, &v, 1));
    v.data[v.count++] = i * i;
  }
  expect_ok(vs_vec_reserve(&fault.host, &v, 5000));
  assert_true(v.capacity >= 6000);
  for (uint64_t i = 0; i < 1000; i++) assert_int_equal(v.data[i], i * i);
  vs_vec_free(&fault.host, &v);
  assert_null(v.data);
  assert_int_equal(v.count, 0);
  fault_host_expect_empty(&fault);
}

static void vec_refuses_what_does_not_fit(void **state) {
  (void)state;
  VS_VEC(uint64_t) v = {0};
  expect_status(vs_vec_reserve(vs_host_default(), &v, SIZE_MAX / 4), VS_NO_MEMORY);
  expect_ok(vs_vec_reserve(vs_host_default(), &v, 1));
  v.count = 1;
  expect_status(vs_vec_reserve(vs_host_default(), &v, SIZE_MAX), VS_NO_MEMORY);
  assert_non_null(v.data);
  vs_vec_free(vs_host_default(), &v);
}

static void reader_over_bytes(void **state) {
  (void)state;
  vs_memory_reader memory;
  const vs_reader reader = vs_reader_from_bytes(&memory, "abcde", 5);
  char got[4];
  size_t count;
  expect_ok(reader.read(reader.ctx, got, 4, &count));
  expect_str(((vs_str){got, count}), "abcd");
  expect_ok(reader.read(reader.ctx, got, 4, &count));
  expect_str(((vs_str){got, count}), "e");
  expect_ok(reader.read(reader.ctx, got, 4, &count));
  assert_int_equal(count, 0);
  const vs_reader empty = vs_reader_from_bytes(&memory, NULL, 0);
  expect_ok(empty.read(empty.ctx, got, 4, &count));
  assert_int_equal(count, 0);
}

static void every_status_has_name_and_text(void **state) {
  (void)state;
#define VS_STATUS(name, value, text)                     \
  assert_string_equal(vs_status_name(VS_##name), #name); \
  assert_string_equal(vs_status_text(VS_##name), text);  \
  assert_int_equal(VS_##name, value);
#include <vramscope/status.def>
#undef VS_STATUS
  assert_string_equal(vs_status_name((vs_status)-99), "?");
  assert_string_equal(vs_status_text((vs_status)99), "?");
  assert_string_equal(vs_version_text(), VS_VERSION_TEXT);
}

static void checked_arithmetic(void **state) {
  (void)state;
  uint64_t sum;
  assert_true(vs_add_u64(UINT64_MAX - 1, 1, &sum) && sum == UINT64_MAX);
  assert_false(vs_add_u64(UINT64_MAX, 1, &sum));
  size_t product;
  assert_true(vs_mul_size(SIZE_MAX / 2, 2, &product));
  assert_false(vs_mul_size(SIZE_MAX / 2 + 1, 2, &product));
  assert_int_equal(vs_sat_add_u64(UINT64_MAX, 5), UINT64_MAX);
  assert_int_equal(vs_sat_add_u64(2, 5), 7);
  assert_int_equal(vs_sat_add_i64(INT64_MAX, 1), INT64_MAX);
  assert_int_equal(vs_sat_add_i64(INT64_MIN, -1), INT64_MIN);
  assert_int_equal(vs_sat_add_i64(INT64_MIN, INT64_MAX), -1);
  assert_int_equal(vs_min_u64(1, 2), 1);
  assert_int_equal(vs_max_u64(1, 2), 2);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(budget_counts_and_refuses),      cmocka_unit_test(budget_lowered_below_what_is_used),
      cmocka_unit_test(parent_failure_is_no_refusal),   cmocka_unit_test(vec_grows_and_keeps),
      cmocka_unit_test(vec_refuses_what_does_not_fit),  cmocka_unit_test(reader_over_bytes),
      cmocka_unit_test(every_status_has_name_and_text), cmocka_unit_test(checked_arithmetic),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
