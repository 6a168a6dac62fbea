/* Free blocks, and what pins the memory around them. */
#include "analyze/fragmentation.h"
#include "unit/analyze/made.h"

#define MiB UINT64_C(0x100000)

static vs_fragmentation measure(made *m, vs_lifetimes *lifetimes, vs_moment moment, uint32_t most_pinned) {
  vs_fragmentation f;
  expect_ok(vs_lifetimes_build(m->host, made_slice(m, 0), lifetimes));
  expect_ok(vs_fragmentation_build(m->host, lifetimes, moment, most_pinned, &f));
  return f;
}

static void test_areas(void **state) {
  (void)state;
  made m = made_begin();
  const uint32_t stream = made_stream(&m, 1), pool = made_pool(&m, 0, 1);
  (void)made_event(&m, VS_EVENT_ALLOC, 0x100000, 3000);    /* smallest small request: 3072 */
  (void)made_event(&m, VS_EVENT_ALLOC, 0x200000, 2 * MiB); /* smallest large one */
  (void)made_event(&m, VS_EVENT_ALLOC, 0x900000, 500 * MiB);
  made_trace(&m, 0);
  (void)made_segment(&m, 0, 64 * MiB, 8192, "small");
  (void)made_block(&m, 1024, 0, VS_BLOCK_INACTIVE); /* too small for any request */
  (void)made_block(&m, 3072, 3000, VS_BLOCK_ALLOCATED);
  (void)made_block(&m, 4096, 0, VS_BLOCK_INACTIVE);
  vs_segment *segment = made_segment(&m, 0, 128 * MiB, 20 * MiB, "large");
  segment->stream = stream;
  segment->pool = pool;
  (void)made_block(&m, MiB, 0, VS_BLOCK_INACTIVE); /* too small for the requests of this pool */
  (void)made_block(&m, 2 * MiB, 2 * MiB, VS_BLOCK_PENDING);
  (void)made_block(&m, 17 * MiB, 0, VS_BLOCK_INACTIVE);
  (void)made_segment(&m, 0, 256 * MiB, 40 * MiB, "large");
  (void)made_block(&m, 40 * MiB, 0, VS_BLOCK_INACTIVE);

  vs_lifetimes lifetimes;
  vs_fragmentation f = measure(&m, &lifetimes, INT64_MAX, 10);
  assert_true(f.state.is_exact);
  assert_int_equal(f.smallest_request[VS_SEGMENT_SMALL], 3072);
  assert_int_equal(f.smallest_request[VS_SEGMENT_LARGE], 2 * MiB);
  assert_int_equal(f.all.reserved, 60 * MiB + 8192);
  assert_int_equal(f.all.active, 2 * MiB + 3072);
  assert_int_equal(f.all.free, 58 * MiB + 5120);
  assert_int_equal(f.all.pinned, 18 * MiB + 5120);
  assert_int_equal(f.all.releasable, 40 * MiB);
  assert_int_equal(f.all.largest_hole, 40 * MiB);
  assert_int_equal(f.all.hole_count, 5);
  assert_true(f.all.is_unusable_known);
  assert_int_equal(f.all.unusable, MiB + 1024);
  assert_int_equal(f.areas.count, 3);
  assert_int_equal(f.areas.data[0].holes.reserved, 40 * MiB);
  assert_int_equal(f.areas.data[1].pool, pool);
  assert_int_equal(f.areas.data[1].stream, stream);
  assert_int_equal(f.areas.data[1].holes.largest_hole, 17 * MiB);
  assert_int_equal(f.areas.data[2].kind, VS_SEGMENT_SMALL);
  assert_int_equal(f.areas.data[2].holes.unusable, 1024);
  assert_int_equal(f.pinned.count, 2);
  assert_int_equal(f.pinned.data[0].segment, 1);
  assert_int_equal(f.pinned.data[0].active, 2 * MiB);
  assert_int_equal(f.pinned.data[0].free, 18 * MiB);
  vs_fragmentation_deinit(m.host, &f);
  vs_lifetimes_deinit(m.host, &lifetimes);

  f = measure(&m, &lifetimes, INT64_MAX, 1);
  assert_int_equal(f.pinned.count, 1);
  vs_fragmentation_deinit(m.host, &f);
  vs_lifetimes_deinit(m.host, &lifetimes);
  made_end(&m);
}

/* A free block of just the smallest request can serve one. */
static void test_as_large_as_the_smallest_request(void **state) {
  (void)state;
  made m = made_begin();
  (void)made_event(&m, VS_EVENT_ALLOC, 0x100000, 3000);
  made_trace(&m, 0);
  (void)made_segment(&m, 0, 64 * MiB, 8192, "small");
  (void)made_block(&m, 3072, 0, VS_BLOCK_INACTIVE);
  (void)made_block(&m, 1024, 1000, VS_BLOCK_ALLOCATED);
  (void)made_block(&m, 2560, 0, VS_BLOCK_INACTIVE);
  (void)made_block(&m, 1536, 1500, VS_BLOCK_ALLOCATED);
  vs_lifetimes lifetimes;
  vs_fragmentation f = measure(&m, &lifetimes, INT64_MAX, 10);
  assert_int_equal(f.smallest_request[VS_SEGMENT_SMALL], 3072);
  assert_int_equal(f.all.unusable, 2560);
  vs_fragmentation_deinit(m.host, &f);
  vs_lifetimes_deinit(m.host, &lifetimes);
  made_end(&m);
}

/* Without requests, no size is known to be too small. */
static void test_unknown(void **state) {
  (void)state;
  made m = made_begin();
  made_trace(&m, 0);
  (void)made_segment(&m, 0, 64 * MiB, 2048, "small");
  (void)made_block(&m, 1024, 0, VS_BLOCK_INACTIVE);
  (void)made_block(&m, 1024, 9, VS_BLOCK_ALLOCATED);
  vs_lifetimes lifetimes;
  vs_fragmentation f = measure(&m, &lifetimes, INT64_MAX, 10);
  assert_false(f.all.is_unusable_known);
  assert_true(f.smallest_request[VS_SEGMENT_SMALL] == VS_NO_SIZE);
  assert_int_equal(f.all.unusable, 0);
  vs_fragmentation_deinit(m.host, &f);
  vs_lifetimes_deinit(m.host, &lifetimes);
  made_end(&m);
}

/* The segment that pins most comes first, although another one has more free bytes, most of them in whole pages. */
static void test_the_order_of_pinned_segments(void **state) {
  (void)state;
  made m = made_begin();
  made_trace(&m, 0);
  vs_segment *segment = made_segment(&m, 0, 1000 * MiB, 100 * MiB, "large");
  segment->is_expandable = true;
  segment->has = VS_SEGMENT_HAS_EXPANDABLE;
  (void)made_block(&m, 5 * MiB, 1, VS_BLOCK_ALLOCATED);
  (void)made_block(&m, 95 * MiB, 0, VS_BLOCK_INACTIVE); /* 15 of them in no whole page */
  (void)made_segment(&m, 0, 2000 * MiB, 20 * MiB, "large");
  (void)made_block(&m, 4 * MiB, 1, VS_BLOCK_ALLOCATED);
  (void)made_block(&m, 16 * MiB, 0, VS_BLOCK_INACTIVE);
  vs_lifetimes lifetimes;
  vs_fragmentation f = measure(&m, &lifetimes, INT64_MAX, 1);
  assert_int_equal(f.pinned.count, 1);
  assert_int_equal(f.pinned.data[0].pinned, 16 * MiB);
  assert_int_equal(f.all.releasable, 80 * MiB);
  vs_fragmentation_deinit(m.host, &f);
  vs_lifetimes_deinit(m.host, &lifetimes);
  made_end(&m);
}

/* Whole free pages of an expandable segment are released, although it has a live block. */
static void test_pages(void **state) {
  (void)state;
  made m = made_begin();
  made_trace(&m, 0);
  vs_segment *segment = made_segment(&m, 0, 1000 * MiB, 100 * MiB, "large");
  segment->is_expandable = true;
  segment->has = VS_SEGMENT_HAS_EXPANDABLE;
  (void)made_block(&m, 10 * MiB, 0, VS_BLOCK_INACTIVE); /* no whole page */
  (void)made_block(&m, 15 * MiB, 1, VS_BLOCK_ALLOCATED);
  (void)made_block(&m, 60 * MiB, 0, VS_BLOCK_INACTIVE); /* 25 .. 85: the pages 40 .. 80 */
  (void)made_block(&m, 15 * MiB, 1, VS_BLOCK_ALLOCATED);
  vs_lifetimes lifetimes;
  vs_fragmentation f = measure(&m, &lifetimes, INT64_MAX, 10);
  assert_int_equal(f.all.releasable, 40 * MiB);
  assert_int_equal(f.all.pinned, 30 * MiB);
  assert_int_equal(f.pinned.data[0].free, 70 * MiB);
  assert_int_equal(f.pinned.data[0].pinned, 30 * MiB);
  vs_fragmentation_deinit(m.host, &f);
  vs_lifetimes_deinit(m.host, &lifetimes);
  made_end(&m);
}

static void test_at_a_moment(void **state) {
  (void)state;
  made m = made_begin();
  (void)made_event(&m, VS_EVENT_ALLOC, 64 * MiB, 1000);
  (void)made_event(&m, VS_EVENT_ALLOC, 64 * MiB + 4096, 100);
  (void)made_free(&m, 64 * MiB, 1000);
  (void)made_free(&m, 64 * MiB + 4096, 100);
  made_trace(&m, 0);
  (void)made_segment(&m, 0, 64 * MiB, 2 * MiB, "small");
  (void)made_block(&m, 2 * MiB, 0, VS_BLOCK_INACTIVE);
  vs_lifetimes lifetimes;
  vs_fragmentation f = measure(&m, &lifetimes, 1, 10);
  assert_false(f.state.is_exact);
  assert_int_equal(f.all.active, 1024 + 512);
  assert_int_equal(f.all.hole_count, 2);
  assert_int_equal(f.all.largest_hole, 2 * MiB - 4096 - 512);
  assert_int_equal(f.all.unusable, 0); /* both take the smallest request, 512 */
  assert_int_equal(f.all.releasable, 0);
  vs_fragmentation_deinit(m.host, &f);
  vs_lifetimes_deinit(m.host, &lifetimes);
  made_end(&m);
}

static void test_classes(void **state) {
  (void)state;
  static const uint64_t sizes[] = {1, 1023, 1024, 2047, 2048, 1 << 20, UINT64_MAX};
  static const uint32_t classes[] = {0, 0, 1, 1, 2, 11, VS_HOLE_CLASSES - 1};
  for (int i = 0; i < 7; i++) assert_int_equal(vs_hole_class(sizes[i]), classes[i]);
  assert_int_equal(vs_hole_class_from(0), 0);
  for (uint32_t c = 1; c < VS_HOLE_CLASSES; c++) {
    assert_int_equal(vs_hole_class(vs_hole_class_from(c)), c);
    assert_int_equal(vs_hole_class(vs_hole_class_from(c) - 1), c - 1);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_classes),
      cmocka_unit_test(test_areas),
      cmocka_unit_test(test_as_large_as_the_smallest_request),
      cmocka_unit_test(test_the_order_of_pinned_segments),
      cmocka_unit_test(test_unknown),
      cmocka_unit_test(test_pages),
      cmocka_unit_test(test_at_a_moment),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
