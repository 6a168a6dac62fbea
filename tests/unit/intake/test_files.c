/* Opening a file by its path, with the zlib that is found while the program runs. */
#include "intake/zlib_load.h"
#include "support/test.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <vramscope/files.h>

/* gzip of {"segments": [], "device_traces": []} */
static const uint8_t packed[] = {0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03, 0xab, 0x56, 0x2a,
                                 0x4e, 0x4d, 0xcf, 0x4d, 0xcd, 0x2b, 0x29, 0x56, 0xb2, 0x52, 0x88, 0x8e, 0xd5,
                                 0x51, 0x50, 0x4a, 0x49, 0x2d, 0xcb, 0x4c, 0x4e, 0x8d, 0x2f, 0x29, 0x4a, 0x4c,
                                 0x4e, 0x05, 0x0b, 0x46, 0xc7, 0x82, 0x84, 0x13, 0x73, 0x72, 0xf2, 0x93, 0x13,
                                 0x4b, 0xf2, 0x8b, 0xe2, 0x8b, 0x53, 0x4b, 0x4a, 0x32, 0xf3, 0xd2, 0x41, 0x72,
                                 0xd5, 0xb5, 0xb5, 0x00, 0xd9, 0x0c, 0x89, 0x3f, 0x41, 0x00, 0x00, 0x00};
static const char plain[] = "{\"segments\": [], \"device_traces\": []}";

static char path[64];
static vs_engine *engine;
static vs_error error;

static int setup(void **state) {
  (void)state;
  return vs_engine_create(NULL, &engine) == VS_OK ? 0 : -1;
}

static int teardown(void **state) {
  (void)state;
  vs_engine_destroy(engine);
  return 0;
}

static void write_file(const void *data, size_t size) {
  strcpy(path, "/tmp/vramscope-test-XXXXXX");
  const int fd = mkstemp(path);
  assert_true(fd >= 0);
  assert_int_equal(write(fd, data, size), (ssize_t)size);
  (void)close(fd);
}

static vs_status open_bytes(const void *data, size_t size) {
  write_file(data, size);
  const vs_status status = vs_engine_open(engine, path, &error);
  assert_int_equal(unlink(path), 0);
  expect_status(error.status, status);
  return status;
}

static bool is_loaded(void) {
  vs_buffer reply = {0};
  const vs_status status = vs_engine_ask(engine, "info", NULL, &reply, NULL);
  if (status == VS_OK) assert_non_null(strstr(reply.data, path)); /* replies quote the name */
  vs_buffer_deinit(&reply);
  return status == VS_OK;
}

static void a_file_is_told_by_its_content(void **state) {
  (void)state;
  vs_zlib_loaded *zlib;
  const bool has_zlib = vs_zlib_load(vs_host_default(), &zlib) == VS_OK;
  vs_zlib_unload(zlib);
  expect_ok(open_bytes(plain, sizeof plain - 1));
  assert_true(is_loaded());
  expect_status(open_bytes(packed, sizeof packed), has_zlib ? VS_OK : VS_UNSUPPORTED);
  assert_int_equal(is_loaded(), has_zlib);
  if (!has_zlib) assert_non_null(strstr(error.text, "libz.so.1"));
}

static void a_failure_has_a_sentence_and_leaves_no_file(void **state) {
  (void)state;
  expect_ok(open_bytes(plain, sizeof plain - 1));
  expect_status(vs_engine_open(engine, "/tmp/no such file", &error), VS_IO);
  expect_status(error.status, VS_IO);
  assert_true(error.text[0] != 0);
  assert_false(is_loaded());
  expect_ok(open_bytes(plain, sizeof plain - 1));
  expect_status(open_bytes("PK\003\004 and more of it, long enough to be looked at", 48), VS_UNSUPPORTED);
  assert_false(is_loaded());
  expect_status(open_bytes(plain, 20), VS_TRUNCATED);
  assert_in_range(error.offset, 1, 20);
  expect_status(vs_engine_open(engine, "/tmp", NULL), VS_IO);
}

static void a_reply_goes_to_a_stream(void **state) {
  (void)state;
  char *text = NULL;
  size_t size;
  FILE *file = open_memstream(&text, &size);
  const vs_writer writer = vs_file_writer(file);
  expect_ok(writer.write(writer.ctx, "one ", 4));
  expect_ok(writer.write(writer.ctx, "", 0));
  expect_ok(writer.write(writer.ctx, "two", 3));
  (void)fclose(file);
  assert_string_equal(text, "one two");
  free(text);
  file = fopen("/dev/full", "w");
  assert_non_null(file);
  (void)setvbuf(file, NULL, _IONBF, 0);
  const vs_writer full = vs_file_writer(file);
  expect_status(full.write(full.ctx, "x", 1), VS_IO);
  (void)fclose(file);
}

#define ENGINE_TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
      ENGINE_TEST(a_file_is_told_by_its_content),
      ENGINE_TEST(a_failure_has_a_sentence_and_leaves_no_file),
      cmocka_unit_test(a_reply_goes_to_a_stream),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
