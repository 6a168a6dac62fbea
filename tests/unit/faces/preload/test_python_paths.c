/* The table of paths: a path has the stack that it was given in its epoch, and no other one, also while threads write. */
#include "faces/preload/python_paths.h"
#include "os/thread.h"
#include "support/random.h"
#include "support/test.h"

enum { PATHS = 3000, THREADS = 4, ROUNDS = 20000 };

/* The stack that path `number` has in an epoch. */
static vs_context stack_of(uint32_t number, uint32_t epoch) { return number * 8 + epoch; }

/* Path `number`: paths share most of their frames, and differ in one of them, in their length or in an owner. */
static vs_python_path make_path(uint32_t number) {
  const uint32_t count = 1 + number % 60, special = number / 60 % count;
  vs_python_path path = {.count = 0};
  for (uint32_t i = 0; i < count; i++) {
    const uint32_t instruction = i == special ? 1000 + number / 2 : i;
    vs_python_path_add(&path, 0x7f0000000000 + 2 * instruction, i == special && number % 2 == 0);
  }
  return path;
}

static void test_paths_are_told_apart(void **state) {
  (void)state;
  uint32_t found = 0;
  vs_context stack;
  for (uint32_t epoch = 1; epoch < 4; epoch++) {
    for (uint32_t i = 0; i < PATHS; i++) {
      const vs_python_path path = make_path(i);
      assert_false(vs_python_path_find(path, epoch, &stack)); /* kept in an earlier epoch, or never */
      vs_python_path_keep(path, epoch, stack_of(i, epoch));
      assert_true(vs_python_path_find(path, epoch, &stack));
      assert_int_equal(stack, stack_of(i, epoch));
    }
    for (uint32_t i = 0; i < PATHS; i++) {
      const vs_python_path path = make_path(i);
      if (!vs_python_path_find(path, epoch, &stack)) continue; /* another one took its place */
      assert_int_equal(stack, stack_of(i, epoch));
      found++;
    }
  }
  assert_true(found > 3 * 500);
}

/* Paths that differ in one instruction, one owner or the order of two frames have other hashes, for each bit and place. */
static void test_each_frame_counts(void **state) {
  (void)state;
  enum { FRAMES = 40 };
  uint64_t instructions[FRAMES];
  test_random random = {.state = 3};
  for (uint32_t i = 0; i < FRAMES; i++) instructions[i] = 0x7f0000000000 + 2 * random_below(&random, 1 << 20);
  vs_context stack;
  vs_python_path path = {.count = 0};
  for (uint32_t i = 0; i < FRAMES; i++) vs_python_path_add(&path, instructions[i], 0);
  vs_python_path_keep(path, 9, 1);
  for (uint32_t changed = 0; changed < FRAMES; changed++) {
    for (uint32_t bit = 0; bit < 64; bit++) {
      vs_python_path other = {.count = 0};
      for (uint32_t i = 0; i < FRAMES; i++) {
        const uint64_t change = i == changed ? UINT64_C(1) << bit : 0;
        vs_python_path_add(&other, instructions[i] ^ (bit < 56 ? change : 0),
                           (uint8_t)(bit < 56 ? 0 : change >> 56));
      }
      assert_true(other.hash != path.hash);
      assert_false(vs_python_path_find(other, 9, &stack));
    }
  }
  for (uint32_t swapped = 1; swapped < FRAMES; swapped++) {
    vs_python_path other = {.count = 0};
    for (uint32_t i = 0; i < FRAMES; i++)
      vs_python_path_add(&other, instructions[i == swapped ? i - 1 : i + 1 == swapped ? swapped : i], 0);
    assert_true(other.hash != path.hash);
  }
  assert_true(vs_python_path_find(path, 9, &stack));
}

static void find_and_keep(void *ctx) {
  _Atomic uint32_t *wrong = ctx;
  test_random random = {.state = (uint64_t)vs_thread_id()};
  for (uint32_t i = 0; i < ROUNDS; i++) {
    vs_context stack;
    const uint32_t number = (uint32_t)random_below(&random, PATHS),
                   epoch = 20 + (uint32_t)random_below(&random, 2);
    const vs_python_path path = make_path(number);
    if (vs_python_path_find(path, epoch, &stack)) *wrong += stack != stack_of(number, epoch);
    else vs_python_path_keep(path, epoch, stack_of(number, epoch));
  }
}

static void test_threads(void **state) {
  (void)state;
  _Atomic uint32_t wrong = 0;
  vs_thread threads[THREADS];
  for (uint32_t i = 0; i < THREADS; i++)
    expect_ok(vs_thread_start(&threads[i], "paths", find_and_keep, (void *)&wrong));
  for (uint32_t i = 0; i < THREADS; i++) vs_thread_join(&threads[i]);
  assert_int_equal(wrong, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_paths_are_told_apart),
      cmocka_unit_test(test_each_frame_counts),
      cmocka_unit_test(test_threads),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
