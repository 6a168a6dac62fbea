/* Libraries that are looked for while the program runs. */
#include "os/library.h"
#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void the_first_that_is_there_is_opened(void **state) {
  (void)state;
  static const char *const names[] = {"libvramscope-is-not-there.so.1", "/nowhere/at/all.so", "libm.so.6",
                                      "libc.so.6", NULL};
  vs_library library;
  vs_error error;
  expect_ok(vs_library_open(&library, names, &error));
  assert_ptr_equal(library.name, names[2]);
  assert_int_equal(library.path[0], '/');
  assert_non_null(strstr(library.path, "/libm.so.6"));
  double (*root)(double) = NULL;
  vs_library_find(&library, "sqrt", &root);
  assert_non_null(root);
  assert_true(root(81.0) == 9.0);
  vs_library_find(&library, "vramscope_is_no_function", &root);
  assert_null(root);
  vs_library_close(&library);
  assert_null(library.handle);
  assert_null(library.name);
  assert_null(library.path);
  vs_library_close(&library);
}

static void none_of_them_is_said_of_the_first(void **state) {
  (void)state;
  static const char *const names[] = {"libvramscope-first.so.1", "/nowhere/second.so", NULL};
  vs_library library;
  vs_error error = {0};
  expect_status(vs_library_open(&library, names, &error), VS_NOT_FOUND);
  assert_null(library.handle);
  assert_non_null(strstr(error.text, "libvramscope-first.so.1"));
  assert_int_equal(error.status, VS_NOT_FOUND);
}

static void one_that_is_there_and_is_no_library_is_said(void **state) {
  (void)state;
  char path[] = "/tmp/vramscope-test-XXXXXX";
  const int file = mkstemp(path);
  assert_int_equal(write(file, "no library", 10), 10);
  close(file);
  const char *const names[] = {"libvramscope-first.so.1", path, "/nowhere/third.so", NULL};
  vs_library library;
  vs_error error = {0};
  expect_status(vs_library_open(&library, names, &error), VS_IO);
  assert_non_null(strstr(error.text, path));
  expect_status(vs_library_open(&library, names, NULL), VS_IO);
  unlink(path);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_first_that_is_there_is_opened),
      cmocka_unit_test(none_of_them_is_said_of_the_first),
      cmocka_unit_test(one_that_is_there_and_is_no_library_is_said),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
