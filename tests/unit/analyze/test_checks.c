/* The executable checks: each accepts what the analysis builds, and finds a structure that was changed by hand. */
#include "analyze/curve_index.h"
#include "analyze/span_stack.h"
#include "analyze/state.h"
#include "unit/analyze/made.h"

typedef struct built {
  made m;
  vs_lifetimes lifetimes;
  vs_moment_index moments;
  vs_curve_index curves[VS_CURVE_KINDS], of_spans;
  vs_span_stack span_stack;
  vs_state state;
} built;

static const char *check_all(const built *b) {
  const char *broken = vs_lifetimes_check(&b->lifetimes);
  if (broken == NULL) broken = vs_mappings_check(&b->moments.mappings);
  if (broken == NULL) broken = vs_spans_check(&b->moments.spans);
  for (size_t i = 0; i < VS_CURVE_KINDS && broken == NULL; i++) broken = vs_curve_index_check(&b->curves[i]);
  if (broken == NULL) broken = vs_curve_index_check(&b->of_spans);
  if (broken == NULL) broken = vs_span_stack_check(&b->span_stack);
  return broken == NULL ? vs_state_check(&b->state) : broken;
}

/* 40 blocks of which every other one is freed, in a segment that the trace maps, beside one that it unmaps. */
static int setup(void **state) {
  static built b;
  vs_curves curves;
  b = (built){.m = made_begin()};
  made *m = &b.m;
  (void)made_event(m, VS_EVENT_SEGMENT_UNMAP, 0x800000, 0x200000);
  (void)made_event(m, VS_EVENT_SEGMENT_ALLOC, 0x200000, 0x200000);
  for (uint64_t i = 0; i < 40; i++) (void)made_event(m, VS_EVENT_ALLOC, 0x200000 + 1024 * i, 1000);
  for (uint64_t i = 0; i < 40; i += 2)
    (void)made_event(m, VS_EVENT_FREE_COMPLETED, 0x200000 + 1024 * i, 1000);
  made_trace(m, 0);
  (void)made_segment(m, 0, 0x200000, 0x200000, "small");
  for (uint64_t i = 0; i < 40; i++)
    (void)made_block(m, 1024, 1000, i % 2 == 0 ? VS_BLOCK_INACTIVE : VS_BLOCK_ALLOCATED);
  (void)made_block(m, 0x200000 - 40 * 1024, 0, VS_BLOCK_INACTIVE);
  const vs_slice *slice = made_slice(m, 0);
  expect_ok(vs_lifetimes_build(m->host, slice, &b.lifetimes));
  expect_ok(vs_moment_index_build(m->host, &b.lifetimes, &b.moments));
  vs_curves_measure(slice, &curves);
  expect_ok(vs_curve_index_of_curves(m->host, slice, &curves, b.curves));
  expect_ok(vs_curve_index_of_spans(m->host, &b.moments.spans, &b.of_spans));
  b.span_stack = vs_span_stack_of(&b.moments.spans);
  expect_ok(vs_span_stack_move(m->host, &b.span_stack, 30));
  expect_ok(vs_state_at(m->host, &b.moments, 30, &b.state));
  assert_null(check_all(&b));
  *state = &b;
  return 0;
}

static int teardown(void **state) {
  built *b = *state;
  assert_null(check_all(b)); /* every change was undone */
  vs_state_deinit(b->m.host, &b->state);
  vs_span_stack_deinit(b->m.host, &b->span_stack);
  vs_curve_index_deinit(b->m.host, &b->of_spans);
  for (size_t i = 0; i < VS_CURVE_KINDS; i++) vs_curve_index_deinit(b->m.host, &b->curves[i]);
  vs_moment_index_deinit(b->m.host, &b->moments);
  vs_lifetimes_deinit(b->m.host, &b->lifetimes);
  made_end(&b->m);
  return 0;
}

/* Changes a place, expects that `check` says so, and puts the old value back. */
#define EXPECT_FOUND(check, place, value) \
  do {                                    \
    const __typeof__(place) was = place;  \
    place = value;                        \
    const char *const broken = check;     \
    place = was;                          \
    assert_non_null(broken);              \
  } while (0)

static void test_lifetimes(void **state) {
  vs_lifetimes *lifetimes = &((built *)*state)->lifetimes;
  vs_lifetime *row = &lifetimes->rows.data[4];
  EXPECT_FOUND(vs_lifetimes_check(lifetimes), row->address, row->address + 1);
  EXPECT_FOUND(vs_lifetimes_check(lifetimes), row->start, row[1].start);
  EXPECT_FOUND(vs_lifetimes_check(lifetimes), row->end, row->start);
  EXPECT_FOUND(vs_lifetimes_check(lifetimes), row->block, 0);
  EXPECT_FOUND(vs_lifetimes_check(lifetimes), lifetimes->ranks.data[4], 5);
  EXPECT_FOUND(vs_lifetimes_check(lifetimes), lifetimes->addresses.data[1], 0);
}

static void test_mappings(void **state) {
  vs_mappings *mappings = &((built *)*state)->moments.mappings;
  assert_int_equal(mappings->rows.count, 2);
  vs_mapping *older = &mappings->rows.data[0], *mapped = &mappings->rows.data[1];
  EXPECT_FOUND(vs_mappings_check(mappings), older->start, 1);
  EXPECT_FOUND(vs_mappings_check(mappings), mapped->start, VS_NO_EVENT);
  EXPECT_FOUND(vs_mappings_check(mappings), mapped->segment, VS_NO_ROW);
  EXPECT_FOUND(vs_mappings_check(mappings), mapped->size, 0);
}

static void test_spans(void **state) {
  vs_spans *spans = &((built *)*state)->moments.spans;
  EXPECT_FOUND(vs_spans_check(spans), spans->from.data[7], spans->from.data[7] + 2);
  EXPECT_FOUND(vs_spans_check(spans), spans->until.data[6], spans->from.data[6]);
  EXPECT_FOUND(vs_spans_check(spans), spans->latest.data[0], 1);
  EXPECT_FOUND(vs_spans_check(spans), spans->size.data[0], UINT64_MAX);
  EXPECT_FOUND(vs_spans_check(spans), spans->first_from.data[0], 1);
  EXPECT_FOUND(vs_spans_check(spans), spans->first_until.count, spans->first_until.count - 1);
}

static void test_curve_index(void **state) {
  built *b = *state;
  vs_curve_index *curve = &b->curves[VS_CURVE_REQUESTED], *of_spans = &b->of_spans;
  EXPECT_FOUND(vs_curve_index_check(curve), curve->blocks.data[0].high, curve->blocks.data[0].high + 1);
  EXPECT_FOUND(vs_curve_index_check(curve), curve->blocks.data[0].high_at, VS_AT_START);
  EXPECT_FOUND(vs_curve_index_check(curve), curve->blocks.data[0].low, -1);
  EXPECT_FOUND(vs_curve_index_check(curve), curve->blocks.data[0].last, 7);
  EXPECT_FOUND(vs_curve_index_check(curve), curve->baseline, 1);
  EXPECT_FOUND(vs_curve_index_check(curve), curve->blocks.count, curve->blocks.count - 1);
  EXPECT_FOUND(vs_curve_index_check(curve), curve->event_count, curve->event_count - 1);
  EXPECT_FOUND(vs_curve_index_check(curve), curve->spans, &b->moments.spans);
  EXPECT_FOUND(vs_curve_index_check(of_spans), of_spans->spans, NULL);
  EXPECT_FOUND(vs_curve_index_check(of_spans), b->moments.spans.size.data[1], 999);
}

static void test_span_stack(void **state) {
  vs_span_stack *stack = &((built *)*state)->span_stack;
  EXPECT_FOUND(vs_span_stack_check(stack), stack->bytes, stack->bytes - 1);
  EXPECT_FOUND(vs_span_stack_check(stack), stack->done, stack->done + 1);
  EXPECT_FOUND(vs_span_stack_check(stack), stack->groups.data[0].count, stack->groups.data[0].count - 1);
  EXPECT_FOUND(vs_span_stack_check(stack), stack->groups.data[0].earliest, 1);
  EXPECT_FOUND(vs_span_stack_check(stack), stack->groups.count, stack->groups.count - 1);
  EXPECT_FOUND(vs_span_stack_check(stack), stack->chunks.data[stack->groups.data[0].chunk].top[0], 3);
}

static void test_state(void **state) {
  vs_state *at = &((built *)*state)->state;
  assert_true(at->segments.count == 1 && at->outside > 2);
  EXPECT_FOUND(vs_state_check(at), at->outside, at->outside - 1);
  EXPECT_FOUND(vs_state_check(at), at->segments.data[0].block_count, 1);
  EXPECT_FOUND(vs_state_check(at), at->blocks.data[1].address, at->blocks.data[0].address);
  EXPECT_FOUND(vs_state_check(at), at->blocks.data[0].size, at->segments.data[0].size + 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_lifetimes),   cmocka_unit_test(test_mappings),   cmocka_unit_test(test_spans),
      cmocka_unit_test(test_curve_index), cmocka_unit_test(test_span_stack), cmocka_unit_test(test_state),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
