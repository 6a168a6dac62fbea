#include "os/process.h"
#include "base/text.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

/* ---- signals: one path, set by the main thread, read by the handler when `guarded` says that it is whole */

enum { GUARD_PATH = 4096 };
static char guarded_path[GUARD_PATH];
static volatile sig_atomic_t guarded;

static void end_by_signal(int number) {
  if (guarded) (void)unlink(guarded_path);
  (void)signal(number, SIG_DFL); /* and again, so that the parent sees the true cause */
  (void)raise(number);
}

/* A signal that the parent chose to ignore (nohup) stays ignored. */
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

void vs_process_prepare(void) {
  /* open() takes the lowest free number, which in this order is the one just found closed. */
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
    if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
      (void)open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  (void)signal(SIGPIPE, SIG_IGN);
  catch_signal(SIGINT);
  catch_signal(SIGTERM);
  catch_signal(SIGHUP);
}

/* ---- environment, clock, streams */

const char *vs_process_variable(const char *name) { return getenv(name); }

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

void vs_stderr_put(const char *data, size_t size) {
  while (size != 0) {
    const ssize_t put = write(STDERR_FILENO, data, size);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return;
    data += put;
    size -= (size_t)put;
  }
}
