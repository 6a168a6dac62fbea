/* Lines of two versions of a function: known edits. */
#include "diff/align.h"
#include "support/test.h"

enum { MOST = 8 };

/* The lines of a function: numbers, and what each calls as a small number; 0: nothing is known of it. */
typedef struct version {
  int64_t lines[MOST];
  uint64_t calls[MOST];
  uint32_t count;
} version;

static void align(const version *a, const version *b, uint32_t mates[MOST]) {
  const version *versions[2] = {a, b};
  uint32_t subjects[MOST];
  vs_features features[2] = {0};
  vs_align_side sides[2];
  const vs_host *host = vs_host_default();
  for (uint32_t i = 0; i < MOST; i++) subjects[i] = i;
  for (size_t side = 0; side < 2; side++) {
    const version *v = versions[side];
    for (uint32_t i = 0; i < v->count; i++)
      if (v->calls[i] != 0) expect_ok(vs_features_add(host, &features[side], i, v->calls[i], 3));
    expect_ok(vs_features_sort(host, &features[side], v->count));
    sides[side] = (vs_align_side){
        .lines = v->lines, .subjects = subjects, .count = v->count, .features = &features[side]};
  }
  expect_ok(vs_align_lines(host, &sides[0], &sides[1], mates));
  for (size_t side = 0; side < 2; side++) vs_features_deinit(host, &features[side]);
}

#define NONE VS_ALIGN_NONE

static void expect_mates(const version *a, const version *b, const uint32_t *wanted) {
  uint32_t there[MOST], back[MOST];
  align(a, b, there);
  align(b, a, back);
  for (uint32_t i = 0; i < a->count; i++) {
    assert_int_equal(there[i], wanted[i]);
    if (there[i] != NONE) assert_int_equal(back[there[i]], i);
  }
  for (uint32_t k = 0; k < b->count; k++)
    if (back[k] != NONE) assert_int_equal(there[back[k]], k);
}

static const version base = {.lines = {10, 11, 12, 15}, .calls = {1, 2, 3, 4}, .count = 4};

static void equal_versions(void **state) {
  (void)state;
  expect_mates(&base, &base, (const uint32_t[]){0, 1, 2, 3});
}

static void a_line_above_shifts_all(void **state) {
  (void)state;
  const version b = {.lines = {11, 12, 13, 16}, .calls = {1, 2, 3, 4}, .count = 4};
  expect_mates(&base, &b, (const uint32_t[]){0, 1, 2, 3});
}

static void a_new_line_in_the_middle(void **state) {
  (void)state;
  const version b = {.lines = {10, 11, 12, 13, 16}, .calls = {1, 2, 9, 3, 4}, .count = 5};
  expect_mates(&base, &b, (const uint32_t[]){0, 1, 3, 4});
}

static void a_removed_line(void **state) {
  (void)state;
  const version b = {.lines = {10, 11, 14}, .calls = {1, 3, 4}, .count = 3};
  expect_mates(&base, &b, (const uint32_t[]){0, NONE, 1, 2});
}

/* Lines keep their order, so of two that were swapped both keep their numbers: that is worth more than one pair. */
static void swapped_lines_keep_their_numbers(void **state) {
  (void)state;
  const version b = {.lines = {10, 11, 12, 15}, .calls = {1, 3, 2, 4}, .count = 4};
  expect_mates(&base, &b, (const uint32_t[]){0, 1, 2, 3});
}

static void lines_that_call_alike_move_together(void **state) {
  (void)state;
  const version a = {.lines = {20, 21, 22}, .calls = {5, 5, 5}, .count = 3};
  const version b = {.lines = {22, 23, 24}, .calls = {5, 5, 5}, .count = 3};
  expect_mates(&a, &b, (const uint32_t[]){0, 1, 2});
}

/* A version with some more lines is no reason to move the others, although they would fit elsewhere, too. */
static void lines_that_are_all_there_have_not_moved(void **state) {
  (void)state;
  const version a = {.lines = {20, 22}, .calls = {5, 5}, .count = 2};
  const version b = {.lines = {20, 21, 22, 23}, .calls = {5, 5, 5, 5}, .count = 4};
  expect_mates(&a, &b, (const uint32_t[]){0, 2});
}

static void nothing_in_common_is_no_pair(void **state) {
  (void)state;
  const version a = {.lines = {1, 2}, .calls = {1, 2}, .count = 2},
                b = {.lines = {8, 9}, .calls = {3, 4}, .count = 2};
  const version none = {.count = 0};
  expect_mates(&a, &b, (const uint32_t[]){NONE, NONE});
  expect_mates(&a, &none, (const uint32_t[]){NONE, NONE});
  expect_mates(&none, &a, NULL);
}

static void unknown_calls_pair_by_their_place(void **state) {
  (void)state;
  const version a = {.lines = {1, 2}, .calls = {0, 0}, .count = 2},
                b = {.lines = {2, 3}, .calls = {0, 0}, .count = 2};
  expect_mates(&a, &b, (const uint32_t[]){0, 1});
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(equal_versions),
      cmocka_unit_test(a_line_above_shifts_all),
      cmocka_unit_test(a_new_line_in_the_middle),
      cmocka_unit_test(a_removed_line),
      cmocka_unit_test(swapped_lines_keep_their_numbers),
      cmocka_unit_test(lines_that_call_alike_move_together),
      cmocka_unit_test(lines_that_are_all_there_have_not_moved),
      cmocka_unit_test(nothing_in_common_is_no_pair),
      cmocka_unit_test(unknown_calls_pair_by_their_place),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
