/* Loads the file at a path into an engine, with the caller's zlib. */
#ifndef VS_INTAKE_PATH_H
#define VS_INTAKE_PATH_H

#include "intake/load.h"
#include "intake/zlib_codec.h"

/* Replaces the file of `engine` by the one at `path` ("-": standard input). `intake` has its name, the watcher and the
 * function that names places; its inflater is set here. `api` NULL: gzip files and compacted recordings are refused. */
VS_MUST_CHECK vs_status vs_intake_load_path(const vs_host *host, const vs_intake *intake,
                                            const vs_zlib_api *api, const char *path, vs_engine *engine,
                                            vs_error *error);

#endif
