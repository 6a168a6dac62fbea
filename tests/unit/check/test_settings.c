/* Patterns and bounds of a check's settings, and which texts are limits. */
#include "check/settings.h"
#include "support/test.h"

static bool matches(const char *pattern, const char *text) {
  return vs_pattern_matches(vs_str_from(pattern), vs_str_from(text));
}

static void test_patterns(void **state) {
  (void)state;
  assert_true(matches("", "") && matches("*", "") && matches("**", "a") && matches("a*c", "abbc") &&
              matches("a*c", "ac"));
  assert_true(matches("*b*b", "abcb") && matches("?b?", "abc") && matches("model.py:*", "model.py:31"));
  assert_true(matches("torch/optim/*", "torch/optim/adamw.py") && matches("*.py", "a.py.py"));
  assert_false(matches("", "a") || matches("a", "") || matches("?", "") || matches("a*c", "abcd") ||
               matches("*b", "abc"));
  assert_false(matches("model.py:*", "mymodel.py:31") || matches("a?c", "ac"));
}

/* Exponential search would not end. */
static void test_patterns_are_quick(void **state) {
  (void)state;
  char pattern[64], text[4096];
  for (size_t i = 0; i < sizeof pattern; i++) pattern[i] = i % 2 == 0 ? '*' : 'a';
  memset(text, 'a', sizeof text);
  text[sizeof text - 1] = 'b';
  assert_false(vs_pattern_matches((vs_str){pattern, sizeof pattern}, (vs_str){text, sizeof text}));
}

/* The bound of a budget's "max", read from JSON. */
static vs_bound bound_of(const char *max) {
  char json[128];
  vs_json_doc document;
  vs_check_settings settings;
  vs_error error = {.text = ""};
  vs_format(json, sizeof json, "{\"budgets\": {\"x\": {\"owner\": \"a\", \"max\": \"%s\"}}}", max);
  expect_ok(vs_json_doc_init(&document, vs_host_default(), vs_str_from(json), &error));
  expect_ok(vs_check_settings_init(&settings, vs_host_default(), vs_json_root(&document), &error));
  assert_int_equal(settings.budgets.count, 2);
  vs_bound bound = settings.budgets.data[1].max;
  bound.text = VS_STR("");
  vs_check_settings_deinit(&settings);
  vs_json_doc_deinit(&document);
  return bound;
}

static void test_bounds(void **state) {
  (void)state;
  const vs_bound size = bound_of("8GiB"), more = bound_of("+64MiB"), share = bound_of("+5%");
  assert_true(vs_bound_most(&size, 1) == UINT64_C(8) << 30);
  assert_true(vs_bound_most(&more, 100) == 100 + (UINT64_C(64) << 20));
  assert_true(vs_bound_most(&share, 1000) == 1050);
  assert_true(vs_bound_most(&share, UINT64_MAX) == UINT64_MAX);
  assert_true(vs_bound_most(&more, UINT64_MAX) == UINT64_MAX);
}

static void expect_wrong(const char *json, const char *says) {
  vs_json_doc document;
  vs_check_settings settings;
  vs_error error = {.text = ""};
  expect_ok(vs_json_doc_init(&document, vs_host_default(), vs_str_from(json), &error));
  expect_status(vs_check_settings_init(&settings, vs_host_default(), vs_json_root(&document), &error),
                VS_BAD_ARGUMENT);
  if (strstr(error.text, says) == NULL) fail_msg("%s: %s", json, error.text);
  vs_check_settings_deinit(&settings);
  vs_json_doc_deinit(&document);
}

static void test_what_is_wrong(void **state) {
  (void)state;
  expect_wrong("{\"max-allocated\": -1}", "takes a size");
  expect_wrong("{\"max-allocated\": true}", "takes a size");
  expect_wrong("{\"max-allocated\": \"\"}", "takes a size");
  expect_wrong("{\"max-retries\": \"1GiB\"}", "takes a number");
  expect_wrong("{\"tolerance\": \"-2%\"}", "takes a share or a size");
  expect_wrong("{\"baseline\": \"\"}", "is empty");
  expect_wrong("{\"budgets\": {\"x\": {}}}", "limits nothing");
  expect_wrong("{\"budgets\": {\"x\": {\"owner\": \"a\"}}}", "belong together");
  expect_wrong("{\"budgets\": {\"x\": {\"max-reserved\": 1, \"steps\": \"2-1\"}}}",
               "steps takes a range of steps");
  expect_wrong("{\"budgets\": {\"x\": {\"max-reserved\": 1, \"steps\": 4}}}", "steps takes a range of steps");
  expect_wrong("{\"budgets\": {\"x\": {\"max-reserved\": 1, \"no-oom\": true, \"steps\": \"4\"}}}",
               "budgets.x: no-oom is about the whole run");
  expect_wrong("{\"budgets\": {\"x\": {\"steps\": \"4\"}}}", "limits nothing");
  expect_wrong("{\"steps\": \"4\", \"max-reserved\": 1}", "steps is no key of a check");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_patterns),
      cmocka_unit_test(test_patterns_are_quick),
      cmocka_unit_test(test_bounds),
      cmocka_unit_test(test_what_is_wrong),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
