/* The address space, replayed backwards. */
#include "analyze/state.h"
#include "support/random.h"
#include "unit/analyze/made.h"

#define MiB UINT64_C(0x100000)

typedef struct looked {
  vs_lifetimes lifetimes;
  vs_state state;
} looked;

static looked look(made *m, vs_moment moment) {
  looked l;
  expect_ok(vs_lifetimes_build(m->host, made_slice(m, 0), &l.lifetimes));
  expect_ok(vs_state_build(m->host, &l.lifetimes, moment, &l.state));
  const char *broken = vs_state_check(&l.state);
  if (broken != NULL) fail_msg("%s", broken);
  return l;
}

static void look_away(made *m, looked *l) {
  vs_state_deinit(m->host, &l->state);
  vs_lifetimes_deinit(m->host, &l->lifetimes);
}

static void expect_segment(const vs_state *state, size_t at, uint64_t address, uint64_t size,
                           uint32_t blocks) {
  assert_true(at < state->segments.count);
  assert_int_equal(state->segments.data[at].address, address);
  assert_int_equal(state->segments.data[at].size, size);
  assert_int_equal(state->segments.data[at].block_count, blocks);
}

static void expect_block(const vs_state *state, size_t at, uint64_t address, uint64_t size,
                         uint64_t requested, bool is_pending) {
  assert_true(at < state->blocks.count);
  assert_int_equal(state->blocks.data[at].address, address);
  assert_int_equal(state->blocks.data[at].size, size);
  assert_int_equal(state->blocks.data[at].requested, requested);
  assert_int_equal(state->blocks.data[at].is_pending, is_pending);
}

/* A small random trace: at every moment an index without spans answers as one with them. */
static void test_without_spans(void **state) {
  (void)state;
  test_random random = {7};
  made m = made_begin();
  bool live[16] = {false};
  for (int i = 0; i < 300; i++) {
    const size_t at = (size_t)random_below(&random, 16);
    (void)made_event(&m, live[at] ? VS_EVENT_FREE_COMPLETED : VS_EVENT_ALLOC, 4096 * (1 + at),
                     512 * (1 + at % 8));
    live[at] = !live[at];
  }
  made_trace(&m, 0);
  vs_lifetimes lifetimes;
  vs_moment_index with, without;
  expect_ok(vs_lifetimes_build(m.host, made_slice(&m, 0), &lifetimes));
  expect_ok(vs_moment_index_build(m.host, &lifetimes, &with));
  expect_ok(vs_moment_index_begin(m.host, &lifetimes, &without));
  assert_non_null(vs_moment_index_spans(&with));
  assert_null(vs_moment_index_spans(&without));
  for (vs_moment moment = VS_AT_START; moment <= vs_slice_end(lifetimes.slice); moment++) {
    vs_state a, b;
    expect_ok(vs_state_at(m.host, &with, moment, &a));
    expect_ok(vs_state_at(m.host, &without, moment, &b));
    assert_int_equal(a.blocks.count, b.blocks.count);
    for (size_t i = 0; i < a.blocks.count; i++)
      assert_int_equal(a.blocks.data[i].lifetime, b.blocks.data[i].lifetime);
    vs_state_deinit(m.host, &a);
    vs_state_deinit(m.host, &b);
  }
  expect_ok(vs_moment_index_add_spans(m.host, &without));
  assert_int_equal(without.spans.count, with.spans.count);
  vs_moment_index_deinit(m.host, &with);
  vs_moment_index_deinit(m.host, &without);
  vs_lifetimes_deinit(m.host, &lifetimes);
  made_end(&m);
}

static void test_the_end_is_exact(void **state) {
  (void)state;
  made m = made_begin();
  (void)made_event(&m, VS_EVENT_ALLOC, 2 * MiB, 1000);
  made_trace(&m, 0);
  (void)made_segment(&m, 0, 8 * MiB, 2048, "small"); /* segments out of order */
  (void)made_block(&m, 1024, 9, VS_BLOCK_PENDING);
  (void)made_block(&m, 1024, 9, VS_BLOCK_INACTIVE);
  (void)made_segment(&m, 0, 2 * MiB, 2048, "small");
  (void)made_block(&m, 1536, 1000, VS_BLOCK_ALLOCATED);
  (void)made_block(&m, 512, 9, VS_BLOCK_UNKNOWN);
  looked l = look(&m, 0);
  assert_true(l.state.is_exact);
  assert_int_equal(l.state.segments.count, 2);
  expect_segment(&l.state, 0, 2 * MiB, 2048, 1);
  expect_segment(&l.state, 1, 8 * MiB, 2048, 1);
  assert_int_equal(l.state.segments.data[0].row, 1);
  expect_block(&l.state, 0, 2 * MiB, 1536, 1000, false);
  expect_block(&l.state, 1, 8 * MiB, 1024, 9, true);
  assert_int_equal(l.state.blocks.data[0].lifetime, 0);
  assert_int_equal(l.state.blocks.data[0].row, 2);
  assert_int_equal(l.state.outside, 2);
  assert_int_equal(l.state.reserved, 4096);
  assert_int_equal(l.state.requested, 1009);
  look_away(&m, &l);
  made_end(&m);
}

static void test_segments_come_and_go(void **state) {
  (void)state;
  made m = made_begin();
  const uint32_t stream = made_stream(&m, 4), pool = made_pool(&m, 0, 1);
  (void)made_event(&m, VS_EVENT_SEGMENT_ALLOC, 20 * MiB, 20 * MiB); /* 0 */
  (void)made_event(&m, VS_EVENT_ALLOC, 20 * MiB, 1000);             /* 1 */
  (void)made_event(&m, VS_EVENT_ALLOC, 21 * MiB, 2 * MiB);          /* 2: lives until the end */
  (void)made_event(&m, VS_EVENT_FREE_REQUESTED, 20 * MiB, 1000);    /* 3 */
  (void)made_event(&m, VS_EVENT_FREE_COMPLETED, 20 * MiB, 1000);    /* 4 */
  (void)made_event(&m, VS_EVENT_SEGMENT_FREE, 60 * MiB, 2 * MiB);   /* 5: older than the trace */
  expect_ok(vs_events_set_stream(m.host, &m.snapshot->events, 5, stream));
  expect_ok(vs_events_set_pool(m.host, &m.snapshot->events, 5, pool));
  made_trace(&m, 0);
  (void)made_segment(&m, 0, 20 * MiB, 20 * MiB, "large");
  (void)made_block(&m, MiB, 1000, VS_BLOCK_INACTIVE);
  (void)made_block(&m, 3 * MiB, 2 * MiB, VS_BLOCK_ALLOCATED);
  (void)made_block(&m, 16 * MiB, 0, VS_BLOCK_INACTIVE);

  looked l = look(&m, VS_AT_START);
  assert_false(l.state.is_exact);
  assert_int_equal(l.state.segments.count, 1);
  expect_segment(&l.state, 0, 60 * MiB, 2 * MiB, 0);
  assert_int_equal(l.state.segments.data[0].stream, stream);
  assert_int_equal(l.state.segments.data[0].pool, pool);
  assert_int_equal(l.state.segments.data[0].row, VS_NO_ROW);
  assert_int_equal(l.state.segments.data[0].kind, VS_SEGMENT_SMALL);
  look_away(&m, &l);

  l = look(&m, 3);
  assert_int_equal(l.state.segments.count, 2);
  expect_segment(&l.state, 0, 20 * MiB, 20 * MiB, 2);
  assert_int_equal(l.state.segments.data[0].row, 0);
  expect_block(&l.state, 0, 20 * MiB, 1024, 1000, true);        /* rounded: estimated */
  expect_block(&l.state, 1, 21 * MiB, 3 * MiB, 2 * MiB, false); /* it is there at the end: known */
  assert_int_equal(l.state.reserved, 22 * MiB);
  look_away(&m, &l);

  l = look(&m, 4);
  expect_segment(&l.state, 0, 20 * MiB, 20 * MiB, 1);
  look_away(&m, &l);
  made_end(&m);
}

/* Pages of an expandable segment: mapped in pieces, with an unmapped gap in the middle. */
static void test_expandable(void **state) {
  (void)state;
  made m = made_begin();
  const uint32_t other = made_stream(&m, 4);
  (void)made_event(&m, VS_EVENT_SEGMENT_MAP, 100 * MiB, 20 * MiB); /* 0 */
  (void)made_event(&m, VS_EVENT_SEGMENT_MAP, 120 * MiB, 40 * MiB); /* 1: becomes one with it */
  (void)made_event(&m, VS_EVENT_SEGMENT_MAP, 160 * MiB, 20 * MiB); /* 2: another stream's, stays apart */
  expect_ok(vs_events_set_stream(m.host, &m.snapshot->events, 2, other));
  (void)made_event(&m, VS_EVENT_SEGMENT_UNMAP, 120 * MiB, 20 * MiB); /* 3: splits it */
  (void)made_event(&m, VS_EVENT_SNAPSHOT, 0, 0);                     /* 4 */
  made_trace(&m, 0);
  vs_segment *segment = made_segment(&m, 0, 100 * MiB, 20 * MiB, "large");
  segment->is_expandable = true;
  segment->has = VS_SEGMENT_HAS_EXPANDABLE;
  (void)made_block(&m, 20 * MiB, 0, VS_BLOCK_INACTIVE);
  segment = made_segment(&m, 0, 140 * MiB, 20 * MiB, "large");
  segment->is_expandable = true;
  segment->has = VS_SEGMENT_HAS_EXPANDABLE;
  (void)made_block(&m, 20 * MiB, 0, VS_BLOCK_INACTIVE);
  segment = made_segment(&m, 0, 160 * MiB, 20 * MiB, "large");
  segment->is_expandable = true;
  segment->has = VS_SEGMENT_HAS_EXPANDABLE;
  segment->stream = other;
  (void)made_block(&m, 20 * MiB, 0, VS_BLOCK_INACTIVE);

  looked l = look(&m, 3);
  assert_int_equal(l.state.segments.count, 3);
  look_away(&m, &l);
  l = look(&m, 2);
  assert_int_equal(l.state.segments.count, 2);
  expect_segment(&l.state, 0, 100 * MiB, 60 * MiB, 0);
  assert_true(l.state.segments.data[0].is_expandable);
  assert_int_equal(l.state.segments.data[0].row, 0);
  expect_segment(&l.state, 1, 160 * MiB, 20 * MiB, 0);
  look_away(&m, &l);
  l = look(&m, 1);
  assert_int_equal(l.state.segments.count, 1);
  look_away(&m, &l);
  l = look(&m, 0);
  expect_segment(&l.state, 0, 100 * MiB, 20 * MiB, 0);
  look_away(&m, &l);
  l = look(&m, VS_AT_START);
  assert_int_equal(l.state.segments.count, 0);
  look_away(&m, &l);
  made_end(&m);
}

/* Blocks that overlap, reach over the end, or lie nowhere; segments that overlap. */
static void test_damaged(void **state) {
  (void)state;
  made m = made_begin();
  (void)made_event(&m, VS_EVENT_ALLOC, 4096, 3000);  /* the next one begins inside */
  (void)made_event(&m, VS_EVENT_ALLOC, 4608, 10000); /* reaches over the segment's end */
  (void)made_event(&m, VS_EVENT_ALLOC, 64, 10);      /* before it */
  (void)made_event(&m, VS_EVENT_ALLOC, 16384, 10);   /* behind it */
  (void)made_event(&m, VS_EVENT_SNAPSHOT, 0, 0);
  made_trace(&m, 0);
  (void)made_segment(&m, 0, 4096, 4096, "small");
  (void)made_block(&m, 4096, 0, VS_BLOCK_INACTIVE);
  (void)made_segment(&m, 0, 6144, 4096, "small");
  (void)made_block(&m, 4096, 0, VS_BLOCK_INACTIVE);
  looked l = look(&m, 3);
  assert_int_equal(l.state.segments.count, 2);
  expect_segment(&l.state, 0, 4096, 2048, 2); /* cut where the other begins */
  expect_segment(&l.state, 1, 6144, 4096, 0);
  expect_block(&l.state, 0, 4096, 512, 3000, false);
  expect_block(&l.state, 1, 4608, 1536, 10000, false);
  assert_int_equal(l.state.outside, 2);
  assert_int_equal(l.state.blocks.count, 4);
  assert_int_equal(l.state.blocks.data[2].address, 64);
  assert_int_equal(l.state.blocks.data[3].address, 16384);
  look_away(&m, &l);
  l = look(&m, INT64_MAX); /* the file's own, overlapping segments */
  assert_int_equal(l.state.moment, 4);
  assert_int_equal(l.state.segments.count, 2);
  assert_int_equal(l.state.reserved, 8192);
  look_away(&m, &l);
  made_end(&m);
}

static void test_rounding(void **state) {
  (void)state;
  assert_int_equal(vs_round_request(0), 512);
  assert_int_equal(vs_round_request(1), 512);
  assert_int_equal(vs_round_request(512), 512);
  assert_int_equal(vs_round_request(513), 1024);
  assert_true(vs_round_request(UINT64_MAX) == UINT64_MAX - 511);
}

/* Pages that touch are one segment where stream and pool allow it; what stands at the end says what it is. A segment that
 * was given back as one is one, also where the trace says that a part of it came later. */
static void test_what_is_one_segment(void **state) {
  (void)state;
  made m = made_begin();
  const uint32_t stream = made_stream(&m, 7), pool = made_pool(&m, 0, 1);
  (void)made_event(&m, VS_EVENT_SEGMENT_UNMAP, 20 * MiB, 20 * MiB);
  expect_ok(vs_events_set_stream(m.host, &m.snapshot->events, 0, stream));
  (void)made_event(&m, VS_EVENT_SEGMENT_UNMAP, 60 * MiB, 20 * MiB);
  (void)made_event(&m, VS_EVENT_SEGMENT_MAP, 105 * MiB, 5 * MiB);
  (void)made_event(&m, VS_EVENT_SEGMENT_FREE, 100 * MiB, 20 * MiB);
  made_trace(&m, 0);
  vs_segment *segment = made_segment(&m, 0, 40 * MiB, 20 * MiB, "small");
  segment->stream = stream;
  segment->pool = pool;
  segment->is_expandable = true;
  segment->has = VS_SEGMENT_HAS_EXPANDABLE;
  (void)made_block(&m, 20 * MiB, 0, VS_BLOCK_INACTIVE);

  looked l = look(&m, VS_AT_START);
  assert_int_equal(l.state.segments.count, 4);
  expect_segment(&l.state, 0, 20 * MiB, 40 * MiB, 0);
  assert_int_equal(l.state.segments.data[0].row, 0);
  assert_int_equal(l.state.segments.data[0].pool, pool);
  assert_int_equal(l.state.segments.data[0].kind, VS_SEGMENT_SMALL);
  expect_segment(&l.state, 1, 60 * MiB, 20 * MiB, 0);
  assert_int_equal(l.state.segments.data[1].kind, VS_SEGMENT_LARGE);
  expect_segment(&l.state, 2, 100 * MiB, 5 * MiB, 0);
  expect_segment(&l.state, 3, 110 * MiB, 10 * MiB, 0);
  look_away(&m, &l);
  l = look(&m, 2);
  assert_int_equal(l.state.segments.count, 2);
  expect_segment(&l.state, 1, 100 * MiB, 20 * MiB, 0);
  look_away(&m, &l);
  made_end(&m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_what_is_one_segment),
      cmocka_unit_test(test_without_spans),
      cmocka_unit_test(test_the_end_is_exact),
      cmocka_unit_test(test_segments_come_and_go),
      cmocka_unit_test(test_expandable),
      cmocka_unit_test(test_damaged),
      cmocka_unit_test(test_rounding),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
