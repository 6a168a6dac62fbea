/* A file as text inside a page: gzip (RFC 1952), then base64 (RFC 4648), handed on as it comes. */
#ifndef VS_CLI_ENCLOSE_H
#define VS_CLI_ENCLOSE_H

#include "base/host.h"

typedef struct vs_enclosure vs_enclosure;

/* Owner: the caller, vs_enclosure_destroy, which accepts NULL. Fails: VS_UNSUPPORTED  this
 * build has no zlib; VS_NO_MEMORY */
VS_MUST_CHECK vs_status vs_enclosure_create(const vs_host *host, vs_writer to, vs_enclosure **out);
void vs_enclosure_destroy(vs_enclosure *enclosure);

/* Takes the file, in pieces cut anywhere. */
vs_writer vs_enclosure_writer(vs_enclosure *enclosure);

/* The file is complete. */
VS_MUST_CHECK vs_status vs_enclosure_finish(vs_enclosure *enclosure);

#endif
