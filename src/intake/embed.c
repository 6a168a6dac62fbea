#include "intake/embed.h"
#include "base/text.h"

#if VS_WITH_ZLIB
#include "intake/zlib_api.h"

enum { WINDOW = VS_HOSTILE ? 64 : 64 * 1024, GROUP = 3, DIGITS = 4 };

/* Invariant: group_count < GROUP between writes. */
struct vs_embedding {
  const vs_host *host;
  const vs_zlib_api *api;
  vs_writer to;
  uint8_t group[GROUP]; /* bytes that are not encoded yet */
  size_t group_count;
  size_t digit_count;
  z_stream stream;
  uint8_t packed[WINDOW];
  char digits[WINDOW];
};

/* ---- base64 */

static vs_status flush_digits(vs_embedding *e) {
  const size_t count = e->digit_count;
  VS_ASSERT(count <= sizeof e->digits && count % DIGITS == 0);
  e->digit_count = 0;
  return count == 0 ? VS_OK : e->to.write(e->to.ctx, e->digits, count);
}

static vs_status put_group(vs_embedding *e, size_t bytes) {
  VS_ASSERT(bytes >= 1 && bytes <= GROUP);
  static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  if (e->digit_count + DIGITS > sizeof e->digits) VS_TRY(flush_digits(e));
  const uint32_t bits = (uint32_t)e->group[0] << 16 | (uint32_t)e->group[1] << 8 | e->group[2];
  for (size_t i = 0; i < DIGITS; i++)
    e->digits[e->digit_count++] = i <= bytes ? alphabet[bits >> (18 - 6 * i) & 63] : '=';
  return VS_OK;
}

static vs_status put_bytes(vs_embedding *e, const uint8_t *data, size_t size) {
  VS_ASSERT(e->group_count < GROUP);
  for (size_t i = 0; i < size; i++) {
    e->group[e->group_count++] = data[i];
    if (e->group_count < GROUP) continue;
    VS_TRY(put_group(e, GROUP));
    e->group_count = 0;
  }
  return VS_OK;
}

static vs_status finish_digits(vs_embedding *e) {
  const size_t left = e->group_count;
  for (size_t i = left; i < GROUP; i++) e->group[i] = 0;
  if (left != 0) VS_TRY(put_group(e, left));
  e->group_count = 0;
  return flush_digits(e);
}

/* ---- gzip */

enum { LEVEL = 6, GZIP = 16 + MAX_WBITS, USUAL_MEMORY = 8, MOST_AT_ONCE = 1 << 30 };

static vs_status begin_packing(vs_embedding *e) {
  const int answer = e->api->deflate_init(&e->stream, LEVEL, Z_DEFLATED, GZIP, USUAL_MEMORY,
                                          Z_DEFAULT_STRATEGY, ZLIB_VERSION, (int)sizeof e->stream);
  return answer == Z_OK ? VS_OK : VS_NO_MEMORY;
}

static void end_packing(vs_embedding *e) { (void)e->api->deflate_end(&e->stream); }

/* Packs until zlib has taken all of `data` and, with Z_FINISH, has returned all packed bytes. */
static vs_status pack(vs_embedding *e, const uint8_t *data, size_t size, int flush) {
  e->stream.next_in = (void *)(uintptr_t)data; /* zlib does not write to it */
  e->stream.avail_in = (unsigned)size;
  do {
    e->stream.next_out = e->packed;
    e->stream.avail_out = sizeof e->packed;
    (void)e->api->deflate(&e->stream, flush); /* cannot fail: the stream is valid and there is space */
    VS_TRY(put_bytes(e, e->packed, sizeof e->packed - e->stream.avail_out));
  } while (e->stream.avail_out == 0);
  VS_ASSERT(e->stream.avail_in == 0);
  return VS_OK;
}

static vs_status put_packed(vs_embedding *e, const uint8_t *data, size_t size) {
  for (size_t at = 0; at < size; at += MOST_AT_ONCE)
    VS_TRY(pack(e, data + at, size - at < MOST_AT_ONCE ? size - at : MOST_AT_ONCE, Z_NO_FLUSH));
  return VS_OK;
}

/* ---- create, write, finish */

vs_status vs_embedding_create(const vs_host *host, const vs_zlib_api *api, vs_writer to, vs_embedding **out) {
  if (api == NULL) return VS_UNSUPPORTED;
  vs_embedding *e = vs_host_alloc(host, sizeof *e);
  if (e == NULL) return VS_NO_MEMORY;
  memset(e, 0, sizeof *e);
  e->host = host;
  e->api = api;
  e->to = to;
  const vs_status status = begin_packing(e);
  if (status == VS_OK) *out = e;
  else vs_host_free(host, e, sizeof *e);
  return status;
}

void vs_embedding_destroy(vs_embedding *e) {
  if (e == NULL) return;
  end_packing(e);
  vs_host_free(e->host, e, sizeof *e);
}

static vs_status take(void *ctx, const void *data, size_t size) { return put_packed(ctx, data, size); }

vs_writer vs_embedding_writer(vs_embedding *e) { return (vs_writer){.ctx = e, .write = take}; }

vs_status vs_embedding_finish(vs_embedding *e) {
  VS_TRY(pack(e, NULL, 0, Z_FINISH));
  return finish_digits(e);
}

#else

vs_status vs_embedding_create(const vs_host *host, const vs_zlib_api *api, vs_writer to, vs_embedding **out) {
  (void)host;
  (void)api;
  (void)to;
  (void)out;
  return VS_UNSUPPORTED;
}

void vs_embedding_destroy(vs_embedding *e) { (void)e; }

vs_writer vs_embedding_writer(vs_embedding *e) { return (vs_writer){.ctx = e, .write = NULL}; }

vs_status vs_embedding_finish(vs_embedding *e) {
  (void)e;
  return VS_UNSUPPORTED;
}

#endif
