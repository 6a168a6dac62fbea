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

/* ---- what is loaded already */

static void a_place_has_its_library(void **state) {
  (void)state;
  vs_library_place place, here;
  void *const root = vs_library_loaded_symbol("libc.so.6", "strtod");
  assert_true(vs_library_place_of(root, &place));
  assert_non_null(strstr(place.path, "libc.so.6"));
  assert_non_null(place.symbol);
  assert_true(vs_library_place_of((const char *)root + 1, &here) && here.base == place.base);
  assert_null(here.symbol); /* nothing begins there */
  int local;
  assert_false(vs_library_place_of(&local, &place));
}

static void a_symbol_is_seen_from_a_library(void **state) {
  (void)state;
  vs_library_place place;
  void *const inside = vs_library_loaded_symbol("libc.so.6", "strtod");
  void *const found = vs_library_symbol_seen_from(inside, "strtol");
  assert_true(vs_library_place_of(found, &place));
  assert_string_equal(place.symbol, "strtol");
  assert_null(vs_library_symbol_seen_from(inside, "vramscope_is_no_function"));
  int local;
  assert_null(vs_library_symbol_seen_from(&local, "strtol"));
}

static int no_parent(void) { return -7; }

static const char table[4096] = {1};

static size_t lead(const char *name, int (*function)(void), vs_library_slots *changed) {
  const void *address;
  memcpy(&address, &function, sizeof address);
  return vs_library_redirect(table, name, address, changed);
}

/* This program's own calls, in its own table; those of other libraries are not changed. */
static void calls_are_led_elsewhere(void **state) {
  (void)state;
  int (*original)(void) = NULL;
  vs_library_loaded_function("libc.so.6", "getppid", &original);
  const int parent = getppid();
  assert_int_equal(lead("vramscope_is_no_function", no_parent, NULL), 0);
  assert_true(lead("getppid", no_parent, NULL) >= 1);
  assert_int_equal(getppid(), -7);
  assert_int_equal(original(), parent);
  assert_true(lead("getppid", original, NULL) >= 1);
  assert_int_equal(getppid(), parent);
}

static int other_parent(void) { return -8; }

/* What another one has put there since is left. */
static void calls_are_led_back(void **state) {
  (void)state;
  vs_library_slots first = {.count = 0}, second = {.count = 0};
  const int parent = getppid();
  assert_true(lead("getppid", no_parent, &first) >= 1);
  assert_true(vs_library_restore(&first));
  assert_int_equal(first.count, 0);
  assert_int_equal(getppid(), parent);
  assert_true(lead("getppid", no_parent, &first) >= 1);
  assert_true(lead("getppid", other_parent, &second) >= 1);
  assert_false(vs_library_restore(&first));
  assert_int_equal(getppid(), -8);
  assert_true(vs_library_restore(&second));
  assert_int_equal(getppid(), -7);
  assert_true(vs_library_restore(&first));
  assert_int_equal(getppid(), parent);
}

static void a_library_is_found_by_its_file(void **state) {
  (void)state;
  vs_library_place place, other;
  assert_true(vs_library_place_of(vs_library_inside("libc.so.6"), &place));
  assert_true(vs_library_place_of(vs_library_loaded_symbol("libc.so.6", "strtod"), &other));
  assert_ptr_equal(place.base, other.base);
  assert_null(vs_library_inside("libc.so"));
}

static void a_loaded_library_is_held(void **state) {
  (void)state;
  vs_library_place place;
  assert_true(vs_library_place_of(vs_library_inside("libc.so.6"), &place));
  void *const library = vs_library_hold(place.path), *const program = vs_library_hold("");
  assert_non_null(library);
  assert_non_null(program);
  assert_null(vs_library_hold("libutil.so.1")); /* is there, and not loaded */
  vs_library_release(library);
  vs_library_release(program);
  vs_library_release(NULL);
}

static void loaded_bytes_are_counted(void **state) {
  (void)state;
  const size_t whole = vs_library_bytes_from(table);
  assert_true(whole >= sizeof table);
  assert_int_equal(vs_library_bytes_from(table + 100), whole - 100);
  int local;
  assert_int_equal(vs_library_bytes_from(&local), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_first_that_is_there_is_opened),
      cmocka_unit_test(none_of_them_is_said_of_the_first),
      cmocka_unit_test(one_that_is_there_and_is_no_library_is_said),
      cmocka_unit_test(a_place_has_its_library),
      cmocka_unit_test(a_symbol_is_seen_from_a_library),
      cmocka_unit_test(calls_are_led_elsewhere),
      cmocka_unit_test(calls_are_led_back),
      cmocka_unit_test(a_library_is_found_by_its_file),
      cmocka_unit_test(a_loaded_library_is_held),
      cmocka_unit_test(loaded_bytes_are_counted),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
