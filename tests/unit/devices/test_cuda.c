/* CUDA's numbers from a driver that orders the fastest first, on the machine "mixed". The driver is a table of
 * functions of this test: no real or simulated one counts against NVML's order, or lacks UUIDs. */
#include "devices/state.h"
#include "unit/devices/machine.h"

/* What the driver says of its cards, in its order. */
typedef struct told {
  const char *uuid, *card_uuid, *bus_id; /* uuid NULL: it has none to tell */
  int is_integrated;
} told;

static const told *cards;

static bool to_bytes(const char *text, CUuuid *uuid) {
  if (text == NULL) return false;
  size_t digits = 0;
  unsigned char bytes[16] = {0};
  for (const char *at = text + 4; *at != 0; at++) {
    if (*at == '-') continue;
    const int digit = *at <= '9' ? *at - '0' : *at - 'a' + 10;
    bytes[digits / 2] = (unsigned char)(bytes[digits / 2] << 4 | digit);
    digits++;
  }
  memcpy(uuid->bytes, bytes, sizeof bytes);
  return true;
}

static CUresult get(CUdevice *device, int ordinal) {
  *device = ordinal;
  return CUDA_SUCCESS;
}

static CUresult get_only_the_first(CUdevice *device, int ordinal) {
  *device = ordinal;
  return ordinal == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

static CUresult own_uuid(CUuuid *uuid, CUdevice device) {
  return to_bytes(cards[device].uuid, uuid) ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED;
}

static CUresult card_uuid(CUuuid *uuid, CUdevice device) {
  return to_bytes(cards[device].card_uuid, uuid) ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED;
}

static CUresult bus_id(char *to, int capacity, CUdevice device) {
  vs_format(to, (size_t)capacity, "%s", cards[device].bus_id);
  return CUDA_SUCCESS;
}

static CUresult attribute(int *value, CUdevice_attribute which, CUdevice device) {
  if (which != CU_DEVICE_ATTRIBUTE_INTEGRATED) return CUDA_ERROR_INVALID_VALUE;
  *value = cards[device].is_integrated;
  return CUDA_SUCCESS;
}

/* Numbers by this driver; gives it back before the object would close it. */
static void ask(vs_devices *devices, const told *list, uint32_t count) {
  vs_error error;
  vs_cuda cuda = {.count = count,
                  .api = {.device_get = get,
                          .device_uuid = own_uuid,
                          .device_card_uuid = card_uuid,
                          .device_bus_id = bus_id,
                          .device_attribute = attribute}};
  cards = list;
  devices->cuda = &cuda;
  devices->has_cuda_numbers = false;
  expect_ok(vs_devices_ask_cuda(devices, &error));
  expect_ok(vs_devices_ask_cuda(devices, &error));
  devices->cuda = NULL;
}

#define H200  "GPU-a1b2c3d4-0000-4000-8000-000000000001"
#define SPLIT "GPU-a1b2c3d5-0000-4000-8000-000000000002"
#define L40S  "GPU-b0000000-0000-4000-8000-000000000003"
#define PART  "MIG-21111111-0000-4000-8000-000000000002"

/* A driver that fails at its second card leaves the numbers that the variables gave. */
static void test_half_an_answer(void **state) {
  static const told list[] = {{L40S, L40S, "0000:00:00.0", 0}, {H200, H200, "0001:83:00.0", 0}};
  uint32_t unit;
  size_t count;
  vs_error error;
  (void)state;
  vs_devices *devices = open_machine("mixed", (vs_devices_options){.order = "PCI_BUS_ID"});
  vs_cuda cuda = {
      .count = 2,
      .api = {.device_get = get_only_the_first, .device_uuid = own_uuid, .device_card_uuid = card_uuid}};
  expect_ok(vs_devices_select(devices, "cuda:0", &unit, 1, &count, &error));
  cards = list;
  devices->cuda = &cuda;
  expect_status(vs_devices_ask_cuda(devices, &error), VS_BAD_ARGUMENT);
  devices->cuda = NULL;
  assert_true(vs_devices__check(devices));
  expect_known(info_of(devices, unit).cuda_index, 0);
  assert_int_equal(devices->by_cuda.count, 1);
  vs_devices_close(devices);
}

static void test_by_uuid(void **state) {
  static const told list[] = {{L40S, L40S, "0000:00:00.0", 0}, {H200, H200, "0001:83:00.0", 0}};
  uint32_t unit;
  size_t count;
  (void)state;
  vs_devices *devices = open_machine("mixed", (vs_devices_options){.visible = "0"});
  ask(devices, list, 2);
  expect_known(info_of(devices, 4).cuda_index, 0); /* whatever the variables say */
  expect_known(info_of(devices, 0).cuda_index, 1); /* by UUID, before the PCI id */
  expect_reason(info_of(devices, 1).cuda_index, VS_REASON_NOT_VISIBLE);
  expect_ok(vs_devices_select(devices, "cuda:0", &unit, 1, &count, NULL));
  assert_int_equal(unit, 4);
  assert_false(info_of(devices, 0).is_unified);
  vs_devices_close(devices);
}

static void test_by_place(void **state) {
  static const told list[] = {
      {NULL, NULL, "0001:83:00.0", 0}, {NULL, NULL, "0000:83:00.0", 1}, {NULL, NULL, "0000:99:00.0", 0}};
  uint32_t unit;
  size_t count;
  vs_error error;
  (void)state;
  vs_devices *devices = open_machine("mixed", (vs_devices_options){0});
  ask(devices, list, 3);
  expect_known(info_of(devices, 4).cuda_index, 0);
  expect_known(info_of(devices, 0).cuda_index, 1);
  assert_true(info_of(devices, 0).is_unified); /* CUDA knows better than the lack of a figure */
  expect_status(vs_devices_select(devices, "cuda:2", &unit, 1, &count, &error), VS_NOT_FOUND);
  vs_devices_close(devices);
}

/* A MIG device lies where its card does, so only its UUID tells which it is. */
static void test_mig(void **state) {
  static const told list[] = {{PART, SPLIT, "0000:04:00.0", 0}};
  static const told foreign[] = {{"MIG-99999999-0000-4000-8000-000000000002", SPLIT, "0000:04:00.0", 0}};
  (void)state;
  vs_devices *devices = open_machine("mixed", (vs_devices_options){0});
  ask(devices, list, 1);
  expect_known(info_of(devices, 3).cuda_index, 0);
  expect_reason(info_of(devices, 1).cuda_index, VS_REASON_NOT_VISIBLE);
  expect_reason(info_of(devices, 2).cuda_index, VS_REASON_NOT_VISIBLE);
  ask(devices, foreign, 1);
  for (uint32_t i = 0; i < 5; i++) expect_reason(info_of(devices, i).cuda_index, VS_REASON_NOT_VISIBLE);
  vs_devices_close(devices);
}

static void test_no_cuda(void **state) {
  vs_devices_preload_cost cost;
  vs_error error;
  (void)state;
  assert_int_equal(setenv("VRAMSCOPE_CUDA", "/not/there/libcuda.so.1", 1), 0);
  vs_devices *devices = open_machine("two", (vs_devices_options){0});
  expect_known(info_of(devices, 1).cuda_index, 1); /* by the rule */
  expect_status(vs_devices_ask_cuda(devices, &error), VS_NOT_FOUND);
  assert_string_not_equal(error.text, "");
  expect_known(info_of(devices, 1).cuda_index, 1); /* as before */
  expect_status(vs_devices_preload(devices, 0, &cost, &error), VS_NOT_FOUND);
  assert_int_equal(cost.bytes, 0);
  vs_devices_close(devices);

  /* Selecting by CUDA's numbers asks where it may, and says what came of it. */
  uint32_t unit;
  size_t count;
  devices = open_machine("mixed", (vs_devices_options){.may_ask_cuda = true});
  expect_status(vs_devices_select(devices, "0,cuda:0", &unit, 1, &count, &error), VS_UNSUPPORTED);
  assert_int_equal(error.offset, 2);
  assert_int_equal(error.status, VS_UNSUPPORTED);
  assert_true(vs_str_contains(vs_str_from(error.text), VS_STR("/not/there/libcuda.so.1")));
  vs_devices_close(devices);
  assert_int_equal(unsetenv("VRAMSCOPE_CUDA"), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_half_an_answer), cmocka_unit_test(test_by_uuid),
      cmocka_unit_test(test_by_place),       cmocka_unit_test(test_mig),
      cmocka_unit_test(test_no_cuda),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
