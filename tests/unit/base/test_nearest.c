/* The known word that is nearest to a slip. */
#include "base/nearest.h"
#include "support/test.h"

static void expect_nearest(const char *typed, const char *wanted) {
  static const char *const known[] = {"report", "stats",  "tree", "blocks",
                                      "events", "export", "help", "expandable_segments_reserve_by_class"};
  vs_nearest nearest = vs_nearest_to(vs_str_from(typed));
  for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
    vs_nearest_offer(&nearest, vs_str_from(known[i]));
  expect_str_at(nearest.best, vs_str_from(wanted), __FILE__, __LINE__);
}

static void test_slips(void **state) {
  (void)state;
  expect_nearest("reprot", "report");
  expect_nearest("stat", "stats");
  expect_nearest("block", "blocks");
  expect_nearest("exprt", "export");
  expect_nearest("hepl", "help");
  expect_nearest("expandable_segment_reserv_by_class", "expandable_segments_reserve_by_class");
}

static void test_beginnings(void **state) {
  (void)state;
  expect_nearest("rep", "report");
  expect_nearest("expandable_segments", "expandable_segments_reserve_by_class");
}

static void test_nothing_near(void **state) {
  (void)state;
  expect_nearest("xyz", "");
  expect_nearest("x", "");
  expect_nearest("", "");
  expect_nearest("a word that is far too long to be one of ours", "");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_slips),
      cmocka_unit_test(test_beginnings),
      cmocka_unit_test(test_nothing_near),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
