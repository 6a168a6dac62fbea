/* The checks of devices/state.h: true on the machines of tests/fake/scenarios, false for each field that is broken. */
#include "devices/state.h"
#include "unit/devices/machine.h"

static void check_all(vs_devices *devices) {
  assert_true(vs_devices__check(devices));
  for (uint32_t i = 0; i < vs_devices_count(devices); i++) {
    vs_devices_memory memory;
    vs_devices_processes processes;
    expect_ok(vs_devices_memory_of(devices, i, true, &memory));
    assert_true(vs_devices__check_memory(devices, i, &memory));
    expect_ok(vs_devices_memory_of(devices, i, false, &memory));
    assert_true(vs_devices__check_memory(devices, i, &memory));
    expect_ok(vs_devices_processes_of(devices, i, &processes));
    assert_true(vs_devices__check_processes(devices, i, &processes));
  }
  assert_true(vs_devices__check(devices));
}

static void test_scenarios(void **state) {
  static const char *const scenarios[] = {"accounting", "mixed", "mig", "gb10", "sixteen", "mps",
                                          "two_mig",    "lost",  "odd", "wsl",  "r535"};
  (void)state;
  for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++) {
    vs_devices *devices = open_machine(scenarios[i], (vs_devices_options){.order = "PCI_BUS_ID"});
    vs_devices_failure failure;
    check_all(devices);
    expect_ok(vs_devices_refresh(devices, &failure));
    check_all(devices);
    vs_devices_close(devices);
  }
}

/* Changes one place, expects `check` to be false, and restores it. */
#define BREAK(place, value, check)           \
  do {                                       \
    const __typeof__(place) kept_ = (place); \
    assert_true(check);                      \
    (place) = (value);                       \
    assert_false(check);                     \
    (place) = kept_;                         \
    assert_true(check);                      \
  } while (0)

static void test_broken_units(void **state) {
  (void)state;
  vs_devices *devices = open_machine("mig", (vs_devices_options){.order = "PCI_BUS_ID"});
  uint32_t mig = 0;
  while (mig < vs_devices_count(devices) && !devices->units.data[mig].is_mig) mig++;
  assert_in_range(mig, 1, vs_devices_count(devices) - 1);
  vs_devices_info *units = devices->units.data, *device = &units[mig], *card = &units[device->parent];
  BREAK(devices->answers.count, devices->answers.count - 1, vs_devices__check(devices));
  BREAK(device->parent, mig, vs_devices__check(devices));
  BREAK(device->index, device->index + 1, vs_devices__check(devices));
  BREAK(device->is_divided, true, vs_devices__check(devices));
  BREAK(card->is_mig, true, vs_devices__check(devices));
  BREAK(card->gpu_instance, 0, vs_devices__check(devices));
  BREAK(devices->by_cuda.data[0], vs_devices_count(devices), vs_devices__check(devices));
  BREAK(devices->by_cuda.count, 0, vs_devices__check(devices));
  vs_devices_close(devices);
}

static void test_broken_memory(void **state) {
  (void)state;
  vs_devices *devices = open_machine("accounting", (vs_devices_options){.order = "PCI_BUS_ID"});
  vs_devices_memory memory;
  expect_ok(vs_devices_memory_of(devices, 0, true, &memory));
  assert_true(vs_metric_is_known(memory.unattributed));
  BREAK(memory.unattributed.value, memory.unattributed.value + 1,
        vs_devices__check_memory(devices, 0, &memory));
  BREAK(memory.attributed.value, memory.used.value + 1, vs_devices__check_memory(devices, 0, &memory));
  BREAK(memory.used.reason, VS_REASON_FAILED, vs_devices__check_memory(devices, 0, &memory));
  BREAK(memory.shared_with, 1, vs_devices__check_memory(devices, 0, &memory));
  BREAK(memory.is_shared, true, vs_devices__check_memory(devices, 0, &memory));
  assert_false(vs_devices__check_memory(devices, vs_devices_count(devices), &memory));
  vs_devices_close(devices);
}

static void test_broken_processes(void **state) {
  (void)state;
  vs_devices *devices = open_machine("mps", (vs_devices_options){.order = "PCI_BUS_ID"});
  vs_devices_processes list = {.rows = NULL};
  uint32_t unit = 0;
  for (; unit < vs_devices_count(devices); unit++) {
    expect_ok(vs_devices_processes_of(devices, unit, &list));
    if (devices->rows.count >= 2 && vs_metric_is_known(devices->rows.data[1].bytes)) break;
  }
  assert_true(unit < vs_devices_count(devices));
  vs_devices_process *rows = devices->rows.data;
  BREAK(rows[1].pid, rows[0].pid, vs_devices__check_processes(devices, unit, &list)); /* one process twice */
  BREAK(rows[1].bytes.value, rows[0].bytes.value + 1, vs_devices__check_processes(devices, unit, &list));
  BREAK(rows[0].bytes.reason, VS_REASON_NOT_VISIBLE, vs_devices__check_processes(devices, unit, &list));
  BREAK(rows[0].unit, vs_devices_count(devices), vs_devices__check_processes(devices, unit, &list));
  BREAK(rows[0].kinds, 0, vs_devices__check_processes(devices, unit, &list));
  BREAK(rows[0].name, "", vs_devices__check_processes(devices, unit, &list)); /* not in the buffer */
  BREAK(list.count.value, list.count.value + 1, vs_devices__check_processes(devices, unit, &list));
  BREAK(list.rows, rows + 1, vs_devices__check_processes(devices, unit, &list));
  vs_devices_close(devices);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_scenarios),
      cmocka_unit_test(test_broken_units),
      cmocka_unit_test(test_broken_memory),
      cmocka_unit_test(test_broken_processes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
