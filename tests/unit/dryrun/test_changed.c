/* The changes of a run: a fit.json becomes variables of the processes, and the lines that these wrote become the array "changes". */
#include "dryrun/changed.h"
#include "os/folder.h"
#include "support/test.h"
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

static vs_folder folder;

static int begin(void **state) {
  vs_error error;
  (void)state;
  return vs_folder_create(&folder, "vramscope-changed-", &error) == VS_OK ? 0 : -1;
}

static int end(void **state) {
  (void)state;
  vs_folder_remove(&folder);
  return 0;
}

/* Returns the path, which the next call overwrites. */
static const char *path_of(const char *name) {
  static char path[VS_FOLDER_PATH + 32];
  vs_format(path, sizeof path, "%s/%s", folder.path, name);
  return path;
}

static const char *put_file(const char *name, const char *text) {
  const char *path = path_of(name);
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  assert_true(fputs(text, file) >= 0 && fclose(file) == 0);
  return path;
}

static void read_given(vs_changed *changed, const char *text) {
  vs_error error = {.text = ""};
  if (vs_changed_read(changed, vs_host_default(), put_file("fit.json", text), &error) != VS_OK)
    fail_msg("%s: %s", text, error.text);
  vs_changed_begin(changed, folder.path);
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
  assert_string_equal(variables[1].value, path_of("changes.jsonl"));
}

static void test_without_a_file_there_is_nothing(void **state) {
  (void)state;
  static vs_changed changed;
  vs_child_variable variables[VS_CHANGED_VARIABLES];
  vs_error error;
  expect_ok(vs_changed_read(&changed, vs_host_default(), NULL, &error));
  vs_changed_begin(&changed, folder.path);
  assert_int_equal(vs_changed_variables(&changed, variables), 0);
}

static void test_errors_name_the_file(void **state) {
  (void)state;
  static vs_changed changed;
  vs_error error;
  const char *path = put_file("fit.json", "{\"schema\": 1, \"changes\": [{\"name\": \"none\"}]}");
  expect_status(vs_changed_read(&changed, vs_host_default(), path, &error), VS_BAD_ARGUMENT);
  assert_non_null(strstr(error.text, "fit.json: there is no change \"none\""));
  expect_status(vs_changed_read(&changed, vs_host_default(), folder.path, &error), VS_IO);
  assert_non_null(strstr(error.text, folder.path));
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
#define SILENCE(applied, text) \
  "[{\"applied\":" applied ",\"text\":\"" text "\",\"processes\":0}],\"applied\":" applied "}"
#define NONE SILENCE("false", "the program made no optimizer of PyTorch's")

static void test_lines_of_processes_are_counted(void **state) {
  (void)state;
  static vs_changed changed;
  read_given(&changed, "{\"schema\": 1, \"changes\": [{\"name\": \"fused\"}]}");
  expect_changes(&changed,
                 "[" FUSED SILENCE("false", "no process of the program loaded the hook that applies changes; "
                                            "Python does not load it with -E, -I or -S") "]");
  put_file("changes.jsonl", "{\"pid\": 1}\n");
  expect_changes(&changed, "[" FUSED NONE "]");
  put_file("changes.jsonl",
           "{\"pid\": 1}\n{\"pid\": 1, \"change\": 0, \"applied\": false, \"text\": \"SGD has it already\"}\n"
           "{\"pid\": 1, \"change\": 0, \"applied\": true, \"text\": \"AdamW\"}\n"
           "{\"pid\": 2, \"change\": 0, \"applied\": true, \"text\": \"AdamW\"}\n");
  expect_changes(&changed, "[" FUSED "[{\"applied\":false,\"text\":\"SGD has it already\",\"processes\":1},"
                           "{\"applied\":true,\"text\":\"AdamW\",\"processes\":2}],\"applied\":true}]");
}

static void test_damaged_lines_are_ignored(void **state) {
  (void)state;
  static vs_changed changed;
  read_given(&changed, "{\"schema\": 1, \"changes\": [{\"name\": \"fused\"}]}");
  put_file("changes.jsonl", "{\"pid\": 1}\n\n7\n[]\n{\"change\": 0, \"applied\": true}\n"
                            "{\"change\": 1, \"applied\": true, \"text\": \"of another\"}\n"
                            "{\"change\": -1, \"applied\": true, \"text\": \"of another\"}\n"
                            "{\"pid\": 1, \"change\": 0, \"applied\": true, \"te");
  expect_changes(&changed, "[" FUSED NONE "]");
}

/* An unknown outcome is none: neither "applied" nor "not applied". */
static void test_what_cannot_be_read_is_unknown(void **state) {
  enum { MOST = 16 << 20 };
  (void)state;
  static vs_changed changed;
  read_given(&changed, "{\"schema\": 1, \"changes\": [{\"name\": \"fused\"}]}");
  assert_int_equal(mkdir(path_of("changes.jsonl"), 0700), 0);
  expect_changes(&changed, "[" FUSED SILENCE("null", "what became of it is unknown: is a directory") "]");
  assert_int_equal(remove(path_of("changes.jsonl")), 0);
  char *text = malloc(MOST + 1);
  assert_non_null(text);
  memset(text, ' ', MOST);
  text[MOST] = 0;
  put_file("changes.jsonl", text);
  expect_changes(
      &changed,
      "[" FUSED SILENCE("null", "what became of it is unknown: the processes wrote 16 MiB or more") "]");
  free(text);
}

static void test_figures(void **state) {
  (void)state;
  static vs_changed changed;
  vs_changed_sum sum;
  read_given(&changed, "{\"schema\": 1, \"changes\": [{\"name\": \"fused\"}, {\"name\": \"checkpoint\"}, "
                       "{\"name\": \"save_on_cpu\"}]}");
  expect_ok(vs_changed_add_up(&changed, vs_host_default(), &sum)); /* no process wrote a line */
  assert_true(sum.is_known && !sum.is_loaded && sum.applied == 0 && sum.blocks == 0 && sum.copied_bytes == 0);
  put_file(
      "changes.jsonl",
      "{\"pid\": 7, \"change\": 0, \"applied\": false, \"text\": \"it has it\"}\n"
      "{\"pid\": 7, \"change\": 1, \"applied\": true, \"text\": \"4 of 4\"}\n"
      "{\"pid\": 7, \"change\": 1, \"blocks\": 4}\n{\"pid\": 7, \"change\": 1, \"blocks\": 2}\n"
      "{\"pid\": 8, \"change\": 1, \"blocks\": 6}\n"
      "{\"pid\": 7, \"change\": 2, \"applied\": true, \"text\": \"all\"}\n"
      "{\"pid\": 7, \"change\": 2, \"copied_bytes\": 100, \"at_most\": false}\n{\"pid\": 8, \"change\": 2, "
      "\"copied_bytes\": 20}\n");
  expect_ok(vs_changed_add_up(&changed, vs_host_default(), &sum));
  assert_false(sum.is_copied_at_most);
  assert_int_equal(sum.applied, 6);
  assert_int_equal(sum.blocks, 6);
  assert_int_equal(sum.copied_bytes, 120);
  assert_true(sum.is_known && sum.is_loaded);
  put_file("changes.jsonl", "{\"pid\": 7, \"change\": 2, \"copied_bytes\": 100, \"at_most\": true}\n");
  expect_ok(vs_changed_add_up(&changed, vs_host_default(), &sum));
  assert_true(sum.is_copied_at_most && sum.copied_bytes == 100);
  assert_int_equal(remove(path_of("changes.jsonl")), 0);
  assert_int_equal(mkdir(path_of("changes.jsonl"), 0700), 0); /* which cannot be read */
  expect_ok(vs_changed_add_up(&changed, vs_host_default(), &sum));
  assert_true(!sum.is_known && sum.applied == 0);
}

/* The text of a list can stand for its file. */
static void test_a_text_instead_of_a_file(void **state) {
  (void)state;
  static vs_changed changed;
  vs_error error;
  expect_ok(vs_changed_read(&changed, vs_host_default(),
                            "{\"schema\": 1, \"changes\": [{\"name\": \"fused\"}]}", &error));
  assert_string_equal(changed.text,
                      "{\"schema\":1,\"allows_numerics\":false,\"changes\":[{\"name\":\"fused\"}]}");
  expect_status(vs_changed_read(&changed, vs_host_default(), "{\"schema\": 2, \"changes\": []}", &error),
                VS_BAD_ARGUMENT);
  assert_non_null(strstr(error.text, "--with: \"schema\" has to be 1"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_processes_get_the_whole_list, begin, end),
      cmocka_unit_test_setup_teardown(test_without_a_file_there_is_nothing, begin, end),
      cmocka_unit_test_setup_teardown(test_errors_name_the_file, begin, end),
      cmocka_unit_test_setup_teardown(test_lines_of_processes_are_counted, begin, end),
      cmocka_unit_test_setup_teardown(test_damaged_lines_are_ignored, begin, end),
      cmocka_unit_test_setup_teardown(test_what_cannot_be_read_is_unknown, begin, end),
      cmocka_unit_test_setup_teardown(test_figures, begin, end),
      cmocka_unit_test(test_a_text_instead_of_a_file),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
