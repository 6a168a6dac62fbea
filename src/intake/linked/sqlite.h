/* Writes an SQLite database from the SQL text that the engine exports. */
#ifndef VS_INTAKE_LINKED_SQLITE_H
#define VS_INTAKE_LINKED_SQLITE_H

#include "base/text.h"

typedef struct vs_sqlite vs_sqlite;

/* The version of the library, NULL in a build without it. */
const char *vs_sqlite_version(void);

/* Opens the (empty) file at `path`. Owner: the caller, vs_sqlite_destroy. `error` outlives it: writes that fail describe
 * the cause there.
 * Fails: VS_UNSUPPORTED  this build has no SQLite; VS_IO, VS_NO_MEMORY */
VS_MUST_CHECK vs_status vs_sqlite_create(const vs_host *host, const char *path, vs_error *error,
                                         vs_sqlite **out);

/* Takes SQL text, cut anywhere, and runs each statement as soon as it is complete. */
vs_writer vs_sqlite_writer(vs_sqlite *sqlite);

/* Closes the database. If a write failed, this fails in the same way. */
VS_MUST_CHECK vs_status vs_sqlite_finish(vs_sqlite *sqlite);
void vs_sqlite_destroy(vs_sqlite *sqlite);

#endif
