/* Doubles and their text, against CPython's repr() and float(): double_text_cases.def, which the build makes by make_double_text_cases. */
#include "base/double_text.h"
#include "support/random.h"
#include "support/test.h"

static void shortest_as_python_writes_it(void **state) {
  (void)state;
  static const struct {
    uint64_t bits;
    const char *text;
  } cases[] = {
#define REAL_REPR(bits, text) {UINT64_C(bits), text},
#define REAL_TEXT(text, bits)
#include "double_text_cases.def"
#undef REAL_REPR
#undef REAL_TEXT
  };
  vs_text text;
  vs_text_init(&text, vs_host_default(), NULL);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    vs_text_f64(&text, vs_f64_from_bits(cases[i].bits));
    vs_text_byte(&text, 0);
    assert_string_equal(text.bytes.data, cases[i].text);
    text.bytes.count = 0;
  }
  vs_text_deinit(&text);
}

static void nearest_as_python_reads_it(void **state) {
  (void)state;
  static const struct {
    const char *text;
    uint64_t bits;
  } cases[] = {
#define REAL_REPR(bits, text) {text, UINT64_C(bits)},
#define REAL_TEXT(text, bits) {text, UINT64_C(bits)},
#include "double_text_cases.def"
#undef REAL_REPR
#undef REAL_TEXT
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    double value;
    assert_true(vs_parse_f64(vs_str_from(cases[i].text), &value));
    if (vs_f64_to_bits(value) != cases[i].bits) fail_msg("%s", cases[i].text);
  }
}

static void digits_without_end(void **state) {
  (void)state;
  vs_text text;
  double value;
  vs_text_init(&text, vs_host_default(), NULL);
  /* 2^53 + 1 lies in the middle: what follows thousands of zeros decides. */
  vs_text_cstr(&text, "9007199254740993.");
  for (int i = 0; i < 5000; i++) vs_text_byte(&text, '0');
  assert_true(vs_parse_f64(vs_text_view(&text), &value) && value == 9007199254740992.0);
  vs_text_byte(&text, '1');
  assert_true(vs_parse_f64(vs_text_view(&text), &value) && value == 9007199254740994.0);
  vs_text_deinit(&text);
}

static void what_was_written_reads_back(void **state) {
  (void)state;
  vs_text text;
  vs_text_init(&text, vs_host_default(), NULL);
  test_random random = {4};
  for (int i = 0; i < 3000; i++) {
    const uint64_t bits = random_u64(&random);
    if (!vs_f64_is_finite(vs_f64_from_bits(bits))) continue;
    vs_text_f64(&text, vs_f64_from_bits(bits));
    double back;
    assert_true(vs_parse_f64(vs_text_view(&text), &back));
    assert_int_equal(vs_f64_to_bits(back), bits);
    text.bytes.count = 0;
  }
  vs_text_deinit(&text);
}

static void what_is_no_number(void **state) {
  (void)state;
  static const char *const cases[] = {"",     "-",    "+1",    "01",    "-01", "1.",  ".5",   "1e",
                                      "1e+",  "0x1",  "1 ",    " 1",    "inf", "nan", "1.e5", "--1",
                                      "1..2", "1e1.", "1e1e1", "1,000", "e5",  "-.5"};
  double value;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    assert_false(vs_parse_f64(vs_str_from(cases[i]), &value));
  assert_false(vs_parse_f64((vs_str){NULL, 0}, &value));
}

static void not_finite(void **state) {
  (void)state;
  vs_text text;
  vs_text_init(&text, vs_host_default(), NULL);
  const double infinite = vs_f64_from_bits(UINT64_C(0x7ff0000000000000)),
               nan = vs_f64_from_bits(UINT64_C(0xfff8000000000000));
  assert_true(vs_f64_is_finite(0) && vs_f64_is_finite(1e308) && vs_f64_is_finite(-5e-324));
  assert_false(vs_f64_is_finite(infinite) || vs_f64_is_finite(-infinite) || vs_f64_is_finite(nan));
  vs_text_f64(&text, infinite);
  vs_text_f64(&text, -infinite);
  vs_text_f64(&text, nan);
  expect_text(&text, "inf-infnan");
  vs_text_deinit(&text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(shortest_as_python_writes_it),
      cmocka_unit_test(nearest_as_python_reads_it),
      cmocka_unit_test(digits_without_end),
      cmocka_unit_test(what_was_written_reads_back),
      cmocka_unit_test(what_is_no_number),
      cmocka_unit_test(not_finite),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
