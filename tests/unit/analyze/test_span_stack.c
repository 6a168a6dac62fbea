/* The pile of spans alive, moved on in small and in large steps. */
#include "analyze/span_stack.h"
#include "support/random.h"
#include "unit/analyze/made.h"

enum { SLOTS = 300, EVENTS = 6000 };

/* Blocks that come and go in any order, most of them soon. */
static made busy_trace(void) {
  made m = made_begin();
  test_random random = {4};
  bool is_used[SLOTS] = {false};
  while (m.snapshot->events.count < EVENTS) {
    const uint64_t dice = random_below(&random, SLOTS),
                   slot = random_below(&random, 3) == 0 ? dice : dice / 8;
    (void)made_event(&m, is_used[slot] ? VS_EVENT_FREE_COMPLETED : VS_EVENT_ALLOC, slot, slot);
    is_used[slot] = !is_used[slot];
  }
  made_trace(&m, 0);
  return m;
}

static void expect_whole(const vs_span_stack *span_stack) {
  const char *broken = vs_span_stack_check(span_stack);
  if (broken != NULL) fail_msg("at %u: %s", span_stack->done, broken);
}

/* Below `steady` the pile is what it was. */
static void expect_steady(const vs_spans *spans, uint32_t before, uint32_t now, uint64_t steady) {
  uint32_t a = vs_spans_next(spans, before, 0), b = vs_spans_next(spans, now, 0);
  for (uint64_t height = 0; height < steady;) {
    assert_int_equal(a, b);
    height += spans->size.data[a];
    a = vs_spans_next(spans, before, a + 1);
    b = vs_spans_next(spans, now, b + 1);
  }
}

static void test_moves(void **state) {
  (void)state;
  made m = busy_trace();
  vs_lifetimes lifetimes;
  vs_spans spans;
  expect_ok(vs_lifetimes_build(m.host, made_slice(&m, 0), &lifetimes));
  expect_ok(vs_spans_of_lifetimes(m.host, &lifetimes, NULL, &spans));
  for (uint32_t step = 1; step < EVENTS; step *= 3) {
    vs_span_stack span_stack = vs_span_stack_of(&spans);
    size_t groups = 0;
    bool was_steady = false;
    for (uint32_t done = 0, before = 0; done <= EVENTS; before = done, done += step) {
      expect_ok(vs_span_stack_move(m.host, &span_stack, done));
      expect_whole(&span_stack);
      expect_steady(&spans, before, done, span_stack.steady);
      was_steady |= span_stack.steady > 0;
      if (span_stack.groups.count > groups) groups = span_stack.groups.count;
    }
    assert_true(groups > 1 && (was_steady || step > 1));
    assert_true(span_stack.chunks.count == groups);
    vs_span_stack_deinit(m.host, &span_stack);
  }
  vs_spans_deinit(m.host, &spans);
  vs_lifetimes_deinit(m.host, &lifetimes);
  made_end(&m);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_moves)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
