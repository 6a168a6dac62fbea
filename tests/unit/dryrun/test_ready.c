/* What the servers of a program say: statuses, page after page, other protocols, servers that come and go. */
#include "dryrun/ready.h"
#include "os/listener.h"
#include "os/process.h"
#include "support/test.h"

#include <stdatomic.h>
#include <string.h>

/* A server that answers the n-th question (of the pages) with the n-th text; NULL: it closes the connection. */
typedef struct made_server {
  const char *answers[8];
  bool is_silent; /* it keeps the connections and says nothing */
  atomic_uint asked;
  char pages[8][32];
  const char *pending;
  vs_listener *listener;
  vs_tcp_socket socket;
} made_server;

static void *opened(void *ctx) {
  ((made_server *)ctx)->pending = NULL;
  return ctx;
}

static bool received(void *ctx, void *client, const void *bytes, size_t size) {
  made_server *server = ctx;
  const unsigned n = atomic_load(&server->asked);
  (void)client;
  assert_true(n < 8 && size > 40);
  assert_memory_equal(bytes, "GET ", 4);
  const char *end = memchr((const char *)bytes + 4, ' ', size - 4);
  vs_format(server->pages[n], sizeof server->pages[n], "%S",
            (vs_str){(const char *)bytes + 4, (size_t)(end - (const char *)bytes - 4)});
  server->pending = server->answers[n];
  atomic_store(&server->asked, n + 1);
  return server->is_silent;
}

static vs_str pending(void *ctx, void *client) {
  (void)client;
  const made_server *server = ctx;
  return server->pending == NULL ? VS_STR("") : vs_str_from(server->pending);
}

static void sent(void *ctx, void *client, size_t count) {
  (void)client;
  ((made_server *)ctx)->pending += count;
}

static void closed(void *ctx, void *client) { (void)ctx, (void)client; }
static void tick(void *ctx, uint64_t now_us) { (void)ctx, (void)now_us; }

static void start(made_server *server) {
  const vs_listener_handler handler = {server, opened, received, pending, sent, closed, tick};
  vs_error error;
  uint16_t port;
  expect_ok(vs_listener_start(&handler, &port, &server->listener, &error));
  server->socket = (vs_tcp_socket){.inode = 7, .address = {127, 0, 0, 1}, .port = port};
}

/* Looks until the watch has taken the answer to question `n`, the first is 1. */
static vs_ready look(vs_ready_watch *watch, made_server *server, unsigned n, uint64_t now_us) {
  vs_ready ready = VS_READY_NO;
  while (atomic_load(&server->asked) < n) ready = vs_ready_look(watch, &server->socket, 1, now_us);
  while (watch->servers[0].is_asked) ready = vs_ready_look(watch, &server->socket, 1, now_us);
  return ready;
}

static void test_status(void **state) {
  (void)state;
  assert_int_equal(vs_ready_status(VS_STR("HTTP/1.1 200 OK")), 200);
  assert_int_equal(vs_ready_status(VS_STR("HTTP/1.0 503")), 503);
  assert_int_equal(vs_ready_status(VS_STR("HTTP/1.1 20")), 0);
  assert_int_equal(vs_ready_status(VS_STR("HTTP/1.1 099 x")), 0);
  assert_int_equal(vs_ready_status(VS_STR("HTTP/1.1-200 x")), 0);
  assert_int_equal(vs_ready_status(VS_STR("HTTP/2 200 OK")), 0);
  assert_int_equal(vs_ready_status(VS_STR("220 mail ready ")), 0);
  assert_int_equal(vs_ready_status(VS_STR("")), 0);
}

/* Loading first; then the page of its health is missing, and the last one is there. */
static void test_a_server_that_loads(void **state) {
  (void)state;
  vs_ready_watch watch = {.count = 0};
  made_server server = {.answers = {"HTTP/1.1 503 Loading\r\n\r\n", "HTTP/1.1 404 Not Found\r\n\r\n",
                                    "HTTP/1.1 404 Not Found\r\n\r\n", "HTTP/1.1 200 OK\r\n\r\nhello"}};
  start(&server);
  assert_int_equal(look(&watch, &server, 1, 0), VS_READY_NO);
  assert_int_equal(look(&watch, &server, 2, 0), VS_READY_NO);
  assert_int_equal(look(&watch, &server, 3, 0), VS_READY_NO);
  assert_int_equal(look(&watch, &server, 4, 0), VS_READY_YES);
  vs_ready_close(&watch);
  vs_listener_stop(server.listener);
  static const char *const pages[] = {"/health", "/health", "/v2/health/ready", "/v1/models"};
  for (size_t i = 0; i < 4; i++) assert_string_equal(server.pages[i], pages[i]);
}

static void test_a_server_without_such_pages(void **state) {
  (void)state;
  vs_ready_watch watch = {.count = 0};
  made_server server = {.answers = {"HTTP/1.1 404 a\r\n\r\n", "HTTP/1.1 401 b\r\n\r\n",
                                    "HTTP/1.1 302 c\r\n\r\n", "HTTP/1.1 404 a\r\n\r\n",
                                    "HTTP/1.1 500 a\r\n\r\n"}};
  start(&server);
  assert_int_equal(look(&watch, &server, 2, 0), VS_READY_NO);
  assert_int_equal(look(&watch, &server, 3, 0), VS_READY_ANSWERS);
  assert_int_equal(look(&watch, &server, 4, 0), VS_READY_ANSWERS); /* what it said last */
  assert_int_equal(look(&watch, &server, 5, 0), VS_READY_NO);      /* it is not well any more */
  vs_ready_close(&watch);
  vs_listener_stop(server.listener);
}

/* One that closes the connection, as PyTorch's store does, is asked once; a later one on the same port is another one. */
static void test_another_protocol(void **state) {
  (void)state;
  vs_ready_watch watch = {.count = 0};
  made_server server = {.answers = {NULL, "HTTP/1.1 200 OK\r\n\r\n"}};
  start(&server);
  assert_int_equal(look(&watch, &server, 1, 0), VS_READY_NO);
  assert_true(watch.servers[0].is_other);
  for (int i = 0; i < 100; i++) assert_int_equal(vs_ready_look(&watch, &server.socket, 1, 0), VS_READY_NO);
  assert_int_equal(atomic_load(&server.asked), 1);
  server.socket.inode = 8;
  assert_int_equal(look(&watch, &server, 2, 0), VS_READY_YES);
  assert_int_equal(watch.count, 1);
  assert_int_equal(vs_ready_look(&watch, NULL, 0, 0), VS_READY_NO);
  assert_int_equal(watch.count, 0);
  vs_listener_stop(server.listener);
}

/* One that takes the question and does not answer is asked anew after a while, and so is one that is not there. */
static void test_a_silent_server(void **state) {
  (void)state;
  vs_ready_watch watch = {.count = 0};
  made_server server = {.is_silent = true};
  start(&server);
  while (atomic_load(&server.asked) < 1)
    assert_int_equal(vs_ready_look(&watch, &server.socket, 1, 5), VS_READY_NO);
  assert_int_equal(vs_ready_look(&watch, &server.socket, 1, 4 + VS_READY_PATIENCE_US), VS_READY_NO);
  assert_true(watch.servers[0].is_asked);
  assert_int_equal(vs_ready_look(&watch, &server.socket, 1, 5 + VS_READY_PATIENCE_US), VS_READY_NO);
  assert_false(watch.servers[0].is_asked || watch.servers[0].is_other);
  vs_listener_stop(server.listener);
  assert_int_equal(vs_ready_look(&watch, &server.socket, 1, 5 + VS_READY_PATIENCE_US), VS_READY_NO);
  assert_false(watch.servers[0].is_asked || watch.servers[0].is_other);
  vs_ready_close(&watch);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_status),
      cmocka_unit_test(test_a_server_that_loads),
      cmocka_unit_test(test_a_server_without_such_pages),
      cmocka_unit_test(test_another_protocol),
      cmocka_unit_test(test_a_silent_server),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
