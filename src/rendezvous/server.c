#include "rendezvous/server.h"
#include "os/listener.h"
#include "rendezvous/store.h"
#include <stdatomic.h>

enum { STORE_MEMORY = 512 * 1024 * 1024 };

/* Only the listener's thread uses `store`; other threads read copies of its figures. */
struct vs_store_server {
  vs_store_voice voice;
  vs_store *store;
  vs_listener *listener;
  _Atomic uint64_t requests, inferred, refused;
};

/* ---- the handler */

static void say_line(void *ctx, const char *sentence) {
  const vs_store_server *server = ctx;
  if (server->voice.say != NULL) server->voice.say(server->voice.ctx, sentence);
}

static void *open_client(void *ctx) {
  vs_store_server *server = ctx;
  vs_store_client *client;
  VS_ASSERT(server->store != NULL);
  return vs_store_connect(server->store, &client) == VS_OK ? client : NULL;
}

static bool feed_client(void *ctx, void *client, const void *bytes, size_t size) {
  vs_store_server *server = ctx;
  vs_error error;
  const vs_status status = vs_store_feed(server->store, client, bytes, size, &error);
  server->requests = vs_store_requests(server->store);
  server->inferred = vs_store_inferred(server->store);
  if (status == VS_OK) return true;
  if (server->refused++ < 8) say_line(server, error.text);
  return false;
}

static vs_str pending_of(void *ctx, void *client) {
  (void)ctx;
  return vs_store_output(client);
}

static void sent_to(void *ctx, void *client, size_t count) {
  (void)ctx;
  vs_store_sent(client, count);
}

static void close_client(void *ctx, void *client) {
  vs_store_server *server = ctx;
  vs_store_disconnect(server->store, client);
}

static void tick(void *ctx, uint64_t now_us) {
  vs_store_server *server = ctx;
  vs_store_tick(server->store, now_us);
}

/* ---- beginning and end */

static vs_status start(vs_store_server *server, vs_job *job, vs_error *error) {
  const vs_store_settings settings = {.copies = job->world_size / job->processes,
                                      /* vs_job_check: 1 or world_size */ .memory = STORE_MEMORY,
                                      .ctx = server,
                                      .say = say_line};
  if (vs_store_create(vs_host_default(), &settings, &server->store) != VS_OK)
    return vs_fail(error, VS_NO_MEMORY, VS_NO_OFFSET, "no memory for the store");
  const vs_listener_handler handler = {.ctx = server,
                                       .opened = open_client,
                                       .received = feed_client,
                                       .pending = pending_of,
                                       .sent = sent_to,
                                       .closed = close_client,
                                       .tick = tick};
  return vs_listener_start(&handler, &job->port, &server->listener, error);
}

vs_status vs_store_start(vs_job *job, const vs_store_voice *voice, vs_store_server **out, vs_error *error) {
  *out = NULL;
  VS_TRY(vs_job_check(job, error));
  vs_store_server *server = vs_host_alloc(vs_host_default(), sizeof *server);
  if (server == NULL) return vs_fail(error, VS_NO_MEMORY, VS_NO_OFFSET, "no memory for the store");
  *server = (vs_store_server){.voice = voice == NULL ? (vs_store_voice){0} : *voice};
  const vs_status status = start(server, job, error);
  if (status != VS_OK) {
    vs_store_stop(server);
    return status;
  }
  *out = server;
  return VS_OK;
}

void vs_store_stop(vs_store_server *server) {
  if (server == NULL) return;
  vs_listener_stop(server->listener);
  if (server->store != NULL) vs_store_destroy(server->store);
  vs_host_free(vs_host_default(), server, sizeof *server);
}

vs_store_figures vs_store_figures_of(vs_store_server *server) {
  return (vs_store_figures){
      .requests = server->requests, .inferred = server->inferred, .refused = server->refused};
}
