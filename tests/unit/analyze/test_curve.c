/* The three curves: rebuilt from the end, their peaks, and below zero. */
#include "analyze/curve.h"
#include "unit/analyze/made.h"

/* 100 bytes are there before the trace; a block of 700 waits for another stream from event 4 to 7. */
static made small_run(void) {
  made m = made_begin();
  (void)made_event(&m, VS_EVENT_SEGMENT_ALLOC, 0x10000, 2048); /* 0 */
  (void)made_event(&m, VS_EVENT_ALLOC, 0x10000, 700);          /* 1 */
  (void)made_event(&m, VS_EVENT_ALLOC, 0x10400, 300);          /* 2 */
  (void)made_free(&m, 0x10400, 300);                           /* 3 4 */
  (void)made_event(&m, VS_EVENT_FREE_REQUESTED, 0x10000, 700); /* 5 */
  (void)made_event(&m, VS_EVENT_ALLOC, 0x10400, 200);          /* 6 */
  (void)made_event(&m, VS_EVENT_FREE_COMPLETED, 0x10000, 700); /* 7 */
  (void)made_event(&m, VS_EVENT_SEGMENT_FREE, 0x90000, 4096);  /* 8 */
  (void)made_event(&m, VS_EVENT_SNAPSHOT, 0, 9999);            /* 9 */
  made_trace(&m, 0);
  (void)made_segment(&m, 0, 0x10000, 2048, "small");
  (void)made_block(&m, 1024, 700, VS_BLOCK_INACTIVE);
  (void)made_block(&m, 512, 200, VS_BLOCK_ALLOCATED);
  (void)made_block(&m, 512, 100, VS_BLOCK_ALLOCATED);
  return m;
}

static void test_values(void **state) {
  (void)state;
  static const int64_t requested[] = {100, 800, 1100, 1100, 800, 800, 1000, 300, 300, 300};
  static const int64_t held[] = {100, 800, 1100, 800, 800, 100, 300, 300, 300, 300};
  static const int64_t reserved[] = {6144, 6144, 6144, 6144, 6144, 6144, 6144, 6144, 2048, 2048};
  static const int64_t *const wanted[] = {requested, held, reserved};
  made m = small_run();
  const vs_slice *slice = made_slice(&m, 0);
  vs_curves curves;
  vs_curves_measure(slice, &curves);
  vs_curve_cursor cursor = vs_curve_cursor_at_start(slice, &curves);
  for (uint32_t event = 0; event < 10; event++) {
    vs_curve_cursor_move(&cursor, event);
    for (int kind = 0; kind < VS_CURVE_KINDS; kind++)
      assert_int_equal(cursor.values[kind], wanted[kind][event]);
  }
  vs_curve_cursor_move(&cursor, 100);
  assert_int_equal(cursor.moment, 9);
  for (vs_moment first = 0; first < 10; first++) { /* the highest of each range, the first of equals */
    for (vs_moment last = first; last < 10; last++) {
      const vs_curve_peaks peaks = vs_curves_peaks_between(slice, &curves, first, last);
      for (int kind = 0; kind < VS_CURVE_KINDS; kind++) {
        vs_moment most = first;
        for (vs_moment at = first; at <= last; at++)
          if (wanted[kind][at] > wanted[kind][most]) most = at;
        assert_true(peaks.at[kind] == most && peaks.peak[kind] == wanted[kind][most]);
      }
    }
  }
  const vs_curve *curve = curves.curve;
  assert_int_equal(curve[VS_CURVE_REQUESTED].baseline, 100);
  assert_int_equal(curve[VS_CURVE_REQUESTED].peak, 1100);
  assert_int_equal(curve[VS_CURVE_REQUESTED].peak_at, 2); /* the first of equals */
  assert_int_equal(curve[VS_CURVE_REQUESTED].end, 300);
  assert_int_equal(curve[VS_CURVE_REQUESTED].lowest, 100);
  assert_int_equal(curve[VS_CURVE_RESERVED].baseline, 4096);
  assert_int_equal(curve[VS_CURVE_RESERVED].peak, 6144);
  assert_int_equal(curve[VS_CURVE_RESERVED].peak_at, 0);
  for (int kind = 0; kind < VS_CURVE_KINDS; kind++) assert_int_equal(curve[kind].below_zero, 0);
  made_end(&m);
}

static void test_peak_before_the_trace(void **state) {
  (void)state;
  made m = made_begin();
  (void)made_free(&m, 0x1000, 50);
  (void)made_event(&m, VS_EVENT_ALLOC, 0x1000, 50);
  made_trace(&m, 0);
  (void)made_segment(&m, 0, 0x1000, 512, "small");
  (void)made_block(&m, 512, 50, VS_BLOCK_ALLOCATED);
  vs_curves curves;
  vs_curves_measure(made_slice(&m, 0), &curves);
  assert_int_equal(curves.curve[VS_CURVE_REQUESTED].baseline, 50);
  assert_int_equal(curves.curve[VS_CURVE_REQUESTED].peak, 50);
  assert_int_equal(curves.curve[VS_CURVE_REQUESTED].peak_at, VS_AT_START);
  made_end(&m);
}

/* Frees of what was never there. */
static void test_below_zero(void **state) {
  (void)state;
  made m = made_begin();
  (void)made_event(&m, VS_EVENT_ALLOC, 0x1000, 70);
  (void)made_event(&m, VS_EVENT_ALLOC, 0x2000, 70);
  (void)made_event(&m, VS_EVENT_SEGMENT_MAP, 0x1000, 512);
  (void)made_free(&m, 0x1000, 70);
  made_trace(&m, 0);
  vs_curves curves;
  vs_curves_measure(made_slice(&m, 0), &curves);
  const vs_curve *requested = &curves.curve[VS_CURVE_REQUESTED], *reserved = &curves.curve[VS_CURVE_RESERVED];
  assert_int_equal(requested->baseline, -70); /* the end state has none of the 140 - 70 */
  assert_int_equal(requested->lowest, -70);
  assert_int_equal(requested->below_zero, 1);
  assert_int_equal(requested->first_below_zero, VS_AT_START);
  assert_int_equal(requested->peak, 70);
  assert_int_equal(requested->peak_at, 1);
  assert_int_equal(reserved->below_zero, 3); /* the start and events 0, 1 */
  assert_int_equal(reserved->first_below_zero, VS_AT_START);
  made_end(&m);
}

static void test_frees_at_request(void **state) {
  (void)state;
  made m = made_begin();
  (void)made_event(&m, VS_EVENT_ALLOC, 0x1000, 70);
  (void)made_event(&m, VS_EVENT_FREE_REQUESTED, 0x1000, 70);
  made_trace(&m, 0);
  (void)made_segment(&m, 0, 0x1000, 512, "small");
  (void)made_block(&m, 512, 70, VS_BLOCK_PENDING);
  vs_curves curves;
  vs_curves_measure(made_slice(&m, 0), &curves);
  assert_true(curves.closing.at_request);
  assert_int_equal(curves.curve[VS_CURVE_REQUESTED].baseline, 0);
  assert_int_equal(curves.curve[VS_CURVE_REQUESTED].peak, 70);
  assert_int_equal(curves.curve[VS_CURVE_REQUESTED].end, 0);
  made_end(&m);
}

static void test_only_completions(void **state) {
  (void)state;
  made m = made_begin();
  (void)made_event(&m, VS_EVENT_ALLOC, 0x1000, 70);
  (void)made_event(&m, VS_EVENT_FREE_COMPLETED, 0x1000, 70);
  made_trace(&m, 0);
  (void)made_segment(&m, 0, 0x2000, 512, "small");
  (void)made_block(&m, 512, 30, VS_BLOCK_PENDING);
  vs_curves curves;
  vs_curves_measure(made_slice(&m, 0), &curves);
  assert_int_equal(curves.curve[VS_CURVE_HELD].baseline, 30);
  assert_int_equal(curves.curve[VS_CURVE_HELD].peak, 100);
  made_end(&m);
}

static void test_saturation(void **state) {
  (void)state;
  made m = made_begin();
  for (uint64_t i = 0; i < 4; i++) (void)made_event(&m, VS_EVENT_ALLOC, 0x1000 * i, UINT64_MAX);
  for (uint64_t i = 0; i < 4; i++) (void)made_free(&m, 0x1000 * i, UINT64_MAX);
  made_trace(&m, 0);
  vs_curves curves;
  vs_curves_measure(made_slice(&m, 0), &curves);
  assert_true(curves.curve[VS_CURVE_REQUESTED].peak >= curves.curve[VS_CURVE_REQUESTED].lowest);
  made_end(&m);
}

static void test_no_trace(void **state) {
  (void)state;
  made m = made_begin();
  made_trace(&m, 0);
  (void)made_segment(&m, 0, 0x1000, 512, "small");
  (void)made_block(&m, 512, 70, VS_BLOCK_ALLOCATED);
  const vs_slice *slice = made_slice(&m, 0);
  vs_curves curves;
  vs_curves_measure(slice, &curves);
  assert_int_equal(curves.curve[VS_CURVE_REQUESTED].baseline, 70);
  assert_int_equal(curves.curve[VS_CURVE_REQUESTED].peak_at, VS_AT_START);
  made_end(&m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_values),           cmocka_unit_test(test_peak_before_the_trace),
      cmocka_unit_test(test_below_zero),       cmocka_unit_test(test_frees_at_request),
      cmocka_unit_test(test_only_completions), cmocka_unit_test(test_saturation),
      cmocka_unit_test(test_no_trace),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
