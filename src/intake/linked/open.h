/* Opening a file of the user's in a program that links zlib and elfutils, as far as the build has them: without zlib gzip
 * files and compacted recordings are refused, without elfutils native frames stay library and offset. */
#ifndef VS_INTAKE_LINKED_OPEN_H
#define VS_INTAKE_LINKED_OPEN_H

#include "intake/linked/symbols.h"
#include "intake/linked/zlib.h"
#include "intake/path.h"

/* The file at `path`, "-" being standard input, in a new engine. `intake` says its name and who watches; what decompresses
 * and what names places is set here. May be called from several threads, each for a file of its own.
 * Owner: the caller, vs_engine_destroy; *engine is NULL after a failure, which `error` tells. */
VS_MUST_CHECK vs_status vs_intake_open(const vs_host *host, const vs_intake *intake, const char *path,
                                       vs_engine **engine, vs_error *error);

#endif
