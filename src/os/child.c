#include "os/child.h"
#include "base/text.h"
#include "os/failure.h"
#include "os/proc.h"
#include "os/process.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

enum { MOST_MEMBERS = 4096, MOST_CHILDREN = 1024 };

/* Those that got a signal as members of a family, and run. */
static struct {
  int64_t pids[MOST_MEMBERS];
  size_t count;
} asked;

/* ---- signals while children run: blocked, and read one by one in vs_children_wait */

static const int forwarded[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGTSTP};

static struct {
  bool is_blocked;
  bool was_asked_to_end, was_asked_to_stop;
  sigset_t set, before;
} watch;

void vs_children_begin(void) {
  if (watch.is_blocked) return;
  (void)sigemptyset(&watch.set);
  (void)sigaddset(&watch.set, SIGCHLD);
  for (size_t i = 0; i < sizeof forwarded / sizeof forwarded[0]; i++)
    (void)sigaddset(&watch.set, forwarded[i]);
  watch.is_blocked = sigprocmask(SIG_BLOCK, &watch.set, &watch.before) == 0;
}

void vs_children_done(void) {
  const struct timespec now = {0};
  if (!watch.is_blocked) return;
  while (sigtimedwait(&watch.set, NULL, &now) > 0) continue; /* what came too late to be forwarded */
  (void)sigprocmask(SIG_SETMASK, &watch.before, NULL);
  watch.is_blocked = false;
  watch.was_asked_to_end = false;
  asked.count = 0;
}

bool vs_children_interrupted(void) { return watch.was_asked_to_end; }

bool vs_children_stopped(void) { return watch.was_asked_to_stop; }

void vs_children_stop(void) {
  sigset_t stop;
  watch.was_asked_to_stop = false;
  (void)sigemptyset(&stop);
  (void)sigaddset(&stop, SIGTSTP);
  (void)raise(SIGTSTP); /* it is blocked: the process stops in the next call */
  (void)sigprocmask(SIG_UNBLOCK, &stop, NULL);
  (void)sigprocmask(SIG_BLOCK, &stop, NULL);
}

/* ---- starting */

static bool is_changed(const vs_child_plan *plan, const char *entry) {
  for (size_t i = 0; i < plan->variable_count; i++) {
    const size_t size = strlen(plan->variables[i].name);
    if (strncmp(entry, plan->variables[i].name, size) == 0 && entry[size] == '=') return true;
  }
  return false;
}

static char *join(const vs_child_variable *variable) {
  const size_t name = strlen(variable->name), value = strlen(variable->value);
  char *entry = malloc(name + value + 2);
  if (entry == NULL) return NULL;
  memcpy(entry, variable->name, name);
  entry[name] = '=';
  memcpy(entry + name + 1, variable->value, value + 1);
  return entry;
}

/* Our environment with the changes, the changed entries last. In the memory of the C library: it is made just
 * before a fork. */
static char **make_environment(const vs_child_plan *plan, size_t *kept) {
  size_t count = 0;
  while (environ != NULL && environ[count] != NULL) count++;
  char **all = malloc((count + plan->variable_count + 1) * sizeof *all);
  if (all == NULL) return NULL;
  *kept = 0;
  for (size_t i = 0; i < count; i++)
    if (!is_changed(plan, environ[i])) all[(*kept)++] = environ[i];
  size_t at = *kept;
  all[at] = NULL;
  for (size_t i = 0; i < plan->variable_count; i++) {
    if (plan->variables[i].value == NULL) continue;
    all[at] = join(&plan->variables[i]);
    if (all[at] == NULL) break; /* ends the list early: seen by the caller */
    all[++at] = NULL;
  }
  return all;
}

static void free_environment(char **all, size_t kept) {
  for (size_t i = kept; all[i] != NULL; i++) free(all[i]);
  free(all);
}

/* Opens `path` as descriptor `fd`. */
static void redirect(int fd, const char *path, int flags) {
  const int other = open(path, flags, 0600);
  if (other < 0 || other == fd) return;
  (void)dup2(other, fd);
  (void)close(other);
}

static void arrange_streams(const vs_child_plan *plan) {
  if (plan->streams == VS_CHILD_STREAMS_TO_STDERR) (void)dup2(STDERR_FILENO, STDOUT_FILENO);
  if (plan->streams != VS_CHILD_STREAMS_NONE) return;
  redirect(STDIN_FILENO, "/dev/null", O_RDONLY);
  redirect(STDOUT_FILENO, plan->output == NULL ? "/dev/null" : plan->output, O_WRONLY | O_CREAT | O_TRUNC);
  (void)dup2(STDOUT_FILENO, STDERR_FILENO);
}

/* Makes the calling thread's next child have addresses that are not random. *before is for restore_addresses. false: it is not
 * allowed, as in some containers. */
static bool fix_addresses(int *before) {
  *before = personality(UINT32_MAX);
  return *before >= 0 && personality((unsigned)*before | ADDR_NO_RANDOMIZE) >= 0;
}

static void restore_addresses(int before) { (void)personality((unsigned)before); }

/* In the child: executes the program, or writes the reason why it cannot to `report`. */
static void become(const vs_child_plan *plan, char **variables, pid_t parent, int report) {
  vs_process_unprepare();
  if (watch.is_blocked) (void)sigprocmask(SIG_SETMASK, &watch.before, NULL);
  if (plan->is_apart) (void)setsid();
  else (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) _exit(127); /* the parent died before the death signal was set */
  arrange_streams(plan);
  environ = variables;
  (void)execvp(plan->words[0], plan->words);
  const int number = errno;
  (void)!write(report, &number, sizeof number);
  _exit(127);
}

/* The child's errno if it could not execute the program, else 0. */
static int read_report(int fd) {
  int number = 0;
  ssize_t got;
  do got = read(fd, &number, sizeof number);
  while (got < 0 && errno == EINTR);
  return got == (ssize_t)sizeof number ? number : 0;
}

static vs_status fail_start(int number, vs_error *error) {
  if (number == ENOENT) return vs_fail(error, VS_NOT_FOUND, VS_NO_OFFSET, "no such program");
  if (number == ENOEXEC)
    return vs_fail(error, VS_IO, VS_NO_OFFSET, "not a program that this machine can run");
  return vs_os__fail(error, number, "cannot be started");
}

static vs_status start(vs_child *child, const vs_child_plan *plan, char **variables, vs_error *error) {
  int report[2];
  if (pipe2(report, O_CLOEXEC) != 0) return fail_start(errno, error);
  vs_children_begin();
  int before = 0;
  const bool is_fixed = plan->fixes_addresses && fix_addresses(&before);
  const pid_t parent = getpid(), pid = fork();
  const int number = errno;
  if (pid == 0) become(plan, variables, parent, report[1]);
  if (is_fixed) restore_addresses(before);
  (void)close(report[1]);
  const int failure = pid < 0 ? number : read_report(report[0]);
  (void)close(report[0]);
  if (failure == 0) {
    *child = (vs_child){
        .pid = pid, .is_running = true, .is_apart = plan->is_apart, .has_fixed_addresses = is_fixed};
    return VS_OK;
  }
  if (pid > 0) (void)waitpid(pid, NULL, 0);
  return fail_start(failure, error);
}

vs_status vs_child_start(vs_child *child, const vs_child_plan *plan, vs_error *error) {
  *child = (vs_child){.pid = -1};
  size_t kept, added = 0;
  char **variables = make_environment(plan, &kept);
  if (variables == NULL) return vs_os__fail(error, ENOMEM, "");
  for (size_t i = 0; i < plan->variable_count; i++) added += plan->variables[i].value != NULL;
  bool is_whole = true;
  for (size_t i = 0; i < added && is_whole; i++) is_whole = variables[kept + i] != NULL;
  const vs_status status = is_whole ? start(child, plan, variables, error) : vs_os__fail(error, ENOMEM, "");
  free_environment(variables, kept);
  return status;
}

/* ---- watching */

/* Stores the result of a child that ended. */
static bool reap(vs_child *child) {
  int status;
  const pid_t got = waitpid((pid_t)child->pid, &status, WNOHANG);
  if (got == 0 || (got < 0 && errno == EINTR)) return false;
  child->is_running = false;
  child->signal = got > 0 && WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  child->exit_code = got > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : 0;
  return true;
}

static size_t reap_all(vs_child *children, size_t count, bool *one_ended) {
  size_t running = 0;
  for (size_t i = 0; i < count; i++) {
    if (!children[i].is_running) continue;
    if (reap(&children[i])) *one_ended = true;
    else running++;
  }
  return running;
}

/* The terminal signals its whole foreground group, so the children get its signals themselves. */
static void take_signal(const siginfo_t *info, const vs_child *children, size_t count) {
  const int number = info->si_signo;
  if (number == SIGCHLD) return;
  if (number == SIGTSTP) watch.was_asked_to_stop = true;
  else if (number != SIGUSR1 && number != SIGUSR2) watch.was_asked_to_end = true;
  for (size_t i = 0; i < count && info->si_code <= 0; i++)
    if (!children[i].is_apart) vs_children_signal(&children[i], 1, number);
}

size_t vs_children_wait(vs_child *children, size_t count, uint64_t most_us) {
  const uint64_t end = vs_process_clock_us() + most_us;
  bool one_ended = false;
  for (;;) {
    const size_t running = reap_all(children, count, &one_ended);
    const uint64_t now = vs_process_clock_us();
    if (running == 0 || one_ended || now >= end || watch.was_asked_to_stop) return running;
    const uint64_t left = end - now;
    const struct timespec time = {.tv_sec = (time_t)(left / 1000000),
                                  .tv_nsec = (long)(left % 1000000) * 1000};
    siginfo_t info;
    if (sigtimedwait(&watch.set, &info, &time) > 0) take_signal(&info, children, count);
  }
}

void vs_children_signal(const vs_child *children, size_t count, int number) {
  for (size_t i = 0; i < count; i++)
    if (children[i].is_running) (void)kill((pid_t)children[i].pid, number);
}

/* ---- families: the children that run, and all that descend from them */

typedef struct family {
  vs_proc_member members[MOST_MEMBERS];
  size_t count;
} family;

/* In static memory, because it is large for a stack; only the main thread calls these functions. */
static const family *family_of(const vs_child *children, size_t count) {
  static family found;
  int64_t pids[MOST_CHILDREN];
  size_t running = 0;
  for (size_t i = 0; i < count && running < MOST_CHILDREN; i++)
    if (children[i].is_running) pids[running++] = children[i].pid;
  found.count = vs_proc_family("/proc", pids, running, found.members, MOST_MEMBERS);
  return &found;
}

static void forget_ended(void) {
  size_t kept = 0;
  for (size_t i = 0; i < asked.count; i++)
    if (vs_process_is_alive(asked.pids[i])) asked.pids[kept++] = asked.pids[i];
  asked.count = kept;
}

static void ask(int64_t pid) {
  for (size_t i = 0; i < asked.count; i++)
    if (asked.pids[i] == pid) return;
  if (asked.count < MOST_MEMBERS) asked.pids[asked.count++] = pid;
}

static void signal_family(const vs_child *children, size_t count, int number) {
  const family *all = family_of(children, count);
  forget_ended();
  for (size_t i = 0; i < count; i++)
    if (children[i].is_running) ask(children[i].pid); /* where /proc is not there, these alone */
  for (size_t i = 0; i < all->count; i++) ask(all->members[i].pid);
  for (size_t i = 0; i < asked.count; i++) (void)kill((pid_t)asked.pids[i], number);
}

size_t vs_children_left(void) {
  forget_ended();
  return asked.count;
}

void vs_children_interrupt(const vs_child *children, size_t count) { signal_family(children, count, SIGINT); }
void vs_children_terminate(const vs_child *children, size_t count) {
  signal_family(children, count, SIGTERM);
}
void vs_children_kill(const vs_child *children, size_t count) { signal_family(children, count, SIGKILL); }

uint64_t vs_children_cpu_us(const vs_child *children, size_t count) {
  const family *all = family_of(children, count);
  uint64_t sum = 0;
  for (size_t i = 0; i < all->count; i++) sum += all->members[i].cpu_us;
  return sum;
}

size_t vs_children_listening(const vs_child *children, size_t count, vs_tcp_socket *sockets,
                             size_t capacity) {
  const family *all = family_of(children, count);
  return vs_tcp_listening("/proc", all->members, all->count, sockets, capacity);
}

const char *vs_signal_text(int number) {
  switch (number) {
    case SIGHUP: return "hung up";
    case SIGINT: return "interrupted";
    case SIGQUIT: return "quit";
    case SIGABRT: return "aborted";
    case SIGKILL: return "killed";
    case SIGTERM: return "terminated";
    case SIGSEGV: return "segmentation fault";
    case SIGBUS: return "bus error";
    case SIGFPE: return "arithmetic error";
    case SIGILL: return "illegal instruction";
    default: return strsignal(number);
  }
}
