/* The text of metrics, byte by byte. The file belongs to the program, not to the library, so it is compiled into this test. */
#include "faces/exporter/exposition.c"
#include "support/test.h"

static vs_text text;

static vs_exposition begin(vs_exposition_format format) {
  vs_text_init(&text, vs_host_default(), NULL);
  return (vs_exposition){.text = &text, .format = format};
}

static void expect_bytes(const char *wanted) {
  expect_ok(text.status);
  vs_text_byte(&text, 0);
  assert_string_equal(text.bytes.data, wanted);
  vs_text_deinit(&text);
}

static void put(vs_exposition *e, const vs_family *family) {
  vs_exposition_family(e, family);
  vs_exposition_begin(e, family);
  vs_exposition_label(e, "gpu", VS_STR("0"));
  vs_exposition_label(e, "mig", VS_STR("2"));
  vs_exposition_value(e, (vs_decimal){.digits = 1});
}

static const vs_family power = {"power_watts", VS_FAMILY_GAUGE, "watts", "power \"now\""};
static const vs_family energy = {"energy_joules", VS_FAMILY_COUNTER, "joules", "energy"};
static const vs_family build = {"build", VS_FAMILY_INFO, "", "this \\ that\nand more"};

static void test_openmetrics(void **state) {
  (void)state;
  vs_exposition e = begin(VS_EXPOSITION_OPENMETRICS);
  put(&e, &power);
  put(&e, &energy);
  put(&e, &build);
  vs_exposition_end(&e);
  expect_bytes("# TYPE power_watts gauge\n# UNIT power_watts watts\n# HELP power_watts power \\\"now\\\"\n"
               "power_watts{gpu=\"0\",mig=\"2\"} 1\n"
               "# TYPE energy_joules counter\n# UNIT energy_joules joules\n# HELP energy_joules energy\n"
               "energy_joules_total{gpu=\"0\",mig=\"2\"} 1\n"
               "# TYPE build info\n# HELP build this \\\\ that\\nand more\n"
               "build_info{gpu=\"0\",mig=\"2\"} 1\n"
               "# EOF\n");
}

static void test_the_older_format(void **state) {
  (void)state;
  vs_exposition e = begin(VS_EXPOSITION_TEXT);
  put(&e, &energy);
  put(&e, &build);
  vs_exposition_end(&e);
  expect_bytes("# TYPE energy_joules_total counter\n# HELP energy_joules_total energy\n"
               "energy_joules_total{gpu=\"0\",mig=\"2\"} 1\n"
               "# TYPE build_info gauge\n# HELP build_info this \\\\ that\\nand more\n"
               "build_info{gpu=\"0\",mig=\"2\"} 1\n");
}

static void test_a_sample_without_labels(void **state) {
  (void)state;
  vs_exposition e = begin(VS_EXPOSITION_TEXT);
  for (int i = 0; i < 2; i++) {
    vs_exposition_begin(&e, &power);
    vs_exposition_value(&e, (vs_decimal){.digits = i});
  }
  expect_bytes("power_watts 0\npower_watts 1\n");
}

static void test_decimals(void **state) {
  static const struct {
    int64_t digits;
    uint32_t places;
    const char *wanted;
  } cases[] = {{0, 0, " 0\n"},
               {0, 3, " 0\n"},
               {97, 2, " 0.97\n"},
               {100, 2, " 1\n"},
               {612340, 3, " 612.34\n"},
               {5, 3, " 0.005\n"},
               {-1, 3, " -0.001\n"},
               {-28, 0, " -28\n"},
               {123456789, 3, " 123456.789\n"},
               {1000000001, 9, " 1.000000001\n"},
               {INT64_MAX, 0, " 9223372036854775807\n"},
               {INT64_MIN, 9, " -9223372036.854775808\n"}};
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    vs_exposition e = begin(VS_EXPOSITION_TEXT);
    vs_exposition_value(&e, (vs_decimal){.digits = cases[i].digits, .places = cases[i].places});
    expect_bytes(cases[i].wanted);
  }
}

/* Readers refuse a whole scrape for one byte that is not UTF-8, and Go's for surrogates, too. */
static void test_values_of_labels(void **state) {
  static const struct {
    vs_str value;
    const char *wanted;
  } cases[] = {{VS_STR(""), "{a=\"\""},
               {VS_STR("a\"} 1\n"), "{a=\"a\\\"} 1\\n\""},
               {VS_STR("\\n"), "{a=\"\\\\n\""},
               {VS_STR("gr\xc3\xb6\xc3\x9f"
                       "e \xf0\x9f\x94\xa5"),
                "{a=\"gr\xc3\xb6\xc3\x9f"
                "e \xf0\x9f\x94\xa5\""},
               {VS_STR("\xff|\xc3"), "{a=\"\xef\xbf\xbd|\xef\xbf\xbd\""},
               {VS_STR("\xed\xa0\x80"), "{a=\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""},
               {VS_STR("\xed\x9f\xbf"), "{a=\"\xed\x9f\xbf\""}, /* the last character before the surrogates */
               {VS_STR("\xc0\xaf"), "{a=\"\xef\xbf\xbd\xef\xbf\xbd\""}};
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    vs_exposition e = begin(VS_EXPOSITION_TEXT);
    vs_exposition_label(&e, "a", cases[i].value);
    expect_bytes(cases[i].wanted);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_openmetrics),
      cmocka_unit_test(test_the_older_format),
      cmocka_unit_test(test_a_sample_without_labels),
      cmocka_unit_test(test_decimals),
      cmocka_unit_test(test_values_of_labels),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
