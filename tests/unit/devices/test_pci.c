/* PCI ids in every spelling that programs and people use. */
#include "devices/pci.h"
#include "support/test.h"

static vs_pci parsed(const char *text) {
  vs_pci pci;
  if (!vs_pci_parse(vs_str_from(text), &pci)) fail_msg("%s is a PCI id", text);
  return pci;
}

static void test_spellings(void **state) {
  static const char *const same[] = {"00000000:83:00.0", "0000:83:00.0", "0:83:0.0",
                                     "83:00.0",          "83:0.0",       "0000:83:00"};
  const vs_pci wanted = parsed("00000000:83:00.0");
  (void)state;
  for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
    const vs_pci pci = parsed(same[i]);
    if (!vs_pci_fits(&pci, &wanted)) fail_msg("%s is another place", same[i]);
  }
  const vs_pci small = parsed("000f:ab:1c.7"), large = parsed("0000000F:AB:1C.7");
  assert_true(vs_pci_fits(&small, &large));
  assert_int_equal(small.domain, 0xf);
  assert_int_equal(small.bus, 0xab);
  assert_int_equal(small.device, 0x1c);
  assert_int_equal(small.function, 7);
}

static void test_other_places(void **state) {
  static const char *const others[] = {"00000001:83:00.0", "0000:84:00.0", "83:01.0", "83:00.1", "1:83:00"};
  const vs_pci wanted = parsed("00000000:83:00.0");
  (void)state;
  for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
    const vs_pci pci = parsed(others[i]);
    if (vs_pci_fits(&pci, &wanted)) fail_msg("%s is the same place", others[i]);
  }
}

static void test_no_ids(void **state) {
  static const char *const none[] = {"",        "0:2",       "83:00",     "83",       "83:00.",
                                     ":00.0",   "0000:83:",  "83:00.0.0", "83:000.0", "123456789:1:2",
                                     "g3:00.0", "0:0:0:0.0", "83:00.10",  "83:00.0 ", "0000:183:00",
                                     "83.00.0", "cuda:0",    "GPU-1:2:3"};
  vs_pci pci;
  (void)state;
  for (size_t i = 0; i < sizeof none / sizeof *none; i++)
    if (vs_pci_parse(vs_str_from(none[i]), &pci)) fail_msg("%s is no PCI id", none[i]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_spellings),
      cmocka_unit_test(test_other_places),
      cmocka_unit_test(test_no_ids),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
