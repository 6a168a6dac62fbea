/* The 128-bit product that WebAssembly gets from us equals the one that this machine has. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define __multi3 product_of_wasm
#include "../../../cmake/wasm_builtins.c"
#undef __multi3

static __int128 wide(uint64_t high, uint64_t low) {
  return (__int128)(((unsigned __int128)high << 64) | low);
}

static void expect_equal(__int128 a, __int128 b) {
  const unsigned __int128 expected = (unsigned __int128)a * (unsigned __int128)b;
  const unsigned __int128 found = (unsigned __int128)product_of_wasm(a, b);
  assert_true((uint64_t)found == (uint64_t)expected);
  assert_true((uint64_t)(found >> 64) == (uint64_t)(expected >> 64));
}

static void every_pair_of_edges(void **state) {
  (void)state;
  const uint64_t edges[] = {0,
                            1,
                            2,
                            UINT32_MAX - 1,
                            UINT32_MAX,
                            UINT64_C(1) << 32,
                            INT64_MAX,
                            UINT64_C(1) << 63,
                            UINT64_MAX - 1,
                            UINT64_MAX};
  const size_t count = sizeof edges / sizeof *edges;
  for (size_t i = 0; i < count * count; i++)
    for (size_t j = 0; j < count * count; j++)
      expect_equal(wide(edges[i / count], edges[i % count]), wide(edges[j / count], edges[j % count]));
}

static void numbers_without_a_pattern(void **state) {
  (void)state;
  uint64_t x = 88172645463325252U; /* Marsaglia's xorshift */
  uint64_t word[4];
  for (int round = 0; round < 100000; round++) {
    for (int i = 0; i < 4; i++) {
      x ^= x << 13;
      x ^= x >> 7;
      x ^= x << 17;
      word[i] = x;
    }
    expect_equal(wide(word[0], word[1]), wide(word[2], word[3]));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_pair_of_edges),
      cmocka_unit_test(numbers_without_a_pattern),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
