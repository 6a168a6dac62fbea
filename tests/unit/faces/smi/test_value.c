/* Values of `smi` as CSV and as JSON, with those that no machine of the tests has.
 *
 * These files belong to the program, not to the library, so they are compiled into this test. */
#include "faces/smi/value.c"
#include "support/test.h"

static fault_host fault;

static vs_smi_cell number(uint64_t value) { return vs_smi_cell_number(value); }

static void expect(vs_smi_form form, const char *unit, vs_smi_cell cell, bool has_unit, const char *wanted) {
  vs_text text;
  fault_host_init(&fault, FAULT_NEVER);
  vs_text_init(&text, &fault.host, NULL);
  const vs_smi_field field = {.name = "field", .form = form, .unit = unit};
  vs_smi_put_value(&text, &field, &cell, has_unit);
  expect_text_at(&text, vs_str_from(wanted), __FILE__, __LINE__);
  vs_text_deinit(&text);
  fault_host_expect_empty(&fault);
}

static void test_numbers(void **state) {
  (void)state;
  expect(VS_SMI_COUNT, "MHz", number(345), true, "345 MHz");
  expect(VS_SMI_COUNT, "MHz", number(345), false, "345");
  expect(VS_SMI_COUNT, NULL, number(UINT64_MAX), true, "18446744073709551615");
  expect(VS_SMI_SIGNED, NULL, number((uint64_t)-7), true, "-7");
  expect(VS_SMI_MASK, NULL, number(UINT64_C(0x8000000000000abc)), true, "0x8000000000000ABC");
  expect(VS_SMI_HEX2, NULL, number(0xc), true, "0x0C");
  expect(VS_SMI_HEX4, NULL, number(0x12345), true, "0x12345"); /* more digits than usual */
  expect(VS_SMI_HEX1, NULL, number(3), true, "0x3");
  expect(VS_SMI_CAPABILITY, NULL, number(12 << 16 | 1), true, "12.1");
  expect(VS_SMI_PSTATE, NULL, number(15), true, "P15");
}

/* Up, each for itself, also where adding would overflow. */
static void test_mebibytes(void **state) {
  (void)state;
  expect(VS_SMI_BYTES, "MiB", number(0), true, "0 MiB");
  expect(VS_SMI_BYTES, "MiB", number(1), true, "1 MiB");
  expect(VS_SMI_BYTES, "MiB", number(501481472), true, "479 MiB");
  expect(VS_SMI_BYTES, "MiB", number(UINT64_C(143771) << 20), false, "143771");
  expect(VS_SMI_BYTES, "MiB", number(UINT64_MAX), false, "17592186044416");
}

static void test_watts(void **state) {
  (void)state;
  for (uint64_t milliwatts = 0; milliwatts < 2000000; milliwatts += 37) {
    char wanted[32];
    (void)snprintf(wanted, sizeof wanted, "%.2f W", (double)milliwatts / 1000.0);
    if (milliwatts % 10000 < 37) expect(VS_SMI_WATTS, "W", number(milliwatts), true, wanted);
  }
  expect(VS_SMI_WATTS, "W", number(77705), true, "77.70 W"); /* the nearest double is below the middle */
  expect(VS_SMI_WATTS, "W", number(700000), true, "700.00 W");
}

static void test_words(void **state) {
  (void)state;
  expect(VS_SMI_ENABLED, NULL, number(0), true, "Disabled");
  expect(VS_SMI_ENABLED, NULL, number(2), true, "[Unknown Error]"); /* never a guess */
  expect(VS_SMI_RECOVERY, NULL, number(4), true, "Drain and Reset");
  expect(VS_SMI_RECOVERY, NULL, number(5), true, "[Unknown Error]");
  expect(VS_SMI_RECOVERY, NULL, number(UINT64_MAX), true, "[Unknown Error]");
  expect(VS_SMI_FABRIC_STATUS, NULL, number(1), true, "[Unknown Error]");
  expect(VS_SMI_PSTATE, NULL, number(32), true, "[Unknown Error]");
  expect(VS_SMI_TEXT, NULL, vs_smi_cell_text("a, b\nc\x1b\x7f\xc3\xa9"), true, "a? b?c??\xc3\xa9");
}

static void test_tokens(void **state) {
  (void)state;
  static const struct {
    vs_reason reason;
    const char *token;
  } wanted[] = {
      {VS_REASON_NOT_SAMPLED, "[N/A]"},
      {VS_REASON_NOT_SUPPORTED, "[N/A]"},
      {VS_REASON_NO_PERMISSION, "[Insufficient Permissions]"},
      {VS_REASON_NO_FUNCTION, "[N/A]"},
      {VS_REASON_LOST, "[GPU is lost]"},
      {VS_REASON_NOT_FOUND, "[Not Found]"},
      {VS_REASON_DEPRECATED, "[Requested functionality has been deprecated]"},
      {VS_REASON_NOT_VISIBLE, "[N/A]"},
      {VS_REASON_NO_DRIVER, "[Unknown Error]"},
      {VS_REASON_STALE, "[Unknown Error]"},
      {VS_REASON_FAILED, "[Unknown Error]"},
  };
  for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++)
    expect(VS_SMI_BYTES, "MiB", vs_smi_cell_unknown(wanted[i].reason), true, wanted[i].token);
  const vs_smi_cell no_function = {.metric = {.reason = VS_REASON_NO_FUNCTION, .code = 13}};
  expect(VS_SMI_BYTES, "MiB", no_function, true, "[Function Not Found]");
  expect(VS_SMI_COUNT_BARE, NULL, vs_smi_cell_unknown(VS_REASON_NOT_SUPPORTED), true, "N/A");
  expect(VS_SMI_TEXT_BARE, NULL, vs_smi_cell_unknown(VS_REASON_NO_PERMISSION), true,
         "[Insufficient Permissions]");
}

static void expect_json(vs_smi_form form, uint32_t bit, vs_smi_cell cell, const char *wanted) {
  vs_text text;
  vs_jsonw w;
  fault_host_init(&fault, FAULT_NEVER);
  vs_text_init(&text, &fault.host, NULL);
  vs_jsonw_begin(&w, &text, 0);
  const vs_smi_field field = {.name = "field", .form = form, .bit = bit};
  vs_smi_json_value(&w, &field, &cell);
  vs_jsonw_end(&w);
  expect_text_at(&text, vs_str_from(wanted), __FILE__, __LINE__);
  vs_text_deinit(&text);
  fault_host_expect_empty(&fault);
}

/* One bit of a mask, wherever it is. */
static void test_bits(void **state) {
  static const char *const shown[] = {"Not Active", "Active"};
  (void)state;
  for (uint32_t bit = 1; bit != 0; bit <<= 1)
    for (int is_set = 0; is_set < 2; is_set++) {
      vs_text text;
      fault_host_init(&fault, FAULT_NEVER);
      vs_text_init(&text, &fault.host, NULL);
      const vs_smi_field field = {.name = "field", .form = VS_SMI_ACTIVE, .bit = bit};
      const vs_smi_cell cell = number(is_set ? bit : ~bit);
      vs_smi_put_value(&text, &field, &cell, true);
      expect_text_at(&text, vs_str_from(shown[is_set]), __FILE__, __LINE__);
      vs_text_deinit(&text);
      fault_host_expect_empty(&fault);
    }
}

static void test_json(void **state) {
  (void)state;
  expect_json(VS_SMI_BYTES, 0, number(501481472), "501481472");
  expect_json(VS_SMI_WATTS, 0, number(77710), "77.71");
  expect_json(VS_SMI_SIGNED, 0, number((uint64_t)-7), "-7");
  expect_json(VS_SMI_MASK, 0, number(0x1ff), "511");
  expect_json(VS_SMI_ACTIVE, 32, number(0x20), "true");
  expect_json(VS_SMI_ACTIVE, 32, number(0x40), "false");
  expect_json(VS_SMI_HEX8, 0, number(0x10de), "\"0x000010DE\"");
  expect_json(VS_SMI_PSTATE, 0, number(8), "\"P8\"");
  expect_json(VS_SMI_COMPUTE_MODE, 0, number(0), "\"Default\"");
  expect_json(VS_SMI_TEXT, 0, vs_smi_cell_text("a, b\n"), "\"a, b\\n\"");
  expect_json(VS_SMI_COUNT, 0, vs_smi_cell_unknown(VS_REASON_LOST), "null");
}

static void test_time(void **state) {
  (void)state;
  char time[VS_SMI_TIME_SIZE];
  vs_smi_time(time, UINT64_C(1783116646109999999));
  assert_int_equal(strlen(time), 23);
  assert_string_equal(time + 16, ":46.109"); /* before it: as the time zone has it */
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_numbers), cmocka_unit_test(test_mebibytes), cmocka_unit_test(test_watts),
      cmocka_unit_test(test_words),   cmocka_unit_test(test_tokens),    cmocka_unit_test(test_bits),
      cmocka_unit_test(test_json),    cmocka_unit_test(test_time),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
