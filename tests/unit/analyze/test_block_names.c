/* b<address>_<version>. */
#include "analyze/block_names.h"
#include "unit/analyze/made.h"

static void expect_versions(made *m, const uint32_t *versions, size_t count) {
  vs_lifetimes lifetimes;
  vs_block_names names;
  expect_ok(vs_lifetimes_build(m->host, made_slice(m, 0), &lifetimes));
  expect_ok(vs_block_names_build(m->host, &lifetimes, &names));
  assert_int_equal(names.versions.count, count);
  for (uint32_t i = 0; i < count; i++) {
    assert_int_equal(names.versions.data[i], versions[i]);
    assert_int_equal(vs_block_names_find(&names, &lifetimes, lifetimes.rows.data[i].address, versions[i]), i);
  }
  assert_int_equal(vs_block_names_find(&names, &lifetimes, 0x1000, 99), VS_NO_ROW);
  vs_block_names_deinit(m->host, &names);
  vs_lifetimes_deinit(m->host, &lifetimes);
  made_end(m);
}

/* The free of a block from before the trace counts, a second alloc upon an open block does not. */
static void test_versions(void **state) {
  (void)state;
  made m = made_begin();
  (void)made_free(&m, 0x1000, 8);
  (void)made_event(&m, VS_EVENT_ALLOC, 0x1000, 8);
  (void)made_free(&m, 0x1000, 8);
  (void)made_event(&m, VS_EVENT_ALLOC, 0x2000, 8);
  (void)made_event(&m, VS_EVENT_ALLOC, 0x1000, 8);
  (void)made_event(&m, VS_EVENT_FREE_REQUESTED, 0x1000, 8);
  made_trace(&m, 0);
  expect_versions(&m, (const uint32_t[]){0, 1, 0, 2}, 4);
}

static void test_without_completions(void **state) {
  (void)state;
  made m = made_begin();
  for (int i = 0; i < 3; i++) {
    (void)made_event(&m, VS_EVENT_ALLOC, 0x1000, 8);
    (void)made_event(&m, VS_EVENT_FREE_REQUESTED, 0x1000, 8);
  }
  made_trace(&m, 0);
  expect_versions(&m, (const uint32_t[]){0, 1, 2}, 3);
}

static void test_double_alloc(void **state) {
  (void)state;
  made m = made_begin();
  (void)made_event(&m, VS_EVENT_ALLOC, 0x1000, 8);
  (void)made_event(&m, VS_EVENT_FREE_COMPLETED, 0x1000, 8);
  (void)made_event(&m, VS_EVENT_ALLOC, 0x1000, 8);
  (void)made_event(&m, VS_EVENT_ALLOC, 0x2000, 8);
  made_trace(&m, 0);
  expect_versions(&m, (const uint32_t[]){0, 1, 0}, 3);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_versions),
      cmocka_unit_test(test_without_completions),
      cmocka_unit_test(test_double_alloc),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
