/* The live blocks and the segments, against naive models. */
#include "faces/preload/blocks.h"
#include "faces/preload/segments.h"
#include "support/random.h"
#include "support/test.h"

enum { PLACES = 200, PAGE = 4096 };

static void free_blocks(vs_live_blocks *blocks) {
  vs_map_deinit(vs_host_default(), &blocks->at);
  vs_vec_free(vs_host_default(), &blocks->rows);
}

static void test_blocks(void **state) {
  (void)state;
  vs_live_blocks blocks = {.unused = 0};
  uint64_t requested[PLACES] = {0}; /* 0: no block */
  test_random random = {.state = 1};
  for (uint32_t i = 0; i < 20000; i++) {
    const uint64_t at = random_below(&random, PLACES);
    vs_live_block taken = {.address = 0};
    if (random_below(&random, 2) == 0) {
      requested[at] = i + 1;
      const vs_live_block block = {.address = at * PAGE, .requested = i + 1, .bytes = PAGE, .stack = i};
      expect_ok(vs_live_blocks_add(&blocks, vs_host_default(), &block));
    } else {
      assert_int_equal(vs_live_blocks_take(&blocks, at * PAGE, &taken), requested[at] != 0);
      assert_int_equal(taken.requested, requested[at]);
      requested[at] = 0;
    }
  }
  assert_true(blocks.rows.count <= PLACES); /* rows are used again */
  vs_block_rows rows;
  expect_ok(vs_live_blocks_sort(&blocks, vs_host_default(), &rows));
  size_t next = 0;
  for (uint64_t at = 0; at < PLACES; at++) {
    if (requested[at] == 0) continue;
    assert_int_equal(blocks.rows.data[rows.data[next]].address, at * PAGE);
    assert_int_equal(blocks.rows.data[rows.data[next++]].requested, requested[at]);
  }
  assert_int_equal(next, rows.count);
  vs_host_free(vs_host_default(), rows.data, rows.count * sizeof *rows.data);
  free_blocks(&blocks);
}

static vs_status add(vs_own_segments *s, uint64_t page, uint64_t pages, uint64_t stream, bool is_expandable) {
  const vs_own_segment segment = {
      .address = page * PAGE, .bytes = pages * PAGE, .stream = stream, .is_expandable = is_expandable};
  return vs_own_segments_add(s, vs_host_default(), &segment);
}

static void test_segments(void **state) {
  (void)state;
  vs_own_segments s = {.bytes = 0};
  bool is_used[PLACES] = {false};
  uint64_t used = 0;
  test_random random = {.state = 2};
  for (int i = 0; i < 20000; i++) {
    const uint64_t at = random_below(&random, PLACES);
    vs_own_segment taken;
    if (random_below(&random, 2) == 0) {
      const uint64_t pages = vs_min_u64(1 + random_below(&random, 9), PLACES - at);
      bool is_free = true;
      for (uint64_t p = at; p < at + pages; p++) is_free = is_free && !is_used[p];
      assert_int_equal(add(&s, at, pages, 0, false), is_free ? VS_OK : VS_BAD_ARGUMENT);
      for (uint64_t p = at; p < at + pages && is_free; p++) is_used[p] = true;
      used += is_free ? pages : 0;
    } else if (vs_own_segments_take(&s, at * PAGE, &taken)) {
      for (uint64_t p = at; p < at + taken.bytes / PAGE; p++) is_used[p] = false;
      used -= taken.bytes / PAGE;
    }
    assert_int_equal(s.bytes, used * PAGE);
    const uint64_t look = random_below(&random, PLACES);
    const vs_own_segment *found = vs_own_segments_at(&s, look * PAGE + 1);
    assert_int_equal(found != NULL, is_used[look]);
  }
  vs_vec_free(vs_host_default(), &s.rows);
}

static void test_pages_join(void **state) {
  (void)state;
  vs_own_segments s = {.bytes = 0};
  expect_ok(add(&s, 10, 5, 1, true));
  expect_ok(add(&s, 20, 5, 1, true));
  expect_ok(add(&s, 15, 5, 1, true)); /* the gap between them */
  assert_int_equal(s.rows.count, 1);
  assert_int_equal(vs_own_segments_at(&s, 25 * PAGE)->bytes, 15 * PAGE); /* its end counts */
  assert_null(vs_own_segments_at(&s, 25 * PAGE + 1));
  expect_ok(add(&s, 25, 5, 2, true));  /* another stream's */
  expect_ok(add(&s, 30, 5, 2, false)); /* no pages */
  assert_int_equal(s.rows.count, 3);
  assert_int_equal(vs_own_segments_at(&s, 25 * PAGE)->stream, 2); /* the one that contains it */
  assert_int_equal(add(&s, 40, 0, 0, false), VS_BAD_ARGUMENT);
  vs_vec_free(vs_host_default(), &s.rows);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_blocks),
      cmocka_unit_test(test_segments),
      cmocka_unit_test(test_pages_join),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
