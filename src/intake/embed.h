/* A file as text inside a page: packed with gzip (RFC 1952), then base64 (RFC 4648), and written as it arrives. */
#ifndef VS_INTAKE_EMBED_H
#define VS_INTAKE_EMBED_H

#include "intake/zlib_codec.h"

typedef struct vs_embedding vs_embedding;

/* `api` outlives it. Owner: the caller, vs_embedding_destroy, which accepts NULL.
 * Fails: VS_UNSUPPORTED  `api` is NULL: there is no zlib; VS_NO_MEMORY */
VS_MUST_CHECK vs_status vs_embedding_create(const vs_host *host, const vs_zlib_api *api, vs_writer to,
                                            vs_embedding **out);
void vs_embedding_destroy(vs_embedding *embedding);

/* Takes the bytes of the file, cut anywhere. */
vs_writer vs_embedding_writer(vs_embedding *embedding);

/* Completes the text after the last byte of the file. */
VS_MUST_CHECK vs_status vs_embedding_finish(vs_embedding *embedding);

#endif
