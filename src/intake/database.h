/* An SQLite database as a stream of text. The library that reads databases is a parameter, as decompression is (gzip.h): it is
 * SQLite in a program that links it (linked/database.h), and a face without one refuses such files.
 *
 * The text is one JSON array: [["tables"], item, item, ...]. Of each table that is there and that we know, it has
 *
 *   ["table", name, column, ...]   the columns that we know and that the table has
 *   ["row", value, ...]            one for each row, in the order of the table: number, string or null for each of these columns
 *
 * So a reader of tables (snapshot/nsys.h) is a fold like any other, and knows nothing of SQL. */
#ifndef VS_INTAKE_DATABASE_H
#define VS_INTAKE_DATABASE_H

#include <vramscope/base.h>

/* A database that comes through a pipe or is compressed is held in memory: it may have this many bytes. */
#define VS_DATABASE_MOST_BYTES (UINT64_C(1) << 30)

typedef struct vs_database_library {
  /* Opens the database at `path`, or, where that is NULL, the one that `bytes` reads. `error` outlives it: a read that fails
   * describes the cause there.
   * Fails: VS_BAD_FORMAT  damaged; VS_UNSUPPORTED  a write to it was not completed; VS_LIMIT, VS_NO_MEMORY, VS_IO; with a sentence */
  vs_status (*open)(const vs_host *host, const char *path, vs_reader bytes, vs_error *error, void **database);
  vs_reader (*reader)(void *database); /* of its text, once; valid as long as the database */
  void (*close)(void *database);       /* accepts NULL */
} vs_database_library;

#endif
