/* System calls by number: they do what the C library's functions of these names do. */
#include "os/folder.h"
#include "os/kernel.h"
#include "support/test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static vs_folder folder;

static int make_folder(void **state) {
  vs_error error;
  (void)state;
  return vs_folder_create(&folder, "vramscope-kernel-", &error) == VS_OK ? 0 : -1;
}

static int remove_folder(void **state) {
  (void)state;
  vs_folder_remove(&folder);
  return 0;
}

static void test_random_bytes(void **state) {
  uint8_t one[16] = {0}, other[16] = {0}, whole[256] = {0};
  (void)state;
  assert_true(vs_kernel_random(one, sizeof one, true));
  assert_true(vs_kernel_random(other, sizeof other, false));
  assert_memory_not_equal(one, other, sizeof one);
  assert_true(vs_kernel_random(whole, sizeof whole, true));
}

static void test_a_memory_file_is_kept_from_children(void **state) {
  char text[4] = "", path[32], name[64] = "";
  (void)state;
  const int fd = vs_kernel_memory_file("a name");
  assert_true(fd >= 0);
  assert_int_equal(write(fd, "text", 4), 4);
  assert_int_equal(pread(fd, text, sizeof text, 0), 4);
  assert_memory_equal(text, "text", 4);
  assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
  (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  assert_true(readlink(path, name, sizeof name - 1) > 0);
  assert_non_null(strstr(name, "memfd:a name"));
  assert_int_equal(close(fd), 0);
}

static void write_file(const char *path, const char *text) {
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  assert_true(fputs(text, file) >= 0);
  assert_int_equal(fclose(file), 0);
}

static void expect_file(const char *path, const char *text) {
  char found[16] = "";
  FILE *file = fopen(path, "rb");
  assert_non_null(file);
  assert_int_equal(fread(found, 1, sizeof found - 1, file), strlen(text));
  assert_string_equal(found, text);
  assert_int_equal(fclose(file), 0);
}

static void test_a_new_name_replaces_nothing(void **state) {
  char from[VS_FOLDER_PATH + 8], to[VS_FOLDER_PATH + 8];
  (void)state;
  (void)snprintf(from, sizeof from, "%s/from", folder.path);
  (void)snprintf(to, sizeof to, "%s/to", folder.path);
  write_file(from, "mine");
  write_file(to, "theirs");
  assert_int_equal(vs_kernel_rename_new(from, to), EEXIST);
  expect_file(to, "theirs");
  expect_file(from, "mine");
  assert_int_equal(unlink(to), 0);
  assert_int_equal(vs_kernel_rename_new(from, to), 0);
  expect_file(to, "mine");
  assert_int_equal(vs_kernel_rename_new(from, to), ENOENT);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_random_bytes),
      cmocka_unit_test(test_a_memory_file_is_kept_from_children),
      cmocka_unit_test(test_a_new_name_replaces_nothing),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
