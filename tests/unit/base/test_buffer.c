/* The buffer that grows, as users have it: all zero at the beginning, a NUL behind what is in it. */
#include "support/test.h"
#include <string.h>

/* Zero bytes are an empty buffer; only WebAssembly has no host of its own. */
static vs_buffer empty_buffer(void) {
  vs_buffer buffer = {0};
#if VS_FREESTANDING
  buffer.host = vs_host_default();
#endif
  return buffer;
}

static void what_is_written_is_there_with_a_nul(void **state) {
  (void)state;
  vs_buffer buffer = empty_buffer();
  const vs_writer writer = vs_buffer_writer(&buffer);
  expect_ok(writer.write(writer.ctx, "", 0));
  assert_string_equal(buffer.data, "");
  expect_ok(writer.write(writer.ctx, "peak", 4));
  expect_ok(writer.write(writer.ctx, "\0s", 2));
  assert_int_equal(buffer.size, 6);
  assert_memory_equal(buffer.data, "peak\0s", 7);
  vs_buffer_deinit(&buffer);
  assert_null(buffer.data);
  expect_ok(writer.write(writer.ctx, "again", 5));
  assert_string_equal(buffer.data, "again");
  vs_buffer_deinit(&buffer);
}

static void it_grows_in_few_steps_and_from_its_host(void **state) {
  (void)state;
  fault_host fault;
  fault_host_init(&fault, FAULT_NEVER);
  vs_buffer buffer = {.host = &fault.host};
  const vs_writer writer = vs_buffer_writer(&buffer);
  for (int i = 0; i < 100000; i++) expect_ok(writer.write(writer.ctx, "x", 1));
  assert_int_equal(strlen(buffer.data), 100000);
  assert_in_range(fault.requests, 1, 40);
  vs_buffer_deinit(&buffer);
  fault_host_expect_empty(&fault);
}

static void a_write_that_fails_changes_nothing(void **state) {
  (void)state;
  fault_host fault;
  fault_host_init(&fault, 1);
  vs_buffer buffer = {.host = &fault.host};
  const vs_writer writer = vs_buffer_writer(&buffer);
  char many[512] = {0};
  expect_ok(writer.write(writer.ctx, "kept", 4));
  expect_status(writer.write(writer.ctx, many, sizeof many), VS_NO_MEMORY);
  assert_string_equal(buffer.data, "kept");
  expect_status(writer.write(writer.ctx, many, SIZE_MAX / 2), VS_NO_MEMORY);
  assert_int_equal(buffer.size, 4);
  vs_buffer_deinit(&buffer);
  fault_host_expect_empty(&fault);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_is_written_is_there_with_a_nul),
      cmocka_unit_test(it_grows_in_few_steps_and_from_its_host),
      cmocka_unit_test(a_write_that_fails_changes_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
