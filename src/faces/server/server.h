/* The local server: one page and the engines of its files, over HTTP on 127.0.0.1.
 *
 *   GET  /TOKEN/        the page
 *   GET  /TOKEN/api/N   {"state": "reading", "bytes_read": n, "bytes": n or null} | {"state": "ready"}
 *                       | {"state": "failed", "status": n, "error": sentence, "offset": n or null}
 *   POST /TOKEN/api/N   the bytes of a request: the bytes of the reply (query.h), or, as application/problem+json,
 *                       {"status": n, "error": sentence, "offset": n or null}. Both have the code 200: a browser logs
 *                       other codes as errors in its console, where they would look like faults of the page
 *
 * Everything else is refused with a sentence; access.h says which requests are allowed. Loading starts at once, for as
 * many files at a time as there are processors. A request for a file that is still being read waits; it is dropped if the
 * client closes the connection meanwhile.
 *
 * Bounds: VS_SERVER_CONNECTIONS at a time, VS_SERVER_REQUEST_BYTES a request, VS_SERVER_PATIENCE_S of
 * silence. */
#ifndef VS_SERVER_SERVER_H
#define VS_SERVER_SERVER_H

#include "faces/server/served.h"

enum { VS_SERVER_CONNECTIONS = 64, VS_SERVER_REQUEST_BYTES = 1 << 20, VS_SERVER_PATIENCE_S = 60 };

typedef struct vs_server vs_server;

/* All of it is borrowed, and outlives the server. */
typedef struct vs_server_plan {
  const vs_host *host;
  uint16_t port;      /* 0: any that is free */
  bool has_token;     /* false: every user of this machine is allowed */
  vs_str page;        /* as it is served */
  const char *policy; /* its Content-Security-Policy */
  size_t file_count;
  void *ctx;
  /* Reads the file with this number into a new engine, and reports progress to vs_server_reading. Called on threads of the
   * server, for several files at a time. */
  vs_status (*load)(void *ctx, vs_server *server, size_t file, vs_engine **engine, vs_error *error);
  /* Requests of the page that every file gets first: their tables are made as soon as it is read (vs_served_prepare). */
  const char *const *prepared;
  size_t prepared_count;
} vs_server_plan;

/* The version of libmicrohttpd, NULL in a build without it. */
const char *vs_server_version(void);

/* Listens, and begins to load. Owner: the caller, vs_server_stop.
 * Fails: VS_UNSUPPORTED  this build has no server; VS_IO  the port, ...; VS_NO_MEMORY; with a sentence */
VS_MUST_CHECK vs_status vs_server_start(const vs_server_plan *plan, vs_server **server, vs_error *error);

/* http://127.0.0.1:PORT/TOKEN/ */
const char *vs_server_address(const vs_server *server);
uint16_t vs_server_port(const vs_server *server);

/* Called by `load`: that many bytes of the file on disk were read, of `bytes` (VS_BYTES_UNKNOWN of a pipe). Returns false
 * if `load` should give up. */
bool vs_server_reading(vs_server *server, size_t file, uint64_t bytes_read, uint64_t bytes);

void vs_server_look(vs_server *server, size_t file, vs_served_view *view);

/* Accepts no more connections, cancels loading, and waits up to a second for requests in progress. Returns false if some
 * are still running: then nothing was freed, and it is safe to exit the process. */
bool vs_server_stop(vs_server *server);

#endif
