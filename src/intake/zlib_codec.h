/* zlib, its memory from a vs_host: the vs_inflater of programs that link it, and packing of the frames of recordings. In a
 * build without zlib vs_zlib_create and vs_zlib_deflate_frame fail with VS_UNSUPPORTED. */
#ifndef VS_INTAKE_ZLIB_CODEC_H
#define VS_INTAKE_ZLIB_CODEC_H

#include "intake/gzip.h"

/* The version of zlib, NULL in a build without it. */
const char *vs_zlib_version(void);

/* One stream at a time. Owner: the caller, vs_zlib_destroy, which accepts NULL. Fails: VS_UNSUPPORTED  this build has no
 * zlib; VS_NO_MEMORY */
typedef struct vs_zlib vs_zlib;
VS_MUST_CHECK vs_status vs_zlib_create(const vs_host *host, vs_zlib **out);
void vs_zlib_destroy(vs_zlib *zlib);

/* Valid as long as `zlib`; of NULL one without functions. */
vs_inflater vs_zlib_inflater(vs_zlib *zlib);

/* Raw deflate (RFC 1951). *packed is how many bytes it takes, 0 if that is more than `room`. `ctx` is a vs_host. */
VS_MUST_CHECK vs_status vs_zlib_deflate_frame(void *ctx, const void *from, size_t size, void *to, size_t room,
                                              size_t *packed);

#endif
