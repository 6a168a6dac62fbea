/* Memory, processes and politeness, on the machines of tests/fake/scenarios. */
#include "unit/devices/machine.h"

#include "os/process.h"

#include <unistd.h>

static vs_devices_memory memory_of(vs_devices *devices, uint32_t unit, bool with_processes) {
  vs_devices_memory memory;
  expect_ok(vs_devices_memory_of(devices, unit, with_processes, &memory));
  return memory;
}

/* The captured H200: 614 MiB reserved, and 20 MiB that no process has. */
static void test_memory_adds_up(void **state) {
  (void)state;
  vs_devices *devices = open_machine("h200_loaded", (vs_devices_options){0});
  vs_devices_memory memory = memory_of(devices, 0, false);
  assert_int_equal(memory.api, 2);
  expect_known(memory.total, 143771 * MIB);
  expect_known(memory.used, 32362 * MIB);
  expect_known(memory.reserved, 643301376);
  expect_known(memory.free, 143771 * MIB - 32362 * MIB - 643301376);
  expect_reason(memory.attributed, VS_REASON_NOT_SAMPLED);
  expect_reason(memory.unattributed, VS_REASON_NOT_SAMPLED);
  assert_int_equal(memory.shared_with, 0);
  assert_false(memory.is_shared || memory.is_approximate);
  memory = memory_of(devices, 0, true);
  expect_known(memory.attributed, 32342 * MIB);
  expect_known(memory.unattributed, 20 * MIB);
  expect_known(vs_devices_used_fast(devices, 0), 32362 * MIB);
  expect_reason(vs_devices_used_fast(devices, 1), VS_REASON_NOT_FOUND);
  expect_status(vs_devices_memory_of(devices, 1, false, &memory), VS_BAD_ARGUMENT);
  vs_devices_close(devices);
}

/* Without the second memory call the reserve is part of `used`, and its size is unknown. */
static void test_old_memory_call(void **state) {
  (void)state;
  vs_devices *devices = open_machine("missing", (vs_devices_options){0});
  const vs_devices_memory memory = memory_of(devices, 0, false);
  assert_int_equal(memory.api, 1);
  expect_reason(memory.reserved, VS_REASON_NOT_SUPPORTED);
  expect_known(memory.used, 32362 * MIB + 643301376);
  assert_int_equal(memory.used.value + memory.free.value, memory.total.value);
  vs_devices_close(devices);
}

static void test_unknown(void **state) {
  (void)state;
  vs_devices *devices = open_machine("wsl", (vs_devices_options){0});
  vs_devices_memory memory = memory_of(devices, 0, true);
  expect_known(memory.used, 512 * MIB);
  expect_reason(memory.attributed, VS_REASON_NOT_VISIBLE); /* ~0 bytes are no bytes */
  expect_reason(memory.unattributed, VS_REASON_NOT_VISIBLE);
  vs_devices_close(devices);

  devices = open_machine("mig_not_permitted", (vs_devices_options){0});
  memory = memory_of(devices, 0, true);
  expect_reason(memory.total, VS_REASON_NO_PERMISSION);
  expect_reason(memory.used, VS_REASON_NO_PERMISSION);
  expect_reason(memory.attributed, VS_REASON_NO_PERMISSION);
  expect_reason(memory.unattributed, VS_REASON_NO_PERMISSION);
  assert_false(info_of(devices, 0).is_unified);
  vs_devices_close(devices);

  devices = open_machine("lost", (vs_devices_options){0});
  memory = memory_of(devices, 1, true);
  expect_reason(memory.free, VS_REASON_LOST);
  expect_reason(memory.attributed, VS_REASON_LOST);
  vs_devices_close(devices);
}

/* Two questions are of two moments: what contradicts itself even when asked again is not made to add up. */
static void test_grace(void **state) {
  (void)state;
  vs_devices *devices = open_machine("grace", (vs_devices_options){0});
  const vs_devices_memory memory = memory_of(devices, 0, true);
  assert_true(memory.is_approximate);
  expect_known(memory.used, 1024 * MIB);
  expect_known(memory.attributed, 2048 * MIB);
  expect_reason(memory.unattributed, VS_REASON_STALE);
  vs_devices_close(devices);
}

/* Memory of a GPU instance is shared by its compute instances. */
static void test_mig(void **state) {
  uint32_t unit;
  uint64_t bytes;
  (void)state;
  vs_devices *devices = open_machine("mig", (vs_devices_options){0});
  assert_int_equal(vs_devices_count(devices), 4);
  assert_int_equal(memory_of(devices, 0, false).shared_with, 0);
  assert_int_equal(memory_of(devices, 1, false).shared_with, 1);
  assert_int_equal(memory_of(devices, 2, false).shared_with, 1);
  assert_int_equal(memory_of(devices, 3, false).shared_with, 3);
  expect_known(memory_of(devices, 2, false).total, 71424 * MIB);
  expect_known(memory_of(devices, 2, true).attributed, 16800 * MIB); /* of both of the instance */
  expect_known(memory_of(devices, 2, true).unattributed, 125 * MIB);
  expect_known(memory_of(devices, 3, true).attributed, 0);
  expect_ok(vs_devices_most_free(devices, false, &unit, &bytes));
  assert_int_equal(unit, 1); /* not the card, on which nothing can run, and the first of equals */
  assert_int_equal(bytes, (71424 - 16925) * MIB);

  vs_devices_processes processes;
  expect_ok(vs_devices_processes_of(devices, 0, &processes));
  expect_known(processes.count, 2);
  assert_int_equal(processes.rows[0].pid, 7001);
  assert_int_equal(processes.rows[0].unit, 1);
  assert_int_equal(processes.rows[1].unit, 2);
  expect_ok(vs_devices_processes_of(devices, 2, &processes));
  expect_known(processes.count, 1);
  assert_int_equal(processes.rows[0].pid, 7002);
  assert_int_equal(processes.rows[0].compute_instance, 1);
  vs_devices_close(devices);
}

/* GPU instances of two cards may have one number. */
static void test_two_divided_cards(void **state) {
  vs_devices_processes processes;
  (void)state;
  vs_devices *devices = open_machine("two_mig", (vs_devices_options){0});
  assert_int_equal(vs_devices_count(devices), 6);
  assert_true(info_of(devices, 4).is_divided && info_of(devices, 5).is_mig);
  expect_ok(vs_devices_processes_of(devices, 4, &processes));
  expect_known(processes.count, 1);
  assert_int_equal(processes.rows[0].pid, 8001);
  assert_int_equal(processes.rows[0].unit, 5);
  assert_int_equal(memory_of(devices, 5, false).shared_with, 5);
  expect_known(memory_of(devices, 5, true).attributed, 1000 * MIB);
  vs_devices_close(devices);
}

/* No memory of its own: the machine's, and of it only what processes hold is used. */
static void test_unified(void **state) {
  vs_folder folder;
  uint32_t unit;
  uint64_t bytes;
  (void)state;
  made_proc_begin(&folder);
  vs_devices *devices = open_machine("gb10", (vs_devices_options){.proc = folder.path});
  assert_true(info_of(devices, 0).is_unified);
  vs_devices_memory memory = memory_of(devices, 0, false);
  assert_true(memory.is_shared);
  assert_int_equal(memory.api, 0);
  expect_known(memory.total, UINT64_C(64) << 30);
  expect_known(memory.free, UINT64_C(40) << 30);
  expect_reason(memory.used, VS_REASON_NOT_SAMPLED);
  expect_reason(memory.reserved, VS_REASON_NOT_SUPPORTED);
  memory = memory_of(devices, 0, true);
  expect_known(memory.used, 4380 * MIB); /* not MemTotal - MemAvailable, which is the whole machine's */
  expect_known(memory.attributed, 4380 * MIB);
  expect_reason(memory.unattributed, VS_REASON_NOT_SUPPORTED);
  expect_reason(vs_devices_used_fast(devices, 0), VS_REASON_NOT_SUPPORTED);
  expect_ok(vs_devices_most_free(devices, false, &unit, &bytes));
  assert_int_equal(unit, 0);
  assert_int_equal(bytes, UINT64_C(40) << 30);
  vs_devices_close(devices);
  devices = open_machine("gb10", (vs_devices_options){.proc = "/not/there"});
  expect_reason(memory_of(devices, 0, false).total, VS_REASON_FAILED);
  expect_ok(vs_devices_most_free(devices, false, &unit, &bytes));
  assert_int_equal(unit, VS_DEVICES_NONE);
  assert_int_equal(bytes, 0);
  vs_devices_close(devices);
  vs_folder_remove(&folder);
}

static void test_most_free(void **state) {
  uint32_t unit;
  uint64_t bytes;
  (void)state;
  vs_devices *devices = open_machine("two", (vs_devices_options){.visible = "1"});
  expect_ok(vs_devices_most_free(devices, false, &unit, &bytes));
  assert_int_equal(unit, 0);
  expect_ok(vs_devices_most_free(devices, true, &unit, &bytes)); /* CUDA offers the full one only */
  assert_int_equal(unit, 1);
  assert_int_equal(bytes, 143771 * MIB - 643301376 - 28010 * MIB);
  vs_devices_close(devices);
  devices = open_machine("mixed", (vs_devices_options){0});
  expect_status(vs_devices_most_free(devices, true, &unit, &bytes), VS_UNSUPPORTED);
  vs_devices_close(devices);
  devices = open_machine("none", (vs_devices_options){0});
  expect_ok(vs_devices_most_free(devices, false, &unit, &bytes));
  assert_int_equal(unit, VS_DEVICES_NONE);
  vs_devices_close(devices);
}

/* ---- processes */

static void test_processes_of_the_machine(void **state) {
  vs_folder folder;
  vs_devices_processes processes;
  (void)state;
  made_proc_begin(&folder);
  made_proc_process(&folder,
                    &(made_process){.pid = 41234,
                                    .arguments = "python3|train.py|",
                                    .numbers = "41234\t17",
                                    .start_ticks = 100,
                                    .groups = "0::/docker/3f2a9c1e5b7d3f2a9c1e5b7d3f2a9c1e5b7d3f2a9c1e5b7d3"
                                              "f2a9c1e5b7d3f2a\n"});
  made_proc_process(&folder, &(made_process){.pid = 990, .name = "Xorg", .user = 3999999999u});
  vs_devices *devices = open_machine("h200_loaded", (vs_devices_options){.proc = folder.path});
  expect_ok(vs_devices_processes_of(devices, 0, &processes));
  expect_known(processes.count, 3);
  assert_false(processes.may_miss);
  const vs_devices_process *row = processes.rows; /* by falling bytes */
  assert_int_equal(row[0].pid, 41234);
  expect_known(row[0].bytes, 28234 * MIB);
  assert_string_equal(row[0].kind, "C");
  assert_int_equal(row[0].kinds, VS_DEVICES_COMPUTE);
  assert_int_equal(row[0].gpu_instance, VS_DEVICES_NONE);
  assert_true(row[0].is_visible);
  assert_false(row[0].is_self);
  assert_int_equal(row[0].inner_pid, 17);
  assert_int_equal(row[0].start_us, UINT64_C(1000001000000));
  assert_int_equal(row[0].user_id, 0);
  assert_string_equal(row[0].user, "root");
  assert_string_equal(row[0].name, "python3");
  assert_string_equal(row[0].command, "python3 train.py");
  assert_string_equal(row[0].program, "python3");
  assert_string_equal(row[0].container, "3f2a9c1e5b7d");
  assert_int_equal(row[1].pid, 41300); /* gone meanwhile, or never here */
  assert_false(row[1].is_visible);
  assert_string_equal(row[1].user, "");
  assert_string_equal(row[1].command, "");
  assert_string_equal(row[1].program, "");
  assert_int_equal(row[1].user_id, VS_DEVICES_NONE);
  assert_string_equal(row[2].kind, "G");
  assert_string_equal(row[2].name, "Xorg");
  assert_string_equal(row[2].user, "3999999999");
  vs_devices_close(devices);
  vs_folder_remove(&folder);
}

/* In a container the numbers are the host's: one that is here too proves nothing by itself. */
static void test_processes_in_a_container(void **state) {
  vs_folder folder;
  vs_devices_processes processes;
  (void)state;
  made_proc_begin(&folder);
  made_proc_namespace(&folder, "pid:[4026532500]");
  made_proc_process(&folder,
                    &(made_process){.pid = 41234, .name = "cron", .maps = "7f00 r-xp /usr/lib/libc.so.6\n"});
  made_proc_process(&folder, &(made_process){.pid = 41300, .maps = "7f00 rw-s /dev/nvidia-uvm\n"});
  vs_devices *devices = open_machine("h200_loaded", (vs_devices_options){.proc = folder.path});
  expect_ok(vs_devices_processes_of(devices, 0, &processes));
  assert_true(processes.may_miss);
  assert_false(processes.rows[0].is_visible); /* cron has no GPU */
  assert_string_equal(processes.rows[0].name, "");
  assert_true(processes.rows[1].is_visible);
  vs_devices_close(devices);
  vs_folder_remove(&folder);
}

/* Looking again and again takes no more memory than looking. */
static void test_rows_are_written_over(void **state) {
  vs_folder folder;
  vs_devices_processes processes;
  fault_host host;
  (void)state;
  made_proc_begin(&folder);
  made_proc_process(&folder, &(made_process){.pid = 41234, .arguments = "python3|train.py|"});
  fault_host_init(&host, FAULT_NEVER);
  vs_devices *devices =
      open_machine("h200_loaded", (vs_devices_options){.proc = folder.path, .host = &host.host});
  expect_ok(vs_devices_processes_of(devices, 0, &processes));
  const uint64_t bytes = host.live_bytes;
  for (int i = 0; i < 100; i++) expect_ok(vs_devices_processes_of(devices, 0, &processes));
  assert_int_equal(host.live_bytes, bytes);
  assert_string_equal(processes.rows[0].command, "python3 train.py");
  vs_devices_close(devices);
  fault_host_expect_empty(&host);
  vs_folder_remove(&folder);
}

static void test_process_kinds(void **state) {
  vs_devices_processes processes;
  (void)state;
  vs_devices *devices = open_machine("rtx2080", (vs_devices_options){0});
  expect_ok(vs_devices_processes_of(devices, 0, &processes));
  expect_known(processes.count, 2);
  assert_int_equal(processes.rows[0].pid, 1410);
  assert_string_equal(processes.rows[1].kind, "C+G");
  assert_true(processes.may_miss); /* unknown: there is no /proc */
  vs_devices_close(devices);
  devices = open_machine("wsl", (vs_devices_options){0});
  expect_ok(vs_devices_processes_of(devices, 0, &processes));
  expect_known(processes.count, 2);
  expect_reason(processes.rows[0].bytes, VS_REASON_NOT_VISIBLE);
  assert_int_equal(processes.rows[0].pid, 18); /* unknown ones by number */
  vs_devices_close(devices);
  devices = open_machine("mig_not_permitted", (vs_devices_options){0});
  expect_ok(vs_devices_processes_of(devices, 0, &processes));
  expect_reason(processes.count, VS_REASON_NO_PERMISSION);
  expect_status(vs_devices_processes_of(devices, 9, &processes), VS_BAD_ARGUMENT);
  vs_devices_close(devices);
}

static void test_accounts(void **state) {
  vs_devices_accounts accounts;
  (void)state;
  vs_devices *devices = open_machine("accounting", (vs_devices_options){0});
  expect_ok(vs_devices_accounts_of(devices, 0, &accounts));
  expect_known(accounts.count, 2);
  const uint32_t ended = accounts.rows[0].is_running ? 1 : 0;
  assert_int_equal(accounts.rows[ended].pid, 40001);
  assert_false(accounts.rows[ended].is_running);
  expect_known(accounts.rows[ended].peak_bytes, 70000 * MIB);
  expect_known(accounts.rows[ended].time_us, UINT64_C(3600000000));
  expect_status(vs_devices_accounts_of(devices, 3, &accounts), VS_BAD_ARGUMENT);
  vs_devices_close(devices);
  devices = open_machine("h200", (vs_devices_options){0});
  expect_ok(vs_devices_accounts_of(devices, 0, &accounts));
  assert_true(!vs_metric_is_known(accounts.count) || accounts.count.value == 0);
  vs_devices_close(devices);
}

/* ---- politeness */

static uint64_t given_time(void *ctx) { return *(const uint64_t *)ctx; }

static uint64_t calls_of(const vs_devices *devices, const char *part) {
  vs_devices_cost costs[512];
  const size_t count = vs_devices_costs(devices, costs, 512);
  uint64_t calls = 0;
  for (size_t i = 0; i < count; i++)
    if (vs_str_contains(vs_str_from(costs[i].function), vs_str_from(part))) calls += costs[i].calls;
  return calls;
}

static void test_slow_figures_are_spaced(void **state) {
  uint64_t now = 5000;
  (void)state;
  vs_devices *devices =
      open_machine("h200", (vs_devices_options){.clock = given_time, .clock_ctx = &now, .slow_us = 1000});
  const vs_metric_id slow = VS_METRIC_ID_ECC_UNCORRECTED_VOLATILE_TOTAL;
  assert_int_equal(vs_metric_describe(slow)->cost, VS_METRIC_SLOW);
  expect_known(vs_devices_metric(devices, 0, slow), 0);
  const uint64_t calls = calls_of(devices, "Ecc");
  assert_int_not_equal(calls, 0);
  now += 999;
  expect_known(vs_devices_metric(devices, 0, slow), 0);
  assert_int_equal(calls_of(devices, "Ecc"), calls); /* the last answer again */
  assert_int_equal(vs_devices_spared(devices), 1);
  now += 1;
  expect_known(vs_devices_metric(devices, 0, slow), 0);
  assert_int_equal(calls_of(devices, "Ecc"), 2 * calls);
  assert_int_equal(vs_devices_spared(devices), 1);
  vs_devices_close(devices);
}

static void test_locks_are_asked_for(void **state) {
  (void)state;
  vs_devices *devices = open_machine("h200", (vs_devices_options){0});
  expect_reason(vs_devices_metric(devices, 0, VS_METRIC_ID_PCIE_SENT), VS_REASON_NOT_SAMPLED);
  assert_int_equal(calls_of(devices, "PcieThroughput"), 0);
  assert_int_equal(vs_devices_spared(devices), 1);
  vs_devices_close(devices);
  devices = open_machine("h200", (vs_devices_options){.with_locks = true});
  assert_true(vs_metric_is_known(vs_devices_metric(devices, 0, VS_METRIC_ID_PCIE_SENT)));
  assert_int_not_equal(calls_of(devices, "PcieThroughput"), 0);
  vs_devices_close(devices);
}

static void test_many_at_once(void **state) {
  static const vs_metric_id ids[] = {VS_METRIC_ID_MEMORY_TOTAL,    VS_METRIC_ID_PCIE_SENT,
                                     VS_METRIC_ID_MEMORY_USED,     (vs_metric_id)9999,
                                     VS_METRIC_ID_UTILIZATION_GPU, VS_METRIC_ID_FAN_SPEED};
  vs_metric told[6];
  char text[VS_METRIC_TEXT_SIZE];
  (void)state;
  vs_devices *devices = open_machine("h200_loaded", (vs_devices_options){0});
  const uint64_t before = calls_of(devices, "GetMemoryInfo");
  vs_devices_metrics(devices, 0, ids, 6, told);
  expect_known(told[0], 143771 * MIB);
  expect_reason(told[1], VS_REASON_NOT_SAMPLED);
  expect_known(told[2], 32362 * MIB);
  expect_reason(told[3], VS_REASON_NOT_FOUND);
  expect_known(told[4], 97);
  expect_reason(told[5], VS_REASON_NOT_SUPPORTED);
  assert_int_equal(calls_of(devices, "GetMemoryInfo"), before + 1); /* of one instant */
  vs_devices_metrics(devices, 7, ids, 6, told);
  expect_reason(told[0], VS_REASON_NOT_FOUND);
  assert_int_equal(vs_devices_text(devices, 0, VS_METRIC_TEXT_ID_VBIOS_VERSION, text).value, 14);
  assert_string_equal(text, "96.00.A5.00.03");
  expect_reason(vs_devices_text(devices, 7, VS_METRIC_TEXT_ID_NAME, text), VS_REASON_NOT_FOUND);
  assert_string_equal(text, "");
  vs_devices_close(devices);
}

/* The most expensive first, and none is left out. */
static void test_costs(void **state) {
  vs_devices_cost costs[512];
  (void)state;
  vs_devices *devices = open_machine("slow", (vs_devices_options){0});
  (void)memory_of(devices, 0, true);
  const size_t count = vs_devices_costs(devices, costs, 512);
  assert_true(count > 20 && count <= 512);
  assert_true(costs[0].total_ns >= UINT64_C(30000000) && costs[0].most_ns <= costs[0].total_ns);
  for (size_t i = 1; i < count; i++) assert_true(costs[i].total_ns <= costs[i - 1].total_ns);
  vs_devices_cost first = {0};
  assert_int_equal(vs_devices_costs(devices, &first, 1), count);
  assert_string_equal(first.function, costs[0].function);
  vs_devices_close(devices);

  vs_devices_options options = {.nvml = fake_library("old/libnvidia-ml.so.1"), .proc = "/not/there"};
  set_machine("h200_loaded");
  expect_ok(vs_devices_open(&options, &devices, NULL));
  uint64_t missing = 0;
  const size_t old_count = vs_devices_costs(devices, costs, 512);
  for (size_t i = 0; i < old_count; i++) missing += costs[i].is_missing;
  assert_true(missing > 0 && missing < old_count);
  vs_devices_close(devices);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_memory_adds_up),
      cmocka_unit_test(test_old_memory_call),
      cmocka_unit_test(test_unknown),
      cmocka_unit_test(test_grace),
      cmocka_unit_test(test_mig),
      cmocka_unit_test(test_two_divided_cards),
      cmocka_unit_test(test_unified),
      cmocka_unit_test(test_most_free),
      cmocka_unit_test(test_processes_of_the_machine),
      cmocka_unit_test(test_processes_in_a_container),
      cmocka_unit_test(test_rows_are_written_over),
      cmocka_unit_test(test_process_kinds),
      cmocka_unit_test(test_accounts),
      cmocka_unit_test(test_slow_figures_are_spaced),
      cmocka_unit_test(test_locks_are_asked_for),
      cmocka_unit_test(test_many_at_once),
      cmocka_unit_test(test_costs),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
