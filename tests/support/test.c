#define _POSIX_C_SOURCE 200809L /* fork */
#include "support/test.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static void print(const char *what, vs_str s) {
  fprintf(stderr, "%s (%zu bytes): \"", what, s.size);
  for (size_t i = 0; i < s.size; i++) {
    const unsigned char byte = (unsigned char)s.data[i];
    fprintf(stderr, byte >= 0x20 && byte < 0x7f ? "%c" : "\\x%02x", byte);
  }
  fprintf(stderr, "\"\n");
}

void expect_str_at(vs_str got, vs_str wanted, const char *file, int line) {
  if (vs_str_equal(got, wanted)) return;
  print("got", got);
  print("wanted", wanted);
  _fail(file, line);
}

void expect_text_at(vs_text *text, vs_str wanted, const char *file, int line) {
  _assert_string_equal(vs_status_name(text->status), vs_status_name(VS_OK), file, line);
  expect_str_at(vs_text_view(text), wanted, file, line);
  text->bytes.count = 0;
}

uint64_t test_repetitions(uint64_t all, uint64_t few) {
  return getenv("UNDER_MEMCHECK") != NULL ? few : all;
}

void need_native_stacks(bool are_walked) {
  if (are_walked) return;
  print_message("native stacks are walked on x86-64, and on aarch64 in what gcc compiled: not here\n");
  skip();
}

void expect_trap(void (*misuse)(void)) {
  if (!VS_HOSTILE) skip();
  const pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    setrlimit(RLIMIT_CORE, &(struct rlimit){.rlim_cur = 0});
    signal(SIGILL, SIG_DFL); /* what __builtin_trap raises; cmocka and sanitizers would report it */
    signal(SIGTRAP, SIG_DFL);
    misuse();
    _exit(0);
  }
  int status = 0;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFSIGNALED(status));
}
