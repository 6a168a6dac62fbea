/* The sizes of cuSOLVER's workspaces at the ends of their ranges; tests/sim compares them with measured ones. */
#include "faces/simcuda/cusolver/sizes.c"
#include "support/test.h"

static const uint64_t of_value[] = {4, 8, 16};
static const int64_t sides[] = {0,   1,   2,   31,   32,   33,   64,   65,        127,      128,
                                129, 512, 513, 1024, 1025, 4096, 4097, INT32_MAX, INT64_MAX};
enum { SIDES = sizeof sides / sizeof *sides };

/* Every function of one side, and the rest with that side and others. */
static void all_of(uint64_t value, int64_t n, int64_t m, vs_workspace *to, size_t *count) {
  const vs_workspace all[] = {vs_size_potrf(value, n),
                              vs_size_potri(value, n),
                              vs_size_getrf(value, m, n),
                              vs_size_xgetrf(value, m, n),
                              vs_size_geqrf(value, m, n),
                              vs_size_xgeqrf(value, m, n),
                              vs_size_orgqr(value, m, n, n),
                              vs_size_ormqr(value, m, n, n),
                              vs_size_panel(value, n),
                              vs_size_gesvd(value, m, n),
                              vs_size_xgesvd(value, m, n),
                              vs_size_gesvdj(value, m, n),
                              vs_size_copies(value, m, n, m),
                              vs_size_syevd(value, n),
                              vs_size_xsyevd(value, n),
                              vs_size_xsyevdx(value, n),
                              vs_size_xsyev_batched(value, n, m),
                              vs_size_syevj(value, n),
                              vs_size_syevj_batched(value, n, m),
                              vs_size_geev(value, n),
                              vs_size_gesv(value, n, m),
                              vs_size_gels(value, m, n, m)};
  *count = sizeof all / sizeof *all;
  for (size_t i = 0; i < *count; i++) to[i] = all[i];
}

static void test_whole_values_that_fit(void **state) {
  (void)state;
  vs_workspace all[32];
  size_t count = 0;
  for (size_t v = 0; v < 3; v++)
    for (size_t i = 0; i < SIDES; i++)
      for (size_t j = 0; j < SIDES; j++) {
        all_of(of_value[v], sides[i], sides[j], all, &count);
        for (size_t k = 0; k < count; k++) {
          assert_int_equal(all[k].bytes % of_value[v], 0);
          assert_true(all[k].bytes != 0 && all[k].bytes < (uint64_t)1 << 63);
          if (all[k].is_measured) assert_true(in(1, (uint64_t)sides[i], MOST_MEASURED));
        }
      }
}

/* A larger matrix never takes less: nothing wraps where one formula ends and the next begins. */
static void test_larger_takes_no_less(void **state) {
  (void)state;
  vs_workspace last[32], all[32];
  size_t count = 0;
  for (size_t v = 0; v < 3; v++) {
    all_of(of_value[v], 1, 1, last, &count);
    for (int64_t n = 2; n < 5000; n++) {
      all_of(of_value[v], n, n, all, &count);
      for (size_t k = 0; k < count; k++) {
        assert_true(all[k].bytes >= last[k].bytes);
        last[k] = all[k];
      }
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_whole_values_that_fit),
      cmocka_unit_test(test_larger_takes_no_less),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
