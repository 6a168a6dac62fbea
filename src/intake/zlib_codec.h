/* A vs_inflater over zlib with memory from a vs_host, and packing of the frames of recordings. The caller supplies the zlib
 * (zlib_api.h). */
#ifndef VS_INTAKE_ZLIB_CODEC_H
#define VS_INTAKE_ZLIB_CODEC_H

#include "intake/gzip.h"

typedef struct vs_zlib_api vs_zlib_api;

/* One stream at a time. `api` outlives it; NULL: there is no zlib. Owner: the caller, vs_zlib_destroy, which accepts NULL.
 * Fails: VS_UNSUPPORTED  there is no zlib; VS_NO_MEMORY */
typedef struct vs_zlib vs_zlib;
VS_MUST_CHECK vs_status vs_zlib_create(const vs_host *host, const vs_zlib_api *api, vs_zlib **out);
void vs_zlib_destroy(vs_zlib *zlib);

/* Valid as long as `zlib`. For NULL it has no functions. */
vs_inflater vs_zlib_inflater(vs_zlib *zlib);

/* Packs with raw deflate (RFC 1951). *packed is the packed size, 0 if that is more than `room`. */
VS_MUST_CHECK vs_status vs_zlib_deflate_frame(void *zlib, const void *from, size_t size, void *to,
                                              size_t room, size_t *packed);

#endif
