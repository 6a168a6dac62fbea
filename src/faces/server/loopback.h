/* A socket on 127.0.0.1, which no other machine reaches. */
#ifndef VS_SERVER_LOOPBACK_H
#define VS_SERVER_LOOPBACK_H

#include <vramscope/base.h>

/* Listens at `*port` (0: any free port) and stores which one it is. Owner: the caller, vs_loopback_close.
 * Fails: VS_IO, with a sentence. */
VS_MUST_CHECK vs_status vs_loopback_listen(uint16_t *port, int *listening, vs_error *error);
void vs_loopback_close(int fd);

/* Whether the peer has closed the connection. Consumes no bytes. */
bool vs_loopback_has_gone(int fd);

#endif
