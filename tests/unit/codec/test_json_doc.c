#include "codec/json_doc.h"
#include "support/test.h"

static vs_json_doc doc;

static vs_json parse(vs_str json) {
  expect_ok(vs_json_doc_init(&doc, vs_host_default(), json, NULL));
  return vs_json_root(&doc);
}

static void a_request(void **state) {
  (void)state;
  const vs_json request = parse(VS_STR("{\"method\":\"peak\",\"params\":{\"limit\":20,\"at\":-1,\"share\":0."
                                       "5,\"all\":true,\"name\":\"\"},\"ids\":[3,\"x\",null]}"));
  assert_int_equal(vs_json_kind(request), VS_JSON_OBJECT);
  assert_int_equal(vs_json_count(request), 3);
  expect_str(vs_json_str(vs_json_member(request, VS_STR("method")), VS_STR("none")), "peak");
  const vs_json params = vs_json_member(request, VS_STR("params"));
  assert_int_equal(vs_json_u64(vs_json_member(params, VS_STR("limit")), 100), 20);
  assert_int_equal(vs_json_i64(vs_json_member(params, VS_STR("at")), 0), -1);
  assert_true(vs_json_f64(vs_json_member(params, VS_STR("share")), 0) == 0.5);
  assert_true(vs_json_bool(vs_json_member(params, VS_STR("all")), false));
  expect_str(vs_json_str(vs_json_member(params, VS_STR("name")), VS_STR("fallback")), "");
  const vs_json ids = vs_json_member(request, VS_STR("ids"));
  assert_int_equal(vs_json_kind(ids), VS_JSON_ARRAY);
  assert_int_equal(vs_json_count(ids), 3);
  assert_int_equal(vs_json_u64(vs_json_at(ids, 0), 0), 3);
  expect_str(vs_json_str(vs_json_at(ids, 1), VS_STR("")), "x");
  assert_int_equal(vs_json_kind(vs_json_at(ids, 2)), VS_VALUE_NONE);
  vs_json_doc_deinit(&doc);
}

static void what_is_not_there(void **state) {
  (void)state;
  const vs_json root = parse(VS_STR("{\"a\":[1]}"));
  const vs_json absent = vs_json_member(root, VS_STR("b"));
  assert_true(vs_json_is_absent(absent));
  assert_true(vs_json_is_absent(vs_json_member(absent, VS_STR("c"))));
  assert_true(vs_json_is_absent(vs_json_at(absent, 0)));
  assert_true(vs_json_is_absent(vs_json_at(vs_json_member(root, VS_STR("a")), 1)));
  assert_true(vs_json_is_absent(vs_json_member(vs_json_member(root, VS_STR("a")), VS_STR("a"))));
  assert_int_equal(vs_json_count(absent), 0);
  assert_int_equal(vs_json_u64(absent, 7), 7);
  assert_int_equal(vs_json_i64(absent, -7), -7);
  assert_true(vs_json_f64(absent, 0.25) == 0.25);
  assert_true(vs_json_bool(absent, true));
  expect_str(vs_json_str(absent, VS_STR("fallback")), "fallback");
  expect_str(vs_json_name_at(absent, 0), "");
  expect_str(vs_json_name_at(root, 1), "");
  assert_false(vs_json_is_absent(vs_json_at(root, 0)));
  vs_json_doc_deinit(&doc);
}

static void types_are_not_guessed(void **state) {
  (void)state;
  const vs_json root =
      parse(VS_STR("[\"1\",1.0,-1,18446744073709551615,18446744073709551616,9223372036854775808,null,true]"));
  static const uint64_t as_u64[] = {9, 9, 9, UINT64_MAX, 9, UINT64_C(1) << 63, 9, 9};
  static const int64_t as_i64[] = {9, 9, -1, 9, 9, 9, 9, 9};
  static const double as_f64[] = {9, 1, -1, 18446744073709551616.0, 9, 9223372036854775808.0, 9, 9};
  for (size_t i = 0; i < 8; i++) {
    assert_int_equal(vs_json_u64(vs_json_at(root, i), 9), as_u64[i]);
    assert_int_equal(vs_json_i64(vs_json_at(root, i), 9), as_i64[i]);
    assert_true(vs_json_f64(vs_json_at(root, i), 9) == as_f64[i]);
  }
  assert_false(vs_json_bool(vs_json_at(root, 2), false));
  vs_json_doc_deinit(&doc);
}

static void members_in_order_and_the_last_of_equal_ones(void **state) {
  (void)state;
  const vs_json root = parse(VS_STR("{\"b\":1,\"a\":2,\"b\":3}"));
  expect_str(vs_json_name_at(root, 0), "b");
  expect_str(vs_json_name_at(root, 1), "a");
  assert_int_equal(vs_json_u64(vs_json_at(root, 0), 0), 1);
  assert_int_equal(vs_json_u64(vs_json_at(root, 1), 0), 2);
  assert_int_equal(vs_json_u64(vs_json_member(root, VS_STR("b")), 0), 3);
  vs_json_doc_deinit(&doc);
}

static void scalars_and_empties(void **state) {
  (void)state;
  assert_int_equal(vs_json_u64(parse(VS_STR("5")), 0), 5);
  vs_json_doc_deinit(&doc);
  assert_int_equal(vs_json_count(parse(VS_STR("[]"))), 0);
  vs_json_doc_deinit(&doc);
  const vs_json root = parse(VS_STR("{\"\":\"\"}"));
  expect_str(vs_json_str(vs_json_member(root, VS_STR("")), VS_STR("fallback")), "");
  vs_json_doc_deinit(&doc);
  assert_true(vs_json_is_absent(vs_json_root(&doc)));
}

static void errors_are_those_of_the_reader(void **state) {
  (void)state;
  vs_error error;
  expect_status(vs_json_doc_init(&doc, vs_host_default(), VS_STR("{\"a\":tru}"), &error), VS_BAD_FORMAT);
  assert_int_equal(error.offset, 5);
  assert_string_equal(error.text, "'tru' is no value");
  assert_true(vs_json_is_absent(vs_json_root(&doc)));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_request),
      cmocka_unit_test(what_is_not_there),
      cmocka_unit_test(types_are_not_guessed),
      cmocka_unit_test(members_in_order_and_the_last_of_equal_ones),
      cmocka_unit_test(scalars_and_empties),
      cmocka_unit_test(errors_are_those_of_the_reader),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
