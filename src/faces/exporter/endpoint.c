#include "faces/exporter/endpoint.h"
#include "base/check.h"

#if VS_WITH_SERVER
#include <microhttpd.h>

enum { HEADER_BYTES = 16 * 1024, ADDRESS = 128 };

struct vs_endpoint {
  vs_endpoint_plan plan;
  char address[ADDRESS];
  struct MHD_Daemon *daemon;
};

const char *vs_endpoint_address(const vs_endpoint *endpoint) { return endpoint->address; }

/* ---- answers */

static const char text_type[] = "text/plain; charset=utf-8";

static enum MHD_Result reply(struct MHD_Connection *connection, unsigned code, vs_str body, const char *type,
                             const char *header, const char *value) {
  struct MHD_Response *response =
      MHD_create_response_from_buffer(body.size, (void *)(uintptr_t)body.data, MHD_RESPMEM_MUST_COPY);
  if (response == NULL) return MHD_NO;
  enum MHD_Result result = MHD_add_response_header(response, "Content-Type", type);
  if (result == MHD_YES) result = MHD_add_response_header(response, "Cache-Control", "no-store");
  if (result == MHD_YES) result = MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
  if (result == MHD_YES && header != NULL) result = MHD_add_response_header(response, header, value);
  if (result == MHD_YES) result = MHD_queue_response(connection, code, response);
  MHD_destroy_response(response);
  return result;
}

static enum MHD_Result say(struct MHD_Connection *connection, unsigned code, const char *sentence) {
  return reply(connection, code, vs_str_from(sentence), text_type, NULL, NULL);
}

static const char *header_of(struct MHD_Connection *connection, const char *name) {
  const char *value = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
  return value == NULL ? "" : value;
}

static enum MHD_Result send_metrics(const vs_endpoint *endpoint, struct MHD_Connection *connection) {
  const bool is_open = strstr(header_of(connection, "Accept"), "application/openmetrics-text") != NULL;
  const vs_exposition_format format = is_open ? VS_EXPOSITION_OPENMETRICS : VS_EXPOSITION_TEXT;
  vs_text text;
  vs_text_init(&text, endpoint->plan.host, NULL);
  const vs_status status = vs_exporter_read(endpoint->plan.exporter, format, &text);
  enum MHD_Result result;
  if (status == VS_OK)
    result = reply(connection, MHD_HTTP_OK, vs_text_view(&text), vs_exposition_type(format), NULL, NULL);
  else if (status == VS_DEVICE)
    result = say(connection, MHD_HTTP_SERVICE_UNAVAILABLE, "the driver does not answer\n");
  else result = say(connection, MHD_HTTP_INTERNAL_SERVER_ERROR, "out of memory\n");
  vs_text_deinit(&text);
  return result;
}

/* ---- who may ask */

/* Compares all bytes, so that the time it takes does not tell which one differs. */
static bool is_equal(vs_str a, vs_str b) {
  volatile unsigned difference = a.size != b.size;
  for (size_t i = 0; i < a.size; i++)
    difference |= (unsigned char)a.data[i] ^ (unsigned char)b.data[b.size == 0 ? 0 : i % b.size];
  return difference == 0;
}

static bool has_token(const vs_endpoint *endpoint, struct MHD_Connection *connection) {
  static const vs_str scheme = {"Bearer ", 7};
  const vs_str value = vs_str_from(header_of(connection, "Authorization"));
  return vs_str_starts(value, scheme) &&
         is_equal((vs_str){value.data + scheme.size, value.size - scheme.size}, endpoint->plan.token);
}

static bool names_this_machine(struct MHD_Connection *connection) {
  static const char *const names[] = {"127.0.0.1", "localhost", "[::1]"};
  const vs_str host = vs_str_from(header_of(connection, "Host"));
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    const vs_str name = vs_str_from(names[i]);
    if (vs_str_starts(host, name) && (host.size == name.size || host.data[name.size] == ':')) return true;
  }
  return false;
}

static enum MHD_Result handle(void *ctx, struct MHD_Connection *connection, const char *url,
                              const char *method, const char *version, const char *data, size_t *size,
                              void **memory) {
  const vs_endpoint *endpoint = ctx;
  const vs_str place = vs_str_from(url), how = vs_str_from(method);
  const bool needs_token = endpoint->plan.token.size != 0;
  (void)version;
  (void)data;
  if (*size != 0) return MHD_NO; /* no request has a body */
  if (*memory == NULL) { /* the first call is for the headers; an answer to it would close the connection */
    *memory = ctx;
    return MHD_YES;
  }
  if (needs_token && !has_token(endpoint, connection))
    return reply(connection, MHD_HTTP_UNAUTHORIZED,
                 VS_STR("a token is needed: Authorization: Bearer TOKEN\n"), text_type, "WWW-Authenticate",
                 "Bearer");
  if (!needs_token && endpoint->plan.where.is_loopback && !names_this_machine(connection))
    return say(connection, MHD_HTTP_FORBIDDEN, "this address is not for you\n");
  if (!vs_str_equal(how, VS_STR("GET")) && !vs_str_equal(how, VS_STR("HEAD")))
    return reply(connection, MHD_HTTP_METHOD_NOT_ALLOWED, VS_STR("only GET\n"), text_type, "Allow",
                 "GET, HEAD");
  if (vs_str_equal(place, VS_STR("/metrics"))) return send_metrics(endpoint, connection);
  if (vs_str_equal(place, VS_STR("/")))
    return say(connection, MHD_HTTP_OK, "vramscope exporter: the metrics are at /metrics\n");
  return say(connection, MHD_HTTP_NOT_FOUND,
             "there is nothing at this address; the metrics are at /metrics\n");
}

/* ---- beginning and end */

static struct MHD_Daemon *start_daemon(vs_endpoint *endpoint, int socket) {
  const vs_endpoint_plan *plan = &endpoint->plan;
  const unsigned flags = MHD_USE_THREAD_PER_CONNECTION | MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_ITC;
  const struct MHD_OptionItem tls[] = {{MHD_OPTION_HTTPS_MEM_CERT, 0, (void *)(uintptr_t)plan->certificate},
                                       {MHD_OPTION_HTTPS_MEM_KEY, 0, (void *)(uintptr_t)plan->key},
                                       {MHD_OPTION_END, 0, NULL}};
  const struct MHD_OptionItem none[] = {{MHD_OPTION_END, 0, NULL}};
  const bool has_tls = plan->certificate != NULL;
  return MHD_start_daemon(flags | (has_tls ? MHD_USE_TLS : 0), plan->where.port, NULL, NULL, handle, endpoint,
                          MHD_OPTION_LISTEN_SOCKET, socket, MHD_OPTION_CONNECTION_LIMIT,
                          (unsigned)VS_ENDPOINT_CONNECTIONS, MHD_OPTION_CONNECTION_TIMEOUT,
                          (unsigned)VS_ENDPOINT_PATIENCE_S, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
                          (size_t)HEADER_BYTES, MHD_OPTION_ARRAY, has_tls ? tls : none, MHD_OPTION_END);
}

vs_status vs_endpoint_start(vs_endpoint **out, const vs_endpoint_plan *plan, vs_error *error) {
  int socket;
  const bool has_tls = plan->certificate != NULL;
  *out = NULL;
  if (has_tls && MHD_is_feature_supported(MHD_FEATURE_TLS) != MHD_YES)
    return vs_fail(
        error, VS_UNSUPPORTED, VS_NO_OFFSET,
        "the libmicrohttpd of this build has no TLS; a proxy in front of the exporter can have it");
  vs_endpoint *endpoint = vs_host_alloc(plan->host, sizeof *endpoint);
  if (endpoint == NULL) return vs_fail(error, VS_NO_MEMORY, VS_NO_OFFSET, "%s", vs_status_text(VS_NO_MEMORY));
  *endpoint = (vs_endpoint){.plan = *plan};
  vs_status status = vs_listening_open(&endpoint->plan.where, &socket, error);
  if (status == VS_OK) {
    endpoint->daemon = start_daemon(endpoint, socket);
    if (endpoint->daemon == NULL) {
      vs_listening_close(socket);
      status = vs_fail(error, VS_IO, VS_NO_OFFSET, "the server does not start%s",
                       has_tls ? ": are --tls-cert and --tls-key a certificate and its key, in PEM?" : "");
    }
  }
  if (status == VS_OK) {
    char where[96];
    vs_listening_text(&endpoint->plan.where, where, sizeof where);
    vs_format(endpoint->address, ADDRESS, "%s://%s/metrics", has_tls ? "https" : "http", where);
    *out = endpoint;
  } else {
    vs_host_free(plan->host, endpoint, sizeof *endpoint);
  }
  return status;
}

void vs_endpoint_stop(vs_endpoint *endpoint) {
  const vs_host *host = endpoint->plan.host;
  MHD_stop_daemon(endpoint->daemon); /* closes the socket, too */
  vs_host_free(host, endpoint, sizeof *endpoint);
}

#else

vs_status vs_endpoint_start(vs_endpoint **out, const vs_endpoint_plan *plan, vs_error *error) {
  (void)plan;
  *out = NULL;
  return vs_fail(error, VS_UNSUPPORTED, VS_NO_OFFSET,
                 "this build has no server (libmicrohttpd); --textfile FILE needs none");
}

const char *vs_endpoint_address(const vs_endpoint *endpoint) {
  (void)endpoint;
  return "";
}

void vs_endpoint_stop(vs_endpoint *endpoint) { (void)endpoint; }

#endif
