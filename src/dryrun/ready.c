#include "dryrun/ready.h"
#include "base/text.h"

#define QUESTION(path) \
  "GET " path " HTTP/1.1\r\nHost: localhost\r\nUser-Agent: vramscope\r\nConnection: close\r\n\r\n"

static const char *const questions[] = {
#define VS_READY_PAGE(path) QUESTION(path),
#include "dryrun/ready_pages.def"
#undef VS_READY_PAGE
};
enum { PAGES = sizeof questions / sizeof *questions };

uint32_t vs_ready_status(vs_str head) {
  enum { AT = 9, DIGITS = 3 }; /* "HTTP/1.1 200" */
  uint64_t status;
  if (head.size < AT + DIGITS || !vs_str_starts(head, VS_STR("HTTP/1."))) return 0;
  if (head.data[AT - 1] != ' ' || !vs_parse_u64((vs_str){head.data + AT, DIGITS}, &status)) return 0;
  return status < 100 ? 0 : (uint32_t)status;
}

/* ---- one server */

static void stop_asking(vs_ready_server *server) {
  vs_tcp_forget(&server->question);
  server->is_asked = false;
}

/* The status of a page decides, or the next page does. */
static void take_status(vs_ready_server *server, uint32_t status) {
  server->page++;
  if (status >= 200 && status < 300) server->says = VS_READY_YES;
  else if (status >= 500) server->says = VS_READY_NO;
  else if (server->page == PAGES) server->says = VS_READY_ANSWERS;
  else return;
  server->page = 0;
}

static void take_answer(vs_ready_server *server, uint64_t now_us) {
  const vs_tcp_state state = vs_tcp_answer(&server->question, vs_str_from(questions[server->page]));
  if (state == VS_TCP_WAITS && now_us - server->asked_us < VS_READY_PATIENCE_US) return;
  stop_asking(server);
  const uint32_t status = vs_ready_status((vs_str){server->question.head, server->question.head_size});
  server->is_other = state == VS_TCP_ANSWERED && status == 0;
  if (state == VS_TCP_ANSWERED && status != 0) {
    take_status(server, status);
  } else {
    server->page = 0;
    server->says = VS_READY_NO;
  }
}

static void ask(vs_ready_server *server, uint64_t now_us) {
  vs_tcp_ask(&server->question, &server->socket);
  server->asked_us = now_us;
  server->is_asked = true;
  take_answer(server, now_us); /* sends it */
}

/* ---- all of them */

static vs_ready_server *server_of(vs_ready_watch *watch, const vs_tcp_socket *socket) {
  for (size_t i = 0; i < watch->count; i++)
    if (watch->servers[i].socket.inode == socket->inode) return &watch->servers[i];
  if (watch->count == VS_READY_MOST) return NULL;
  vs_ready_server *server = &watch->servers[watch->count++];
  *server = (vs_ready_server){.socket = *socket, .question = {.fd = -1}};
  return server;
}

static void drop_closed(vs_ready_watch *watch) {
  for (size_t i = watch->count; i-- > 0;) {
    if (watch->servers[i].is_there) continue;
    stop_asking(&watch->servers[i]);
    watch->servers[i] = watch->servers[--watch->count];
  }
}

static void find(vs_ready_watch *watch, const vs_tcp_socket *found, size_t count) {
  for (size_t i = 0; i < watch->count; i++) watch->servers[i].is_there = false;
  for (size_t i = 0; i < count; i++) {
    vs_ready_server *server = server_of(watch, &found[i]);
    if (server != NULL) server->is_there = true;
  }
  drop_closed(watch);
}

vs_ready vs_ready_look(vs_ready_watch *watch, const vs_tcp_socket *found, size_t count, uint64_t now_us) {
  vs_ready most = VS_READY_NO;
  find(watch, found, count);
  for (size_t i = 0; i < watch->count; i++) {
    vs_ready_server *server = &watch->servers[i];
    if (server->is_asked) take_answer(server, now_us);
    else if (!server->is_other) ask(server, now_us);
    if (server->says > most) most = server->says;
  }
  return most;
}

void vs_ready_close(vs_ready_watch *watch) {
  for (size_t i = 0; i < watch->count; i++) stop_asking(&watch->servers[i]);
  watch->count = 0;
}
