/* A server on 127.0.0.1: one thread, one poll loop, many clients.
 *
 * It transports bytes; the handler interprets them. Only the server's thread calls the handler, one call at a time,
 * between vs_listener_start and the end of vs_listener_stop.
 *
 * Bounds: VS_LISTENER_CLIENTS at a time (one more is closed at once). A client that does not read its answers is not
 * read from until it does. */
#ifndef VS_OS_LISTENER_H
#define VS_OS_LISTENER_H

#include <vramscope/base.h>

enum { VS_LISTENER_CLIENTS = 1000, VS_LISTENER_TICK_MS = 100 };

typedef struct vs_listener_handler {
  void *ctx;
  /* A new client; returns the `client` of the other calls. NULL: refused. */
  void *(*opened)(void *ctx);
  /* Bytes arrived. false: close the client once its pending bytes are sent. */
  bool (*received)(void *ctx, void *client, const void *bytes, size_t size);
  /* The bytes to send, borrowed until the next call; `sent` reports how many of them were. */
  vs_str (*pending)(void *ctx, void *client);
  void (*sent)(void *ctx, void *client, size_t count);
  void (*closed)(void *ctx, void *client);
  /* About every VS_LISTENER_TICK_MS; may make bytes to send. */
  void (*tick)(void *ctx, uint64_t now_us);
} vs_listener_handler;

typedef struct vs_listener vs_listener;

/* Listens on a free port and starts the thread. Fails: VS_IO, VS_NO_MEMORY, with a sentence. */
VS_MUST_CHECK vs_status vs_listener_start(const vs_listener_handler *handler, uint16_t *port,
                                          vs_listener **listener, vs_error *error);
/* Closes all clients, which calls the handler, and ends the thread. Does nothing for NULL. */
void vs_listener_stop(vs_listener *listener);

#endif
