/* Opening a file with each allocation failing once: no leak, and the failure is told. The engine, zlib and the names of places all
 * take their memory from the host. */
#include "intake/linked/open.h"
#include "support/test.h"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <vramscope/files.h>

/* gzip of an empty snapshot as JSON. */
static const uint8_t packed[] = {0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03, 0xab, 0x56, 0x2a,
                                 0x4e, 0x4d, 0xcf, 0x4d, 0xcd, 0x2b, 0x29, 0x56, 0xb2, 0x52, 0x88, 0x8e, 0xd5,
                                 0x51, 0x50, 0x4a, 0x49, 0x2d, 0xcb, 0x4c, 0x4e, 0x8d, 0x2f, 0x29, 0x4a, 0x4c,
                                 0x4e, 0x05, 0x0b, 0x46, 0xc7, 0x82, 0x84, 0x13, 0x73, 0x72, 0xf2, 0x93, 0x13,
                                 0x4b, 0xf2, 0x8b, 0xe2, 0x8b, 0x53, 0x4b, 0x4a, 0x32, 0xf3, 0xd2, 0x41, 0x72,
                                 0xd5, 0xb5, 0xb5, 0x00, 0xd9, 0x0c, 0x89, 0x3f, 0x41, 0x00, 0x00, 0x00};

typedef struct opened {
  char path[64];
  size_t size; /* of packed that is in the file */
} opened;

static void write_file(opened *file, size_t size) {
  vs_format(file->path, sizeof file->path, "/tmp/vramscope-test-XXXXXX");
  const int fd = mkstemp(file->path);
  assert_true(fd >= 0);
  assert_int_equal(write(fd, packed, size), (ssize_t)size);
  (void)close(fd);
  file->size = size;
}

static vs_status open_file(const vs_host *host, void *ctx) {
  const opened *file = ctx;
  const vs_intake intake = {.name = VS_STR("a file")};
  vs_engine *engine;
  vs_error error = {.status = VS_OK, .offset = VS_NO_OFFSET};
  const vs_status status = vs_intake_open(host, &intake, file->path, &engine, &error);
  assert_true((status == VS_OK) == (engine != NULL));
  if (status != VS_OK && status != VS_NO_MEMORY) assert_true(error.text[0] != 0);
  vs_engine_destroy(engine);
  return status;
}

/* The same as a C program does it, by the zlib that is found while the program runs. */
static vs_status open_by_path(const vs_host *host, void *ctx) {
  const opened *file = ctx;
  vs_engine *engine;
  vs_error error = {.status = VS_OK, .offset = VS_NO_OFFSET};
  vs_status status = vs_engine_create(host, &engine);
  if (status != VS_OK) return status;
  status = vs_engine_open(engine, file->path, &error);
  expect_status(error.status, status);
  assert_true((status == VS_OK) == (error.text[0] == 0));
  vs_engine_destroy(engine);
  return status;
}

static void test_every_allocation_fails_once(void **state) {
  (void)state;
  opened file;
  write_file(&file, sizeof packed);
  if (vs_zlib_version() == NULL) expect_status(open_file(vs_host_default(), &file), VS_UNSUPPORTED);
  else {
    assert_true(fault_prove(open_file, &file) > 5);
    assert_true(fault_prove(open_by_path, &file) > 5);
  }
  assert_int_equal(unlink(file.path), 0);
}

static void test_each_cut_is_told(void **state) {
  (void)state;
  for (size_t size = 2; size < sizeof packed && vs_zlib_version() != NULL; size++) {
    opened file;
    fault_host fault;
    write_file(&file, size);
    fault_host_init(&fault, FAULT_NEVER);
    expect_status(open_file(&fault.host, &file), VS_BAD_FORMAT);
    fault_host_expect_empty(&fault);
    assert_int_equal(unlink(file.path), 0);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_allocation_fails_once),
      cmocka_unit_test(test_each_cut_is_told),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
