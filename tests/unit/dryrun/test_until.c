/* When --until is reached: what it takes, and what a quiet run is. */
#include "dryrun/until.h"
#include "support/test.h"

#include <stdlib.h>

enum { SECOND = 1000000 };

static vs_sim_machine *machine;

static int setup(void **state) {
  (void)state;
  vs_sim_gpu gpus[2];
  uint32_t count;
  vs_error error;
  machine = malloc(sizeof *machine);
  if (machine == NULL) return 1;
  expect_ok(vs_sim_gpus_parse(VS_STR("2xL4"), gpus, 2, &count, &error));
  expect_ok(vs_sim_machine_init(machine, gpus, count));
  return 0;
}

static int teardown(void **state) {
  (void)state;
  free(machine);
  return 0;
}

static void test_texts(void **state) {
  (void)state;
  static const struct {
    const char *text;
    vs_until until;
  } good[] = {{"idle", {VS_UNTIL_IDLE, 0}},
              {"ready", {VS_UNTIL_READY, 0}},
              {"30", {VS_UNTIL_TIME, 30 * SECOND}},
              {"2.5", {VS_UNTIL_TIME, 2500000}}};
  static const char *const bad[] = {"", "Idle", "0", "-1", "nan", "inf", "1e300", "5s", "readyx", "idle "};
  vs_until until;
  for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
    assert_true(vs_until_parse(vs_str_from(good[i].text), &until));
    assert_int_equal(until.kind, good[i].until.kind);
    assert_int_equal(until.time_us, good[i].until.time_us);
  }
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    if (vs_until_parse(vs_str_from(bad[i]), &until)) fail_msg("\"%s\" is taken", bad[i]);
}

static void test_times(void **state) {
  (void)state;
  vs_until_watch watch = {0};
  const vs_until after = {VS_UNTIL_TIME, 3 * SECOND}, never = {VS_UNTIL_ITS_END, 0};
  vs_until_now now = {.machine = machine, .run_us = 3 * SECOND - 1};
  assert_false(vs_until_is_reached(&watch, &after, &now));
  now.run_us++;
  assert_true(vs_until_is_reached(&watch, &after, &now));
  now.run_us = UINT64_C(1) << 60;
  assert_false(vs_until_is_reached(&watch, &never, &now));
}

/* At second `at` of the run, with `cpu` tenths of a second used. */
static bool is_idle(vs_until_watch *watch, uint64_t cpu, uint64_t at) {
  const vs_until idle = {VS_UNTIL_IDLE, 0};
  const vs_until_now now = {.machine = machine, .cpu_us = cpu * SECOND / 10, .run_us = at * SECOND};
  return vs_until_is_reached(watch, &idle, &now);
}

static void test_idle(void **state) {
  (void)state;
  vs_until_watch watch = {0};
  uint32_t slot;
  assert_false(is_idle(&watch, 0, 100)); /* it has not used a GPU */
  assert_int_equal(vs_sim_machine_enter(machine, 7, 1, &slot), VS_SIM_OK);
  assert_false(is_idle(&watch, 0, 200));
  assert_int_equal(vs_sim_machine_take(machine, slot, 1, VS_SIM_ACCOUNT_UNKNOWN, 4096), VS_SIM_OK);
  assert_false(is_idle(&watch, 0, 300)); /* it has just done so */
  assert_false(is_idle(&watch, 5, 304));
  assert_true(is_idle(&watch, 5, 305));
  assert_false(is_idle(&watch, 6, 305)); /* more than a tenth of the time */
  assert_false(is_idle(&watch, 11, 309));
  assert_true(is_idle(&watch, 11, 310));
}

/* Each of the things that a program does with a GPU begins another quiet time. */
static void test_what_is_not_quiet(void **state) {
  (void)state;
  vs_until_watch watch = {0};
  uint32_t slot, other;
  uint64_t at = 0;
  assert_int_equal(vs_sim_machine_enter(machine, 7, 1, &slot), VS_SIM_OK);
  for (int what = 0; what < 7; what++) {
    switch (what) {
      case 0:
        assert_int_equal(vs_sim_machine_take(machine, slot, 0, VS_SIM_ACCOUNT_UNKNOWN, 4096), VS_SIM_OK);
        break;
      case 1: machine->processes[slot].kernels++; break;
      case 2: machine->processes[slot].reads++; break;
      case 3: machine->processes[slot].steps++; break;
      case 4: vs_sim_machine_give(machine, slot, 0, VS_SIM_ACCOUNT_UNKNOWN, 1024); break;
      case 5: assert_int_equal(vs_sim_machine_enter(machine, 8, 1, &other), VS_SIM_OK); break;
      default: vs_sim_machine_leave(machine, other); break;
    }
    if (is_idle(&watch, 0, at + 5)) fail_msg("quiet after %d", what);
    if (is_idle(&watch, 0, at + 9)) fail_msg("quiet too early after %d", what);
    assert_true(is_idle(&watch, 0, at += 10));
  }
}

/* At second `at` of the run, where a server says `ready`. */
static bool is_ready(vs_until_watch *watch, vs_ready ready, uint64_t at) {
  const vs_until until = {VS_UNTIL_READY, 0};
  const vs_until_now now = {.machine = machine, .run_us = at * SECOND, .ready = ready};
  return vs_until_is_reached(watch, &until, &now);
}

static void test_ready(void **state) {
  (void)state;
  vs_until_watch watch = {0};
  uint32_t slot;
  assert_int_equal(vs_sim_machine_enter(machine, 7, 1, &slot), VS_SIM_OK);
  assert_false(is_ready(&watch, VS_READY_YES, 10)); /* another server than that of the model may say so */
  assert_false(is_ready(&watch, VS_READY_YES, 14));
  assert_true(is_ready(&watch, VS_READY_YES, 15)); /* it loads its model later */
  assert_int_equal(vs_sim_machine_take(machine, slot, 1, VS_SIM_ACCOUNT_UNKNOWN, 4096), VS_SIM_OK);
  assert_false(is_ready(&watch, VS_READY_NO, 16));
  assert_false(is_ready(&watch, VS_READY_ANSWERS, 17));
  assert_true(is_ready(&watch, VS_READY_YES, 17));
  assert_false(is_ready(&watch, VS_READY_ANSWERS, 20));
  assert_true(is_ready(&watch, VS_READY_ANSWERS, 21)); /* it has been quiet for five seconds */
  assert_false(is_ready(&watch, VS_READY_NO, 99));     /* as one is that waits for weights */
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_texts),
      cmocka_unit_test_setup_teardown(test_times, setup, teardown),
      cmocka_unit_test_setup_teardown(test_idle, setup, teardown),
      cmocka_unit_test_setup_teardown(test_ready, setup, teardown),
      cmocka_unit_test_setup_teardown(test_what_is_not_quiet, setup, teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
