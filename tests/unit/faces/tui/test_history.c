/* What a graph is told: spans of time, gaps, and what was before. */
#include "made.h"

#define SECOND UINT64_C(1000000)

static const char uuid[] = "GPU-00000000-1111-2222-3333-444444444444";

typedef struct fixture {
  vs_top_sample sample;
  vs_top_history history;
  uint64_t values[40];
} fixture;

static void begin(fixture *f) {
  memset(f, 0, sizeof *f);
  made_init(&f->sample);
  made_device(&f->sample, "NVIDIA H200", 1024, 0, 0);
}

static void end(fixture *f) {
  assert_null(vs_top_history_check(&f->history));
  vs_top_history_deinit(vs_host_default(), &f->history);
  vs_top_sample_deinit(vs_host_default(), &f->sample);
}

static void add(fixture *f, uint64_t at_us, uint64_t used) {
  f->sample.at_us = at_us;
  f->sample.devices.data[0].memory.used = made_known(used);
  vs_top_history_add(vs_host_default(), &f->history, &f->sample);
}

static void expect_values(fixture *f, uint64_t now, uint64_t span, uint64_t hold, size_t count,
                          const uint64_t *wanted) {
  vs_top_history_read(&f->history, uuid, now, span, hold, f->values, count);
  for (size_t i = 0; i < count; i++) assert_int_equal(f->values[i], wanted[i]);
}

static const uint64_t GAP = VS_TOP_GAP;

static void test_most_of_each_span(void **state) {
  (void)state;
  fixture f;
  begin(&f);
  for (uint64_t i = 0; i < 8; i++) add(&f, 100 * SECOND + i * SECOND / 2, i == 3 ? 90 : 10 + i);
  expect_values(&f, 103 * SECOND + 600000, SECOND, 0, 5, (uint64_t[]){GAP, 11, 90, 15, 17});
  expect_values(&f, 103 * SECOND + 600000, 2 * SECOND, 0, 3, (uint64_t[]){GAP, 90, 17});
  end(&f);
}

/* Spans begin at multiples of themselves: while time goes on within one, the picture stands. */
static void test_moves_as_a_whole(void **state) {
  (void)state;
  fixture f;
  begin(&f);
  for (uint64_t i = 0; i < 10; i++) add(&f, (100 + i) * SECOND + 70000, i);
  uint64_t before[10];
  vs_top_history_read(&f.history, uuid, 109 * SECOND + 100000, SECOND, 0, before, 10);
  expect_values(&f, 109 * SECOND + 999999, SECOND, 0, 10, before);
  vs_top_history_read(&f.history, uuid, 110 * SECOND, SECOND, 0, f.values, 10);
  for (size_t i = 0; i + 1 < 10; i++) assert_int_equal(f.values[i], before[i + 1]);
  end(&f);
}

/* A late answer is no gap, a silence is one; a longer interval of before is none, either. */
static void test_gaps(void **state) {
  (void)state;
  fixture f;
  begin(&f);
  add(&f, 100 * SECOND, 1);
  add(&f, 102 * SECOND, 2);
  add(&f, 112 * SECOND, 3);
  expect_values(&f, 113 * SECOND, SECOND, 0, 14,
                (uint64_t[]){1, 1, 2, 2, 2, 2, GAP, GAP, GAP, GAP, GAP, GAP, 3, 3});
  expect_values(&f, 113 * SECOND, SECOND, 7 * SECOND, 14,
                (uint64_t[]){1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3, 3});
  end(&f);
}

static void test_unknown_is_not_nothing(void **state) {
  (void)state;
  fixture f;
  begin(&f);
  add(&f, 100 * SECOND, 5);
  f.sample.at_us = 101 * SECOND;
  f.sample.devices.data[0].memory.used = made_unknown(VS_REASON_LOST);
  vs_top_history_add(vs_host_default(), &f.history, &f.sample);
  add(&f, 110 * SECOND, 0);
  expect_values(&f, 110 * SECOND, SECOND, 0, 3, (uint64_t[]){GAP, GAP, 0});
  vs_top_history_read(&f.history, "GPU-of-nobody", 110 * SECOND, SECOND, 0, f.values, 3);
  for (size_t i = 0; i < 3; i++) assert_int_equal(f.values[i], VS_TOP_GAP);
  end(&f);
}

/* A picture that stands still: what came later is not in it. */
static void test_stopped(void **state) {
  (void)state;
  fixture f;
  begin(&f);
  for (uint64_t i = 0; i < 10; i++) add(&f, (100 + i) * SECOND, i);
  expect_values(&f, 104 * SECOND, SECOND, 0, 3, (uint64_t[]){2, 3, 4});
  end(&f);
}

/* Hours later the oldest points are gone, and nothing else. */
static void test_ring(void **state) {
  (void)state;
  fixture f;
  begin(&f);
  const uint64_t count = VS_TOP_HISTORY + 1000;
  for (uint64_t i = 0; i < count; i++) add(&f, i * SECOND, i);
  assert_int_equal(f.history.tracks.count, 1);
  assert_int_equal(f.history.tracks.data[0].count, VS_TOP_HISTORY);
  expect_values(&f, (count - 1) * SECOND, SECOND, 0, 2, (uint64_t[]){count - 2, count - 1});
  expect_values(&f, 1001 * SECOND, SECOND, 0, 3, (uint64_t[]){GAP, 1000, 1001});
  expect_values(&f, SECOND / 2, SECOND, 0, 3, (uint64_t[]){GAP, GAP, GAP}); /* before time began */
  end(&f);
}

static void test_without_memory(void **state) {
  (void)state;
  fixture f;
  begin(&f);
  for (uint64_t n = 0; n < 3; n++) {
    fault_host fault;
    fault_host_init(&fault, n);
    vs_top_history history = {0};
    vs_top_history_add(&fault.host, &history, &f.sample);
    vs_top_history_deinit(&fault.host, &history);
    fault_host_expect_empty(&fault);
  }
  end(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_most_of_each_span),
      cmocka_unit_test(test_moves_as_a_whole),
      cmocka_unit_test(test_gaps),
      cmocka_unit_test(test_unknown_is_not_nothing),
      cmocka_unit_test(test_stopped),
      cmocka_unit_test(test_ring),
      cmocka_unit_test(test_without_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
