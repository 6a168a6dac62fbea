/* Failed requests: what was there, and why it was not enough. */
#include "analyze/ooms.h"
#include "unit/analyze/made.h"

#define MiB UINT64_C(0x100000)

/* Two segments of 100 MiB on stream 0, mostly full: free blocks of 30 and 20 MiB; 15 MiB free on another stream. */
static made full_device(void) {
  made m = made_begin();
  const uint32_t other = made_stream(&m, 1), big = made_stack(&m, "forward", 1),
                 small = made_stack(&m, "load", 2);
  (void)made_event(&m, VS_EVENT_SEGMENT_ALLOC, 1000 * MiB, 100 * MiB); /* 0 */
  (void)made_event(&m, VS_EVENT_SEGMENT_ALLOC, 2000 * MiB, 100 * MiB); /* 1 */
  (void)made_event(&m, VS_EVENT_SEGMENT_ALLOC, 3000 * MiB, 40 * MiB);  /* 2 */
  (void)made_alloc(&m, 1000 * MiB, 70 * MiB, big);                     /* 3 */
  (void)made_alloc(&m, 2020 * MiB, 80 * MiB, big);                     /* 4 */
  (void)made_alloc(&m, 3000 * MiB, 25 * MiB, small);                   /* 5 */
  made_trace(&m, 0);
  (void)made_segment(&m, 0, 1000 * MiB, 100 * MiB, "large");
  (void)made_block(&m, 70 * MiB, 70 * MiB, VS_BLOCK_ALLOCATED);
  (void)made_block(&m, 30 * MiB, 0, VS_BLOCK_INACTIVE);
  (void)made_segment(&m, 0, 2000 * MiB, 100 * MiB, "large");
  (void)made_block(&m, 20 * MiB, 0, VS_BLOCK_INACTIVE);
  (void)made_block(&m, 80 * MiB, 80 * MiB, VS_BLOCK_ALLOCATED);
  made_segment(&m, 0, 3000 * MiB, 40 * MiB, "large")->stream = other;
  (void)made_block(&m, 25 * MiB, 25 * MiB, VS_BLOCK_ALLOCATED);
  (void)made_block(&m, 15 * MiB, 0, VS_BLOCK_INACTIVE);
  return m;
}

static const uint64_t NOT_SAID = UINT64_MAX;

static vs_oom fail_once(uint64_t size, uint64_t device_free, uint32_t stream) {
  made m = full_device();
  m.snapshot->traces.count = 0;
  m.first_event = 0;
  const bool said = device_free != NOT_SAID;
  const uint32_t event = made_event(&m, VS_EVENT_OOM, said ? device_free : 0, size);
  expect_ok(vs_events_set_stream(m.host, &m.snapshot->events, event, stream));
  if (!said) expect_ok(vs_events_set_missing(m.host, &m.snapshot->events, event, VS_EVENT_NO_ADDRESS));
  made_trace(&m, 0);
  const vs_slice *slice = made_slice(&m, 0);
  vs_curves curves;
  vs_lifetimes lifetimes;
  vs_moment_index moments;
  vs_ooms ooms;
  vs_frames frames;
  expect_ok(vs_frames_init(m.host, m.snapshot, &frames));
  vs_curves_measure(slice, &curves);
  expect_ok(vs_lifetimes_build(m.host, slice, &lifetimes));
  expect_ok(vs_moment_index_build(m.host, &lifetimes, &moments));
  expect_ok(vs_ooms_build(m.host, &moments, &curves, &frames, &ooms));
  assert_int_equal(ooms.list.count, 1);
  const vs_oom oom = ooms.list.data[0];
  vs_ooms_deinit(m.host, &ooms);
  vs_frames_deinit(m.host, &frames);
  vs_moment_index_deinit(m.host, &moments);
  vs_lifetimes_deinit(m.host, &lifetimes);
  made_end(&m);
  return oom;
}

static void test_facts(void **state) {
  (void)state;
  const vs_oom oom = fail_once(45 * MiB, 3 * MiB, 0);
  assert_int_equal(oom.event, 6);
  assert_int_equal(oom.size, 45 * MiB);
  assert_true(oom.is_free_known);
  assert_int_equal(oom.device_free, 3 * MiB);
  assert_int_equal(oom.requested, 175 * MiB);
  assert_int_equal(oom.held, 175 * MiB);
  assert_int_equal(oom.reserved, 240 * MiB);
  assert_true(oom.is_looked_at);
  assert_int_equal(oom.active, 175 * MiB);
  assert_int_equal(oom.cached, 65 * MiB);
  assert_int_equal(oom.largest_hole, 30 * MiB);
  assert_int_equal(oom.top.bytes, 150 * MiB);
  assert_int_equal(oom.top.count, 2);
}

static void test_verdicts(void **state) {
  (void)state;
  assert_int_equal(fail_once(45 * MiB, 3 * MiB, 0).verdict, VS_OOM_FRAGMENTED);
  assert_int_equal(fail_once(67 * MiB, 3 * MiB, 0).verdict, VS_OOM_FRAGMENTED); /* 65 cached + 3 free */
  assert_int_equal(fail_once(69 * MiB, 3 * MiB, 0).verdict, VS_OOM_FULL);
  assert_int_equal(fail_once(69 * MiB, NOT_SAID, 0).verdict, VS_OOM_UNKNOWN);
  assert_int_equal(fail_once(45 * MiB, NOT_SAID, 0).verdict, VS_OOM_FRAGMENTED);
  assert_int_equal(fail_once(28 * MiB, 3 * MiB, 1).verdict,
                   VS_OOM_ELSEWHERE); /* the free block is of stream 0 */
  assert_int_equal(fail_once(69 * MiB, 500 * MiB, 0).verdict, VS_OOM_REFUSED);
  assert_int_equal(fail_once(69 * MiB, 69 * MiB, 0).verdict,
                   VS_OOM_FRAGMENTED); /* the driver gives multiples of 2 MiB */
  assert_int_equal(fail_once(4096, 3 * MiB, 0).verdict, VS_OOM_REFUSED);
  assert_int_equal(fail_once(4096, MiB, 0).verdict,
                   VS_OOM_ELSEWHERE); /* the free blocks are of the large pool */
  assert_int_equal(fail_once(UINT64_MAX, UINT64_MAX - 1, 0).verdict,
                   VS_OOM_FRAGMENTED); /* 1 short, 65 MiB cached */
  for (int verdict = 0; verdict < VS_OOM_VERDICTS; verdict++)
    assert_true(strlen(vs_oom_verdict_name((vs_oom_verdict)verdict)) > 0);
}

static void test_holes_by_place(void **state) {
  (void)state;
  const vs_oom oom = fail_once(28 * MiB, 0, 1);
  assert_int_equal(oom.largest_hole, 30 * MiB);
  assert_int_equal(oom.largest_hole_kind, 30 * MiB);
  assert_int_equal(oom.largest_hole_area, 15 * MiB);
  assert_int_equal(fail_once(512, 0, 0).largest_hole_kind, 0);
}

/* Of many failures only the first and the last ones are looked at; the plain facts are there for all. */
static void test_many(void **state) {
  (void)state;
  made m = full_device();
  m.snapshot->traces.count = 0;
  m.first_event = 0;
  for (uint64_t i = 0; i < 10; i++) {
    (void)made_event(&m, VS_EVENT_OOM, i, 45 * MiB);
    (void)made_event(&m, VS_EVENT_ALLOC, 512 * i, 10);
    (void)made_free(&m, 512 * i, 10);
  }
  made_trace(&m, 0);
  const vs_slice *slice = made_slice(&m, 0);
  vs_curves curves;
  vs_lifetimes lifetimes;
  vs_moment_index moments;
  vs_ooms ooms;
  vs_frames frames;
  expect_ok(vs_frames_init(m.host, m.snapshot, &frames));
  vs_curves_measure(slice, &curves);
  expect_ok(vs_lifetimes_build(m.host, slice, &lifetimes));
  expect_ok(vs_moment_index_build(m.host, &lifetimes, &moments));
  expect_ok(vs_ooms_build(m.host, &moments, &curves, &frames, &ooms));
  assert_int_equal(ooms.list.count, 10);
  for (size_t i = 0; i < 10; i++) {
    assert_int_equal(ooms.list.data[i].device_free, i);
    assert_int_equal(ooms.list.data[i].requested, 175 * MiB);
    assert_int_equal(ooms.list.data[i].is_looked_at, i == 0 || i > 10 - VS_OOM_LOOKS);
  }
  expect_ok(vs_oom_look(m.host, &moments, &frames, &ooms.list.data[3]));
  assert_int_equal(ooms.list.data[3].verdict, VS_OOM_FRAGMENTED);
  vs_ooms_deinit(m.host, &ooms);
  vs_frames_deinit(m.host, &frames);
  vs_moment_index_deinit(m.host, &moments);
  vs_lifetimes_deinit(m.host, &lifetimes);
  made_end(&m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_facts),
      cmocka_unit_test(test_verdicts),
      cmocka_unit_test(test_holes_by_place),
      cmocka_unit_test(test_many),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
