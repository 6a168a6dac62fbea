/* The memory functions against their definitions, for every size around the parts that they work in. Natively that asks the
 * C library, in WebAssembly base/mem.c. */
#include "base/mem.h"
#include "support/random.h"
#include "support/test.h"

enum { MOST = 300, ROOM = 3 * MOST, FIRST = MOST };

static unsigned char one[ROOM], other[ROOM], model[ROOM];

static void fill(test_random *random) {
  for (size_t i = 0; i < ROOM; i++) one[i] = other[i] = model[i] = (unsigned char)random_below(random, 256);
}

static void copies(void **state) {
  (void)state;
  test_random random = {11};
  for (size_t size = 0; size <= MOST; size++) {
    fill(&random);
    for (size_t i = 0; i < size; i++) model[FIRST + i] = one[i + 1];
    assert_ptr_equal(memcpy(other + FIRST, one + 1, size), other + FIRST);
    assert_memory_equal(other, model, ROOM);
  }
}

static void copies_that_overlap(void **state) {
  (void)state;
  test_random random = {12};
  static const int distances[] = {-200, -64, -17, -16, -8, -3, -1, 0, 1, 2, 5, 15, 16, 31, 33, 128, 200};
  for (size_t size = 0; size <= MOST; size++)
    for (size_t d = 0; d < sizeof distances / sizeof distances[0]; d++) {
      fill(&random);
      unsigned char *const to = other + FIRST + distances[d];
      for (size_t i = 0; i < size; i++) model[to - other + (ptrdiff_t)i] = one[FIRST + i];
      assert_ptr_equal(memmove(to, other + FIRST, size), to);
      assert_memory_equal(other, model, ROOM);
    }
}

static void fills(void **state) {
  (void)state;
  test_random random = {13};
  for (size_t size = 0; size <= MOST; size++) {
    fill(&random);
    for (size_t i = 0; i < size; i++) model[FIRST + i] = 0xa7;
    assert_ptr_equal(memset(other + FIRST, 0x1a7, size), other + FIRST);
    assert_memory_equal(other, model, ROOM);
  }
}

static int sign(int value) { return (value > 0) - (value < 0); }

static void comparisons(void **state) {
  (void)state;
  test_random random = {14};
  for (size_t size = 1; size <= MOST; size++) {
    fill(&random);
    assert_int_equal(memcmp(one + 3, other + 3, size), 0);
    for (int i = 0; i < 8; i++) { /* bytes are unsigned, and the first difference counts */
      const size_t at = 3 + (size_t)random_below(&random, size);
      const unsigned char was = other[at];
      other[at] = (unsigned char)(was ^ 0x80);
      other[3 + size] ^= 1;
      assert_int_equal(sign(memcmp(one + 3, other + 3, size)), was > other[at] ? 1 : -1);
      if (at > 3) assert_int_equal(memcmp(one + 3, other + 3, at - 3), 0);
      other[at] = was;
    }
  }
}

static void lengths(void **state) {
  (void)state;
  static char text[MOST];
  for (size_t size = 0; size < MOST; size++) {
    assert_int_equal(strlen(text), size);
    text[size] = size + 1 < MOST ? 'x' : 0;
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(copies),  cmocka_unit_test(copies_that_overlap),
      cmocka_unit_test(fills),   cmocka_unit_test(comparisons),
      cmocka_unit_test(lengths),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
