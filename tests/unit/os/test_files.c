/* Files that are read, and files that appear whole or not at all. */
#include "os/infile.h"
#include "os/outfile.h"
#include "support/test.h"
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* A folder of its own for each test, and paths in it. */
static char folder[64];
static char *path_of(const char *name) {
  static char paths[4][128];
  static unsigned next;
  char *path = paths[next++ % 4];
  vs_format(path, sizeof paths[0], "%s/%s", folder, name);
  return path;
}

static int make_folder(void **state) {
  (void)state;
  memcpy(folder, "/tmp/vramscope-test-XXXXXX", sizeof "/tmp/vramscope-test-XXXXXX");
  return mkdtemp(folder) == NULL;
}

static size_t count_files(void) {
  size_t count = 0;
  DIR *dir = opendir(folder);
  assert_non_null(dir);
  for (const struct dirent *entry; (entry = readdir(dir)) != NULL;)
    count += entry->d_name[0] != '.' || entry->d_name[1] == 'v';
  closedir(dir);
  return count;
}

static int remove_folder(void **state) {
  (void)state;
  DIR *dir = opendir(folder);
  if (dir == NULL) return 1;
  for (const struct dirent *entry; (entry = readdir(dir)) != NULL;) (void)unlink(path_of(entry->d_name));
  closedir(dir);
  return rmdir(folder);
}

static void write_file(const char *path, const char *text) {
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
  assert_int_equal(fclose(file), 0);
}

static void expect_file(const char *path, const char *text) {
  char got[256];
  FILE *file = fopen(path, "rb");
  assert_non_null(file);
  const size_t size = fread(got, 1, sizeof got - 1, file);
  got[size] = 0;
  assert_string_equal(got, text);
  fclose(file);
}

static void put(vs_outfile *file, const char *text) {
  const vs_writer writer = vs_outfile_writer(file);
  expect_ok(writer.write(writer.ctx, text, strlen(text)));
}

/* ---- reading */

static void test_read(void **state) {
  (void)state;
  write_file(path_of("a"), "hello");
  vs_infile file;
  vs_error error;
  expect_ok(vs_infile_open(&file, path_of("a"), &error));
  assert_int_equal(file.size, 5);
  const vs_reader reader = vs_infile_reader(&file);
  char bytes[3];
  size_t count;
  expect_ok(reader.read(reader.ctx, bytes, sizeof bytes, &count));
  assert_int_equal(count, 3);
  assert_memory_equal(bytes, "hel", 3);
  expect_ok(reader.read(reader.ctx, bytes, sizeof bytes, &count));
  assert_int_equal(count, 2);
  expect_ok(reader.read(reader.ctx, bytes, sizeof bytes, &count));
  assert_int_equal(count, 0);
  vs_infile_close(&file);
  vs_infile_close(&file); /* again is harmless */
}

static void test_a_whole_file_as_text(void **state) {
  (void)state;
  static char large[10000];
  vs_text text;
  vs_error error;
  memset(large, 'x', sizeof large - 1);
  write_file(path_of("a"), large);
  vs_text_init(&text, vs_host_default(), NULL);
  vs_text_cstr(&text, "before");
  expect_ok(vs_infile_text(path_of("a"), SIZE_MAX, &text, &error));
  assert_int_equal(text.bytes.count, 6 + sizeof large - 1);
  expect_ok(vs_infile_text(path_of("a"), 5000, &text, &error));
  assert_int_equal(text.bytes.count, 6 + sizeof large - 1 + 5000);
  assert_memory_equal(text.bytes.data, "beforexx", 8);
  expect_status(vs_infile_text(path_of("none"), 1, &text, &error), VS_NOT_FOUND);
  expect_status(vs_infile_text("/proc/self/mem", 1, &text, &error),
                VS_IO); /* opens, and cannot be read at 0 */
  assert_non_null(strstr(error.text, "reading failed"));
  assert_int_equal(text.bytes.count, 6 + sizeof large - 1 + 5000);
  vs_text_deinit(&text);
}

static void test_cannot_open(void **state) {
  (void)state;
  vs_infile file;
  vs_error error;
  expect_status(vs_infile_open(&file, path_of("none"), &error), VS_NOT_FOUND);
  assert_string_equal(error.text, "no such file");
  assert_int_equal(error.offset, VS_NO_OFFSET);
  expect_status(vs_infile_open(&file, folder, &error), VS_IO);
  assert_string_equal(error.text, "is a directory");
  write_file(path_of("a"), "");
  expect_status(vs_infile_open(&file, path_of("a/b"), &error), VS_IO);
  assert_string_equal(error.text, "part of the path is not a directory");
}

static void test_pipe_has_no_size(void **state) {
  (void)state;
  assert_int_equal(mkfifo(path_of("pipe"), 0600), 0);
  const int keep = open(path_of("pipe"), O_RDWR);
  assert_true(keep >= 0);
  vs_infile file;
  vs_error error;
  expect_ok(vs_infile_open(&file, path_of("pipe"), &error));
  assert_int_equal(file.size, VS_NO_SIZE);
  vs_infile_close(&file);
  close(keep);
}

static void test_failed_read_says_why(void **state) {
  (void)state;
  vs_infile file;
  vs_error error;
  write_file(path_of("a"), "x");
  expect_ok(vs_infile_open(&file, path_of("a"), &error));
  close(file.fd);
  file.fd = open(path_of("a"), O_WRONLY);
  const vs_reader reader = vs_infile_reader(&file);
  char byte;
  size_t count = 7;
  expect_status(reader.read(reader.ctx, &byte, 1, &count), VS_IO);
  assert_int_equal(count, 0);
  assert_string_equal(file.error.text, "reading failed: closed");
  vs_infile_close(&file);
}

/* ---- writing */

static vs_outfile out; /* large for a stack */

static void test_appears_when_finished(void **state) {
  (void)state;
  vs_error error;
  expect_ok(vs_outfile_create(&out, path_of("new"), false, &error));
  put(&out, "whole");
  assert_int_equal(access(path_of("new"), F_OK), -1);
  assert_true(count_files() <= 1); /* it has no name, or on some file systems a hidden one */
  expect_ok(vs_outfile_finish(&out, &error));
  assert_int_equal(out.written, 5);
  expect_file(path_of("new"), "whole");
  assert_int_equal(count_files(), 1);
  vs_outfile_abandon(&out); /* after a finish it changes nothing */
  expect_file(path_of("new"), "whole");
}

static void test_abandoned_leaves_nothing(void **state) {
  (void)state;
  vs_error error;
  write_file(path_of("old"), "mine");
  expect_ok(vs_outfile_create(&out, path_of("old"), true, &error));
  put(&out, "other");
  vs_outfile_abandon(&out);
  expect_file(path_of("old"), "mine");
  assert_int_equal(count_files(), 1);
}

static void test_keeps_what_exists(void **state) {
  (void)state;
  vs_error error;
  write_file(path_of("old"), "mine");
  expect_status(vs_outfile_create(&out, path_of("old"), false, &error), VS_IO);
  assert_string_equal(error.text, "file exists");
  /* And one that comes between the beginning and the end. */
  expect_ok(vs_outfile_create(&out, path_of("late"), false, &error));
  put(&out, "ours");
  write_file(path_of("late"), "theirs");
  expect_status(vs_outfile_finish(&out, &error), VS_IO);
  assert_string_equal(error.text, "file exists");
  expect_file(path_of("late"), "theirs");
  assert_int_equal(count_files(), 2);
}

static void test_replaces_when_asked(void **state) {
  (void)state;
  vs_error error;
  struct stat facts;
  write_file(path_of("old"), "mine");
  assert_int_equal(chmod(path_of("old"), 0640), 0);
  assert_int_equal(symlink("old", path_of("link")), 0);
  expect_ok(vs_outfile_create(&out, path_of("link"), true, &error));
  put(&out, "new");
  expect_ok(vs_outfile_finish(&out, &error));
  expect_file(path_of("old"), "new");
  assert_int_equal(lstat(path_of("link"), &facts), 0);
  assert_true(S_ISLNK(facts.st_mode));
  assert_int_equal(stat(path_of("old"), &facts), 0);
  assert_int_equal(facts.st_mode & 0777, 0640);
}

static void test_bad_places(void **state) {
  (void)state;
  vs_error error;
  char longest[VS_OUTFILE_PATH + 8];
  expect_status(vs_outfile_create(&out, path_of("none/new"), false, &error), VS_NOT_FOUND);
  assert_string_equal(error.text, "its folder does not exist");
  expect_status(vs_outfile_create(&out, folder, true, &error), VS_IO);
  memset(longest, 'x', sizeof longest - 1);
  longest[sizeof longest - 1] = 0;
  expect_status(vs_outfile_create(&out, longest, false, &error), VS_IO);
  assert_string_equal(error.text, "file name too long");
}

/* More than the buffer, in pieces of all sizes: nothing is lost or turned around. */
static void test_large(void **state) {
  (void)state;
  enum { SIZE = 5 * VS_OUTFILE_BUFFER + 17 };
  static uint8_t bytes[SIZE], got[SIZE + 1];
  vs_error error;
  for (size_t i = 0; i < SIZE; i++) bytes[i] = (uint8_t)(i * 2654435761U >> 13);
  expect_ok(vs_outfile_create(&out, path_of("large"), false, &error));
  const vs_writer writer = vs_outfile_writer(&out);
  size_t at = 0;
  for (size_t piece = 1; at < SIZE; piece = piece * 3 % (2 * VS_OUTFILE_BUFFER) + 1) {
    if (piece > SIZE - at) piece = SIZE - at;
    expect_ok(writer.write(writer.ctx, bytes + at, piece));
    at += piece;
  }
  expect_ok(vs_outfile_finish(&out, &error));
  assert_int_equal(out.written, SIZE);
  FILE *file = fopen(path_of("large"), "rb");
  assert_non_null(file);
  assert_int_equal(fread(got, 1, sizeof got, file), SIZE);
  fclose(file);
  assert_memory_equal(got, bytes, SIZE);
}

/* Kills a process that writes the file. */
static void kill_a_writer(const char *path, bool may_replace) {
  int report[2];
  char byte;
  assert_int_equal(pipe(report), 0);
  const pid_t pid = fork();
  if (pid == 0) {
    vs_error error;
    if (vs_outfile_create(&out, path, may_replace, &error) != VS_OK) _exit(1);
    put(&out, "half");
    (void)!vs_outfile_flush(&out);
    (void)!write(report[1], "", 1);
    for (;;) pause();
  }
  close(report[1]);
  assert_int_equal(read(report[0], &byte, 1), 1);
  assert_int_equal(kill(pid, SIGKILL), 0);
  assert_int_equal(waitpid(pid, NULL, 0), pid);
  close(report[0]);
}

/* Nothing stays of a new file, nor of one that was to replace another. */
static void test_killed(void **state) {
  (void)state;
  kill_a_writer(path_of("new"), false);
  assert_int_equal(count_files(), 0);
  write_file(path_of("old"), "before");
  kill_a_writer(path_of("old"), true);
  for (unsigned i = 0; i < 3000 && count_files() != 1; i++) (void)usleep(10 * 1000);
  assert_int_equal(count_files(), 1);
  expect_file(path_of("old"), "before");
}

/* Others may open it by its name, which goes with its owner, too. */
static void test_a_file_with_a_name(void **state) {
  (void)state;
  vs_error error;
  expect_ok(vs_outfile_create(&out, path_of("new"), false, &error));
  expect_ok(vs_outfile_name(&out, &error));
  write_file(out.temporary, "theirs");
  expect_ok(vs_outfile_name(&out, &error)); /* again changes nothing */
  expect_ok(vs_outfile_finish(&out, &error));
  expect_file(path_of("new"), "theirs");
  assert_int_equal(count_files(), 1);
}

/* A file that was not there at the beginning is replaced if that is allowed, and kept if not. */
static void test_a_file_that_came_meanwhile(void **state) {
  (void)state;
  vs_error error;
  expect_ok(vs_outfile_create(&out, path_of("new"), true, &error));
  put(&out, "mine");
  write_file(path_of("new"), "theirs");
  expect_ok(vs_outfile_finish(&out, &error));
  expect_file(path_of("new"), "mine");
  expect_ok(vs_outfile_create(&out, path_of("other"), false, &error));
  put(&out, "mine");
  write_file(path_of("other"), "theirs");
  expect_status(vs_outfile_finish(&out, &error), VS_IO);
  assert_string_equal(error.text, "file exists");
  expect_file(path_of("other"), "theirs");
  assert_int_equal(count_files(), 2);
}

static void test_full_device(void **state) {
  (void)state;
  static const char zeros[VS_OUTFILE_BUFFER];
  vs_error error;
  if (access("/dev/full", W_OK) != 0) skip();
  expect_ok(vs_outfile_create(&out, "/dev/full", false, &error)); /* a device is no file to be replaced */
  const vs_writer writer = vs_outfile_writer(&out);
  expect_ok(writer.write(writer.ctx, zeros, 10));
  expect_status(writer.write(writer.ctx, zeros, sizeof zeros), VS_IO);
  expect_status(writer.write(writer.ctx, zeros, 1), VS_IO); /* once failed, always failed */
  expect_status(vs_outfile_finish(&out, &error), VS_IO);
  assert_string_equal(error.text, "writing failed: no space left on the device");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_read, make_folder, remove_folder),
      cmocka_unit_test_setup_teardown(test_a_whole_file_as_text, make_folder, remove_folder),
      cmocka_unit_test_setup_teardown(test_cannot_open, make_folder, remove_folder),
      cmocka_unit_test_setup_teardown(test_pipe_has_no_size, make_folder, remove_folder),
      cmocka_unit_test_setup_teardown(test_failed_read_says_why, make_folder, remove_folder),
      cmocka_unit_test_setup_teardown(test_appears_when_finished, make_folder, remove_folder),
      cmocka_unit_test_setup_teardown(test_abandoned_leaves_nothing, make_folder, remove_folder),
      cmocka_unit_test_setup_teardown(test_keeps_what_exists, make_folder, remove_folder),
      cmocka_unit_test_setup_teardown(test_replaces_when_asked, make_folder, remove_folder),
      cmocka_unit_test_setup_teardown(test_bad_places, make_folder, remove_folder),
      cmocka_unit_test_setup_teardown(test_large, make_folder, remove_folder),
      cmocka_unit_test_setup_teardown(test_killed, make_folder, remove_folder),
      cmocka_unit_test_setup_teardown(test_a_file_with_a_name, make_folder, remove_folder),
      cmocka_unit_test_setup_teardown(test_a_file_that_came_meanwhile, make_folder, remove_folder),
      cmocka_unit_test_setup_teardown(test_full_device, make_folder, remove_folder),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
