#include "unit/device/sim/machine.h"

#include <stdlib.h>

static vs_sim_machine the_machine;

static vs_sim_gpu gpu_of(uint64_t total, uint64_t taken) {
  return (vs_sim_gpu){.profile = vs_sim_profile_find(VS_STR("RTX4090")),
                      .total_bytes = total,
                      .taken_bytes = taken,
                      .context_bytes = 100,
                      .has_context_bytes = true};
}

static void begin(uint64_t total, uint64_t taken) {
  const vs_sim_gpu gpu = gpu_of(total, taken);
  expect_ok(vs_sim_machine_init(&the_machine, &gpu, 1));
}

static uint32_t enter(uint32_t pid) {
  uint32_t slot;
  expect_sim_ok(vs_sim_machine_enter(&the_machine, pid, 1, &slot));
  return slot;
}

/* ---- making -------------------------------------------------------------------------------------------- */

static void a_card_is_its_profile(void **state) {
  (void)state;
  const vs_sim_gpu gpus[] = {{.profile = vs_sim_profile_find(VS_STR("H100"))}, gpu_of(20 * GIB, GIB)};
  expect_ok(vs_sim_machine_init(&the_machine, gpus, 2));
  assert_int_equal(the_machine.card_count, 2);
  assert_string_equal(the_machine.cards[0].name, "NVIDIA H100 80GB HBM3 (simulated)");
  assert_string_equal(the_machine.cards[0].key, "H100");
  assert_int_equal(the_machine.cards[0].figures.total_bytes, 85017493504);
  assert_int_equal(the_machine.cards[0].context_bytes, 552402944);
  assert_int_equal(vs_sim_machine_free_bytes(&the_machine, 0), 85017493504);
  assert_int_equal(the_machine.cards[1].figures.total_bytes, 20 * GIB);
  assert_int_equal(the_machine.cards[1].figures.nvml_total_bytes,
                   20 * GIB + 24564 * MIB - 25386352640); /* + the driver's */
  assert_int_equal(vs_sim_machine_free_bytes(&the_machine, 1), 19 * GIB);
  assert_int_equal(the_machine.cards[1].peak_bytes, 0);
  assert_true(vs_sim_machine_check(&the_machine));
}

static void what_makes_no_machine(void **state) {
  (void)state;
  vs_sim_gpu gpus[VS_SIM_MAX_DEVICES + 1];
  for (int i = 0; i <= VS_SIM_MAX_DEVICES; i++) gpus[i] = gpu_of(GIB, 0);
  expect_status(vs_sim_machine_init(&the_machine, gpus, VS_SIM_MAX_DEVICES + 1), VS_BAD_ARGUMENT);
  expect_ok(vs_sim_machine_init(&the_machine, gpus, VS_SIM_MAX_DEVICES));
  expect_ok(vs_sim_machine_init(&the_machine, NULL, 0));
  assert_true(vs_sim_machine_check(&the_machine));
  gpus[0] = gpu_of(GIB, GIB + 1);
  expect_status(vs_sim_machine_init(&the_machine, gpus, 1), VS_BAD_ARGUMENT);
  gpus[0] = gpu_of(GIB, GIB - 99); /* no room for a context */
  expect_status(vs_sim_machine_init(&the_machine, gpus, 1), VS_BAD_ARGUMENT);
  gpus[0] = gpu_of(UINT64_MAX, 0);
  expect_status(vs_sim_machine_init(&the_machine, gpus, 1), VS_BAD_ARGUMENT);
  gpus[0] = gpu_of(GIB, 0);
  gpus[0].context_bytes = UINT64_MAX;
  expect_status(vs_sim_machine_init(&the_machine, gpus, 1), VS_BAD_ARGUMENT);
  gpus[0].profile = NULL;
  expect_status(vs_sim_machine_init(&the_machine, gpus, 1), VS_BAD_ARGUMENT);
  assert_false(
      vs_sim_machine_is_ours(&the_machine, sizeof the_machine)); /* a failed machine cannot be attached */
}

/* It may be copied and mapped anywhere. */
static void the_block_is_relocatable(void **state) {
  (void)state;
  begin(1000, 0);
  const uint32_t slot = enter(7);
  expect_sim_ok(vs_sim_machine_take(&the_machine, slot, 0, VS_SIM_ACCOUNT_UNKNOWN, 300));
  vs_sim_machine *copy = malloc(sizeof *copy);
  memcpy(copy, &the_machine, sizeof the_machine);
  memset(&the_machine, 0xa5, sizeof the_machine);
  assert_true(vs_sim_machine_is_ours(copy, sizeof *copy) && vs_sim_machine_check(copy));
  expect_sim_ok(vs_sim_machine_take(copy, slot, 0, VS_SIM_ACCOUNT_UNKNOWN, 700));
  expect_sim(vs_sim_machine_take(copy, slot, 0, VS_SIM_ACCOUNT_UNKNOWN, 1), VS_SIM_OUT_OF_MEMORY);
  assert_false(vs_sim_machine_is_ours(copy, sizeof *copy - 1));
  copy->magic ^= 1;
  assert_false(vs_sim_machine_is_ours(copy, sizeof *copy));
  copy->magic ^= 1;
  copy->process_limit = VS_SIM_MAX_PROCESSES + 1;
  assert_false(vs_sim_machine_is_ours(copy, sizeof *copy));
  free(copy);
}

/* ---- taking and giving --------------------------------------------------------------------------------- */

static void two_processes_share_a_card(void **state) {
  (void)state;
  begin(1000, 50);
  const uint32_t a = enter(1), b = enter(2);
  const vs_sim_card *card = &the_machine.cards[0];
  expect_sim_ok(vs_sim_machine_context(&the_machine, a, 0));
  expect_sim_ok(vs_sim_machine_context(&the_machine, a, 0)); /* once is enough */
  assert_int_equal(vs_sim_machine_free_bytes(&the_machine, 0), 850);
  expect_sim_ok(vs_sim_machine_take(&the_machine, a, 0, VS_SIM_ACCOUNT_UNKNOWN, 400));
  expect_sim_ok(vs_sim_machine_context(&the_machine, b, 0));
  expect_sim(vs_sim_machine_take(&the_machine, b, 0, VS_SIM_ACCOUNT_UNKNOWN, 351), VS_SIM_OUT_OF_MEMORY);
  expect_sim_ok(vs_sim_machine_take(&the_machine, b, 0, VS_SIM_ACCOUNT_UNKNOWN, 350));
  assert_int_equal(vs_sim_machine_free_bytes(&the_machine, 0), 0);
  expect_sim(vs_sim_machine_take(&the_machine, a, 0, VS_SIM_ACCOUNT_UNKNOWN, 1), VS_SIM_OUT_OF_MEMORY);
  vs_sim_machine_give(&the_machine, b, 0, VS_SIM_ACCOUNT_UNKNOWN, 350);
  expect_sim_ok(vs_sim_machine_take(&the_machine, a, 0, VS_SIM_ACCOUNT_UNKNOWN, 1));
  assert_int_equal(card->peak_bytes, 950); /* without what "another process" holds */
  assert_int_equal(card->refused_count, 2);
  assert_int_equal(card->largest_refused_bytes, 351);
  assert_int_equal(the_machine.processes[a].use[0].used_bytes, 501);
  assert_int_equal(the_machine.processes[a].use[0].peak_bytes, 501);
  assert_int_equal(the_machine.processes[b].use[0].peak_bytes, 450);
  assert_int_equal(the_machine.processes[b].use[0].used_bytes, 100);
  assert_int_equal(the_machine.processes[b].use[0].refused_count, 1);
  assert_true(vs_sim_machine_check(&the_machine));
}

static void hostile_sizes(void **state) {
  (void)state;
  begin(1000, 0);
  const uint32_t slot = enter(1);
  expect_sim_ok(vs_sim_machine_take(&the_machine, slot, 0, VS_SIM_ACCOUNT_UNKNOWN, 600));
  static const uint64_t sizes[] = {UINT64_MAX, UINT64_MAX - 599, UINT64_MAX / 2, UINT64_C(1) << 63, 401};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    expect_sim(vs_sim_machine_take(&the_machine, slot, 0, VS_SIM_ACCOUNT_UNKNOWN, sizes[i]),
               VS_SIM_OUT_OF_MEMORY);
    expect_sim(vs_sim_machine_context_grow(&the_machine, slot, 0, VS_SIM_ACCOUNT_UNKNOWN, sizes[i]),
               VS_SIM_OUT_OF_MEMORY);
  }
  assert_int_equal(the_machine.processes[slot].use[0].refused_count, 2 * sizeof sizes / sizeof *sizes);
  assert_int_equal(the_machine.processes[slot].use[0].context_refused_count, sizeof sizes / sizeof *sizes);
  expect_sim(vs_sim_machine_take(&the_machine, slot, 1, VS_SIM_ACCOUNT_UNKNOWN, 1), VS_SIM_INVALID_DEVICE);
  expect_sim(vs_sim_machine_take(&the_machine, slot, UINT32_MAX, VS_SIM_ACCOUNT_UNKNOWN, 1),
             VS_SIM_INVALID_DEVICE);
  expect_sim(vs_sim_machine_context(&the_machine, slot, VS_SIM_MAX_DEVICES), VS_SIM_INVALID_DEVICE);
  assert_int_equal(the_machine.cards[0].used_bytes, 700);
  assert_int_equal(the_machine.cards[0].largest_refused_bytes, UINT64_MAX);
  expect_sim_ok(vs_sim_machine_take(&the_machine, slot, 0, VS_SIM_ACCOUNT_UNKNOWN, 0));
  assert_true(vs_sim_machine_check(&the_machine));
}

static void contexts_grow_and_end(void **state) {
  (void)state;
  begin(1000, 0);
  const uint32_t slot = enter(1);
  expect_sim_ok(
      vs_sim_machine_context_grow(&the_machine, slot, 0, VS_SIM_ACCOUNT_UNKNOWN, 50)); /* makes it, too */
  expect_sim_ok(vs_sim_machine_take(&the_machine, slot, 0, VS_SIM_ACCOUNT_UNKNOWN, 200));
  assert_int_equal(the_machine.processes[slot].use[0].context_bytes, 150);
  vs_sim_machine_give(&the_machine, slot, 0, VS_SIM_ACCOUNT_UNKNOWN, 200);
  assert_int_equal(the_machine.cards[0].used_bytes, 150);
  vs_sim_machine_reset(&the_machine, slot, 0);
  assert_int_equal(the_machine.cards[0].used_bytes, 0);
  assert_int_equal(the_machine.processes[slot].use[0].context_bytes, 0);
  expect_sim_ok(vs_sim_machine_take(&the_machine, slot, 0, VS_SIM_ACCOUNT_UNKNOWN, 950));
  expect_sim(vs_sim_machine_context(&the_machine, slot, 0), VS_SIM_OUT_OF_MEMORY);
  assert_int_equal(the_machine.processes[slot].use[0].has_context, 0);
  assert_true(vs_sim_machine_check(&the_machine));
}

static void give_too_much(void) {
  uint32_t slot = 0;
  begin(1000, 0);
  if (vs_sim_machine_enter(&the_machine, 1, 1, &slot) == VS_SIM_OK)
    vs_sim_machine_give(&the_machine, slot, 0, VS_SIM_ACCOUNT_UNKNOWN, 1);
}

static void giving_more_than_was_taken_is_our_mistake(void **state) {
  (void)state;
  expect_trap(give_too_much);
}

/* ---- coming and going ---------------------------------------------------------------------------------- */

static bool is_not_7(void *ctx, uint32_t pid, uint64_t started) {
  ++*(int *)ctx;
  assert_int_equal(started, 1);
  return pid != 7;
}

static void the_dead_give_back(void **state) {
  (void)state;
  begin(1000, 0);
  const uint32_t a = enter(6), b = enter(7);
  int asked = 0;
  expect_sim_ok(vs_sim_machine_context(&the_machine, a, 0));
  expect_sim_ok(vs_sim_machine_context(&the_machine, b, 0));
  expect_sim_ok(vs_sim_machine_take(&the_machine, b, 0, VS_SIM_ACCOUNT_UNKNOWN, 700));
  expect_sim(vs_sim_machine_take(&the_machine, a, 0, VS_SIM_ACCOUNT_UNKNOWN, 200), VS_SIM_OUT_OF_MEMORY);
  assert_int_equal(vs_sim_machine_reap(&the_machine, is_not_7, &asked), 1);
  assert_int_equal(asked, 2);
  expect_sim_ok(vs_sim_machine_take(&the_machine, a, 0, VS_SIM_ACCOUNT_UNKNOWN, 200));
  assert_int_equal(the_machine.cards[0].used_bytes, 300);
  assert_int_equal(the_machine.processes[b].state, VS_SIM_PROCESS_LEFT);
  assert_int_equal(the_machine.processes[b].use[0].peak_bytes, 800); /* stays to be read */
  assert_int_equal(vs_sim_machine_reap(&the_machine, is_not_7, &asked), 0);
  assert_int_equal(asked, 3); /* the dead are not asked again */
  vs_sim_machine_leave(&the_machine, b);
  assert_true(vs_sim_machine_check(&the_machine));
}

static void slots_are_used_again_the_oldest_first(void **state) {
  (void)state;
  begin(1000, 0);
  for (uint32_t i = 0; i < VS_SIM_MAX_PROCESSES; i++) assert_int_equal(enter(100 + i), i);
  uint32_t slot;
  expect_sim(vs_sim_machine_enter(&the_machine, 1, 1, &slot), VS_SIM_DEVICE_UNAVAILABLE);
  expect_sim_ok(vs_sim_machine_take(&the_machine, 5, 0, VS_SIM_ACCOUNT_UNKNOWN, 10));
  vs_sim_machine_leave(&the_machine, 9);
  vs_sim_machine_leave(&the_machine, 5);
  vs_sim_machine_leave(&the_machine, 200);
  assert_int_equal(enter(1), 9);
  assert_int_equal(enter(2), 5);
  assert_int_equal(the_machine.processes[5].use[0].peak_bytes, 0); /* as new */
  assert_int_equal(the_machine.processes[5].pid, 2);
  assert_int_equal(enter(3), 200);
  expect_sim(vs_sim_machine_enter(&the_machine, 1, 1, &slot), VS_SIM_DEVICE_UNAVAILABLE);
  assert_true(vs_sim_machine_check(&the_machine));
}

static uint64_t at_peak(uint32_t slot, uint32_t account) {
  return vs_sim_machine_at_peak(&the_machine, slot, 0, account);
}

/* A naive copy of all accounts at each new peak says what the one that is kept lazily has to say. */
static void accounts_at_the_cards_peak(void **state) {
  (void)state;
  enum { PROCESSES = 3, ACCOUNTS = 5, STEPS = 20000 };
  static uint64_t now[PROCESSES][ACCOUNTS], then[PROCESSES][ACCOUNTS];
  uint64_t random = 1, used = 0, peak = 0;
  begin(1000000, 30);
  for (uint32_t i = 0; i < PROCESSES; i++) assert_int_equal(enter(100 + i), i);
  for (int step = 0; step < STEPS; step++) {
    random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
    const uint32_t slot = (uint32_t)(random >> 33) % PROCESSES, account = (uint32_t)(random >> 40) % ACCOUNTS;
    const uint64_t bytes = (random >> 45) % 1000;
    if ((random >> 60) % 2 == 0) {
      const uint64_t most = bytes < now[slot][account] ? bytes : now[slot][account];
      vs_sim_machine_give(&the_machine, slot, 0, account, most);
      now[slot][account] -= most;
      used -= most;
    } else if (vs_sim_machine_take(&the_machine, slot, 0, account, bytes) == VS_SIM_OK) {
      now[slot][account] += bytes;
      used += bytes;
    }
    if (used > peak) memcpy(then, now, sizeof then);
    peak = used > peak ? used : peak;
    assert_int_equal(the_machine.cards[0].peak_bytes, peak);
    for (uint32_t i = 0; i < PROCESSES; i++)
      for (uint32_t k = 0; k < ACCOUNTS; k++) assert_int_equal(at_peak(i, k), then[i][k]);
  }
  for (uint32_t i = 0; i < PROCESSES; i++) vs_sim_machine_leave(&the_machine, i);
  assert_int_equal(at_peak(1, 3), then[1][3]); /* stays to be read */
  assert_true(then[1][3] != 0 && vs_sim_machine_check(&the_machine));
}

static void the_time_of_a_peak(void **state) {
  (void)state;
  begin(1000, 0);
  const uint32_t slot = enter(1);
  assert_false(vs_sim_machine_has_new_peak(&the_machine));
  expect_sim_ok(vs_sim_machine_take(&the_machine, slot, 0, VS_SIM_ACCOUNT_UNKNOWN, 300));
  assert_true(vs_sim_machine_has_new_peak(&the_machine));
  vs_sim_machine_time_peaks(&the_machine, 11);
  assert_false(vs_sim_machine_has_new_peak(&the_machine));
  vs_sim_machine_give(&the_machine, slot, 0, VS_SIM_ACCOUNT_UNKNOWN, 200);
  expect_sim_ok(vs_sim_machine_take(&the_machine, slot, 0, VS_SIM_ACCOUNT_UNKNOWN, 200)); /* as high again */
  assert_false(vs_sim_machine_has_new_peak(&the_machine));
  vs_sim_machine_time_peaks(&the_machine, 12);
  assert_int_equal(the_machine.cards[0].peak_time_us, 11);
  expect_sim_ok(vs_sim_machine_take(&the_machine, slot, 0, VS_SIM_ACCOUNT_UNKNOWN, 1));
  vs_sim_machine_time_peaks(&the_machine, 13);
  assert_int_equal(the_machine.cards[0].peak_time_us, 13);
}

static void libraries_have_accounts_by_name(void **state) {
  (void)state;
  char name[80] = "";
  begin(1000, 0);
  const uint32_t a = enter(1), b = enter(2), first = VS_SIM_FIXED_ACCOUNTS;
  assert_int_equal(vs_sim_machine_account(&the_machine, a, VS_STR("libc10_cuda.so")), first);
  assert_int_equal(vs_sim_machine_account(&the_machine, a, VS_STR("libb.so")), first + 1);
  assert_int_equal(vs_sim_machine_account(&the_machine, a, VS_STR("libc10_cuda.so")), first);
  assert_int_equal(vs_sim_machine_account(&the_machine, b, VS_STR("libb.so")),
                   first); /* each process has its own */
  assert_true(
      vs_str_equal(vs_sim_machine_account_name(&the_machine.processes[a], first + 1), VS_STR("libb.so")));
  assert_true(vs_str_equal(vs_sim_machine_account_name(&the_machine.processes[a], VS_SIM_ACCOUNT_NCCL),
                           VS_STR("NCCL")));
  assert_int_equal(vs_sim_machine_account(&the_machine, a, VS_STR("")), VS_SIM_ACCOUNT_UNKNOWN);
  memset(name, 'x', sizeof name - 1);
  const uint32_t cut = vs_sim_machine_account(&the_machine, a, vs_str_from(name));
  assert_int_equal(cut, first + 2);
  assert_int_equal(vs_sim_machine_account(&the_machine, a, vs_str_from(name)), cut);
  for (uint32_t i = first + 3; i < VS_SIM_MAX_ACCOUNTS; i++) {
    vs_format(name, sizeof name, "lib%u.so", i);
    assert_int_equal(vs_sim_machine_account(&the_machine, a, vs_str_from(name)), i);
  }
  assert_int_equal(vs_sim_machine_account(&the_machine, a, VS_STR("one.so")), VS_SIM_ACCOUNT_UNKNOWN);
}

/* Each word of a change may be the last one that a process wrote. */
static void repair_after_a_death_in_the_middle(void **state) {
  (void)state;
  begin(1000, 30);
  const uint32_t a = enter(1), b = enter(2);
  expect_sim_ok(vs_sim_machine_context(&the_machine, a, 0));
  expect_sim_ok(vs_sim_machine_take(&the_machine, a, 0, VS_SIM_ACCOUNT_UNKNOWN, 100));
  the_machine.processes[b].use[0].account_bytes[VS_SIM_ACCOUNT_NCCL] = 70; /* taken, no sum knows */
  assert_false(vs_sim_machine_check(&the_machine));
  vs_sim_machine_repair(&the_machine);
  assert_true(vs_sim_machine_check(&the_machine));
  assert_int_equal(the_machine.cards[0].used_bytes, 300);
  assert_int_equal(the_machine.cards[0].peak_bytes, 270); /* without what "another process" holds */
  assert_int_equal(at_peak(b, VS_SIM_ACCOUNT_NCCL), 70);
  assert_int_equal(at_peak(a, VS_SIM_ACCOUNT_CONTEXT), 100);
  the_machine.processes[a].use[0].account_bytes[VS_SIM_ACCOUNT_UNKNOWN] = 0;  /* given back */
  the_machine.processes[a].use[0].account_bytes[VS_SIM_ACCOUNT_CONTEXT] = 40; /* the context in part */
  the_machine.processes[b].state = VS_SIM_PROCESS_LEFT;
  vs_sim_machine_repair(&the_machine);
  assert_true(vs_sim_machine_check(&the_machine));
  assert_int_equal(the_machine.cards[0].used_bytes, 70);
  assert_int_equal(at_peak(b, VS_SIM_ACCOUNT_NCCL), 70); /* it stays to be read */
  the_machine.processes[9].state = VS_SIM_PROCESS_LIVE;  /* entered, the limit not raised */
  assert_false(vs_sim_machine_check(&the_machine));
  vs_sim_machine_repair(&the_machine);
  assert_true(vs_sim_machine_check(&the_machine));
}

static void check_sees(uint64_t *word) {
  const uint64_t was = *word;
  *word += 1;
  assert_false(vs_sim_machine_check(&the_machine));
  *word = was;
  assert_true(vs_sim_machine_check(&the_machine));
}

static void check_has_teeth(void **state) {
  (void)state;
  begin(1000, 0);
  const uint32_t slot = enter(1);
  expect_sim_ok(vs_sim_machine_context(&the_machine, slot, 0));
  expect_sim_ok(vs_sim_machine_take(&the_machine, slot, 0, VS_SIM_ACCOUNT_UNKNOWN, 10));
  check_sees(&the_machine.cards[0].used_bytes);
  check_sees(&the_machine.cards[0].taken_bytes);
  check_sees(&the_machine.processes[slot].use[0].used_bytes);
  check_sees(&the_machine.processes[200].use[0].context_bytes);
  check_sees(&the_machine.processes[slot].use[0].account_bytes[VS_SIM_ACCOUNT_NCCL]);
  check_sees(&the_machine.magic);
  check_sees(&the_machine.size);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_card_is_its_profile),
      cmocka_unit_test(what_makes_no_machine),
      cmocka_unit_test(the_block_is_relocatable),
      cmocka_unit_test(two_processes_share_a_card),
      cmocka_unit_test(hostile_sizes),
      cmocka_unit_test(contexts_grow_and_end),
      cmocka_unit_test(giving_more_than_was_taken_is_our_mistake),
      cmocka_unit_test(the_dead_give_back),
      cmocka_unit_test(slots_are_used_again_the_oldest_first),
      cmocka_unit_test(accounts_at_the_cards_peak),
      cmocka_unit_test(the_time_of_a_peak),
      cmocka_unit_test(libraries_have_accounts_by_name),
      cmocka_unit_test(repair_after_a_death_in_the_middle),
      cmocka_unit_test(check_has_teeth),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
