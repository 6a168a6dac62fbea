/* Which moments a pixel column shows. */
#include "analyze/window.h"
#include "unit/analyze/made.h"

/* Six events; the clock reads 100 100 100 130 130 160 (the second has no time, the fifth is late). */
static made six_events(void) {
  static const int64_t times[] = {100, VS_NO_TIME, 90, 130, 105, 160};
  made m = made_begin();
  for (uint32_t i = 0; i < 6; i++) {
    (void)made_event(&m, VS_EVENT_SNAPSHOT, 0, 1);
    made_time(&m, i, times[i]);
  }
  made_trace(&m, 0);
  return m;
}

enum { NOTHING = -9 };

static void expect_column(const vs_window *window, uint32_t column, vs_moment first, vs_moment last) {
  vs_moment from, to;
  if (!vs_window_column(window, column, &from, &to)) from = to = NOTHING;
  assert_int_equal(from, first);
  assert_int_equal(to, last);
}

static void expect_events(const vs_window *window, uint32_t column, uint32_t first, uint32_t end) {
  uint32_t from, to;
  vs_window_events(window, column, &from, &to);
  assert_int_equal(from, first);
  assert_int_equal(to, end);
}

static void test_clock(void **state) {
  (void)state;
  made m = six_events();
  vs_times times;
  expect_ok(vs_times_build(m.host, made_slice(&m, 0), &times));
  assert_int_equal(times.first_us, 100);
  assert_int_equal(times.last_us, 160);
  static const int64_t clock[] = {100, 100, 100, 100, 130, 130, 160};
  for (vs_moment moment = VS_AT_START; moment < 6; moment++)
    assert_int_equal(vs_times_at(&times, moment), clock[moment + 1]);
  assert_int_equal(vs_times_first(&times, INT64_MIN), VS_AT_START);
  assert_int_equal(vs_times_first(&times, 100), VS_AT_START);
  assert_int_equal(vs_times_first(&times, 101), 3);
  assert_int_equal(vs_times_first(&times, 130), 3);
  assert_int_equal(vs_times_first(&times, 131), 5);
  assert_int_equal(vs_times_first(&times, 161), 6);
  vs_times_deinit(m.host, &times);
  made_end(&m);
}

static void test_by_events(void **state) {
  (void)state;
  made m = six_events();
  vs_window window = vs_window_whole(made_slice(&m, 0), NULL, 7);
  assert_true(window.x0 == -1 && window.x1 == 6);
  for (uint32_t column = 0; column < 7; column++)
    expect_column(&window, column, (int64_t)column - 1, (int64_t)column - 1);
  window.columns = 2; /* [-1, 2.5) and [2.5, 6) */
  expect_column(&window, 0, -1, 2);
  expect_column(&window, 1, 2, 5);
  expect_events(&window, 0, 0, 3);
  expect_events(&window, 1, 3, 6);
  window.columns = 28; /* four columns each */
  expect_column(&window, 0, -1, -1);
  expect_column(&window, 3, -1, -1);
  expect_column(&window, 4, 0, 0);
  expect_column(&window, 27, 5, 5);
  expect_events(&window, 3, 0, 0);
  expect_events(&window, 4, 0, 1);
  expect_events(&window, 5, 1, 1);
  window = (vs_window){.event_count = 6, .x0 = -11, .x1 = 19, .columns = 3};
  expect_column(&window, 0, NOTHING, NOTHING);
  expect_column(&window, 1, -1, 5);
  expect_column(&window, 2, NOTHING, NOTHING);
  assert_true(vs_window_place(&window, 4) == 4);
  made_end(&m);
}

static void test_by_time(void **state) {
  (void)state;
  made m = six_events();
  vs_times times;
  const vs_slice *slice = made_slice(&m, 0);
  expect_ok(vs_times_build(m.host, slice, &times));
  vs_window window = vs_window_whole(slice, &times, 61);
  assert_true(window.x0 == 0 && window.x1 == 61);
  expect_column(&window, 0, -1, 2); /* all that begin there, also those that cover nothing */
  expect_column(&window, 1, 2, 2);
  expect_column(&window, 29, 2, 2);
  expect_column(&window, 30, 3, 4);
  expect_column(&window, 59, 4, 4);
  expect_column(&window, 60, 5, 5);
  expect_events(&window, 0, 0, 3);
  expect_events(&window, 1, 3, 3);
  expect_events(&window, 30, 3, 5);
  assert_true(vs_window_place(&window, 2) == 0 && vs_window_place(&window, 3) == 30);
  window.x0 = 29.5;
  window.x1 = 30.5;
  window.columns = 2;
  expect_column(&window, 0, 2, 2);
  expect_column(&window, 1, 3, 4);
  window.x0 = 60.5;
  window.x1 = 61.5;
  expect_column(&window, 0, 5, 5);
  expect_column(&window, 1, NOTHING, NOTHING);
  window.x0 = -1e308;
  window.x1 = 1e308;
  window.columns = 1;
  expect_column(&window, 0, -1, 5);
  vs_times_deinit(m.host, &times);
  made_end(&m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_clock),
      cmocka_unit_test(test_by_events),
      cmocka_unit_test(test_by_time),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
