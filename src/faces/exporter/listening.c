#include "faces/exporter/listening.h"
#include "base/text.h"
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- what was written */

static bool is_loopback(const char *host) {
  struct in_addr four;
  struct in6_addr six;
  if (inet_pton(AF_INET, host, &four) == 1) return ntohl(four.s_addr) >> 24 == 127;
  return inet_pton(AF_INET6, host, &six) == 1 && IN6_IS_ADDR_LOOPBACK(&six);
}

static bool is_address(const char *host) {
  unsigned char bytes[sizeof(struct in6_addr)];
  return inet_pton(AF_INET, host, bytes) == 1 || inet_pton(AF_INET6, host, bytes) == 1;
}

/* The host in front of the last colon, without the brackets of an IPv6 address. */
static bool take_host(vs_listening *where, vs_str host) {
  if (host.size >= 2 && host.data[0] == '[' && host.data[host.size - 1] == ']')
    host = (vs_str){host.data + 1, host.size - 2};
  else if (memchr(host.data, ':', host.size) != NULL) return false;
  if (host.size >= sizeof where->host) return false;
  if (vs_str_equal(host, VS_STR("localhost"))) host = VS_STR("127.0.0.1");
  vs_format(where->host, sizeof where->host, "%S", host);
  return host.size == 0 || is_address(where->host);
}

vs_status vs_listening_parse(vs_listening *where, const char *text, vs_error *error) {
  const char *colon = strrchr(text, ':');
  const vs_str port = vs_str_from(colon == NULL ? text : colon + 1);
  uint64_t number;
  *where = (vs_listening){.host = "127.0.0.1"};
  const bool is_good = vs_parse_u64(port, &number) && number <= UINT16_MAX &&
                       (colon == NULL || take_host(where, (vs_str){text, (size_t)(colon - text)}));
  if (!is_good)
    return vs_fail(error, VS_BAD_ARGUMENT, VS_NO_OFFSET,
                   "--listen %S: an address is 127.0.0.1:9836, [::1]:9836, :9836 (every address) or 9836",
                   vs_str_from(text));
  where->port = (uint16_t)number;
  where->is_loopback = is_loopback(where->host);
  return VS_OK;
}

void vs_listening_text(const vs_listening *where, char *to, size_t capacity) {
  const bool is_six = strchr(where->host, ':') != NULL;
  vs_format(to, capacity, "%s%s%s:%u", is_six ? "[" : "", where->host[0] == 0 ? "0.0.0.0" : where->host,
            is_six ? "]" : "", (unsigned)where->port);
}

/* ---- the socket */

static vs_status fail(const vs_listening *where, int number, vs_error *error) {
  char text[96];
  vs_listening_text(where, text, sizeof text);
  if (number == EADDRINUSE)
    return vs_fail(error, VS_IO, VS_NO_OFFSET, "%s is taken by another program", text);
  if (number == EACCES)
    return vs_fail(error, VS_IO, VS_NO_OFFSET, "port %u is not for ordinary users; take one from 1024 on",
                   (unsigned)where->port);
  if (number == EADDRNOTAVAIL)
    return vs_fail(error, VS_IO, VS_NO_OFFSET, "%s is no address of this machine", text);
  return vs_fail(error, VS_IO, VS_NO_OFFSET, "cannot listen on %s (error %d)", text, number);
}

static uint16_t port_of(int socket) {
  struct sockaddr_storage address;
  socklen_t size = sizeof address;
  if (getsockname(socket, (struct sockaddr *)&address, &size) != 0) return 0;
  if (address.ss_family == AF_INET6)
    return ntohs(((const struct sockaddr_in6 *)(const void *)&address)->sin6_port);
  return ntohs(((const struct sockaddr_in *)(const void *)&address)->sin_port);
}

static int bind_and_listen(int fd, const struct addrinfo *address) {
  enum { BACKLOG = 64 };
  const int on = 1; /* a port whose last server has just ended is free; one that has a server is not */
  if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
      bind(fd, address->ai_addr, address->ai_addrlen) != 0 || listen(fd, BACKLOG) != 0)
    return errno;
  return 0;
}

vs_status vs_listening_open(vs_listening *where, int *listening, vs_error *error) {
  const struct addrinfo hints = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE,
                                 .ai_family = where->host[0] == 0 ? AF_INET : AF_UNSPEC,
                                 .ai_socktype = SOCK_STREAM};
  struct addrinfo *address = NULL;
  char port[8];
  vs_format(port, sizeof port, "%u", (unsigned)where->port);
  if (getaddrinfo(where->host[0] == 0 ? NULL : where->host, port, &hints, &address) != 0)
    return fail(where, EADDRNOTAVAIL, error);
  const int fd = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const int number = fd < 0 ? errno : bind_and_listen(fd, address);
  freeaddrinfo(address);
  if (number != 0) {
    if (fd >= 0) (void)close(fd);
    return fail(where, number, error);
  }
  where->port = port_of(fd);
  *listening = fd;
  return VS_OK;
}

void vs_listening_close(int listening) { (void)close(listening); }
