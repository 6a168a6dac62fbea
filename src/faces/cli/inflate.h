/* A gzip stream as a reader of what it holds; its members, if it has several, one behind the other. */
#ifndef VS_CLI_INFLATE_H
#define VS_CLI_INFLATE_H

#include "base/host.h"

typedef struct vs_inflate vs_inflate;

/* The version of zlib, NULL in a build without it. */
const char *vs_inflate_version(void);

/* Owner: the caller, vs_inflate_destroy. `packed` and `error` outlive it; a failed read says why in `error`, with the
 * byte in the packed stream.
 * Fails: VS_UNSUPPORTED  this build has no zlib; VS_NO_MEMORY */
VS_MUST_CHECK vs_status vs_inflate_create(const vs_host *host, vs_reader packed, vs_error *error,
                                          vs_inflate **out);
void vs_inflate_destroy(vs_inflate *gz);

vs_reader vs_inflate_reader(vs_inflate *gz);

#endif
