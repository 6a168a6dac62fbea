/* What a dry run left behind, put together. */
#include "dryrun/gather.h"
#include "dryrun/need.h"
#include "os/folder.h"
#include "support/test.h"
#include <stdio.h>
#include <stdlib.h>

static const uint64_t GiB = UINT64_C(1) << 30;

static vs_sim_machine the_machine; /* large for a stack */
static vs_folder folder;

static int begin(void **state) {
  (void)state;
  vs_error error;
  vs_sim_gpu gpus[2];
  uint32_t count;
  return vs_folder_create(&folder, "vramscope-unit-result-", &error) != VS_OK ||
         vs_sim_gpus_parse(VS_STR("2xL4"), gpus, 2, &count, &error) != VS_OK ||
         vs_sim_machine_init(&the_machine, gpus, count) != VS_OK;
}

static int end(void **state) {
  (void)state;
  vs_folder_remove(&folder);
  return 0;
}

static void put_file(const char *name, const char *text) {
  char path[VS_FOLDER_PATH + 64];
  vs_format(path, sizeof path, "%s/%s", folder.path, name);
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  assert_true(fputs(text, file) >= 0);
  assert_int_equal(fclose(file), 0);
}

/* A process that took `bytes` of a card at most, and is gone. Its number is none that lives. */
static uint32_t add_process(uint32_t pid, uint32_t card, uint64_t bytes) {
  uint32_t slot;
  assert_int_equal(vs_sim_machine_enter(&the_machine, pid, 1, &slot), VS_SIM_OK);
  assert_int_equal(vs_sim_machine_context(&the_machine, slot, card), VS_SIM_OK);
  assert_int_equal(vs_sim_machine_take(&the_machine, slot, card, VS_SIM_ACCOUNT_UNKNOWN, bytes), VS_SIM_OK);
  return slot;
}

enum { GONE = 0x7ffffff0 }; /* above any process number that Linux gives */

static vs_result make_result(const vs_host *host) {
  vs_result result;
  const int64_t pids[] = {GONE, GONE + 1};
  expect_ok(vs_gather(&result, host, &the_machine, folder.path, pids, 2));
  return result;
}

static void test_nothing(void **state) {
  (void)state;
  fault_host fault;
  fault_host_init(&fault, FAULT_NEVER);
  vs_result result = make_result(&fault.host);
  assert_int_equal(result.processes.count, 0);
  assert_int_equal(result.main, SIZE_MAX);
  assert_false(result.cards[0].is_used || result.cards[1].is_used);
  vs_result_deinit(&result);
  fault_host_expect_empty(&fault);
}

static void test_three_processes(void **state) {
  (void)state;
  /* The first is a child that ended well, the second one that was killed, the third a grandchild. */
  vs_sim_machine_leave(&the_machine, add_process(GONE, 0, 3 * GiB));
  (void)add_process(GONE + 1, 0, 5 * GiB);
  (void)add_process(GONE + 2, 1, GiB);
  char name[64];
  vs_format(name, sizeof name, "notes.%d.jsonl", GONE);
  put_file(name,
           "{\"note\":\"start\",\"pid\":1,\"program\":\"train\",\"face\":\"cudart\"}\n{\"note\":\"exit\"}\n");
  vs_format(name, sizeof name, "notes.%d.jsonl", GONE + 1);
  put_file(name, "{\"note\":\"start\",\"pid\":1,\"program\":\"other\",\"face\":\"cudart\"}\n{\"note\":\"re");
  put_file("notes.nonsense.jsonl", "{\"note\":\"guess\",\"what\":\"x\",\"bytes\":1,\"why\":\"\"}\n");
  put_file("stats.12.json.part", "{}");

  fault_host fault;
  fault_host_init(&fault, FAULT_NEVER);
  vs_result result = make_result(&fault.host);
  assert_int_equal(result.processes.count, 3);
  const vs_result_process *processes = result.processes.data;
  for (size_t i = 0; i < 3; i++) assert_int_equal(processes[i].pid, GONE + i);
  assert_int_equal(processes[0].child, 0);
  assert_int_equal(processes[1].child, 1);
  assert_int_equal(processes[2].child, VS_NO_CHILD);
  assert_int_equal(processes[0].end, VS_PROCESS_ENDED);
  assert_int_equal(processes[1].end, VS_PROCESS_KILLED);
  assert_int_equal(processes[2].end, VS_PROCESS_KILLED);
  expect_str(vs_result_string(&result, processes[0].program), "train");
  const uint64_t context = the_machine.cards[0].context_bytes;
  assert_int_equal(processes[0].use[0].driver_peak_bytes, 3 * GiB + context); /* left, and still known */
  assert_int_equal(result.cards[0].driver_peak_bytes, 5 * GiB + context);
  assert_int_equal(result.cards[1].driver_peak_bytes, GiB + context);
  assert_int_equal(result.main, 1);
  assert_int_equal(result.doubts.count, 0);
  vs_result_deinit(&result);
  fault_host_expect_empty(&fault);
}

/* Notes of a guess are sums so far: the last one of a process counts, and processes add up. A bound that one of them does not
 * have is none. */
static void test_guesses(void **state) {
  (void)state;
  static const char *const notes[] = {
      "{\"note\":\"guess\",\"what\":\"a\",\"bytes\":1,\"most\":10,\"why\":\"w\"}\n"
      "{\"note\":\"guess\",\"what\":\"b\",\"bytes\":100,\"most\":200,\"why\":\"w\"}\n"
      "{\"note\":\"guess\",\"what\":\"a\",\"bytes\":5,\"most\":30,\"why\":\"w\"}\n",
      "{\"note\":\"guess\",\"what\":\"a\",\"bytes\":7,\"most\":8,\"why\":\"w\"}\n"
      "{\"note\":\"guess\",\"what\":\"b\",\"bytes\":3,\"why\":\"w\"}\n",
  };
  char name[64];
  for (uint32_t i = 0; i < 2; i++) {
    (void)add_process(GONE + i, 0, GiB);
    vs_format(name, sizeof name, "notes.%d.jsonl", GONE + (int)i);
    put_file(name, notes[i]);
  }
  fault_host fault;
  fault_host_init(&fault, FAULT_NEVER);
  vs_result result = make_result(&fault.host);
  assert_int_equal(result.doubts.count, 2);
  for (size_t i = 0; i < 2; i++) {
    const vs_doubt *doubt = &result.doubts.data[i];
    const bool is_a = vs_str_equal(vs_result_string(&result, doubt->what), VS_STR("a"));
    assert_int_equal(doubt->bytes, is_a ? 12 : 103);
    assert_int_equal(doubt->most, is_a ? 38 : UINT64_MAX);
    assert_int_equal(doubt->count, 2);
  }
  vs_result_deinit(&result);
  fault_host_expect_empty(&fault);
}

/* A process without a byte of a card used the card if it asked for memory of it. */
static void test_refused(void **state) {
  (void)state;
  uint32_t slot;
  assert_int_equal(vs_sim_machine_enter(&the_machine, GONE, 1, &slot), VS_SIM_OK);
  assert_int_equal(vs_sim_machine_take(&the_machine, slot, 1, VS_SIM_ACCOUNT_UNKNOWN, 100 * GiB),
                   VS_SIM_OUT_OF_MEMORY);
  fault_host fault;
  fault_host_init(&fault, FAULT_NEVER);
  vs_result result = make_result(&fault.host);
  const vs_result_process *process = result.processes.data;
  assert_int_equal(result.processes.count, 1);
  assert_true(process->use[1].is_used && !process->use[0].is_used);
  assert_true(result.cards[1].is_used && !result.cards[0].is_used);
  assert_int_equal(process->use[1].driver_peak_bytes, 0);
  assert_int_equal(process->use[1].largest_refused_bytes, 100 * GiB);
  vs_result_deinit(&result);
  fault_host_expect_empty(&fault);
}

/* PyTorch frees memory and asks again where its request is refused, so only its own count says whether that was an error; nobody asks again
 * for the memory of the context. */
static void test_refused_to_pytorch(void **state) {
  (void)state;
  for (uint32_t refused = 0; refused < 2; refused++) {
    uint32_t slot;
    char name[64];
    assert_int_equal(vs_sim_machine_enter(&the_machine, GONE, 1, &slot), VS_SIM_OK);
    assert_int_equal(vs_sim_machine_context(&the_machine, slot, 0), VS_SIM_OK);
    assert_int_equal(vs_sim_machine_take(&the_machine, slot, 0, VS_SIM_ACCOUNT_UNKNOWN, 100 * GiB),
                     VS_SIM_OUT_OF_MEMORY);
    if (refused != 0)
      assert_int_equal(vs_sim_machine_context_grow(&the_machine, slot, 0, VS_SIM_ACCOUNT_UNKNOWN, 100 * GiB),
                       VS_SIM_OUT_OF_MEMORY);
    vs_sim_machine_leave(&the_machine, slot);
    vs_format(name, sizeof name, "stats.%d.json", GONE);
    put_file(name, "{\"devices\":[{\"device\":0,\"card\":0,\"peak_reserved_bytes\":1,\"num_ooms\":0}]}");
    fault_host fault;
    fault_host_init(&fault, FAULT_NEVER);
    vs_result result = make_result(&fault.host);
    assert_int_equal(result.processes.data[0].use[0].refused_count, 1 + refused);
    assert_int_equal(result.refused, refused);
    assert_int_equal(result.ooms, 0);
    vs_result_deinit(&result);
    fault_host_expect_empty(&fault);
    end(state);
    begin(state);
  }
}

/* JAX's pool is three quarters of the card whatever is needed; a card is enough if that share of it is. */
static void test_jax(void **state) {
  (void)state;
  const uint64_t total = the_machine.cards[0].figures.total_bytes;
  char name[64], text[512];
  vs_sim_machine_leave(&the_machine, add_process(GONE, 0, 14 * GiB));
  vs_sim_machine_leave(&the_machine, add_process(GONE + 1, 1, 14 * GiB));
  vs_format(name, sizeof name, "jax.%d.json", GONE);
  vs_format(text, sizeof text,
            "{\"complete\":true,\"devices\":[{\"card\":0,\"peak_bytes_in_use\":%U,\"peak_pool_bytes\":%U,"
            "\"bytes_limit\":%U}]}",
            6 * GiB, 12 * GiB, 12 * GiB);
  put_file(name, text);
  vs_format(name, sizeof name, "jax.%d.json", GONE + 1);
  put_file(name, "{\"devices\":[{\"card\":1,\"peak_bytes_in_use\":18446744073709551615,\"bytes_limit\":1},7],"
                 "\"oom\":{\"asked_bytes\":18446744073709551615}}");
  put_file("jax.7.json", "{\"complete\":false}"); /* of a process that did not use a card */
  fault_host fault;
  fault_host_init(&fault, FAULT_NEVER);
  vs_result result = make_result(&fault.host);
  const uint64_t beside = 2 * GiB + the_machine.cards[0].context_bytes;
  assert_true(vs_pool_is_preallocated(&result.cards[0].pools[VS_POOL_JAX]));
  assert_int_equal(vs_need_with_pools(&result.cards[0]), 6 * GiB + beside);
  assert_false(vs_pool_is_preallocated(&result.cards[1].pools[VS_POOL_JAX]));
  assert_int_equal(result.ooms, 1);
  assert_true(result.oom.is_pool && result.oom.pool == VS_POOL_JAX && result.oom.card == 1);
  const vs_fit_need need = vs_need_of(&result, 0, false), hostile = vs_need_of(&result, 1, false);
  assert_in_range(need.bytes, total / 2 - 1, total / 2 + 1); /* half of the limit was in use */
  assert_int_equal(need.bytes - need.cached_bytes, 6 * GiB + beside);
  assert_int_equal(hostile.least_bytes, UINT64_MAX);
  assert_int_equal(result.doubts.count, 1); /* the second file is not that of an end */
  assert_int_equal(result.doubts.data[0].kind, VS_DOUBT_NOT_RECORDED);
  assert_int_equal(result.processes.count, 2);
  vs_result_deinit(&result);
  fault_host_expect_empty(&fault);
}

/* What can be looked into comes before what is bigger, and an error before both. */
static void test_which_to_look_into(void **state) {
  (void)state;
  (void)add_process(GONE, 0, GiB);
  (void)add_process(GONE + 1, 0, 5 * GiB);
  (void)add_process(GONE + 2, 1, 2 * GiB);
  char name[64];
  vs_format(name, sizeof name, "snapshot.%d.pickle", GONE + 2);
  put_file(name, "");
  fault_host fault;
  fault_host_init(&fault, FAULT_NEVER);
  vs_result result = make_result(&fault.host);
  assert_int_equal(result.processes.data[result.main].pid, GONE + 2);
  vs_result_deinit(&result);
  vs_format(name, sizeof name, "stats.%d.json", GONE);
  put_file(name, "{\"devices\":[{\"device\":0,\"card\":0,\"peak_reserved_bytes\":1,\"num_ooms\":1}]}");
  result = make_result(&fault.host);
  assert_int_equal(result.processes.data[result.main].pid, GONE);
  assert_int_equal(result.ooms, 1);
  vs_result_deinit(&result);
  fault_host_expect_empty(&fault);
}

/* Two that held memory at the same time, as the driver saw, though what they say of their times does not tell. */
static void test_at_the_same_time(void **state) {
  (void)state;
  char name[64], text[512];
  for (uint32_t i = 0; i < 2; i++) {
    (void)add_process(GONE + i, 0, (i + 1) * GiB);
    vs_format(name, sizeof name, "stats.%d.json", GONE + (int)i);
    vs_format(text, sizeof text,
              "{\"complete\":true,\"began\":%u,\"ended\":%u,\"devices\":[{\"device\":0,\"card\":0,"
              "\"peak_allocated_bytes\":1,\"peak_requested_bytes\":1,\"peak_reserved_bytes\":%U}]}",
              10 * i, 10 * i + 5, (i + 1) * GiB);
    put_file(name, text);
  }
  fault_host fault;
  fault_host_init(&fault, FAULT_NEVER);
  vs_result result = make_result(&fault.host);
  assert_int_equal(result.cards[0].torch.peak_reserved_bytes, 3 * GiB);
  assert_int_equal(result.cards[0].contexts, 2);
  vs_result_deinit(&result);
  the_machine.cards[0].peak_bytes =
      2 * GiB + the_machine.cards[0].context_bytes; /* the driver saw one of them at a time */
  result = make_result(&fault.host);
  assert_int_equal(result.cards[0].torch.peak_reserved_bytes, 2 * GiB);
  assert_int_equal(result.cards[0].contexts, 1);
  vs_result_deinit(&result);
  fault_host_expect_empty(&fault);
}

static void test_need(void **state) {
  (void)state;
  (void)add_process(GONE, 0, 6 * GiB);
  char name[64];
  vs_format(name, sizeof name, "stats.%d.json", GONE);
  put_file(name,
           "{\"complete\":true,\"devices\":[{\"device\":0,\"card\":0,\"peak_allocated_bytes\":4294967296,"
           "\"peak_requested_bytes\":4294967290,\"peak_reserved_bytes\":6442450944,\"num_ooms\":0,"
           "\"num_alloc_retries\":0}]}");
  fault_host fault;
  fault_host_init(&fault, FAULT_NEVER);
  vs_result result = make_result(&fault.host);
  const uint64_t context = the_machine.cards[0].context_bytes;
  vs_fit_need need = vs_need_of(&result, 0, false);
  assert_int_equal(need.bytes, 6 * GiB + context);
  assert_int_equal(need.cached_bytes, 2 * GiB);
  assert_int_equal(need.contexts, 1);
  assert_false(need.is_open_ended);
  /* With an error of a request for 20 GiB: the cached part could have gone back. */
  result.ooms = 1;
  result.oom = (vs_result_oom){.is_there = true,
                               .card = 0,
                               .asked_bytes = 20 * GiB,
                               .free_bytes = the_machine.cards[0].figures.total_bytes - (6 * GiB + context),
                               .has_torch = true,
                               .allocated_bytes = 4 * GiB,
                               .reserved_bytes = 6 * GiB};
  need = vs_need_of(&result, 0, false);
  assert_true(need.is_open_ended);
  assert_int_equal(need.least_bytes, 4 * GiB + context + 20 * GiB);
  vs_result_deinit(&result);
  fault_host_expect_empty(&fault);
}

static vs_status read_all(const vs_host *host, void *ctx) {
  (void)ctx;
  vs_result result;
  VS_TRY(vs_gather(&result, host, &the_machine, folder.path, NULL, 0));
  vs_result_deinit(&result);
  return VS_OK;
}

/* A run that ended before the optimizer had its state still tells what all of it takes: 2 + 2 + 2 * 2 bytes here. */
static void test_need_of_training(void **state) {
  (void)state;
  static const char model[] =
      "{\"complete\":true,\"devices\":[],\"model\":{\"parameters\":1000000000,\"parameter_bytes\":2000000000,"
      "\"trainable_bytes\":2000000000,\"gradient_bytes\":0,\"optimizer_bytes\":0,\"optimizer\":\"%s\"}}";
  static const char *const optimizers[] = {"AdamW", "SGD"};
  const uint64_t wanted[] = {UINT64_C(8000000000), 0};
  (void)add_process(GONE, 0, GiB);
  char name[64], text[512];
  vs_format(name, sizeof name, "stats.%d.json", GONE);
  fault_host fault;
  fault_host_init(&fault, FAULT_NEVER);
  for (size_t i = 0; i < 2; i++) {
    vs_format(text, sizeof text, model, optimizers[i]);
    put_file(name, text);
    vs_result result = make_result(&fault.host);
    result.ooms = 1;
    assert_int_equal(vs_need_training_bytes(&result), wanted[i]);
    const uint64_t least = vs_need_of(&result, 0, false).least_bytes,
                   context = the_machine.cards[0].context_bytes;
    assert_int_equal(least, i == 0 ? wanted[0] + context : GiB + context);
    vs_result_deinit(&result);
  }
  fault_host_expect_empty(&fault);
}

static void test_without_memory(void **state) {
  (void)state;
  for (uint32_t i = 0; i < 6; i++) (void)add_process(GONE + i, 0, GiB);
  char name[64];
  vs_format(name, sizeof name, "stats.%d.json", GONE);
  put_file(name, "{\"complete\":true,\"devices\":[{\"device\":0,\"card\":0,\"peak_reserved_bytes\":1}]}");
  vs_format(name, sizeof name, "notes.%d.jsonl", GONE);
  put_file(name, "{\"note\":\"start\",\"program\":\"train\"}\n{\"note\":\"read\",\"id\":1,\"bytes\":4,"
                 "\"frames\":[{\"name\":\"f\","
                 "\"file\":\"/home/me/t.py\",\"line\":3}]}\n{\"note\":\"reads\",\"id\":1,\"count\":5}\n"
                 "{\"note\":\"stuck\",\"id\":1,\"repeats\":500,\"give\":\"t.py:3=zeros\"}\n"
                 "{\"note\":\"given\",\"place\":\"t.py:3=true\",\"count\":1,\"misfits\":0}\n"
                 "{\"note\":\"guess\",\"what\":\"x\",\"bytes\":1,\"why\":\"y\"}\n{\"note\":\"exit\"}\n");
  assert_true(fault_prove(read_all, NULL) > 0);
}

/* Changes one place, expects the check to be false, and restores it. */
#define BREAK(place, value)                  \
  do {                                       \
    const __typeof__(place) kept_ = (place); \
    assert_true(vs_result_check(&result));   \
    (place) = (value);                       \
    assert_false(vs_result_check(&result));  \
    (place) = kept_;                         \
  } while (0)

static void test_check(void **state) {
  (void)state;
  (void)add_process(GONE, 0, 3 * GiB);
  (void)add_process(GONE + 1, 0, 5 * GiB);
  vs_result result = make_result(vs_host_default());
  BREAK(result.main, 2);
  BREAK(result.main, SIZE_MAX);
  BREAK(result.processes.data[1].pid, GONE);
  BREAK(result.cards[0].is_used, false);
  BREAK(result.cards[0].contexts, 3);
  BREAK(result.card_count, 1);
  result.oom.is_there = true;
  BREAK(result.oom.card, 2);
  assert_non_null(vs_result_doubt_of(&result, VS_DOUBT_GUESS, VS_STR("a"), VS_STR("why"), -1));
  assert_non_null(vs_result_doubt_of(&result, VS_DOUBT_GUESS, VS_STR("b"), VS_STR("why"), -1));
  BREAK(result.doubts.data[1].what, result.doubts.data[0].what);
  vs_result_deinit(&result);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_nothing, begin, end),
      cmocka_unit_test_setup_teardown(test_check, begin, end),
      cmocka_unit_test_setup_teardown(test_three_processes, begin, end),
      cmocka_unit_test_setup_teardown(test_guesses, begin, end),
      cmocka_unit_test_setup_teardown(test_refused, begin, end),
      cmocka_unit_test_setup_teardown(test_refused_to_pytorch, begin, end),
      cmocka_unit_test_setup_teardown(test_jax, begin, end),
      cmocka_unit_test_setup_teardown(test_which_to_look_into, begin, end),
      cmocka_unit_test_setup_teardown(test_at_the_same_time, begin, end),
      cmocka_unit_test_setup_teardown(test_need, begin, end),
      cmocka_unit_test_setup_teardown(test_need_of_training, begin, end),
      cmocka_unit_test_setup_teardown(test_without_memory, begin, end),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
