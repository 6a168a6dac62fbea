/* The method "settings": values, what differs, warnings, and errors with their place in the text. */
#include "alloc/settings.h"
#include "unit/query/sample.h"

static vs_engine *engine;
static vs_text reply;
static vs_json_doc doc;
static vs_error error;

static int setup(void **state) {
  (void)state;
  vs_text_init(&reply, vs_host_default(), NULL);
  doc = (vs_json_doc){.host = vs_host_default(), .root = {.kind = VS_JSON_ABSENT}};
  return vs_engine_create(NULL, &engine) == VS_OK ? 0 : 1; /* no file */
}

static int teardown(void **state) {
  (void)state;
  vs_json_doc_deinit(&doc);
  vs_text_deinit(&reply);
  vs_engine_destroy(engine);
  return 0;
}

/* What is said of `text`, which stands in JSON as it is; until the next one. */
static vs_json about(const char *text) {
  char request[400];
  vs_format(request, sizeof request, "{\"method\":\"settings\",\"params\":{\"settings\":\"%s\"}}", text);
  reply.bytes.count = 0;
  vs_json_doc_deinit(&doc);
  if (sample_request(engine, request, &reply, &error) != VS_OK) fail_msg("%s: %s", request, error.text);
  expect_ok(vs_json_doc_init(&doc, vs_host_default(), vs_text_view(&reply), &error));
  return vs_json_root(&doc);
}

static vs_json member(vs_json object, const char *key) { return vs_json_member(object, vs_str_from(key)); }

static void expect_word(vs_json object, const char *key, const char *wanted) {
  const vs_str got = vs_json_str(member(object, key), VS_STR("(none)"));
  if (!vs_str_equal(got, vs_str_from(wanted)))
    fail_msg("%s: wanted %s, got %.*s", key, wanted, (int)got.size, got.data);
}

static vs_json row_of(vs_json root, const char *key) {
  const vs_json rows = member(root, "settings");
  for (size_t i = 0; i < vs_json_count(rows); i++) {
    const vs_json row = vs_json_at(rows, i);
    if (vs_str_equal(vs_json_str(member(row, "key"), VS_STR("")), vs_str_from(key))) return row;
  }
  return vs_json_at(rows, vs_json_count(rows)); /* absent */
}

static void expect_row(vs_json root, const char *key, const char *value, const char *usual) {
  const vs_json row = row_of(root, key);
  expect_word(row, "value", value);
  expect_word(row, "default", usual);
  assert_int_equal(vs_json_bool(member(row, "differs"), false), strcmp(value, usual) != 0);
}

static int64_t number_of(vs_json root, const char *key) { return vs_json_i64(member(root, key), -1); }

static void expect_refused(const char *text, uint64_t offset, const char *why) {
  char request[400];
  vs_format(request, sizeof request, "{\"method\":\"settings\",\"params\":{\"settings\":\"%s\"}}", text);
  reply.bytes.count = 0;
  expect_status(sample_request(engine, request, &reply, &error), VS_BAD_ARGUMENT);
  assert_string_equal(error.text, why);
  assert_true(error.offset == offset);
  assert_int_equal(reply.bytes.count, 0);
}

/* ---- tests */

static void nothing_given_is_all_defaults(void **state) {
  (void)state;
  reply.bytes.count = 0;
  expect_ok(sample_request(engine, "{\"method\":\"settings\"}", &reply, &error));
  expect_ok(vs_json_doc_init(&doc, vs_host_default(), vs_text_view(&reply), &error));
  const vs_json root = vs_json_root(&doc);
  assert_int_equal(vs_json_kind(member(root, "text")), VS_VALUE_NONE);
  expect_word(root, "rules", vs_alloc_rules_default()->name);
  expect_word(root, "backend", "native");
  assert_int_equal(number_of(root, "differing"), 0);
  assert_int_equal(vs_json_count(member(root, "warnings")), 0);
  const vs_json rows = member(root, "settings");
  assert_true(vs_json_count(rows) >= 20);
  for (size_t i = 0; i < vs_json_count(rows); i++) {
    const vs_json row = vs_json_at(rows, i);
    assert_false(vs_json_bool(member(row, "differs"), true));
    assert_true(vs_json_str(member(row, "sentence"), VS_STR("")).size > 10);
    assert_true(vs_json_str(member(row, "bounds"), VS_STR("")).size > 5);
  }
}

static void an_empty_text_is_told_from_none(void **state) {
  (void)state;
  const vs_json root = about("");
  expect_word(root, "text", "");
  assert_int_equal(number_of(root, "differing"), 0);
}

static void values_and_what_differs(void **state) {
  (void)state;
  const vs_json root =
      about("expandable_segments:True,garbage_collection_threshold:0.8,per_process_memory_fraction:1");
  expect_word(root, "text",
              "expandable_segments:True,garbage_collection_threshold:0.8,per_process_memory_fraction:1");
  expect_row(root, "expandable_segments", "True", "False");
  expect_row(root, "garbage_collection_threshold", "0.8", "off");
  expect_row(root, "per_process_memory_fraction", "1.0", "1.0"); /* said, but it is the default */
  expect_row(root, "max_split_size_mb", "unlimited", "unlimited");
  assert_int_equal(number_of(root, "differing"), 2);
}

/* max_non_split_rounding_mb follows large_segment_size_mb: only what was said differs. */
static void a_default_that_follows_does_not_differ(void **state) {
  (void)state;
  vs_json root = about("large_segment_size_mb:40");
  expect_row(root, "large_segment_size_mb", "40", "20");
  expect_row(root, "max_non_split_rounding_mb", "40", "40");
  assert_int_equal(number_of(root, "differing"), 1);
  root = about("large_segment_size_mb:40,max_non_split_rounding_mb:50");
  expect_row(root, "max_non_split_rounding_mb", "50", "40");
}

static void a_profile_knows_its_own_keys(void **state) {
  (void)state;
  vs_json root = about("profile:torch-1.13,roundup_bypass_threshold_mb:64");
  expect_word(root, "rules", "torch-1.13");
  expect_row(root, "profile", "torch-1.13", vs_alloc_rules_default()->name);
  expect_row(root, "roundup_bypass_threshold_mb", "64", "unlimited");
  assert_int_equal(vs_json_kind(row_of(root, "expandable_segments")), VS_JSON_ABSENT);
  root = about("");
  assert_int_equal(vs_json_kind(row_of(root, "roundup_bypass_threshold_mb")), VS_JSON_ABSENT);
}

static bool warns(vs_json root, const char *part) {
  const vs_json warnings = member(root, "warnings");
  for (size_t i = 0; i < vs_json_count(warnings); i++)
    if (vs_str_contains(vs_json_str(vs_json_at(warnings, i), VS_STR("")), vs_str_from(part))) return true;
  return false;
}

static void each_warning_is_one_sentence(void **state) {
  (void)state;
  vs_json root = about("expandable_segments:True,max_split_size_mb:128,garbage_collection_threshold:0.5");
  assert_int_equal(vs_json_count(member(root, "warnings")), 3);
  assert_true(warns(root, "does nothing without a memory limit"));
  assert_true(warns(root, "frees no expandable segments"));
  assert_true(warns(root, "max_split_size_mb with expandable_segments"));
  assert_false(warns(root, "\n"));
  root = about("backend:cudaMallocAsync,max_split_size_mb:128");
  expect_word(root, "backend", "cudaMallocAsync");
  assert_int_equal(vs_json_count(member(root, "warnings")), 1);
  assert_true(warns(root, "ignores max_split_size_mb"));
}

static void what_is_wrong_has_its_place_in_the_text(void **state) {
  (void)state;
  expect_refused("expandable_segments:True,max_split_size:128", 25,
                 "there is no setting 'max_split_size': did you mean 'max_split_size_mb'?");
  expect_refused("expandable_segments:true", 20,
                 "expandable_segments: expected True or False, not 'true': did you mean 'True'?");
  expect_refused("max_split_size_mb", 17, "expected ':' behind 'max_split_size_mb', not the end");
  char many[400] = "expandable_segments_reserve_by_class:[";
  for (int i = 0; i <= VS_ALLOC_MOST_CLASSES; i++) {
    const size_t used = strlen(many);
    vs_format(many + used, sizeof many - used, "%sc%d:1G", i == 0 ? "" : ",", i);
  }
  const size_t used = strlen(many);
  vs_format(many + used, sizeof many - used, "]");
  expect_refused(many, 38 + 10 * 6 + 6 * 7, /* the 17th */
                 "expandable_segments_reserve_by_class: at most 16 classes with names of at most 31 bytes");
}

static void bytes_that_are_no_text_come_back(void **state) {
  (void)state;
  (void)about("expandable_segments_reserve_by_class:[\\udcff:0.5],expandable_segments:True");
  const vs_str said = vs_text_view(&reply);
  assert_true(
      vs_str_contains(said, VS_STR("\"text\":\"expandable_segments_reserve_by_class:[\\udcff:0.5],")));
  assert_true(vs_str_contains(said, VS_STR("\"value\":\"[\\udcff:0.5]\"")));
}

#define SETTINGS_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
      SETTINGS_TEST(nothing_given_is_all_defaults),
      SETTINGS_TEST(an_empty_text_is_told_from_none),
      SETTINGS_TEST(values_and_what_differs),
      SETTINGS_TEST(a_default_that_follows_does_not_differ),
      SETTINGS_TEST(a_profile_knows_its_own_keys),
      SETTINGS_TEST(each_warning_is_one_sentence),
      SETTINGS_TEST(what_is_wrong_has_its_place_in_the_text),
      SETTINGS_TEST(bytes_that_are_no_text_come_back),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
