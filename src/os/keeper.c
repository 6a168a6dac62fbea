#include "os/keeper.h"
#include "os/clock.h"
#include "os/kernel.h"
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- in the keeper: system calls only */

static void close_between(unsigned first, unsigned last) {
  enum { MOST = 4096 };
#ifdef SYS_close_range
  if (first > last || syscall(SYS_close_range, first, last, 0) == 0) return;
#endif
  for (unsigned fd = first; fd <= last && fd < MOST; fd++) (void)close((int)fd); /* a kernel before 5.9 */
}

/* Waits until the owner says something, or its end of the sockets closes. Whether the owner is gone. */
static bool wait_for_owner(int link) {
  char byte;
  ssize_t got;
  do got = read(link, &byte, sizeof byte);
  while (got < 0 && errno == EINTR);
  return got == 0;
}

static _Noreturn void keep(int link, const char *path, vs_keeper_clear *clear) {
  enum { NAP_NS = 1000 * 1000 * 1000 / VS_KEEPER_NAPS_A_SECOND };
  const unsigned most = VS_KEEPER_MOST_SECONDS * VS_KEEPER_NAPS_A_SECOND;
  (void)setsid();
  if (link > 0) close_between(0, (unsigned)link - 1);
  close_between((unsigned)link + 1, UINT32_MAX);
  if (!wait_for_owner(link)) _exit(0);
  for (unsigned naps = 0; naps < most && !clear(path, naps); naps++) vs_clock_sleep_ns(NAP_NS);
  _exit(0);
}

/* ---- in the owner */

/* The signals are blocked over the fork: the keeper has no use for the owner's handlers. */
void vs_keeper_start(vs_keeper *keeper, const char *path, vs_keeper_clear *clear) {
  int ends[2];
  sigset_t all, before;
  *keeper = (vs_keeper){.pid = 0};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return;
  (void)sigfillset(&all);
  (void)pthread_sigmask(SIG_BLOCK, &all, &before);
  const pid_t pid = fork();
  if (pid == 0) keep(ends[0], path, clear);
  (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
  (void)close(ends[0]);
  if (pid > 0) *keeper = (vs_keeper){.pid = pid, .link = ends[1]};
  else (void)close(ends[1]);
}

void vs_keeper_end(vs_keeper *keeper) {
  if (keeper->pid == 0) return;
  const char byte = 0;
  (void)send(keeper->link, &byte, sizeof byte, MSG_NOSIGNAL); /* it may have been killed */
  (void)close(keeper->link);
  while (waitpid((pid_t)keeper->pid, NULL, 0) < 0 && errno == EINTR) continue;
  *keeper = (vs_keeper){.pid = 0};
}

static const char letters[] = "abcdefghijklmnopqrstuvwxyz012345"; /* 32, as each has 5 bits */

void vs_keeper_name(char name[VS_KEEPER_NAME + 1]) {
  uint8_t random[VS_KEEPER_NAME] = {0};
  uint64_t clock = vs_clock_ns() ^ (uint64_t)getpid() << 40;
  if (!vs_kernel_random(random, sizeof random, false))
    for (size_t i = 0; i < sizeof random; i++, clock >>= 5) random[i] = (uint8_t)clock;
  for (size_t i = 0; i < sizeof random; i++) name[i] = letters[random[i] % (sizeof letters - 1)];
  name[VS_KEEPER_NAME] = 0;
}

bool vs_keeper_is_name(const char *text) {
  return strlen(text) == VS_KEEPER_NAME && strspn(text, letters) == VS_KEEPER_NAME;
}
