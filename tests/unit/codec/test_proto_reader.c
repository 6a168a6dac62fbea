/* Protocol buffers, field by field. */
#include "codec/proto_reader.h"
#include "codec/proto_writer.h"
#include "support/test.h"

/* What the writer of this folder writes is read again. */
static void what_is_written_is_read(void **state) {
  (void)state;
  static const uint64_t numbers[] = {0, 1, 127, 128, UINT32_MAX, UINT64_MAX};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
    vs_text text;
    vs_text_init(&text, vs_host_default(), NULL);
    vs_proto_u64(&text, 3, numbers[i]);
    vs_proto_str(&text, 4, VS_STR("hello"));
    vs_proto_f64(&text, 5, 1);
    vs_proto_cursor at = {.rest = vs_text_view(&text)};
    vs_proto_field field;
    assert_true(vs_proto_next(&at, &field));
    assert_int_equal(field.number, 3);
    assert_true(field.wire == VS_PROTO_VARINT && field.value == numbers[i]);
    assert_true(vs_proto_next(&at, &field));
    expect_str(field.bytes, "hello");
    assert_true(vs_proto_next(&at, &field));
    assert_true(field.wire == VS_PROTO_FIXED64 && field.value == UINT64_C(0x3ff0000000000000));
    assert_false(vs_proto_next(&at, &field));
    assert_false(at.is_broken);
    vs_text_deinit(&text);
  }
}

static void what_is_broken_is_said(void **state) {
  (void)state;
  static const char *const broken[] = {
      "\x08", "\x0a\x05xy", "\x0b", "\x09\x01", "\x0d\x01", "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02"};
  for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
    vs_proto_cursor at = {.rest = vs_str_from(broken[i])};
    vs_proto_field field;
    assert_false(vs_proto_next(&at, &field));
    assert_true(at.is_broken);
  }
}

static void lists_of_numbers(void **state) {
  (void)state;
  vs_proto_cursor at = {.rest = VS_STR("\x01\x80\x01")};
  uint64_t value;
  assert_true(vs_proto_next_number(&at, &value) && value == 1);
  assert_true(vs_proto_next_number(&at, &value) && value == 128);
  assert_false(vs_proto_next_number(&at, &value));
  assert_false(at.is_broken);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_is_written_is_read),
      cmocka_unit_test(what_is_broken_is_said),
      cmocka_unit_test(lists_of_numbers),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
