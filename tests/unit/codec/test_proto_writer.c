/* Golden bytes; those of 150, "testing" and the nested message are the examples of the format's own
 * documentation. */
#include "codec/proto_writer.h"
#include "support/test.h"

static void varints(void **state) {
  (void)state;
  vs_text text;
  vs_text_init(&text, vs_host_default(), NULL);
  vs_proto_varint(&text, 0);
  expect_text(&text, "\x00");
  vs_proto_varint(&text, 127);
  expect_text(&text, "\x7f");
  vs_proto_varint(&text, 128);
  expect_text(&text, "\x80\x01");
  vs_proto_varint(&text, UINT64_MAX);
  expect_text(&text, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");
  vs_text_deinit(&text);
}

static void fields(void **state) {
  (void)state;
  vs_text text;
  vs_text_init(&text, vs_host_default(), NULL);
  vs_proto_u64(&text, 1, 150);
  expect_text(&text, "\x08\x96\x01");
  vs_proto_i64(&text, 1, -1);
  expect_text(&text, "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");
  vs_proto_bool(&text, 16, true);
  expect_text(&text, "\x80\x01\x01");
  vs_proto_f64(&text, 3, 1.0);
  expect_text(&text, "\x19\x00\x00\x00\x00\x00\x00\xf0\x3f");
  vs_proto_str(&text, 2, VS_STR("testing"));
  expect_text(&text, "\x12\x07testing");
  vs_proto_str(&text, 2, (vs_str){NULL, 0});
  expect_text(&text, "\x12\x00");
  vs_proto_u64(&text, 536870911, 0);
  expect_text(&text, "\xf8\xff\xff\xff\x0f\x00");
  vs_text_deinit(&text);
}

static void nested(void **state) {
  (void)state;
  vs_text text, message, packed;
  vs_text_init(&text, vs_host_default(), NULL);
  vs_text_init(&message, vs_host_default(), NULL);
  vs_text_init(&packed, vs_host_default(), NULL);
  vs_proto_u64(&message, 1, 150);
  vs_proto_message(&text, 3, &message);
  expect_text(&text, "\x1a\x03\x08\x96\x01");
  static const uint64_t items[] = {3, 270, 86942};
  for (size_t i = 0; i < 3; i++) vs_proto_varint(&packed, items[i]);
  vs_proto_message(&message, 6, &packed);
  vs_proto_message(&text, 1, &message);
  vs_proto_message(&text, 2, &message);
  expect_text(&text, "\x0a\x08\x32\x06\x03\x8e\x02\x9e\xa7\x05\x12\x00");
  vs_text_deinit(&text);
  vs_text_deinit(&message);
  vs_text_deinit(&packed);
}

static void failure_of_the_message_is_that_of_the_text(void **state) {
  (void)state;
  fault_host fault;
  fault_host_init(&fault, 0);
  vs_text text, message;
  vs_text_init(&text, vs_host_default(), NULL);
  vs_text_init(&message, &fault.host, NULL);
  vs_proto_u64(&message, 1, 1);
  vs_proto_message(&text, 1, &message);
  expect_status(vs_text_finish(&text), VS_NO_MEMORY);
  vs_text_deinit(&text);
  vs_text_deinit(&message);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(varints),
      cmocka_unit_test(fields),
      cmocka_unit_test(nested),
      cmocka_unit_test(failure_of_the_message_is_that_of_the_text),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
