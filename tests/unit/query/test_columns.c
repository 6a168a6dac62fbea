/* The container of binary columns, byte by byte. */
#include "query/columns.h"
#include "codec/json_doc.h"
#include "support/test.h"

static vs_text reply;
static vs_jsonw json;
static vs_columns columns;

static int setup(void **state) {
  (void)state;
  vs_text_init(&reply, vs_host_default(), NULL);
  columns = (vs_columns){.host = vs_host_default()};
  vs_columns_begin(&reply);
  vs_jsonw_begin(&json, &reply, 0);
  vs_jsonw_object_begin(&json);
  return 0;
}

static int teardown(void **state) {
  (void)state;
  vs_columns_deinit(&columns);
  vs_text_deinit(&reply);
  return 0;
}

static uint32_t header_size(void) {
  uint32_t size;
  memcpy(&size, reply.bytes.data + 4, sizeof size);
  return size;
}

/* Where the JSON says that a column begins, after checking its type and count. */
static size_t place_of(const char *name, const char *type, uint64_t count) {
  vs_json_doc doc;
  vs_error error;
  const vs_str header = {reply.bytes.data + 8, header_size()};
  expect_ok(vs_json_doc_init(&doc, vs_host_default(), header, &error));
  const vs_json column =
      vs_json_member(vs_json_member(vs_json_root(&doc), VS_STR("columns")), vs_str_from(name));
  assert_true(
      vs_str_equal(vs_json_str(vs_json_member(column, VS_STR("type")), VS_STR("")), vs_str_from(type)));
  assert_int_equal(vs_json_u64(vs_json_member(column, VS_STR("count")), 99), count);
  const size_t at = (size_t)vs_json_u64(vs_json_member(column, VS_STR("at")), 1);
  vs_json_doc_deinit(&doc);
  assert_int_equal(at % 8, 0);
  assert_true(at >= 8 + (size_t)header_size() && at <= reply.bytes.count);
  return at;
}

static void columns_lie_where_the_header_says(void **state) {
  (void)state;
  const uint16_t pair[] = {1, 0x0302};
  vs_jsonw_member_str(&json, "method", VS_STR("test"));
  uint8_t *small = vs_columns_add(&columns, "small", VS_COLUMN_U8, 3);
  vs_columns_copy(&columns, "pair", VS_COLUMN_U16, pair, 2);
  assert_null(vs_columns_add(&columns, "nothing", VS_COLUMN_F64, 0));
  double *real = vs_columns_add(&columns, "real", VS_COLUMN_F64, 1);
  int32_t *minus = vs_columns_add(&columns, "minus", VS_COLUMN_I32, 1);
  expect_ok(columns.status);
  memcpy(small, "abc", 3);
  *real = 0.5;
  *minus = -2;
  expect_ok(vs_columns_end(&columns, &json));
  assert_memory_equal(reply.bytes.data, "VSC1", 4);
  assert_int_equal((8 + header_size()) % 8, 0);
  assert_int_equal(reply.bytes.count, 8 + header_size() + 8 + 8 + 0 + 8 + 8);
  assert_memory_equal(reply.bytes.data + place_of("small", "u8", 3), "abc\0\0\0\0\0", 8);
  assert_memory_equal(reply.bytes.data + place_of("pair", "u16", 2), "\1\0\2\3\0\0\0\0", 8);
  assert_int_equal(place_of("nothing", "f64", 0), place_of("real", "f64", 1));
  assert_memory_equal(reply.bytes.data + place_of("real", "f64", 1), "\0\0\0\0\0\0\xe0\x3f", 8);
  assert_memory_equal(reply.bytes.data + place_of("minus", "i32", 1), "\xfe\xff\xff\xff\0\0\0\0", 8);
}

/* The header's length depends on the numbers in it, which depend on its length: for every length of a member. */
static void every_length_of_a_header_fits(void **state) {
  for (size_t length = 0; length < 200; length++) {
    char text[200];
    memset(text, 'x', sizeof text);
    (void)setup(state);
    vs_jsonw_member_str(&json, "text", (vs_str){text, length});
    for (int i = 0; i < 4; i++) {
      static const char *const names[] = {"a", "b", "c", "d"};
      uint8_t *data = vs_columns_add(&columns, names[i], VS_COLUMN_U8, 230);
      expect_ok(columns.status);
      memset(data, 'a' + i, 230);
    }
    expect_ok(vs_columns_end(&columns, &json));
    const size_t d = place_of("d", "u8", 230);
    assert_int_equal(reply.bytes.data[d], 'd');
    assert_int_equal(reply.bytes.data[d - 1], 0);
    assert_int_equal(reply.bytes.data[place_of("a", "u8", 230)], 'a');
    (void)teardown(state);
  }
}

static void a_failure_sticks(void **state) {
  (void)state;
  assert_null(vs_columns_add(&columns, "huge", VS_COLUMN_F64, SIZE_MAX / 2));
  assert_null(vs_columns_add(&columns, "small", VS_COLUMN_U8, 1));
  expect_status(columns.status, VS_NO_MEMORY);
  expect_status(vs_columns_end(&columns, &json), VS_NO_MEMORY);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(columns_lie_where_the_header_says, setup, teardown),
      cmocka_unit_test(every_length_of_a_header_fits),
      cmocka_unit_test_setup_teardown(a_failure_sticks, setup, teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
