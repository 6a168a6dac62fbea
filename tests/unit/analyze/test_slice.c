/* Devices, moments, and the questions about segments by address. */
#include "support/random.h"
#include "unit/analyze/made.h"

static void test_devices(void **state) {
  (void)state;
  made m = made_begin();
  made_trace(&m, 0); /* nothing of device 0 but an empty trace: it is left out */
  (void)made_event(&m, VS_EVENT_ALLOC, 64, 8);
  made_trace(&m, 1);
  made_trace(&m, 2);
  (void)made_event(&m, VS_EVENT_ALLOC, 32, 8);
  (void)made_event(&m, VS_EVENT_ALLOC, 48, 8);
  made_trace(&m, VS_DEVICE_HOST);
  (void)made_segment(&m, 2, 1024, 512, "small");
  (void)made_block(&m, 512, 0, VS_BLOCK_INACTIVE);
  (void)made_segment(&m, 1, 4096, 512, "small");
  (void)made_block(&m, 512, 0, VS_BLOCK_INACTIVE);
  (void)made_segment(&m, 2, 512, 512, "small");
  (void)made_block(&m, 512, 0, VS_BLOCK_INACTIVE);

  const vs_slice *one = made_slice(&m, 1);
  assert_int_equal(m.slices.list.count, 3);
  assert_ptr_equal(one, &m.slices.list.data[0]);
  assert_int_equal(one->event_count, 1);
  assert_int_equal(one->segment_count, 1);
  assert_int_equal(one->segments[0], 1);
  const vs_slice *two = vs_slices_find(&m.slices, 2), *host = vs_slices_find(&m.slices, VS_DEVICE_HOST);
  assert_ptr_equal(two, &m.slices.list.data[1]);
  assert_int_equal(two->event_count, 0);
  assert_int_equal(vs_slice_end(two), VS_AT_START);
  assert_int_equal(two->segment_count, 2);
  assert_int_equal(two->segments[0], 0); /* file order */
  assert_int_equal(two->segments[1], 2);
  assert_ptr_equal(host, &m.slices.list.data[2]);
  assert_int_equal(host->event_count, 2);
  assert_int_equal(vs_slice_row(host, 1), 2);
  assert_null(vs_slices_find(&m.slices, 0));
  made_end(&m);
}

/* Events of all kinds on three devices, against a scan of each trace. */
static void test_kinds(void **state) {
  (void)state;
  made m = made_begin();
  test_random random = {5};
  for (int32_t device = 0; device < 3; device++) {
    const uint64_t kinds = device == 1 ? VS_EVENT_FREE_COMPLETED + 1 : VS_EVENT_KIND_COUNT;
    for (int i = 0; i < 200; i++)
      (void)made_event(&m, (vs_event_kind)random_below(&random, kinds), 512 * random_below(&random, 9), 8);
    made_trace(&m, device);
  }
  for (int32_t device = 0; device < 3; device++) {
    const vs_slice *slice = made_slice(&m, device);
    uint32_t counts[VS_EVENT_KIND_COUNT + 1] = {0}, others = 0;
    for (uint32_t event = 0; event < slice->event_count; event++) {
      const vs_event_kind kind = vs_events_kind(&slice->snapshot->events, vs_slice_row(slice, event));
      counts[kind]++;
      if (kind == VS_EVENT_ALLOC || kind == VS_EVENT_FREE_REQUESTED || kind == VS_EVENT_FREE_COMPLETED)
        continue;
      assert_true(others < slice->other_count);
      assert_int_equal(slice->others[others++], event);
    }
    assert_int_equal(others, slice->other_count);
    assert_int_equal(others == 0, device == 1);
    assert_memory_equal(counts, slice->counts, sizeof counts);
  }
  made_end(&m);
}

static void test_moments(void **state) {
  (void)state;
  made m = made_begin();
  for (uint64_t i = 0; i < 5; i++) (void)made_event(&m, VS_EVENT_ALLOC, 512 * i, 8);
  made_trace(&m, 0);
  const vs_slice *slice = made_slice(&m, 0);
  assert_int_equal(vs_slice_moment_at(slice, 100), VS_AT_START); /* no times at all */
  m.first_event = 0;
  made_time(&m, 1, 10);
  made_time(&m, 2, 30);
  made_time(&m, 3, 20); /* a clock that was set back */
  assert_int_equal(vs_slice_moment_at(slice, 9), VS_AT_START);
  assert_int_equal(vs_slice_moment_at(slice, 10), 1);
  assert_int_equal(vs_slice_moment_at(slice, 25), 3);
  assert_int_equal(vs_slice_moment_at(slice, INT64_MAX), 3);
  assert_int_equal(vs_slice_time(slice, 2), 30);
  assert_int_equal(vs_slice_time(slice, 4), VS_NO_TIME);
  assert_int_equal(vs_slice_time(slice, VS_AT_START), VS_NO_TIME);
  assert_int_equal(vs_slice_time(slice, 5), VS_NO_TIME);
  made_end(&m);
}

static vs_closing closing_of(const vs_event_kind *kinds, size_t count) {
  made m = made_begin();
  for (size_t i = 0; i < count; i++) (void)made_event(&m, kinds[i], 512 * i, 8);
  made_trace(&m, 0);
  const vs_closing closing = vs_slice_closing(made_slice(&m, 0));
  made_end(&m);
  return closing;
}

static void test_closing(void **state) {
  (void)state;
  const vs_event_kind both[] = {VS_EVENT_ALLOC, VS_EVENT_FREE_COMPLETED, VS_EVENT_FREE_REQUESTED};
  const vs_event_kind requests[] = {VS_EVENT_ALLOC, VS_EVENT_FREE_REQUESTED};
  const vs_event_kind completions[] = {VS_EVENT_FREE_COMPLETED, VS_EVENT_ALLOC};
  vs_closing closing = closing_of(both, 3);
  assert_true(!closing.at_request && !closing.only_completion);
  closing = closing_of(requests, 2);
  assert_true(closing.at_request && !closing.only_completion);
  closing = closing_of(completions, 2);
  assert_true(!closing.at_request && closing.only_completion);
  closing = closing_of(both, 1);
  assert_true(!closing.at_request && !closing.only_completion);
}

static void expect_columns(const vs_slice *slice) {
  const vs_columns_of_slice columns = vs_slice_columns(slice);
  const vs_events *events = &slice->snapshot->events;
  for (uint32_t event = 0; event < slice->event_count; event++) {
    const uint32_t row = vs_slice_row(slice, event);
    assert_int_equal(vs_action_at(columns, event), vs_events_action(events, row));
    assert_true(vs_address_at(columns, event) == vs_events_address(events, row));
    assert_true(vs_size_at(columns, event) == vs_events_size(events, row));
  }
}

/* Also those of a device behind another one, and those that no event has. */
static void test_columns(void **state) {
  (void)state;
  test_random random = {7};
  for (uint64_t largest = 1; largest < 1000; largest += 499) { /* 1: every value is absent */
    made m = made_begin();
    for (int32_t device = 0; device < 2; device++) {
      for (int i = 0; i < 20; i++)
        (void)made_event(&m, (vs_event_kind)(random_below(&random, largest) % VS_EVENT_KIND_COUNT),
                         random_below(&random, largest), random_below(&random, largest));
      made_trace(&m, device);
    }
    assert_true((m.snapshot->events.address == NULL) == (largest == 1));
    for (int32_t device = 0; device < 2; device++) expect_columns(made_slice(&m, device));
    made_end(&m);
  }
}

static void test_segments_by_address(void **state) {
  (void)state;
  made m = made_begin();
  made_trace(&m, 0);
  (void)made_segment(&m, 0, 8192, 1024, "small");
  (void)made_block(&m, 512, 0, VS_BLOCK_INACTIVE);
  (void)made_block(&m, 512, 0, VS_BLOCK_INACTIVE);
  (void)made_segment(&m, 0, 0, 0, "small"); /* of no blocks */
  (void)made_segment(&m, 0, 4096, 512, "small");
  (void)made_block(&m, 512, 0, VS_BLOCK_INACTIVE);
  const vs_slice *slice = made_slice(&m, 0);
  vs_segment_index index;
  expect_ok(vs_segment_index_build(m.host, slice, &index));
  assert_int_equal(vs_segment_index_find(&index, m.snapshot, 4095), VS_NO_ROW);
  assert_int_equal(vs_segment_index_find(&index, m.snapshot, 4096), 2);
  assert_int_equal(vs_segment_index_find(&index, m.snapshot, 4607), 2);
  assert_int_equal(vs_segment_index_find(&index, m.snapshot, 4608), VS_NO_ROW);
  assert_int_equal(vs_segment_index_find(&index, m.snapshot, 9215), 0);
  assert_int_equal(vs_segment_index_find(&index, m.snapshot, UINT64_MAX), VS_NO_ROW);
  vs_segment_index_deinit(m.host, &index);
  assert_int_equal(vs_segment_of_block(m.snapshot, 0), 0);
  assert_int_equal(vs_segment_of_block(m.snapshot, 1), 0);
  assert_int_equal(vs_segment_of_block(m.snapshot, 2), 2);
  made_end(&m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_devices), cmocka_unit_test(test_kinds),
      cmocka_unit_test(test_moments), cmocka_unit_test(test_closing),
      cmocka_unit_test(test_columns), cmocka_unit_test(test_segments_by_address),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
