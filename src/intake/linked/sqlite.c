#include "intake/linked/sqlite.h"

#if VS_WITH_SQLITE
#include <sqlite3.h>

/* The state of the scanner of SQL text. A semicolon ends a statement only in VS_SQL_CODE and VS_SQL_DASH. */
typedef enum vs_sql_place {
  VS_SQL_CODE,
  VS_SQL_STRING,
  VS_SQL_NAME,
  VS_SQL_DASH,
  VS_SQL_COMMENT
} vs_sql_place;

struct vs_sqlite {
  const vs_host *host;
  vs_error *error;
  sqlite3 *database;
  vs_text statement; /* the part of the next statement that has arrived */
  vs_sql_place place;
  vs_status status; /* of the first failure */
};

const char *vs_sqlite_version(void) { return sqlite3_libversion(); }

static vs_status fail(vs_sqlite *sqlite, int code) {
  if (sqlite->status != VS_OK) return sqlite->status;
  sqlite->status = code == SQLITE_NOMEM ? VS_NO_MEMORY : VS_IO;
  return vs_fail(sqlite->error, sqlite->status, VS_NO_OFFSET, "SQLite: %s",
                 sqlite->database == NULL ? sqlite3_errstr(code) : sqlite3_errmsg(sqlite->database));
}

static vs_status run(vs_sqlite *sqlite, const char *sql) {
  const int code = sqlite3_exec(sqlite->database, sql, NULL, NULL, NULL);
  return code == SQLITE_OK ? VS_OK : fail(sqlite, code);
}

vs_status vs_sqlite_create(const vs_host *host, const char *path, vs_error *error, vs_sqlite **out) {
  vs_sqlite *sqlite = vs_host_alloc(host, sizeof *sqlite);
  if (sqlite == NULL) return vs_fail(error, VS_NO_MEMORY, VS_NO_OFFSET, "%s", vs_status_text(VS_NO_MEMORY));
  *sqlite = (vs_sqlite){.host = host, .error = error, .status = VS_OK};
  vs_text_init(&sqlite->statement, host, NULL);
  const int code = sqlite3_open_v2(path, &sqlite->database, SQLITE_OPEN_READWRITE, NULL);
  vs_status status = code == SQLITE_OK ? VS_OK : fail(sqlite, code);
  /* The file gets its name only when it is complete, so a journal or waiting for the disk would protect nothing. */
  if (status == VS_OK) status = run(sqlite, "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF");
  if (status == VS_OK) *out = sqlite;
  else vs_sqlite_destroy(sqlite);
  return status;
}

void vs_sqlite_destroy(vs_sqlite *sqlite) {
  if (sqlite == NULL) return;
  (void)sqlite3_close_v2(sqlite->database);
  vs_text_deinit(&sqlite->statement);
  vs_host_free(sqlite->host, sqlite, sizeof *sqlite);
}

/* Takes one byte; true if it is the semicolon that ends a statement. A doubled quote leaves the string and enters it again,
 * with the same result. */
static bool ends_statement(vs_sqlite *sqlite, char byte) {
  switch (sqlite->place) {
    case VS_SQL_STRING:
      if (byte == '\'') sqlite->place = VS_SQL_CODE;
      return false;
    case VS_SQL_NAME:
      if (byte == '"') sqlite->place = VS_SQL_CODE;
      return false;
    case VS_SQL_COMMENT:
      if (byte == '\n') sqlite->place = VS_SQL_CODE;
      return false;
    case VS_SQL_CODE:
    case VS_SQL_DASH: break;
  }
  const bool was_dash = sqlite->place == VS_SQL_DASH;
  sqlite->place = VS_SQL_CODE;
  if (byte == '\'') sqlite->place = VS_SQL_STRING;
  if (byte == '"') sqlite->place = VS_SQL_NAME;
  if (byte == '-') sqlite->place = was_dash ? VS_SQL_COMMENT : VS_SQL_DASH;
  return byte == ';';
}

static vs_status run_statement(vs_sqlite *sqlite) {
  vs_text_byte(&sqlite->statement, 0);
  vs_status status = sqlite->statement.status;
  if (status == VS_OK) status = run(sqlite, sqlite->statement.bytes.data);
  else status = fail(sqlite, SQLITE_NOMEM);
  sqlite->statement.bytes.count = 0;
  return status;
}

static vs_status write_sql(void *ctx, const void *data, size_t size) {
  vs_sqlite *sqlite = ctx;
  const char *sql = data;
  size_t begin = 0;
  for (size_t i = 0; i < size; i++) {
    if (!ends_statement(sqlite, sql[i])) continue;
    VS_ASSERT(begin <= i);
    vs_text_put(&sqlite->statement, sql + begin, i + 1 - begin);
    begin = i + 1;
    const vs_status status = run_statement(sqlite);
    if (status != VS_OK) return status;
  }
  vs_text_put(&sqlite->statement, sql + begin, size - begin);
  return sqlite->status;
}

vs_writer vs_sqlite_writer(vs_sqlite *sqlite) { return (vs_writer){.ctx = sqlite, .write = write_sql}; }

vs_status vs_sqlite_finish(vs_sqlite *sqlite) {
  if (sqlite->status != VS_OK) return sqlite->status;
  const int code = sqlite3_close(sqlite->database);
  if (code != SQLITE_OK) return fail(sqlite, code);
  sqlite->database = NULL;
  return VS_OK;
}

#else

const char *vs_sqlite_version(void) { return NULL; }

vs_status vs_sqlite_create(const vs_host *host, const char *path, vs_error *error, vs_sqlite **out) {
  (void)host;
  (void)path;
  (void)out;
  return vs_fail(error, VS_UNSUPPORTED, VS_NO_OFFSET,
                 "this build cannot write SQLite databases; export the format sql and run: sqlite3 "
                 "memory.sqlite < FILE");
}

vs_writer vs_sqlite_writer(vs_sqlite *sqlite) { return (vs_writer){.ctx = sqlite, .write = NULL}; }

vs_status vs_sqlite_finish(vs_sqlite *sqlite) {
  (void)sqlite;
  return VS_UNSUPPORTED;
}

void vs_sqlite_destroy(vs_sqlite *sqlite) { (void)sqlite; }

#endif
