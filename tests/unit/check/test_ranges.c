/* The peaks of several GPUs within steps, and when they are unknown or lower bounds. */
#include "check/ranges.h"
#include "support/test.h"

#define INVENTORY(device, allocated, reserved, more)                                \
  "{\"device\": " #device ", \"complete\": true, \"allocated_is_exact\": true" more \
  ", \"within\": {\"peak_allocated_bytes\": " #allocated ", \"peak_reserved_bytes\": " #reserved "}}"
#define ENTRY(inventory) "{\"steps\": \"1-2\", \"inventory\": " inventory ", \"why\": null}"
#define MISSING          "{\"steps\": \"1-2\", \"inventory\": null, \"why\": \"there are none\"}"
#define OTHER            "{\"steps\": \"3-\", \"inventory\": " INVENTORY(7, 1000, 1000, "") ", \"why\": null}"

typedef struct expected {
  const char *json;
  uint64_t allocated, reserved;
  int64_t device; /* -1: no inventory */
  const char *why, *incomplete;
} expected;

static void expect(const expected *e) {
  vs_json_doc document;
  vs_error error;
  expect_ok(vs_json_doc_init(&document, vs_host_default(), vs_str_from(e->json), &error));
  const vs_check_range range = vs_check_range_of(vs_json_root(&document), VS_STR("1-2"));
  assert_true(range.peaks[VS_FACT_ALLOCATED] == e->allocated && range.peaks[VS_FACT_RESERVED] == e->reserved);
  assert_int_equal(vs_json_is_absent(range.inventory), e->device < 0);
  if (e->device >= 0) assert_int_equal(vs_reply_i64(range.inventory, "device"), e->device);
  if (e->device < 0) assert_true(vs_str_equal(range.why, vs_str_from(e->why)));
  assert_true(vs_str_contains(range.incomplete, vs_str_from(e->incomplete)));
  if (e->incomplete[0] == 0) assert_int_equal(range.incomplete.size, 0);
  vs_json_doc_deinit(&document);
}

static void test_ranges(void **state) {
  (void)state;
  static const expected list[] = {
      {"[" ENTRY(INVENTORY(0, 10, 40, "")) "," ENTRY(INVENTORY(1, 20, 30, "")) "," OTHER "]", 20, 40, 1, "",
       ""},
      {"[" OTHER "]", 0, 0, -1, "there is no history of these steps", ""},
      {"[]", 0, 0, -1, "there is no history of these steps", ""},
      {"null", 0, 0, -1, "there is no history of these steps", ""},
      {"[" MISSING "]", 0, 0, -1, "there are none", ""},
      {"[" MISSING "," ENTRY(INVENTORY(1, 20, 30, "")) "]", 20, 30, 1, "", "not every GPU"},
      {"[" ENTRY("{\"device\": 2, \"within\": {\"peak_allocated_bytes\": 3}}") "]", 3, 0, 2, "",
       "history of the run is incomplete"},
      {"[" ENTRY("{\"device\": 2, \"complete\": true, \"within\": {\"peak_allocated_bytes\": 3}}") "]", 3, 0,
       2, "", "are estimated"},
      {"[3, null, {}, " ENTRY("5") "]", 0, 0, 0, "", "incomplete"},
  };
  for (size_t i = 0; i < sizeof list / sizeof *list; i++) expect(&list[i]);
}

static void test_which_figures(void **state) {
  (void)state;
  for (vs_fact_id id = 0; id < VS_FACT_COUNT; id++)
    assert_int_equal(vs_check_has_range(id), id == VS_FACT_ALLOCATED || id == VS_FACT_RESERVED);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_ranges), cmocka_unit_test(test_which_figures)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
