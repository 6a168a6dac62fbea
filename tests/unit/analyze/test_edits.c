/* Edits of small traces: the requests that come out, and what the allocator makes of them. */
#include "analyze/edits.h"
#include "analyze/whatif.h"
#include "base/text.h"
#include "unit/analyze/made.h"

#define MIB  UINT64_C(1048576)
#define BASE UINT64_C(0x700000000000)

typedef struct played {
  made m;
  vs_lifetimes lifetimes;
  vs_replay_plan plan;
  vs_edited edited;
} played;

static void start(played *p) {
  made_trace(&p->m, 0);
  expect_ok(vs_lifetimes_build(p->m.host, made_slice(&p->m, 0), &p->lifetimes));
  expect_ok(vs_replay_plan_build(p->m.host, &p->lifetimes, &p->plan));
}

static void apply(played *p, const vs_edit *edits, size_t count) {
  expect_ok(vs_edits_apply(p->m.host, &p->plan, edits, count, &p->edited));
  uint32_t steps = 0;
  for (size_t i = 0; i < p->edited.requests.count; i++) {
    assert_true(p->edited.requests.data[i].steps >= steps);
    steps = p->edited.requests.data[i].steps;
  }
}

static void stop(played *p) {
  vs_edited_deinit(p->m.host, &p->edited);
  vs_replay_plan_deinit(p->m.host, &p->plan);
  vs_lifetimes_deinit(p->m.host, &p->lifetimes);
  made_end(&p->m);
}

/* "A0 30; F0": the requests as a text, sizes in MiB. */
static void expect_requests(const played *p, const char *expected) {
  char text[1024] = "";
  size_t size = 0;
  for (size_t i = 0; i < p->edited.requests.count; i++) {
    const vs_replay_request *r = &p->edited.requests.data[i];
    const char *gap = i == 0 ? "" : " ";
    if (r->kind == VS_REPLAY_ALLOC)
      vs_format(text + size, sizeof text - size, "%sA%u:%U", gap, r->lifetime, r->size / MIB);
    else if (r->kind == VS_REPLAY_FREE) vs_format(text + size, sizeof text - size, "%sF%u", gap, r->lifetime);
    else vs_format(text + size, sizeof text - size, "%sX:%U", gap, r->size / MIB);
    size += strlen(text + size);
  }
  assert_string_equal(text, expected);
}

static vs_replay run(const played *p, bool as_edited) {
  vs_replay_options options;
  vs_replay replay;
  vs_replay_options_init(&options, p->m.snapshot);
  options.settings.rules = vs_alloc_rules_default();
  options.follows = false;
  if (as_edited) options.requests = &p->edited.requests;
  expect_ok(vs_replay_run(p->m.host, &p->plan, &options, &replay));
  return replay;
}

/* Three tensors, the second freed last. */
static void three(played *p) {
  *p = (played){.m = made_begin()};
  for (uint64_t i = 0; i < 3; i++)
    (void)made_event(&p->m, VS_EVENT_ALLOC, BASE + i * 64 * MIB, (10 + i) * MIB);
  (void)made_free(&p->m, BASE, 10 * MIB);
  (void)made_free(&p->m, BASE + 128 * MIB, 12 * MIB);
  (void)made_free(&p->m, BASE + 64 * MIB, 11 * MIB);
}

static void test_nothing_changes_without_edits(void **state) {
  (void)state;
  played p;
  three(&p);
  start(&p);
  apply(&p, NULL, 0);
  expect_requests(&p, "A0:10 A1:11 A2:12 F0 F2 F1");
  assert_int_equal(p.edited.allocs, 0);
  stop(&p);
}

static void test_without(void **state) {
  (void)state;
  played p;
  const uint64_t rows = 1 << 1;
  three(&p);
  start(&p);
  apply(&p, &(vs_edit){.kind = VS_EDIT_WITHOUT, .rows = &rows}, 1);
  expect_requests(&p, "A0:10 A2:12 F0 F2");
  assert_int_equal(p.edited.allocs, 1);
  assert_int_equal(p.edited.bytes, 11 * MIB);
  assert_int_equal(run(&p, false).allocated_peak,
                   34 * MIB); /* less than 1 MiB of a segment is not split off */
  assert_int_equal(run(&p, true).allocated_peak, 22 * MIB);
  stop(&p);
}

static void test_scale(void **state) {
  (void)state;
  played p;
  const uint64_t all = 7, last = 4;
  const vs_edit edits[] = {{.kind = VS_EDIT_SCALE, .rows = &all, .factor = 2},
                           {.kind = VS_EDIT_SCALE, .rows = &last, .factor = 0.25}};
  three(&p);
  start(&p);
  apply(&p, edits, 2);
  expect_requests(&p, "A0:20 A1:22 A2:6 F0 F2 F1");
  assert_int_equal(p.edited.allocs, 3);
  stop(&p);
}

/* To the nearest byte. */
static void test_scale_rounds(void **state) {
  (void)state;
  played p;
  const uint64_t first = 1;
  three(&p);
  start(&p);
  apply(&p, &(vs_edit){.kind = VS_EDIT_SCALE, .rows = &first, .factor = 1.6 / (10 << 20)}, 1);
  assert_int_equal(p.edited.requests.data[0].size, 2);
  stop(&p);
}

/* Nothing is scaled away: PyTorch answers a request for no bytes without a block. */
static void test_scale_keeps_one_byte(void **state) {
  (void)state;
  played p;
  const uint64_t all = 7;
  three(&p);
  start(&p);
  apply(&p, &(vs_edit){.kind = VS_EDIT_SCALE, .rows = &all, .factor = 1e-12}, 1);
  for (size_t i = 0; i < 3; i++) assert_int_equal(p.edited.requests.data[i].size, 1);
  stop(&p);
}

static void test_free_early(void **state) {
  (void)state;
  played p;
  const uint64_t rows = 1 << 0 | 1 << 1;
  three(&p);
  start(&p);
  apply(&p, &(vs_edit){.kind = VS_EDIT_FREE_EARLY, .rows = &rows}, 1);
  expect_requests(&p, "A0:10 F0 A1:11 F1 A2:12 F2");
  assert_true(p.edited.requests.data[1].is_prompt);
  assert_int_equal(run(&p, true).allocated_peak, 12 * MIB);
  stop(&p);
}

/* A block that waits for another stream, freed early, waits no more. */
static void test_free_early_does_not_wait(void **state) {
  (void)state;
  played p = {.m = made_begin()};
  const uint64_t rows = 1;
  (void)made_event(&p.m, VS_EVENT_ALLOC, BASE, 30 * MIB);
  (void)made_event(&p.m, VS_EVENT_FREE_REQUESTED, BASE, 30 * MIB);
  (void)made_event(&p.m, VS_EVENT_ALLOC, BASE + 64 * MIB, 30 * MIB);
  (void)made_event(&p.m, VS_EVENT_FREE_COMPLETED, BASE, 30 * MIB);
  start(&p);
  apply(&p, &(vs_edit){.kind = VS_EDIT_FREE_EARLY, .rows = &rows}, 1);
  expect_requests(&p, "A0:30 F0 A1:30");
  assert_int_equal(run(&p, false).reserved_peak, 60 * MIB);
  assert_int_equal(run(&p, true).reserved_peak, 30 * MIB);
  stop(&p);
}

/* A block of before the trace that is left out is freed before the first request. */
static void test_blocks_of_before_the_trace(void **state) {
  (void)state;
  played p = {.m = made_begin()};
  const uint64_t rows = 1 << 1;
  (void)made_event(&p.m, VS_EVENT_ALLOC, BASE + 64 * MIB, 5 * MIB);
  (void)made_free(&p.m, BASE, 30 * MIB);
  start(&p);
  apply(&p, &(vs_edit){.kind = VS_EDIT_WITHOUT, .rows = &rows}, 1);
  expect_requests(&p, "F1 A0:5");
  assert_int_equal(p.edited.start_allocs, 1);
  stop(&p);
}

/* A failed request is scaled and left out with its line. */
static void test_failed_requests(void **state) {
  (void)state;
  played p = {.m = made_begin()};
  const uint64_t event = 1 << 1;
  (void)made_event(&p.m, VS_EVENT_ALLOC, BASE, 30 * MIB);
  (void)made_event(&p.m, VS_EVENT_OOM, 0, 100 * MIB);
  start(&p);
  apply(&p, &(vs_edit){.kind = VS_EDIT_SCALE, .events = &event, .factor = 0.5}, 1);
  expect_requests(&p, "A0:30 X:50");
  vs_edited_deinit(p.m.host, &p.edited);
  apply(&p, &(vs_edit){.kind = VS_EDIT_WITHOUT, .events = &event}, 1);
  expect_requests(&p, "A0:30");
  stop(&p);
}

/* What is held when the last request fails is freed right before it, and its own free does nothing. */
static void test_free_before_the_failure(void **state) {
  (void)state;
  played p = {.m = made_begin()};
  const uint64_t rows = 7;
  for (uint64_t i = 0; i < 3; i++) {
    (void)made_event(&p.m, VS_EVENT_SEGMENT_ALLOC, BASE + i * 64 * MIB, 30 * MIB);
    (void)made_event(&p.m, VS_EVENT_ALLOC, BASE + i * 64 * MIB, 30 * MIB);
  }
  (void)made_free(&p.m, BASE, 30 * MIB);
  (void)made_event(&p.m, VS_EVENT_OOM, 0, 100 * MIB);
  (void)made_free(&p.m, BASE + 64 * MIB, 30 * MIB);
  start(&p);
  apply(&p, (const vs_edit[]){{.kind = VS_EDIT_FREE, .rows = &rows}, {.kind = VS_EDIT_EMPTY_CACHE}}, 2);
  expect_requests(&p, "A0:30 A1:30 A2:30 F0 F1 F2 X:0 X:100 F1");
  assert_int_equal(p.edited.allocs, 2); /* the first one was freed before */
  stop(&p);
}

/* ---- the smallest card --------------------------------------------------------------------------------- */

/* 30 and 100 MiB requested, the second in vain when 64 MiB of the card were free: 94 MiB was all that the process could
 * reserve, and 130 MiB would have been enough. */
static void test_capacity_and_smallest_size(void **state) {
  (void)state;
  played p = {.m = made_begin()};
  vs_replay_options options;
  vs_smallest smallest;
  (void)made_event(&p.m, VS_EVENT_SEGMENT_ALLOC, BASE, 30 * MIB);
  (void)made_event(&p.m, VS_EVENT_ALLOC, BASE, 30 * MIB);
  (void)made_event(&p.m, VS_EVENT_OOM, 64 * MIB, 100 * MIB);
  start(&p);
  const vs_capacity capacity = vs_capacity_recorded(&p.plan);
  assert_true(capacity.is_known);
  assert_int_equal(capacity.bytes, 94 * MIB);
  assert_int_equal(capacity.event, 2);
  vs_replay_options_init(&options, p.m.snapshot);
  expect_ok(vs_whatif_smallest(p.m.host, &p.plan, &options, 0, &smallest));
  assert_true(smallest.is_known);
  assert_int_equal(smallest.bytes, 130 * MIB);
  options.follows = false;
  for (uint64_t card = 128 * MIB; card <= 130 * MIB; card += 2 * MIB) {
    vs_replay replay;
    options.card = card;
    expect_ok(vs_replay_run(p.m.host, &p.plan, &options, &replay));
    assert_int_equal(vs_replay_passes(&replay), card == 130 * MIB);
    assert_int_equal(replay.refused_at, card == 130 * MIB ? VS_NO_EVENT : 2);
  }
  stop(&p);
}

/* Of two failed requests the last one counts: the process died of it. */
static void test_capacity_of_the_last_failure(void **state) {
  (void)state;
  played p = {.m = made_begin()};
  (void)made_event(&p.m, VS_EVENT_OOM, 64 * MIB, 100 * MIB);
  (void)made_event(&p.m, VS_EVENT_SEGMENT_ALLOC, BASE, 30 * MIB);
  (void)made_event(&p.m, VS_EVENT_ALLOC, BASE, 30 * MIB);
  (void)made_event(&p.m, VS_EVENT_OOM, 20 * MIB, 100 * MIB);
  start(&p);
  const vs_capacity capacity = vs_capacity_recorded(&p.plan);
  assert_int_equal(capacity.bytes, 50 * MIB);
  assert_int_equal(capacity.event, 3);
  stop(&p);
}

/* A card that has less than what was reserved before the trace fails before the first event. */
static void test_what_was_reserved_before_the_trace(void **state) {
  (void)state;
  played p = {.m = made_begin()};
  vs_replay_options options;
  vs_replay replay;
  vs_smallest smallest;
  (void)made_event(&p.m, VS_EVENT_ALLOC, BASE + 60 * MIB, 30 * MIB);
  made_trace(&p.m, 0);
  made_segment(&p.m, 0, BASE, 100 * MIB, "large");
  made_block(&p.m, 60 * MIB, 60 * MIB, VS_BLOCK_ALLOCATED);
  made_block(&p.m, 30 * MIB, 30 * MIB, VS_BLOCK_ALLOCATED);
  made_block(&p.m, 10 * MIB, 0, VS_BLOCK_INACTIVE);
  expect_ok(vs_lifetimes_build(p.m.host, made_slice(&p.m, 0), &p.lifetimes));
  expect_ok(vs_replay_plan_build(p.m.host, &p.lifetimes, &p.plan));
  vs_replay_options_init(&options, p.m.snapshot);
  options.follows = false;
  options.card = 98 * MIB;
  expect_ok(vs_replay_run(p.m.host, &p.plan, &options, &replay));
  assert_true(replay.ran_out);
  assert_int_equal(replay.ran_out_at, VS_NO_EVENT);
  assert_int_equal(replay.ran_out_for, 100 * MIB);
  expect_ok(vs_whatif_smallest(p.m.host, &p.plan, &options, 0, &smallest));
  assert_true(smallest.is_known);
  assert_int_equal(smallest.bytes, 100 * MIB);
  stop(&p);
}

/* A run may end before the end of the trace. */
static void test_until(void **state) {
  (void)state;
  played p;
  vs_replay_options options;
  vs_replay replay;
  three(&p);
  start(&p);
  vs_replay_options_init(&options, p.m.snapshot);
  options.follows = false;
  options.until = 1;
  expect_ok(vs_replay_run(p.m.host, &p.plan, &options, &replay));
  assert_int_equal(replay.allocated_peak, 22 * MIB); /* less than 1 MiB of a segment is not split off */
  assert_int_equal(replay.last_event, 1);
  stop(&p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_nothing_changes_without_edits),
      cmocka_unit_test(test_without),
      cmocka_unit_test(test_scale),
      cmocka_unit_test(test_scale_rounds),
      cmocka_unit_test(test_scale_keeps_one_byte),
      cmocka_unit_test(test_free_early),
      cmocka_unit_test(test_free_early_does_not_wait),
      cmocka_unit_test(test_blocks_of_before_the_trace),
      cmocka_unit_test(test_failed_requests),
      cmocka_unit_test(test_capacity_and_smallest_size),
      cmocka_unit_test(test_capacity_of_the_last_failure),
      cmocka_unit_test(test_what_was_reserved_before_the_trace),
      cmocka_unit_test(test_until),
      cmocka_unit_test(test_free_before_the_failure),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
