/* A server on 127.0.0.1: one thread, one poll loop, many clients.
 *
 * It moves bytes and knows nothing of what they mean. The handler decides; it is called by the server's thread alone, one
 * call at a time, between vs_listener_start and the end of vs_listener_stop.
 *
 * Bounds: VS_LISTENER_CLIENTS at a time (one more is closed at once), and a client that does not take its answers is not
 * read from until it does. */
#ifndef VS_OS_LISTENER_H
#define VS_OS_LISTENER_H

#include <vramscope/base.h>

enum { VS_LISTENER_CLIENTS = 1000, VS_LISTENER_TICK_MS = 100 };

typedef struct vs_listener_handler {
  void *ctx;
  /* A new client; what is returned stands for it from now on. NULL: sent away. */
  void *(*opened)(void *ctx);
  /* Bytes came. false: close it, after what is still to be sent. */
  bool (*received)(void *ctx, void *client, const void *bytes, size_t size);
  /* What is to be sent to it, borrowed until the next call; `sent` tells how much of it has gone. */
  vs_str (*pending)(void *ctx, void *client);
  void (*sent)(void *ctx, void *client, size_t count);
  void (*closed)(void *ctx, void *client);
  void (*tick)(void *ctx,
               uint64_t now_us); /* about every VS_LISTENER_TICK_MS; may give clients something to send */
} vs_listener_handler;

typedef struct vs_listener vs_listener;

/* Listens on a free port and starts the thread. Fails: VS_IO, VS_NO_MEMORY, with a sentence. */
VS_MUST_CHECK vs_status vs_listener_start(const vs_listener_handler *handler, uint16_t *port,
                                          vs_listener **listener, vs_error *error);
/* Closes all clients (the handler is told) and ends the thread. NULL is fine. */
void vs_listener_stop(vs_listener *listener);

#endif
