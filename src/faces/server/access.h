/* Who is let in, and what an address means.
 *
 * The server listens on 127.0.0.1, but there everybody on this machine can knock, and every page in the
 * person's browser can make the browser knock. So:
 *
 *   token   the first part of every path, 128 random bits: who was not given the address cannot guess it
 *   Host    names this server by its number or as localhost: a foreign name that leads here (DNS rebinding)
 *           is refused
 *   Origin  where there is one, it is this server: no page from elsewhere asks in the person's name
 *
 *   /TOKEN/         the page              /TOKEN          leads there
 *   /TOKEN/api/3    the file number 3 */
#ifndef VS_SERVER_ACCESS_H
#define VS_SERVER_ACCESS_H

#include <vramscope/base.h>

enum { VS_TOKEN_BYTES = 16, VS_TOKEN_TEXT = 2 * VS_TOKEN_BYTES };

typedef struct vs_access {
  char token[VS_TOKEN_TEXT + 1]; /* small hexadecimal letters; "": everybody on this machine is let in */
  uint16_t port;
  size_t file_count;
} vs_access;

typedef enum vs_place {
  VS_PLACE_CLOSED,  /* not below the token: nothing is said of what there is */
  VS_PLACE_NOTHING, /* below it, but nothing lies there */
  VS_PLACE_DOOR,    /* the token alone: the page lies behind a slash */
  VS_PLACE_PAGE,
  VS_PLACE_FILE,
} vs_place;

/* The token of random bytes. */
void vs_access_set_token(vs_access *access, const uint8_t random[VS_TOKEN_BYTES]);

/* What lies at `path`, which does not end in a query; *file is its number where it is one. How long this
 * takes tells nothing of the token. */
vs_place vs_access_place(const vs_access *access, vs_str path, size_t *file);

/* Whether the value of a Host header is this server. */
bool vs_access_host(const vs_access *access, vs_str host);

/* Likewise of an Origin header. */
bool vs_access_origin(const vs_access *access, vs_str origin);

#endif
