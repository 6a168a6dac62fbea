/* Histograms of lifetimes and sizes. */
#include "analyze/churn.h"
#include "unit/analyze/made.h"

static void test_histograms(void **state) {
  (void)state;
  made m = made_begin();
  made_time(&m, made_event(&m, VS_EVENT_ALLOC, 0x1000, 100), 50); /* 0: lives 2 events, 7 us */
  (void)made_event(&m, VS_EVENT_FREE_REQUESTED, 0x1000, 100);
  made_time(&m, made_event(&m, VS_EVENT_FREE_COMPLETED, 0x1000, 100), 57);
  (void)made_event(&m, VS_EVENT_ALLOC, 0x2000, 0); /* 3: lives 70 events, without a time */
  for (int i = 0; i < 69; i++) (void)made_event(&m, VS_EVENT_SNAPSHOT, 0, 0);
  (void)made_event(&m, VS_EVENT_FREE_COMPLETED, 0x2000, 0);
  (void)made_event(&m, VS_EVENT_ALLOC, 0x3000, 1 << 20);     /* does not end */
  (void)made_event(&m, VS_EVENT_FREE_COMPLETED, 0x9000, 30); /* older than the trace: not counted */
  made_trace(&m, 0);
  vs_lifetimes lifetimes;
  vs_churn churn;
  expect_ok(vs_lifetimes_build(m.host, made_slice(&m, 0), &lifetimes));
  vs_churn_measure(&lifetimes, &churn);
  assert_int_equal(churn.count, 3);
  assert_int_equal(churn.bytes, 100 + (1 << 20));
  assert_int_equal(churn.ended_count, 2);
  assert_int_equal(churn.ended_bytes, 100);
  assert_int_equal(churn.short_count, 1);
  assert_int_equal(churn.short_bytes, 100);
  assert_int_equal(churn.by_events[1], 1); /* 2 */
  assert_int_equal(churn.by_events[6], 1); /* 70 */
  assert_int_equal(churn.by_us[2], 1);     /* 7 */
  assert_int_equal(churn.by_us[0], 0);
  assert_int_equal(churn.by_size[0], 1);
  assert_int_equal(churn.by_size[6], 1);
  assert_int_equal(churn.by_size[20], 1);
  assert_int_equal(churn.bytes_by_size[20], 1 << 20);
  vs_lifetimes_deinit(m.host, &lifetimes);
  made_end(&m);
}

/* Fewer events than VS_SHORT_LIFE are a short life; exactly as many are not. */
static void test_short_lives(void **state) {
  (void)state;
  made m = made_begin();
  for (int events = VS_SHORT_LIFE - 1; events <= VS_SHORT_LIFE; events++) {
    (void)made_event(&m, VS_EVENT_ALLOC, 0x1000, 100);
    for (int i = 1; i < events; i++) (void)made_event(&m, VS_EVENT_SNAPSHOT, 0, 0);
    (void)made_event(&m, VS_EVENT_FREE_COMPLETED, 0x1000, 100);
  }
  made_trace(&m, 0);
  vs_lifetimes lifetimes;
  vs_churn churn;
  expect_ok(vs_lifetimes_build(m.host, made_slice(&m, 0), &lifetimes));
  vs_churn_measure(&lifetimes, &churn);
  assert_int_equal(churn.ended_count, 2);
  assert_int_equal(churn.short_count, 1);
  assert_int_equal(churn.short_bytes, 100);
  vs_lifetimes_deinit(m.host, &lifetimes);
  made_end(&m);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_histograms), cmocka_unit_test(test_short_lives)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
