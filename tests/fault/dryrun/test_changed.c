/* The changes of a run, read and reported while the n-th request for memory fails: an error, or all of it. */
#include "dryrun/changed.h"
#include "os/folder.h"
#include "support/test.h"
#include <stdio.h>

static vs_folder folder;
static char path[VS_FOLDER_PATH + 16], list[VS_FOLDER_PATH + 16];

static void put_file(const char *name, const char *text) {
  FILE *file = fopen(name, "w");
  assert_non_null(file);
  assert_true(fputs(text, file) >= 0 && fclose(file) == 0);
}

static int begin(void **state) {
  vs_error error;
  (void)state;
  if (vs_folder_create(&folder, "vramscope-changed-", &error) != VS_OK) return -1;
  vs_format(path, sizeof path, "%s/fit.json", folder.path);
  vs_format(list, sizeof list, "%s/changes.jsonl", folder.path);
  put_file(
      path,
      "{\"schema\": 1, \"changes\": [{\"name\": \"checkpoint\", \"first\": 2}, {\"name\": \"allocator\", "
      "\"settings\": \"max_split_size_mb:64\"}]}");
  put_file(
      list,
      "{\"pid\": 1, \"change\": 0, \"applied\": true, \"text\": \"2 of 4\"}\n{\"pid\": 1, \"change\": 1, "
      "\"applied\": true, \"text\": \"max_split_size_mb:64\"}\n{\"pid\"");
  return 0;
}

static int end(void **state) {
  (void)state;
  vs_folder_remove(&folder);
  return 0;
}

static vs_status read_list(const vs_host *host, void *ctx) {
  vs_changed *changed = ctx;
  vs_error error;
  const vs_status status = vs_changed_read(changed, host, path, &error);
  assert_true((status == VS_OK) == (changed->text[0] != 0));
  return status;
}

static vs_status put(const vs_host *host, void *ctx) {
  vs_text text;
  vs_jsonw w;
  vs_text_init(&text, vs_host_default(), NULL);
  vs_jsonw_begin(&w, &text, 0);
  vs_jsonw_object_begin(&w); /* in which a key without its array is noticed */
  vs_jsonw_key(&w, VS_STR("changes"));
  const vs_status status = vs_changed_put(&w, host, ctx);
  vs_jsonw_object_end(&w);
  vs_jsonw_end(&w);
  if (status == VS_OK && text.status == VS_OK)
    assert_true(vs_str_contains(vs_text_view(&text), VS_STR("\"text\":\"2 of 4\"")));
  const vs_status whole = status == VS_OK ? text.status : status;
  vs_text_deinit(&text);
  return whole;
}

static void test_changed(void **state) {
  (void)state;
  static vs_changed changed;
  assert_true(fault_prove(read_list, &changed) > 3);
  vs_changed_begin(&changed, folder.path);
  assert_true(fault_prove(put, &changed) > 5);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(test_changed, begin, end)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
