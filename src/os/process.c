#include "os/process.h"
#include "base/text.h"
#include "os/failure.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* ---- signals: one path, set by the main thread, which the handler reads if `guarded` says that it is complete */

enum { GUARD_PATH = 4096 };
static char guarded_path[GUARD_PATH];
static volatile sig_atomic_t guarded;

static void end_by_signal(int number) {
  if (guarded) (void)unlink(guarded_path);
  (void)signal(number, SIG_DFL); /* raised again, so that the parent sees the signal */
  (void)raise(number);
}

/* A signal that the parent ignores (nohup) stays ignored. */
static void catch_signal(int number) {
  struct sigaction action;
  if (sigaction(number, NULL, &action) != 0 || action.sa_handler == SIG_IGN) return;
  memset(&action, 0, sizeof action);
  action.sa_handler = end_by_signal;
  (void)sigaction(number, &action, NULL);
}

void vs_process_guard(const char *path) {
  guarded = 0;
  if (path == NULL || strlen(path) >= sizeof guarded_path) return;
  memcpy(guarded_path, path, strlen(path) + 1);
  guarded = 1;
}

int vs_process_create_guarded(const char *path) {
  sigset_t all, before;
  (void)sigfillset(&all);
  (void)pthread_sigmask(SIG_BLOCK, &all, &before);
  const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  const int number = errno;
  if (fd >= 0) vs_process_guard(path);
  (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
  errno = number;
  return fd;
}

static sigset_t held; /* the signals that are blocked until vs_process_wait_end */

static bool is_ignored(int number) {
  struct sigaction action;
  return sigaction(number, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}

void vs_process_hold_end(void) {
  static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
  (void)sigemptyset(&held);
  for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
    if (!is_ignored(numbers[i])) (void)sigaddset(&held, numbers[i]);
  (void)pthread_sigmask(SIG_BLOCK, &held, NULL);
}

void vs_process_leave(int status) {
  (void)fflush(NULL);
  _exit(status);
}

bool vs_process_wait_end(uint64_t most_us) {
  const struct timespec most = {.tv_sec = (time_t)(most_us / 1000000),
                                .tv_nsec = (long)(most_us % 1000000) * 1000};
  if (sigtimedwait(&held, NULL, &most) < 0) return false;
  (void)pthread_sigmask(SIG_UNBLOCK, &held, NULL);
  return true;
}

static void (*pipe_action)(int) = SIG_DFL; /* the action of SIGPIPE before prepare */

void vs_process_unprepare(void) { (void)signal(SIGPIPE, pipe_action); }

void vs_process_prepare(void) {
  /* open() takes the lowest free number, which in this order is that of the closed stream. */
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
    if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
      (void)open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  void (*before)(int) = signal(SIGPIPE, SIG_IGN);
  if (before != SIG_ERR) pipe_action = before;
  catch_signal(SIGINT);
  catch_signal(SIGTERM);
  catch_signal(SIGHUP);
}

/* ---- launching: a child of a child, so that it needs no wait. Between fork and exec only async-signal-safe calls
 * are allowed, because other threads may have held locks of the C library. */

static void become(const char *program, const char *argument, int report) {
  char *const words[] = {(char *)(uintptr_t)program, (char *)(uintptr_t)argument, NULL};
  sigset_t none;
  (void)sigemptyset(&none);
  (void)sigprocmask(SIG_SETMASK, &none, NULL);
  (void)signal(SIGPIPE, SIG_DFL);
  (void)setsid();
  const int nothing = open("/dev/null", O_RDWR);
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO && nothing >= 0; fd++) (void)dup2(nothing, fd);
  (void)execvp(program, words);
  const int number = errno;
  _exit(write(report, &number, sizeof number) < 0 ? 126 : 127);
}

static int launch(const char *program, const char *argument) {
  int report[2], number = 0;
  if (pipe2(report, O_CLOEXEC) != 0) return errno;
  const pid_t between = fork();
  if (between == 0) {
    if (fork() == 0) become(program, argument, report[1]);
    _exit(0);
  }
  (void)close(report[1]);
  if (between < 0) number = EAGAIN;
  else (void)waitpid(between, NULL, 0);
  /* The pipe was closed without an error: the child has become the program. */
  if (number == 0 && read(report[0], &number, sizeof number) != (ssize_t)sizeof number) number = 0;
  (void)close(report[0]);
  return number;
}

vs_status vs_process_launch(const char *program, const char *argument, vs_error *error) {
  const int number = launch(program, argument);
  if (number == 0) return VS_OK;
  if (number == ENOENT) return vs_fail(error, VS_NOT_FOUND, VS_NO_OFFSET, "there is no %s here", program);
  return vs_os__fail(error, number, program);
}

/* ---- environment, clock, streams */

const char *vs_process_variable(const char *name) { return getenv(name); }

void vs_process_program(char *path, size_t capacity) {
  const ssize_t size = readlink("/proc/self/exe", path, capacity - 1);
  path[size < 0 || (size_t)size == capacity - 1 ? 0 : size] =
      0; /* a path that fills the buffer may be cut off, so it counts as unknown */
}

void vs_process_folder(char *path, size_t capacity) {
  vs_process_program(path, capacity);
  char *slash = strrchr(path, '/');
  if (slash != NULL) *slash = 0;
}

void vs_process_working_folder(char *path, size_t capacity) {
  if (getcwd(path, capacity) == NULL) path[0] = 0;
}

uint64_t vs_process_id(void) { return (uint64_t)getpid(); }
uint32_t vs_process_user(void) { return (uint32_t)geteuid(); }
uint64_t vs_process_parent(void) { return (uint64_t)getppid(); }

void vs_process_host(char *name, size_t capacity) {
  if (gethostname(name, capacity) != 0) name[0] = 0;
  name[capacity - 1] = 0;
}

/* The state letter after the name in /proc/PID/stat; the name may contain any characters, brackets too. */
static char state_of(int64_t pid) {
  char path[40], line[512];
  vs_format(path, sizeof path, "/proc/%D/stat", pid);
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  const ssize_t size = read(fd, line, sizeof line - 1);
  (void)close(fd);
  line[size < 0 ? 0 : size] = 0;
  const char *bracket = strrchr(line, ')');
  return bracket == NULL || bracket[1] == 0 ? 0 : bracket[2];
}

bool vs_process_is_alive(int64_t pid) {
  const char state = state_of(pid);
  return state != 0 && state != 'Z' && state != 'X';
}

void vs_process_signal(int64_t pid, int number) { (void)kill((pid_t)pid, number); }

uint64_t vs_process_clock_us(void) {
  struct timespec now;
  if (clock_gettime(CLOCK_MONOTONIC, &now) != 0) return 0;
  return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static int descriptor(vs_stream stream) {
  return stream == VS_STDIN ? STDIN_FILENO : stream == VS_STDOUT ? STDOUT_FILENO : STDERR_FILENO;
}

bool vs_stream_is_terminal(vs_stream stream) { return isatty(descriptor(stream)) == 1; }

uint32_t vs_stream_columns(vs_stream stream) {
  struct winsize size = {0};
  return ioctl(descriptor(stream), TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

uint32_t vs_stream_rows(vs_stream stream) {
  struct winsize size = {0};
  return ioctl(descriptor(stream), TIOCGWINSZ, &size) == 0 ? size.ws_row : 0;
}

void vs_stderr_put(const char *data, size_t size) {
  while (size != 0) {
    const ssize_t put = write(STDERR_FILENO, data, size);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return;
    data += put;
    size -= (size_t)put;
  }
}
