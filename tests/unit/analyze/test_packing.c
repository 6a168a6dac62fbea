/* Offline bounds: against a naive sweep and a naive search for overlaps, and cases whose answer is known. */
#include "analyze/packing.h"
#include "unit/analyze/made.h"

enum { MOST = 300 };

typedef struct packed {
  vs_buffer_life buffers[MOST];
  uint64_t offsets[MOST];
  vs_packing packing;
} packed;

static uint64_t naive_lower(const vs_buffer_life *buffers, size_t count, uint32_t moments) {
  uint64_t most = 0;
  for (uint32_t moment = 0; moment < moments; moment++) {
    uint64_t live = 0;
    for (size_t i = 0; i < count; i++)
      if (buffers[i].from <= moment && moment < buffers[i].to) live += buffers[i].size;
    most = live > most ? live : most;
  }
  return most;
}

static void expect_valid(const packed *p, size_t count) {
  uint64_t end = 0;
  for (size_t i = 0; i < count; i++) {
    const vs_buffer_life *a = &p->buffers[i];
    end = p->offsets[i] + a->size > end ? p->offsets[i] + a->size : end;
    for (size_t j = 0; j < i; j++) {
      const vs_buffer_life *b = &p->buffers[j];
      if (a->to <= b->from || b->to <= a->from) continue;
      assert_true(p->offsets[i] + a->size <= p->offsets[j] || p->offsets[j] + b->size <= p->offsets[i]);
    }
  }
  assert_true(p->packing.has_plan);
  assert_int_equal(p->packing.plan, end);
  assert_true(p->packing.plan >= p->packing.lower);
}

static void build(packed *p, size_t count) {
  expect_ok(vs_packing_build(vs_host_default(), p->buffers, count, p->offsets, &p->packing));
}

static void test_random_buffers_do_not_overlap(void **state) {
  (void)state;
  uint64_t seed = 7;
  for (int round = 0; round < 60; round++) {
    packed p = {0};
    const size_t count = (size_t)(round * 5);
    for (size_t i = 0; i < count; i++) {
      seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
      const uint32_t from = (uint32_t)(seed >> 33) % 200,
                     length = 1 + (uint32_t)(seed >> 40) % (round % 2 ? 9 : 150);
      p.buffers[i] =
          (vs_buffer_life){.size = 512 * (1 + (seed >> 20) % 64), .from = from, .to = from + length};
    }
    const uint64_t lower = naive_lower(p.buffers, count, 400);
    build(&p, count);
    assert_int_equal(p.packing.lower, lower);
    if (count != 0) expect_valid(&p, count);
  }
}

/* What is nested in time, as the activations of a forward and backward pass are, has a plan without any loss. */
static void test_nested_lifetimes_lose_nothing(void **state) {
  (void)state;
  packed p = {0};
  for (uint32_t i = 0; i < 100; i++)
    p.buffers[i] = (vs_buffer_life){.size = 512 * (1 + i * 7 % 13), .from = i, .to = 300 - i};
  build(&p, 100);
  expect_valid(&p, 100);
  assert_int_equal(p.packing.plan, p.packing.lower);
}

/* A block that ends at a moment leaves its place to one that begins there. */
static void test_place_is_reused_at_once(void **state) {
  (void)state;
  packed p = {.buffers = {{.size = 1024, .from = 0, .to = 5}, {.size = 1024, .from = 5, .to = 9}}};
  build(&p, 2);
  assert_int_equal(p.packing.lower, 1024);
  assert_int_equal(p.packing.plan, 1024);
}

/* The third fits exactly between address 0 and the second one. The small ones only make the first one live long, so that it
 * is placed first in every order. */
static void test_exact_gap_is_used(void **state) {
  (void)state;
  packed p = {.buffers = {{.size = 1024, .from = 0, .to = 5},
                          {.size = 1024, .from = 3, .to = 6},
                          {.size = 1024, .from = 5, .to = 6},
                          {.size = 512, .from = 0, .to = 1},
                          {.size = 512, .from = 1, .to = 2},
                          {.size = 512, .from = 2, .to = 3}}};
  build(&p, 6);
  expect_valid(&p, 6);
  assert_int_equal(p.packing.plan, 2048);
}

static void test_nothing_needs_nothing(void **state) {
  (void)state;
  packed p = {0};
  build(&p, 0);
  assert_int_equal(p.packing.lower, 0);
  assert_int_equal(p.packing.plan, 0);
}

/* Requests are rounded to 512; a block counts until its free is completed, one of before the trace from the beginning. */
static void test_blocks_of_a_trace(void **state) {
  (void)state;
  made m = made_begin();
  vs_lifetimes lifetimes;
  vs_packing packing;
  (void)made_event(&m, VS_EVENT_ALLOC, 0x10000, 700);
  (void)made_event(&m, VS_EVENT_FREE_REQUESTED, 0x10000, 700);
  (void)made_event(&m, VS_EVENT_ALLOC, 0x20000, 1);
  (void)made_event(&m, VS_EVENT_FREE_COMPLETED, 0x10000, 700);
  (void)made_event(&m, VS_EVENT_ALLOC, 0x30000, 1500);
  (void)made_free(&m, 0x40000, 5000);
  made_trace(&m, 0);
  expect_ok(vs_lifetimes_build(m.host, made_slice(&m, 0), &lifetimes));
  expect_ok(vs_packing_of(m.host, &lifetimes, &packing));
  assert_int_equal(packing.lower, 5120 + 512 + 1536);
  assert_int_equal(packing.plan, packing.lower);
  vs_lifetimes_deinit(m.host, &lifetimes);
  made_end(&m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_random_buffers_do_not_overlap),
      cmocka_unit_test(test_nested_lifetimes_lose_nothing),
      cmocka_unit_test(test_place_is_reused_at_once),
      cmocka_unit_test(test_nothing_needs_nothing),
      cmocka_unit_test(test_blocks_of_a_trace),
      cmocka_unit_test(test_exact_gap_is_used),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
