#include "faces/server/access.h"
#include "base/check.h"
#include "base/text.h"

void vs_access_set_token(vs_access *access, const uint8_t random[VS_TOKEN_BYTES]) {
  static const char digits[] = "0123456789abcdef";
  for (size_t i = 0; i < VS_TOKEN_BYTES; i++) {
    access->token[2 * i] = digits[random[i] >> 4];
    access->token[2 * i + 1] = digits[random[i] & 15];
  }
  access->token[VS_TOKEN_TEXT] = 0;
}

/* ---- paths */

static vs_str behind(vs_str text, size_t size) {
  VS_ASSERT(size <= text.size);
  return (vs_str){text.data + size, text.size - size};
}

/* Compares all bytes, so that the time it takes does not tell which one differs. */
static bool is_token(const vs_access *access, vs_str part) {
  if (part.size != VS_TOKEN_TEXT) return false;
  volatile unsigned difference = 0;
  for (size_t i = 0; i < VS_TOKEN_TEXT; i++)
    difference |= (unsigned char)part.data[i] ^ (unsigned char)access->token[i];
  return difference == 0;
}

static bool is_slash(vs_str path) { return path.size != 0 && path.data[0] == '/'; }

/* "/api/3" */
static vs_place place_of_file(const vs_access *access, vs_str path, size_t *file) {
  static const vs_str api = {"/api/", 5};
  uint64_t number;
  if (!vs_str_starts(path, api) || !vs_parse_u64(behind(path, api.size), &number)) return VS_PLACE_NOTHING;
  if (number >= access->file_count) return VS_PLACE_NOTHING;
  VS_ASSERT(number <= SIZE_MAX);
  *file = (size_t)number;
  return VS_PLACE_FILE;
}

vs_place vs_access_place(const vs_access *access, vs_str path, size_t *file) {
  *file = 0;
  if (!is_slash(path)) return VS_PLACE_CLOSED;
  if (access->token[0] != 0) {
    const vs_str rest = behind(path, 1);
    const size_t size = rest.size < VS_TOKEN_TEXT ? rest.size : VS_TOKEN_TEXT;
    if (!is_token(access, (vs_str){rest.data, size})) return VS_PLACE_CLOSED;
    path = behind(rest, size);
    if (path.size == 0) return VS_PLACE_DOOR;
    if (!is_slash(path)) return VS_PLACE_CLOSED;
  }
  return path.size == 1 ? VS_PLACE_PAGE : place_of_file(access, path, file);
}

/* ---- headers */

bool vs_access_host(const vs_access *access, vs_str host) {
  static const char *const names[] = {"127.0.0.1", "localhost"};
  enum { HTTP_PORT = 80 }; /* the one that browsers leave out */
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    char full[32];
    vs_format(full, sizeof full, "%s:%u", names[i], (unsigned)access->port);
    if (vs_str_equal(host, vs_str_from(full))) return true;
    if (access->port == HTTP_PORT && vs_str_equal(host, vs_str_from(names[i]))) return true;
  }
  return false;
}

bool vs_access_origin(const vs_access *access, vs_str origin) {
  static const vs_str scheme = {"http://", 7};
  return vs_str_starts(origin, scheme) && vs_access_host(access, behind(origin, scheme.size));
}
