#include "codec/input.h"
#include "support/test.h"

/* Gives 0, 1, 2, ... 255, 0, ... in pieces of `piece` bytes, `total` in all; then fails, if it is to. */
typedef struct source {
  size_t piece, total, given;
  vs_status at_end;
} source;

static vs_status read_source(void *ctx, void *data, size_t capacity, size_t *count) {
  source *s = ctx;
  *count = s->total - s->given;
  if (*count == 0) return s->at_end;
  if (*count > s->piece) *count = s->piece;
  if (*count > capacity) *count = capacity;
  for (size_t i = 0; i < *count; i++) ((uint8_t *)data)[i] = (uint8_t)(s->given + i);
  s->given += *count;
  return VS_OK;
}

static void takes_any_pieces(void **state) {
  (void)state;
  for (size_t piece = 1; piece < 400; piece += 57) {
    fault_host fault;
    fault_host_init(&fault, FAULT_NEVER);
    source s = {.piece = piece, .total = 5000};
    vs_input input;
    expect_ok(vs_input_init(&input, &fault.host, (vs_reader){.ctx = &s, .read = read_source}));
    uint64_t expected = 0;
    for (size_t step = 1; expected + step <= 5000; step = step % 211 + 1) {
      expect_ok(vs_input_need(&input, step));
      assert_int_equal(vs_input_offset(&input), expected);
      for (size_t i = 0; i < step; i++) assert_int_equal(input.data[input.pos + i], (uint8_t)(expected + i));
      input.pos += step;
      expected += step;
      assert_true(input.pos <= input.end && input.end <= input.capacity);
    }
    expect_status(vs_input_need(&input, 5001), VS_TRUNCATED);
    assert_int_equal(vs_input_offset(&input), expected);
    vs_input_deinit(&input);
    fault_host_expect_empty(&fault);
  }
}

static void a_length_that_lies_costs_nothing(void **state) {
  (void)state;
  fault_host fault;
  fault_host_init(&fault, FAULT_NEVER);
  source s = {.piece = 100, .total = 300};
  vs_input input;
  expect_ok(vs_input_init(&input, &fault.host, (vs_reader){.ctx = &s, .read = read_source}));
  expect_status(vs_input_need(&input, SIZE_MAX), VS_TRUNCATED);
  assert_true(fault.peak_bytes <= 4 * VS_INPUT_WINDOW + 2048);
  vs_input_deinit(&input);
  fault_host_expect_empty(&fault);
}

static void failures_pass_through(void **state) {
  (void)state;
  source s = {.piece = 100, .total = 10, .at_end = VS_IO};
  vs_input input;
  expect_ok(vs_input_init(&input, vs_host_default(), (vs_reader){.ctx = &s, .read = read_source}));
  expect_status(vs_input_need(&input, 11), VS_IO);
  vs_input_deinit(&input);
}

typedef struct watcher {
  uint64_t seen, enough;
} watcher;

static bool watch(void *ctx, uint64_t bytes_read) {
  watcher *w = ctx;
  w->seen = bytes_read;
  return bytes_read < w->enough;
}

static void progress_can_cancel(void **state) {
  (void)state;
  source s = {.piece = 10, .total = 1000};
  watcher w = {.enough = 35};
  vs_input input;
  expect_ok(vs_input_init(&input, vs_host_default(), (vs_reader){.ctx = &s, .read = read_source}));
  input.progress = watch;
  input.progress_ctx = &w;
  expect_status(vs_input_need(&input, 100), VS_CANCELLED);
  assert_int_equal(w.seen, 40);
  vs_input_deinit(&input);
}

static void budget_grows_with_what_is_read(void **state) {
  (void)state;
  source s = {.piece = 10, .total = 40};
  vs_budget budget;
  vs_budget_init(&budget, vs_host_default(), VS_INPUT_WINDOW);
  vs_input input;
  expect_ok(vs_input_init(&input, &budget.host, (vs_reader){.ctx = &s, .read = read_source}));
  input.budget = &budget;
  input.budget_factor = 3;
  expect_ok(vs_input_need(&input, 25));
  assert_int_equal(budget.limit, VS_INPUT_WINDOW + 3 * 30);
  vs_input_deinit(&input);
  assert_int_equal(budget.used, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(takes_any_pieces),
      cmocka_unit_test(a_length_that_lies_costs_nothing),
      cmocka_unit_test(failures_pass_through),
      cmocka_unit_test(progress_can_cancel),
      cmocka_unit_test(budget_grows_with_what_is_read),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
