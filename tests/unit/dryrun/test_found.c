/* The text of a set of attempts is a valid list of changes. */
#include "dryrun/found.h"
#include "support/test.h"

static vs_found found;

static void expect_changes(vs_change_set set, uint64_t first, const char *wanted) {
  vs_text text;
  vs_changes changes = {.count = 0};
  vs_error error = {.text = ""};
  vs_text_init(&text, vs_host_default(), NULL);
  vs_found_put_changes(&text, &found, set, first);
  if (vs_changes_read(&changes, vs_host_default(), vs_text_view(&text), &error) != VS_OK)
    fail_msg("%s", error.text);
  assert_int_equal(changes.count, __builtin_popcount(set));
  expect_str_at(vs_text_view(&text), vs_str_from(wanted), __FILE__, __LINE__);
  vs_changes_deinit(&changes);
  vs_text_deinit(&text);
}

static size_t number_of(vs_change_id change) {
  size_t i = 0;
  while (vs_attempt_of(i)->change != change) i++;
  return i;
}

static vs_change_set bit(vs_change_id change) { return (vs_change_set)1 << number_of(change); }

static void test_texts(void **state) {
  (void)state;
  expect_changes(0, 0, "{\"schema\": 1, \"changes\": []}");
  expect_changes(bit(VS_CHANGE_checkpoint), 0,
                 "{\"schema\": 1, \"changes\": [{\"name\": \"checkpoint\", \"every\": 2}]}");
  expect_changes(bit(VS_CHANGE_allocator) | bit(VS_CHANGE_checkpoint) << 1, 3,
                 "{\"schema\": 1, \"changes\": [{\"name\": \"allocator\", \"settings\": "
                 "\"expandable_segments:True\"}, {\"name\": \"checkpoint\", \"first\": 3}]}");
  expect_changes(
      bit(VS_CHANGE_bf16_parameters), 0,
      "{\"schema\": 1, \"allows_numerics\": true, \"changes\": [{\"name\": \"bf16_parameters\"}]}");
}

static void test_settings_that_a_replay_found(void **state) {
  (void)state;
  vs_format(found.settings, sizeof found.settings, "max_split_size_mb:64,roundup_power2_divisions:4");
  expect_changes(bit(VS_CHANGE_allocator) | bit(VS_CHANGE_fused), 0,
                 "{\"schema\": 1, \"changes\": [{\"name\": \"allocator\", \"settings\": "
                 "\"max_split_size_mb:64,roundup_power2_divisions:4\"}, {\"name\": \"fused\"}]}");
  found.settings[0] = 0;
}

static void test_runs_are_found_by_their_set(void **state) {
  (void)state;
  found.runs[0] = (vs_found_run){.set = 2, .is_roomy = true, .has_value = true};
  found.runs[1] = (vs_found_run){.set = 2, .is_roomy = false};
  found.runs[2] = (vs_found_run){.set = 2, .first = 4, .is_roomy = true};
  found.runs[3] = (vs_found_run){.set = 2, .is_roomy = true};
  found.count = 4;
  for (size_t i = 0; i < found.count; i++) found.runs[i].trial.changed.is_known = true;
  assert_ptr_equal(vs_found_run_of(&found, 2, 0), &found.runs[3]);
  assert_ptr_equal(vs_found_run_of(&found, 2, 4), &found.runs[2]);
  assert_null(vs_found_run_of(&found, 4, 0));
  found.runs[3].trial.changed.is_known = false; /* so nothing is known of the set */
  assert_null(vs_found_run_of(&found, 2, 0));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_texts),
                                     cmocka_unit_test(test_settings_that_a_replay_found),
                                     cmocka_unit_test(test_runs_are_found_by_their_set)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
