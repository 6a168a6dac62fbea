/* Child processes and what they share with us: their streams, their environment, signals, memory, a temporary
 * folder. */
#include "os/child.h"
#include "os/folder.h"
#include "os/process.h"
#include "os/shared.h"
#include "support/test.h"
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LONG_US = 30 * 1000 * 1000 }; /* longer than any of this takes */

/* Runs a shell command line to its end. */
static vs_child shell(const char *line, const vs_child_variable *variables, size_t count) {
  char *words[] = {"sh", "-c", (char *)(uintptr_t)line, NULL};
  const vs_child_plan plan = {.words = words, .variables = variables, .variable_count = count};
  vs_child child;
  vs_error error;
  expect_ok(vs_child_start(&child, &plan, &error));
  while (vs_children_wait(&child, 1, LONG_US) != 0) continue;
  assert_false(child.is_running);
  return child;
}

static void test_exit_codes(void **state) {
  (void)state;
  assert_int_equal(shell("exit 0", NULL, 0).exit_code, 0);
  assert_int_equal(shell("exit 7", NULL, 0).exit_code, 7);
  const vs_child killed = shell("kill -KILL $$", NULL, 0);
  assert_int_equal(killed.signal, SIGKILL);
  assert_int_equal(killed.exit_code, 0);
  vs_children_done();
}

static void test_environment(void **state) {
  (void)state;
  assert_int_equal(setenv("VS_TEST_KEPT", "kept", 1), 0);
  assert_int_equal(setenv("VS_TEST_GONE", "gone", 1), 0);
  const vs_child_variable variables[] = {
      {"VS_TEST_NEW", "a b=c"}, {"VS_TEST_GONE", NULL}, {"VS_TEST_KEPT", "changed"}};
  const char *const check = "test \"$VS_TEST_NEW\" = 'a b=c' && test -z \"${VS_TEST_GONE+x}\" && "
                            "test \"$VS_TEST_KEPT\" = changed && test -n \"$PATH\"";
  assert_int_equal(shell(check, variables, 3).exit_code, 0);
  assert_string_equal(getenv("VS_TEST_KEPT"), "kept");
  vs_children_done();
}

static void test_no_such_program(void **state) {
  (void)state;
  char *words[] = {"/no/such/program", NULL};
  const vs_child_plan plan = {.words = words};
  vs_child child;
  vs_error error;
  expect_status(vs_child_start(&child, &plan, &error), VS_NOT_FOUND);
  assert_string_equal(error.text, "no such program");
  assert_false(child.is_running);
  words[0] = "/tmp";
  expect_status(vs_child_start(&child, &plan, &error), VS_IO);
  assert_string_equal(error.text, "cannot be started: permission denied");
  vs_children_done();
}

/* What the shell says of the signals that it ignores: pipes that break have to end a program as ever. */
static void test_inherits_no_signals(void **state) {
  (void)state;
  vs_process_prepare();
  const vs_child child = shell("ignored=$(sed -n 's/^SigIgn:.*\\(....\\)$/\\1/p' /proc/$$/status); "
                               "blocked=$(sed -n 's/^SigBlk:[ \\t]*//p' /proc/$$/status); "
                               "test $((0x$ignored & 0x1000)) = 0 && test $((0x$blocked)) = 0",
                               NULL, 0);
  assert_int_equal(child.exit_code, 0);
  vs_children_done();
}

static void test_signals_are_forwarded(void **state) {
  (void)state;
  char *words[] = {"sh", "-c", "trap 'exit 42' TERM; while :; do sleep 0.05; done", NULL};
  const vs_child_plan plan = {.words = words};
  vs_child child;
  vs_error error;
  expect_ok(vs_child_start(&child, &plan, &error));
  assert_int_equal(vs_children_wait(&child, 1, 300 * 1000), 1); /* time for the trap */
  assert_false(vs_children_interrupted());
  (void)kill(getpid(), SIGTERM); /* to us alone, who survive it */
  while (vs_children_wait(&child, 1, LONG_US) != 0) continue;
  assert_true(vs_children_interrupted());
  assert_int_equal(child.exit_code, 42);
  vs_children_done();
  assert_false(vs_children_interrupted());
}

/* It is the leader of a session, and only what is sent to it reaches it. */
static void test_a_child_apart(void **state) {
  (void)state;
  char *words[] = {"sh", "-c", "trap 'exit 42' INT; trap 'exit 43' TERM; while :; do sleep 0.05; done", NULL};
  const vs_child_plan plan = {.words = words, .is_apart = true};
  vs_child child;
  vs_error error;
  expect_ok(vs_child_start(&child, &plan, &error));
  assert_int_equal(vs_children_wait(&child, 1, 300 * 1000), 1); /* time for the traps */
  assert_int_equal(getsid((pid_t)child.pid), child.pid);
  (void)kill(getpid(), SIGTERM);
  assert_int_equal(vs_children_wait(&child, 1, 300 * 1000), 1);
  assert_true(vs_children_interrupted());
  vs_children_interrupt(&child, 1);
  while (vs_children_wait(&child, 1, LONG_US) != 0) continue;
  assert_int_equal(child.exit_code, 42);
  vs_children_done();
}

static void test_waits_for_one_of_many(void **state) {
  (void)state;
  char *lines[] = {"exec sleep 20", "exit 3", "exec sleep 20"};
  vs_child children[3];
  vs_error error;
  for (size_t i = 0; i < 3; i++) {
    char *words[] = {"sh", "-c", lines[i], NULL};
    const vs_child_plan plan = {.words = words};
    expect_ok(vs_child_start(&children[i], &plan, &error));
  }
  assert_int_equal(vs_children_wait(children, 3, LONG_US), 2);
  assert_int_equal(children[1].exit_code, 3);
  vs_children_kill(children, 3);
  while (vs_children_wait(children, 3, LONG_US) != 0) continue;
  assert_int_equal(children[0].signal, SIGKILL);
  vs_children_done();
}

/* A child of a child is ended, too, and its time counts. */
static void test_families(void **state) {
  (void)state;
  char path[] = "/tmp/vramscope-test-XXXXXX", line[200];
  const int file = mkstemp(path);
  assert_true(file >= 0);
  (void)snprintf(line, sizeof line,
                 "sh -c 'i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; echo $$ > %s; sleep 20' & "
                 "wait; sleep 20",
                 path);
  char *words[] = {"sh", "-c", line, NULL};
  const vs_child_plan plan = {.words = words};
  vs_child child;
  vs_error error;
  expect_ok(vs_child_start(&child, &plan, &error));
  char text[24] = "";
  while (vs_children_wait(&child, 1, 20 * 1000) == 1 && pread(file, text, sizeof text - 1, 0) <= 0) continue;
  const int64_t inner = atoll(text);
  assert_true(inner > 1 && inner != child.pid && vs_process_is_alive(inner));
  assert_true(vs_children_cpu_us(&child, 1) > 10 * 1000);
  assert_int_equal(vs_children_left(), 0);
  vs_children_kill(&child, 1);
  while (vs_children_wait(&child, 1, LONG_US) != 0) continue;
  assert_int_equal(child.signal, SIGKILL);
  while (vs_children_left() != 0) (void)usleep(10 * 1000);
  assert_false(vs_process_is_alive(inner));
  assert_int_equal(vs_children_cpu_us(&child, 1), 0);
  vs_children_done();
  (void)close(file);
  (void)unlink(path);
}

static void test_streams(void **state) {
  (void)state;
  char path[] = "/tmp/vramscope-test-XXXXXX", text[64] = "";
  const int file = mkstemp(path), before = dup(STDERR_FILENO);
  assert_true(file >= 0 && dup2(file, STDERR_FILENO) >= 0);
  char *words[] = {"sh", "-c", "echo out; echo err >&2; read line && echo $line", NULL};
  vs_child_plan plan = {.words = words, .streams = VS_CHILD_STREAMS_NONE};
  vs_child child;
  vs_error error;
  expect_ok(vs_child_start(&child, &plan, &error));
  while (vs_children_wait(&child, 1, LONG_US) != 0) continue;
  words[2] = "echo out; echo err >&2";
  plan.streams = VS_CHILD_STREAMS_TO_STDERR;
  expect_ok(vs_child_start(&child, &plan, &error));
  while (vs_children_wait(&child, 1, LONG_US) != 0) continue;
  assert_true(dup2(before, STDERR_FILENO) >= 0);
  assert_true(pread(file, text, sizeof text - 1, 0) >= 0);
  assert_string_equal(text, "out\nerr\n"); /* the first one wrote into nothing */
  close(before);
  close(file);
  unlink(path);
  vs_children_done();
}

/* ---- shared memory */

static void test_shared_memory(void **state) {
  (void)state;
  vs_shared shared;
  vs_error error;
  expect_ok(vs_shared_create(&shared, "vramscope", 8192, &error));
  char *memory = shared.memory;
  assert_int_equal(memory[8191], 0);
  memcpy(memory + 5000, "from here", 9);
  char line[256];
  vs_format(line, sizeof line,
            "test \"$(tail -c +5001 %s | head -c 9)\" = 'from here' && printf there | dd of=%s bs=1 "
            "seek=100 conv=notrunc 2>/dev/null",
            shared.path, shared.path);
  assert_int_equal(shell(line, NULL, 0).exit_code, 0);
  assert_memory_equal(memory + 100, "there", 5);
  vs_shared_close(&shared);
  vs_shared_close(&shared); /* again is harmless */
  vs_children_done();
}

/* ---- the temporary folder */

static const char prefix[] = "vramscope-unit-";

static bool exists(const char *path) { return access(path, F_OK) == 0; }

static void fill(const char *folder) {
  char line[VS_FOLDER_PATH + 128];
  vs_format(line, sizeof line,
            "cd '%s' && mkdir -p a/b && echo x > a/b/c && echo y > d && ln -s /etc/passwd e", folder);
  assert_int_equal(shell(line, NULL, 0).exit_code, 0);
}

static void test_folder_goes(void **state) {
  (void)state;
  vs_folder folder;
  vs_error error;
  expect_ok(vs_folder_create(&folder, prefix, &error));
  struct stat facts;
  assert_int_equal(stat(folder.path, &facts), 0);
  assert_int_equal(facts.st_mode & 0777, 0700);
  fill(folder.path);
  vs_folder_remove(&folder);
  assert_false(exists(folder.path));
  assert_true(exists("/etc/passwd"));
  vs_folder_remove(&folder); /* again is harmless */
  vs_children_done();
}

/* Whether a path goes within a while. */
static bool goes(const char *path) {
  for (unsigned i = 0; i < 3000 && exists(path); i++) (void)usleep(10 * 1000);
  return !exists(path);
}

/* Another process makes a folder, and goes on. */
static pid_t own_a_folder(vs_status (*create)(vs_folder *folder, const char *prefix, vs_error *error),
                          vs_folder *theirs) {
  int report[2];
  assert_int_equal(pipe(report), 0);
  const pid_t pid = fork();
  if (pid == 0) {
    vs_error error;
    if (create(theirs, prefix, &error) == VS_OK) (void)!write(report[1], theirs, sizeof *theirs);
    for (;;) pause();
  }
  assert_int_equal(read(report[0], theirs, sizeof *theirs), sizeof *theirs);
  close(report[0]);
  close(report[1]);
  return pid;
}

static void kill_owner(pid_t pid) {
  assert_int_equal(kill(pid, SIGKILL), 0);
  assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* One whose owner was killed, with its keeper, goes with the next start, one whose owner lives stays. */
static void test_stale_folders_are_swept(void **state) {
  (void)state;
  vs_folder mine, theirs, third, next;
  vs_error error;
  expect_ok(vs_folder_create(&mine, prefix, &error));
  const pid_t pid = own_a_folder(vs_folder_create, &theirs);
  fill(theirs.path);
  expect_ok(vs_folder_create(&third, prefix, &error));
  assert_true(exists(theirs.path)); /* its owner lives */
  assert_int_equal(kill((pid_t)theirs.keeper.pid, SIGKILL), 0);
  kill_owner(pid);
  expect_ok(vs_folder_create(&next, prefix, &error));
  assert_false(exists(theirs.path));
  assert_true(exists(mine.path) && exists(third.path));
  vs_folder_remove(&mine);
  vs_folder_remove(&next);
  vs_folder_remove(&third);
  vs_children_done();
}

/* A user's own folder, which only begins like these, stays. */
static void test_other_folders_stay(void **state) {
  (void)state;
  static const char *const names[] = {"results", "results2026", "XXXXXXabcdef", "abcdefghijkl-1"};
  char path[VS_FOLDER_PATH];
  vs_folder folder;
  vs_error error;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    vs_format(path, sizeof path, "/tmp/%s%s", prefix, names[i]);
    (void)rmdir(path);
    assert_int_equal(mkdir(path, 0700), 0);
    expect_ok(vs_folder_create(&folder, prefix, &error));
    vs_folder_remove(&folder);
    assert_int_equal(rmdir(path), 0);
  }
  vs_children_done();
}

/* Also without a next start, with what is in it. */
static void test_folder_of_a_killed_owner_goes(void **state) {
  (void)state;
  vs_folder theirs;
  const pid_t pid = own_a_folder(vs_folder_create, &theirs);
  fill(theirs.path);
  (void)usleep(50 * 1000);
  assert_true(exists(theirs.path));
  kill_owner(pid);
  assert_true(goes(theirs.path));
  assert_true(exists("/etc/passwd"));
  vs_children_done();
}

static void test_folder_that_is_left_stays(void **state) {
  (void)state;
  vs_folder folder;
  vs_error error;
  expect_ok(vs_folder_create(&folder, prefix, &error));
  vs_folder_leave(&folder);
  assert_true(exists(folder.path));
  assert_int_equal(rmdir(folder.path), 0);
}

/* A process that has the folder in its environment ends before the folder goes; one that does not have it runs on. */
static void test_processes_of_a_killed_owner_end(void **state) {
  (void)state;
  vs_folder theirs;
  vs_error error;
  const pid_t pid = own_a_folder(vs_folder_create_for_processes, &theirs);
  const vs_child_variable variable = {"VS_TEST_FOLDER", theirs.path};
  char *words[] = {"sh", "-c", "trap '' TERM; for i in $(seq 400); do sleep 0.05; done", NULL};
  vs_child user, other;
  const vs_child_plan using = {.words = words, .variables = &variable, .variable_count = 1};
  const vs_child_plan apart = {.words = words};
  expect_ok(vs_child_start(&user, &using, &error));
  expect_ok(vs_child_start(&other, &apart, &error));
  kill_owner(pid);
  (void)usleep(500 * 1000);
  assert_true(exists(theirs.path));
  assert_int_equal(vs_children_wait(&user, 1, LONG_US), 0);
  assert_int_equal(user.signal, SIGKILL); /* it ignores TERM */
  assert_true(goes(theirs.path));
  assert_int_equal(vs_children_wait(&other, 1, 0), 1);
  vs_children_kill(&other, 1);
  while (vs_children_wait(&other, 1, LONG_US) != 0) continue;
  vs_children_done();
}

typedef struct seen {
  unsigned files, links, folders;
  unsigned stop_after;
} seen;

static vs_status see(void *ctx, const char *name, vs_folder_kind kind) {
  seen *s = ctx;
  assert_string_not_equal(name, ".");
  s->files += kind == VS_FOLDER_FILE;
  s->links += kind == VS_FOLDER_LINK;
  s->folders += kind == VS_FOLDER_FOLDER;
  return s->stop_after != 0 && s->files + s->links + s->folders >= s->stop_after ? VS_CANCELLED : VS_OK;
}

static void test_what_lies_in_a_folder(void **state) {
  (void)state;
  vs_folder folder;
  vs_error error;
  expect_ok(vs_folder_create(&folder, prefix, &error));
  fill(folder.path);
  seen all = {.stop_after = 0}, one = {.stop_after = 1};
  expect_ok(vs_folder_each(folder.path, &all, see));
  assert_int_equal(all.files, 1);
  assert_int_equal(all.links, 1);
  assert_int_equal(all.folders, 1);
  expect_status(vs_folder_each(folder.path, &one, see), VS_CANCELLED);
  assert_int_equal(one.files + one.links + one.folders, 1);
  expect_status(vs_folder_each("/no/such/folder", &one, see), VS_NOT_FOUND);
  vs_folder_remove(&folder);
  vs_children_done();
}

static void test_alive(void **state) {
  (void)state;
  assert_true(vs_process_is_alive((int64_t)vs_process_id()));
  const pid_t pid = fork();
  if (pid == 0) _exit(0);
  siginfo_t info;
  assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
  assert_false(vs_process_is_alive(pid)); /* it waits for us, but lives no more */
  assert_int_equal(waitpid(pid, NULL, 0), pid);
  assert_false(vs_process_is_alive(pid));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_exit_codes),
      cmocka_unit_test(test_environment),
      cmocka_unit_test(test_no_such_program),
      cmocka_unit_test(test_inherits_no_signals),
      cmocka_unit_test(test_signals_are_forwarded),
      cmocka_unit_test(test_a_child_apart),
      cmocka_unit_test(test_waits_for_one_of_many),
      cmocka_unit_test(test_families),
      cmocka_unit_test(test_streams),
      cmocka_unit_test(test_shared_memory),
      cmocka_unit_test(test_folder_goes),
      cmocka_unit_test(test_stale_folders_are_swept),
      cmocka_unit_test(test_other_folders_stay),
      cmocka_unit_test(test_folder_of_a_killed_owner_goes),
      cmocka_unit_test(test_folder_that_is_left_stays),
      cmocka_unit_test(test_processes_of_a_killed_owner_end),
      cmocka_unit_test(test_what_lies_in_a_folder),
      cmocka_unit_test(test_alive),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
