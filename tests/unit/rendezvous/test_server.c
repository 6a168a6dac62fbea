/* The store as a server: raw sockets against it; and what ranks are told. */
#include "rendezvous/server.h"
#include "support/test.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

static vs_store_server *begin(vs_job *job) {
  vs_store_server *server;
  vs_error error;
  if (vs_store_start(job, NULL, &server, &error) != VS_OK) fail_msg("%s", error.text);
  assert_int_not_equal(job->port, 0);
  return server;
}

static int dial(const vs_job *job) {
  const struct sockaddr_in address = {
      .sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}, .sin_port = htons(job->port)};
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  assert_int_equal(connect(fd, (const struct sockaddr *)&address, sizeof address), 0);
  return fd;
}

static void tell(int fd, const void *bytes, size_t size) {
  assert_int_equal(send(fd, bytes, size, MSG_NOSIGNAL), size);
}

static void expect_told(int fd, const void *bytes, size_t size) {
  char got[256];
  assert_int_equal(recv(fd, got, size, MSG_WAITALL), size);
  assert_memory_equal(got, bytes, size);
}

static void expect_closed(int fd) {
  char byte;
  assert_true(recv(fd, &byte, 1, 0) <= 0);
  (void)close(fd);
}

#define HELLO "\0\xce\xf7\x85\x3c"

static void test_two_clients(void **state) {
  (void)state;
  vs_job job = {.world_size = 2, .processes = 2, .devices = 2};
  vs_store_server *server = begin(&job);
  const int waiting = dial(&job), setting = dial(&job);
  tell(waiting, HELLO "\6\1\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0k", 5 + 18);
  tell(setting, HELLO "\15abcd", 5 + 5);
  expect_told(setting, "abcd", 4);
  tell(setting, "\1\1\0\0\0\0\0\0\0k\1\0\0\0\0\0\0\0v", 19);
  expect_told(waiting, "\0", 1);
  assert_int_equal(vs_store_figures_of(server).requests, 5);
  assert_int_equal(vs_store_figures_of(server).inferred, 0);
  (void)close(setting);
  vs_store_stop(server); /* with a client that is still there */
  expect_closed(waiting);
}

/* An answer larger than any socket's buffer arrives whole, even if other clients ask meanwhile. */
static void test_large_answers(void **state) {
  (void)state;
  enum { SIZE = 6 << 20 };
  vs_job job = {.world_size = 2, .processes = 2, .devices = 2};
  vs_store_server *server = begin(&job);
  const int slow = dial(&job), quick = dial(&job);
  uint8_t *data = calloc(1, SIZE + 8);
  const uint64_t size = SIZE;
  memset(data, 'x', SIZE);
  tell(slow, HELLO "\1\1\0\0\0\0\0\0\0k", 5 + 10);
  tell(slow, &size, sizeof size);
  tell(slow, data, SIZE);
  for (unsigned i = 0; i < 4; i++) tell(slow, "\3\1\0\0\0\0\0\0\0k", 10);
  tell(quick, HELLO "\15abcd", 5 + 5);
  expect_told(quick, "abcd", 4);
  for (unsigned i = 0; i < 4; i++) {
    assert_int_equal(recv(slow, data, SIZE + 8, MSG_WAITALL), SIZE + 8);
    assert_memory_equal(data, &size, sizeof size);
    assert_int_equal(data[8], 'x');
    assert_int_equal(data[SIZE + 7], 'x');
  }
  free(data);
  (void)close(slow);
  (void)close(quick);
  vs_store_stop(server);
}

static void test_strangers_are_sent_away(void **state) {
  (void)state;
  vs_job job = {.world_size = 1024, .rank = 5, .processes = 1, .devices = 1};
  vs_store_server *server = begin(&job);
  const int stranger = dial(&job), friend = dial(&job);
  tell(stranger, "GET / HTTP/1.1\r\n\r\n", 18);
  expect_closed(stranger);
  tell(friend, HELLO "\4\1\0\0\0\0\0\0\0n\1\0\0\0\0\0\0\0", 5 + 18);
  expect_told(friend, "\0\4\0\0\0\0\0\0", 8);
  assert_int_equal(vs_store_figures_of(server).refused, 1);
  (void)close(friend);
  vs_store_stop(server);
}

static void expect_job(uint32_t world, uint32_t rank, uint32_t processes, uint32_t devices,
                       const char *part) {
  vs_job job = {.world_size = world, .rank = rank, .processes = processes, .devices = devices};
  vs_store_server *server;
  vs_error error;
  expect_status(vs_store_start(&job, NULL, &server, &error), VS_BAD_ARGUMENT);
  assert_null(server);
  if (strstr(error.text, part) == NULL) fail_msg("%s", error.text);
}

static void test_jobs_that_make_no_sense(void **state) {
  (void)state;
  expect_job(0, 0, 1, 1, "1 to 1048576 ranks, not 0");
  expect_job(UINT32_MAX, 0, 1, 1, "1 to 1048576 ranks");
  expect_job(64, 64, 1, 1, "a world of 64 has no rank 64");
  expect_job(64, 0, 8, 1, "one rank runs, or all of them: not 8 of 64");
  expect_job(4, 1, 4, 1, "one rank runs, or all of them");
  expect_job(4, 0, 1, 0, "needs a GPU");
}

static const char *told(const vs_variable *variables, size_t count, const char *name) {
  for (size_t i = 0; i < count; i++)
    if (strcmp(variables[i].name, name) == 0) return variables[i].value;
  return "(not set)";
}

static void expect_rank(const vs_job *job, uint32_t rank, const char *local, const char *local_size,
                        const char *group) {
  vs_variable variables[VS_RANK_VARIABLES];
  const size_t count = vs_rank_environment(job, rank, variables);
  assert_string_equal(told(variables, count, "LOCAL_RANK"), local);
  assert_string_equal(told(variables, count, "LOCAL_WORLD_SIZE"), local_size);
  assert_string_equal(told(variables, count, "GROUP_RANK"), group);
}

static void test_what_ranks_are_told(void **state) {
  (void)state;
  const vs_job alone = {.world_size = 1024, .rank = 5, .processes = 1, .devices = 1, .port = 65535};
  vs_variable variables[VS_RANK_VARIABLES];
  const size_t count = vs_rank_environment(&alone, 5, variables);
  assert_string_equal(told(variables, count, "MASTER_ADDR"), "127.0.0.1");
  assert_string_equal(told(variables, count, "MASTER_PORT"), "65535");
  assert_string_equal(told(variables, count, "RANK"), "5");
  assert_string_equal(told(variables, count, "WORLD_SIZE"), "1024");
  assert_string_equal(told(variables, count, "TORCHELASTIC_USE_AGENT_STORE"), "True");
  assert_string_equal(told(variables, count, "TORCH_GLOO_LAZY_INIT"), "1");
  assert_string_equal(told(variables, count, "VRAMSCOPE_RANK_ALONE"), "1");
  expect_rank(&alone, 5, "0", "1", "5");
  const vs_job machines = {.world_size = 20, .rank = 0, .processes = 1, .devices = 8};
  expect_rank(&machines, 7, "7", "8", "0");
  expect_rank(&machines, 19, "3", "4", "2"); /* the last machine has four ranks */
  const vs_job real = {.world_size = 4, .rank = 0, .processes = 4, .devices = 4};
  expect_rank(&real, 3, "3", "4", "0");
  const size_t of_real = vs_rank_environment(&real, 3, variables);
  assert_string_equal(told(variables, of_real, "TORCH_GLOO_LAZY_INIT"), "(not set)");
  assert_string_equal(told(variables, of_real, "VRAMSCOPE_RANK_ALONE"), "(not set)");
}

#define LAUNCHER(wanted, ...)                                                     \
  do {                                                                            \
    char *words[] = {__VA_ARGS__};                                                \
    const char *got = vs_launcher_of((int)(sizeof words / sizeof *words), words); \
    if ((wanted) == NULL) assert_null(got);                                       \
    else assert_string_equal(got, (const char *)(wanted));                        \
  } while (0)

static void test_launchers(void **state) {
  (void)state;
  LAUNCHER("torchrun", "/opt/bin/torchrun", "--nproc-per-node", "8", "train.py");
  LAUNCHER("torchrun", "python3.11", "/opt/bin/torchrun", "train.py");
  LAUNCHER("torch.distributed.run", "python", "-u", "-m", "torch.distributed.run", "train.py");
  LAUNCHER("accelerate launch", "accelerate", "launch", "train.py");
  LAUNCHER("srun", "srun", "python", "train.py");
  LAUNCHER(NULL, "accelerate", "env");
  LAUNCHER(NULL, "python", "train.py", "-m", "torch.distributed.run");
  LAUNCHER(NULL, "python", "-X", "dev", "-m", "train");
  LAUNCHER(NULL, "python", "-c", "import torch");
  LAUNCHER(NULL, "python", "-m");
  LAUNCHER(NULL, "./train");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_two_clients),
      cmocka_unit_test(test_large_answers),
      cmocka_unit_test(test_strangers_are_sent_away),
      cmocka_unit_test(test_jobs_that_make_no_sense),
      cmocka_unit_test(test_what_ranks_are_told),
      cmocka_unit_test(test_launchers),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
