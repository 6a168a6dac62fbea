/* What copies read back, against a model with one byte and one "is known" flag for each address of a small range. */
#include "faces/simcuda/core/readback_values.h"
#include "support/random.h"
#include "support/test.h"

enum { WORLD = 4 * VS_READBACK_PAGE, BASE_PAGE = 0x300000, STEPS = 4000, SEEDS = 6 };

#define BASE ((uint64_t)BASE_PAGE * VS_READBACK_PAGE)

typedef struct model {
  vs_values values;
  uint32_t used; /* of the budget */
  uint8_t bytes[WORLD];
  bool known[WORLD];
} model;

static model m;

static uint8_t expected(uint32_t at, uint64_t size) {
  if (m.known[at]) return m.bytes[at];
  return m.values == VS_VALUES_TRUE && size == 1 ? 1 : 0;
}

static void forget(uint32_t at, uint32_t size) { memset(m.known + at, 0, size * sizeof *m.known); }

/* Whether a write that costs so much is remembered. */
static bool pay(uint64_t cost) {
  if (m.values == VS_VALUES_KEEP) return true;
  if (cost > VS_READBACK_BUDGET - m.used) return false;
  m.used += (uint32_t)cost;
  return true;
}

typedef struct span {
  uint32_t at, size;
} span;

/* Mostly small ones near each other, so that they meet. */
static span any_span(test_random *random) {
  static const uint32_t most[] = {1, 4, 16, 64, 4096};
  const uint32_t bound = random_below(random, 40) == 0 ? WORLD / 2 : most[random_below(random, 5)];
  const uint32_t size = 1 + (uint32_t)random_below(random, bound);
  const uint32_t room = size < 128 && random_below(random, 2) == 0 ? 256 : WORLD - size + 1;
  const uint32_t edge = random_below(random, 3) == 0 ? VS_READBACK_PAGE - 128 : 0;
  const uint32_t at = (uint32_t)random_below(random, room);
  return (span){at + edge + size <= WORLD ? at + edge : at, size};
}

static void play_write(vs_readback *c, test_random *random) {
  static uint8_t bytes[WORLD];
  const span s = any_span(random);
  for (uint32_t i = 0; i < s.size; i++) bytes[i] = (uint8_t)random_below(random, 256);
  vs_readback_write(c, BASE + s.at, bytes, s.size);
  forget(s.at, s.size);
  if (!pay((uint64_t)s.size + VS_READBACK_PIECE)) return;
  for (uint32_t i = 0; i < s.size; i++) {
    m.bytes[s.at + i] = bytes[i];
    m.known[s.at + i] = true;
  }
}

static void play_fill(vs_readback *c, test_random *random) {
  const uint32_t element = 1u << random_below(random, 3);
  const uint32_t value = random_below(random, 4) == 0 ? 0 : (uint32_t)random_u64(random);
  span s = any_span(random);
  s.size = s.size < element ? element : s.size / element * element;
  if (s.at + s.size > WORLD) return;
  vs_readback_fill(c, BASE + s.at, value, element, s.size);
  forget(s.at, s.size);
  const bool is_zero = element == 4 ? value == 0 : value << (32 - 8 * element) == 0;
  if (m.values == VS_VALUES_ZEROS && is_zero) return; /* reads the same, known or not, and costs nothing */
  if (!pay(VS_READBACK_PIECE)) return;
  for (uint32_t i = 0; i < s.size; i++) {
    m.bytes[s.at + i] = (uint8_t)(value >> (8 * (i % element)));
    m.known[s.at + i] = true;
  }
}

static void play_kernel(vs_readback *c) {
  vs_readback_kernel(c);
  if (m.values == VS_VALUES_KEEP) return;
  forget(0, WORLD);
  m.used = 0;
}

static void play_move(vs_readback *c, test_random *random) {
  static uint8_t bytes[WORLD];
  static bool known[WORLD];
  if (VS_READBACK_BUDGET - m.used < VS_READBACK_BUDGET / 4)
    play_kernel(c); /* so that there is enough for all pieces */
  const span from = any_span(random);
  const uint32_t to = (uint32_t)random_below(random, WORLD - from.size + 1);
  vs_readback_move(c, BASE + to, BASE + from.at, from.size);
  memcpy(bytes, m.bytes + from.at, from.size);
  memcpy(known, m.known + from.at, from.size * sizeof *known);
  memcpy(m.bytes + to, bytes, from.size);
  memcpy(m.known + to, known, from.size * sizeof *known);
  if (m.values != VS_VALUES_KEEP && c->kernels_then == c->kernels)
    m.used = c->used; /* what a move costs depends on how many pieces there are: the object's own business */
}

static void play_forget(vs_readback *c, test_random *random) {
  const span s = any_span(random);
  const bool is_huge = random_below(random, 8) == 0; /* a range that no page by page walk would end */
  if (is_huge) vs_readback_forget(c, BASE, UINT64_C(1) << 42);
  else vs_readback_forget(c, BASE + s.at, s.size);
  forget(is_huge ? 0 : s.at, is_huge ? WORLD : s.size);
}

static void check_read(vs_readback *c, test_random *random) {
  static uint8_t bytes[WORLD];
  const span s = random_below(random, 200) == 0 ? (span){0, WORLD} : any_span(random);
  const bool is_known = vs_readback_is_known(c, BASE + s.at, s.size);
  if (is_known) vs_readback_read(c, BASE + s.at, bytes, s.size);
  else vs_readback_read_unknown(m.values, bytes, s.size);
  for (uint32_t i = 0; i < s.size; i++) {
    if (bytes[i] != expected(s.at + i, s.size))
      fail_msg("byte %u of [%u, %u) is %u, not %u", s.at + i, s.at, s.at + s.size, bytes[i],
               expected(s.at + i, s.size));
  }
}

static void run(vs_values values, uint64_t seed) {
  fault_host fault;
  fault_host_init(&fault, FAULT_NEVER);
  test_random random = {seed};
  vs_readback c;
  vs_readback_init(&c, &fault.host, values, UINT64_MAX);
  memset(&m, 0, sizeof m);
  m.values = values;
  for (int i = 0; i < STEPS; i++) {
    switch (random_below(&random, 16)) {
      case 0:
        if (random_below(&random, 4) == 0) play_kernel(&c);
        break;
      case 1: play_forget(&c, &random); break;
      case 2:
      case 3:
      case 4: play_fill(&c, &random); break;
      case 5:
      case 6: play_move(&c, &random); break;
      case 7:
      case 8:
      case 9:
      case 10:
      case 11: play_write(&c, &random); break;
      default: check_read(&c, &random); break;
    }
    if (i % 64 == 0) assert_true(vs_readback_check(&c));
    if (values != VS_VALUES_KEEP) assert_int_equal(c.kernels == c.kernels_then ? c.used : m.used, m.used);
  }
  vs_readback_deinit(&c);
  fault_host_expect_empty(&fault);
}

static void zeros(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed <= SEEDS; seed++) run(VS_VALUES_ZEROS, seed);
}
static void truth(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed <= SEEDS; seed++) run(VS_VALUES_TRUE, seed);
}
static void kept(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed <= SEEDS; seed++) run(VS_VALUES_KEEP, seed);
}

/* ---- limits */

static void beyond_the_budget_nothing_is_known(void **state) {
  (void)state;
  static uint8_t bytes[VS_READBACK_BUDGET + 1];
  memset(bytes, 7, sizeof bytes);
  vs_readback c;
  vs_readback_init(&c, vs_host_default(), VS_VALUES_ZEROS, 0);
  vs_readback_write(&c, BASE, bytes, sizeof bytes); /* too large at all */
  assert_false(vs_readback_is_known(&c, BASE, sizeof bytes));
  vs_readback_write(&c, BASE, bytes, VS_READBACK_BUDGET - VS_READBACK_PIECE); /* just fits */
  assert_true(vs_readback_is_known(&c, BASE, 1));
  vs_readback_write(&c, BASE + 10, "abc",
                    3); /* does not fit any more, and what was there is not true any more */
  uint8_t read[5] = {0};
  vs_readback_read(&c, BASE + 9, read, 5);
  assert_memory_equal(read, "\7\0\0\0\7", 5);
  vs_readback_kernel(&c);
  vs_readback_write(&c, BASE + 10, "abc", 3);
  vs_readback_read(&c, BASE + 9, read, 5);
  assert_memory_equal(read, "\0abc\0", 5);
  vs_readback_deinit(&c);
}

static void a_full_host_loses_and_says_so(void **state) {
  (void)state;
  vs_readback c;
  vs_readback_init(&c, vs_host_default(), VS_VALUES_KEEP, 2 * VS_READBACK_PAGE);
  uint8_t byte = 1, read;
  vs_readback_write(&c, BASE, &byte, 1);
  vs_readback_write(&c, BASE + VS_READBACK_PAGE, &byte, 1);
  assert_false(vs_readback_lost(&c));
  vs_readback_write(&c, BASE + 5 * VS_READBACK_PAGE, &byte, 1);
  assert_true(vs_readback_lost(&c));
  assert_false(vs_readback_lost(&c));
  vs_readback_read(&c, BASE + 5 * VS_READBACK_PAGE, &read, 1);
  assert_int_equal(read, 0);
  vs_readback_fill(&c, BASE, 0, 1, VS_READBACK_PAGE); /* a page of zeros is no page */
  vs_readback_write(&c, BASE + 5 * VS_READBACK_PAGE, &byte, 1);
  assert_false(vs_readback_lost(&c));
  vs_readback_read(&c, BASE + 5 * VS_READBACK_PAGE, &read, 1);
  assert_int_equal(read, 1);
  assert_true(vs_readback_check(&c));
  vs_readback_deinit(&c);
}

/* Out of memory, some bytes become unknown or lost, but no read is wrong. */
static void each_allocation_may_fail(void **state) {
  (void)state;
  for (vs_values values = VS_VALUES_ZEROS; values <= VS_VALUES_KEEP; values++)
    for (uint64_t fail_at = 0; fail_at < 40; fail_at++) {
      fault_host fault;
      fault_host_init(&fault, fail_at);
      vs_readback c;
      vs_readback_init(&c, &fault.host, values, UINT64_MAX);
      for (uint32_t i = 0; i < 200; i++) vs_readback_write(&c, BASE + i * 4096, &i, sizeof i);
      for (uint32_t i = 0; i < 50; i++) vs_readback_move(&c, BASE + i * 4096 + 1024, BASE + i * 4096, 4);
      for (uint32_t i = 0; i < 200; i++) {
        uint32_t read;
        vs_readback_read(&c, BASE + i * 4096, &read, sizeof read);
        assert_true(read == i || read == 0);
      }
      assert_true(vs_readback_check(&c));
      vs_readback_deinit(&c);
      fault_host_expect_empty(&fault);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(zeros),
      cmocka_unit_test(truth),
      cmocka_unit_test(kept),
      cmocka_unit_test(beyond_the_budget_nothing_is_known),
      cmocka_unit_test(a_full_host_loses_and_says_so),
      cmocka_unit_test(each_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
