/* The list of changes, and fit.json: what it may have, and what is refused with which sentence. */
#include "changes/changes.h"
#include "support/test.h"

#define LIST(changes) "{\"schema\": 1, \"changes\": [" changes "]}"

/* ---- the rows */

static void expect_sentence(const char *name, const char *text) {
  const size_t size = strlen(text);
  if (size == 0 || text[size - 1] == '.' || text[size - 1] == ' ') fail_msg("%s: \"%s\"", name, text);
}

static void test_every_row_is_complete(void **state) {
  (void)state;
  for (uint32_t i = 0; i < VS_CHANGE_COUNT; i++) {
    const vs_change_row *row = vs_change_row_of((vs_change_id)i);
    const char *const texts[] = {row->what, row->how, row->cost, row->unsuited, row->never};
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) expect_sentence(row->name, texts[k]);
    assert_true(strlen(vs_results_word(row->results)) > 3);
  }
}

static void test_fallbacks_are_allowed(void **state) {
  (void)state;
  size_t count;
  const vs_change_parameter *all = vs_change_parameters(&count);
  for (size_t i = 0; i < count; i++)
    if (all[i].kind == VS_PARAMETER_NUMBER)
      assert_true(all[i].fallback >= all[i].least && all[i].fallback <= UINT32_MAX);
}

/* Every attempt is a valid list of one change, and the cheaper ones come first. */
static void test_attempts(void **state) {
  (void)state;
  for (size_t i = 0; i < VS_ATTEMPTS; i++) {
    const vs_attempt *one = vs_attempt_of(i);
    char text[256];
    vs_changes changes = {.count = 0};
    vs_error error = {.text = ""};
    vs_format(text, sizeof text,
              "{\"schema\": 1, \"allows_numerics\": true, \"changes\": [{\"name\": \"%s\"%s%s}]}",
              vs_change_row_of(one->change)->name, one->parameters[0] == 0 ? "" : ", ", one->parameters);
    if (vs_changes_read(&changes, vs_host_default(), vs_str_from(text), &error) != VS_OK)
      fail_msg("%s: %s", text, error.text);
    vs_changes_deinit(&changes);
    if (i > 0) assert_true(vs_attempt_of(i - 1)->price <= one->price);
  }
  assert_true(vs_changes_exclude(VS_CHANGE_fused, VS_CHANGE_foreach_off));
  assert_true(vs_changes_exclude(VS_CHANGE_adam_8bit, VS_CHANGE_fused));
  assert_true(vs_changes_exclude(VS_CHANGE_adam_paged, VS_CHANGE_fused));
  assert_true(vs_changes_exclude(VS_CHANGE_adam_8bit, VS_CHANGE_adam_paged));
  assert_true(vs_changes_exclude(VS_CHANGE_checkpoint, VS_CHANGE_checkpoint));
  assert_false(vs_changes_exclude(VS_CHANGE_adam_8bit, VS_CHANGE_checkpoint));
}

/* ---- reading */

static void expect_put(const char *text, const char *wanted) {
  vs_changes changes;
  vs_error error = {.text = ""};
  if (vs_changes_read(&changes, vs_host_default(), vs_str_from(text), &error) != VS_OK)
    fail_msg("%s: %s", text, error.text);
  vs_text put;
  vs_text_init(&put, vs_host_default(), NULL);
  vs_changes_put(&put, &changes);
  expect_str_at(vs_text_view(&put), vs_str_from(wanted), __FILE__, __LINE__);
  vs_text_deinit(&put);
  vs_changes_deinit(&changes);
}

static void test_what_is_left_out_is_written(void **state) {
  (void)state;
  const char *const whole =
      "{\"schema\":1,\"allows_numerics\":false,\"changes\":[{\"name\":\"checkpoint\",\"every\":1,\"first\":9}"
      ","
      "{\"name\":\"allocator\",\"settings\":\"expandable_segments:True\"},{\"name\":\"save_on_cpu\"}]}";
  expect_put(LIST("{\"name\": \"checkpoint\", \"first\": 9}, {\"settings\": \"expandable_segments:True\", "
                  "\"name\": \"allocator\"}, "
                  "{\"name\": \"save_on_cpu\"}"),
             whole);
  expect_put(whole, whole);
  expect_put(LIST(""), "{\"schema\":1,\"allows_numerics\":false,\"changes\":[]}");
  expect_put("{\"schema\": 1, \"allows_numerics\": true, \"changes\": [{\"name\": \"adam_8bit\"}]}",
             "{\"schema\":1,\"allows_numerics\":true,\"changes\":[{\"name\":\"adam_8bit\"}]}");
}

static void test_titles(void **state) {
  (void)state;
  vs_changes changes = {.count = 0};
  vs_error error;
  expect_ok(vs_changes_read(
      &changes, vs_host_default(),
      VS_STR(LIST("{\"name\": \"checkpoint\", \"first\": 9, \"every\": 2}, {\"name\": \"fused\"}, "
                  "{\"name\": \"allocator\", \"settings\": \"max_split_size_mb:64\"}")),
      &error));
  const char *const titles[] = {"checkpoint (every 2, first 9)", "fused", "allocator (max_split_size_mb:64)"};
  for (size_t i = 0; i < changes.count; i++) {
    vs_text title;
    vs_text_init(&title, vs_host_default(), NULL);
    vs_changes_put_title(&title, &changes, i);
    expect_str_at(vs_text_view(&title), vs_str_from(titles[i]), __FILE__, __LINE__);
    vs_text_deinit(&title);
  }
  assert_int_equal(changes.count, 3);
  vs_changes_deinit(&changes);
}

/* ---- what is refused */

static void expect_refused(const char *text, vs_status status, const char *says) {
  vs_changes changes;
  vs_error error = {.text = ""};
  expect_status(vs_changes_read(&changes, vs_host_default(), vs_str_from(text), &error), status);
  if (strstr(error.text, says) == NULL) fail_msg("%s: \"%s\" instead of \"%s\"", text, error.text, says);
}

static void test_what_is_refused(void **state) {
  (void)state;
  static const struct {
    const char *text, *says;
  } cases[] = {
      {"[]", "it has no \"changes\""},
      {"{\"schema\": 1}", "it has no \"changes\""},
      {"{\"schema\": 1, \"changes\": {}}", "it has no \"changes\""},
      {"{\"schema\": 2, \"changes\": []}", "\"schema\" has to be 1"},
      {"{\"changes\": []}", "\"schema\" has to be 1"},
      {"{\"schema\": 1, \"changes\": [], \"gpu\": 1}", "unknown key \"gpu\""},
      {"{\"schema\": 1, \"changes\": [], \"allows_numerics\": 1}", "has to be true or false"},
      {LIST("3"), "a change is an object with a \"name\""},
      {LIST("{\"name\": 3}"), "a change is an object with a \"name\""},
      {LIST("{\"name\": \"smaller\"}"), "there is no change \"smaller\""},
      {LIST("{\"name\": \"fused\"}, {\"name\": \"fused\"}"), "fused is there twice"},
      {LIST("{\"name\": \"fused\"}, {\"name\": \"foreach_off\"}"),
       "fused and foreach_off are about the same optimizer"},
      {LIST("{\"name\": \"fused\", \"first\": 2}"), "fused has no \"first\""},
      {LIST("{\"name\": \"checkpoint\", \"first\": 0}"), "\"first\" has to be an integer, at least 1"},
      {LIST("{\"name\": \"checkpoint\", \"first\": -1}"), "\"first\" has to be an integer"},
      {LIST("{\"name\": \"checkpoint\", \"every\": 1.5}"), "\"every\" has to be an integer"},
      {LIST("{\"name\": \"checkpoint\", \"every\": \"2\"}"), "\"every\" has to be an integer"},
      {LIST("{\"name\": \"checkpoint\", \"every\": 4294967296}"), "\"every\" has to be an integer"},
      {LIST("{\"name\": \"allocator\"}"), "allocator needs \"settings\""},
      {LIST("{\"name\": \"allocator\", \"settings\": 1}"), "\"settings\" has to be a text"},
      {LIST("{\"name\": \"allocator\", \"settings\": \"a\\u0000b\"}"), "\"settings\" has to be a text"},
      {LIST("{\"name\": \"allocator\", \"settings\": \"foo:1\"}"), "foo"},
      {LIST("{\"name\": \"adam_8bit\"}"), "adam_8bit changes the numerics"},
      {LIST("{\"name\": \"bf16_parameters\"}"), "bf16_parameters changes the numerics"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    expect_refused(cases[i].text, VS_BAD_ARGUMENT, cases[i].says);
  expect_refused("{", VS_TRUNCATED, "");
  expect_refused("{]", VS_BAD_FORMAT, "");
}

static void test_a_file_that_is_too_large(void **state) {
  (void)state;
  static char text[VS_CHANGES_LONGEST + 2];
  memset(text, ' ', sizeof text - 1);
  expect_refused(text, VS_BAD_ARGUMENT, "too large");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_row_is_complete),
      cmocka_unit_test(test_fallbacks_are_allowed),
      cmocka_unit_test(test_attempts),
      cmocka_unit_test(test_what_is_left_out_is_written),
      cmocka_unit_test(test_titles),
      cmocka_unit_test(test_what_is_refused),
      cmocka_unit_test(test_a_file_that_is_too_large),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
