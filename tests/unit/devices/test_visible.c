/* What CUDA_VISIBLE_DEVICES means, case by case. PyTorch's own tests have the same lists of numbers and UUIDs. */
#include "devices/visible.h"
#include "support/test.h"

enum { MOST = 8 };

/* Three cards, named against their PCI order, of which one is divided in two if asked. Units: 0, 1, (2, 3 MIG of
 * 1), 2 or 4. */
static uint32_t make(vs_devices_info infos[MOST], bool is_alike, bool is_divided) {
  static const char *const uuids[] = {"GPU-aa000000-1", "GPU-ab000000-2", "GPU-b0000000-3"};
  static const uint32_t buses[] = {0x83, 0x03, 0x84};
  uint32_t count = 0;
  for (uint32_t card = 0; card < 3; card++) {
    vs_devices_info *info = &infos[count++];
    *info = (vs_devices_info){.index = card, .pci_bus = buses[card], .parent = VS_DEVICES_NONE};
    vs_format(info->uuid, sizeof info->uuid, "%s", uuids[card]);
    vs_format(info->name, sizeof info->name, "%s", is_alike || card != 2 ? "H200" : "L40S");
    if (card != 1 || !is_divided) continue;
    info->is_divided = true;
    for (uint32_t slot = 0; slot < 2; slot++) {
      infos[count] =
          (vs_devices_info){.is_mig = true, .parent = 1, .gpu_instance = 3 + slot, .compute_instance = 0};
      vs_format(infos[count].uuid, sizeof infos[count].uuid, "MIG-c%u000000", slot);
      count++;
    }
  }
  return count;
}

/* "1,0" of the units that CUDA offers, "?" for only the driver knows. */
static void expect_visible(const vs_devices_info *infos, uint32_t count, const char *visible,
                           const char *order, const char *wanted) {
  uint32_t units[MOST];
  char got[64] = "";
  const vs_visible seen = vs_visible_units(infos, count, visible, order, units);
  if (!seen.is_known) vs_format(got, sizeof got, "?");
  for (uint32_t i = 0; i < seen.count; i++)
    vs_format(got + strlen(got), sizeof got - strlen(got), "%s%u", i == 0 ? "" : ",", units[i]);
  if (strcmp(got, wanted) != 0)
    fail_msg("CUDA_VISIBLE_DEVICES=%s CUDA_DEVICE_ORDER=%s: units %s, not %s",
             visible == NULL ? "(none)" : visible, order == NULL ? "(none)" : order, got, wanted);
}

static void test_numbers(void **state) {
  static const char pci[] = "PCI_BUS_ID";
  vs_devices_info infos[MOST];
  const uint32_t count = make(infos, true, false);
  (void)state;
  expect_visible(infos, count, NULL, pci, "1,0,2"); /* by PCI id, not by NVML's number */
  expect_visible(infos, count, "", pci, "");
  expect_visible(infos, count, "0", pci, "1");
  expect_visible(infos, count, "2,0", pci, "2,1");
  expect_visible(infos, count, "0,2,-1,1", pci, "1,2"); /* the example of the programming guide */
  expect_visible(infos, count, "0,3,1", pci, "1");
  expect_visible(infos, count, "-1", pci, "");
  expect_visible(infos, count, "-0", pci, "1");
  expect_visible(infos, count, "+1", pci, "0");
  expect_visible(infos, count, "0,0", pci, "");
  expect_visible(infos, count, "0,1,0", pci, "");
  expect_visible(infos, count, "0,9,0", pci, ""); /* the list is read first, cards are looked for then */
  expect_visible(infos, count, "0,-1,0", pci, "1");
  expect_visible(infos, count, "1gpu2,2ampere", pci, "0,2");
  expect_visible(infos, count, " 1 , 2", pci, "0,2");
  expect_visible(infos, count, "0,,1", pci, "1");
  expect_visible(infos, count, "none", pci, "");
  expect_visible(infos, count, "0,GPU-b0", pci, "1"); /* one kind only */
  expect_visible(infos, count, "99999999999999999999", pci, "");
}

static void test_uuids(void **state) {
  vs_devices_info infos[MOST];
  const uint32_t count = make(infos, false, false);
  (void)state;
  expect_visible(infos, count, "GPU-b0000000-3,GPU-aa000000-1", NULL, "2,0"); /* no order is needed */
  expect_visible(infos, count, "GPU-b,GPU-aa", NULL, "2,0");
  expect_visible(infos, count, "GPU-a", NULL, ""); /* two begin so */
  expect_visible(infos, count, "GPU-b,GPU-a,GPU-aa", NULL, "2");
  expect_visible(infos, count, "GPU-b,GPU-c,GPU-aa", NULL, "2");
  expect_visible(infos, count, "GPU-b,GPU-b", NULL, "");
  expect_visible(infos, count, "GPU-b,GPU-b0", NULL, ""); /* one card twice */
  expect_visible(infos, count, "GPU-b,1", NULL, "2");
  expect_visible(infos, count, "GPU-B", NULL, "");
}

static void test_order(void **state) {
  vs_devices_info infos[MOST];
  uint32_t count = make(infos, true, false);
  (void)state;
  expect_visible(infos, count, NULL, NULL, "1,0,2"); /* all alike */
  count = make(infos, false, false);
  expect_visible(infos, count, NULL, NULL, "?");
  expect_visible(infos, count, "0,1", "FASTEST_FIRST", "?");
  expect_visible(infos, count, "0,1", "pci_bus_id", "?");
  expect_visible(infos, count, "", NULL, "");
  expect_visible(infos, count, "0,1", "PCI_BUS_ID", "1,0");
  expect_visible(infos, 1, NULL, NULL, "0");
  expect_visible(infos, 0, NULL, NULL, "");
  expect_visible(infos, 0, "0", NULL, "");
}

static void test_mig(void **state) {
  vs_devices_info infos[MOST];
  const uint32_t count = make(infos, true, true);
  (void)state;
  assert_int_equal(count, 5);
  expect_visible(infos, count, NULL, NULL, "2"); /* one compute instance, and nothing beside it */
  expect_visible(infos, count, "0", NULL, "2");
  expect_visible(infos, count, "1,2", NULL, "0,4");
  expect_visible(infos, count, "1,0", NULL, "2");
  expect_visible(infos, count, "MIG-c1", NULL, "3");
  expect_visible(infos, count, "MIG-c1000000,MIG-c0", NULL, "3");
  expect_visible(infos, count, "MIG-c", NULL, "");
  expect_visible(infos, count, "MIG-GPU-ab000000-2/4/0", NULL, "3");
  expect_visible(infos, count, "MIG-GPU-ab000000-2/5/0", NULL, "");
  expect_visible(infos, count, "MIG-GPU-ab000000/4/0", NULL, ""); /* not cut short */
  expect_visible(infos, count, "MIG-GPU-ab000000-2/4", NULL, "");
  expect_visible(infos, count, "MIG-GPU-ab000000-2", NULL, "");
  expect_visible(infos, count, "GPU-ab", NULL, "2");
  infos[2].parent = infos[3].parent = 0; /* divided, and no device made yet */
  expect_visible(infos, count, "0", NULL, "");
  expect_visible(infos, count, NULL, NULL, "0,4");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_numbers),
      cmocka_unit_test(test_uuids),
      cmocka_unit_test(test_order),
      cmocka_unit_test(test_mig),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
