/* Deadlines, calendar time, and a file that grows line by line. */
#include "os/clock.h"
#include "os/outfile.h"
#include "os/thread.h"
#include "support/test.h"
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static void on_alarm(int number) { (void)number; }

/* Signals come every millisecond and do not end it early. */
static void test_sleep_until(void **state) {
  (void)state;
  struct sigaction action = {.sa_handler = on_alarm};
  const struct itimerval often = {.it_interval = {.tv_usec = 1000}, .it_value = {.tv_usec = 1000}};
  const struct itimerval never = {0};
  assert_int_equal(sigaction(SIGALRM, &action, NULL), 0);
  assert_int_equal(setitimer(ITIMER_REAL, &often, NULL), 0);
  const uint64_t deadline = vs_clock_ns() + 20 * 1000000;
  vs_clock_sleep_until_ns(deadline);
  const uint64_t after = vs_clock_ns();
  assert_int_equal(setitimer(ITIMER_REAL, &never, NULL), 0);
  assert_true(after >= deadline);
  vs_clock_sleep_until_ns(0); /* long past */
}

/* Between two readings of the exact clock, also while threads renew it. */
static _Atomic bool is_wrong;

static void read_quickly(void *ctx) {
  enum { MOST_WRONG = 100000, TIME = 1500000000 };
  (void)ctx;
  const uint64_t began = vs_clock_ns();
  for (uint64_t before = began; before < began + TIME;) {
    const uint64_t quick = vs_clock_quick_ns(), after = vs_clock_ns();
    if (quick + MOST_WRONG < before || quick > after + MOST_WRONG) is_wrong = true;
    before = after;
  }
}

static void test_quick_clock(void **state) {
  (void)state;
  vs_thread threads[3];
  for (int i = 0; i < 3; i++) expect_ok(vs_thread_start(&threads[i], "clock", read_quickly, NULL));
  for (int i = 0; i < 3; i++) vs_thread_join(&threads[i]);
  assert_false(is_wrong);
}

static void expect_local(const char *zone, uint64_t wall_ns, vs_clock_calendar wanted) {
  vs_clock_calendar found;
  assert_int_equal(setenv("TZ", zone, 1), 0);
  tzset();
  vs_clock_local(wall_ns, &found);
  assert_memory_equal(&found, &wanted, sizeof found);
}

static void test_local(void **state) {
  (void)state;
  const uint64_t at = UINT64_C(1783116646109999999);
  expect_local("UTC0", at, (vs_clock_calendar){2026, 7, 3, 22, 10, 46, 109});
  expect_local("FAR-5:45", at, (vs_clock_calendar){2026, 7, 4, 3, 55, 46, 109});
  expect_local("UTC0", 0, (vs_clock_calendar){1970, 1, 1, 0, 0, 0, 0});
}

static void expect_file(const char *path, const char *wanted) {
  char found[64] = "";
  FILE *file = fopen(path, "r");
  assert_non_null(file);
  found[fread(found, 1, sizeof found - 1, file)] = 0;
  (void)fclose(file);
  assert_string_equal(found, wanted);
}

/* What was there is gone at once, what is flushed is there at once, and it stays when the program gives up. */
static void test_log(void **state) {
  (void)state;
  static vs_outfile file;
  char path[] = "/tmp/vramscope-test-log-XXXXXX";
  vs_error error = {.status = VS_OK};
  const int fd = mkstemp(path);
  assert_true(fd >= 0);
  assert_int_equal(write(fd, "old", 3), 3);
  (void)close(fd);
  assert_int_equal(vs_outfile_log(&file, path, &error), VS_OK);
  expect_file(path, "");
  const vs_writer writer = vs_outfile_writer(&file);
  assert_int_equal(writer.write(writer.ctx, "one\n", 4), VS_OK);
  assert_int_equal(vs_outfile_flush(&file), VS_OK);
  expect_file(path, "one\n");
  assert_int_equal(writer.write(writer.ctx, "two\n", 4), VS_OK);
  assert_int_equal(vs_outfile_finish(&file, &error), VS_OK);
  expect_file(path, "one\ntwo\n");
  assert_int_equal(vs_outfile_log(&file, path, &error), VS_OK);
  vs_outfile_abandon(&file);
  expect_file(path, "");
  (void)unlink(path);
  assert_int_equal(vs_outfile_log(&file, "/nowhere/at/all", &error), VS_NOT_FOUND);
  assert_int_equal(vs_outfile_log(&file, "/", &error), VS_IO);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_sleep_until),
      cmocka_unit_test(test_quick_clock),
      cmocka_unit_test(test_local),
      cmocka_unit_test(test_log),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
