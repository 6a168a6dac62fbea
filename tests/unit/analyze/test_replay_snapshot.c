/* Runs of small traces as snapshots: what of the recording is in them, what is not, and that they hold together. */
#include "analyze/edits.h"
#include "analyze/replay_snapshot.h"
#include "base/text.h"
#include "unit/analyze/judged.h"
#include "unit/analyze/made.h"

#define MIB  UINT64_C(1048576)
#define BASE UINT64_C(0x700000000000)

typedef struct played {
  made m;
  vs_lifetimes lifetimes;
  vs_replay_plan plan;
  vs_replay_options options;
  vs_replay_snapshot run;
  vs_replay replay;
} played;

static void begin(played *p) { *p = (played){.m = made_begin()}; }

static void plan(played *p, int32_t device) {
  expect_ok(vs_lifetimes_build(p->m.host, made_slice(&p->m, device), &p->lifetimes));
  expect_ok(vs_replay_plan_build(p->m.host, &p->lifetimes, &p->plan));
  vs_replay_options_init(&p->options, p->m.snapshot);
  p->options.settings.rules = vs_alloc_rules_default();
  p->options.follows = false;
}

static const vs_whatif_mark MARK = {.is_there = true, .capacity_bytes = 5 * MIB};

static void run(played *p) {
  p->options.snapshot = &p->run;
  expect_ok(vs_replay_snapshot_init(&p->run, p->m.host, p->m.snapshot));
  expect_ok(vs_replay_run(p->m.host, &p->plan, &p->options, &p->replay));
  expect_ok(vs_replay_snapshot_seal(&p->run, &p->options.settings, &MARK, false));
  const char *broken = vs_snapshot_check(&p->run.snapshot);
  if (broken != NULL) fail_msg("%s", broken);
}

static void stop(played *p) {
  vs_replay_snapshot_deinit(&p->run);
  vs_replay_deinit(p->m.host, &p->replay);
  vs_replay_plan_deinit(p->m.host, &p->plan);
  vs_lifetimes_deinit(p->m.host, &p->lifetimes);
  made_end(&p->m);
}

/* "alloc 30 free_requested 30": actions, and sizes in MiB. */
static void expect_events(const played *p, const char *expected) {
  const vs_snapshot *s = &p->run.snapshot;
  char text[1024] = "";
  for (uint32_t row = 0; row < s->events.count; row++) {
    const size_t size = strlen(text);
    vs_format(text + size, sizeof text - size, "%s%s %U", row == 0 ? "" : " ",
              vs_event_kind_action(vs_events_kind(&s->events, row)), vs_events_size(&s->events, row) / MIB);
  }
  assert_string_equal(text, expected);
}

static uint32_t stack_at(const played *p, uint32_t row) {
  return vs_events_stack(&p->run.snapshot.events, row);
}

/* The trust of the result as that of a file. */
static vs_trust judge(const played *p) {
  vs_slices slices;
  vs_lifetimes lifetimes;
  vs_curves curves;
  expect_ok(vs_slices_build(p->m.host, &p->run.snapshot, &slices));
  const vs_slice *slice = vs_slices_find(&slices, p->lifetimes.slice->device);
  vs_curves_measure(slice, &curves);
  expect_ok(vs_lifetimes_build(p->m.host, slice, &lifetimes));
  const vs_trust trust = judged(p->m.host, &lifetimes, &curves);
  vs_lifetimes_deinit(p->m.host, &lifetimes);
  vs_slices_deinit(p->m.host, &slices);
  return trust;
}

/* ---- events ------------------------------------------------------------------------------------------------------ */

/* Two tensors of 30 MiB, the first freed before the second, and a snapshot of the program's between them. */
static void two(played *p, uint32_t stacks[static 2], uint32_t of_free) {
  vs_events *events = &p->m.snapshot->events;
  for (uint32_t i = 0; i < 2; i++) stacks[i] = made_stack(&p->m, i == 0 ? "first" : "second", i + 1);
  (void)made_event(&p->m, VS_EVENT_SEGMENT_ALLOC, BASE, 30 * MIB);
  (void)made_alloc(&p->m, BASE, 30 * MIB, stacks[0]);
  const uint32_t done = made_free(&p->m, BASE, 30 * MIB);
  (void)made_event(&p->m, VS_EVENT_SNAPSHOT, 0, 30 * MIB);
  (void)made_alloc(&p->m, BASE, 30 * MIB, stacks[1]);
  const uint32_t frees[] = {of_free == VS_LIST_NONE ? stacks[0] : of_free,
                            of_free == VS_LIST_NONE ? stacks[0] : of_free};
  for (uint32_t i = 0; i < 2; i++) expect_ok(vs_events_set_stack(p->m.host, events, done - 1 + i, frees[i]));
  for (uint32_t i = 0; i < 6; i++) made_time(&p->m, i, 1000 + i);
  for (uint32_t i = 0; i < 6; i++)
    expect_ok(
        vs_events_set_user_metadata(p->m.host, events, i, made_string(&p->m, i < 4 ? "early" : "late")));
  made_trace(&p->m, 0);
  (void)made_segment(&p->m, 0, BASE, 30 * MIB, "large");
  made_block(&p->m, 30 * MIB, 30 * MIB, VS_BLOCK_ALLOCATED);
}

static void test_events_have_what_the_recorded_ones_have(void **state) {
  (void)state;
  played p;
  uint32_t stacks[2];
  begin(&p);
  two(&p, stacks, VS_LIST_NONE);
  plan(&p, 0);
  run(&p);
  expect_events(&p, "segment_alloc 30 alloc 30 free_requested 30 free_completed 30 snapshot 0 alloc 30");
  const vs_events *events = &p.run.snapshot.events;
  const int64_t times[] = {1001, 1001, 1002, 1003, 1004, 1005};
  for (uint32_t i = 0; i < 6; i++) {
    assert_int_equal(vs_events_time_us(events, i), times[i]);
    const vs_str text = vs_snapshot_string(&p.run.snapshot, vs_events_user_metadata(events, i));
    assert_true(vs_str_equal(text, i < 4 ? VS_STR("early") : VS_STR("late")));
  }
  for (uint32_t i = 0; i < 4; i++) assert_int_equal(stack_at(&p, i), stacks[0]);
  assert_int_equal(stack_at(&p, 4), VS_LIST_NONE);
  assert_int_equal(stack_at(&p, 5), stacks[1]);
  assert_int_equal(p.run.snapshot.blocks.data[0].stack, stacks[1]);
  assert_int_equal(p.run.snapshot.segments.data[0].stack, stacks[0]);
  stop(&p);
}

/* A free has the stack that it was recorded with, also where that is not its allocation's. */
static void test_stacks_of_frees(void **state) {
  (void)state;
  played p;
  uint32_t stacks[2];
  begin(&p);
  const uint32_t freeing = made_stack(&p.m, "free", 9);
  two(&p, stacks, freeing);
  plan(&p, 0);
  run(&p);
  assert_int_equal(stack_at(&p, 1), stacks[0]);
  assert_int_equal(stack_at(&p, 2), freeing);
  assert_int_equal(stack_at(&p, 3), freeing);
  stop(&p);
}

/* A block of the start that another stream uses waits, without an event of its free; it has the stack of the end state or of
 * its free. */
static void test_what_was_there_before(void **state) {
  (void)state;
  played p;
  begin(&p);
  const uint32_t kept = made_stack(&p.m, "kept", 1), freed = made_stack(&p.m, "freed", 2);
  const uint32_t done = made_free(&p.m, BASE + 10 * MIB, 10 * MIB);
  (void)made_event(&p.m, VS_EVENT_FREE_COMPLETED, BASE + 20 * MIB, 10 * MIB);
  expect_ok(vs_events_set_stack(p.m.host, &p.m.snapshot->events, done - 1, freed));
  expect_ok(vs_events_set_stack(p.m.host, &p.m.snapshot->events, done, freed));
  (void)made_event(&p.m, VS_EVENT_ALLOC, BASE + 20 * MIB, 10 * MIB);
  made_trace(&p.m, 0);
  made_segment(&p.m, 0, BASE, 30 * MIB, "large")->stack = kept;
  made_block(&p.m, 10 * MIB, 10 * MIB, VS_BLOCK_ALLOCATED);
  p.m.snapshot->blocks.data[0].stack = kept;
  made_block(&p.m, 10 * MIB, 0, VS_BLOCK_INACTIVE);
  made_block(&p.m, 10 * MIB, 10 * MIB, VS_BLOCK_ALLOCATED);
  plan(&p, 0);
  run(&p);
  const vs_snapshot *s = &p.run.snapshot;
  expect_events(&p, "free_requested 10 free_completed 10 free_completed 10 alloc 10");
  assert_int_equal(stack_at(&p, 0), freed);
  assert_int_equal(s->segments.data[0].address, BASE);
  assert_int_equal(s->segments.data[0].stack, kept);
  assert_int_equal(s->blocks.data[0].stack, kept);
  assert_int_equal(s->blocks.data[0].requested_size, 10 * MIB);
  stop(&p);
}

/* ---- failures ------------------------------------------------------------------------------------------------------ */

static void test_it_ends_where_the_run_fails(void **state) {
  (void)state;
  played p;
  begin(&p);
  for (uint64_t i = 0; i < 3; i++) {
    (void)made_event(&p.m, VS_EVENT_SEGMENT_ALLOC, BASE + i * 64 * MIB, 30 * MIB);
    (void)made_alloc(&p.m, BASE + i * 64 * MIB, 30 * MIB, made_stack(&p.m, "more", (int64_t)i));
  }
  (void)made_event(&p.m, VS_EVENT_SNAPSHOT, 0, 0);
  made_trace(&p.m, 0);
  for (uint64_t i = 0; i < 3; i++) {
    (void)made_segment(&p.m, 0, BASE + i * 64 * MIB, 30 * MIB, "large");
    made_block(&p.m, 30 * MIB, 30 * MIB, VS_BLOCK_ALLOCATED);
  }
  plan(&p, 0);
  p.options.card = 64 * MIB;
  run(&p);
  assert_true(p.replay.ran_out);
  expect_events(&p, "segment_alloc 30 alloc 30 segment_alloc 30 alloc 30 oom 30");
  assert_int_equal(vs_events_address(&p.run.snapshot.events, 4), 4 * MIB);
  assert_int_equal(p.run.snapshot.segments.count, 2);
  assert_true(vs_whatif_mark_of(&p.run.snapshot).is_there);
  stop(&p);
}

/* What failed and passes now is given back at once; what fails again is in the trace. */
static void test_requests_that_failed(void **state) {
  (void)state;
  for (int fails = 0; fails < 2; fails++) {
    played p;
    begin(&p);
    (void)made_event(&p.m, VS_EVENT_OOM, 5, 40 * MIB);
    (void)made_event(&p.m, VS_EVENT_SEGMENT_ALLOC, BASE, 30 * MIB);
    (void)made_event(&p.m, VS_EVENT_ALLOC, BASE, 30 * MIB);
    made_trace(&p.m, 0);
    (void)made_segment(&p.m, 0, BASE, 30 * MIB, "large");
    made_block(&p.m, 30 * MIB, 30 * MIB, VS_BLOCK_ALLOCATED);
    plan(&p, 0);
    p.options.card = fails ? 35 * MIB : 0;
    run(&p);
    expect_events(&p, fails ? "oom 40 segment_alloc 30 alloc 30"
                            : "segment_alloc 40 alloc 40 free_requested 40 free_completed 40 alloc 30");
    stop(&p);
  }
}

/* ---- the file ------------------------------------------------------------------------------------------------------ */

/* The other GPU of the file is there without events; pinned host memory is not. */
static void test_one_device(void **state) {
  (void)state;
  played p;
  begin(&p);
  for (int32_t device = 0; device < 3; device++) {
    (void)made_event(&p.m, VS_EVENT_SEGMENT_ALLOC, BASE, 30 * MIB);
    (void)made_event(&p.m, VS_EVENT_ALLOC, BASE, 30 * MIB);
    made_trace(&p.m, device == 2 ? VS_DEVICE_HOST : device);
    (void)made_segment(&p.m, device == 2 ? VS_DEVICE_HOST : device, BASE, 30 * MIB, "large");
    made_block(&p.m, 30 * MIB, 30 * MIB, VS_BLOCK_ALLOCATED);
  }
  plan(&p, 1);
  run(&p);
  const vs_snapshot *s = &p.run.snapshot;
  assert_int_equal(s->traces.count, 2);
  assert_int_equal(s->traces.data[0].count, 0);
  assert_int_equal(s->traces.data[1].count, 2);
  assert_int_equal(s->segments.count, 1);
  assert_int_equal(s->segments.data[0].device, 1);
  const vs_trust trust = judge(&p);
  assert_true(trust.is_complete && trust.findings[VS_FINDING_WHATIF].count == 1);
  stop(&p);
}

static vs_str text_of(const vs_snapshot *s, const char *key) {
  for (size_t i = 0; i < s->settings.count; i++)
    if (vs_str_equal(vs_snapshot_string(s, s->settings.data[i].key), vs_str_from(key)))
      return vs_snapshot_string(s, (uint32_t)s->settings.data[i].bits);
  fail_msg("no %s", key);
  return VS_STR("");
}

/* As given where that says everything; else what is in force. */
static void test_settings(void **state) {
  (void)state;
  static const char *const cases[][2] = {
      {"roundup_power2_divisions:[4:2,>:8]", "roundup_power2_divisions:[4:2,>:8]"},
      {"large_segment_size_mb:32", "large_segment_size_mb:32"},
      {"profile:torch-2.6,max_split_size_mb:64", "max_split_size_mb:64"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    played p;
    uint32_t stacks[2];
    vs_error error;
    bool is_known;
    begin(&p);
    two(&p, stacks, VS_LIST_NONE);
    plan(&p, 0);
    expect_ok(vs_replay_settings_parse(vs_str_from(cases[i][0]), NULL, &p.options.settings, &error));
    if (i == 2) p.options.settings.text_size = 0;
    run(&p);
    const vs_str text = text_of(&p.run.snapshot, "PYTORCH_CUDA_ALLOC_CONF");
    assert_int_equal(text.size, strlen(cases[i][1]));
    assert_memory_equal(text.data, cases[i][1], text.size);
    vs_alloc_settings again;
    vs_replay_settings_of(&p.run.snapshot, &again, &is_known);
    assert_true(is_known);
    assert_int_equal(again.large_segment_size, p.options.settings.large_segment_size);
    assert_int_equal(again.max_split_size, p.options.settings.max_split_size);
    assert_memory_equal(again.roundup_divisions, p.options.settings.roundup_divisions,
                        sizeof again.roundup_divisions);
    stop(&p);
  }
}

static void test_the_mark(void **state) {
  (void)state;
  vs_snapshot *s;
  for (int i = 0; i < 2; i++) {
    const vs_whatif_mark mark = {.is_there = true,
                                 .is_estimate = i == 1,
                                 .ran_out = i == 0,
                                 .capacity_bytes = i == 0 ? 0 : 7,
                                 .edited = i == 0 ? 3 : 0};
    expect_ok(vs_snapshot_create(vs_host_default(), &s));
    assert_false(vs_whatif_mark_of(s).is_there);
    expect_ok(vs_snapshot_setting_add(s, VS_STR("is_estimate"),
                                      (vs_setting){.kind = VS_SETTING_BOOL, .bits = i == 0}, VS_STR("")));
    expect_ok(vs_whatif_mark_add(s, &mark));
    expect_ok(vs_snapshot_setting_add(s, VS_STR("ran_out"),
                                      (vs_setting){.kind = VS_SETTING_BOOL, .bits = i == 1}, VS_STR("")));
    const vs_whatif_mark got = vs_whatif_mark_of(s);
    assert_true(got.is_there && got.is_estimate == mark.is_estimate && got.ran_out == mark.ran_out);
    assert_int_equal(got.capacity_bytes, mark.capacity_bytes);
    assert_int_equal(got.edited, mark.edited);
    vs_snapshot_destroy(s);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_events_have_what_the_recorded_ones_have),
      cmocka_unit_test(test_stacks_of_frees),
      cmocka_unit_test(test_what_was_there_before),
      cmocka_unit_test(test_it_ends_where_the_run_fails),
      cmocka_unit_test(test_requests_that_failed),
      cmocka_unit_test(test_one_device),
      cmocka_unit_test(test_settings),
      cmocka_unit_test(test_the_mark),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
