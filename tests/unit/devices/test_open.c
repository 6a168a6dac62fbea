/* Opening, what is said where it fails, and what is known of the driver. */
#include "unit/devices/machine.h"

#include <stdio.h>

static void expect_failure(const char *scenario, const char *proc, vs_status status, int32_t code,
                           const char *text, vs_devices_failure *failure) {
  vs_devices *devices = (vs_devices *)1;
  set_machine(scenario);
  const vs_devices_options options = {.nvml = fake_library("libnvidia-ml.so.1"), .proc = proc};
  expect_status(vs_devices_open(&options, &devices, failure), status);
  assert_null(devices);
  assert_int_equal(failure->status, status);
  assert_int_equal(failure->code, code);
  assert_string_equal(failure->text, text);
}

/* The loader's words differ from system to system: only our part is held. */
static void test_no_library(void **state) {
  vs_folder folder;
  vs_devices *devices;
  vs_devices_failure failure;
  (void)state;
  made_proc_begin(&folder);
  vs_devices_options options = {.nvml = "/not/there/libnvidia-ml.so.1", .proc = folder.path};
  expect_status(vs_devices_open(&options, &devices, &failure), VS_NOT_FOUND);
  assert_int_equal(failure.code, 12);
  assert_true(vs_str_contains(vs_str_from(failure.text), VS_STR("there is no NVIDIA driver here")));
  expect_known(failure.driver.is_pid_hidden, 0);

  /* The kernel module is loaded, but the library was not given to the container. */
  made_proc_file(
      &folder, "driver/nvidia/version",
      "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  590.48.01  Release Build  (build@host)\n"
      "GCC version:  gcc version 13.2.0\n");
  expect_status(vs_devices_open(&options, &devices, &failure), VS_NOT_FOUND);
  assert_true(vs_str_contains(vs_str_from(failure.text), VS_STR("docker run --gpus all")));
  assert_string_equal(failure.driver.kernel_version, "590.48.01");
  expect_status(vs_devices_open(&options, &devices, NULL), VS_NOT_FOUND);
  vs_folder_remove(&folder);
}

static void test_driver_refuses(void **state) {
  vs_folder folder;
  vs_devices_failure failure;
  (void)state;
  made_proc_begin(&folder);
  expect_failure("no_driver", folder.path, VS_NOT_FOUND, 9, "the driver is not loaded", &failure);
  assert_false(failure.driver.versions_differ);
  expect_failure("no_permission_init", folder.path, VS_DEVICE, 4,
                 "no permission: may this user open /dev/nvidiactl?", &failure);
  expect_failure("mismatch", folder.path, VS_DEVICE, 18,
                 "driver and library have different versions: the NVML library is of 550.144, the kernel "
                 "module of another; restart the machine",
                 &failure);
  assert_true(failure.driver.versions_differ);
  assert_string_equal(failure.driver.library_version, "550.144");
  made_proc_file(
      &folder, "driver/nvidia/version",
      "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.161.08  Sat Feb 17 22:55:48 UTC 2024\n");
  expect_failure("mismatch", folder.path, VS_DEVICE, 18,
                 "driver and library have different versions: the NVML library is of 550.144, the kernel "
                 "module of 535.161.08; restart the machine",
                 &failure);
  vs_folder_remove(&folder);
}

static void test_driver(void **state) {
  vs_folder folder;
  vs_devices_driver driver;
  (void)state;
  made_proc_begin(&folder);
  made_proc_file(&folder, "driver/nvidia/version",
                 "NVRM version: NVIDIA UNIX Kernel Module  590.48.01  Thu\n");
  vs_devices *devices = open_machine("h200", (vs_devices_options){.proc = folder.path});
  vs_devices_driver_of(devices, &driver);
  assert_string_equal(driver.driver_version, "590.48.01");
  assert_string_equal(driver.library_version, "13.590.48.01");
  assert_string_equal(driver.kernel_version, "590.48.01");
  expect_known(driver.cuda_version, 13010);
  expect_known(driver.is_pid_hidden, 0);
  assert_false(driver.versions_differ);
  assert_false(driver.is_simulated);
  assert_false(driver.is_wsl);
  assert_true(vs_str_contains(vs_str_from(driver.library), VS_STR("libnvidia-ml.so.1")));
  assert_false(vs_devices_is_stale(devices));

  /* One of the two may be said with fewer parts, and the words before it may have points. */
  made_proc_file(&folder, "driver/nvidia/version",
                 "NVRM version: Open Kernel Module for aarch64.v8  590.48  Thu\n");
  expect_ok(vs_devices_refresh(devices, NULL));
  vs_devices_driver_of(devices, &driver);
  assert_string_equal(driver.kernel_version, "590.48");
  assert_false(driver.versions_differ);

  /* Upgraded below a library that goes on working; then in a container; then under WSL. */
  made_proc_file(&folder, "driver/nvidia/version", "NVRM version: NVIDIA UNIX Kernel Module  595.71  Thu\n");
  made_proc_namespace(&folder, "pid:[4026532500]");
  made_proc_file(&folder, "sys/kernel/osrelease", "5.15.153.1-microsoft-standard-WSL2\n");
  expect_ok(vs_devices_refresh(devices, NULL));
  vs_devices_driver_of(devices, &driver);
  assert_true(driver.versions_differ);
  expect_known(driver.is_pid_hidden, 1);
  assert_true(driver.is_wsl);
  vs_devices_close(devices);
  vs_folder_remove(&folder);
}

/* The variable is read where no library is given. */
static void test_variable(void **state) {
  vs_devices *devices;
  vs_devices_failure failure;
  (void)state;
  set_machine("two");
  assert_int_equal(setenv("VRAMSCOPE_NVML", fake_library("libnvidia-ml.so.1"), 1), 0);
  expect_ok(vs_devices_open(NULL, &devices, &failure));
  assert_int_equal(vs_devices_count(devices), 2);
  vs_devices_close(devices);
  assert_int_equal(setenv("VRAMSCOPE_NVML", "/not/there", 1), 0);
  expect_status(vs_devices_open(NULL, &devices, &failure), VS_NOT_FOUND);
  assert_int_equal(unsetenv("VRAMSCOPE_NVML"), 0);
  vs_devices_close(NULL);

  /* CUDA's too, as they were when it was opened. */
  const char *library = fake_library("libnvidia-ml.so.1");
  char visible[] = "CUDA_VISIBLE_DEVICES=1";
  assert_int_equal(putenv(visible), 0);
  expect_ok(vs_devices_open(&(vs_devices_options){.nvml = library}, &devices, &failure));
  visible[sizeof visible - 2] = '0';
  expect_known(info_of(devices, 1).cuda_index, 0);
  expect_ok(vs_devices_refresh(devices, &failure));
  expect_known(info_of(devices, 1).cuda_index, 0);
  vs_devices_close(devices);
  assert_int_equal(unsetenv("CUDA_VISIBLE_DEVICES"), 0);
}

static void test_units(void **state) {
  (void)state;
  vs_devices *devices = open_machine("mixed", (vs_devices_options){0});
  const vs_devices_info card = info_of(devices, 0), divided = info_of(devices, 1), part = info_of(devices, 3);
  assert_string_equal(card.name, "NVIDIA H200");
  assert_string_equal(card.uuid, "GPU-a1b2c3d4-0000-4000-8000-000000000001");
  assert_string_equal(card.bus_id, "00000000:83:00.0");
  assert_string_equal(card.serial, "1650000000001");
  assert_int_equal(card.pci_bus, 0x83);
  assert_int_equal(card.index, 0);
  assert_int_equal(card.parent, VS_DEVICES_NONE);
  assert_int_equal(card.mig_index, VS_DEVICES_NONE);
  assert_int_equal(card.gpu_instance, VS_DEVICES_NONE);
  assert_int_equal(card.total_bytes, 143771 * MIB);
  assert_false(card.is_mig || card.is_divided || card.is_unified || card.is_simulated);
  assert_true(divided.is_divided);
  assert_true(part.is_mig);
  assert_int_equal(part.parent, 1);
  assert_int_equal(part.index, 1);
  assert_int_equal(part.mig_index, 5);
  assert_int_equal(part.gpu_instance, 8);
  assert_int_equal(part.compute_instance, 0);
  assert_string_equal(part.bus_id, "00000000:04:00.0");
  assert_int_equal(info_of(devices, 4).index, 2);
  assert_int_equal(info_of(devices, 4).pci_domain, 1);
  vs_devices_info none;
  expect_status(vs_devices_info_of(devices, 5, &none), VS_BAD_ARGUMENT);
  vs_devices_close(devices);
  devices = open_machine("none", (vs_devices_options){0});
  assert_int_equal(vs_devices_count(devices), 0);
  vs_devices_close(devices);
  devices = open_machine("sixteen", (vs_devices_options){0});
  assert_int_equal(vs_devices_count(devices), 16);
  vs_devices_close(devices);
}

/* A card is lost while it is watched; the driver goes and comes back. */
static void test_refresh(void **state) {
  vs_devices_failure failure;
  (void)state;
  vs_devices *devices = open_machine("lost_later", (vs_devices_options){0});
  assert_int_equal(vs_devices_count(devices), 2);
  expect_known(vs_devices_used_fast(devices, 1), 1024 * MIB);
  assert_false(vs_devices_is_stale(devices));
  for (int i = 0; i < 10; i++) (void)vs_devices_used_fast(devices, 1);
  expect_reason(vs_devices_used_fast(devices, 1), VS_REASON_LOST);
  expect_known(vs_devices_used_fast(devices, 0), 0);
  assert_true(vs_devices_is_stale(devices));
  set_machine("no_driver");
  expect_status(vs_devices_refresh(devices, &failure), VS_NOT_FOUND);
  assert_int_equal(failure.code, 9);
  assert_int_equal(vs_devices_count(devices), 0);
  expect_reason(vs_devices_used_fast(devices, 0), VS_REASON_NOT_FOUND);
  set_machine("two");
  expect_ok(vs_devices_refresh(devices, &failure));
  assert_int_equal(vs_devices_count(devices), 2);
  assert_false(vs_devices_is_stale(devices));
  expect_known(vs_devices_used_fast(devices, 1), 28010 * MIB);
  vs_devices_close(devices);

  /* A card that was lost before the first query is listed and unknown; opening again would not help. */
  devices = open_machine("lost_handle", (vs_devices_options){0});
  assert_int_equal(vs_devices_count(devices), 2);
  expect_reason(vs_devices_used_fast(devices, 1), VS_REASON_LOST);
  assert_false(vs_devices_is_stale(devices));
  assert_false(info_of(devices, 1).is_unified);
  vs_devices_close(devices);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_no_library), cmocka_unit_test(test_driver_refuses),
      cmocka_unit_test(test_driver),     cmocka_unit_test(test_variable),
      cmocka_unit_test(test_units),      cmocka_unit_test(test_refresh),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
