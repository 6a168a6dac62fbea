/* Named ranges, nested, interleaved, unfinished. */
#include "analyze/annotations.h"
#include "unit/analyze/made.h"

static vs_named_ranges build(made *m, int32_t device) {
  if (m->snapshot->traces.count == 0) {
    (void)made_event(m, VS_EVENT_SNAPSHOT, 0, 0);
    made_trace(m, 0);
    (void)made_event(m, VS_EVENT_SNAPSHOT, 0, 0);
    made_trace(m, VS_DEVICE_HOST);
  }
  vs_named_ranges ranges;
  expect_ok(vs_named_ranges_build(m->host, made_slice(m, device), &ranges));
  return ranges;
}

static void expect_at(made *m, const vs_named_ranges *ranges, int64_t time_us, const char *name) {
  const vs_str got = vs_snapshot_string(m->snapshot, vs_named_ranges_at(ranges, time_us));
  assert_int_equal(got.size, strlen(name));
  assert_memory_equal(got.data, name, got.size);
}

static void test_nested(void **state) {
  (void)state;
  made m = made_begin();
  made_annotation(&m, "START", "step", 10);
  made_annotation(&m, "START", "forward", 20);
  made_annotation(&m, "END", "forward", 30);
  made_annotation(&m, "START", "backward", 30);
  made_annotation(&m, "END", "backward", 40);
  made_annotation(&m, "END", "step", 50);
  vs_named_ranges ranges = build(&m, 0);
  assert_int_equal(ranges.ranges.count, 3);
  assert_int_equal(ranges.ranges.data[0].to_us, 50);
  assert_int_equal(ranges.ranges.data[0].depth, 0);
  assert_int_equal(ranges.ranges.data[2].from_us, 30);
  assert_int_equal(ranges.ranges.data[2].depth, 1);
  expect_at(&m, &ranges, 9, "");
  expect_at(&m, &ranges, 10, "step");
  expect_at(&m, &ranges, 29, "forward");
  expect_at(&m, &ranges, 30, "backward");
  expect_at(&m, &ranges, 45, "step");
  expect_at(&m, &ranges, 50, "");
  expect_at(&m, &ranges, VS_NO_TIME, "");
  vs_named_ranges_deinit(m.host, &ranges);
  made_end(&m);
}

/* Two threads: the ends come in another order. And ends and starts whose partner is lost. */
static void test_interleaved(void **state) {
  (void)state;
  made m = made_begin();
  made_annotation(&m, "END", "lost", 5);
  made_annotation(&m, "START", "a", 10);
  made_annotation(&m, "START", "b", 20);
  made_annotation(&m, "START", "a", 30); /* inside itself */
  made_annotation(&m, "END", "b", 40);
  made_annotation(&m, "END", "a", 50);
  made_annotation(&m, "PAUSE", "a", 55);
  made_annotation(&m, "START", "open", 60);
  vs_named_ranges ranges = build(&m, 0);
  expect_at(&m, &ranges, 25, "b");
  expect_at(&m, &ranges, 45, "a");
  expect_at(&m, &ranges, 55, "a"); /* the outer one */
  expect_at(&m, &ranges, 1000, "open");
  assert_int_equal(ranges.ranges.data[0].to_us, INT64_MAX);
  assert_int_equal(ranges.ranges.data[1].to_us, 40);
  assert_int_equal(ranges.ranges.data[2].to_us, 50);
  assert_int_equal(ranges.ranges.data[3].depth, 1);
  vs_named_ranges_deinit(m.host, &ranges);
  made_end(&m);
}

static void test_order_and_devices(void **state) {
  (void)state;
  made m = made_begin();
  made_annotation(&m, "END", "late", 30);
  made_annotation(&m, "START", "late", 20); /* written in the wrong order */
  made_annotation(&m, "START", "other", 21);
  m.snapshot->annotations.data[2].device = 1;
  made_annotation(&m, "START", "timeless", VS_NO_TIME);
  vs_named_ranges ranges = build(&m, 0);
  assert_int_equal(ranges.ranges.count, 1);
  expect_at(&m, &ranges, 25, "late");
  expect_at(&m, &ranges, 35, "");
  vs_named_ranges_deinit(m.host, &ranges);
  ranges = build(&m, VS_DEVICE_HOST); /* the program's ranges are of some GPU each, and are all the host's */
  expect_at(&m, &ranges, 25, "other");
  vs_named_ranges_deinit(m.host, &ranges);
  made_end(&m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_nested),
      cmocka_unit_test(test_interleaved),
      cmocka_unit_test(test_order_and_devices),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
