/* Matching allocations with frees, with the end state, and what does not match. */
#include "analyze/liveset.h"
#include "unit/analyze/made.h"

static vs_lifetimes build(made *m) {
  vs_lifetimes lifetimes;
  expect_ok(vs_lifetimes_build(m->host, made_slice(m, 0), &lifetimes));
  const char *broken = vs_lifetimes_check(&lifetimes);
  if (broken != NULL) fail_msg("%s", broken);
  return lifetimes;
}

static void expect_row(const vs_lifetimes *lifetimes, size_t at, uint64_t address, uint64_t size,
                       uint32_t start, uint32_t free_requested, uint32_t end, uint32_t block) {
  assert_true(at < lifetimes->rows.count);
  const vs_lifetime *row = &lifetimes->rows.data[at];
  assert_int_equal(row->address, address);
  assert_int_equal(row->size, size);
  assert_int_equal(row->start, start);
  assert_int_equal(row->free_requested, free_requested);
  assert_int_equal(row->end, end);
  assert_int_equal(row->block, block);
}

static void expect_tally(vs_tally tally, uint64_t count, int64_t first_event) {
  assert_int_equal(tally.count, count);
  assert_int_equal(tally.first_event, first_event);
}

static const uint32_t NO = VS_NO_EVENT;

static void test_matching(void **state) {
  (void)state;
  made m = made_begin();
  (void)made_event(&m, VS_EVENT_ALLOC, 0x1000, 70);           /* 0: freed, address used again */
  (void)made_event(&m, VS_EVENT_ALLOC, 0x2000, 80);           /* 1: waits until 6 */
  (void)made_free(&m, 0x1000, 70);                            /* 2 3 */
  (void)made_event(&m, VS_EVENT_FREE_REQUESTED, 0x2000, 80);  /* 4 */
  (void)made_event(&m, VS_EVENT_ALLOC, 0x1000, 90);           /* 5: lives on */
  (void)made_event(&m, VS_EVENT_FREE_COMPLETED, 0x2000, 80);  /* 6 */
  (void)made_free(&m, 0x3000, 10);                            /* 7 8: older than the trace */
  (void)made_event(&m, VS_EVENT_FREE_REQUESTED, 0x4000, 512); /* 9: older, and still pending at the end */
  made_trace(&m, 0);
  (void)made_segment(&m, 0, 0x1000, 512, "small");
  (void)made_block(&m, 512, 90, VS_BLOCK_ALLOCATED);
  (void)made_segment(&m, 0, 0x4000, 1024, "small");
  (void)made_block(&m, 512, 512, VS_BLOCK_PENDING);
  (void)made_block(&m, 512, 33, VS_BLOCK_ALLOCATED); /* never mentioned */

  vs_lifetimes lifetimes = build(&m);
  assert_int_equal(lifetimes.rows.count, 6);
  assert_int_equal(lifetimes.mentioned, 5);
  assert_int_equal(lifetimes.older, 3);
  expect_row(&lifetimes, 0, 0x1000, 70, 0, 2, 3, VS_NO_ROW);
  expect_row(&lifetimes, 1, 0x2000, 80, 1, 4, 6, VS_NO_ROW);
  expect_row(&lifetimes, 2, 0x1000, 90, 5, NO, NO, 0);
  expect_row(&lifetimes, 3, 0x3000, 10, NO, 7, 8, VS_NO_ROW);
  expect_row(&lifetimes, 4, 0x4000, 512, NO, 9, NO, 1);
  expect_row(&lifetimes, 5, 0x4200, 33, NO, NO, NO, 2);
  expect_tally(lifetimes.doubts.free_without_alloc, 2, 7);
  expect_tally(lifetimes.doubts.live_without_alloc, 2, -1);
  expect_tally(lifetimes.doubts.alloc_not_at_end, 0, -1);
  expect_tally(lifetimes.doubts.double_free, 0, -1);
  expect_tally(lifetimes.doubts.double_alloc, 0, -1);
  expect_tally(lifetimes.doubts.size_mismatch, 0, -1);
  vs_lifetimes_deinit(m.host, &lifetimes);
  made_end(&m);
}

static void test_doubts(void **state) {
  (void)state;
  made m = made_begin();
  (void)made_event(&m, VS_EVENT_ALLOC, 0x1000, 70);          /* 0: replaced at 1 */
  (void)made_event(&m, VS_EVENT_ALLOC, 0x1000, 71);          /* 1 */
  (void)made_event(&m, VS_EVENT_FREE_REQUESTED, 0x1000, 72); /* 2: another size */
  (void)made_event(&m, VS_EVENT_FREE_REQUESTED, 0x1000, 71); /* 3: a second time */
  (void)made_event(&m, VS_EVENT_FREE_COMPLETED, 0x1000, 72); /* 4: that mismatch is counted already */
  (void)made_event(&m, VS_EVENT_FREE_COMPLETED, 0x1000, 71); /* 5: nothing is there */
  (void)made_event(&m, VS_EVENT_ALLOC, 0x2000, 60);          /* 6: never freed, not at the end */
  (void)made_event(&m, VS_EVENT_ALLOC, 0x3000, 60);          /* 7: freed, but never completed */
  (void)made_event(&m, VS_EVENT_FREE_REQUESTED, 0x3000, 60); /* 8 */
  (void)made_event(&m, VS_EVENT_ALLOC, 0x4000, 60);          /* 9 */
  (void)made_event(&m, VS_EVENT_FREE_REQUESTED, 0x4000, 60); /* 10 */
  (void)made_event(&m, VS_EVENT_FREE_COMPLETED, 0x4000, 61); /* 11: mismatch only here */
  made_trace(&m, 0);
  vs_lifetimes lifetimes = build(&m);
  expect_row(&lifetimes, 0, 0x1000, 70, 0, NO, 1, VS_NO_ROW);
  expect_row(&lifetimes, 1, 0x1000, 71, 1, 2, 4, VS_NO_ROW);
  expect_row(&lifetimes, 2, 0x1000, 71, NO, NO, 5, VS_NO_ROW);
  expect_row(&lifetimes, 3, 0x2000, 60, 6, NO, NO, VS_NO_ROW);
  expect_row(&lifetimes, 4, 0x3000, 60, 7, 8, NO, VS_NO_ROW);
  expect_row(&lifetimes, 5, 0x4000, 60, 9, 10, 11, VS_NO_ROW);
  expect_tally(lifetimes.doubts.double_alloc, 1, 1);
  expect_tally(lifetimes.doubts.double_free, 1, 3);
  expect_tally(lifetimes.doubts.size_mismatch, 2, 2);
  expect_tally(lifetimes.doubts.free_without_alloc, 1, 5);
  expect_tally(lifetimes.doubts.alloc_not_at_end, 1, 6);
  expect_tally(lifetimes.doubts.live_without_alloc, 0, -1);
  vs_lifetimes_deinit(m.host, &lifetimes);
  made_end(&m);
}

static void test_frees_at_request(void **state) {
  (void)state;
  made m = made_begin();
  (void)made_event(&m, VS_EVENT_ALLOC, 0x1000, 70);          /* 0 */
  (void)made_event(&m, VS_EVENT_FREE_REQUESTED, 0x1000, 70); /* 1: pending at the end */
  (void)made_event(&m, VS_EVENT_FREE_REQUESTED, 0x1000, 70); /* 2: a second time */
  (void)made_event(&m, VS_EVENT_ALLOC, 0x2000, 70);          /* 3 */
  (void)made_event(&m, VS_EVENT_FREE_REQUESTED, 0x2000, 70); /* 4 */
  (void)made_event(&m, VS_EVENT_ALLOC, 0x2000, 71);          /* 5: lives */
  (void)made_event(&m, VS_EVENT_FREE_REQUESTED, 0x3000, 9);  /* 6: older */
  made_trace(&m, 0);
  (void)made_segment(&m, 0, 0x1000, 512, "small");
  (void)made_block(&m, 512, 70, VS_BLOCK_PENDING);
  (void)made_segment(&m, 0, 0x2000, 1024, "small");
  (void)made_block(&m, 512, 71, VS_BLOCK_ALLOCATED);
  (void)made_block(&m, 512, 99, VS_BLOCK_PENDING); /* freed before the trace: no row */
  vs_lifetimes lifetimes = build(&m);
  assert_int_equal(lifetimes.rows.count, 4);
  expect_row(&lifetimes, 0, 0x1000, 70, 0, 1, 1, 0);
  expect_row(&lifetimes, 1, 0x2000, 70, 3, 4, 4, VS_NO_ROW);
  expect_row(&lifetimes, 2, 0x2000, 71, 5, NO, NO, 1);
  expect_row(&lifetimes, 3, 0x3000, 9, NO, 6, 6, VS_NO_ROW);
  assert_int_equal(lifetimes.older, 2);
  expect_tally(lifetimes.doubts.double_free, 1, 2);
  expect_tally(lifetimes.doubts.live_without_alloc, 1, -1);
  expect_tally(lifetimes.doubts.free_without_alloc, 1, 6);

  vs_liveset live;
  expect_ok(vs_liveset_build(m.host, &lifetimes, vs_slice_end(lifetimes.slice), &live));
  assert_int_equal(live.rows.count, 1);
  assert_int_equal(live.bytes, 71); /* as the requested curve ends */
  vs_liveset_deinit(m.host, &live);
  vs_lifetimes_deinit(m.host, &lifetimes);
  made_end(&m);
}

static void test_live_sets(void **state) {
  (void)state;
  made m = made_begin();
  (void)made_event(&m, VS_EVENT_ALLOC, 0x1000, 70);           /* 0 */
  (void)made_event(&m, VS_EVENT_FREE_REQUESTED, 0x1000, 70);  /* 1 */
  (void)made_event(&m, VS_EVENT_ALLOC, 0x2000, 80);           /* 2 */
  (void)made_event(&m, VS_EVENT_FREE_COMPLETED, 0x1000, 70);  /* 3 */
  (void)made_event(&m, VS_EVENT_FREE_COMPLETED, 0x9000, 500); /* 4: freed before the trace */
  made_trace(&m, 0);
  (void)made_segment(&m, 0, 0x2000, 512, "small");
  (void)made_block(&m, 512, 80, VS_BLOCK_ALLOCATED);
  vs_lifetimes lifetimes = build(&m);
  static const uint64_t bytes[] = {500, 570, 570, 650, 580, 80}, pending[] = {500, 500, 570, 570, 500, 0};
  for (vs_moment moment = -1; moment < 5; moment++) {
    vs_liveset live;
    expect_ok(vs_liveset_build(m.host, &lifetimes, moment, &live));
    assert_int_equal(live.bytes, bytes[moment + 1]);
    assert_int_equal(live.pending_bytes, pending[moment + 1]);
    vs_liveset_deinit(m.host, &live);
  }
  vs_liveset live;
  expect_ok(vs_liveset_build(m.host, &lifetimes, 1000, &live)); /* behind the end */
  assert_int_equal(live.moment, 4);
  assert_int_equal(live.rows.count, 1);
  vs_liveset_deinit(m.host, &live);
  expect_ok(vs_liveset_difference(m.host, &lifetimes, 0, 2, &live)); /* appeared from 0 to 2 */
  assert_int_equal(live.rows.count, 1);
  assert_int_equal(live.bytes, 80);
  vs_liveset_deinit(m.host, &live);
  expect_ok(vs_liveset_difference(m.host, &lifetimes, 4, VS_AT_START, &live)); /* went since the start */
  assert_int_equal(live.bytes, 500);
  vs_liveset_deinit(m.host, &live);
  vs_lifetimes_deinit(m.host, &lifetimes);
  made_end(&m);
}

/* Stack, stream and pool from the best source there is. */
static void test_what_a_row_knows(void **state) {
  (void)state;
  made m = made_begin();
  const uint32_t pool = made_pool(&m, 0, 3), other = made_pool(&m, 1, 0), stream = made_stream(&m, 5);
  const uint32_t a = made_stack(&m, "a", 1), b = made_stack(&m, "b", 2), c = made_stack(&m, "c", 3);
  (void)made_alloc(&m, 0x1000, 70, a); /* 0: the alloc knows all */
  expect_ok(vs_events_set_pool(m.host, &m.snapshot->events, 0, other));
  expect_ok(vs_events_set_stream(m.host, &m.snapshot->events, 0, stream));
  (void)made_free(&m, 0x2000, 70); /* 1 2: only a free */
  expect_ok(vs_events_set_stack(m.host, &m.snapshot->events, 2, b));
  expect_ok(vs_events_set_stream(m.host, &m.snapshot->events, 1, stream));
  (void)made_alloc(&m, 0x1400, 70, c); /* 3: pool not recorded */
  made_trace(&m, 0);
  vs_segment *segment = made_segment(&m, 0, 0x1000, 2048, "small");
  segment->pool = pool;
  segment->stream = stream;
  (void)made_block(&m, 1024, 70, VS_BLOCK_ALLOCATED);
  made_block(&m, 512, 70, VS_BLOCK_ALLOCATED)->stack = c;
  made_block(&m, 512, 70, VS_BLOCK_ALLOCATED)->stack = b; /* only the end state */
  vs_lifetimes lifetimes = build(&m);
  vs_segment_index index;
  expect_ok(vs_segment_index_build(m.host, lifetimes.slice, &index));
  const vs_lifetime *rows = lifetimes.rows.data;
  const uint32_t stacks[] = {a, b, c, b}, pools[] = {other, 0, pool, pool},
                 streams[] = {stream, stream, 0, stream};
  const bool knows[] = {true, false, true, true};
  for (size_t i = 0; i < 4; i++) {
    assert_int_equal(vs_lifetime_stack(&lifetimes, &rows[i]), stacks[i]);
    assert_int_equal(vs_lifetime_pool(&lifetimes, &index, &rows[i]), pools[i]);
    assert_int_equal(vs_lifetime_stream(&lifetimes, &rows[i]), streams[i]);
    assert_int_equal(vs_lifetime_knows_alloc(&rows[i]), knows[i]);
  }
  vs_segment_index_deinit(m.host, &index);
  vs_lifetimes_deinit(m.host, &lifetimes);
  made_end(&m);
}

/* With context="all" a free's stack is where it was freed: of what began before the trace nothing is known then. */
static void test_stacks_of_frees(void **state) {
  (void)state;
  for (int own = 0; own < 2; own++) {
    made m = made_begin();
    const uint32_t load = made_stack(&m, "load", 1), release = made_stack(&m, "release", 2);
    (void)made_alloc(&m, 0x1000, 70, load);
    const uint32_t first = made_free(&m, 0x1000, 70), second = made_free(&m, 0x2000, 70);
    expect_ok(vs_events_set_stack(m.host, &m.snapshot->events, first, own ? release : load));
    expect_ok(vs_events_set_stack(m.host, &m.snapshot->events, second, release));
    made_trace(&m, 0);
    (void)made_segment(&m, 0, 0x1000, 512, "small");
    (void)made_block(&m, 512, 0, VS_BLOCK_INACTIVE);
    vs_lifetimes lifetimes = build(&m);
    assert_int_equal(lifetimes.frees_tell_alloc, !own);
    assert_int_equal(vs_lifetime_stack(&lifetimes, &lifetimes.rows.data[0]), load);
    assert_int_equal(vs_lifetime_stack(&lifetimes, &lifetimes.rows.data[1]), own ? VS_LIST_NONE : release);
    vs_lifetimes_deinit(m.host, &lifetimes);
    made_end(&m);
  }
}

/* A block that was given back before the trace began waits all the time. */
static void test_pending_since_before(void **state) {
  (void)state;
  made m = made_begin();
  (void)made_event(&m, VS_EVENT_ALLOC, 0x1000, 1);
  (void)made_free(&m, 0x1000, 1);
  made_trace(&m, 0);
  (void)made_segment(&m, 0, 0x2000, 512, "small");
  (void)made_block(&m, 512, 44, VS_BLOCK_PENDING);
  vs_lifetimes lifetimes = build(&m);
  vs_liveset live;
  expect_ok(vs_liveset_build(m.host, &lifetimes, VS_AT_START, &live));
  assert_int_equal(live.bytes, 44);
  assert_int_equal(live.pending_bytes, 44);
  vs_liveset_deinit(m.host, &live);
  vs_lifetimes_deinit(m.host, &lifetimes);
  made_end(&m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_matching),         cmocka_unit_test(test_doubts),
      cmocka_unit_test(test_frees_at_request), cmocka_unit_test(test_live_sets),
      cmocka_unit_test(test_what_a_row_knows), cmocka_unit_test(test_pending_since_before),
      cmocka_unit_test(test_stacks_of_frees),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
