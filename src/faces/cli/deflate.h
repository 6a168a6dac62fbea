/* Raw deflate of one piece at a time, as recordings use it. In a build without zlib both answer
 * VS_UNSUPPORTED. */
#ifndef VS_CLI_DEFLATE_H
#define VS_CLI_DEFLATE_H

#include "base/host.h"

/* Fills all of `to`, or VS_BAD_FORMAT. `ctx` is a vs_host. */
VS_MUST_CHECK vs_status vs_inflate_piece(void *ctx, const void *from, size_t from_size, void *to,
                                         size_t to_size);

/* *packed is how many bytes it takes, 0 if that is more than `room`. `ctx` is a vs_host. */
VS_MUST_CHECK vs_status vs_deflate_piece(void *ctx, const void *from, size_t size, void *to, size_t room,
                                         size_t *packed);

#endif
