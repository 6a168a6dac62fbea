#include "os/listener.h"

#include "base/host.h"
#include "os/failure.h"
#include "os/process.h"
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
  CHUNK = 64 * 1024,
  BACKLOG = 1024,
  FIXED = 2 /* the pipe that ends the loop, the socket that listens */
};

typedef struct vs_connection {
  int fd;
  void *client;
  bool is_ending; /* closed as soon as nothing is pending */
} vs_connection;

/* Invariant: polled[FIXED + i].fd == connections[i].fd for i < count. */
struct vs_listener {
  vs_listener_handler handler;
  pthread_t thread;
  int wake[2]; /* closing the write end ends the loop */
  int socket;
  size_t count;
  vs_connection connections[VS_LISTENER_CLIENTS];
  struct pollfd polled[FIXED + VS_LISTENER_CLIENTS];
  char chunk[CHUNK];
};

/* ---- one client */

static void close_connection(vs_listener *listener, size_t i) {
  vs_connection *connection = &listener->connections[i];
  listener->handler.closed(listener->handler.ctx, connection->client);
  (void)close(connection->fd);
  *connection = listener->connections[--listener->count];
  listener->polled[FIXED + i] = listener->polled[FIXED + listener->count];
}

/* false: the connection is broken. */
static bool send_pending(vs_listener *listener, vs_connection *connection) {
  void *ctx = listener->handler.ctx;
  for (;;) {
    const vs_str rest = listener->handler.pending(ctx, connection->client);
    if (rest.size == 0) return !connection->is_ending;
    const ssize_t put = send(connection->fd, rest.data, rest.size, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return errno == EAGAIN || errno == EWOULDBLOCK;
    listener->handler.sent(ctx, connection->client, (size_t)put);
  }
}

/* Reads once per round, so that one client cannot keep the others waiting. */
static bool receive(vs_listener *listener, vs_connection *connection) {
  const ssize_t got = recv(connection->fd, listener->chunk, sizeof listener->chunk, MSG_DONTWAIT);
  if (got < 0) return errno == EINTR || errno == EAGAIN || errno == EWOULDBLOCK;
  if (got == 0) return false;
  if (!listener->handler.received(listener->handler.ctx, connection->client, listener->chunk, (size_t)got))
    connection->is_ending = true;
  return true;
}

static void accept_one(vs_listener *listener) {
  const int fd = accept4(listener->socket, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (fd < 0) return;
  void *client = NULL;
  if (listener->count < VS_LISTENER_CLIENTS) client = listener->handler.opened(listener->handler.ctx);
  if (client == NULL) {
    (void)close(fd);
    return;
  }
  const int on = 1;
  (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  listener->polled[FIXED + listener->count].fd = fd;
  listener->connections[listener->count++] = (vs_connection){.fd = fd, .client = client};
}

/* ---- the loop */

/* A client with pending answers is not read from. */
static void prepare(vs_listener *listener) {
  listener->polled[0] = (struct pollfd){.fd = listener->wake[0], .events = POLLIN};
  listener->polled[1] = (struct pollfd){.fd = listener->socket, .events = POLLIN};
  for (size_t i = 0; i < listener->count; i++) {
    const vs_connection *connection = &listener->connections[i];
    const bool has_pending = listener->handler.pending(listener->handler.ctx, connection->client).size != 0;
    listener->polled[FIXED + i] =
        (struct pollfd){.fd = connection->fd, .events = has_pending ? POLLOUT : POLLIN};
  }
}

static void serve(vs_listener *listener) {
  for (size_t i = listener->count; i-- > 0;) { /* from the end: closing moves the last one here */
    const short events = listener->polled[FIXED + i].revents;
    bool is_good = (events & (POLLERR | POLLNVAL)) == 0;
    if (is_good && (events & (POLLIN | POLLHUP)) != 0 && !listener->connections[i].is_ending)
      is_good = receive(listener, &listener->connections[i]);
    if (!is_good) close_connection(listener, i);
  }
  /* A request of one client may have made answers for another one, so all are polled. */
  for (size_t i = listener->count; i-- > 0;)
    if (!send_pending(listener, &listener->connections[i])) close_connection(listener, i);
}

static void *run(void *argument) {
  vs_listener *listener = argument;
  uint64_t ticked_us = 0;
  for (;;) {
    prepare(listener);
    const int ready = poll(listener->polled, (nfds_t)(FIXED + listener->count), VS_LISTENER_TICK_MS);
    if (ready < 0 && errno != EINTR) break;
    if (ready > 0) {
      if (listener->polled[0].revents != 0) break;
      serve(listener);
      if (listener->polled[1].revents != 0) accept_one(listener);
    }
    const uint64_t now_us = vs_process_clock_us();
    if (now_us - ticked_us < VS_LISTENER_TICK_MS * UINT64_C(1000)) continue;
    ticked_us = now_us;
    listener->handler.tick(listener->handler.ctx, now_us);
  }
  while (listener->count != 0) close_connection(listener, listener->count - 1);
  return NULL;
}

/* ---- beginning and end */

static int listen_on_loopback(int fd, uint16_t *port) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
  socklen_t size = sizeof address;
  if (bind(fd, (const struct sockaddr *)&address, size) != 0 || listen(fd, BACKLOG) != 0 ||
      getsockname(fd, (struct sockaddr *)&address, &size) != 0)
    return errno;
  *port = ntohs(address.sin_port);
  return 0;
}

static void release(vs_listener *listener) {
  if (listener->wake[0] >= 0) (void)close(listener->wake[0]);
  if (listener->wake[1] >= 0) (void)close(listener->wake[1]);
  if (listener->socket >= 0) (void)close(listener->socket);
  vs_host_free(vs_host_default(), listener, sizeof *listener);
}

static int open_all(vs_listener *listener, uint16_t *port) {
  if (pipe2(listener->wake, O_CLOEXEC) != 0) return errno;
  listener->socket = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (listener->socket < 0) return errno;
  const int number = listen_on_loopback(listener->socket, port);
  return number != 0 ? number : pthread_create(&listener->thread, NULL, run, listener);
}

vs_status vs_listener_start(const vs_listener_handler *handler, uint16_t *port, vs_listener **out,
                            vs_error *error) {
  vs_listener *listener = vs_host_alloc(vs_host_default(), sizeof *listener);
  *out = NULL;
  if (listener == NULL) return vs_os__fail(error, ENOMEM, "");
  listener->handler = *handler;
  listener->wake[0] = listener->wake[1] = listener->socket = -1;
  listener->count = 0;
  const int number = open_all(listener, port);
  if (number != 0) {
    release(listener);
    return vs_os__fail(error, number, "cannot listen on 127.0.0.1");
  }
  *out = listener;
  return VS_OK;
}

void vs_listener_stop(vs_listener *listener) {
  if (listener == NULL) return;
  (void)close(listener->wake[1]);
  listener->wake[1] = -1;
  (void)pthread_join(listener->thread, NULL);
  release(listener);
}
