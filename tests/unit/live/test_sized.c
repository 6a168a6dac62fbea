/* Structs of a program that was compiled with another version of the headers: shorter and longer ones. */
#include "base/sized.h"
#include "support/test.h"
#include <vramscope/devices.h>
#include <vramscope/live.h>
#include <vramscope/query.h>

typedef struct older {
  uint64_t a;
} older;
typedef struct ours {
  uint64_t a, b;
} ours;
typedef struct newer {
  uint64_t a, b, c;
} newer;

static void an_older_program_gets_the_defaults(void **state) {
  (void)state;
  ours taken = {9, 9};
  expect_ok(vs_sized_take(&taken, sizeof taken, &(older){1}, sizeof(older), NULL));
  assert_int_equal(taken.a, 1);
  assert_int_equal(taken.b, 0);
  older given[2] = {{9}, {9}};
  vs_sized_give(&given[0], sizeof given[0], &(ours){3, 4}, sizeof(ours));
  assert_int_equal(given[0].a, 3);
  assert_int_equal(given[1].a, 9);
}

static void a_newer_program_is_heard_or_refused(void **state) {
  (void)state;
  vs_error error;
  ours taken;
  expect_ok(vs_sized_take(&taken, sizeof taken, &(newer){1, 2, 0}, sizeof(newer), NULL));
  assert_int_equal(taken.b, 2);
  expect_status(vs_sized_take(&taken, sizeof taken, &(newer){1, 2, 3}, sizeof(newer), &error),
                VS_UNSUPPORTED);
  assert_non_null(strstr(error.text, "a later version of libvramscope"));
  newer given = {9, 9, 9};
  vs_sized_give(&given, sizeof given, &(ours){3, 4}, sizeof(ours));
  assert_int_equal(given.b, 4);
  assert_int_equal(given.c, 0);
}

/* The public functions obey the size. */
static void what_an_older_program_has_not_got_is_not_written(void **state) {
  (void)state;
  vs_live *live;
  vs_scope *scope;
  vs_error error;
  struct {
    vs_live_options known;
    uint64_t later;
  } options = {.known = {.gpus = "1GiB", .settings = ""}, .later = 1};
  vs_live_memory memory = {.active = 77};
  vs_live_room room = {.waiting = 77};
  vs_scope_figures figures = {.frees = 77};
  vs_live_device_info info = {.total_bytes = 77};
  vs_history_info history = {.lost = 77};
  vs_recording_info recording = {.bytes = 77};
  expect_status(vs_live_open_sized(&options.known, sizeof options, &live, &error), VS_UNSUPPORTED);
  assert_null(live);
  options.later = 0;
  expect_ok(vs_live_open_sized(&options.known, sizeof options, &live, &error));
  expect_ok(vs_live_memory_of_sized(live, 0, &memory, offsetof(vs_live_memory, active)));
  assert_int_equal(memory.active, 77);
  expect_ok(vs_live_room_of_sized(live, 0, &room, offsetof(vs_live_room, waiting)));
  assert_int_equal(room.waiting, 77);
  assert_int_equal(room.total, UINT64_C(1) << 30);
  expect_ok(vs_live_device_of_sized(live, 0, &info, offsetof(vs_live_device_info, total_bytes)));
  assert_int_equal(info.total_bytes, 77);
  expect_ok(vs_live_history_info_sized(live, 0, &history, offsetof(vs_history_info, lost)));
  assert_int_equal(history.lost, 77);
  vs_live_recording_info_sized(live, &recording, offsetof(vs_recording_info, bytes));
  assert_int_equal(recording.bytes, 77);
  expect_ok(vs_live_scope_begin(live, 0, &scope));
  vs_live_scope_read_sized(scope, &figures, offsetof(vs_scope_figures, frees));
  assert_int_equal(figures.frees, 77);
  vs_live_scope_end_sized(scope, &figures, offsetof(vs_scope_figures, frees));
  assert_int_equal(figures.frees, 77);
  expect_ok(vs_live_close(live, &error));
}

static void an_engine_takes_the_sources_of_all_ages(void **state) {
  (void)state;
  static const char json[] = "{\"segments\": [], \"device_traces\": []}";
  vs_engine *engine;
  vs_error error;
  vs_memory_reader memory;
  struct {
    vs_source known;
    uint64_t later;
  } source = {.known = {.name = {"x", 1}, .bytes = 5}, .later = 1};
  expect_ok(vs_engine_create(NULL, &engine));
  vs_reader reader = vs_reader_from_bytes(&memory, json, sizeof json - 1);
  expect_status(vs_engine_load_sized(engine, reader, &source.known, sizeof source, NULL, 0, &error),
                VS_UNSUPPORTED);
  source.later = 0;
  reader = vs_reader_from_bytes(&memory, json, sizeof json - 1);
  expect_ok(vs_engine_load_sized(engine, reader, &source.known, sizeof source, NULL, 0, &error));
  vs_engine_destroy(engine);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(an_older_program_gets_the_defaults),
      cmocka_unit_test(a_newer_program_is_heard_or_refused),
      cmocka_unit_test(what_an_older_program_has_not_got_is_not_written),
      cmocka_unit_test(an_engine_takes_the_sources_of_all_ages),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
