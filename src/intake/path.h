/* Loading the file at a path into an engine, with the zlib that the caller has. */
#ifndef VS_INTAKE_PATH_H
#define VS_INTAKE_PATH_H

#include "intake/load.h"
#include "intake/zlib_codec.h"

/* The file at `path`, "-" being standard input, becomes the file of `engine`. `intake` says its name, who watches, and what
 * names places; what decompresses is set here. `api` NULL: gzip files and compacted recordings are refused. */
VS_MUST_CHECK vs_status vs_intake_load_path(const vs_host *host, const vs_intake *intake,
                                            const vs_zlib_api *api, const char *path, vs_engine *engine,
                                            vs_error *error);

#endif
