/* Which requests are allowed, and what an address means.
 *
 * The server listens on 127.0.0.1, but every user of this machine can connect there, and every page in the user's browser
 * can make the browser send requests. So a request has to have:
 *
 *   token   the first part of every path, 128 random bits, which cannot be guessed without the address
 *   Host    this server's number or localhost: a foreign name that resolves to this address (DNS rebinding) is refused
 *   Origin  this server's, where the header is sent: pages of other sites are refused
 *
 *   /TOKEN/         the page              /TOKEN          leads there
 *   /TOKEN/api/3    the file number 3 */
#ifndef VS_SERVER_ACCESS_H
#define VS_SERVER_ACCESS_H

#include <vramscope/base.h>

enum { VS_TOKEN_BYTES = 16, VS_TOKEN_TEXT = 2 * VS_TOKEN_BYTES };

typedef struct vs_access {
  char token[VS_TOKEN_TEXT + 1]; /* lower-case hexadecimal; "": every user of this machine is allowed */
  uint16_t port;
  size_t file_count;
} vs_access;

typedef enum vs_place {
  VS_PLACE_CLOSED,  /* not below the token: refused without saying what exists */
  VS_PLACE_NOTHING, /* below the token, but nothing is at this address */
  VS_PLACE_DOOR,    /* the token without a slash behind it: redirected to the page */
  VS_PLACE_PAGE,
  VS_PLACE_FILE,
} vs_place;

/* Sets the token to these random bytes. */
void vs_access_set_token(vs_access *access, const uint8_t random[VS_TOKEN_BYTES]);

/* What is at `path`, which has no query part; *file is the file's number for VS_PLACE_FILE. Takes the same time for every
 * wrong token. */
vs_place vs_access_place(const vs_access *access, vs_str path, size_t *file);

/* Whether the value of a Host header is this server. */
bool vs_access_host(const vs_access *access, vs_str host);

/* Likewise of an Origin header. */
bool vs_access_origin(const vs_access *access, vs_str origin);

#endif
