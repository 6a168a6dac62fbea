/* Which cards a run would fit in. */
#include "dryrun/fit.h"
#include "support/test.h"

static const uint64_t GiB = UINT64_C(1) << 30, MiB = UINT64_C(1) << 20;

static void expect_fit(const vs_fit_need *need, uint64_t total, uint64_t context, vs_fit wanted,
                       int64_t headroom) {
  int64_t got;
  assert_string_equal(vs_fit_word(vs_fit_judge(need, total, context, &got)), vs_fit_word(wanted));
  if (wanted != VS_FIT_UNKNOWN) assert_int_equal(got, headroom);
}

static void test_one_card(void **state) {
  (void)state;
  /* 10 GiB at the peak, of which 500 MiB are the context; 2 GiB of it was cached at best. */
  const vs_fit_need need = {
      .bytes = 10 * GiB, .cached_bytes = 2 * GiB, .context_bytes = 500 * MiB, .contexts = 1};
  expect_fit(&need, 10 * GiB, 500 * MiB, VS_FIT_YES, 0);
  expect_fit(&need, 10 * GiB - 1, 500 * MiB, VS_FIT_TIGHT, -1);
  expect_fit(&need, 8 * GiB, 500 * MiB, VS_FIT_TIGHT, -2 * (int64_t)GiB);
  expect_fit(&need, 8 * GiB - 1, 500 * MiB, VS_FIT_NO, -2 * (int64_t)GiB - 1);
  /* On a card with a smaller context it needs less. */
  expect_fit(&need, 10 * GiB - 400 * MiB, 100 * MiB, VS_FIT_YES, 0);
  expect_fit(&need, 10 * GiB - 400 * MiB - 1, 100 * MiB, VS_FIT_TIGHT, -1);
}

static void test_contexts_of_several_processes(void **state) {
  (void)state;
  vs_fit_need need = {.bytes = 10 * GiB, .context_bytes = 500 * MiB, .contexts = 4};
  expect_fit(&need, 10 * GiB - 4 * 400 * MiB, 100 * MiB, VS_FIT_YES, 0);
  expect_fit(&need, 10 * GiB - 4 * 400 * MiB - 1, 100 * MiB, VS_FIT_NO, -1);
  need.is_context_given = true; /* then it is the same everywhere */
  expect_fit(&need, 10 * GiB, 100 * MiB, VS_FIT_YES, 0);
  expect_fit(&need, 10 * GiB - 1, 100 * MiB, VS_FIT_NO, -1);
}

static void test_a_run_that_met_the_end(void **state) {
  (void)state;
  const vs_fit_need need = {.bytes = 8 * GiB,
                            .cached_bytes = GiB,
                            .context_bytes = 500 * MiB,
                            .contexts = 1,
                            .is_open_ended = true,
                            .least_bytes = 9 * GiB};
  expect_fit(&need, 9 * GiB, 500 * MiB, VS_FIT_UNKNOWN, 0);
  expect_fit(&need, 80 * GiB, 500 * MiB, VS_FIT_UNKNOWN, 0);
  expect_fit(&need, 9 * GiB - 1, 500 * MiB, VS_FIT_NO, -1);
}

static void test_table(void **state) {
  (void)state;
  fault_host fault;
  fault_host_init(&fault, FAULT_NEVER);
  const vs_fit_need needs[] = {
      {.bytes = 12 * GiB, .context_bytes = 500 * MiB, .contexts = 1},
      {.bytes = 30 * GiB, .cached_bytes = 8 * GiB, .context_bytes = 500 * MiB, .contexts = 1}};
  vs_fit_table table;
  expect_ok(vs_fit_table_init(&table, &fault.host, needs, 2));
  assert_int_equal(table.rows.count, vs_sim_profile_count());
  for (size_t i = 1; i < table.rows.count; i++)
    assert_true(table.rows.data[i - 1].total_bytes <= table.rows.data[i].total_bytes);
  /* The larger need decides. */
  for (size_t i = 0; i < table.rows.count; i++) {
    const vs_fit_row *row = &table.rows.data[i];
    const uint64_t need = 30 * GiB - 500 * MiB + vs_sim_context_bytes(row->profile);
    assert_int_equal(row->headroom_bytes, (int64_t)row->total_bytes - (int64_t)need);
    if (row->total_bytes > 31 * GiB) assert_int_equal(row->fit, VS_FIT_YES);
    if (row->total_bytes < 21 * GiB) assert_int_equal(row->fit, VS_FIT_NO);
    if (row->total_bytes > 22 * GiB && row->total_bytes < 29 * GiB) assert_int_equal(row->fit, VS_FIT_TIGHT);
  }
  const vs_fit_row *smallest = vs_fit_smallest(&table);
  assert_non_null(smallest);
  assert_true(smallest->total_bytes > 29 * GiB && smallest->total_bytes < 34 * GiB);

  bool shown[256];
  const vs_sim_profile *own = vs_sim_profile_find(VS_STR("H100"));
  assert_non_null(own);
  const size_t count = vs_fit_select(&table, own, 6, shown);
  assert_in_range(count, 3, 6);
  size_t marked = 0, refused = 0, fitting = 0;
  bool own_is_shown = false;
  for (size_t i = 0; i < table.rows.count; i++) {
    if (!shown[i]) continue;
    marked++;
    refused += table.rows.data[i].fit == VS_FIT_NO;
    fitting += table.rows.data[i].fit == VS_FIT_YES;
    own_is_shown = own_is_shown || table.rows.data[i].profile == own;
  }
  assert_int_equal(marked, count);
  assert_true(own_is_shown && refused >= 1 && refused <= 2 && fitting >= 2);
  vs_fit_table_deinit(&table, &fault.host);
  fault_host_expect_empty(&fault);
}

/* A card that is too small for one GPU's need is too small, whether the other's is known or not. */
static void test_too_small_counts_more_than_unknown(void **state) {
  (void)state;
  fault_host fault;
  fault_host_init(&fault, FAULT_NEVER);
  vs_fit_need needs[] = {{.bytes = 2 * GiB,
                          .context_bytes = 500 * MiB,
                          .contexts = 1,
                          .is_open_ended = true,
                          .least_bytes = 3 * GiB},
                         {.bytes = 30 * GiB, .context_bytes = 500 * MiB, .contexts = 1}};
  for (int turn = 0; turn < 2; turn++) {
    vs_fit_table table;
    expect_ok(vs_fit_table_init(&table, &fault.host, needs, 2));
    for (size_t i = 0; i < table.rows.count; i++) {
      const vs_fit_row *row = &table.rows.data[i];
      if (row->total_bytes < 29 * GiB) assert_int_equal(row->fit, VS_FIT_NO);
      if (row->total_bytes > 31 * GiB) assert_int_equal(row->fit, VS_FIT_UNKNOWN);
    }
    vs_fit_table_deinit(&table, &fault.host);
    const vs_fit_need first = needs[0];
    needs[0] = needs[1];
    needs[1] = first;
  }
  fault_host_expect_empty(&fault);
}

static void test_nothing_is_enough(void **state) {
  (void)state;
  fault_host fault;
  fault_host_init(&fault, FAULT_NEVER);
  const vs_fit_need need = {.bytes = 10000 * GiB, .context_bytes = MiB, .contexts = 1};
  vs_fit_table table;
  bool shown[256];
  expect_ok(vs_fit_table_init(&table, &fault.host, &need, 1));
  assert_null(vs_fit_smallest(&table));
  assert_in_range(vs_fit_select(&table, NULL, 6, shown), 1, 2);
  assert_true(shown[table.rows.count - 1]); /* the largest there is */
  vs_fit_table_deinit(&table, &fault.host);
  fault_host_expect_empty(&fault);
}

static vs_status make_table(const vs_host *host, void *ctx) {
  vs_fit_table table;
  VS_TRY(vs_fit_table_init(&table, host, ctx, 1));
  vs_fit_table_deinit(&table, host);
  return VS_OK;
}

static void test_without_memory(void **state) {
  (void)state;
  vs_fit_need need = {.bytes = GiB};
  assert_true(fault_prove(make_table, &need) > 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_one_card),
      cmocka_unit_test(test_contexts_of_several_processes),
      cmocka_unit_test(test_a_run_that_met_the_end),
      cmocka_unit_test(test_table),
      cmocka_unit_test(test_too_small_counts_more_than_unknown),
      cmocka_unit_test(test_nothing_is_enough),
      cmocka_unit_test(test_without_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
