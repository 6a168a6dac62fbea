/* Recordings when memory fails: nothing leaks, nothing is half said. */
#include "support/recordings.h"
#include "support/snapshots.h"
#include "tracefile/compact.h"

enum { STEPS = 250 };

/* ---- writing ------------------------------------------------------------------------------------------- */

static vs_status write_all(const vs_host *host, recording *r) {
  vs_tracew *w;
  made_up m;
  const vs_tracew_sink sink = recording_sink(r);
  const vs_tracew_options options = {.frame_size = 2048};
  VS_TRY(vs_tracew_create(host, &sink, &options, &w));
  made_up_init(&m, w, NULL, 3);
  vs_status status = VS_OK;
  for (int i = 0; i < STEPS && status == VS_OK; i++) status = made_up_step(&m);
  if (status == VS_OK) status = vs_tracew_flush(w);
  vs_tracew_destroy(w);
  return status;
}

static vs_status write_once(const vs_host *host, void *ctx) {
  recording r;
  (void)ctx;
  recording_init(&r, host);
  const vs_status status = write_all(host, &r);
  recording_deinit(&r);
  return status;
}

static void test_writing(void **state) {
  (void)state;
  assert_true(fault_prove(write_once, NULL) > 30);
}

/* A record that failed for want of memory can be said again, and the file then has all of them. */
static void test_what_failed_can_be_said_again(void **state) {
  (void)state;
  for (uint64_t fail_at = 0; fail_at < 60; fail_at++) {
    fault_host fault;
    recording r;
    vs_tracew *w;
    vs_error error;
    uint32_t name, frame, stack, context;
    fault_host_init(&fault, FAULT_NEVER);
    recording_init(&r, vs_host_default());
    const vs_tracew_sink sink = recording_sink(&r);
    const vs_tracew_options options = {.frame_size = 1024};
    expect_ok(vs_tracew_create(&fault.host, &sink, &options, &w));
    fault.fail_at = fault.requests + fail_at;
    for (uint32_t i = 0; i < 300; i++)
      for (vs_status status = VS_NO_MEMORY; status != VS_OK;) {
        status = vs_tracew_string(w, (vs_str){(const char *)&i, sizeof i}, &name);
        if (status == VS_OK) status = vs_tracew_frame(w, &(vs_trace_frame){.name = name}, &frame);
        if (status == VS_OK) status = vs_tracew_stack(w, &frame, 1, &stack);
        if (status == VS_OK) status = vs_tracew_context(w, &(vs_trace_context){.stream = i / 50}, &context);
        const vs_trace_event event = {
            .address = i, .time_us = i, .stack = stack, .context = context, .kind = VS_EVENT_ALLOC};
        if (status == VS_OK) status = vs_tracew_event(w, &event);
        if (status != VS_OK) expect_status(status, VS_NO_MEMORY);
      }
    expect_ok(vs_tracew_flush(w));
    vs_tracew_destroy(w);
    fault_host_expect_empty(&fault);
    reading_back got;
    reading_back_init(&got, vs_host_default());
    expect_ok(read_back(&got, vs_text_view(&r.bytes), NULL, &error));
    assert_int_equal(got.events.count, 300);
    assert_int_equal(got.report.lost_entries, 0);
    for (uint32_t i = 0; i < 300; i++) {
      assert_int_equal(got.events.data[i].event.address, i);
      assert_true(got.events.data[i].stack > 1);
    }
    reading_back_deinit(&got);
    recording_deinit(&r);
  }
}

/* ---- reading, and packing ------------------------------------------------------------------------------ */

static vs_status read_once(const vs_host *host, void *ctx) {
  reading_back got;
  vs_error error;
  reading_back_init(&got, host);
  const vs_status status = read_back(&got, *(const vs_str *)ctx, NULL, &error);
  reading_back_deinit(&got);
  return status;
}

static vs_status read_snapshot(const vs_host *host, void *ctx) {
  vs_snapshot *s;
  vs_error error;
  VS_TRY(snapshot_from(host, *(const vs_str *)ctx, &s, &error));
  assert_null(vs_snapshot_check(s));
  vs_snapshot_destroy(s);
  return VS_OK;
}

static vs_status store(void *ctx, const void *from, size_t size, void *to, size_t room, size_t *packed) {
  (void)ctx;
  (void)from;
  (void)size;
  (void)to;
  (void)room;
  *packed = 0; /* it does not become smaller */
  return VS_OK;
}

static vs_status drop(void *ctx, const void *data, size_t size) {
  (void)ctx;
  (void)data;
  (void)size;
  return VS_OK;
}

static vs_status compact_once(const vs_host *host, void *ctx) {
  const vs_str *bytes = ctx;
  const vs_trace_deflate deflate = {.deflate = store};
  vs_memory_reader memory;
  vs_input input;
  vs_trace_report report;
  vs_error error;
  uint64_t size;
  VS_TRY(vs_input_init(&input, host, vs_reader_from_bytes(&memory, bytes->data, bytes->size)));
  const vs_status status =
      vs_trace_compact(host, &input, NULL, &deflate, &(vs_writer){.write = drop}, &report, &size, &error);
  vs_input_deinit(&input);
  return status;
}

static void test_reading(void **state) {
  (void)state;
  recording r;
  recording_init(&r, vs_host_default());
  expect_ok(write_all(vs_host_default(), &r));
  vs_str bytes = vs_text_view(&r.bytes);
  assert_true(fault_prove(read_once, &bytes) > 10);
  assert_true(fault_prove(read_snapshot, &bytes) > 10);
  assert_true(fault_prove(compact_once, &bytes) > 3);
  recording_deinit(&r);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_writing),
      cmocka_unit_test(test_what_failed_can_be_said_again),
      cmocka_unit_test(test_reading),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
