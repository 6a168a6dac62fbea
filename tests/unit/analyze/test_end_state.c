/* Sums of the end state, in all and by part. */
#include "analyze/end_state.h"
#include "unit/analyze/made.h"

static void test_sums(void **state) {
  (void)state;
  made m = made_begin();
  const uint32_t stream = made_stream(&m, 7), pool = made_pool(&m, 0, 1);
  made_trace(&m, 0);
  made_trace(&m, 1);
  vs_segment *segment = made_segment(&m, 0, 0x10000, 4096, "large");
  segment->stream = stream;
  segment->pool = pool;
  (void)made_block(&m, 1024, 1000, VS_BLOCK_ALLOCATED);
  (void)made_block(&m, 512, 500, VS_BLOCK_PENDING);
  (void)made_block(&m, 2048, 2000, VS_BLOCK_INACTIVE);
  (void)made_block(&m, 512, 1, VS_BLOCK_UNKNOWN);
  segment = made_segment(&m, 0, 0x20000, 1024, "small");
  segment->has = VS_SEGMENT_HAS_EXPANDABLE;
  segment->is_expandable = true;
  (void)made_block(&m, 1024, 1, VS_BLOCK_ALLOCATED);
  (void)made_segment(&m, 1, 0x30000, 512, "small"); /* another device's */
  (void)made_block(&m, 512, 512, VS_BLOCK_ALLOCATED);

  vs_end_state end;
  expect_ok(vs_end_state_build(m.host, made_slice(&m, 0), &end));
  assert_int_equal(end.all.segments, 2);
  assert_int_equal(end.all.blocks, 5);
  assert_int_equal(end.all.reserved, 5120);
  assert_int_equal(end.all.allocated, 2048);
  assert_int_equal(end.all.active, 2560);
  assert_int_equal(end.all.pending, 512);
  assert_int_equal(end.all.inactive, 2560);
  assert_int_equal(end.all.requested, 1501);
  assert_int_equal(end.all.rounding, 24 + 1023);
  assert_int_equal(end.all.allocated_blocks, 2);
  assert_int_equal(end.all.pending_blocks, 1);
  assert_int_equal(end.all.inactive_blocks, 2);
  assert_int_equal(end.by_kind[VS_SEGMENT_LARGE].reserved, 4096);
  assert_int_equal(end.by_kind[VS_SEGMENT_SMALL].allocated, 1024);
  assert_int_equal(end.by_kind[VS_SEGMENT_OTHER].segments, 0);
  assert_int_equal(end.expandable.reserved, 1024);
  assert_int_equal(end.by_stream.count, 2);
  assert_int_equal(end.by_stream.data[0].key, 0);
  assert_int_equal(end.by_stream.data[0].sums.reserved, 1024);
  assert_int_equal(end.by_stream.data[1].key, stream);
  assert_int_equal(end.by_stream.data[1].sums.reserved, 4096);
  assert_int_equal(end.by_pool.count, 2);
  assert_int_equal(end.by_pool.data[1].key, pool);
  assert_int_equal(end.by_pool.data[1].sums.pending, 512);
  vs_end_state_deinit(m.host, &end);
  made_end(&m);
}

static void test_sums_saturate(void **state) {
  (void)state;
  made m = made_begin();
  made_trace(&m, 0);
  (void)made_segment(&m, 0, 0, UINT64_MAX, "small");
  (void)made_block(&m, UINT64_MAX, UINT64_MAX, VS_BLOCK_ALLOCATED);
  (void)made_block(&m, UINT64_MAX, UINT64_MAX, VS_BLOCK_PENDING);
  vs_end_state end;
  expect_ok(vs_end_state_build(m.host, made_slice(&m, 0), &end));
  assert_true(end.all.reserved == UINT64_MAX && end.all.active == UINT64_MAX &&
              end.all.requested == UINT64_MAX);
  assert_int_equal(end.all.rounding, 0);
  vs_end_state_deinit(m.host, &end);
  made_end(&m);
}

static vs_segment_kind kind_of(const char *type, uint64_t size) {
  made m = made_begin();
  made_trace(&m, 0);
  const vs_segment_kind kind = vs_segment_kind_of(m.snapshot, made_segment(&m, 0, 0, size, type));
  made_end(&m);
  return kind;
}

static void test_kinds(void **state) {
  (void)state;
  assert_int_equal(kind_of("small", 1 << 30), VS_SEGMENT_SMALL);
  assert_int_equal(kind_of("large", 1), VS_SEGMENT_LARGE);
  assert_int_equal(kind_of("huge", 1), VS_SEGMENT_OTHER);
  assert_int_equal(kind_of("", 2 << 20), VS_SEGMENT_SMALL);
  assert_int_equal(kind_of("", (2 << 20) + 1), VS_SEGMENT_LARGE);
  assert_string_equal(vs_segment_kind_name(VS_SEGMENT_OTHER), "other");
}

/* Indices of streams and pools follow the order in which a file mentions them, which differs between files that say the same. */
static void test_parts_are_in_order_of_handles(void **state) {
  (void)state;
  made m = made_begin();
  const uint32_t streams[] = {made_stream(&m, 9), made_stream(&m, 3), 0};
  const uint32_t pools[] = {made_pool(&m, 0, 2), made_pool(&m, 1, 0), made_pool(&m, 0, 1)};
  made_trace(&m, 0);
  for (uint32_t i = 0; i < 3; i++) {
    vs_segment *segment = made_segment(&m, 0, (i + 1) << 20, 512, "small");
    segment->stream = streams[i];
    segment->pool = pools[i];
    (void)made_block(&m, 512, 512, VS_BLOCK_ALLOCATED);
  }
  vs_end_state end;
  expect_ok(vs_end_state_build(m.host, made_slice(&m, 0), &end));
  assert_int_equal(end.by_stream.count, 3);
  for (size_t i = 1; i < 3; i++)
    assert_true(m.snapshot->streams.data[end.by_stream.data[i - 1].key] <
                m.snapshot->streams.data[end.by_stream.data[i].key]);
  assert_int_equal(end.by_pool.count, 3);
  assert_int_equal(end.by_pool.data[0].key, pools[2]); /* 0, 1 */
  assert_int_equal(end.by_pool.data[1].key, pools[0]); /* 0, 2 */
  assert_int_equal(end.by_pool.data[2].key, pools[1]); /* 1, 0 */
  vs_end_state_deinit(m.host, &end);
  made_end(&m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_sums),
      cmocka_unit_test(test_sums_saturate),
      cmocka_unit_test(test_kinds),
      cmocka_unit_test(test_parts_are_in_order_of_handles),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
