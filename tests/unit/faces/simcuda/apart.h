/* A process has one simulation, which begins once. So each case runs in a child of its own, with its own
 * environment, and what it says on standard error comes back. */
#ifndef VS_TESTS_APART_H
#define VS_TESTS_APART_H

#include "support/test.h"
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/* In the child: an assertion of cmocka would go on with the parent's tests. */
#define CHECK(condition)                                                        \
  do {                                                                          \
    if (!(condition)) {                                                         \
      fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition); \
      _exit(3);                                                                 \
    }                                                                           \
  } while (0)

enum { APART_OUTPUT = 8192 };

typedef struct apart {
  int status; /* of waitpid */
  char errors[APART_OUTPUT];
} apart;

static inline void clear_environment(void) {
  static const char *const ours[] = {"GPU",     "NODE",  "RUN",   "VALUES", "EVENTS",
                                     "CONTEXT", "FAULT", "DELAY", "STACKS", "VERBOSE"};
  char name[64];
  for (size_t i = 0; i < sizeof ours / sizeof *ours; i++) {
    (void)snprintf(name, sizeof name, "VRAMSCOPE_SIM_%s", ours[i]);
    (void)unsetenv(name);
  }
  (void)unsetenv("CUDA_VISIBLE_DEVICES");
}

static inline void read_all(int fd, char *to, size_t capacity) {
  size_t used = 0;
  ssize_t got;
  while (used + 1 < capacity && (got = read(fd, to + used, capacity - 1 - used)) > 0) used += (size_t)got;
  to[used] = 0;
}

/* Runs `body` in a child whose environment has `variables` ("NAME=VALUE" words, NULL behind the last). */
static inline void run_apart(void (*body)(void), char *const variables[], apart *result) {
  int ends[2];
  assert_int_equal(pipe(ends), 0);
  (void)fflush(NULL);
  const pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    (void)dup2(ends[1], STDERR_FILENO);
    (void)close(ends[0]);
    (void)close(ends[1]);
    clear_environment();
    for (; *variables != NULL; variables++) (void)putenv(*variables);
    body();
    exit(0); /* with all that happens at the end of a program */
  }
  (void)close(ends[1]);
  read_all(ends[0], result->errors, sizeof result->errors);
  (void)close(ends[0]);
  assert_int_equal(waitpid(child, &result->status, 0), child);
}

/* The same, and it has to end well and say exactly `said`. */
static inline void expect_apart(void (*body)(void), char *const variables[], const char *said) {
  apart result;
  run_apart(body, variables, &result);
  if (!WIFEXITED(result.status) || WEXITSTATUS(result.status) != 0)
    fail_msg("status %x\n%s", (unsigned)result.status, result.errors);
  assert_string_equal(result.errors, said);
}

/* Managed memory has pages at simulated device addresses, where ThreadSanitizer has its shadow memory: its mmap asks for
 * address 0 instead, which the kernel refuses, or else ThreadSanitizer ends the process. Such tests cannot run under it. */
#if defined(__SANITIZE_THREAD__)
#define SKIP_MANAGED_MEMORY()                                                                      \
  do {                                                                                             \
    print_message("skipped: ThreadSanitizer has its shadow memory at the addresses of devices\n"); \
    skip();                                                                                        \
  } while (0)
#else
#define SKIP_MANAGED_MEMORY() (void)0
#endif

#define WITH(...)    ((char *[]){__VA_ARGS__, NULL})
#define WITH_NOTHING ((char *[]){NULL})

#endif
