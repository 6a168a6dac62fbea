#include "support/snapshots.h"

static const vs_host *host;
static vs_events events;

static int setup(void **state) {
  (void)state;
  host = vs_host_default();
  events = (vs_events){0};
  return 0;
}

static int teardown(void **state) {
  (void)state;
  vs_events_deinit(host, &events);
  return 0;
}

static uint32_t add(void) {
  uint32_t row;
  expect_ok(vs_events_add(host, &events, &row));
  return row;
}

static void a_column_begins_with_the_first_thing_to_say(void **state) {
  (void)state;
  assert_int_equal(add(), 0);
  assert_int_equal(add(), 1);
  expect_ok(vs_events_set_time_us(host, &events, 1, VS_NO_TIME));
  expect_ok(vs_events_set_size(host, &events, 1, 0));
  assert_null(events.time_us);
  assert_null(events.size);
  expect_ok(vs_events_set_time_us(host, &events, 1, 0)); /* a time like any other */
  assert_non_null(events.time_us);
  assert_true(vs_events_time_us(&events, 0) == VS_NO_TIME);
  assert_true(vs_events_time_us(&events, 1) == 0);
  const uint32_t later = add();
  assert_true(vs_events_time_us(&events, later) == VS_NO_TIME);
  assert_int_equal(vs_events_size(&events, later), 0);
}

static void columns_grow_together(void **state) {
  (void)state;
  for (uint32_t i = 0; i < 1000; i++) {
    const uint32_t row = add();
    expect_ok(vs_events_set_size(host, &events, row, 2 * row));
    if (row >= 500) expect_ok(vs_events_set_stream(host, &events, row, row));
  }
  for (uint32_t row = 0; row < 1000; row++) {
    assert_int_equal(vs_events_size(&events, row), 2 * row);
    assert_int_equal(vs_events_stream(&events, row), row >= 500 ? row : 0);
    assert_int_equal(vs_events_pool(&events, row), 0);
  }
}

static void kinds_are_actions_by_number(void **state) {
  (void)state;
  const uint32_t row = add();
  expect_ok(vs_events_set_action(host, &events, row, VS_EVENT_OOM));
  assert_int_equal(vs_events_kind(&events, row), VS_EVENT_OOM);
  expect_ok(vs_events_set_action(host, &events, row, VS_EVENT_KIND_COUNT));
  assert_int_equal(vs_events_kind(&events, row), VS_EVENT_UNKNOWN);
  expect_ok(vs_events_set_action(host, &events, row, UINT16_MAX));
  assert_int_equal(vs_events_kind(&events, row), VS_EVENT_UNKNOWN);
}

static void an_empty_snapshot_keeps_its_invariants(void **state) {
  (void)state;
  vs_snapshot *s;
  expect_ok(vs_snapshot_create(host, &s));
  assert_null(vs_snapshot_check(s));
  assert_null(vs_snapshot_trace(s, 0));
  assert_int_equal(s->actions.count, VS_EVENT_KIND_COUNT);
  expect_str(vs_snapshot_string(s, s->actions.data[VS_EVENT_FREE_COMPLETED]), "free_completed");
  vs_snapshot_destroy(s);
  vs_snapshot_destroy(NULL);
}

static void traces_are_found_by_device(void **state) {
  (void)state;
  vs_snapshot *s = snapshot_of_json("{\"device_traces\": [[], [{\"action\": \"alloc\", \"size\": 1}]],"
                                    " \"host_traces\": [{\"action\": \"alloc\", \"size\": 1}]}");
  assert_int_equal(vs_snapshot_trace(s, 1)->first, 0);
  assert_int_equal(vs_snapshot_trace(s, VS_DEVICE_HOST)->first, 1);
  assert_null(vs_snapshot_trace(s, 2));
  vs_snapshot_destroy(s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(a_column_begins_with_the_first_thing_to_say, setup, teardown),
      cmocka_unit_test_setup_teardown(columns_grow_together, setup, teardown),
      cmocka_unit_test_setup_teardown(kinds_are_actions_by_number, setup, teardown),
      cmocka_unit_test_setup_teardown(an_empty_snapshot_keeps_its_invariants, setup, teardown),
      cmocka_unit_test_setup_teardown(traces_are_found_by_device, setup, teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
