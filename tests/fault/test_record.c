/* A recording in which the n-th request for memory fails, n = 0, 1, 2 ...: it is not opened, or ends early
 * and says so; the program goes on, and what is in the file can be read. */
#include "os/folder.h"
#include "record/record.h"
#include "support/test.h"

static vs_folder folder;
static char path[VS_FOLDER_PATH + 32];

static void record_some(vs_recorder *recorder, vs_record_stacks *stacks) {
  for (uint64_t i = 0; i < 300; i++) {
    uint64_t words[2] = {0x1000 + i, 0};
    uint32_t text = 0;
    char name[32];
    vs_format(name, sizeof name, "function %U", i);
    const vs_record_frame frame = {.function = vs_str_from(name), .file = VS_STR("x.py"), .line = 3};
    expect_ok(vs_record_frame_intern(stacks, &frame, &words[1]));
    expect_ok(vs_record_text_intern(stacks, vs_str_from(name), &text));
    const vs_event event = {.address = i * 512, .size = i, .context = vs_record_intern(stacks, words, 2)};
    vs_record_event(recorder, &event, &(vs_record_facts){.metadata = text});
  }
}

static vs_status record(const vs_host *host, void *ctx) {
  vs_record_stacks *stacks = ctx;
  const vs_record_options options = {.path = path, .may_replace = true, .wait = true, .stacks = stacks};
  vs_recorder *recorder;
  vs_record_figures figures;
  vs_error error;
  VS_TRY(vs_record_open(host, &options, &recorder, &error));
  record_some(recorder, stacks);
  const vs_status status = vs_record_close(recorder, &figures, &error);
  assert_int_equal(figures.events + figures.lost_file, 300);
  assert_true((status == VS_OK) == (figures.lost_file == 0));
  return status;
}

static void test_record(void **state) {
  (void)state;
  vs_error error;
  vs_record_stacks *stacks;
  expect_ok(vs_folder_create(&folder, "vramscope-record-", &error));
  vs_format(path, sizeof path, "%s/test.vram", folder.path);
  expect_ok(vs_record_stacks_create(NULL, &stacks));
  assert_true(fault_prove(record, stacks) > 10);
  vs_record_stacks_destroy(stacks);
  vs_folder_remove(&folder);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_record)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
