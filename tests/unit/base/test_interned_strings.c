#include "base/interned_strings.h"
#include "support/random.h"
#include "support/test.h"

enum { TEXTS = 3000 };

static vs_str nth_text(char buffer[static 32], uint64_t n) {
  vs_format(buffer, 32, "module.%U", n);
  return vs_str_from(buffer);
}

static void fixed_ids(void **state) {
  (void)state;
  vs_strings strings;
  expect_ok(vs_strings_init(vs_host_default(), &strings));
  uint32_t id;
  expect_ok(vs_strings_intern(vs_host_default(), &strings, VS_STR(""), &id));
  assert_int_equal(id, VS_STRING_EMPTY);
  expect_ok(vs_strings_intern(vs_host_default(), &strings, (vs_str){NULL, 0}, &id));
  assert_int_equal(id, VS_STRING_EMPTY);
  expect_str(vs_strings_at(&strings, VS_STRING_NONE), "");
  expect_str(vs_strings_at(&strings, VS_STRING_EMPTY), "");
  assert_int_equal(vs_strings_find(&strings, VS_STR("never seen")), VS_STRING_NONE);
  assert_null(vs_strings_check(&strings));
  vs_strings_deinit(vs_host_default(), &strings);
}

static void equal_bytes_have_equal_ids(void **state) {
  (void)state;
  fault_host fault;
  fault_host_init(&fault, FAULT_NEVER);
  vs_strings strings;
  expect_ok(vs_strings_init(&fault.host, &strings));
  static uint32_t ids[TEXTS];
  test_random random = {3};
  char buffer[32];
  uint32_t next = VS_STRING_EMPTY + 1;
  memset(ids, 0, sizeof ids);
  for (int step = 0; step < 20000; step++) {
    const uint64_t n = random_below(&random, TEXTS);
    const vs_str text = nth_text(buffer, n);
    assert_int_equal(vs_strings_find(&strings, text), ids[n]);
    uint32_t id;
    expect_ok(vs_strings_intern(&fault.host, &strings, text, &id));
    if (ids[n] == VS_STRING_NONE) ids[n] = next++;
    assert_int_equal(id, ids[n]);
  }
  for (uint64_t n = 0; n < TEXTS; n++)
    if (ids[n] != VS_STRING_NONE)
      assert_true(vs_str_equal(vs_strings_at(&strings, ids[n]), nth_text(buffer, n)));
  assert_null(vs_strings_check(&strings));
  vs_strings_deinit(&fault.host, &strings);
  fault_host_expect_empty(&fault);
}

static void bytes_are_only_bytes(void **state) {
  (void)state;
  vs_strings strings;
  expect_ok(vs_strings_init(vs_host_default(), &strings));
  uint32_t with_zero, without;
  expect_ok(vs_strings_intern(vs_host_default(), &strings, VS_STR("a\0b"), &with_zero));
  expect_ok(vs_strings_intern(vs_host_default(), &strings, VS_STR("a"), &without));
  assert_int_not_equal(with_zero, without);
  expect_str(vs_strings_at(&strings, with_zero), "a\0b");
  assert_null(vs_strings_check(&strings));
  vs_strings_deinit(vs_host_default(), &strings);
}

static void the_check_finds_what_is_broken(void **state) {
  (void)state;
  vs_strings strings;
  uint32_t id;
  expect_ok(vs_strings_init(vs_host_default(), &strings));
  expect_ok(vs_strings_intern(vs_host_default(), &strings, VS_STR("one"), &id));
  expect_ok(vs_strings_intern(vs_host_default(), &strings, VS_STR("two"), &id));
  assert_null(vs_strings_check(&strings));
  strings.bytes.data[0] = 'O'; /* its hash is another one */
  assert_non_null(vs_strings_check(&strings));
  strings.bytes.data[0] = 'o';
  strings.ends.data[id - 1]++;
  assert_non_null(vs_strings_check(&strings));
  strings.ends.data[id - 1]--;
  assert_null(vs_strings_check(&strings));
  vs_strings_deinit(vs_host_default(), &strings);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_check_finds_what_is_broken),
      cmocka_unit_test(fixed_ids),
      cmocka_unit_test(equal_bytes_have_equal_ids),
      cmocka_unit_test(bytes_are_only_bytes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
