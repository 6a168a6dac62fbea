#include "unit/device/sim/work.h"

static machine m;

static vs_sim_error query(vs_sim *sim, uint64_t event) {
  return vs_sim_event_query(sim, &main_thread, event);
}

static void wrong_handles_are_refused(void **state) {
  (void)state;
  vs_sim *sim = work_begin(&m, VS_SIM_EVENTS_AT_ONCE);
  const uint64_t stream = new_stream(sim), event = new_event(sim), stale = new_event(sim);
  expect_sim_ok(vs_sim_event_destroy(sim, stale));
  (void)new_event(sim); /* under the same number */
  const uint64_t wrong[] = {0, 1, stream, stale, event + 1, event + 16, UINT64_MAX};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    int64_t ns;
    expect_sim(vs_sim_event_destroy(sim, wrong[i]), VS_SIM_INVALID_HANDLE);
    expect_sim(vs_sim_event_record(sim, 0, wrong[i], stream, 0), VS_SIM_INVALID_HANDLE);
    expect_sim(query(sim, wrong[i]), VS_SIM_INVALID_HANDLE);
    expect_sim(vs_sim_event_synchronize(sim, &main_thread, wrong[i]), VS_SIM_INVALID_HANDLE);
    expect_sim(vs_sim_stream_wait_event(sim, 0, stream, wrong[i], 0), VS_SIM_INVALID_HANDLE);
    expect_sim(vs_sim_event_elapsed(sim, wrong[i], event, &ns), VS_SIM_INVALID_HANDLE);
    expect_sim(vs_sim_event_elapsed(sim, event, wrong[i], &ns), VS_SIM_INVALID_HANDLE);
    assert_null(vs_sim_event_find(sim, wrong[i]));
  }
  machine_end(&m);
}

static void flags(void **state) {
  (void)state;
  vs_sim *sim = work_begin(&m, VS_SIM_EVENTS_AT_ONCE);
  uint64_t event;
  static const uint32_t good[] = {0, 1, 2, 3, 6, 7}, bad[] = {4, 5, 8, 0x80000000};
  for (size_t i = 0; i < 6; i++) expect_sim_ok(vs_sim_event_create(sim, 0, good[i], &event));
  for (size_t i = 0; i < 4; i++)
    expect_sim(vs_sim_event_create(sim, 0, bad[i], &event), VS_SIM_INVALID_VALUE);
  expect_sim(vs_sim_event_create(sim, CARDS, 0, &event), VS_SIM_INVALID_DEVICE);
  expect_sim(vs_sim_event_create(sim, 0, 0, NULL), VS_SIM_INVALID_VALUE);
  const uint64_t stream = new_stream(sim);
  for (uint32_t flag = 1; flag <= 2;
       flag++) { /* EXTERNAL is valid for captures only, the other flags never */
    expect_sim(vs_sim_event_record(sim, 0, event, stream, flag), VS_SIM_INVALID_VALUE);
    expect_sim(vs_sim_stream_wait_event(sim, 0, stream, event, flag), VS_SIM_INVALID_VALUE);
  }
  machine_end(&m);
}

static void an_event_belongs_to_its_device(void **state) {
  (void)state;
  vs_sim *sim = work_begin(&m, VS_SIM_EVENTS_AT_ONCE);
  const uint64_t near = new_stream(sim), far = new_stream_on(sim, 1, 0), event = new_event(sim);
  expect_sim(vs_sim_event_record(sim, 0, event, far, 0), VS_SIM_INVALID_HANDLE);
  expect_sim(vs_sim_event_record(sim, 1, event, VS_SIM_STREAM_NULL, 0), VS_SIM_INVALID_HANDLE);
  expect_sim_ok(vs_sim_event_record(sim, 1, event, near, 0)); /* the caller's device does not matter */
  expect_sim_ok(vs_sim_stream_wait_event(sim, 1, far, event, 0));
  machine_end(&m);
}

static void an_event_without_a_record_is_complete(void **state) {
  (void)state;
  vs_sim *sim = work_begin(&m, VS_SIM_EVENTS_AT_SYNC);
  const uint64_t stream = new_stream(sim), event = new_event(sim);
  expect_sim_ok(query(sim, event));
  expect_sim_ok(vs_sim_event_synchronize(sim, &main_thread, event));
  expect_sim_ok(vs_sim_stream_wait_event(sim, 0, stream, event, 0));
  assert_int_equal(vs_sim_stream_find(sim, 0, stream)->waits.count, 0);
  machine_end(&m);
}

static void at_sync_an_event_completes_what_stands_before_it(void **state) {
  (void)state;
  vs_sim *sim = work_begin(&m, VS_SIM_EVENTS_AT_SYNC);
  const uint64_t stream = new_stream(sim);
  const uint64_t first = mark(sim, stream), second = mark(sim, stream), third = mark(sim, stream);
  expect_sim(query(sim, first), VS_SIM_NOT_READY);
  expect_sim_ok(vs_sim_event_synchronize(sim, &main_thread, second));
  expect_sim_ok(query(sim, first));
  expect_sim_ok(query(sim, second));
  expect_sim(query(sim, third), VS_SIM_NOT_READY);
  record(sim, first, stream); /* the last record counts */
  expect_sim(query(sim, first), VS_SIM_NOT_READY);
  expect_sim_ok(vs_sim_stream_synchronize(sim, 0, stream));
  expect_sim_ok(query(sim, first));
  expect_sim_ok(query(sim, third));
  machine_end(&m);
}

/* An allocator records an event on a side stream and queries it later: it is not complete until a thread waits. */
static void at_sync_holds_back_what_was_recorded_on_a_side_stream(void **state) {
  (void)state;
  vs_sim *sim = work_begin(&m, VS_SIM_EVENTS_AT_SYNC);
  const uint64_t side = new_stream(sim);
  kernel(sim, side);
  const uint64_t event = mark(sim, side);
  for (int step = 0; step < 10; step++) {
    kernel(sim, 0);
    expect_sim_ok(
        vs_sim_stream_synchronize(sim, 0, 0)); /* the loss is read; the side stream does not block */
    expect_sim(query(sim, event), VS_SIM_NOT_READY);
  }
  wait_for(sim, 0, event);
  expect_sim(query(sim, event), VS_SIM_NOT_READY);
  expect_sim_ok(vs_sim_stream_synchronize(sim, 0, 0));
  expect_sim_ok(query(sim, event));
  machine_end(&m);
}

static void a_wait_is_for_the_record_it_saw(void **state) {
  (void)state;
  vs_sim *sim = work_begin(&m, VS_SIM_EVENTS_AT_SYNC);
  const uint64_t a = new_stream(sim), b = new_stream(sim), event = mark(sim, a);
  wait_for(sim, b, event);
  kernel(sim, a);
  record(sim, event, a); /* later than what b waits for */
  expect_sim_ok(vs_sim_stream_synchronize(sim, 0, b));
  expect_sim(query(sim, event), VS_SIM_NOT_READY);
  expect_sim_ok(vs_sim_event_destroy(sim, event)); /* allowed */
  machine_end(&m);
}

static void time_is_virtual(void **state) {
  (void)state;
  vs_sim *sim = work_begin(&m, VS_SIM_EVENTS_AT_SYNC);
  const uint64_t stream = new_stream(sim), start = mark(sim, stream);
  int64_t ns = -1;
  for (int i = 0; i < 10; i++) kernel(sim, stream);
  const uint64_t end = mark(sim, stream);
  expect_sim(vs_sim_event_elapsed(sim, start, end, &ns), VS_SIM_NOT_READY);
  expect_sim_ok(vs_sim_stream_synchronize(sim, 0, stream));
  expect_sim_ok(vs_sim_event_elapsed(sim, start, end, &ns));
  assert_int_equal(ns, 11 * VS_SIM_WORK_NS);
  expect_sim_ok(vs_sim_event_elapsed(sim, end, start, &ns));
  assert_int_equal(ns, -11 * VS_SIM_WORK_NS);
  expect_sim_ok(vs_sim_event_elapsed(sim, end, end, &ns));
  assert_int_equal(ns, 0);
  expect_sim(vs_sim_event_elapsed(sim, start, end, NULL), VS_SIM_INVALID_VALUE);
  machine_end(&m);
}

static void what_has_no_time(void **state) {
  (void)state;
  vs_sim *sim = work_begin(&m, VS_SIM_EVENTS_AT_ONCE);
  const uint64_t stream = new_stream(sim), good = mark(sim, stream), unrecorded = new_event(sim);
  uint64_t untimed, far;
  int64_t ns;
  expect_sim_ok(vs_sim_event_create(sim, 0, VS_SIM_EVENT_NO_TIMING, &untimed));
  record(sim, untimed, stream);
  expect_sim_ok(vs_sim_event_create(sim, 1, 0, &far));
  expect_sim_ok(vs_sim_event_record(sim, 1, far, 0, 0));
  const uint64_t bad[] = {unrecorded, untimed, far};
  for (size_t i = 0; i < 3; i++) {
    expect_sim(vs_sim_event_elapsed(sim, good, bad[i], &ns), VS_SIM_INVALID_HANDLE);
    expect_sim(vs_sim_event_elapsed(sim, bad[i], good, &ns), VS_SIM_INVALID_HANDLE);
  }
  machine_end(&m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(wrong_handles_are_refused),
      cmocka_unit_test(flags),
      cmocka_unit_test(an_event_belongs_to_its_device),
      cmocka_unit_test(an_event_without_a_record_is_complete),
      cmocka_unit_test(at_sync_an_event_completes_what_stands_before_it),
      cmocka_unit_test(at_sync_holds_back_what_was_recorded_on_a_side_stream),
      cmocka_unit_test(a_wait_is_for_the_record_it_saw),
      cmocka_unit_test(time_is_virtual),
      cmocka_unit_test(what_has_no_time),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
