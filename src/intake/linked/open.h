/* Opens a user's file in a program that links zlib and elfutils, if the build has them: without zlib gzip files and compacted
 * recordings are refused, without elfutils native frames stay library and offset. */
#ifndef VS_INTAKE_LINKED_OPEN_H
#define VS_INTAKE_LINKED_OPEN_H

#include "intake/linked/symbols.h"
#include "intake/linked/zlib.h"
#include "intake/path.h"

/* Loads the file at `path` ("-": standard input) into a new engine. `intake` has its name and the watcher; its inflater and
 * the function that names places are set here. Several threads may call it, each for a file of its own.
 * Owner: the caller, vs_engine_destroy; *engine is NULL after a failure, whose cause is in `error`. */
VS_MUST_CHECK vs_status vs_intake_open(const vs_host *host, const vs_intake *intake, const char *path,
                                       vs_engine **engine, vs_error *error);

#endif
