/* Files written through memory. */
#include "os/folder.h"
#include "os/infile.h"
#include "os/mapfile.h"
#include "support/test.h"

#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PIECE = 64 * 1024 };

static vs_folder folder;
static char path[VS_FOLDER_PATH + 32];

static uint64_t size_on_disk(void) {
  struct stat file;
  return stat(path, &file) == 0 ? (uint64_t)file.st_size : UINT64_MAX;
}

static void expect_byte(long offset, int wanted) {
  FILE *file = fopen(path, "rb");
  assert_non_null(file);
  assert_int_equal(fseek(file, offset, SEEK_SET), 0);
  assert_int_equal(fgetc(file), wanted);
  assert_int_equal(fclose(file), 0);
}

static void test_what_is_stored_is_in_the_file(void **state) {
  (void)state;
  vs_mapfile file;
  vs_error error;
  void *first, *second;
  expect_ok(vs_mapfile_create(&file, path, false, &error));
  expect_ok(vs_mapfile_window(&file, 0, PIECE, &first, &error));
  expect_ok(vs_mapfile_window(&file, 3 * PIECE, PIECE, &second, &error));
  assert_int_equal(size_on_disk(), 4 * PIECE);
  memset(first, 'a', PIECE);
  memset(second, 'b', PIECE);
  expect_byte(PIECE - 1, 'a'); /* before anything is closed */
  expect_byte(PIECE, 0);
  expect_byte(3 * PIECE, 'b');
  vs_mapfile_release(first, PIECE);
  vs_mapfile_release(second, PIECE);
  expect_ok(vs_mapfile_close(&file, 3 * PIECE + 10, &error));
  expect_ok(vs_mapfile_close(&file, 0, &error)); /* it is closed: nothing happens */
  assert_int_equal(size_on_disk(), 3 * PIECE + 10);
  expect_byte(3 * PIECE + 9, 'b');
}

static void test_creating_over_what_is_there(void **state) {
  (void)state;
  vs_mapfile file;
  vs_error error;
  expect_status(vs_mapfile_create(&file, path, false, &error), VS_IO);
  assert_string_equal(error.text, "file exists");
  assert_int_equal(size_on_disk(), 3 * PIECE + 10);
  expect_ok(vs_mapfile_create(&file, path, true, &error));
  assert_int_equal(size_on_disk(), 0);
  vs_mapfile_abandon(&file);
  assert_int_equal(size_on_disk(), UINT64_MAX);
  vs_mapfile_abandon(&file);
  expect_status(vs_mapfile_create(&file, folder.path, true, &error), VS_IO);
  expect_status(vs_mapfile_create(&file, "/dev/null", true, &error), VS_IO);
  assert_int_equal(symlink(folder.path, path), 0);
  expect_status(vs_mapfile_create(&file, path, true, &error), VS_IO); /* no link is followed */
  assert_int_equal(unlink(path), 0);
}

static volatile sig_atomic_t signals;
static void count_signal(int number) {
  (void)number;
  signals++;
}

/* The limit's own signal, which would end the program, is not delivered. */
static void test_a_file_over_the_limit_is_an_error(void **state) {
  (void)state;
  struct rlimit before, limit;
  assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
  limit = before;
  limit.rlim_cur = 3 * PIECE;
  (void)signal(SIGXFSZ, count_signal);
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
  vs_mapfile file;
  vs_error error;
  void *window = NULL, *more = NULL;
  const vs_status created = vs_mapfile_create(&file, path, true, &error);
  const vs_status first = vs_mapfile_window(&file, 0, 2 * PIECE, &window, &error);
  const vs_status second = vs_mapfile_window(&file, 2 * PIECE, 2 * PIECE, &more, &error);
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
  (void)signal(SIGXFSZ, SIG_DFL);
  expect_ok(created);
  expect_ok(first);
  expect_status(second, VS_IO);
  assert_string_equal(error.text, "file too large");
  assert_null(more);
  assert_int_equal(signals, 0);
  memset(window, 'c', 2 * PIECE); /* what is there stays good */
  vs_mapfile_release(window, 2 * PIECE);
  expect_ok(vs_mapfile_close(&file, 2 * PIECE, &error));
  expect_byte(2 * PIECE - 1, 'c');
}

/* The child of a fork has not got the window: a store would end it. */
static void test_a_child_has_no_window(void **state) {
  (void)state;
  vs_mapfile file;
  vs_error error;
  void *window;
  expect_ok(vs_mapfile_create(&file, path, true, &error));
  expect_ok(vs_mapfile_window(&file, 0, PIECE, &window, &error));
  const pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    (void)signal(SIGSEGV, SIG_DFL);
    struct rlimit none = {0};
    (void)setrlimit(RLIMIT_CORE, &none);
    *(volatile char *)window = 'x';
    _exit(0);
  }
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(!WIFEXITED(status) || WEXITSTATUS(status) != 0);
  expect_byte(0, 0);
  vs_mapfile_release(window, PIECE);
  expect_ok(vs_mapfile_close(&file, PIECE, &error));
}

static int make_folder(void **state) {
  (void)state;
  vs_error error;
  if (vs_folder_create(&folder, "vramscope-mapfile-", &error) != VS_OK) return -1;
  vs_format(path, sizeof path, "%s/file", folder.path);
  return 0;
}

static int remove_folder(void **state) {
  (void)state;
  vs_folder_remove(&folder);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_what_is_stored_is_in_the_file),
      cmocka_unit_test(test_creating_over_what_is_there),
      cmocka_unit_test(test_a_file_over_the_limit_is_an_error),
      cmocka_unit_test(test_a_child_has_no_window),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
