/* Where the exporter listens: "127.0.0.1:9836", "[::1]:9836", ":9836" (every address of the machine) or "9836" (loopback only). */
#ifndef VS_EXPORTER_LISTENING_H
#define VS_EXPORTER_LISTENING_H

#include <vramscope/base.h>

typedef struct vs_listening {
  char host[64]; /* a number, "" for every address */
  uint16_t port; /* 0: any that is free, until it listens */
  bool is_loopback;
} vs_listening;

/* Fails: VS_BAD_ARGUMENT with a sentence */
VS_MUST_CHECK vs_status vs_listening_parse(vs_listening *where, const char *text, vs_error *error);

/* Listens there. Fails: VS_IO with a sentence. Owner of the socket: the caller, vs_listening_close. */
VS_MUST_CHECK vs_status vs_listening_open(vs_listening *where, int *listening, vs_error *error);
void vs_listening_close(int listening);

/* "127.0.0.1:9836", for an address */
void vs_listening_text(const vs_listening *where, char *to, size_t capacity);

#endif
