/* Connecting to NVML: which cards there are, why there is none, and beginning anew. */
#include "fake.h"

#include <dlfcn.h>
#include <unistd.h>

static const vs_telemetry_unit *unit_of(const vs_telemetry *telemetry, uint32_t unit) {
  return telemetry->ops->unit(telemetry->ctx, unit);
}

/* ---- cards */

static void a_card_is_what_the_driver_says(void **state) {
  (void)state;
  vs_telemetry telemetry = fake_open("h200");
  assert_int_equal(telemetry.ops->count(telemetry.ctx), 1);
  const vs_telemetry_unit *unit = unit_of(&telemetry, 0);
  assert_int_equal(unit->index, 0);
  assert_false(unit->is_mig);
  assert_int_equal(unit->parent, VS_TELEMETRY_NONE);
  assert_int_equal(unit->gpu_instance, VS_TELEMETRY_NONE);
  assert_string_equal(unit->name, "NVIDIA H200");
  assert_string_equal(unit->uuid, "GPU-a1b2c3d4-0000-4000-8000-000000000001");
  assert_string_equal(unit->serial, "1650000000001");
  assert_string_equal(unit->bus_id, "00000000:83:00.0");
  assert_true(vs_metric_is_known(unit->bus));
  assert_int_equal(unit->pci_domain, 0);
  assert_int_equal(unit->pci_bus, 0x83);
  assert_int_equal(unit->pci_device, 0);
  expect_known(unit->total_bytes, 143771 * MIB);
  assert_true(vs_metric_is_known(unit->handle));
  assert_null(unit_of(&telemetry, 1));
  assert_int_equal(fake_cost(&telemetry, "nvmlDeviceGetMaxMigDeviceCount")->calls, 0); /* MIG is off */
  assert_int_equal(telemetry.ops->lifecycle(telemetry.ctx), 0);
  assert_string_equal(telemetry.ops->library(telemetry.ctx), fake_library(""));
  fake_close(&telemetry);
}

static void a_domain_above_four_digits_is_kept(void **state) {
  (void)state;
  vs_telemetry telemetry = fake_open("gb10");
  assert_string_equal(unit_of(&telemetry, 0)->bus_id, "0000000F:01:00.0");
  assert_int_equal(unit_of(&telemetry, 0)->pci_domain, 15);
  expect_reason(unit_of(&telemetry, 0)->total_bytes, VS_REASON_NOT_SUPPORTED, 3);
  assert_string_equal(unit_of(&telemetry, 0)->serial, "");
  fake_close(&telemetry);
}

static void no_cards_are_no_failure_and_sixteen_are_sixteen(void **state) {
  (void)state;
  vs_telemetry telemetry = fake_open("none");
  assert_int_equal(telemetry.ops->count(telemetry.ctx), 0);
  expect_reason(fake_metric(&telemetry, 0, VS_METRIC_ID_MEMORY_USED), VS_REASON_NOT_FOUND, 0);
  fake_close(&telemetry);
  telemetry = fake_open("sixteen");
  assert_int_equal(telemetry.ops->count(telemetry.ctx), 16);
  for (uint32_t i = 0; i < 16; i++) {
    assert_int_equal(unit_of(&telemetry, i)->index, i);
    assert_int_equal(unit_of(&telemetry, i)->pci_bus, 0x83 + i);
    expect_known(fake_metric(&telemetry, i, VS_METRIC_ID_MEMORY_USED), i * 1000 * MIB);
  }
  fake_close(&telemetry);
}

static void mig_devices_stand_behind_their_card(void **state) {
  (void)state;
  vs_telemetry telemetry = fake_open("mig");
  assert_int_equal(telemetry.ops->count(telemetry.ctx), 4);
  assert_false(unit_of(&telemetry, 0)->is_mig);
  static const int32_t slots[] = {0, 1, 4}, gpu[] = {2, 2, 9},
                       compute[] = {0, 1, 0}; /* slots 2, 3 are empty */
  for (uint32_t i = 0; i < 3; i++) {
    const vs_telemetry_unit *mig = unit_of(&telemetry, i + 1);
    assert_true(mig->is_mig);
    assert_int_equal(mig->parent, 0);
    assert_int_equal(mig->index, 0);
    assert_int_equal(mig->mig_slot, slots[i]);
    assert_int_equal(mig->gpu_instance, gpu[i]);
    assert_int_equal(mig->compute_instance, compute[i]);
    assert_string_equal(mig->bus_id, "00000000:83:00.0");
    assert_string_equal(mig->serial, "1650000000001");
    assert_memory_equal(mig->uuid, "MIG-", 4);
  }
  assert_string_equal(unit_of(&telemetry, 3)->name, "NVIDIA H200 MIG 1g.18gb");
  expect_known(unit_of(&telemetry, 3)->total_bytes, 16384 * MIB);
  fake_close(&telemetry);
}

/* ---- lost cards */

static void a_lost_card_is_there_and_says_so(void **state) {
  (void)state;
  vs_telemetry telemetry = fake_open("lost");
  assert_int_equal(telemetry.ops->count(telemetry.ctx), 2);
  expect_reason(unit_of(&telemetry, 1)->handle, VS_REASON_LOST, 15);
  expect_reason(fake_metric(&telemetry, 1, VS_METRIC_ID_TEMPERATURE), VS_REASON_LOST, 15);
  char text[VS_METRIC_TEXT_SIZE];
  expect_reason(telemetry.ops->text(telemetry.ctx, 1, VS_METRIC_TEXT_ID_NAME, text), VS_REASON_LOST, 15);
  const vs_telemetry_process *list;
  expect_reason(telemetry.ops->processes(telemetry.ctx, 1, VS_PROCESS_ALL, &list), VS_REASON_LOST, 15);
  assert_null(list);
  /* A failure that was known at the connection does not end it: it would be reconnected without end. */
  assert_int_equal(telemetry.ops->lifecycle(telemetry.ctx), 0);
  expect_known(fake_metric(&telemetry, 0, VS_METRIC_ID_TEMPERATURE), 28);
  fake_close(&telemetry);
}

static void a_card_without_a_handle_is_counted(void **state) {
  (void)state;
  vs_telemetry telemetry = fake_open("lost_handle");
  assert_int_equal(telemetry.ops->count(telemetry.ctx), 2);
  expect_reason(unit_of(&telemetry, 1)->handle, VS_REASON_LOST, 15);
  assert_string_equal(unit_of(&telemetry, 1)->uuid, "");
  expect_reason(unit_of(&telemetry, 1)->bus, VS_REASON_LOST, 15);
  expect_reason(fake_metric(&telemetry, 1, VS_METRIC_ID_MEMORY_USED), VS_REASON_LOST, 15);
  fake_close(&telemetry);
}

/* ---- why there is no connection */

static void refuse(const char *scenario, int32_t code, vs_telemetry_failure *failure) {
  vs_telemetry telemetry = {(const vs_telemetry_ops *)1, NULL};
  fake_choose(scenario);
  expect_status(vs_nvml_open(vs_host_default(), fake_library(""), &telemetry, failure), VS_DEVICE);
  assert_int_equal(failure->code, code);
  assert_null(telemetry.ops);
  assert_true(strlen(failure->text) > 3);
}

static void each_failure_carries_its_number(void **state) {
  (void)state;
  vs_telemetry_failure failure;
  refuse("no_driver", 9, &failure);
  assert_string_equal(failure.text, "the driver is not loaded");
  assert_string_equal(failure.library_version, "");
  refuse("no_library", 12, &failure);
  refuse("no_permission_init", 4, &failure);
  refuse("mismatch", 18, &failure);
  assert_string_equal(failure.library_version, "550.144");
}

static void a_library_that_is_not_there_is_twelve(void **state) {
  (void)state;
  vs_telemetry telemetry;
  vs_telemetry_failure failure;
  expect_status(vs_nvml_open(vs_host_default(), "/nowhere/libnvidia-ml.so.1", &telemetry, &failure),
                VS_NOT_FOUND);
  assert_int_equal(failure.code, 12);
  assert_string_equal(failure.text, "the NVML library was not found");
  expect_status(vs_nvml_open(vs_host_default(), "/dev/null", &telemetry, &failure), VS_NOT_FOUND);
  assert_int_equal(failure.code, 12);
  assert_non_null(strstr(failure.text, "/dev/null"));
}

/* ---- beginning anew */

/* A new file takes the place of the one that may just be read. */
static void write_scenario(const char *path, const char *text) {
  char other[64];
  snprintf(other, sizeof other, "%s.new", path);
  FILE *file = fopen(other, "w");
  assert_non_null(file);
  fputs(text, file);
  fclose(file);
  assert_int_equal(rename(other, path), 0);
}

static void the_end_of_a_connection_is_told_and_it_can_begin_anew(void **state) {
  (void)state;
  char path[] = "/tmp/vramscope-test-XXXXXX";
  close(mkstemp(path));
  vs_telemetry telemetry;
  vs_telemetry_failure failure;
  setenv("VRAMSCOPE_FAKE_NVML", path, 1);
  static const int32_t ends[] = {1, 9, 15, 18, 28};
  for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
    char text[128];
    snprintf(text, sizeof text, "driver = 1.2\n[card]\nname = A\npower.draw = 5 | !%d | 7\n", (int)ends[i]);
    write_scenario(path, text);
    expect_ok(vs_nvml_open(vs_host_default(), fake_library(""), &telemetry, &failure));
    expect_known(fake_metric(&telemetry, 0, VS_METRIC_ID_POWER_DRAW), 5);
    assert_int_equal(telemetry.ops->lifecycle(telemetry.ctx), 0);
    assert_false(vs_metric_is_known(fake_metric(&telemetry, 0, VS_METRIC_ID_POWER_DRAW)));
    assert_int_equal(telemetry.ops->lifecycle(telemetry.ctx), ends[i]);

    /* The driver is not back yet: no units, and the next try succeeds, with other cards. */
    write_scenario(path, "init = 9\n");
    expect_status(telemetry.ops->reopen(telemetry.ctx, &failure), VS_DEVICE);
    assert_int_equal(failure.code, 9);
    assert_int_equal(telemetry.ops->count(telemetry.ctx), 0);
    assert_int_equal(telemetry.ops->lifecycle(telemetry.ctx), 9);
    expect_reason(telemetry.ops->driver(telemetry.ctx, VS_DRIVER_VERSION, text), VS_REASON_NO_DRIVER, 9);
    expect_reason(fake_metric(&telemetry, 0, VS_METRIC_ID_POWER_DRAW), VS_REASON_NOT_FOUND, 0);
    write_scenario(path, "driver = 1.3\n[card]\nname = A\n[card]\nname = B\n");
    expect_ok(telemetry.ops->reopen(telemetry.ctx, &failure));
    assert_int_equal(telemetry.ops->count(telemetry.ctx), 2);
    assert_int_equal(telemetry.ops->lifecycle(telemetry.ctx), 0);
    assert_string_equal(unit_of(&telemetry, 1)->name, "B");
    expect_known(telemetry.ops->driver(telemetry.ctx, VS_DRIVER_VERSION, text), 3);
    assert_string_equal(text, "1.3");
    fake_close(&telemetry);
  }
  /* Whatever kept it from beginning anew, it is still to be done. */
  write_scenario(path, "[card]\nname = A\n");
  expect_ok(vs_nvml_open(vs_host_default(), fake_library(""), &telemetry, &failure));
  write_scenario(path, "init = 4\n");
  expect_status(telemetry.ops->reopen(telemetry.ctx, &failure), VS_DEVICE);
  assert_int_equal(telemetry.ops->lifecycle(telemetry.ctx), 4);
  fake_close(&telemetry);
  /* Other failures are of the one figure. */
  write_scenario(path, "[card]\nname = A\npower.draw = !999 | !4 | 7\n");
  expect_ok(vs_nvml_open(vs_host_default(), fake_library(""), &telemetry, &failure));
  expect_reason(fake_metric(&telemetry, 0, VS_METRIC_ID_POWER_DRAW), VS_REASON_FAILED, 999);
  expect_reason(fake_metric(&telemetry, 0, VS_METRIC_ID_POWER_DRAW), VS_REASON_NO_PERMISSION, 4);
  assert_int_equal(telemetry.ops->lifecycle(telemetry.ctx), 0);
  fake_close(&telemetry);
  unlink(path);
}

static void a_card_is_lost_and_comes_back(void **state) {
  (void)state;
  char path[] = "/tmp/vramscope-test-XXXXXX";
  close(mkstemp(path));
  write_scenario(path, "[card]\nname = A\npower.draw = 5\n[card]\nname = B\npower.draw = 6\n");
  vs_telemetry telemetry;
  vs_telemetry_failure failure;
  setenv("VRAMSCOPE_FAKE_NVML", path, 1);
  expect_ok(vs_nvml_open(vs_host_default(), fake_library(""), &telemetry, &failure));
  write_scenario(path, "[card]\nname = A\npower.draw = 5\n[card]\nlost = 15\n");
  expect_known(fake_metric(&telemetry, 0, VS_METRIC_ID_POWER_DRAW), 5);
  expect_reason(fake_metric(&telemetry, 1, VS_METRIC_ID_POWER_DRAW), VS_REASON_LOST, 15);
  assert_int_equal(telemetry.ops->lifecycle(telemetry.ctx), 15);
  expect_ok(telemetry.ops->reopen(telemetry.ctx, &failure));
  assert_int_equal(telemetry.ops->count(telemetry.ctx), 2);
  expect_reason(unit_of(&telemetry, 1)->handle, VS_REASON_LOST, 15);
  expect_reason(fake_metric(&telemetry, 1, VS_METRIC_ID_POWER_DRAW), VS_REASON_LOST, 15);
  assert_int_equal(telemetry.ops->lifecycle(telemetry.ctx), 0); /* no news: it was not even asked */
  write_scenario(path, "[card]\nname = A\n[card]\nname = B\npower.draw = 7\n");
  expect_ok(telemetry.ops->reopen(telemetry.ctx, &failure));
  expect_known(fake_metric(&telemetry, 1, VS_METRIC_ID_POWER_DRAW), 7);
  fake_close(&telemetry);
  unlink(path);
}

/* The library stays loaded here, as where the program uses NVML itself: what we began we end, and no more. */
static void a_connection_ends_with_what_it_began(void **state) {
  (void)state;
  void *library = dlopen(fake_library(""), RTLD_NOW | RTLD_LOCAL);
  assert_non_null(library);
  nvmlReturn_t (*count)(unsigned int *) = NULL;
  *(void **)&count = dlsym(library, "nvmlDeviceGetCount_v2");
  unsigned int cards = 0;
  assert_int_equal(count(&cards), NVML_ERROR_UNINITIALIZED);
  vs_telemetry telemetry = fake_open("two");
  assert_int_equal(count(&cards), NVML_SUCCESS);
  fake_close(&telemetry);
  assert_int_equal(count(&cards), NVML_ERROR_UNINITIALIZED);
  vs_telemetry_failure failure;
  refuse("mismatch", 18, &failure);
  dlclose(library);
}

/* As under a simulation, which has its library loaded already: the soname is found before any place is looked into. */
static void without_a_path_the_systems_library_is_opened(void **state) {
  (void)state;
  void *library = dlopen(fake_library(""), RTLD_NOW | RTLD_LOCAL);
  assert_non_null(library);
  vs_telemetry telemetry;
  vs_telemetry_failure failure;
  fake_choose("two");
  expect_ok(vs_nvml_open(vs_host_default(), NULL, &telemetry, &failure));
  assert_int_equal(telemetry.ops->count(telemetry.ctx), 2);
  assert_string_equal(telemetry.ops->library(telemetry.ctx), fake_library(""));
  expect_ok(telemetry.ops->reopen(telemetry.ctx, &failure));
  assert_int_equal(telemetry.ops->count(telemetry.ctx), 2);
  fake_close(&telemetry);
  dlclose(library);
}

static void two_connections_do_not_end_each_other(void **state) {
  (void)state;
  vs_telemetry one = fake_open("h200"), two = fake_open("h200");
  fake_close(&one);
  expect_known(fake_metric(&two, 0, VS_METRIC_ID_TEMPERATURE), 28);
  fake_close(&two);
}

/* ---- the driver, and what calls cost */

static void versions_are_texts(void **state) {
  (void)state;
  vs_telemetry telemetry = fake_open("h200");
  char text[VS_METRIC_TEXT_SIZE];
  expect_known(telemetry.ops->driver(telemetry.ctx, VS_DRIVER_VERSION, text), 9);
  assert_string_equal(text, "590.48.01");
  expect_known(telemetry.ops->driver(telemetry.ctx, VS_DRIVER_NVML_VERSION, text), 12);
  assert_string_equal(text, "13.590.48.01");
  expect_known(telemetry.ops->driver(telemetry.ctx, VS_DRIVER_CUDA_VERSION, text), 4);
  assert_string_equal(text, "13.1");
  fake_close(&telemetry);
}

static void a_container_without_libcuda_knows_cuda_all_the_same(void **state) {
  (void)state;
  char path[] = "/tmp/vramscope-test-XXXXXX";
  close(mkstemp(path));
  write_scenario(path, "cuda = !12\ncuda.unversioned = 12080\n");
  vs_telemetry telemetry;
  vs_telemetry_failure failure;
  setenv("VRAMSCOPE_FAKE_NVML", path, 1);
  expect_ok(vs_nvml_open(vs_host_default(), fake_library(""), &telemetry, &failure));
  char text[VS_METRIC_TEXT_SIZE];
  expect_known(telemetry.ops->driver(telemetry.ctx, VS_DRIVER_CUDA_VERSION, text), 4);
  assert_string_equal(text, "12.8");
  fake_close(&telemetry);
  unlink(path);
}

static void every_call_is_counted_with_its_time(void **state) {
  (void)state;
  vs_telemetry telemetry = fake_open("slow");
  const vs_telemetry_cost *memory = fake_cost(&telemetry, "nvmlDeviceGetMemoryInfo_v2");
  const uint64_t before = memory->calls;
  for (int i = 0; i < 3; i++) expect_known(fake_metric(&telemetry, 0, VS_METRIC_ID_MEMORY_USED), 32362 * MIB);
  assert_int_equal(memory->calls, before + 3);
  assert_false(memory->is_missing);
  assert_in_range(memory->max_ns, 5000000, UINT64_MAX); /* it sleeps that long */
  assert_in_range(memory->total_ns, 5000000 * memory->calls, UINT64_MAX);
  assert_true(memory->max_ns <= memory->total_ns);
  assert_int_equal(fake_cost(&telemetry, "nvmlDeviceGetFanSpeed")->calls, 0);
  fake_close(&telemetry);
}

static void each_function_is_looked_up_on_its_own(void **state) {
  (void)state;
  vs_telemetry telemetry = fake_open_variant("h200_loaded", "old/");
  assert_true(fake_cost(&telemetry, "nvmlDeviceGetMemoryInfo_v2")->is_missing);
  assert_true(fake_cost(&telemetry, "nvmlInit_v2")->is_missing);
  assert_int_equal(fake_cost(&telemetry, "nvmlDeviceGetMemoryInfo_v2")->calls, 0);
  assert_false(fake_cost(&telemetry, "nvmlInit")->is_missing);
  assert_int_equal(fake_cost(&telemetry, "nvmlInit")->calls, 1);
  assert_string_equal(unit_of(&telemetry, 0)->name, "NVIDIA H200");
  assert_string_equal(unit_of(&telemetry, 0)->bus_id, "00000000:83:00.0");
  fake_close(&telemetry);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_card_is_what_the_driver_says),
      cmocka_unit_test(a_domain_above_four_digits_is_kept),
      cmocka_unit_test(no_cards_are_no_failure_and_sixteen_are_sixteen),
      cmocka_unit_test(mig_devices_stand_behind_their_card),
      cmocka_unit_test(a_lost_card_is_there_and_says_so),
      cmocka_unit_test(a_card_without_a_handle_is_counted),
      cmocka_unit_test(each_failure_carries_its_number),
      cmocka_unit_test(a_library_that_is_not_there_is_twelve),
      cmocka_unit_test(the_end_of_a_connection_is_told_and_it_can_begin_anew),
      cmocka_unit_test(a_card_is_lost_and_comes_back),
      cmocka_unit_test(a_connection_ends_with_what_it_began),
      cmocka_unit_test(without_a_path_the_systems_library_is_opened),
      cmocka_unit_test(two_connections_do_not_end_each_other),
      cmocka_unit_test(versions_are_texts),
      cmocka_unit_test(a_container_without_libcuda_knows_cuda_all_the_same),
      cmocka_unit_test(every_call_is_counted_with_its_time),
      cmocka_unit_test(each_function_is_looked_up_on_its_own),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
