/* The metrics over HTTP or HTTPS, on libmicrohttpd.
 *
 *   GET /metrics   OpenMetrics if the Accept header names it, else the older text format; 503 while the driver does not answer
 *   GET /          where they are
 *
 * With a token, a request needs "Authorization: Bearer TOKEN", else it gets 401. On loopback without a token, a request has to name this machine
 * in its Host header, so that no web page can read the metrics by a name of its own for 127.0.0.1. Bounds: VS_ENDPOINT_CONNECTIONS at a time,
 * VS_ENDPOINT_PATIENCE_S of silence. */
#ifndef VS_EXPORTER_ENDPOINT_H
#define VS_EXPORTER_ENDPOINT_H

#include "faces/exporter/exporter.h"
#include "faces/exporter/listening.h"

enum { VS_ENDPOINT_CONNECTIONS = 32, VS_ENDPOINT_PATIENCE_S = 30 };

typedef struct vs_endpoint vs_endpoint;

/* All of it is borrowed, and outlives the endpoint. */
typedef struct vs_endpoint_plan {
  const vs_host *host;
  vs_exporter *exporter;
  vs_listening where;
  vs_str token;                  /* empty: none */
  const char *certificate, *key; /* in PEM; both NULL: HTTP */
} vs_endpoint_plan;

/* Owner: the caller, vs_endpoint_stop. Fails: VS_UNSUPPORTED  this build has no server, or none with TLS; VS_IO  the address, the certificate;
 * VS_NO_MEMORY; with a sentence */
VS_MUST_CHECK vs_status vs_endpoint_start(vs_endpoint **endpoint, const vs_endpoint_plan *plan,
                                          vs_error *error);
/* http://127.0.0.1:9836/metrics */
const char *vs_endpoint_address(const vs_endpoint *endpoint);
void vs_endpoint_stop(vs_endpoint *endpoint);

#endif
