#include "intake/zlib_codec.h"

#if VS_WITH_ZLIB
#include "intake/zlib_api.h"
#include <limits.h>

enum { KEPT = 16, GZIP_ONLY = 16 + MAX_WBITS };

struct vs_zlib {
  const vs_host *host;
  const vs_zlib_api *api;
  z_stream stream;
  bool has_stream; /* inflateInit2 was called: inflateEnd is due */
};

/* zlib allocates through the host. The size is stored in front of the memory, because the host needs it to free the memory. */
static void *allocate(void *host, unsigned items, unsigned size) {
  size_t bytes;
  if (!vs_mul_size(items, size, &bytes) || bytes > SIZE_MAX - KEPT) return NULL;
  size_t *memory = vs_host_alloc(host, bytes + KEPT);
  if (memory == NULL) return NULL;
  memory[0] = bytes + KEPT;
  return (char *)memory + KEPT;
}

static void release(void *host, void *address) {
  if (address == NULL) return;
  size_t *memory = (void *)((char *)address - KEPT);
  VS_ASSERT(memory[0] >= KEPT);
  vs_host_free(host, memory, memory[0]);
}

static z_stream new_stream(const vs_host *host) {
  return (z_stream){.zalloc = allocate, .zfree = release, .opaque = (void *)(uintptr_t)host};
}

/* inflateInit2 and deflateInit2, which are macros in zlib.h, with the functions of the table. */
static int begin_inflating(const vs_zlib_api *api, z_stream *stream, int window_bits) {
  return api->inflate_init(stream, window_bits, ZLIB_VERSION, (int)sizeof *stream);
}

static int begin_deflating(const vs_zlib_api *api, z_stream *stream) {
  return api->deflate_init(stream, Z_BEST_COMPRESSION, Z_DEFLATED, -MAX_WBITS, MAX_MEM_LEVEL,
                           Z_DEFAULT_STRATEGY, ZLIB_VERSION, (int)sizeof *stream);
}

static unsigned most(size_t size) { return size > UINT_MAX ? UINT_MAX : (unsigned)size; }

static void set_buffers(z_stream *stream, const void *from, size_t size, void *to, size_t room) {
  static uint8_t none;                       /* zlib refuses NULL even for an empty buffer */
  stream->next_in = (void *)(uintptr_t)from; /* zlib does not write to it */
  stream->avail_in = most(size);
  stream->next_out = room == 0 ? &none : to;
  stream->avail_out = most(room);
}

/* ---- gzip */

vs_status vs_zlib_create(const vs_host *host, const vs_zlib_api *api, vs_zlib **out) {
  *out = NULL;
  if (api == NULL) return VS_UNSUPPORTED;
  vs_zlib *zlib = vs_host_alloc(host, sizeof *zlib);
  if (zlib == NULL) return VS_NO_MEMORY;
  *zlib = (vs_zlib){.host = host, .api = api, .stream = new_stream(host)};
  *out = zlib;
  return VS_OK;
}

void vs_zlib_destroy(vs_zlib *zlib) {
  if (zlib == NULL) return;
  if (zlib->has_stream) (void)zlib->api->inflate_end(&zlib->stream);
  vs_host_free(zlib->host, zlib, sizeof *zlib);
}

static vs_status begin(void *ctx) {
  vs_zlib *zlib = ctx;
  if (zlib->has_stream) return zlib->api->inflate_reset(&zlib->stream) == Z_OK ? VS_OK : VS_BAD_FORMAT;
  zlib->has_stream = begin_inflating(zlib->api, &zlib->stream, GZIP_ONLY) == Z_OK;
  return zlib->has_stream ? VS_OK : VS_NO_MEMORY;
}

static vs_status unpack(void *ctx, const void *packed, size_t size, void *to, size_t room,
                        vs_unpacked *done) {
  vs_zlib *zlib = ctx;
  z_stream *stream = &zlib->stream;
  set_buffers(stream, packed, size, to, room);
  const unsigned had = stream->avail_in, had_room = stream->avail_out;
  const int answer = zlib->api->inflate(stream, Z_NO_FLUSH);
  *done = (vs_unpacked){.taken = had - stream->avail_in,
                        .made = had_room - stream->avail_out,
                        .has_ended = answer == Z_STREAM_END};
  VS_ASSERT(done->taken <= size && done->made <= room);
  if (answer == Z_MEM_ERROR) return VS_NO_MEMORY;
  return answer == Z_OK || answer == Z_STREAM_END || answer == Z_BUF_ERROR ? VS_OK : VS_BAD_FORMAT;
}

/* ---- frames of recordings */

static vs_status inflate_frame(void *ctx, const void *from, size_t from_size, void *to, size_t to_size) {
  if (from_size > UINT_MAX || to_size > UINT_MAX) return VS_LIMIT;
  const vs_zlib *zlib = ctx;
  z_stream stream = new_stream(zlib->host);
  set_buffers(&stream, from, from_size, to, to_size);
  if (begin_inflating(zlib->api, &stream, -MAX_WBITS) != Z_OK) return VS_NO_MEMORY;
  const int answer = zlib->api->inflate(&stream, Z_FINISH);
  const bool is_full = stream.avail_out == 0;
  (void)zlib->api->inflate_end(&stream);
  if (answer == Z_MEM_ERROR) return VS_NO_MEMORY;
  return answer == Z_STREAM_END && is_full ? VS_OK : VS_BAD_FORMAT;
}

vs_inflater vs_zlib_inflater(vs_zlib *zlib) {
  if (zlib == NULL) return (vs_inflater){0};
  return (vs_inflater){.ctx = zlib, .begin = begin, .unpack = unpack, .frame = inflate_frame};
}

vs_status vs_zlib_deflate_frame(void *ctx, const void *from, size_t size, void *to, size_t room,
                                size_t *packed) {
  if (size > UINT_MAX || room > UINT_MAX) return VS_LIMIT;
  const vs_zlib *zlib = ctx;
  z_stream stream = new_stream(zlib->host);
  set_buffers(&stream, from, size, to, room);
  if (begin_deflating(zlib->api, &stream) != Z_OK) return VS_NO_MEMORY;
  *packed = zlib->api->deflate(&stream, Z_FINISH) == Z_STREAM_END ? room - stream.avail_out : 0;
  VS_ASSERT(*packed <= room);
  (void)zlib->api->deflate_end(&stream);
  return VS_OK;
}

#else

vs_status vs_zlib_create(const vs_host *host, const vs_zlib_api *api, vs_zlib **out) {
  (void)host;
  (void)api;
  *out = NULL;
  return VS_UNSUPPORTED;
}

void vs_zlib_destroy(vs_zlib *zlib) { (void)zlib; }

vs_inflater vs_zlib_inflater(vs_zlib *zlib) {
  (void)zlib;
  return (vs_inflater){0};
}

vs_status vs_zlib_deflate_frame(void *ctx, const void *from, size_t size, void *to, size_t room,
                                size_t *packed) {
  (void)ctx;
  (void)from;
  (void)size;
  (void)to;
  (void)room;
  (void)packed;
  return VS_UNSUPPORTED;
}

#endif
