/* The changes of a run: a fit.json becomes variables of the processes, and the lines that these wrote become the array "changes". */
#include "dryrun/changed.h"
#include "support/test.h"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char folder[64];

static int begin(void **state) {
  (void)state;
  vs_format(folder, sizeof folder, "/tmp/vramscope.changed.XXXXXX");
  return mkdtemp(folder) == NULL;
}

static int end(void **state) {
  static const char *const names[] = {"fit.json", "changes.jsonl"};
  char path[128];
  (void)state;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    vs_format(path, sizeof path, "%s/%s", folder, names[i]);
    (void)unlink(path);
  }
  return rmdir(folder);
}

/* Returns the path, which the next call overwrites. */
static const char *put_file(const char *name, const char *text) {
  static char path[128];
  vs_format(path, sizeof path, "%s/%s", folder, name);
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  assert_true(fputs(text, file) >= 0 && fclose(file) == 0);
  return path;
}

static void read_given(vs_changed *changed, const char *text) {
  vs_error error = {.text = ""};
  if (vs_changed_read(changed, vs_host_default(), put_file("fit.json", text), &error) != VS_OK)
    fail_msg("%s: %s", text, error.text);
  vs_changed_begin(changed, folder);
}

/* ---- the file, and the variables */

static void test_processes_get_the_whole_list(void **state) {
  (void)state;
  static vs_changed changed;
  vs_child_variable variables[VS_CHANGED_VARIABLES];
  read_given(&changed, "{\"schema\": 1, \"changes\": [{\"name\": \"checkpoint\"}]}");
  assert_int_equal(vs_changed_variables(&changed, variables), 2);
  assert_string_equal(variables[0].name, "VRAMSCOPE_CHANGES");
  assert_string_equal(variables[0].value, "{\"schema\":1,\"allows_numerics\":false,\"changes\":[{\"name\":"
                                          "\"checkpoint\",\"every\":1,\"first\":4294967295}]}");
  assert_string_equal(variables[1].name, "VRAMSCOPE_CHANGES_LIST");
  assert_true(strncmp(variables[1].value, folder, strlen(folder)) == 0);
}

static void test_without_a_file_there_is_nothing(void **state) {
  (void)state;
  static vs_changed changed;
  vs_child_variable variables[VS_CHANGED_VARIABLES];
  vs_error error;
  expect_ok(vs_changed_read(&changed, vs_host_default(), NULL, &error));
  vs_changed_begin(&changed, folder);
  assert_int_equal(vs_changed_variables(&changed, variables), 0);
}

static void test_errors_name_the_file(void **state) {
  (void)state;
  static vs_changed changed;
  vs_error error;
  const char *path = put_file("fit.json", "{\"schema\": 1, \"changes\": [{\"name\": \"none\"}]}");
  expect_status(vs_changed_read(&changed, vs_host_default(), path, &error), VS_BAD_ARGUMENT);
  assert_non_null(strstr(error.text, "fit.json: there is no change \"none\""));
  expect_status(vs_changed_read(&changed, vs_host_default(), folder, &error), VS_IO);
  assert_non_null(strstr(error.text, folder));
}

/* ---- what became of them */

static void expect_changes(const vs_changed *changed, const char *wanted) {
  vs_text text;
  vs_jsonw w;
  vs_text_init(&text, vs_host_default(), NULL);
  vs_jsonw_begin(&w, &text, 0);
  expect_ok(vs_changed_put(&w, vs_host_default(), changed));
  vs_jsonw_end(&w);
  expect_str_at(vs_text_view(&text), vs_str_from(wanted), __FILE__, __LINE__);
  vs_text_deinit(&text);
}

#define FUSED \
  "{\"name\":\"fused\",\"title\":\"fused\",\"results\":\"rounding\",\"cost\":\"nothing\",\"outcomes\":"
#define NONE                                                         \
  "[{\"applied\":false,\"text\":\"the program made no optimizer of " \
  "PyTorch's\",\"processes\":0}],\"applied\":"                       \
  "false}"

static void test_lines_of_processes_are_counted(void **state) {
  (void)state;
  static vs_changed changed;
  read_given(&changed, "{\"schema\": 1, \"changes\": [{\"name\": \"fused\"}]}");
  expect_changes(&changed, "[" FUSED NONE "]");
  put_file("changes.jsonl",
           "{\"pid\": 1, \"change\": 0, \"applied\": false, \"text\": \"SGD has it already\"}\n"
           "{\"pid\": 1, \"change\": 0, \"applied\": true, \"text\": \"AdamW\"}\n"
           "{\"pid\": 2, \"change\": 0, \"applied\": true, \"text\": \"AdamW\"}\n");
  expect_changes(&changed, "[" FUSED "[{\"applied\":false,\"text\":\"SGD has it already\",\"processes\":1},"
                           "{\"applied\":true,\"text\":\"AdamW\",\"processes\":2}],\"applied\":true}]");
}

static void test_damaged_lines_are_ignored(void **state) {
  (void)state;
  static vs_changed changed;
  read_given(&changed, "{\"schema\": 1, \"changes\": [{\"name\": \"fused\"}]}");
  put_file("changes.jsonl", "\n7\n[]\n{\"change\": 0, \"applied\": true}\n"
                            "{\"change\": 1, \"applied\": true, \"text\": \"of another\"}\n"
                            "{\"change\": -1, \"applied\": true, \"text\": \"of another\"}\n"
                            "{\"pid\": 1, \"change\": 0, \"applied\": true, \"te");
  expect_changes(&changed, "[" FUSED NONE "]");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_processes_get_the_whole_list, begin, end),
      cmocka_unit_test_setup_teardown(test_without_a_file_there_is_nothing, begin, end),
      cmocka_unit_test_setup_teardown(test_errors_name_the_file, begin, end),
      cmocka_unit_test_setup_teardown(test_lines_of_processes_are_counted, begin, end),
      cmocka_unit_test_setup_teardown(test_damaged_lines_are_ignored, begin, end),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
