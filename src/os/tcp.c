#include "os/tcp.h"
#include "base/text.h"
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PATH = 4096, LINE = 512, MOST_LISTENING = 256, LISTENS = 0x0a };

/* ---- who listens */

/* The bytes of an address as /proc prints it: words of 32 bits, each as a number of this machine. */
static void read_address(const char *digits, size_t size, uint8_t *address) {
  for (size_t i = 0; i < size / 4; i++) {
    char word[9] = "";
    memcpy(word, digits + 8 * i, 8);
    const uint32_t value = (uint32_t)strtoul(word, NULL, 16);
    memcpy(address + 4 * i, &value, sizeof value);
  }
}

/* The field of that number, the first is 0; NULL if there are fewer. */
static const char *field_of(const char *line, int number) {
  for (line += strspn(line, " "); number > 0 && *line != 0; number--) {
    line += strcspn(line, " ");
    line += strspn(line, " ");
  }
  return *line == 0 ? NULL : line;
}

/* A line of /proc/net/tcp; false for the headline, and for a socket that does not listen. */
static bool read_line(const char *line, bool is_v6, vs_tcp_socket *socket) {
  enum { LOCAL = 1, STATE = 3, INODE = 9 };
  const char *local = field_of(line, LOCAL), *state = field_of(line, STATE), *inode = field_of(line, INODE);
  const size_t digits = is_v6 ? 32 : 8;
  *socket = (vs_tcp_socket){.is_v6 = is_v6};
  if (inode == NULL || strtoul(state, NULL, 16) != LISTENS) return false;
  if (strspn(local, "0123456789ABCDEFabcdef") != digits || local[digits] != ':') return false;
  socket->inode = strtoull(inode, NULL, 10);
  socket->port = (uint16_t)strtoul(local + digits + 1, NULL, 16);
  read_address(local, digits / 2, socket->address);
  return socket->inode != 0 && socket->port != 0;
}

static size_t read_table(const char *root, const char *name, bool is_v6, vs_tcp_socket *sockets,
                         size_t count) {
  char path[PATH], line[LINE];
  vs_format(path, sizeof path, "%s/self/net/%s", root, name);
  FILE *file = fopen(path, "re");
  if (file == NULL) return count;
  while (count < MOST_LISTENING && fgets(line, sizeof line, file) != NULL)
    if (read_line(line, is_v6, &sockets[count])) count++;
  (void)fclose(file);
  return count;
}

/* Marks the sockets that a process has open. */
static void mark_open(const char *root, int64_t pid, const vs_tcp_socket *sockets, size_t count,
                      bool *is_open) {
  char path[PATH], target[64];
  vs_format(path, sizeof path, "%s/%D/fd", root, pid);
  DIR *folder = opendir(path);
  if (folder == NULL) return;
  for (const struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
    const ssize_t size = readlinkat(dirfd(folder), entry->d_name, target, sizeof target - 1);
    target[size < 0 ? 0 : size] = 0;
    if (strncmp(target, "socket:[", 8) != 0) continue;
    const uint64_t inode = strtoull(target + 8, NULL, 10);
    for (size_t i = 0; i < count; i++) is_open[i] |= sockets[i].inode == inode;
  }
  (void)closedir(folder);
}

size_t vs_tcp_listening(const char *root, const vs_proc_member *members, size_t count, vs_tcp_socket *found,
                        size_t capacity) {
  vs_tcp_socket sockets[MOST_LISTENING];
  bool is_open[MOST_LISTENING] = {false};
  size_t all = read_table(root, "tcp", false, sockets, 0), kept = 0;
  all = read_table(root, "tcp6", true, sockets, all);
  for (size_t i = 0; i < count && all != 0; i++) mark_open(root, members[i].pid, sockets, all, is_open);
  for (size_t i = 0; i < all && kept < capacity; i++)
    if (is_open[i]) found[kept++] = sockets[i];
  return kept;
}

/* ---- a question */

static socklen_t put_address(struct sockaddr_storage *to, const vs_tcp_socket *place) {
  static const uint8_t any[16] = {0};
  memset(to, 0, sizeof *to);
  if (place->is_v6) {
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)to;
    *v6 = (struct sockaddr_in6){.sin6_family = AF_INET6, .sin6_port = htons(place->port)};
    if (memcmp(place->address, any, 16) == 0) v6->sin6_addr = in6addr_loopback;
    else memcpy(&v6->sin6_addr, place->address, 16);
    return sizeof *v6;
  }
  struct sockaddr_in *v4 = (struct sockaddr_in *)to;
  *v4 = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(place->port)};
  if (memcmp(place->address, any, 4) == 0) v4->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  else memcpy(&v4->sin_addr, place->address, 4);
  return sizeof *v4;
}

void vs_tcp_ask(vs_tcp_question *question, const vs_tcp_socket *to) {
  struct sockaddr_storage address;
  const socklen_t size = put_address(&address, to);
  *question = (vs_tcp_question){
      .fd = socket(to->is_v6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
  if (question->fd < 0) return;
  if (connect(question->fd, (const struct sockaddr *)&address, size) < 0 && errno != EINPROGRESS)
    vs_tcp_forget(question);
}

static bool is_later(int error) {
  return error == EAGAIN || error == EWOULDBLOCK || error == EINTR || error == ENOTCONN || error == EALREADY;
}

/* Takes the head of the answer and drops the rest, so that the server does not see its connection broken. */
static vs_tcp_state receive(vs_tcp_question *question) {
  char rest[4096];
  for (;;) {
    const bool is_head = question->head_size < VS_TCP_HEAD;
    const ssize_t got = recv(question->fd, is_head ? question->head + question->head_size : rest,
                             is_head ? VS_TCP_HEAD - question->head_size : sizeof rest, MSG_DONTWAIT);
    if (got == 0) return VS_TCP_ANSWERED;
    if (got < 0 && is_later(errno)) return is_head ? VS_TCP_WAITS : VS_TCP_ANSWERED;
    if (got < 0) return question->head_size != 0 ? VS_TCP_ANSWERED : VS_TCP_FAILED;
    if (is_head) question->head_size += (size_t)got;
  }
}

vs_tcp_state vs_tcp_answer(vs_tcp_question *question, vs_str text) {
  if (question->fd < 0) return VS_TCP_FAILED;
  while (question->sent < text.size) {
    const ssize_t put = send(question->fd, text.data + question->sent, text.size - question->sent,
                             MSG_NOSIGNAL | MSG_DONTWAIT);
    if (put < 0) return is_later(errno) ? VS_TCP_WAITS : VS_TCP_FAILED;
    question->sent += (size_t)put;
  }
  return receive(question);
}

void vs_tcp_forget(vs_tcp_question *question) {
  if (question->fd >= 0) (void)close(question->fd);
  question->fd = -1;
}
