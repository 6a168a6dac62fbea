/* Everything at once: that the parts of a report are of the same device and fit together. */
#include "analyze/report.h"
#include "unit/analyze/made.h"

#define MiB UINT64_C(0x100000)

static made two_devices(void) {
  made m = made_begin();
  const uint32_t forward = made_stack(&m, "forward", 7), load = made_stack(&m, "load", 9);
  made_time(&m, made_event(&m, VS_EVENT_SEGMENT_ALLOC, 100 * MiB, 20 * MiB), 10);
  made_time(&m, made_alloc(&m, 100 * MiB, 2 * MiB, load), 20);
  made_time(&m, made_alloc(&m, 102 * MiB, 5 * MiB, forward), 30); /* 2: the peak */
  made_time(&m, made_event(&m, VS_EVENT_OOM, MiB, 64 * MiB), 40);
  made_time(&m, made_free(&m, 102 * MiB, 5 * MiB), 50);
  made_trace(&m, 0);
  made_trace(&m, 1);
  (void)made_segment(&m, 0, 100 * MiB, 20 * MiB, "large");
  made_block(&m, 2 * MiB, 2 * MiB, VS_BLOCK_ALLOCATED)->stack = load;
  (void)made_block(&m, 18 * MiB, 5 * MiB, VS_BLOCK_INACTIVE);
  (void)made_segment(&m, 1, 100 * MiB, 20 * MiB, "large");
  made_block(&m, 20 * MiB, 19 * MiB, VS_BLOCK_ALLOCATED)->stack = forward;
  return m;
}

static void test_parts_fit(void **state) {
  (void)state;
  made m = two_devices();
  vs_report report;
  const vs_slice *slice = made_slice(&m, 0);
  expect_ok(vs_report_build(m.host, slice, &report));
  assert_ptr_equal(report.slice, slice);
  assert_int_equal(report.slice->counts[VS_EVENT_ALLOC], 2);
  assert_int_equal(report.slice->counts[VS_EVENT_OOM], 1);
  assert_int_equal(report.slice->counts[VS_EVENT_UNKNOWN], 0);
  assert_int_equal(report.end.all.requested, 2 * MiB);
  assert_int_equal(report.curves.curve[VS_CURVE_REQUESTED].peak, 7 * MiB);
  assert_int_equal(report.peak_moment, 2);
  assert_int_equal(report.peak_time_us, 30);
  assert_int_equal(report.peak_set.bytes, 7 * MiB);
  assert_int_equal(report.peak_owners.lines.list.data[0].bytes, 5 * MiB);
  vs_group_name name;
  vs_group_name_get(m.snapshot, &report.frames, VS_BY_LINE, &report.peak_owners.lines.list.data[0], &name);
  expect_str(name.text, "forward");
  assert_int_equal(name.line, 7);
  assert_int_equal(report.fragmentation.all.largest_hole, 18 * MiB);
  assert_int_equal(report.fragmentation.pinned.count, 1);
  assert_int_equal(report.churn.count, 2);
  assert_int_equal(report.steps.source, VS_STEPS_NONE);
  assert_int_equal(report.growths.list.count, 0);
  assert_int_equal(report.ooms.list.count, 1);
  assert_int_equal(report.ooms.list.data[0].requested, 7 * MiB);
  assert_int_equal(report.ooms.list.data[0].verdict, VS_OOM_FULL);
  assert_true(report.trust.is_complete);
  vs_report_deinit(m.host, &report);
  made_end(&m);
}

/* Peak allocated is exact only where the trace does not contradict itself, whatever the contradiction is. */
static void test_contradictions_make_the_peak_inexact(void **state) {
  (void)state;
  for (int64_t time = 40; time >= 10; time -= 30) {
    made m = made_begin();
    made_time(&m, made_event(&m, VS_EVENT_SEGMENT_ALLOC, 100 * MiB, 2 * MiB), 20);
    made_time(&m, made_alloc(&m, 100 * MiB, MiB, 0), time); /* at last older than the event before */
    made_trace(&m, 0);
    (void)made_segment(&m, 0, 100 * MiB, 2 * MiB, "small");
    (void)made_block(&m, MiB, MiB, VS_BLOCK_ALLOCATED);
    (void)made_block(&m, MiB, 0, VS_BLOCK_INACTIVE);
    vs_report report;
    expect_ok(vs_report_build(m.host, made_slice(&m, 0), &report));
    assert_int_equal(report.allocated.peak, MiB);
    assert_int_equal(report.allocated.is_exact, time == 40);
    vs_report_deinit(m.host, &report);
    made_end(&m);
  }
}

static void test_end_state_only(void **state) {
  (void)state;
  made m = two_devices();
  vs_report report;
  expect_ok(vs_report_build(m.host, made_slice(&m, 1), &report));
  assert_int_equal(report.peak_moment, VS_AT_START);
  assert_int_equal(report.peak_time_us, VS_NO_TIME);
  assert_int_equal(report.peak_set.rows.count, 1);
  assert_int_equal(report.peak_owners.lines.list.data[0].bytes, 19 * MiB);
  assert_int_equal(report.end.all.rounding, MiB);
  assert_int_equal(report.trust.findings[VS_FINDING_NO_TRACE].count, 1);
  assert_false(report.trust.is_complete);
  vs_report_deinit(m.host, &report);
  made_end(&m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_parts_fit),
      cmocka_unit_test(test_contradictions_make_the_peak_inexact),
      cmocka_unit_test(test_end_state_only),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
