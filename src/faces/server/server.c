#include "faces/server/server.h"
#include "base/check.h"
#include "base/text.h"

#if VS_WITH_SERVER
#include "codec/json_writer.h"
#include "faces/server/access.h"
#include "faces/server/loopback.h"
#include "os/clock.h"
#include "os/kernel.h"
#include "os/thread.h"
#include <microhttpd.h>

/* The name of this code differs between versions of libmicrohttpd. */
enum { TOO_LARGE = 413 };
enum { MOST_LOADERS = 64, HEADER_BYTES = 32 * 1024, ADDRESS = 80 };

struct vs_server {
  vs_server_plan plan;
  vs_access access;
  char address[ADDRESS];
  struct MHD_Daemon *daemon;
  vs_served *files; /* plan.file_count of them */
  size_t loader_count;
  vs_thread loaders[MOST_LOADERS];
  _Atomic size_t next_file; /* to be loaded */
  _Atomic bool is_ending;
};

/* A request and its answer, from its first header to its last byte. */
typedef struct exchange {
  vs_server *server;
  vs_place place;
  size_t file;
  vs_text body, reply;
} exchange;

const char *vs_server_version(void) { return MHD_get_version(); }

const char *vs_server_address(const vs_server *server) { return server->address; }

uint16_t vs_server_port(const vs_server *server) { return server->access.port; }

/* ---- answers */

static const char json_type[] = "application/json", problem_type[] = "application/problem+json";
static const char text_type[] = "text/plain; charset=utf-8";

/* They forbid other sites to embed or read the page, and browsers to send its address to them or to cache it. */
static const char *const every_header[][2] = {
    {"X-Content-Type-Options", "nosniff"},
    {"Cache-Control", "no-store"},
    {"Referrer-Policy", "no-referrer"},
    {"Cross-Origin-Opener-Policy", "same-origin"},
    {"Cross-Origin-Resource-Policy", "same-origin"},
    {"X-Frame-Options", "DENY"},
};

/* `body` is borrowed until the exchange is over. NULL: out of memory. */
static struct MHD_Response *make_response(vs_str body, const char *type) {
  struct MHD_Response *response =
      MHD_create_response_from_buffer(body.size, (void *)(uintptr_t)body.data, MHD_RESPMEM_PERSISTENT);
  if (response == NULL) return NULL;
  bool is_whole = MHD_add_response_header(response, "Content-Type", type) == MHD_YES;
  for (size_t i = 0; i < sizeof every_header / sizeof every_header[0]; i++)
    is_whole &= MHD_add_response_header(response, every_header[i][0], every_header[i][1]) == MHD_YES;
  if (is_whole) return response;
  MHD_destroy_response(response);
  return NULL;
}

static enum MHD_Result send_with(struct MHD_Connection *connection, unsigned code, vs_str body,
                                 const char *type, const char *header, const char *value) {
  struct MHD_Response *response = make_response(body, type);
  if (response == NULL) return MHD_NO;
  enum MHD_Result result = MHD_YES;
  if (header != NULL) result = MHD_add_response_header(response, header, value);
  if (result == MHD_YES) result = MHD_queue_response(connection, code, response);
  MHD_destroy_response(response);
  return result;
}

static enum MHD_Result send_body(struct MHD_Connection *connection, unsigned code, vs_str body,
                                 const char *type) {
  return send_with(connection, code, body, type, NULL, NULL);
}

static enum MHD_Result refuse(struct MHD_Connection *connection, unsigned code, const char *sentence) {
  return send_body(connection, code, vs_str_from(sentence), text_type);
}

static void put_error(vs_jsonw *w, const vs_error *error) {
  const char *sentence = error->text[0] != 0 ? error->text : vs_status_text(error->status);
  vs_jsonw_member_i64(w, "status", error->status);
  vs_jsonw_member_str(w, "error", vs_str_from(sentence));
  if (error->offset == VS_NO_OFFSET) vs_jsonw_member_null(w, "offset");
  else vs_jsonw_member_u64(w, "offset", error->offset);
}

static enum MHD_Result send_reply(struct MHD_Connection *connection, exchange *x, unsigned code,
                                  const char *type) {
  if (vs_text_finish(&x->reply) != VS_OK)
    return refuse(connection, MHD_HTTP_INTERNAL_SERVER_ERROR, "out of memory\n");
  return send_body(connection, code, vs_text_view(&x->reply), type);
}

static enum MHD_Result send_failure(struct MHD_Connection *connection, exchange *x, const vs_error *error) {
  vs_jsonw w;
  vs_text_deinit(&x->reply); /* what was written of a reply that failed */
  vs_text_init(&x->reply, x->server->plan.host, NULL);
  vs_jsonw_begin(&w, &x->reply, 0);
  vs_jsonw_object_begin(&w);
  put_error(&w, error);
  vs_jsonw_object_end(&w);
  vs_jsonw_end(&w);
  return send_reply(connection, x, MHD_HTTP_OK, problem_type);
}

static enum MHD_Result send_page(struct MHD_Connection *connection, const vs_server *server) {
  return send_with(connection, MHD_HTTP_OK, server->plan.page, "text/html; charset=utf-8",
                   "Content-Security-Policy", server->plan.policy);
}

static void put_progress(vs_jsonw *w, const vs_served_view *view) {
  vs_jsonw_member_u64(w, "bytes_read", view->bytes_read);
  if (view->bytes == VS_BYTES_UNKNOWN) vs_jsonw_member_null(w, "bytes");
  else vs_jsonw_member_u64(w, "bytes", view->bytes);
}

static enum MHD_Result send_state(struct MHD_Connection *connection, exchange *x) {
  static const char *const words[] = {
      [VS_SERVED_READING] = "reading", [VS_SERVED_READY] = "ready", [VS_SERVED_FAILED] = "failed"};
  VS_ASSERT(x->place == VS_PLACE_FILE && x->file < x->server->plan.file_count);
  vs_served_view view;
  vs_served_look(&x->server->files[x->file], &view);
  vs_jsonw w;
  vs_jsonw_begin(&w, &x->reply, 0);
  vs_jsonw_object_begin(&w);
  vs_jsonw_member_str(&w, "state", vs_str_from(words[view.state]));
  if (view.state == VS_SERVED_READING) put_progress(&w, &view);
  if (view.state == VS_SERVED_FAILED) put_error(&w, &view.error);
  vs_jsonw_object_end(&w);
  vs_jsonw_end(&w);
  return send_reply(connection, x, MHD_HTTP_OK, json_type);
}

/* ---- questions */

/* The calling thread has the engine (vs_served_take). */
static vs_status ask(exchange *x, vs_error *error) {
  const vs_served *file = &x->server->files[x->file];
  if (file->engine == NULL) {
    *error = file->error;
    return error->status;
  }
  const vs_writer writer = vs_text_writer(&x->reply);
  return vs_engine_request(file->engine, vs_text_view(&x->body), writer, error);
}

static bool is_gone(struct MHD_Connection *connection) {
  const union MHD_ConnectionInfo *info =
      MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
  return info != NULL && vs_loopback_has_gone(info->connect_fd);
}

/* Exports may be in any format; the page takes a reply that is not JSON as bytes. */
static const char *type_of(vs_str reply) {
  return reply.size != 0 && reply.data[0] == '{' ? json_type : "application/octet-stream";
}

static enum MHD_Result answer_question(struct MHD_Connection *connection, exchange *x) {
  vs_served *file = &x->server->files[x->file];
  vs_error error = {.status = VS_OK, .offset = VS_NO_OFFSET};
  VS_ASSERT(x->place == VS_PLACE_FILE && x->file < x->server->plan.file_count);
  vs_served_take(file);
  if (atomic_load(&x->server->is_ending) || is_gone(connection)) {
    vs_served_give(file);
    return MHD_NO;
  }
  error.status = ask(x, &error);
  vs_served_give(file);
  if (error.status != VS_OK) return send_failure(connection, x, &error);
  return send_reply(connection, x, MHD_HTTP_OK, type_of(vs_text_view(&x->reply)));
}

/* ---- one request, in the calls that libmicrohttpd makes of it */

static vs_str header_of(struct MHD_Connection *connection, const char *name) {
  const char *value = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
  return value == NULL ? (vs_str){0} : vs_str_from(value);
}

static bool is_text(const char *a, const char *b) { return vs_str_equal(vs_str_from(a), vs_str_from(b)); }

static bool is_too_long(struct MHD_Connection *connection) {
  uint64_t size;
  return vs_parse_u64(header_of(connection, "Content-Length"), &size) && size > VS_SERVER_REQUEST_BYTES;
}

/* The code with which a request is refused before its body is read; 0: it is not. */
static unsigned refusal(struct MHD_Connection *connection, const exchange *x, const char *method,
                        const char **sentence) {
  const vs_access *access = &x->server->access;
  const vs_str origin = header_of(connection, "Origin");
  const bool is_get = is_text(method, "GET"), is_post = is_text(method, "POST");
  *sentence = "this address is not for you\n";
  if (!vs_access_host(access, header_of(connection, "Host"))) return MHD_HTTP_FORBIDDEN;
  if (origin.data != NULL && !vs_access_origin(access, origin)) return MHD_HTTP_FORBIDDEN;
  if (x->place == VS_PLACE_CLOSED) return MHD_HTTP_FORBIDDEN;
  *sentence = "there is nothing at this address\n";
  if (x->place == VS_PLACE_NOTHING) return MHD_HTTP_NOT_FOUND;
  *sentence = "only GET and, for the files, POST\n";
  if (!is_get && !(is_post && x->place == VS_PLACE_FILE)) return MHD_HTTP_METHOD_NOT_ALLOWED;
  *sentence = "a request is a megabyte at most\n";
  return is_too_long(connection) ? TOO_LARGE : 0;
}

static enum MHD_Result begin(vs_server *server, struct MHD_Connection *connection, const char *url,
                             const char *method, void **memory) {
  exchange *x = vs_host_alloc(server->plan.host, sizeof *x);
  if (x == NULL) return MHD_NO;
  *x = (exchange){.server = server};
  *memory = x;
  vs_text_init(&x->body, server->plan.host, NULL);
  vs_text_init(&x->reply, server->plan.host, NULL);
  x->place = vs_access_place(&server->access, vs_str_from(url), &x->file);
  const char *sentence;
  const unsigned code = refusal(connection, x, method, &sentence);
  if (code == MHD_HTTP_METHOD_NOT_ALLOWED)
    return send_with(connection, code, vs_str_from(sentence), text_type, "Allow", "GET, POST");
  return code == 0 ? MHD_YES : refuse(connection, code, sentence);
}

/* Appends a piece of the body. A body without a Content-Length may be too long: then the connection is closed, because
 * libmicrohttpd sends no answer in the middle of a body. */
static enum MHD_Result take_in(exchange *x, const char *data, size_t *size) {
  VS_ASSERT(x->body.bytes.count <= VS_SERVER_REQUEST_BYTES);
  if (*size > VS_SERVER_REQUEST_BYTES - x->body.bytes.count) return MHD_NO;
  vs_text_put(&x->body, data, *size);
  *size = 0;
  return x->body.status == VS_OK ? MHD_YES : MHD_NO;
}

static enum MHD_Result answer(exchange *x, struct MHD_Connection *connection, const char *method) {
  switch (x->place) {
    case VS_PLACE_DOOR:
      return send_with(connection, MHD_HTTP_PERMANENT_REDIRECT, VS_STR(""), text_type, "Location",
                       x->server->address);
    case VS_PLACE_PAGE: return send_page(connection, x->server);
    case VS_PLACE_FILE:
      return is_text(method, "POST") ? answer_question(connection, x) : send_state(connection, x);
    case VS_PLACE_CLOSED:
    case VS_PLACE_NOTHING: break;
  }
  return MHD_NO;
}

/* Called once for the headers, then for each piece of the body, then for the answer. */
static enum MHD_Result handle(void *ctx, struct MHD_Connection *connection, const char *url,
                              const char *method, const char *version, const char *data, size_t *size,
                              void **memory) {
  (void)version;
  if (*memory == NULL) return begin(ctx, connection, url, method, memory);
  if (*size != 0) return take_in(*memory, data, size);
  return answer(*memory, connection, method);
}

static void finish(void *ctx, struct MHD_Connection *connection, void **memory,
                   enum MHD_RequestTerminationCode code) {
  (void)ctx;
  (void)connection;
  (void)code;
  exchange *x = *memory;
  *memory = NULL;
  if (x == NULL) return;
  vs_text_deinit(&x->body);
  vs_text_deinit(&x->reply);
  vs_host_free(x->server->plan.host, x, sizeof *x);
}

/* ---- loading */

static void load_file(vs_server *server, size_t number) {
  vs_engine *engine = NULL;
  vs_error error = {.status = VS_OK, .offset = VS_NO_OFFSET};
  VS_ASSERT(number < server->plan.file_count);
  const vs_status status = atomic_load(&server->is_ending)
                               ? VS_CANCELLED
                               : server->plan.load(server->plan.ctx, server, number, &engine, &error);
  error.status = status;
  if (status != VS_OK) {
    vs_engine_destroy(engine);
    engine = NULL;
  }
  vs_served *file = &server->files[number];
  vs_served_loaded(file, engine, &error);
  if (status == VS_OK)
    vs_served_prepare(file, server->plan.prepared, server->plan.prepared_count, &server->is_ending);
}

static void load_files(void *ctx) {
  vs_server *server = ctx;
  for (;;) {
    const size_t number = atomic_fetch_add(&server->next_file, 1);
    if (number >= server->plan.file_count) return;
    load_file(server, number);
  }
}

/* At least two loaders for several files, so that one that waits for a pipe does not delay the others. */
static vs_status start_loaders(vs_server *server) {
  size_t wanted = vs_thread_processors() < 2 ? 2 : vs_thread_processors();
  if (wanted > server->plan.file_count) wanted = server->plan.file_count;
  if (wanted > MOST_LOADERS) wanted = MOST_LOADERS;
  while (server->loader_count < wanted) {
    vs_thread *thread = &server->loaders[server->loader_count];
    if (vs_thread_start(thread, "vs-load", load_files, server) != VS_OK) break;
    server->loader_count++;
  }
  return server->loader_count != 0 || wanted == 0 ? VS_OK : VS_NO_MEMORY;
}

bool vs_server_reading(vs_server *server, size_t file, uint64_t bytes_read, uint64_t bytes) {
  VS_ASSERT(file < server->plan.file_count);
  atomic_store(&server->files[file].bytes, bytes);
  atomic_store(&server->files[file].bytes_read, bytes_read);
  return !atomic_load(&server->is_ending);
}

void vs_server_look(vs_server *server, size_t file, vs_served_view *view) {
  vs_served_look(&server->files[file], view);
}

/* ---- beginning and end */

static vs_status make_token(vs_server *server, vs_error *error) {
  uint8_t random[VS_TOKEN_BYTES];
  if (!server->plan.has_token) return VS_OK;
  if (!vs_kernel_random(random, sizeof random, true))
    return vs_fail(error, VS_IO, VS_NO_OFFSET, "the system gives no random numbers");
  vs_access_set_token(&server->access, random);
  return VS_OK;
}

static vs_status listen_for_all(vs_server *server, vs_error *error) {
  int socket;
  VS_TRY(make_token(server, error));
  server->access.port = server->plan.port;
  VS_TRY(vs_loopback_listen(&server->access.port, &socket, error));
  vs_format(server->address, sizeof server->address, "http://127.0.0.1:%u/%s%s",
            (unsigned)server->access.port, server->access.token, server->access.token[0] == 0 ? "" : "/");
  server->daemon = MHD_start_daemon(
      MHD_USE_THREAD_PER_CONNECTION | MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_ITC, server->access.port,
      NULL, NULL, handle, server, MHD_OPTION_LISTEN_SOCKET, socket, MHD_OPTION_NOTIFY_COMPLETED, finish, NULL,
      MHD_OPTION_CONNECTION_LIMIT, (unsigned)VS_SERVER_CONNECTIONS, MHD_OPTION_CONNECTION_TIMEOUT,
      (unsigned)VS_SERVER_PATIENCE_S, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)HEADER_BYTES,
      MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_END);
  if (server->daemon != NULL) return VS_OK;
  return vs_fail(error, VS_IO, VS_NO_OFFSET, "the server does not start");
}

static void release(vs_server *server) {
  const vs_host *host = server->plan.host;
  for (size_t i = 0; i < server->plan.file_count; i++) vs_served_deinit(&server->files[i]);
  vs_host_free(host, server->files, server->plan.file_count * sizeof *server->files);
  vs_host_free(host, server, sizeof *server);
}

static vs_status make_server(const vs_server_plan *plan, vs_server **out) {
  vs_server *server = vs_host_alloc(plan->host, sizeof *server);
  if (server == NULL) return VS_NO_MEMORY;
  *server = (vs_server){.plan = *plan, .access = {.file_count = plan->file_count}};
  size_t bytes;
  if (vs_mul_size(plan->file_count, sizeof *server->files, &bytes) && bytes != 0)
    server->files = vs_host_alloc(plan->host, bytes);
  if (server->files == NULL && plan->file_count != 0) {
    vs_host_free(plan->host, server, sizeof *server);
    return VS_NO_MEMORY;
  }
  for (size_t i = 0; i < plan->file_count; i++) vs_served_init(&server->files[i]);
  *out = server;
  return VS_OK;
}

vs_status vs_server_start(const vs_server_plan *plan, vs_server **out, vs_error *error) {
  vs_server *server;
  vs_status status = make_server(plan, &server);
  if (status != VS_OK) return vs_fail(error, status, VS_NO_OFFSET, "%s", vs_status_text(status));
  status = listen_for_all(server, error);
  if (status == VS_OK && start_loaders(server) != VS_OK) {
    status = vs_fail(error, VS_NO_MEMORY, VS_NO_OFFSET, "%s", vs_status_text(VS_NO_MEMORY));
    MHD_stop_daemon(server->daemon);
  }
  if (status == VS_OK) *out = server;
  else release(server);
  return status;
}

/* True when no loader and no request has an engine or waits for one. */
static bool is_idle(vs_server *server) {
  for (size_t i = 0; i < server->plan.file_count; i++)
    if (!vs_served_is_idle(&server->files[i])) return false;
  return true;
}

bool vs_server_stop(vs_server *server) {
  enum { LOOKS = 100, LOOK_NS = 10 * 1000 * 1000 };
  atomic_store(&server->is_ending, true);
  const int socket = MHD_quiesce_daemon(server->daemon);
  for (int i = 0; i < LOOKS && !is_idle(server); i++) vs_clock_sleep_ns(LOOK_NS);
  if (!is_idle(server)) return false;
  MHD_stop_daemon(server->daemon);
  if (socket != MHD_INVALID_SOCKET) vs_loopback_close(socket);
  for (size_t i = 0; i < server->loader_count; i++) vs_thread_join(&server->loaders[i]);
  release(server);
  return true;
}

#else

const char *vs_server_version(void) { return NULL; }

vs_status vs_server_start(const vs_server_plan *plan, vs_server **out, vs_error *error) {
  (void)plan;
  (void)out;
  return vs_fail(error, VS_UNSUPPORTED, VS_NO_OFFSET,
                 "this build has no server (libmicrohttpd); --html OUT.html writes a page that needs none");
}

const char *vs_server_address(const vs_server *server) {
  (void)server;
  return "";
}

uint16_t vs_server_port(const vs_server *server) {
  (void)server;
  return 0;
}

bool vs_server_reading(vs_server *server, size_t file, uint64_t bytes_read, uint64_t bytes) {
  (void)server;
  (void)file;
  (void)bytes_read;
  (void)bytes;
  return false;
}

void vs_server_look(vs_server *server, size_t file, vs_served_view *view) {
  (void)server;
  (void)file;
  *view = (vs_served_view){.state = VS_SERVED_FAILED};
}

bool vs_server_stop(vs_server *server) {
  (void)server;
  return true;
}

#endif
