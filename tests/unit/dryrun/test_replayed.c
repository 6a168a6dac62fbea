/* What is taken from the engine's replays of a history under other settings of the allocator. */
#include "dryrun/replayed.h"
#include "base/check.h"
#include "support/test.h"

static vs_replayed replayed_of(const char *text) {
  vs_json_doc document;
  vs_error error;
  assert_int_equal(vs_json_doc_init(&document, vs_host_default(), vs_str_from(text), &error), VS_OK);
  const vs_replayed replayed = vs_replayed_of(vs_json_root(&document));
  vs_json_doc_deinit(&document);
  return replayed;
}

#define RUN(asked, passes, bytes) \
  "{\"asked\": \"" asked "\", \"passes\": " passes ", \"reserved_peak_bytes\": " bytes "}"
#define ANSWER(is_equal, best, runs)     \
  "{\"check\": {\"is_equal\": " is_equal \
  "}, \"recorded\": {\"reserved_peak_bytes\": 1000000}, \"best\": " best ", \"runs\": [" runs "]}"
#define OWN RUN("", "true", "1000000")

static void expect(const char *answer, const char *settings, uint64_t bytes, bool is_idle) {
  const vs_replayed r = replayed_of(answer);
  assert_true(r.is_known && r.own_bytes == 1000000);
  assert_string_equal(r.settings, settings);
  assert_int_equal(r.bytes, bytes);
  assert_int_equal(vs_replayed_is_idle(&r), is_idle);
}

static void test_the_usual_settings_unless_others_are_clearly_better(void **state) {
  (void)state;
  expect(ANSWER("true", "1", OWN "," RUN("expandable_segments:True", "true", "900000")),
         "expandable_segments:True", 900000, false);
  const char *const equal = ANSWER("true", "2",
                                   OWN "," RUN("expandable_segments:True", "true",
                                               "904000") "," RUN("max_split_size_mb:64", "true", "900000"));
  expect(equal, "expandable_segments:True", 904000, false);
  const char *const better = ANSWER("true", "2",
                                    OWN "," RUN("expandable_segments:True", "true",
                                                "910000") "," RUN("max_split_size_mb:64", "true", "900000"));
  expect(better, "max_split_size_mb:64", 900000, false);
  const char *const fails = ANSWER("true", "2",
                                   OWN "," RUN("expandable_segments:True", "false",
                                               "100000") "," RUN("max_split_size_mb:64", "true", "900000"));
  expect(fails, "max_split_size_mb:64", 900000, false);
}

static void test_what_saves_too_little_is_idle(void **state) {
  (void)state;
  expect(ANSWER("true", "1", OWN "," RUN("expandable_segments:True", "true", "991000")),
         "expandable_segments:True", 991000, true);
  expect(ANSWER("true", "1", OWN "," RUN("expandable_segments:True", "true", "990000")),
         "expandable_segments:True", 990000, false);
  expect(ANSWER("true", "1", OWN "," RUN("expandable_segments:True", "true", "1200000")),
         "expandable_segments:True", 1200000, true);
  expect(ANSWER("true", "0", OWN "," RUN("expandable_segments:True", "true", "1200000")),
         "expandable_segments:True", 1200000, true);
}

static void expect_unknown(const char *answer) {
  const vs_replayed r = replayed_of(answer);
  assert_false(r.is_known);
  assert_string_equal(r.settings, "");
  assert_false(vs_replayed_is_idle(&r));
}

static void test_unknown(void **state) {
  (void)state;
  expect_unknown("{}");
  expect_unknown(
      ANSWER("false", "1", OWN "," RUN("expandable_segments:True", "true", "900000"))); /* an estimate */
  expect_unknown(ANSWER("true", "null", OWN));
  expect_unknown(ANSWER("true", "7", OWN));
  expect_unknown(ANSWER("true", "0", OWN)); /* nothing else was replayed */
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_the_usual_settings_unless_others_are_clearly_better),
      cmocka_unit_test(test_what_saves_too_little_is_idle), cmocka_unit_test(test_unknown)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
