/* Who has memory: three lists in four layouts as one. */
#include "fake.h"

#include <unistd.h>

/* The processes of a unit as text: "PID KIND MIB[ GI:CI]; ...". */
static const char *listed(const vs_telemetry *telemetry, uint32_t unit, uint32_t kinds) {
  static char text[4096];
  const vs_telemetry_process *list;
  const vs_metric count = telemetry->ops->processes(telemetry->ctx, unit, kinds, &list);
  if (!vs_metric_is_known(count)) return vs_reason_name(count.reason);
  size_t size = 0;
  text[0] = 0;
  for (uint64_t i = 0; i < count.value; i++) {
    const vs_telemetry_process *p = &list[i];
    size += (size_t)snprintf(text + size, sizeof text - size, "%s%u %s ", i == 0 ? "" : "; ", p->pid,
                             vs_process_kind_text(p->kinds));
    if (vs_metric_is_known(p->bytes))
      size += (size_t)snprintf(text + size, sizeof text - size, "%llu",
                               (unsigned long long)(p->bytes.value / MIB));
    else size += (size_t)snprintf(text + size, sizeof text - size, "%s", vs_reason_name(p->bytes.reason));
    if (p->gpu_instance != VS_TELEMETRY_NONE)
      size +=
          (size_t)snprintf(text + size, sizeof text - size, " %d:%d", p->gpu_instance, p->compute_instance);
  }
  return text;
}

static void expect_list(const char *scenario, const char *variant, uint32_t unit, const char *wanted) {
  vs_telemetry telemetry = fake_open_variant(scenario, variant);
  for (int i = 0; i < 2; i++) /* the second time from the rung that worked */
    assert_string_equal(listed(&telemetry, unit, VS_PROCESS_ALL), wanted);
  fake_close(&telemetry);
}

#define LOADED "990 G 524; 41234 C 28234; 41300 C 3584"

static void every_layout_tells_the_same(void **state) {
  (void)state;
  expect_list("h200_loaded", "", 0, LOADED);
  expect_list("missing", "", 0, LOADED); /* version 1 for compute, 2 for graphics */
  expect_list("h200_loaded", "old/", 0, LOADED);
  expect_list("r535", "", 0, LOADED);
}

static void the_rung_that_works_is_kept(void **state) {
  (void)state;
  vs_telemetry telemetry = fake_open("missing");
  (void)listed(&telemetry, 0, VS_PROCESS_COMPUTE);
  const uint64_t before = fake_cost(&telemetry, "nvmlDeviceGetComputeRunningProcesses_v3")->calls;
  assert_int_equal(before, 1);
  (void)listed(&telemetry, 0, VS_PROCESS_COMPUTE);
  assert_int_equal(fake_cost(&telemetry, "nvmlDeviceGetComputeRunningProcesses_v3")->calls, 1);
  assert_int_equal(fake_cost(&telemetry, "nvmlDeviceGetComputeRunningProcesses")->calls, 2);
  fake_close(&telemetry);
}

/* The newest call is there and refuses; after beginning anew it has its turn again. */
static void a_rung_that_refuses_is_left(void **state) {
  (void)state;
  char path[] = "/tmp/vramscope-test-XXXXXX";
  static const char *const texts[] = {
      "returns = nvmlDeviceGetRunningProcessDetailList 3\n"
      "[card]\nname = A\nprotected_memory.total = 1GiB\nprocess = 5 C 7MiB\n",
      "[card]\nname = A\nprotected_memory.total = 1GiB\nprocess = 5 C 7MiB\nprocess = 6 C 8MiB\n"};
  FILE *file = fdopen(mkstemp(path), "w");
  fputs(texts[0], file);
  fclose(file);
  vs_telemetry telemetry;
  vs_telemetry_failure failure;
  setenv("VRAMSCOPE_FAKE_NVML", path, 1);
  expect_ok(vs_nvml_open(vs_host_default(), fake_library(""), &telemetry, &failure));
  const vs_telemetry_cost *detail = fake_cost(&telemetry, "nvmlDeviceGetRunningProcessDetailList");
  for (int i = 0; i < 2; i++) assert_string_equal(listed(&telemetry, 0, VS_PROCESS_COMPUTE), "5 C 7");
  assert_int_equal(detail->calls, 1);
  file = fopen(path, "w");
  fputs(texts[1], file);
  fclose(file);
  expect_ok(telemetry.ops->reopen(telemetry.ctx, &failure));
  assert_string_equal(listed(&telemetry, 0, VS_PROCESS_COMPUTE), "5 C 7; 6 C 8");
  assert_int_equal(detail->calls, 2);
  fake_close(&telemetry);
  unlink(path);
}

/* Drivers 535.43 to 535.86: 32 bytes per entry under the name that elsewhere has 24. */
static void the_trap_of_535_is_seen(void **state) {
  (void)state;
  vs_telemetry telemetry = fake_open("r535");
  assert_string_equal(listed(&telemetry, 0, VS_PROCESS_COMPUTE), "41234 C 28234; 41300 C 3584");
  assert_int_equal(fake_cost(&telemetry, "nvmlDeviceGetComputeRunningProcesses_v2")->calls, 0);
  fake_close(&telemetry);
}

static void a_process_in_two_lists_is_one(void **state) {
  (void)state;
  expect_list("rtx2080", "", 0, "1410 G 310; 2210 C+G 120");
  expect_list("mps", "", 0, "300 C 30; 301 M 4400; 302 M 4500");
}

static void only_the_kinds_asked_for(void **state) {
  (void)state;
  vs_telemetry telemetry = fake_open("rtx2080");
  assert_string_equal(listed(&telemetry, 0, VS_PROCESS_COMPUTE), "2210 C 120");
  assert_string_equal(listed(&telemetry, 0, VS_PROCESS_GRAPHICS), "1410 G 310; 2210 G 40");
  assert_string_equal(listed(&telemetry, 0, VS_PROCESS_MPS), "");
  assert_int_equal(fake_cost(&telemetry, "nvmlDeviceGetComputeRunningProcesses_v3")->calls, 1);
  assert_int_equal(fake_cost(&telemetry, "nvmlDeviceGetGraphicsRunningProcesses_v3")->calls, 1);
  assert_int_equal(fake_cost(&telemetry, "nvmlDeviceGetRunningProcessDetailList")->calls, 0);
  fake_close(&telemetry);
}

static void protected_memory_is_told_where_there_is_some(void **state) {
  (void)state;
  vs_telemetry telemetry = fake_open("protected");
  const vs_telemetry_process *list;
  expect_known(telemetry.ops->processes(telemetry.ctx, 0, VS_PROCESS_ALL, &list), 2);
  expect_known(list[0].bytes, 3 * GIB);
  expect_known(list[0].protected_bytes, 2 * GIB);
  expect_reason(list[1].protected_bytes, VS_REASON_NOT_SUPPORTED, 0);
  assert_int_equal(list[0].gpu_instance, VS_TELEMETRY_NONE);
  fake_close(&telemetry);
  telemetry = fake_open("h200_loaded");
  expect_known(telemetry.ops->processes(telemetry.ctx, 0, VS_PROCESS_ALL, &list), 3);
  expect_reason(list[0].protected_bytes, VS_REASON_NOT_SUPPORTED, 0);
  fake_close(&telemetry);
}

static void unknown_memory_is_no_number(void **state) {
  (void)state;
  expect_list("wsl", "", 0, "18 C NOT_VISIBLE; 33 G NOT_VISIBLE");
  expect_list("wsl", "old/", 0, "18 C NOT_VISIBLE; 33 G NOT_VISIBLE");
}

static void a_part_without_memory_has_processes(void **state) {
  (void)state;
  expect_list("gb10", "", 0, "812 G 180; 3300 C 4200");
}

static void mig_devices_have_their_own(void **state) {
  (void)state;
  expect_list("mig", "", 0, "7001 C 8400 2:0; 7002 C 8400 2:1");
  expect_list("mig", "", 1, "7001 C 8400 2:0");
  expect_list("mig", "", 2, "7002 C 8400 2:1");
  expect_list("mig", "", 3, "");
}

static void who_may_not_look_is_told(void **state) {
  (void)state;
  expect_list("not_permitted", "", 0, "NO_PERMISSION");
  expect_list("mig_not_permitted", "", 0, "NO_PERMISSION");
  expect_list("mig_not_permitted", "", 1, "7001 C 8400 2:0");
  expect_list("h200", "", 0, "");
  expect_list("h200", "", 7, "NOT_FOUND");
}

/* Entries that no layout explains are not shown as something. */
static void nonsense_is_a_failure(void **state) {
  (void)state;
  char path[] = "/tmp/vramscope-test-XXXXXX";
  FILE *file = fdopen(mkstemp(path), "w");
  fputs("[card]\nname = A\nprocess = 0 C 5MiB\nprocess = 4294967295 C 77\n", file);
  fclose(file);
  vs_telemetry telemetry;
  vs_telemetry_failure failure;
  setenv("VRAMSCOPE_FAKE_NVML", path, 1);
  expect_ok(vs_nvml_open(vs_host_default(), fake_library(""), &telemetry, &failure));
  assert_string_equal(listed(&telemetry, 0, VS_PROCESS_ALL), "FAILED");
  fake_close(&telemetry);
  unlink(path);
}

static void many_processes_fit(void **state) {
  (void)state;
  char path[] = "/tmp/vramscope-test-XXXXXX";
  FILE *file = fdopen(mkstemp(path), "w");
  fputs("[card]\nname = A\n", file);
  for (unsigned i = 0; i < 64; i++) fprintf(file, "process = %u C %uMiB\n", 2000 - i * 7, i);
  fclose(file);
  vs_telemetry telemetry;
  vs_telemetry_failure failure;
  setenv("VRAMSCOPE_FAKE_NVML", path, 1);
  expect_ok(vs_nvml_open(vs_host_default(), fake_library(""), &telemetry, &failure));
  const vs_telemetry_process *list;
  expect_known(telemetry.ops->processes(telemetry.ctx, 0, VS_PROCESS_ALL, &list), 64);
  for (unsigned i = 0; i < 64; i++) {
    assert_int_equal(list[i].pid, 2000 - (63 - i) * 7);
    expect_known(list[i].bytes, (63 - i) * MIB);
  }
  fake_close(&telemetry);
  unlink(path);
}

/* ---- the driver's account */

static void the_account_has_those_that_ended(void **state) {
  (void)state;
  vs_telemetry telemetry = fake_open("accounting");
  const vs_telemetry_account *list;
  expect_known(telemetry.ops->accounts(telemetry.ctx, 0, &list), 2);
  assert_int_equal(list[0].pid, 41234);
  assert_true(list[0].is_running);
  expect_known(list[0].gpu_utilization, 97);
  expect_known(list[0].peak_bytes, 28500 * MIB);
  expect_known(list[0].time_us, 61000000);
  assert_int_equal(list[1].pid, 40001);
  assert_false(list[1].is_running);
  expect_known(list[1].memory_utilization, 12);
  expect_known(list[1].start_us, UINT64_C(1781990000000000));
  fake_close(&telemetry);
  telemetry = fake_open("h200");
  expect_known(telemetry.ops->accounts(telemetry.ctx, 0, &list), 0);
  fake_close(&telemetry);
  telemetry = fake_open("gb10");
  expect_reason(telemetry.ops->accounts(telemetry.ctx, 0, &list), VS_REASON_NOT_SUPPORTED, 3);
  assert_null(list);
  fake_close(&telemetry);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_layout_tells_the_same),
      cmocka_unit_test(the_rung_that_works_is_kept),
      cmocka_unit_test(a_rung_that_refuses_is_left),
      cmocka_unit_test(the_trap_of_535_is_seen),
      cmocka_unit_test(a_process_in_two_lists_is_one),
      cmocka_unit_test(only_the_kinds_asked_for),
      cmocka_unit_test(protected_memory_is_told_where_there_is_some),
      cmocka_unit_test(unknown_memory_is_no_number),
      cmocka_unit_test(a_part_without_memory_has_processes),
      cmocka_unit_test(mig_devices_have_their_own),
      cmocka_unit_test(who_may_not_look_is_told),
      cmocka_unit_test(nonsense_is_a_failure),
      cmocka_unit_test(many_processes_fit),
      cmocka_unit_test(the_account_has_those_that_ended),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
