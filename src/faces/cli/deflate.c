#include "faces/cli/deflate.h"

#if VS_WITH_ZLIB
#include <limits.h>
#include <zlib.h>

/* zlib allocates through the host; the size is kept in front of the memory because a host wants it back. */
enum { KEPT = 16 };

static void *allocate(void *opaque, unsigned items, unsigned size) {
  size_t bytes;
  if (!vs_mul_size(items, size, &bytes) || bytes > SIZE_MAX - KEPT) return NULL;
  size_t *memory = vs_host_alloc(opaque, bytes + KEPT);
  if (memory == NULL) return NULL;
  memory[0] = bytes + KEPT;
  return (char *)memory + KEPT;
}

static void release(void *opaque, void *address) {
  if (address == NULL) return;
  size_t *memory = (void *)((char *)address - KEPT);
  vs_host_free(opaque, memory, memory[0]);
}

static z_stream stream_over(void *host, const void *from, size_t size, void *to, size_t room) {
  return (z_stream){.zalloc = allocate,
                    .zfree = release,
                    .opaque = host,
                    .next_in = (void *)(uintptr_t)from, /* zlib does not write to it */
                    .avail_in = (unsigned)size,
                    .next_out = to,
                    .avail_out = (unsigned)room};
}

vs_status vs_inflate_piece(void *ctx, const void *from, size_t from_size, void *to, size_t to_size) {
  if (from_size > UINT_MAX || to_size > UINT_MAX) return VS_LIMIT;
  uint8_t none;
  z_stream stream = stream_over(ctx, from, from_size, to_size == 0 ? &none : to, to_size);
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) return VS_NO_MEMORY;
  const int answer = inflate(&stream, Z_FINISH);
  const bool is_full = stream.avail_out == 0;
  (void)inflateEnd(&stream);
  if (answer == Z_MEM_ERROR) return VS_NO_MEMORY;
  return answer == Z_STREAM_END && is_full ? VS_OK : VS_BAD_FORMAT;
}

vs_status vs_deflate_piece(void *ctx, const void *from, size_t size, void *to, size_t room, size_t *packed) {
  if (size > UINT_MAX || room > UINT_MAX) return VS_LIMIT;
  z_stream stream = stream_over(ctx, from, size, to, room);
  if (deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, -MAX_WBITS, MAX_MEM_LEVEL, Z_DEFAULT_STRATEGY) !=
      Z_OK)
    return VS_NO_MEMORY;
  *packed = deflate(&stream, Z_FINISH) == Z_STREAM_END ? room - stream.avail_out : 0;
  (void)deflateEnd(&stream);
  return VS_OK;
}

#else

vs_status vs_inflate_piece(void *ctx, const void *from, size_t from_size, void *to, size_t to_size) {
  (void)ctx;
  (void)from;
  (void)from_size;
  (void)to;
  (void)to_size;
  return VS_UNSUPPORTED;
}

vs_status vs_deflate_piece(void *ctx, const void *from, size_t size, void *to, size_t room, size_t *packed) {
  (void)ctx;
  (void)from;
  (void)size;
  (void)to;
  (void)room;
  (void)packed;
  return VS_UNSUPPORTED;
}

#endif
