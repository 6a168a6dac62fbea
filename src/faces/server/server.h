/* The local server: one page and the engines of its files, over HTTP on 127.0.0.1.
 *
 *   GET  /TOKEN/        the page
 *   GET  /TOKEN/api/N   {"state": "reading", "bytes_read": n, "bytes": n or null} | {"state": "ready"}
 *                       | {"state": "failed", "status": n, "error": sentence, "offset": n or null}
 *   POST /TOKEN/api/N   the bytes of a request: the bytes of the reply (query.h), or, as application/problem+json,
 *                       {"status": n, "error": sentence, "offset": n or null}. Both are 200: a browser complains of
 *                       other codes where people who look for faults of the page would see it
 *
 * Everything else is refused with a sentence; who is let in says access.h. Files are loaded from the start
 * on, as many at a time as there are processors; a question to a file that is still read waits. Who goes away
 * while he waits is not answered.
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
  bool has_token;     /* else everybody on this machine is let in */
  vs_str page;        /* as it is served */
  const char *policy; /* its Content-Security-Policy */
  size_t file_count;
  void *ctx;
  /* Reads the file with this number into a new engine, on a thread of the server, several files at a time.
   * Meanwhile it tells vs_server_reading how far it is. */
  vs_status (*load)(void *ctx, vs_server *server, size_t file, vs_engine **engine, vs_error *error);
} vs_server_plan;

/* The version of libmicrohttpd, NULL in a build without it. */
const char *vs_server_version(void);

/* Listens, and begins to load. Owner: the caller, vs_server_stop.
 * Fails: VS_UNSUPPORTED  this build has no server; VS_IO  the port, ...; VS_NO_MEMORY; with a sentence */
VS_MUST_CHECK vs_status vs_server_start(const vs_server_plan *plan, vs_server **server, vs_error *error);

/* http://127.0.0.1:PORT/TOKEN/ */
const char *vs_server_address(const vs_server *server);
uint16_t vs_server_port(const vs_server *server);

/* From `load`: that many bytes of the file on disk were read. `bytes`: VS_BYTES_UNKNOWN of a pipe. false:
 * give up. */
bool vs_server_reading(vs_server *server, size_t file, uint64_t bytes_read, uint64_t bytes);

void vs_server_look(vs_server *server, size_t file, vs_served_view *view);

/* Lets nobody in any more, gives up loading, and waits for what is being answered, though not for long.
 * false: somebody is still at work, and so nothing was freed; a program that ends may end all the same. */
bool vs_server_stop(vs_server *server);

#endif
