/* Which units are chosen for a program. Units of "mixed": 0 and 1 are cards, 2 and 3 the MIG devices of 1, 4 is a card of another model. */
#include "unit/devices/machine.h"

static const uint64_t GIB = UINT64_C(1) << 30;

static void expect_picked(vs_devices *devices, vs_devices_wish wish, const char *wanted) {
  uint32_t units[16] = {0};
  vs_error error;
  char got[64] = "";
  const vs_status status = vs_devices_pick(devices, &wish, units, &error);
  if (status != VS_OK) fail_msg("%s: %s", wanted, error.text);
  for (uint32_t i = 0; i < (wish.count == 0 ? 1 : wish.count); i++)
    vs_format(got + strlen(got), sizeof got - strlen(got), "%s%u", i == 0 ? "" : " ", units[i]);
  assert_string_equal(got, wanted);
}

/* A failure stores nothing. */
static void expect_none(vs_devices *devices, vs_devices_wish wish, vs_status wanted, const char *sentence) {
  uint32_t units[4] = {77, 77, 77, 77};
  vs_error error;
  expect_status(vs_devices_pick(devices, &wish, units, &error), wanted);
  assert_string_equal(error.text, sentence);
  assert_int_equal(units[0], 77);
}

static void test_the_emptiest_comes_first(void **state) {
  (void)state;
  vs_devices *devices = open_machine("two", (vs_devices_options){0});
  expect_picked(devices, (vs_devices_wish){0}, "0");
  expect_picked(devices, (vs_devices_wish){.count = 2}, "0 1");
  expect_picked(devices, (vs_devices_wish){.among = "1"}, "1");
  expect_picked(devices, (vs_devices_wish){.count = 2, .free_bytes = 100 * GIB}, "0 1");
  expect_none(devices, (vs_devices_wish){.count = 2, .free_bytes = 120 * GIB}, VS_NOT_FOUND,
              "2 GPUs with 120.0 GiB free were requested, and there is 1");
  expect_none(devices, (vs_devices_wish){.free_bytes = 1000 * GIB}, VS_NOT_FOUND,
              "no GPU has 1000 GiB free; GPU 0 has the most, 139.8 GiB");
  expect_none(devices, (vs_devices_wish){.count = 3}, VS_NOT_FOUND, "3 GPUs were requested, and there are 2");
  expect_none(devices, (vs_devices_wish){.count = 513}, VS_BAD_ARGUMENT, "at most 512 GPUs can be chosen");
  expect_none(devices, (vs_devices_wish){.among = "7"}, VS_NOT_FOUND,
              "no GPU is called \"7\": 2 here, numbers 0 to 1");
  vs_devices_close(devices);
  devices = open_machine("sixteen", (vs_devices_options){0});
  expect_picked(devices, (vs_devices_wish){.count = 3}, "0 1 2");
  vs_devices_close(devices);
  devices = open_machine("alike", (vs_devices_options){0});
  expect_picked(devices, (vs_devices_wish){.count = 2}, "0 1"); /* of equal ones the first */
  vs_devices_close(devices);
}

/* Programs run on the MIG devices of a divided card, one in a process. */
static void test_mig(void **state) {
  (void)state;
  vs_devices *devices = open_machine("mixed", (vs_devices_options){0});
  expect_picked(devices, (vs_devices_wish){.among = "1"}, "3");
  expect_picked(devices, (vs_devices_wish){.among = "1:2"}, "2");
  expect_picked(devices, (vs_devices_wish){.count = 2}, "0 4");
  expect_none(devices, (vs_devices_wish){.count = 2, .among = "1"}, VS_NOT_FOUND,
              "there is no whole GPU to choose from, and a process can use only one MIG device");
  vs_devices_close(devices);
}

/* Within what a scheduler has given. */
static void test_hidden(void **state) {
  (void)state;
  vs_devices *devices = open_machine("two", (vs_devices_options){.visible = "1"});
  expect_picked(devices, (vs_devices_wish){0}, "1");
  expect_none(devices, (vs_devices_wish){.count = 2}, VS_NOT_FOUND, "2 GPUs were requested, and there is 1");
  vs_devices_close(devices);
  devices = open_machine("two", (vs_devices_options){.visible = ""});
  expect_none(devices, (vs_devices_wish){0}, VS_NOT_FOUND,
              "there is no GPU to choose from: CUDA_VISIBLE_DEVICES is \"\"");
  vs_devices_close(devices);
  devices = open_machine("mixed", (vs_devices_options){.visible = "0"});
  expect_none(devices, (vs_devices_wish){0}, VS_UNSUPPORTED,
              "only CUDA's driver knows which GPUs CUDA_VISIBLE_DEVICES names, because it orders the fastest "
              "GPU first: "
              "set CUDA_DEVICE_ORDER=PCI_BUS_ID");
  vs_devices_close(devices);
  devices = open_machine("mixed", (vs_devices_options){.visible = "2", .order = "PCI_BUS_ID"});
  expect_picked(devices, (vs_devices_wish){0}, "4");
  vs_devices_close(devices);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_the_emptiest_comes_first),
      cmocka_unit_test(test_mig),
      cmocka_unit_test(test_hidden),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
