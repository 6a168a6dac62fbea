/* The order of the names of ranks, their numbers, and which file of one folder is the same rank as which of another. */
#include "diff/rank_names.h"
#include "support/test.h"

enum { ALONE = -1 };

static int compare(const char *a, const char *b) {
  return vs_rank_names_compare(vs_str_from(a), vs_str_from(b));
}

static void numbers_are_compared_as_numbers(void **state) {
  static const char *const rising[] = {
      "", "a", "a1", "a1b", "a2", "a10", "a10.gz", "a010b", "a99999999999999999999", "b"};
  (void)state;
  for (size_t i = 0; i < sizeof rising / sizeof *rising; i++)
    for (size_t k = 0; k < sizeof rising / sizeof *rising; k++) {
      const int order = compare(rising[i], rising[k]);
      assert_true(i < k ? order < 0 : i > k ? order > 0 : order == 0);
    }
  assert_true(compare("rank007", "rank7") == 0);
}

static void the_number_of_a_rank(void **state) {
  static const struct {
    const char *path;
    int64_t number; /* -1: none */
  } cases[] = {
      {"rank0_memory_snapshot.pickle", 0},
      {"iteration_5/rank3_memory_snapshot.pickle", 3},
      {"snapshot_12.pickle.gz", 12},
      {"memory_snapshot_Rank-7.pickle", 7},
      {"rank=2.pkl", 2},
      {"rank 2.pkl", 2},
      {"ranks8_rank_5.vram", 5},
      {"rank1_of_rank9.pickle", 9},
      {"rank4_local_rank0.pickle", 4},
      {"local_rank0_rank4.pickle", 4},
      {"localrank1.pickle", 1},
      {"local-rank1.pickle", 1},
      {"node3.step-100.pickle", 100},
      {"rank.pickle", -1},
      {"snapshot.pickle", -1},
      {"", -1},
      {"rank3/snapshot.pickle", 3},
      {"runs/rank_3/iteration_9/snapshot.pickle", 3},
      {"rank1/rank2/snapshot.pickle", 2},
      {"iteration_9/snapshot.pickle", -1},
      {"rank1/snapshot_2.pickle", 2},
      {"C:\\rank6\\snapshot.pickle", 6},
      {"/", -1},
      {"rank18446744073709551616.pickle", -1}, /* does not fit */
      {"rank9223372036854775807.pickle", INT64_MAX},
  };
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    uint64_t number = 77;
    const bool has = vs_rank_number(vs_str_from(cases[i].path), &number);
    if (has != (cases[i].number >= 0) || (has && number != (uint64_t)cases[i].number))
      fail_msg("%s: %d %llu", cases[i].path, has, (unsigned long long)number);
  }
}

/* `mates`: by file of `a` the index in `b`. */
static void expect_pairs(const char *const *a, size_t count_a, const char *const *b, size_t count_b,
                         const int *mates) {
  vs_str names[2][8];
  uint32_t found[8];
  for (size_t i = 0; i < count_a; i++) names[0][i] = vs_str_from(a[i]);
  for (size_t i = 0; i < count_b; i++) names[1][i] = vs_str_from(b[i]);
  expect_ok(vs_rank_names_pair(vs_host_default(), names[0], count_a, names[1], count_b, found));
  for (size_t i = 0; i < count_a; i++) {
    const uint32_t mate = mates[i] == ALONE ? VS_RANK_ALONE : (uint32_t)mates[i];
    if (found[i] != mate) fail_msg("%s: %u, not %u", a[i], found[i], mate);
  }
}

#define PAIRS(a, b, ...) \
  expect_pairs(a, sizeof(a) / sizeof *(a), b, sizeof(b) / sizeof *(b), (const int[]){__VA_ARGS__})

static void ranks_are_paired_by_their_numbers(void **state) {
  static const char *const old[] = {"a/rank0.pickle", "a/rank1.pickle", "a/rank10.pickle"};
  static const char *const new[] = {"b/snapshot_10.pickle.gz", "b/snapshot_2.pickle", "b/snapshot_0.pickle"};
  static const char *const nothing[] = {"b/other.pickle"};
  (void)state;
  PAIRS(old, new, 2, ALONE, 0);
  PAIRS(new, old, 2, ALONE, 0);
  PAIRS(old, old, 0, 1, 2);
  PAIRS(old, nothing, ALONE, ALONE, ALONE);
}

/* Two files with one number are not that rank, so only equal names pair them; neither are files without one. */
static void a_number_that_two_files_have_pairs_none(void **state) {
  static const char *const old[] = {"a/rank0.pickle", "a/rank0_exit.pickle", "a/memory.pickle",
                                    "a/rank1.pickle"};
  static const char *const new[] = {"b/memory.pickle", "b/rank0_exit.pickle", "b/rank1_late.pickle"};
  (void)state;
  PAIRS(old, new, ALONE, 1, 0, 2);
  PAIRS(new, old, 2, 1, 3);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(numbers_are_compared_as_numbers),
                                     cmocka_unit_test(the_number_of_a_rank),
                                     cmocka_unit_test(ranks_are_paired_by_their_numbers),
                                     cmocka_unit_test(a_number_that_two_files_have_pairs_none)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
