/* Every question of analyze, with each of its requests for memory failing once: the answer is VS_NO_MEMORY and nothing
 * is left behind. */
#include "analyze/address_check.h"
#include "analyze/block_names.h"
#include "analyze/holes.h"
#include "analyze/picture.h"
#include "analyze/report.h"
#include "analyze/span_stack.h"
#include "unit/analyze/made.h"

/* A training loop with a leak, segments that come and go, something older than the trace, and a failure. */
static made small_training(void) {
  made m = made_begin();
  const uint32_t forward = made_stack(&m, "forward", 1), leak = made_stack(&m, "log", 2),
                 stream = made_stream(&m, 3);
  const uint32_t pool = made_pool(&m, 0, 1);
  uint64_t next = 0x200000;
  (void)made_event(&m, VS_EVENT_SEGMENT_ALLOC, 0x200000, 0x20000);
  for (int step = 0; step < 6; step++) {
    const int64_t now = 1000 + 100 * step;
    made_annotation(&m, "START", "ProfilerStep#0", now - 1);
    for (uint64_t i = 0; i < 4; i++) made_time(&m, made_alloc(&m, 0x210000 + 2048 * i, 900, forward), now);
    made_time(&m, made_alloc(&m, next, 300, leak), now + 1);
    next += 512;
    for (uint64_t i = 0; i < 4; i++) made_time(&m, made_free(&m, 0x210000 + 2048 * (3 - i), 900), now + 2);
    made_annotation(&m, "END", "ProfilerStep#0", now + 50);
  }
  (void)made_event(&m, VS_EVENT_SEGMENT_UNMAP, 0x600000, 0x200000);
  (void)made_event(&m, VS_EVENT_SEGMENT_MAP, 0x600000, 0x100000);
  (void)made_free(&m, 0x500000, 40); /* older */
  (void)made_event(&m, VS_EVENT_ALLOC, 0x500000, 50);
  (void)made_event(&m, VS_EVENT_OOM, 100, 1 << 20);
  made_trace(&m, 0);
  vs_segment *segment = made_segment(&m, 0, 0x200000, 0x20000, "small");
  segment->stream = stream;
  segment->pool = pool;
  for (int step = 0; step < 6; step++) (void)made_block(&m, 512, 300, VS_BLOCK_ALLOCATED);
  (void)made_block(&m, 0x20000 - 6 * 512, 0, VS_BLOCK_INACTIVE);
  (void)made_segment(&m, 0, 0x500000, 1024, "large");
  (void)made_block(&m, 512, 50, VS_BLOCK_ALLOCATED);
  (void)made_block(&m, 512, 60, VS_BLOCK_PENDING); /* never mentioned */
  segment = made_segment(&m, 0, 0x600000, 0x100000, "large");
  segment->is_expandable = true;
  segment->has = VS_SEGMENT_HAS_EXPANDABLE;
  (void)made_block(&m, 0x100000, 0, VS_BLOCK_INACTIVE);
  return m;
}

static void expect_whole(const char *broken) {
  if (broken != NULL) fail_msg("%s", broken);
}

static vs_status use_slices(const vs_host *host, void *ctx) {
  vs_slices slices;
  VS_TRY(vs_slices_build(host, ((const made *)ctx)->snapshot, &slices));
  vs_slices_deinit(host, &slices);
  return VS_OK;
}

static vs_status use_report(const vs_host *host, void *ctx) {
  vs_report report;
  VS_TRY(vs_report_build(host, ctx, &report));
  expect_whole(vs_lifetimes_check(report.lifetimes));
  expect_whole(vs_state_check(&report.fragmentation.state));
  vs_report_deinit(host, &report);
  return VS_OK;
}

static vs_status use_curve_index(const vs_host *host, const vs_moment_index *moments) {
  vs_curve_index curve[VS_CURVE_KINDS], of_spans;
  vs_curves curves;
  vs_curves_measure(moments->lifetimes->slice, &curves);
  VS_TRY(vs_curve_index_of_curves(host, moments->lifetimes->slice, &curves, curve));
  for (int kind = 0; kind < VS_CURVE_KINDS; kind++) {
    expect_whole(vs_curve_index_check(&curve[kind]));
    vs_curve_index_deinit(host, &curve[kind]);
  }
  VS_TRY(vs_curve_index_of_spans(host, &moments->spans, &of_spans));
  expect_whole(vs_curve_index_check(&of_spans));
  vs_curve_index_deinit(host, &of_spans);
  return VS_OK;
}

static vs_status use_picture(const vs_host *host, const vs_spans *spans, const vs_slice *slice) {
  vs_curve_index curve;
  vs_times times;
  vs_picture picture;
  VS_TRY(vs_curve_index_of_spans(host, spans, &curve));
  expect_whole(vs_curve_index_check(&curve));
  vs_status status = vs_times_build(host, slice, &times);
  if (status == VS_OK) {
    const vs_look look = {.window = vs_window_whole(slice, &times, 30), .y1 = VS_FIT, .rows = 40};
    status = vs_picture_build(host, spans, &curve, &look, &picture);
    if (status == VS_OK) vs_picture_deinit(host, &picture);
    vs_times_deinit(host, &times);
  }
  vs_curve_index_deinit(host, &curve);
  return status;
}

/* Moves a stack over the trace. A move that fails may have added a part of the spans, so it is checked only on
 * success. */
static vs_status use_span_stack(const vs_host *host, const vs_spans *spans) {
  vs_span_stack stack = vs_span_stack_of(spans);
  vs_status status = VS_OK;
  for (uint32_t done = 0; done <= spans->event_count && status == VS_OK; done += 3) {
    status = vs_span_stack_move(host, &stack, done);
    if (status == VS_OK) expect_whole(vs_span_stack_check(&stack));
  }
  vs_span_stack_deinit(host, &stack);
  return status;
}

static vs_status use_moment_index(const vs_host *host, const vs_moment_index *moments) {
  vs_spans spans;
  vs_pick pick;
  vs_block_names names;
  VS_TRY(use_curve_index(host, moments));
  VS_TRY(use_span_stack(host, &moments->spans));
  VS_TRY(use_picture(host, &moments->spans, moments->lifetimes->slice));
  VS_TRY(vs_spans_of_mappings(host, &moments->mappings, NULL, &spans));
  expect_whole(vs_spans_check(&spans));
  const vs_status status = use_picture(host, &spans, moments->lifetimes->slice);
  vs_spans_deinit(host, &spans);
  VS_TRY(status);
  VS_TRY(vs_pick_build(host, &moments->spans, 30, 0, UINT64_MAX, 0, &pick));
  vs_pick_deinit(host, &pick);
  VS_TRY(vs_block_names_build(host, moments->lifetimes, &names));
  vs_block_names_deinit(host, &names);
  for (vs_moment moment = VS_AT_START; moment <= vs_slice_end(moments->lifetimes->slice); moment += 20) {
    vs_holes_point point = {.moment = moment};
    VS_TRY(vs_holes_course(host, moments, &point, 1));
  }
  return VS_OK;
}

/* `ctx` are lifetimes. */
static vs_status use_view(const vs_host *host, void *ctx) {
  vs_moment_index moments;
  VS_TRY(vs_moment_index_build(host, ctx, &moments));
  expect_whole(vs_mappings_check(&moments.mappings));
  expect_whole(vs_spans_check(&moments.spans));
  const vs_status status = use_moment_index(host, &moments);
  vs_moment_index_deinit(host, &moments);
  return status;
}

static vs_status use_ranges(const vs_host *host, void *ctx) {
  vs_ranges mapped;
  vs_named_ranges named;
  VS_TRY(vs_mapped_at(host, ctx, VS_AT_START, &mapped));
  vs_ranges_deinit(host, &mapped);
  VS_TRY(vs_named_ranges_build(host, ctx, &named));
  vs_named_ranges_deinit(host, &named);
  return VS_OK;
}

/* Groups by each property, of what lives at one moment. */
static vs_status use_groups(const vs_host *host, const vs_lifetimes *lifetimes, vs_moment moment) {
  vs_liveset live;
  vs_frames frames;
  VS_TRY(vs_liveset_build(host, lifetimes, moment, &live));
  vs_status status = vs_frames_init(host, lifetimes->slice->snapshot, &frames);
  for (int by = 0; by < VS_GROUP_BYS && status == VS_OK; by++) {
    vs_groups groups;
    status =
        vs_groups_build(host, lifetimes, live.rows.data, live.rows.count, (vs_group_by)by, &frames, &groups);
    if (status == VS_OK) vs_groups_deinit(host, &groups);
  }
  vs_frames_deinit(host, &frames);
  vs_liveset_deinit(host, &live);
  return status;
}

static vs_status use_moments(const vs_host *host, const vs_lifetimes *lifetimes) {
  for (vs_moment moment = VS_AT_START; moment <= vs_slice_end(lifetimes->slice); moment += 20) {
    vs_state state;
    vs_liveset difference;
    vs_fragmentation fragmentation;
    VS_TRY(use_groups(host, lifetimes, moment));
    VS_TRY(vs_liveset_difference(host, lifetimes, moment, vs_slice_end(lifetimes->slice), &difference));
    vs_liveset_deinit(host, &difference);
    VS_TRY(vs_state_build(host, lifetimes, moment, &state));
    expect_whole(vs_state_check(&state));
    vs_state_deinit(host, &state);
    VS_TRY(vs_fragmentation_build(host, lifetimes, moment, 3, &fragmentation));
    vs_fragmentation_deinit(host, &fragmentation);
  }
  return VS_OK;
}

static vs_status use_lifetimes(const vs_host *host, void *ctx) {
  vs_lifetimes lifetimes;
  VS_TRY(vs_lifetimes_build(host, ctx, &lifetimes));
  expect_whole(vs_lifetimes_check(&lifetimes));
  const vs_status status = use_moments(host, &lifetimes);
  vs_lifetimes_deinit(host, &lifetimes);
  return status;
}

static void test_all(void **state) {
  (void)state;
  made m = small_training();
  const vs_slice *slice = made_slice(&m, 0);
  assert_true(fault_prove(use_slices, &m) > 0);
  assert_true(fault_prove(use_ranges, (void *)(uintptr_t)slice) > 0);
  assert_true(fault_prove(use_lifetimes, (void *)(uintptr_t)slice) > 0);
  assert_true(fault_prove(use_report, (void *)(uintptr_t)slice) > 0);

  vs_lifetimes lifetimes;
  expect_ok(vs_lifetimes_build(m.host, slice, &lifetimes));
  assert_true(fault_prove(use_view, &lifetimes) > 0);
  vs_lifetimes_deinit(m.host, &lifetimes);

  vs_report report; /* the proof was about something */
  expect_ok(vs_report_build(m.host, slice, &report));
  assert_int_equal(report.growths.list.count, 1);
  assert_int_equal(report.ooms.list.count, 1);
  assert_true(report.lifetimes->older >= 2);
  vs_report_deinit(m.host, &report);
  made_end(&m);
}

/* The same where steps have to be guessed. */
static void test_pattern(void **state) {
  (void)state;
  made m = small_training();
  m.snapshot->annotations.count = 0;
  const vs_slice *slice = made_slice(&m, 0);
  assert_true(fault_prove(use_report, (void *)(uintptr_t)slice) > 0);
  vs_report report;
  expect_ok(vs_report_build(m.host, slice, &report));
  assert_int_equal(report.steps.source, VS_STEPS_PATTERN);
  vs_report_deinit(m.host, &report);
  made_end(&m);
}

/* Where a free counts at its request. */
static void test_frees_at_request(void **state) {
  (void)state;
  made m = made_begin();
  for (uint64_t i = 0; i < 20; i++) (void)made_event(&m, VS_EVENT_ALLOC, 4096 * i, 10);
  for (uint64_t i = 0; i < 20; i++) (void)made_event(&m, VS_EVENT_FREE_REQUESTED, 4096 * (i + 5), 10);
  made_trace(&m, 0);
  assert_true(fault_prove(use_report, (void *)(uintptr_t)made_slice(&m, 0)) > 0);
  made_end(&m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_all),
      cmocka_unit_test(test_pattern),
      cmocka_unit_test(test_frees_at_request),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
