/* A plan as callers give it, and what follows from it. */
#include "dryrun/setup.h"
#include "support/test.h"

static char *const train[] = {"python3", "train.py", NULL};

/* The status of a plan whose libraries are not there: all else is checked before they are looked for. */
static vs_status make(vs_dryrun_setup *setup, vs_dryrun_plan plan, vs_error *error) {
  if (plan.command == NULL) plan.command = train;
  plan.libraries = "/nonexistent";
  static vs_dryrun_plan kept;
  kept = plan;
  return vs_dryrun_setup_init(setup, vs_host_default(), &kept, NULL, error);
}

static void expect_made(vs_dryrun_setup *setup, vs_dryrun_plan plan) {
  vs_error error = {.status = VS_OK};
  assert_int_equal(make(setup, plan, &error), VS_IO); /* only the libraries are missing */
  assert_non_null(strstr(error.text, "simulated CUDA"));
  assert_true(vs_dryrun_setup_check(setup));
}

static void expect_refused(vs_dryrun_plan plan, const char *words) {
  vs_dryrun_setup setup;
  vs_error error = {.status = VS_OK};
  assert_int_equal(make(&setup, plan, &error), VS_BAD_ARGUMENT);
  assert_int_equal(error.status, VS_BAD_ARGUMENT);
  assert_true(error.offset == VS_NO_OFFSET);
  if (strstr(error.text, words) == NULL) fail_msg("\"%s\" does not say \"%s\"", error.text, words);
}

static void test_machine(void **state) {
  (void)state;
  vs_dryrun_setup setup;
  expect_made(&setup, (vs_dryrun_plan){0});
  assert_int_equal(setup.gpu_count, 1);
  assert_string_equal(setup.gpus[0].profile->key, "H100");
  assert_false(setup.has_job || setup.gpus[0].has_context_bytes);
  expect_made(&setup, (vs_dryrun_plan){.gpu = "2xL4", .context = "300MiB"});
  assert_int_equal(setup.gpu_count, 2);
  assert_true(setup.gpus[1].has_context_bytes);
  assert_int_equal(setup.gpus[1].context_bytes, 300 << 20);
  expect_refused((vs_dryrun_plan){.gpu = ""}, "missing");
  expect_refused((vs_dryrun_plan){.gpu = "9xH100"}, "more than 8");
  expect_refused((vs_dryrun_plan){.context = "much"}, "--context takes a size");
  expect_refused((vs_dryrun_plan){.has_no_history = true, .snapshot = "x"}, "--no-history");
  expect_refused((vs_dryrun_plan){.command = (char *[]){NULL}}, "program to run");
}

static void test_jobs(void **state) {
  (void)state;
  vs_dryrun_setup setup;
  expect_made(&setup,
              (vs_dryrun_plan){.gpu = "L4", .has_ranks = true, .ranks = 3}); /* a card for each rank */
  assert_true(setup.has_job && setup.gpu_count == 3);
  assert_int_equal(setup.job.processes, 3);
  expect_made(&setup, (vs_dryrun_plan){.gpu = "2xL4", .has_ranks = true, .ranks = 3});
  assert_int_equal(setup.gpu_count, 2);
  expect_made(&setup, (vs_dryrun_plan){.has_ranks = true, .ranks = VS_SIM_MAX_PROCESSES});
  assert_int_equal(setup.gpu_count, VS_SIM_MAX_DEVICES);
  expect_made(&setup, (vs_dryrun_plan){.has_world = true, .world = 1024, .has_rank = true, .rank = 1023});
  assert_int_equal(setup.job.world_size, 1024);
  assert_int_equal(setup.job.rank, 1023);
  assert_int_equal(setup.job.processes, 1);
  expect_made(&setup, (vs_dryrun_plan){.has_world = true, .world = 64, .finds_ranks = true});
  assert_int_equal(setup.job.rank, 0);
  expect_refused((vs_dryrun_plan){.finds_ranks = true}, "--world");
  expect_refused(
      (vs_dryrun_plan){.has_world = true, .world = 64, .finds_ranks = true, .finds_smallest = true},
      "--find-smallest");
  expect_refused((vs_dryrun_plan){.has_world = true, .world = 64, .has_rank = true, .finds_ranks = true},
                 "one of the two");
  expect_refused((vs_dryrun_plan){.has_rank = true}, "--world");
  expect_refused((vs_dryrun_plan){.has_world = true}, "of 0 ranks");
  expect_refused((vs_dryrun_plan){.has_world = true, .world = 4, .has_rank = true, .rank = 4}, "--rank 3");
  expect_refused((vs_dryrun_plan){.has_world = true, .world = VS_WORLD_MOST + 1}, "at most");
  expect_refused((vs_dryrun_plan){.has_ranks = true}, "1 to 256");
  expect_refused((vs_dryrun_plan){.has_ranks = true, .ranks = (UINT64_C(1) << 32) + 1}, "1 to 256");
  expect_refused((vs_dryrun_plan){.has_ranks = true, .ranks = 2, .has_world = true, .world = 2},
                 "one of the two");
  expect_refused(
      (vs_dryrun_plan){.command = (char *[]){"torchrun", "x.py", NULL}, .has_ranks = true, .ranks = 2},
      "torchrun");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_machine), cmocka_unit_test(test_jobs)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
