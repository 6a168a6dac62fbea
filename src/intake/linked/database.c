#include "intake/linked/database.h"

#if VS_WITH_SQLITE
#include "base/text.h"
#include "codec/json_writer.h"
#include "os/infile.h"
#include <sqlite3.h>

enum {
  MOST_COLUMNS = 8,
  MOST_VALUE = 1024 * 1024, /* bytes of a row, and of a statement of the schema */
  CHUNK = 32 * 1024,        /* bytes of text that are made at once */
};

static const struct {
  const char *name, *columns[MOST_COLUMNS + 1]; /* NULL ends them */
} TABLES[] = {
#define VS_NSYS_TABLE(name, ...) {name, {__VA_ARGS__}},
#include "intake/linked/nsys_tables.def"
#undef VS_NSYS_TABLE
};
enum { TABLE_COUNT = sizeof TABLES / sizeof *TABLES };

typedef struct database {
  const vs_host *host;
  vs_error *error;
  sqlite3 *sqlite;
  VS_VEC(uint8_t) image; /* the file, where it has no path */
  sqlite3_stmt *rows;    /* of the current table; NULL: none is being read */
  size_t table;          /* the next one */
  vs_text text;          /* text.bytes[at ..) was not passed on yet */
  size_t at;
  vs_jsonw json;
  bool is_ended;
  vs_status status; /* of the first failure; reading on fails with it, too */
} database;

/* ---- failures -------------------------------------------------------------------------------------------------- */

static vs_status out_of_memory(const database *d) {
  return vs_fail(d->error, VS_NO_MEMORY, VS_NO_OFFSET, "%s", vs_status_text(VS_NO_MEMORY));
}

/* Some statements fail for lack of memory with another code, and say it in the sentence. */
static bool is_lack_of_memory(const char *sentence) {
  return strcmp(sentence, sqlite3_errstr(SQLITE_NOMEM)) == 0;
}

static vs_status fail(const database *d, int code) {
  const char *sentence = d->sqlite == NULL ? sqlite3_errstr(code) : sqlite3_errmsg(d->sqlite);
  if (is_lack_of_memory(sentence)) return out_of_memory(d);
  switch (code & 0xff) {
    case SQLITE_NOMEM: return out_of_memory(d);
    case SQLITE_TOOBIG:
      return vs_fail(d->error, VS_LIMIT, VS_NO_OFFSET,
                     "a row or a definition of the SQLite database has more than %d bytes", MOST_VALUE);
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_ERROR: /* of its definitions: the statements are ours */
      return vs_fail(d->error, VS_BAD_FORMAT, VS_NO_OFFSET, "the SQLite database is damaged: %s", sentence);
    default: return vs_fail(d->error, VS_IO, VS_NO_OFFSET, "SQLite: %s", sentence);
  }
}

static vs_status prepare(const database *d, vs_text *sql, sqlite3_stmt **out) {
  *out = NULL;
  vs_text_byte(sql, 0);
  if (sql->status != VS_OK) return out_of_memory(d);
  const int code = sqlite3_prepare_v2(d->sqlite, sql->bytes.data, -1, out, NULL);
  return code == SQLITE_OK ? VS_OK : fail(d, code);
}

/* Prepares one statement of ours with a name in it, which is one of nsys_tables.def. */
static vs_status prepare_about(const database *d, const char *format, const char *name, sqlite3_stmt **out) {
  vs_text sql;
  vs_text_init(&sql, d->host, NULL);
  vs_text_format(&sql, format, name);
  const vs_status status = prepare(d, &sql, out);
  vs_text_deinit(&sql);
  return status;
}

/* ---- tables ---------------------------------------------------------------------------------------------------- */

/* Whether there is a table of that name; anything else of it is refused. Virtual tables and views have no root page. */
static vs_status find_table(const database *d, const char *name, bool *is_there) {
  sqlite3_stmt *found;
  *is_there = false;
  VS_TRY(prepare_about(d,
                       "SELECT type = 'table' AND rootpage > 0 AND sql LIKE 'CREATE TABLE %%' FROM "
                       "main.sqlite_master WHERE type IN ('table', 'view') AND name = '%s'",
                       name, &found));
  int code = sqlite3_step(found);
  const bool is_plain = code == SQLITE_ROW && sqlite3_column_int(found, 0) == 1;
  *is_there = code == SQLITE_ROW;
  if (code == SQLITE_ROW) code = SQLITE_OK;
  (void)sqlite3_finalize(found);
  if (code != SQLITE_OK && code != SQLITE_DONE) return fail(d, code);
  if (!*is_there || is_plain) return VS_OK;
  return vs_fail(d->error, VS_UNSUPPORTED, VS_NO_OFFSET,
                 "%s of the SQLite database is not a table: Nsight Systems did not export it", name);
}

/* Which of the columns of a table are there: bit i is column i of TABLES. */
static vs_status find_columns(const database *d, size_t table, unsigned *found) {
  sqlite3_stmt *list;
  bool is_generated = false;
  int code;
  *found = 0;
  VS_TRY(prepare_about(d, "PRAGMA main.table_xinfo('%s')", TABLES[table].name, &list));
  while ((code = sqlite3_step(list)) == SQLITE_ROW) {
    const char *name = (const char *)sqlite3_column_text(list, 1);
    is_generated = is_generated || sqlite3_column_int(list, 6) != 0;
    for (unsigned i = 0; TABLES[table].columns[i] != NULL && name != NULL; i++)
      if (strcmp(name, TABLES[table].columns[i]) == 0) *found |= 1U << i;
  }
  (void)sqlite3_finalize(list);
  if (code != SQLITE_DONE) return fail(d, code);
  if (!is_generated) return VS_OK;
  return vs_fail(d->error, VS_UNSUPPORTED, VS_NO_OFFSET,
                 "%s of the SQLite database has computed columns: Nsight Systems did not export it",
                 TABLES[table].name);
}

/* The first line of what the check found; in front of it stands "*** in database main ***". */
static vs_str first_line(const char *said) {
  vs_str text = vs_str_from(said);
  const char *end = memchr(text.data, '\n', text.size);
  if (text.data[0] == '*' && end != NULL) text = vs_str_from(end + 1);
  end = text.size == 0 ? NULL : memchr(text.data, '\n', text.size);
  return (vs_str){text.data, end == NULL ? text.size : (size_t)(end - text.data)};
}

/* Visits each page of a table once, so that reading it ends and gives each row once. A failure to check is a finding, too. */
static vs_status check_pages(const database *d, size_t table) {
  sqlite3_stmt *check;
  VS_TRY(prepare_about(d, "PRAGMA main.quick_check('%s')", TABLES[table].name, &check));
  const int code = sqlite3_step(check);
  const char *said = code == SQLITE_ROW ? (const char *)sqlite3_column_text(check, 0) : NULL;
  vs_status status = VS_OK;
  if (code != SQLITE_ROW && code != SQLITE_DONE) status = fail(d, code);
  else if (code == SQLITE_ROW && (said == NULL || is_lack_of_memory(said))) status = out_of_memory(d);
  else if (said != NULL && strcmp(said, "ok") != 0)
    status = vs_fail(d->error, VS_BAD_FORMAT, VS_NO_OFFSET, "the SQLite database is damaged: %S",
                     first_line(said));
  (void)sqlite3_finalize(check);
  return status;
}

static vs_status select_rows(database *d, size_t table, unsigned columns) {
  vs_text sql;
  vs_text_init(&sql, d->host, NULL);
  vs_text_cstr(&sql, "SELECT ");
  bool is_first = true;
  for (unsigned i = 0; TABLES[table].columns[i] != NULL; i++) {
    if ((columns >> i & 1) == 0) continue;
    vs_text_format(&sql, is_first ? "\"%s\"" : ", \"%s\"", TABLES[table].columns[i]);
    is_first = false;
  }
  vs_text_format(&sql, " FROM main.\"%s\" NOT INDEXED", TABLES[table].name);
  const vs_status status = prepare(d, &sql, &d->rows);
  vs_text_deinit(&sql);
  return status;
}

static vs_status begin_table(database *d, size_t table) {
  bool is_there;
  unsigned columns;
  VS_TRY(find_table(d, TABLES[table].name, &is_there));
  if (!is_there) return VS_OK;
  VS_TRY(find_columns(d, table, &columns));
  vs_jsonw_array_begin(&d->json);
  vs_jsonw_str(&d->json, VS_STR("table"));
  vs_jsonw_str(&d->json, vs_str_from(TABLES[table].name));
  for (unsigned i = 0; TABLES[table].columns[i] != NULL; i++)
    if ((columns >> i & 1) != 0) vs_jsonw_str(&d->json, vs_str_from(TABLES[table].columns[i]));
  vs_jsonw_array_end(&d->json);
  if (columns == 0) return VS_OK;
  VS_TRY(check_pages(d, table));
  return select_rows(d, table, columns);
}

/* ---- rows ------------------------------------------------------------------------------------------------------ */

static vs_status put_value(database *d, int column) {
  const char *text;
  switch (sqlite3_column_type(d->rows, column)) {
    case SQLITE_INTEGER: vs_jsonw_i64(&d->json, sqlite3_column_int64(d->rows, column)); break;
    case SQLITE_FLOAT: vs_jsonw_f64(&d->json, sqlite3_column_double(d->rows, column)); break;
    case SQLITE_TEXT:
      text = (const char *)sqlite3_column_text(d->rows, column);
      if (text == NULL) return out_of_memory(d);
      vs_jsonw_str(&d->json, (vs_str){text, (size_t)sqlite3_column_bytes(d->rows, column)});
      break;
    default: vs_jsonw_null(&d->json);
  }
  return VS_OK;
}

static vs_status read_rows(database *d) {
  const int columns = sqlite3_column_count(d->rows);
  while (d->text.bytes.count < CHUNK && d->text.status == VS_OK) {
    const int code = sqlite3_step(d->rows);
    if (code != SQLITE_ROW) {
      (void)sqlite3_finalize(d->rows);
      d->rows = NULL;
      return code == SQLITE_DONE ? VS_OK : fail(d, code);
    }
    vs_jsonw_array_begin(&d->json);
    vs_jsonw_str(&d->json, VS_STR("row"));
    for (int i = 0; i < columns; i++) VS_TRY(put_value(d, i));
    vs_jsonw_array_end(&d->json);
  }
  return VS_OK;
}

static vs_status make_text(database *d) {
  d->text.bytes.count = d->at = 0;
  while (d->text.bytes.count < CHUNK && !d->is_ended) {
    if (d->rows != NULL) VS_TRY(read_rows(d));
    else if (d->table < TABLE_COUNT) VS_TRY(begin_table(d, d->table++));
    else {
      vs_jsonw_array_end(&d->json);
      vs_jsonw_end(&d->json);
      d->is_ended = true;
    }
    if (d->text.status != VS_OK) return out_of_memory(d);
  }
  return VS_OK;
}

static vs_status read_text(void *ctx, void *data, size_t capacity, size_t *count) {
  database *d = ctx;
  *count = 0;
  if (d->status == VS_OK && d->at == d->text.bytes.count) d->status = make_text(d);
  VS_TRY(d->status);
  const size_t left = d->text.bytes.count - d->at;
  *count = left < capacity ? left : capacity;
  if (*count != 0) memcpy(data, d->text.bytes.data + d->at, *count);
  d->at += *count;
  return VS_OK;
}

static vs_reader reader(void *ctx) { return (vs_reader){.ctx = ctx, .read = read_text}; }

/* ---- opening --------------------------------------------------------------------------------------------------- */

/* Reads the whole file. The write-ahead log of a database in memory cannot be next to it: it is opened as one without. */
static vs_status read_image(database *d, vs_reader bytes) {
  enum { PIECE = 256 * 1024, WRITE_VERSION = 18, READ_VERSION = 19 };
  for (size_t count = 1; count != 0; d->image.count += count) {
    if (d->image.count > VS_DATABASE_MOST_BYTES)
      return vs_fail(
          d->error, VS_LIMIT, VS_NO_OFFSET,
          "an SQLite database that is compressed or piped may have %U MiB: unpack it into a file first",
          VS_DATABASE_MOST_BYTES >> 20);
    if (vs_vec_reserve(d->host, &d->image, PIECE) != VS_OK) return out_of_memory(d);
    VS_TRY(bytes.read(bytes.ctx, d->image.data + d->image.count, PIECE, &count));
    VS_ASSERT(count <= PIECE);
  }
  for (size_t i = WRITE_VERSION; i <= READ_VERSION && d->image.count > READ_VERSION; i++)
    if (d->image.data[i] == 2) d->image.data[i] = 1;
  return VS_OK;
}

/* Refuses a database whose last changes are in a file next to it: they would be missing. */
static vs_status refuse_unfinished(const database *d, const char *path, const char *suffix) {
  vs_text name;
  vs_infile file;
  vs_error none; /* not passed on: there is no such file */
  vs_text_init(&name, d->host, NULL);
  vs_text_cstr(&name, path);
  vs_text_cstr(&name, suffix);
  vs_text_byte(&name, 0);
  vs_status status = name.status == VS_OK ? VS_OK : out_of_memory(d);
  if (status == VS_OK && vs_infile_is_regular(name.bytes.data) &&
      vs_infile_open(&file, name.bytes.data, &none) == VS_OK) {
    if (file.size != 0)
      status =
          vs_fail(d->error, VS_UNSUPPORTED, VS_NO_OFFSET,
                  "the last changes of the SQLite database are in %s: close the program that has it open, or "
                  "complete them with: sqlite3 FILE 'PRAGMA wal_checkpoint(TRUNCATE)'",
                  name.bytes.data);
    vs_infile_close(&file);
  }
  vs_text_deinit(&name);
  return status;
}

/* The path as a URI (sqlite.org/uri.html). "immutable": without locks and without files next to it. */
static void put_uri(vs_text *uri, const char *path) {
  vs_text_cstr(uri, path[0] == '/' ? "file://" : "file:");
  for (const char *at = path; *at != 0; at++) {
    const uint8_t byte = (uint8_t)*at;
    const bool is_plain = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
                          (byte >= '0' && byte <= '9') || strchr("/._-", byte) != NULL;
    if (is_plain) vs_text_byte(uri, byte);
    else {
      vs_text_byte(uri, '%');
      vs_text_byte(uri, (uint8_t) "0123456789abcdef"[byte >> 4]);
      vs_text_byte(uri, (uint8_t) "0123456789abcdef"[byte & 15]);
    }
  }
  vs_text_cstr(uri, "?mode=ro&immutable=1");
  vs_text_byte(uri, 0);
}

static vs_status open_path(database *d, const char *path) {
  vs_text uri;
  VS_TRY(refuse_unfinished(d, path, "-wal"));
  VS_TRY(refuse_unfinished(d, path, "-journal"));
  vs_text_init(&uri, d->host, NULL);
  put_uri(&uri, path);
  vs_status status = uri.status == VS_OK ? VS_OK : out_of_memory(d);
  if (status == VS_OK) {
    const int code = sqlite3_open_v2(uri.bytes.data, &d->sqlite,
                                     SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX, NULL);
    if (code != SQLITE_OK) status = fail(d, code);
  }
  vs_text_deinit(&uri);
  return status;
}

static vs_status open_image(database *d, vs_reader bytes) {
  VS_TRY(read_image(d, bytes));
  int code = sqlite3_open_v2(":memory:", &d->sqlite, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
  const sqlite3_int64 size = (sqlite3_int64)d->image.count;
  if (code == SQLITE_OK)
    code = sqlite3_deserialize(d->sqlite, "main", d->image.data, size, size, SQLITE_DESERIALIZE_READONLY);
  return code == SQLITE_OK ? VS_OK : fail(d, code);
}

/* A file that was cut within a page would read as one whose last page ends with zeros. The size of a page is in the header
 * (sqlite.org/fileformat2.html); SQLite says what is wrong with one that cannot be. */
static vs_status check_size(const database *d) {
  enum { PAGE_SIZE_AT = 16 };
  sqlite3_file *file = NULL;
  sqlite3_int64 size = 0;
  uint8_t header[2] = {0};
  int code = sqlite3_file_control(d->sqlite, "main", SQLITE_FCNTL_FILE_POINTER, &file);
  if (code == SQLITE_OK && (file == NULL || file->pMethods == NULL)) code = SQLITE_CANTOPEN;
  if (code == SQLITE_OK) code = file->pMethods->xFileSize(file, &size);
  if (code == SQLITE_OK && size > PAGE_SIZE_AT + 2)
    code = file->pMethods->xRead(file, header, sizeof header, PAGE_SIZE_AT);
  if (code != SQLITE_OK) return fail(d, code);
  const unsigned stored = (unsigned)header[0] << 8 | header[1], page = stored == 1 ? 65536 : stored;
  if (page == 0 || size % page == 0) return VS_OK;
  return vs_fail(d->error, VS_TRUNCATED, VS_NO_OFFSET,
                 "truncated: the SQLite database ends within a page (%D bytes, pages of %u)", (int64_t)size,
                 page);
}

/* Nothing that the database defines may run, and its pages are checked as they are read (sqlite.org/security.html). */
static vs_status restrict_it(const database *d) {
  static const struct {
    int option, value;
  } options[] = {{SQLITE_DBCONFIG_DEFENSIVE, 1},      {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
                 {SQLITE_DBCONFIG_ENABLE_TRIGGER, 0}, {SQLITE_DBCONFIG_ENABLE_VIEW, 0},
                 {SQLITE_DBCONFIG_DQS_DML, 0},        {SQLITE_DBCONFIG_DQS_DDL, 0}};
  for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
    const int code = sqlite3_db_config(d->sqlite, options[i].option, options[i].value, NULL);
    if (code != SQLITE_OK) return fail(d, code);
  }
  (void)sqlite3_limit(d->sqlite, SQLITE_LIMIT_LENGTH, MOST_VALUE);
  (void)sqlite3_limit(d->sqlite, SQLITE_LIMIT_SQL_LENGTH, MOST_VALUE);
  const int code = sqlite3_exec(d->sqlite,
                                "PRAGMA cell_size_check = ON; PRAGMA ignore_check_constraints = ON; "
                                "PRAGMA mmap_size = 0; PRAGMA query_only = ON",
                                NULL, NULL, NULL);
  return code == SQLITE_OK ? check_size(d) : fail(d, code);
}

static void close_database(void *ctx) {
  database *d = ctx;
  if (d == NULL) return;
  (void)sqlite3_finalize(d->rows);
  (void)sqlite3_close_v2(d->sqlite);
  vs_vec_free(d->host, &d->image); /* after the database that is in it */
  vs_text_deinit(&d->text);
  vs_host_free(d->host, d, sizeof *d);
}

static vs_status open_database(const vs_host *host, const char *path, vs_reader bytes, vs_error *error,
                               void **out) {
  *out = NULL;
  database *d = vs_host_alloc(host, sizeof *d);
  if (d == NULL) return VS_NO_MEMORY;
  *d = (database){.host = host, .error = error, .status = VS_OK};
  vs_text_init(&d->text, host, NULL);
  vs_status status = path == NULL ? open_image(d, bytes) : open_path(d, path);
  if (status == VS_OK) status = restrict_it(d);
  if (status != VS_OK) {
    close_database(d);
    return status;
  }
  vs_jsonw_begin(&d->json, &d->text, 0);
  vs_jsonw_array_begin(&d->json);
  vs_jsonw_array_begin(&d->json);
  vs_jsonw_str(&d->json, VS_STR("tables"));
  vs_jsonw_array_end(&d->json);
  *out = d;
  return VS_OK;
}

const vs_database_library *vs_databases_linked(void) {
  static const vs_database_library library = {
      .open = open_database, .reader = reader, .close = close_database};
  return &library;
}

#else

const vs_database_library *vs_databases_linked(void) { return NULL; }

#endif
