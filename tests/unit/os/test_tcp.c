/* Which sockets listen, by a /proc of the test's own and by that of this machine, and questions that do not wait. */
#include "os/tcp.h"
#include "os/listener.h"
#include "os/process.h"
#include "support/made_proc.h"
#include "support/test.h"

#include <arpa/inet.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

static const char table[] =
    "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
    "   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 501 1 0 100\n"
    "   1: 0100007F:1F91 0100007F:1F90 01 00000000:00000000 00:00000000 00000000  1000        0 502 1 0 100\n"
    "   2: 00000000:0050 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 503 1 0 100\n"
    "   3: 00000000:0051 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0\n";
static const char table6[] =
    "  sl  local_address                         remote_address                        st tx rx\n"
    "   0: 00000000000000000000000001000000:1F92 00000000000000000000000000000000:0000 0A 0:0 00:0 0  1000  "
    "0 504 1\n";

static void link_socket(const vs_folder *folder, const char *name, const char *target) {
  char path[4096];
  vs_format(path, sizeof path, "%s/%s", folder->path, name);
  assert_int_equal(symlink(target, path), 0);
}

static void test_tables(void **state) {
  (void)state;
  vs_folder folder;
  vs_tcp_socket found[4];
  const vs_proc_member members[] = {{.pid = 60}, {.pid = 70}};
  made_proc_begin(&folder);
  assert_int_equal(vs_tcp_listening(folder.path, members, 2, found, 4), 0); /* no such files */
  made_proc_file(&folder, "self/net/tcp", table);
  made_proc_file(&folder, "self/net/tcp6", table6);
  made_proc_file(&folder, "60/fd/0", "");
  made_proc_file(&folder, "70/fd/0", "");
  link_socket(&folder, "60/fd/3", "socket:[501]");
  link_socket(&folder, "60/fd/4", "socket:[502]"); /* a connection */
  link_socket(&folder, "60/fd/5", "pidfds:[503]"); /* none: the number stands where that of a socket does */
  link_socket(&folder, "70/fd/3", "socket:[504]");
  link_socket(&folder, "70/fd/4", "socket:[501]"); /* inherited */
  assert_int_equal(vs_tcp_listening(folder.path, members, 2, found, 4), 2);
  assert_int_equal(found[0].inode, 501);
  assert_int_equal(found[0].port, 8080);
  assert_false(found[0].is_v6);
  assert_memory_equal(found[0].address, "\x7f\0\0\1", 4);
  assert_int_equal(found[1].inode, 504);
  assert_int_equal(found[1].port, 8082);
  assert_true(found[1].is_v6);
  assert_memory_equal(found[1].address, "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1", 16);
  assert_int_equal(vs_tcp_listening(folder.path, members, 1, found, 4), 1);
  assert_int_equal(vs_tcp_listening(folder.path, members, 2, found, 1), 1);
  vs_folder_remove(&folder);
}

/* A socket on which this process listens, without a server behind it. */
static int listen_on(int family, vs_tcp_socket *own) {
  const int fd = socket(family, SOCK_STREAM, 0);
  struct sockaddr_storage address = {.ss_family = (sa_family_t)family};
  socklen_t size = sizeof address;
  const vs_proc_member self = {.pid = (int64_t)vs_process_id()};
  assert_true(fd >= 0 && listen(fd, 4) == 0); /* on every interface */
  assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &size), 0);
  const uint16_t port = ntohs(((struct sockaddr_in *)&address)->sin_port); /* in one place in both families */
  vs_tcp_socket found[8];
  const size_t count = vs_tcp_listening("/proc", &self, 1, found, 8);
  for (size_t i = 0; i < count; i++)
    if (found[i].port == port) *own = found[i];
  assert_int_equal(own->port, port);
  return fd;
}

static int accept_text(int fd, const char *text) {
  char got[64] = "";
  const int client = accept(fd, NULL, NULL);
  assert_int_equal(recv(client, got, strlen(text), MSG_WAITALL), (ssize_t)strlen(text));
  assert_string_equal(got, text);
  return client;
}

static void test_question(int family) {
  static const char answer[] = "HTTP/1.1 200 OK";
  vs_tcp_socket own = {.port = 0};
  vs_tcp_question question;
  const vs_str text = VS_STR("GET /\r\n");
  const int fd = listen_on(family, &own);
  vs_tcp_ask(&question, &own);
  assert_int_equal(vs_tcp_answer(&question, text), VS_TCP_WAITS);
  const int client = accept_text(fd, text.data);
  assert_int_equal(vs_tcp_answer(&question, text), VS_TCP_WAITS);
  assert_int_equal(send(client, answer, sizeof answer - 1, 0), sizeof answer - 1);
  assert_int_equal(close(client), 0);
  assert_int_equal(vs_tcp_answer(&question, text), VS_TCP_ANSWERED);
  assert_int_equal(question.head_size, sizeof answer - 1);
  assert_memory_equal(question.head, answer, sizeof answer - 1);
  vs_tcp_forget(&question);
  assert_int_equal(close(fd), 0);
  vs_tcp_ask(&question, &own);
  assert_int_equal(vs_tcp_answer(&question, text), VS_TCP_FAILED);
  assert_int_equal(question.head_size, 0);
  vs_tcp_forget(&question);
}

static void test_questions(void **state) {
  (void)state;
  test_question(AF_INET);
  const int v6 = socket(AF_INET6, SOCK_STREAM, 0);
  struct sockaddr_in6 loopback = {.sin6_family = AF_INET6, .sin6_addr = in6addr_loopback};
  const bool has_v6 = v6 >= 0 && bind(v6, (struct sockaddr *)&loopback, sizeof loopback) == 0;
  if (v6 >= 0) assert_int_equal(close(v6), 0);
  if (has_v6) test_question(AF_INET6); /* a container may have no IPv6 */
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_tables), cmocka_unit_test(test_questions)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
