#include "base/interned_lists.h"
#include "support/random.h"
#include "support/test.h"

enum { LISTS = 2000 };

static void fixed_ids(void **state) {
  (void)state;
  vs_lists lists;
  expect_ok(vs_lists_init(vs_host_default(), &lists));
  uint32_t id;
  expect_ok(vs_lists_intern(vs_host_default(), &lists, NULL, 0, &id));
  assert_int_equal(id, VS_LIST_EMPTY);
  assert_int_equal(vs_lists_at(&lists, VS_LIST_NONE).count, 0);
  assert_int_equal(vs_lists_at(&lists, VS_LIST_EMPTY).count, 0);
  assert_int_equal(vs_lists_count(&lists), 2);
  assert_null(vs_lists_check(&lists));
  vs_lists_deinit(vs_host_default(), &lists);
}

/* List n: n % 7 items, of which the first is n. */
static uint32_t nth_list(uint32_t items[static 7], uint32_t n) {
  for (uint32_t i = 0; i < n % 7; i++) items[i] = n * (i + 1);
  return n % 7;
}

static void equal_items_have_equal_ids(void **state) {
  (void)state;
  fault_host fault;
  fault_host_init(&fault, FAULT_NEVER);
  vs_lists lists;
  expect_ok(vs_lists_init(&fault.host, &lists));
  static uint32_t ids[LISTS];
  memset(ids, 0, sizeof ids);
  test_random random = {6};
  uint32_t next = VS_LIST_EMPTY + 1, items[7], id;
  for (int step = 0; step < 20000; step++) {
    const uint32_t n = (uint32_t)random_below(&random, LISTS), count = nth_list(items, n);
    expect_ok(vs_lists_intern(&fault.host, &lists, items, count, &id));
    if (ids[n] == VS_LIST_NONE) ids[n] = count == 0 ? VS_LIST_EMPTY : next++;
    assert_int_equal(id, ids[n]);
  }
  assert_int_equal(vs_lists_count(&lists), next);
  for (uint32_t n = 0; n < LISTS; n++) {
    if (ids[n] == VS_LIST_NONE) continue;
    const vs_list list = vs_lists_at(&lists, ids[n]);
    assert_int_equal(list.count, nth_list(items, n));
    if (list.count > 0) assert_memory_equal(list.items, items, list.count * sizeof *items);
  }
  assert_null(vs_lists_check(&lists));
  vs_lists_deinit(&fault.host, &lists);
  fault_host_expect_empty(&fault);
}

static void a_beginning_is_another_list(void **state) {
  (void)state;
  vs_lists lists;
  static const uint32_t items[] = {5, 6, 0};
  uint32_t ids[3];
  expect_ok(vs_lists_init(vs_host_default(), &lists));
  for (size_t i = 0; i < 3; i++) expect_ok(vs_lists_intern(vs_host_default(), &lists, items, i + 1, &ids[i]));
  assert_true(ids[0] != ids[1] && ids[1] != ids[2] && ids[0] != ids[2]);
  assert_null(vs_lists_check(&lists));
  vs_lists_deinit(vs_host_default(), &lists);
}

static void the_check_finds_what_is_broken(void **state) {
  (void)state;
  vs_lists lists;
  const uint32_t items[] = {1, 2, 3};
  uint32_t id;
  expect_ok(vs_lists_init(vs_host_default(), &lists));
  expect_ok(vs_lists_intern(vs_host_default(), &lists, items, 3, &id));
  assert_null(vs_lists_check(&lists));
  lists.items.data[1]++;
  assert_non_null(vs_lists_check(&lists));
  lists.items.data[1]--;
  lists.ends.data[VS_LIST_EMPTY] = 1;
  assert_non_null(vs_lists_check(&lists));
  lists.ends.data[VS_LIST_EMPTY] = 0;
  assert_null(vs_lists_check(&lists));
  vs_lists_deinit(vs_host_default(), &lists);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_check_finds_what_is_broken),
      cmocka_unit_test(fixed_ids),
      cmocka_unit_test(equal_items_have_equal_ids),
      cmocka_unit_test(a_beginning_is_another_list),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
