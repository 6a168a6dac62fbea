/* A recording says what history in memory says, and what a snapshot says at its end: whether it began with the object or in
 * the middle of things, whether it was ended or just left. */
#include "live/snapshot.h"
#include "support/random.h"
#include "support/snapshots.h"
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SLOTS = 40 };
#define BEGAN_US INT64_C(1000000000000)

typedef struct program {
  vs_live *live;
  int64_t clock_us;
  test_random random;
  uint64_t addresses[2][SLOTS], streams[2][2];
  char path[64];
} program;

static int64_t tick(void *ctx) {
  program *p = ctx;
  return p->clock_us += 7;
}

static void begin(program *p, const char *settings, uint64_t seed, bool records) {
  vs_error error;
  *p = (program){.clock_us = BEGAN_US, .random = {seed}};
  vs_format(p->path, sizeof p->path, "/tmp/vramscope-test-%U.vram", (uint64_t)getpid());
  const vs_live_options options = {.gpus = "2x512MiB",
                                   .settings = settings,
                                   .recording = records ? p->path : NULL,
                                   .replace_recording = true,
                                   .done_at_sync = true,
                                   .time = tick,
                                   .time_ctx = p};
  expect_ok(vs_live_open(&options, &p->live, &error));
  for (uint32_t card = 0; card < 2; card++)
    expect_ok(vs_live_stream_create(p->live, card, &p->streams[card][1]));
}

static void keep(program *p) {
  vs_error error;
  const vs_history_options all = {
      .enabled = VS_HISTORY_EVENTS, .context = VS_HISTORY_CONTEXT_ALLOC, .max_entries = UINT64_MAX};
  expect_ok(vs_live_history(p->live, &all, &error));
}

static void act(program *p) {
  static const char *const names[] = {"forward", "backward", "step"};
  const uint32_t card = (uint32_t)random_below(&p->random, 2);
  uint64_t *slot = &p->addresses[card][random_below(&p->random, SLOTS)];
  const vs_live_frame frames[] = {
      {names[random_below(&p->random, 3)], "model.py", (int64_t)random_below(&p->random, 5)},
      {"main", "train.py", 3}};
  vs_stack stack;
  expect_ok(vs_live_stack(p->live, frames, 2, &stack));
  vs_live_stack_set(p->live, stack);
  if (*slot == 0) {
    const uint64_t size = 1 + random_below(&p->random, random_below(&p->random, 2) == 0 ? 9000 : 12 << 20);
    if (vs_live_malloc(p->live, card, size, p->streams[card][random_below(&p->random, 2)], slot) != VS_OK)
      *slot = 0;
    return;
  }
  if (random_below(&p->random, 3) == 0)
    for (int s = 0; s < 2; s++) expect_ok(vs_live_record_stream(p->live, card, *slot, p->streams[card][s]));
  expect_ok(vs_live_free(p->live, card, *slot));
  *slot = 0;
}

static void run(program *p, int steps) {
  for (int i = 0; i < steps; i++) {
    act(p);
    if (i % 97 == 0) expect_ok(vs_live_annotation_begin(p->live, (uint32_t)(i % 2), "part"));
    if (i % 97 == 50) expect_ok(vs_live_annotation_end(p->live, (uint32_t)(i % 2), "part"));
    if (i % 151 == 0) expect_ok(vs_live_metadata_set(p->live, i % 302 == 0 ? "{\"epoch\":1}" : NULL));
    if (i % 211 == 0) expect_ok(vs_live_empty_cache(p->live));
    if (i % 83 == 0) expect_ok(vs_live_synchronize(p->live, 0, p->streams[0][1]));
  }
}

/* ---- what the file says, against what live says right after: the event of that snapshot is in neither */

static vs_snapshot *recorded_now(program *p) {
  const vs_str bytes = file_bytes(p->path);
  vs_snapshot *recorded = snapshot_of(bytes);
  free((void *)(uintptr_t)bytes.data);
  assert_true(recorded->events.count > 1000);
  assert_true(recorded->segments.count > 4);
  return recorded;
}

static void expect_equal(program *p, const char *what) {
  vs_snapshot *recorded = recorded_now(p), *now;
  expect_ok(vs_live_snapshot(p->live, true, &now));
  now->has = recorded->has; /* of pinned memory a recording says nothing, and no more than that */
  expect_equal_snapshots(now, recorded, what);
  vs_snapshot_destroy(now);
  vs_snapshot_destroy(recorded);
}

static void expect_same_block(const vs_block *now, const vs_block *recorded) {
  assert_int_equal(now->address, recorded->address);
  assert_int_equal(now->size, recorded->size);
  assert_int_equal(now->state, recorded->state);
  if (vs_block_is_active(now)) assert_int_equal(now->requested_size, recorded->requested_size);
}

/* An unfinished file, as of a killed process: the state is made of the events, which do not tell what a cached block
 * was last used for. */
static void expect_same_memory(program *p) {
  vs_snapshot *recorded = recorded_now(p), *now;
  expect_ok(vs_live_snapshot(p->live, true, &now));
  assert_int_equal(now->segments.count, recorded->segments.count);
  assert_int_equal(now->blocks.count, recorded->blocks.count);
  for (size_t i = 0; i < now->segments.count; i++) {
    const vs_segment *a = &now->segments.data[i], *b = &recorded->segments.data[i];
    assert_int_equal(a->device, b->device);
    assert_int_equal(a->address, b->address);
    assert_int_equal(a->total_size, b->total_size);
    assert_int_equal(a->block_count, b->block_count);
    assert_int_equal(now->streams.data[a->stream], recorded->streams.data[b->stream]);
  }
  for (size_t i = 0; i < now->blocks.count; i++)
    expect_same_block(&now->blocks.data[i], &recorded->blocks.data[i]);
  vs_snapshot_destroy(now);
  vs_snapshot_destroy(recorded);
}

static void finish(program *p, const char *what) {
  vs_error error;
  vs_recording_info info;
  vs_live_recording_info(p->live, &info);
  assert_true(info.is_on);
  assert_int_equal(info.lost, 0);
  expect_ok(vs_live_recording_stop(p->live, &error));
  expect_equal(p, what);
  vs_live_recording_info(p->live, &info);
  assert_false(info.is_on);
  expect_status(vs_live_recording_stop(p->live, &error), VS_NOT_FOUND);
  expect_ok(vs_live_close(p->live, &error));
  unlink(p->path);
}

static void from_the_beginning(void **state) {
  static const char *const settings[] = {"", "expandable_segments:True"};
  (void)state;
  for (int i = 0; i < 2; i++) {
    program p;
    begin(&p, settings[i], (uint64_t)i + 1, true);
    keep(&p);
    run(&p, 3000);
    vs_record_flush(p.live->recorder);
    expect_same_memory(&p);
    run(&p, 100);
    finish(&p, settings[i]);
  }
}

static void from_the_middle(void **state) {
  (void)state;
  program p;
  vs_error error;
  begin(&p, "", 3, false);
  run(&p, 1000);
  keep(&p);
  expect_ok(vs_live_recording_start(p.live, p.path, true, VS_HISTORY_STACKS_GIVEN, &error));
  expect_status(vs_live_recording_start(p.live, "/tmp/vramscope-test-other.vram", true,
                                        VS_HISTORY_STACKS_GIVEN, &error),
                VS_BAD_ARGUMENT);
  unlink("/tmp/vramscope-test-other.vram");
  expect_status(vs_live_recording_start(p.live, p.path, false, VS_HISTORY_STACKS_GIVEN, &error), VS_IO);
  run(&p, 3000);
  vs_record_flush(p.live->recorder);
  expect_same_memory(&p);
  finish(&p, "began late");
}

/* Only the second card has memory when the recording begins. */
static void from_the_middle_of_one_card(void **state) {
  (void)state;
  program p;
  vs_error error;
  begin(&p, "", 5, false);
  uint64_t kept; /* until the end */
  expect_ok(vs_live_malloc(p.live, 1, 5 << 20, 0, &kept));
  keep(&p);
  expect_ok(vs_live_recording_start(p.live, p.path, true, VS_HISTORY_STACKS_GIVEN, &error));
  run(&p, 3000);
  vs_record_flush(p.live->recorder);
  expect_same_memory(&p);
  finish(&p, "one card");
}

/* ---- what closing says */

static void a_full_disk_ends_the_recording_and_not_the_program(void **state) {
  (void)state;
  program p;
  vs_error error;
  struct rlimit before, limit;
  assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
  limit = before;
  limit.rlim_cur = 1 << 20; /* what is mapped first */
  begin(&p, "", 5, true);
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
  for (int round = 0; round < 40 && vs_record_is_on(p.live->recorder); round++) run(&p, 10000);
  run(&p, 1000);
  assert_false(vs_record_is_on(p.live->recorder));
  vs_recording_info info;
  vs_live_recording_info(p.live, &info);
  assert_true(info.is_on && info.lost > 500);
  assert_in_range(info.lost_from_us, 1, p.clock_us - BEGAN_US);
  expect_status(vs_live_close(p.live, &error), VS_IO);
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
  assert_non_null(strstr(error.text, "too large"));
  const vs_str bytes = file_bytes(p.path);
  vs_snapshot *s = snapshot_of(bytes);
  assert_non_null(strstr(vs_snapshot_string(s, s->recording.stopped).data, "too large"));
  assert_true(s->recording.unrecorded >= info.lost && !s->recording.is_ended && s->events.count > 10000);
  vs_snapshot_destroy(s);
  free((void *)(uintptr_t)bytes.data);
  unlink(p.path);
}

/* The recorder's thread may hold the locks of the cards when the process forks; in the child no thread releases them. */
static void a_child_may_close_while_a_lock_is_held(void **state) {
  (void)state;
  program p;
  vs_error error;
  begin(&p, "", 6, true);
  run(&p, 100);
  vs_live_lock_take(&p.live->devices[0]->lock);
  const pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    alarm(20);
    _exit(vs_live_close(p.live, &error) == VS_OK ? 0 : 1);
  }
  vs_live_lock_give(&p.live->devices[0]->lock);
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  expect_ok(vs_live_close(p.live, &error));
  unlink(p.path);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(from_the_beginning),
      cmocka_unit_test(from_the_middle),
      cmocka_unit_test(a_full_disk_ends_the_recording_and_not_the_program),
      cmocka_unit_test(a_child_may_close_while_a_lock_is_held),
      cmocka_unit_test(from_the_middle_of_one_card),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
