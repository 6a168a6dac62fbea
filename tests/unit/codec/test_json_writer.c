#include "codec/json_writer.h"
#include "base/double_text.h"
#include "support/test.h"

static vs_text text;
static vs_jsonw w;

static int setup(void **state) {
  (void)state;
  vs_text_init(&text, vs_host_default(), NULL);
  return 0;
}

static int teardown(void **state) {
  (void)state;
  vs_text_deinit(&text);
  return 0;
}

/* {"a":1,"b":[true,null,-2,{}],"c":{"d":"x","e":[]}} */
static void write_sample(uint32_t indent) {
  vs_jsonw_begin(&w, &text, indent);
  vs_jsonw_object_begin(&w);
  vs_jsonw_member_u64(&w, "a", 1);
  vs_jsonw_key(&w, VS_STR("b"));
  vs_jsonw_array_begin(&w);
  vs_jsonw_bool(&w, true);
  vs_jsonw_null(&w);
  vs_jsonw_i64(&w, -2);
  vs_jsonw_object_begin(&w);
  vs_jsonw_object_end(&w);
  vs_jsonw_array_end(&w);
  vs_jsonw_key(&w, VS_STR("c"));
  vs_jsonw_object_begin(&w);
  vs_jsonw_member_str(&w, "d", VS_STR("x"));
  vs_jsonw_key(&w, VS_STR("e"));
  vs_jsonw_array_begin(&w);
  vs_jsonw_array_end(&w);
  vs_jsonw_object_end(&w);
  vs_jsonw_object_end(&w);
  vs_jsonw_end(&w);
}

static void on_one_line(void **state) {
  (void)state;
  write_sample(0);
  expect_text(&text, "{\"a\":1,\"b\":[true,null,-2,{}],\"c\":{\"d\":\"x\",\"e\":[]}}");
}

static void indented(void **state) {
  (void)state;
  write_sample(2);
  expect_text(&text, "{\n"
                     "  \"a\": 1,\n"
                     "  \"b\": [\n"
                     "    true,\n"
                     "    null,\n"
                     "    -2,\n"
                     "    {}\n"
                     "  ],\n"
                     "  \"c\": {\n"
                     "    \"d\": \"x\",\n"
                     "    \"e\": []\n"
                     "  }\n"
                     "}\n");
}

static void every_member(void **state) {
  (void)state;
  vs_jsonw_begin(&w, &text, 0);
  vs_jsonw_object_begin(&w);
  vs_jsonw_member_u64(&w, "u", UINT64_MAX);
  vs_jsonw_member_i64(&w, "i", INT64_MIN);
  vs_jsonw_member_f64(&w, "f", 0.8);
  vs_jsonw_member_bool(&w, "t", true);
  vs_jsonw_member_bool(&w, "n", false);
  vs_jsonw_member_null(&w, "0");
  vs_jsonw_member_str(&w, "s", VS_STR(""));
  vs_jsonw_object_end(&w);
  vs_jsonw_end(&w);
  expect_text(&text,
              "{\"u\":18446744073709551615,\"i\":-9223372036854775808,\"f\":0.8,\"t\":true,\"n\":false,"
              "\"0\":null,\"s\":\"\"}");
}

static void expect_written(vs_str string, vs_str json) {
  vs_jsonw_begin(&w, &text, 0);
  vs_jsonw_str(&w, string);
  vs_jsonw_end(&w);
  expect_str_at(vs_text_view(&text), json, __FILE__, __LINE__);
  text.bytes.count = 0;
}

static void strings(void **state) {
  (void)state;
  expect_written((vs_str){NULL, 0}, VS_STR("\"\""));
  expect_written(VS_STR("say \"hi\" \\o/"), VS_STR("\"say \\\"hi\\\" \\\\o/\""));
  expect_written(VS_STR("\b\f\n\r\t"), VS_STR("\"\\b\\f\\n\\r\\t\""));
  expect_written(VS_STR("\0\x01\x0b\x1f\x7f"), VS_STR("\"\\u0000\\u0001\\u000b\\u001f\x7f\""));
  expect_written(VS_STR("caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80"),
                 VS_STR("\"caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80\""));
  expect_written(VS_STR("a\xff"
                        "b\xc3"),
                 VS_STR("\"a\\udcffb\\udcc3\""));                                   /* no UTF-8 */
  expect_written(VS_STR("\xed\xb3\xbf\xed\xa0\x80"), VS_STR("\"\\udcff\\ud800\"")); /* encoded surrogates */
  expect_written(VS_STR("\xed\x9f\xbf"), VS_STR("\"\xed\x9f\xbf\""));               /* the last before them */
}

static void numbers_that_json_lacks(void **state) {
  (void)state;
  vs_jsonw_begin(&w, &text, 0);
  vs_jsonw_array_begin(&w);
  vs_jsonw_f64(&w, vs_f64_from_bits(UINT64_C(0x7ff8000000000000)));
  vs_jsonw_f64(&w, vs_f64_from_bits(UINT64_C(0xfff0000000000000)));
  vs_jsonw_f64(&w, 1e16);
  vs_jsonw_array_end(&w);
  vs_jsonw_end(&w);
  expect_text(&text, "[null,null,1e+16]");
}

static void deepest(void **state) {
  (void)state;
  vs_jsonw_begin(&w, &text, 0);
  for (int i = 0; i < VS_JSONW_DEPTH / 2; i++) {
    vs_jsonw_array_begin(&w);
    vs_jsonw_object_begin(&w);
    vs_jsonw_key(&w, VS_STR("k"));
  }
  vs_jsonw_u64(&w, 1);
  for (int i = 0; i < VS_JSONW_DEPTH / 2; i++) {
    vs_jsonw_object_end(&w);
    vs_jsonw_array_end(&w);
  }
  vs_jsonw_end(&w);
  assert_int_equal(text.bytes.count, 1 + 8 * VS_JSONW_DEPTH / 2);
}

static void begin_object(void) {
  vs_jsonw_begin(&w, &text, 0);
  vs_jsonw_object_begin(&w);
}

static void value_without_key(void) {
  begin_object();
  vs_jsonw_u64(&w, 1);
}
static void key_without_value(void) {
  begin_object();
  vs_jsonw_key(&w, VS_STR("k"));
  vs_jsonw_object_end(&w);
}
static void key_in_array(void) {
  vs_jsonw_begin(&w, &text, 0);
  vs_jsonw_array_begin(&w);
  vs_jsonw_key(&w, VS_STR("k"));
}
static void wrong_end(void) {
  begin_object();
  vs_jsonw_array_end(&w);
}
static void left_open(void) {
  begin_object();
  vs_jsonw_end(&w);
}
static void nothing_at_all(void) {
  vs_jsonw_begin(&w, &text, 0);
  vs_jsonw_end(&w);
}
static void two_values(void) {
  vs_jsonw_begin(&w, &text, 0);
  vs_jsonw_u64(&w, 1);
  vs_jsonw_u64(&w, 2);
}
static void too_deep(void) {
  vs_jsonw_begin(&w, &text, 0);
  for (int i = 0; i <= VS_JSONW_DEPTH; i++) vs_jsonw_array_begin(&w);
}

static void misuse_traps(void **state) {
  (void)state;
  expect_trap(value_without_key);
  expect_trap(key_without_value);
  expect_trap(key_in_array);
  expect_trap(wrong_end);
  expect_trap(left_open);
  expect_trap(nothing_at_all);
  expect_trap(two_values);
  expect_trap(too_deep);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(on_one_line, setup, teardown),
      cmocka_unit_test_setup_teardown(indented, setup, teardown),
      cmocka_unit_test_setup_teardown(every_member, setup, teardown),
      cmocka_unit_test_setup_teardown(strings, setup, teardown),
      cmocka_unit_test_setup_teardown(numbers_that_json_lacks, setup, teardown),
      cmocka_unit_test_setup_teardown(deepest, setup, teardown),
      cmocka_unit_test_setup_teardown(misuse_traps, setup, teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
