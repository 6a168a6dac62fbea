/* Reads a gzip stream decompressed: its members, if it has several, one after the other. Other bytes behind the last member
 * are ignored, as gzip does.
 *
 * The rules are here for every face: how members follow each other, what counts as damage, how far a stream may grow. The
 * decompression is a parameter, a vs_inflater: zlib in a program that links it (zlib_codec.h), Python's zlib in the extension,
 * which links only the C library. */
#ifndef VS_INTAKE_GZIP_H
#define VS_INTAKE_GZIP_H

#include "base/host.h"

/* A gzip stream may expand to VS_GROWTH_BASE + VS_GROWTH_FACTOR x its compressed bytes. One that expands further is refused:
 * it could fill the memory of the program that opens it. */
enum { VS_GROWTH_BASE = 32 * 1024 * 1024, VS_GROWTH_FACTOR = 256 };

/* The result of one step of decompression. */
typedef struct vs_unpacked {
  size_t taken, made; /* packed bytes used, plain bytes stored; both 0: it needs more packed bytes */
  bool has_ended;     /* the member is complete, and its check sum is right */
} vs_unpacked;

/* Decompression. All functions are NULL in a face without it, which refuses gzip files and compacted recordings. */
typedef struct vs_inflater {
  void *ctx;
  /* Begins a gzip member (RFC 1952). Fails: VS_NO_MEMORY */
  vs_status (*begin)(void *ctx);
  /* Unpacks at most `room` bytes from the next `size` packed bytes of the member. `done` is valid in failures, too.
   * Fails: VS_BAD_FORMAT  damaged; VS_NO_MEMORY; what a callback of the face fails with */
  vs_status (*unpack)(void *ctx, const void *packed, size_t size, void *to, size_t room, vs_unpacked *done);
  /* A frame of a compacted recording: `inflate` of vs_load_options, with the same ctx. */
  vs_status (*frame)(void *ctx, const void *from, size_t from_size, void *to, size_t to_size);
} vs_inflater;

typedef struct vs_gzip vs_gzip;

/* Owner: the caller, vs_gzip_destroy, which accepts NULL. `packed`, `inflater` and `error` outlive it; a read that fails
 * describes the cause in `error`, with the offset in the packed stream. Fails: VS_NO_MEMORY */
VS_MUST_CHECK vs_status vs_gzip_create(const vs_host *host, vs_reader packed, const vs_inflater *inflater,
                                       vs_error *error, vs_gzip **out);
void vs_gzip_destroy(vs_gzip *gz);

vs_reader vs_gzip_reader(vs_gzip *gz);

#endif
