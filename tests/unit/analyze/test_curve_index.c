/* Totals at any zoom, and the largest growth. */
#include "analyze/curve_index.h"
#include "unit/analyze/made.h"

/* Rises by one with each event, and falls to nothing in the middle: 2 x `half` events. */
static made saw(uint32_t half) {
  made m = made_begin();
  for (uint64_t i = 0; i < half; i++) (void)made_event(&m, VS_EVENT_ALLOC, 0x1000 + i, 1);
  (void)made_event(&m, VS_EVENT_FREE_COMPLETED, 0x10, half); /* older */
  for (uint64_t i = 1; i < half; i++) (void)made_event(&m, VS_EVENT_ALLOC, 0x100000 + i, 1);
  made_trace(&m, 0);
  (void)made_segment(&m, 0, 0x1000, 512, "small");
  (void)made_block(&m, 512, 2 * half - 1, VS_BLOCK_ALLOCATED);
  return m;
}

static void expect_extent(vs_curve_extent extent, int64_t high, vs_moment high_at, int64_t low,
                          int64_t last) {
  assert_int_equal(extent.high, high);
  assert_int_equal(extent.high_at, high_at);
  assert_int_equal(extent.low, low);
  assert_int_equal(extent.last, last);
}

static void test_saw(void **state) {
  (void)state;
  enum { HALF = 1000 };
  made m = saw(HALF);
  const vs_slice *slice = made_slice(&m, 0);
  vs_curves curves;
  vs_curve_index curve[VS_CURVE_KINDS];
  vs_curve_reader reader;
  vs_curves_measure(slice, &curves);
  expect_ok(vs_curve_index_of_curves(m.host, slice, &curves, curve));
  vs_curve_reader_init(&reader, &curve[VS_CURVE_REQUESTED]);
  for (int kind = 0; kind < VS_CURVE_KINDS; kind++) assert_null(vs_curve_index_check(&curve[kind]));
  assert_int_equal(vs_curve_reader_at(&reader, -5), HALF);
  assert_int_equal(vs_curve_reader_at(&reader, 0), HALF + 1);
  assert_int_equal(vs_curve_reader_at(&reader, HALF - 1), 2 * HALF);
  assert_int_equal(vs_curve_reader_at(&reader, HALF), HALF);
  assert_int_equal(vs_curve_reader_at(&reader, 99999), 2 * HALF - 1);
  expect_extent(vs_curve_reader_between(&reader, -1, 2 * HALF - 1), 2 * HALF, HALF - 1, HALF, 2 * HALF - 1);
  expect_extent(vs_curve_reader_between(&reader, HALF, HALF), HALF, HALF, HALF, HALF);
  expect_extent(vs_curve_reader_between(&reader, HALF - 1, HALF), 2 * HALF, HALF - 1, HALF, HALF);
  expect_extent(vs_curve_reader_between(&reader, HALF, HALF + 300), HALF + 300, HALF + 300, HALF, HALF + 300);
  const vs_rise rise = vs_curve_index_rise(&curve[VS_CURVE_REQUESTED]);
  assert_int_equal(rise.from, VS_AT_START);
  assert_int_equal(rise.to, HALF - 1);
  assert_int_equal(rise.bytes, HALF);
  const vs_rise none = vs_curve_index_rise(&curve[VS_CURVE_RESERVED]);
  assert_int_equal(none.bytes, 0);
  assert_int_equal(none.from, VS_AT_START);
  assert_int_equal(none.to, VS_AT_START);
  for (int kind = 0; kind < VS_CURVE_KINDS; kind++) vs_curve_index_deinit(m.host, &curve[kind]);
  made_end(&m);
}

/* A curve that saturates is the same curve here. */
static void test_ends_of_the_numbers(void **state) {
  (void)state;
  made m = made_begin();
  for (uint64_t i = 0; i < 3; i++) (void)made_event(&m, VS_EVENT_FREE_COMPLETED, i, UINT64_MAX);
  for (uint64_t i = 0; i < 3; i++) (void)made_event(&m, VS_EVENT_ALLOC, i, UINT64_MAX);
  made_trace(&m, 0);
  const vs_slice *slice = made_slice(&m, 0);
  vs_curves curves;
  vs_curve_index curve[VS_CURVE_KINDS];
  vs_curve_reader reader;
  vs_curves_measure(slice, &curves);
  expect_ok(vs_curve_index_of_curves(m.host, slice, &curves, curve));
  vs_curve_cursor cursor = vs_curve_cursor_at_start(slice, &curves);
  for (int kind = 0; kind < VS_CURVE_KINDS; kind++) assert_null(vs_curve_index_check(&curve[kind]));
  for (int kind = 0; kind < VS_CURVE_KINDS; kind++) {
    vs_curve_reader_init(&reader, &curve[kind]);
    cursor = vs_curve_cursor_at_start(slice, &curves);
    for (vs_moment moment = VS_AT_START; moment < 6; moment++) {
      vs_curve_cursor_move(&cursor, moment);
      assert_true(vs_curve_reader_at(&reader, moment) == cursor.values[kind]);
    }
  }
  const vs_rise rise = vs_curve_index_rise(&curve[VS_CURVE_HELD]);
  assert_true(rise.bytes == UINT64_MAX);
  assert_int_equal(rise.from, 2); /* the last moment of the lowest */
  assert_int_equal(rise.to, 5);
  for (int kind = 0; kind < VS_CURVE_KINDS; kind++) vs_curve_index_deinit(m.host, &curve[kind]);
  made_end(&m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_saw),
      cmocka_unit_test(test_ends_of_the_numbers),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
