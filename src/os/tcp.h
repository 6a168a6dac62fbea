/* TCP servers of this machine: on which sockets processes listen, and a question to one of them that never waits.
 *
 *   vs_tcp_question question;
 *   vs_tcp_ask(&question, &socket);
 *   while (vs_tcp_answer(&question, VS_STR("GET / HTTP/1.0\r\n\r\n")) == VS_TCP_WAITS) do_something_else();
 *   ...                                            question.head, question.head_size
 *   vs_tcp_forget(&question); */
#ifndef VS_OS_TCP_H
#define VS_OS_TCP_H

#include "os/proc.h"

/* A socket that listens. `inode` tells it from a later one on the same port. */
typedef struct vs_tcp_socket {
  uint64_t inode;
  uint8_t address[16]; /* in the network's order */
  bool is_v6;          /* else the address has 4 bytes */
  uint16_t port;
} vs_tcp_socket;

/* The sockets on which these processes listen, of those in this process' own network namespace: no other one can be asked. `root` as
 * in proc.h. Returns how many, at most `capacity`. */
size_t vs_tcp_listening(const char *root, const vs_proc_member *members, size_t count, vs_tcp_socket *found,
                        size_t capacity);

enum { VS_TCP_HEAD = 64 };

/* One connection. Invariant: fd < 0, or it is open and `sent` bytes of the question were sent. */
typedef struct vs_tcp_question {
  int fd;
  size_t sent, head_size;
  char head[VS_TCP_HEAD]; /* the beginning of the answer */
} vs_tcp_question;

typedef enum vs_tcp_state {
  VS_TCP_WAITS,
  VS_TCP_ANSWERED, /* `head` is full, or the server closed the connection after it */
  VS_TCP_FAILED,   /* there is no connection; `head_size` is 0 */
} vs_tcp_state;

/* Begins to connect. An address that means every interface is asked on the loopback one. */
void vs_tcp_ask(vs_tcp_question *question, const vs_tcp_socket *to);
/* Sends what is left of the text and takes what has arrived. To be called again while it waits. */
vs_tcp_state vs_tcp_answer(vs_tcp_question *question, vs_str text);
/* Closes the connection. */
void vs_tcp_forget(vs_tcp_question *question);

#endif
