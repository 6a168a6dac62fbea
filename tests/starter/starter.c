/*
 * Preloaded into a program under test: the program is loaded once, and each run of it is a child that begins at its main.
 *
 * To load a program takes longer than most runs of it, above all where a sanitizer has to be set up. The children are
 * processes of their own all the same: with their own arguments, environment, folder and streams, their own check for leaks at
 * the end, and their own exit code or signal.
 *
 * STARTER_SOCKET names a socket of packets. A request is argc and `each`, then the folder, the arguments and the environment,
 * each ended by a zero byte, with standard input, output and error as file descriptors beside it. The answers are the child's id,
 * and when it has ended its status as wait4() has it and the most memory that it held, in KiB. When the socket is closed it ends.
 *
 * Where `each` is not 0, one child calls main once for each of the last `each` arguments, with those before them: it writes a zero
 * byte to its standard output after each call, and a zero byte, what main returned and a zero byte to standard error. It ends with
 * 0 when all have returned, and the sanitizer's check for leaks then is one for all of them.
 * tests/support/starter.py is its other side.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { REQUEST_BYTES = 1 << 17, MOST_WORDS = 1 << 12 };

typedef int main_function(int argc, char **argv, char **envp);
typedef int start_function(main_function *main, int argc, char **argv, void (*init)(void), void (*fini)(void),
                           void (*rtld_fini)(void), void *stack_end);

static main_function *programs_main;

static void check(int ok, const char *what) {
  if (ok) return;
  perror(what);
  _exit(125);
}

static ssize_t receive(int socket, char *request, int streams[3]) {
  char control[CMSG_SPACE(sizeof(int[3]))];
  struct iovec data = {request, REQUEST_BYTES};
  struct msghdr message = {
      .msg_iov = &data, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
  const ssize_t got = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  if (got <= 0) _exit(0); /* the test has ended */
  const struct cmsghdr *header = CMSG_FIRSTHDR(&message);
  check(header != NULL && header->cmsg_len == CMSG_LEN(sizeof(int[3])) && !(message.msg_flags & MSG_TRUNC),
        "starter: a request");
  memcpy(streams, CMSG_DATA(header), sizeof(int[3]));
  return got;
}

static int call_for_each(int argc, int each, char **words) {
  const int before = argc - each;
  char *next[MOST_WORDS];
  for (int i = 0; i < each; i++) {
    memcpy(next, words, sizeof next[0] * (size_t)before);
    next[before] = words[before + i];
    next[before + 1] = NULL;
    const int code = programs_main(before + 1, next, environ);
    fflush(NULL);
    check(write(STDOUT_FILENO, "", 1) == 1, "starter: standard output");
    check(dprintf(STDERR_FILENO, "%c%d%c", 0, code, 0) > 2, "starter: standard error");
  }
  return 0;
}

/* In the child: what the request says, and the program. */
static int become(char *request, ssize_t bytes, const int streams[3]) {
  static char *words[MOST_WORDS];
  int32_t counts[2]; /* argc, each */
  memcpy(counts, request, sizeof counts);
  const int argc = counts[0];
  char *folder = request + sizeof counts, *end = request + bytes;
  int count = 0;
  for (char *word = folder + strlen(folder) + 1; word < end; word += strlen(word) + 1) {
    if (count == argc) count++; /* NULL ends the arguments */
    check(count < MOST_WORDS - 1, "starter: too many words");
    words[count++] = word;
  }
  environ = words + argc + 1;
  for (int i = 0; i < 3; i++) check(dup2(streams[i], i) == i, "starter: dup2");
  for (int i = 0; i < 3; i++) close(streams[i]);
  check(chdir(folder) == 0, folder);
  return counts[1] > 0 ? call_for_each(argc, counts[1], words) : programs_main(argc, words, environ);
}

static int serve(int argc, char **argv, char **envp) {
  const char *named = getenv("STARTER_SOCKET");
  if (named == NULL) return programs_main(argc, argv, envp);
  static char request[REQUEST_BYTES + 1]; /* ends with a zero byte, come what may */
  const int socket = atoi(named);
  for (;;) {
    int streams[3];
    const ssize_t bytes = receive(socket, request, streams);
    const pid_t child = fork();
    check(child >= 0, "starter: fork");
    if (child == 0) {
      close(socket);
      return become(request, bytes, streams);
    }
    for (int i = 0; i < 3; i++) close(streams[i]);
    const int32_t id = child;
    check(send(socket, &id, sizeof id, MSG_NOSIGNAL) == (ssize_t)sizeof id, "starter: send");
    int status = 0;
    struct rusage usage;
    check(wait4(child, &status, 0, &usage) == child, "starter: wait4");
    const int64_t ended[2] = {status, usage.ru_maxrss};
    check(send(socket, ended, sizeof ended, MSG_NOSIGNAL) == (ssize_t)sizeof ended, "starter: send");
  }
}

/* The first function that a program calls, with its main. */
__attribute__((visibility("default"))) start_function __libc_start_main;
int __libc_start_main(main_function *main, int argc, char **argv, void (*init)(void), void (*fini)(void),
                      void (*rtld_fini)(void), void *stack_end) {
  programs_main = main;
  start_function *start = NULL;
  *(void **)&start = dlsym(RTLD_NEXT, "__libc_start_main");
  check(start != NULL, "starter: __libc_start_main");
  return start(serve, argc, argv, init, fini, rtld_fini, stack_end);
}
