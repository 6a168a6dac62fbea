/* The devices of a machine with each request for host memory failing once: an error, nothing lost, and it goes on. */
#include "devices/state.h"
#include "support/made_proc.h"
#include "support/test.h"

#include <vramscope/devices.h>

#include <stdlib.h>

typedef struct machine {
  char library[512];
  vs_folder proc;
} machine;

static vs_status look(vs_devices *devices) {
  vs_devices_memory memory;
  vs_devices_processes processes;
  vs_devices_accounts accounts;
  uint32_t units[8], unit;
  size_t count;
  uint64_t bytes;
  vs_error error;
  for (uint32_t i = 0; i < vs_devices_count(devices); i++) {
    VS_TRY(vs_devices_memory_of(devices, i, true, &memory));
    assert_true(vs_devices__check_memory(devices, i, &memory));
    VS_TRY(vs_devices_processes_of(devices, i, &processes));
    assert_true(vs_devices__check_processes(devices, i, &processes));
    VS_TRY(vs_devices_accounts_of(devices, i, &accounts));
    (void)vs_devices_metric(devices, i, VS_METRIC_ID_FAN_SPEED);
  }
  VS_TRY(vs_devices_select(devices, "all,cuda:0", units, 8, &count, &error));
  assert_true(count != 0);
  return vs_devices_most_free(devices, true, &unit, &bytes);
}

static vs_status live(const vs_host *host, void *ctx) {
  const machine *on = ctx;
  vs_devices *devices;
  vs_devices_failure failure;
  const vs_devices_options options = {
      .host = host, .nvml = on->library, .proc = on->proc.path, .order = "PCI_BUS_ID", .with_locks = true};
  const vs_status opened = vs_devices_open(&options, &devices, &failure);
  if (opened != VS_OK) {
    assert_int_equal(failure.status, opened);
    assert_string_not_equal(failure.text, "");
    return opened;
  }
  vs_status status = look(devices);
  assert_true(vs_devices__check(devices)); /* after a failure too */
  if (status == VS_OK) status = vs_devices_refresh(devices, &failure);
  assert_true(vs_devices__check(devices));
  if (status == VS_OK) status = look(devices);
  vs_devices_close(devices);
  return status;
}

static void test_no_memory(void **state) {
  static const char *const scenarios[] = {"accounting", "mixed", "mig", "gb10", "sixteen"};
  machine on;
  char scenario[256];
  (void)state;
  const char *folder = getenv("VRAMSCOPE_FAKE");
  assert_non_null(folder);
  vs_format(on.library, sizeof on.library, "%s/libnvidia-ml.so.1", folder);
  assert_int_equal(setenv("CUDA_VISIBLE_DEVICES", "0", 1), 0);
  made_proc_begin(&on.proc);
  made_proc_process(&on.proc, &(made_process){.pid = 41234, .arguments = "python3|train.py|"});
  made_proc_process(&on.proc, &(made_process){.pid = 7001, .user = 3999999999u});
  for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++) {
    vs_format(scenario, sizeof scenario, "tests/fake/scenarios/%s.txt", scenarios[i]);
    assert_int_equal(setenv("VRAMSCOPE_FAKE_NVML", scenario, 1), 0);
    assert_in_range(fault_prove(live, &on), 8, 1000);
  }
  vs_folder_remove(&on.proc);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_no_memory)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
