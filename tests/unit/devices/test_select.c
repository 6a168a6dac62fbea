/* The grammar by which people name cards, on a machine of which only one card is divided. Units of "mixed": 0 and 1
 * are cards, 2 and 3 the MIG devices of 1 in the slots 2 and 5, 4 is a card. */
#include "unit/devices/machine.h"

#include <stdlib.h>

static void expect_units(vs_devices *devices, const char *text, const char *wanted) {
  uint32_t units[8];
  size_t count;
  vs_error error;
  char got[64] = "";
  const vs_status status = vs_devices_select(devices, text, units, 8, &count, &error);
  if (status != VS_OK) fail_msg("%s: %s", text, error.text);
  for (size_t i = 0; i < count; i++)
    vs_format(got + strlen(got), sizeof got - strlen(got), "%s%u", i == 0 ? "" : " ", units[i]);
  if (strcmp(got, wanted) != 0) fail_msg("%s: units %s, not %s", text, got, wanted);
}

/* A failure stores nothing. */
static void expect_refused(vs_devices *devices, const char *text, vs_status wanted, uint64_t offset,
                           const char *sentence) {
  uint32_t units[8] = {77, 77};
  size_t count = 5;
  vs_error error;
  expect_status(vs_devices_select(devices, text, units, 8, &count, &error), wanted);
  assert_string_equal(error.text, sentence);
  assert_int_equal(error.offset, offset);
  assert_int_equal(count, 0);
  assert_int_equal(units[0], 77);
}

static void test_forms(void **state) {
  static const struct {
    const char *text, *wanted;
  } cases[] = {
      {NULL, "0 1 4"},
      {"all", "0 1 4"},
      {"ALL", "0 1 4"},
      {"0", "0"},
      {"2", "4"}, /* NVML's number, not the unit's */
      {"02", "4"},
      {"1:2", "2"},
      {"1:5", "3"},
      {"GPU-a1b2c3d4-0000-4000-8000-000000000001", "0"},
      {"gpu-A1B2C3D4", "0"},
      {"GPU-b", "4"},
      {"GPU-a1b2c3d5", "1"},
      {"MIG-21111111-0000-4000-8000-000000000002", "3"},
      {"mig-21111111-0000-4000-8000-000000000001", "2"},
      {"MIG-GPU-a1b2c3d5-0000-4000-8000-000000000002/8/0", "3"},
      {"mig-gpu-A1B2C3D5-0000-4000-8000-000000000002/7/0", "2"},
      {"00000000:83:00.0", "0"},
      {"0000:83:00.0", "0"},
      {"1:83:00.0", "4"},
      {"00000001:83:00", "4"},
      {"04:00.0", "1"},
      {"4:0.0", "1"},
      {"1650000000002", "1"},
      {"1324000000003", "4"},
      {"2,0", "4 0"},
      {" 2 ,\t1:5 ", "4 3"},
      {"0,0,GPU-a1b2c3d4,all", "0 1 4"},
      {"1,1:2,1:5", "1 2 3"},
  };
  (void)state;
  vs_devices *devices = open_machine("mixed", (vs_devices_options){0});
  assert_int_equal(vs_devices_count(devices), 5);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    expect_units(devices, cases[i].text, cases[i].wanted);
  vs_devices_close(devices);
}

static void test_refusals(void **state) {
  (void)state;
  vs_devices *devices = open_machine("mixed", (vs_devices_options){0});
  expect_refused(devices, "3", VS_NOT_FOUND, 0, "no GPU is called \"3\": 3 here, numbers 0 to 2");
  expect_refused(devices, "0,7", VS_NOT_FOUND, 2, "no GPU is called \"7\": 3 here, numbers 0 to 2");
  expect_refused(devices, "", VS_BAD_ARGUMENT, 0, "a GPU is missing between commas");
  expect_refused(devices, "0,,1", VS_BAD_ARGUMENT, 2, "a GPU is missing between commas");
  expect_refused(devices, "0,", VS_BAD_ARGUMENT, 2, "a GPU is missing between commas");
  expect_refused(devices, "GPU-a1", VS_BAD_ARGUMENT, 0,
                 "more than one GPU fits \"GPU-a1\": write more of the UUID");
  expect_refused(devices, "MIG-2", VS_BAD_ARGUMENT, 0,
                 "more than one GPU fits \"MIG-2\": write more of the UUID");
  expect_refused(devices, "83:00.0", VS_BAD_ARGUMENT, 0,
                 "more than one GPU fits \"83:00.0\": write more of the PCI id, with its domain");
  expect_refused(devices, "0:2", VS_NOT_FOUND, 0, "GPU 0 has no MIG devices: MIG is off");
  expect_refused(devices, "1:0", VS_NOT_FOUND, 0, "GPU 1 has no MIG device 0");
  expect_refused(devices, "7:0", VS_NOT_FOUND, 0, "no GPU is called \"7:0\": 3 here, numbers 0 to 2");
  expect_refused(devices, "GPU-b1", VS_NOT_FOUND, 0, "no GPU is called \"GPU-b1\"; did you mean \"GPU-b0\"?");
  expect_refused(devices, "al", VS_NOT_FOUND, 0, "no GPU is called \"al\"; did you mean \"all\"?");
  expect_refused(devices, "0000:84:00.0", VS_NOT_FOUND, 0,
                 "no GPU is called \"0000:84:00.0\"; did you mean \"0000:83:00.0\"?");
  expect_refused(devices, "the second", VS_NOT_FOUND, 0,
                 "no GPU is called \"the second\": 3 here, numbers 0 to 2");
  expect_refused(devices, "\x1b[2J", VS_NOT_FOUND, 0,
                 "no GPU is called \"\\x1b[2J\": 3 here, numbers 0 to 2");
  vs_devices_close(devices);
  devices = open_machine("none", (vs_devices_options){0});
  expect_refused(devices, "0", VS_NOT_FOUND, 0, "no GPU is called \"0\": none is here");
  expect_units(devices, NULL, "");
  vs_devices_close(devices);
  devices = open_machine("h200", (vs_devices_options){0});
  expect_refused(devices, "1", VS_NOT_FOUND, 0, "no GPU is called \"1\": the only one here is 0");
  vs_devices_close(devices);
}

static void test_cuda_numbers(void **state) {
  (void)state;
  vs_devices *devices = open_machine("mixed", (vs_devices_options){.order = "PCI_BUS_ID", .visible = "2,1"});
  expect_units(devices, "cuda:0", "4"); /* the third by PCI id */
  expect_units(devices, "cuda:1", "0");
  expect_units(devices, "CUDA:1,cuda:0", "0 4");
  expect_known(info_of(devices, 4).cuda_index, 0);
  expect_reason(info_of(devices, 1).cuda_index, VS_REASON_NOT_VISIBLE);
  expect_reason(info_of(devices, 2).cuda_index, VS_REASON_NOT_VISIBLE);
  expect_refused(devices, "cuda:2", VS_NOT_FOUND, 0,
                 "there is no \"cuda:2\": CUDA offers 2 GPUs to this process, CUDA_VISIBLE_DEVICES is 2,1");
  expect_refused(devices, "cuda0", VS_NOT_FOUND, 0, "no GPU is called \"cuda0\"; did you mean \"cuda:0\"?");
  vs_devices_close(devices);

  devices = open_machine("mixed", (vs_devices_options){.order = "PCI_BUS_ID"});
  expect_units(devices, "cuda:0", "2"); /* the divided card is first, and one MIG device hides the rest */
  vs_devices_close(devices);

  devices =
      open_machine("mixed", (vs_devices_options){.visible = "MIG-21111111-0000-4000-8000-000000000002"});
  expect_units(devices, "cuda:0", "3");
  vs_devices_close(devices);

  devices = open_machine("mixed", (vs_devices_options){.visible = ""});
  expect_refused(devices, "cuda:0", VS_NOT_FOUND, 0,
                 "there is no \"cuda:0\": CUDA offers 0 GPUs to this process, CUDA_VISIBLE_DEVICES is ");
  vs_devices_close(devices);

  devices = open_machine("mixed", (vs_devices_options){0});
  expect_reason(info_of(devices, 0).cuda_index, VS_REASON_NOT_SAMPLED);
  expect_refused(devices, "cuda:0", VS_UNSUPPORTED, 0,
                 "only CUDA's driver knows \"cuda:0\", because it orders the fastest GPU first: set "
                 "CUDA_DEVICE_ORDER=PCI_BUS_ID, or name the GPU in another way");
  vs_devices_close(devices);
}

/* Fewer places than units: all are counted. */
static void test_capacity(void **state) {
  uint32_t units[3] = {77, 77, 77};
  size_t count;
  (void)state;
  vs_devices *devices = open_machine("mixed", (vs_devices_options){0});
  expect_ok(vs_devices_select(devices, "2,1,0", units, 2, &count, NULL));
  assert_int_equal(count, 3);
  assert_int_equal(units[0], 4);
  assert_int_equal(units[1], 1);
  assert_int_equal(units[2], 77);
  expect_ok(vs_devices_select(devices, "all", NULL, 0, &count, NULL));
  assert_int_equal(count, 3);
  assert_int_equal(vs_devices_with_uuid(devices, "MIG-21111111-0000-4000-8000-000000000002"), 3);
  assert_int_equal(vs_devices_with_uuid(devices, "gpu-b0000000-0000-4000-8000-000000000003"), 4);
  assert_int_equal(vs_devices_with_uuid(devices, "GPU-b"), VS_DEVICES_NONE);
  assert_int_equal(vs_devices_with_uuid(devices, ""), VS_DEVICES_NONE);
  vs_devices_close(devices);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_forms),
      cmocka_unit_test(test_refusals),
      cmocka_unit_test(test_cuda_numbers),
      cmocka_unit_test(test_capacity),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
