#include "faces/server/loopback.h"
#include "base/text.h"
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BACKLOG = 64 };

static int bind_and_listen(int fd, uint16_t *port) {
  struct sockaddr_in address = {
      .sin_family = AF_INET, .sin_port = htons(*port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
  socklen_t size = sizeof address;
  const int on = 1; /* a port whose last server has just ended is free; one that has a server is not */
  if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
      bind(fd, (const struct sockaddr *)&address, size) != 0 || listen(fd, BACKLOG) != 0 ||
      getsockname(fd, (struct sockaddr *)&address, &size) != 0)
    return errno;
  *port = ntohs(address.sin_port);
  return 0;
}

static vs_status fail(vs_error *error, int number, uint16_t port) {
  const unsigned shown = port;
  if (number == EADDRINUSE)
    return vs_fail(error, VS_IO, VS_NO_OFFSET,
                   "port %u is taken by another program; without --port a free one is chosen", shown);
  if (number == EACCES)
    return vs_fail(error, VS_IO, VS_NO_OFFSET, "port %u is not for ordinary users; take one from 1024 on",
                   shown);
  return vs_fail(error, VS_IO, VS_NO_OFFSET, "cannot listen on 127.0.0.1, port %u (error %d)", shown, number);
}

vs_status vs_loopback_listen(uint16_t *port, int *listening, vs_error *error) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return fail(error, errno, *port);
  const int number = bind_and_listen(fd, port);
  if (number == 0) {
    *listening = fd;
    return VS_OK;
  }
  (void)close(fd);
  return fail(error, number, *port);
}

void vs_loopback_close(int fd) { (void)close(fd); }

bool vs_loopback_has_gone(int fd) {
  char byte;
  return recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}
