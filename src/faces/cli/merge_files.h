/* The files that `merge` writes, in one of its formats. A database holds all tables; of the other formats each table is a file of its own, with the
 * table's name before the ending: job.parquet is job.ranks.parquet, job.owners.parquet and job.steps.parquet.
 *
 *   vs_merge_files files;
 *   VS_TRY(vs_merge_files_begin(&files, host, format, path, may_replace));
 *   ...                                       vs_merge_files_put for each batch, which may be empty
 *   status = vs_merge_files_end(&files);      the files get their names; if one cannot get its own, those before it have theirs
 *   vs_merge_files_deinit(&files);            always; without an end nothing is left behind
 *
 * After a failure `error` has a sentence, and `name` the file that it is about. */
#ifndef VS_CLI_MERGE_FILES_H
#define VS_CLI_MERGE_FILES_H

#include "codec/arrow_writer.h"
#include "codec/parquet_writer.h"
#include "codec/sql_writer.h"
#include "diff/job_tables.h"
#include "intake/linked/sqlite.h"
#include "os/outfile.h"

typedef enum vs_merge_format {
  VS_MERGE_SQLITE,
  VS_MERGE_ARROW,
  VS_MERGE_PARQUET,
  VS_MERGE_FORMATS
} vs_merge_format;

typedef struct vs_merge_format_row {
  const char *name, *ending, *opens_in;
} vs_merge_format_row;

extern const vs_merge_format_row vs_merge_formats[VS_MERGE_FORMATS];

typedef struct vs_merge_file {
  char name[VS_OUTFILE_PATH];
  vs_outfile out;
  vs_writer writer;
  vs_text text; /* of all formats */
  vs_arrow arrow;
  vs_parquet parquet;
} vs_merge_file;

typedef struct vs_merge_files {
  const vs_host *host;
  vs_merge_format format;
  size_t count; /* files that are open */
  vs_merge_file *of[VS_JOB_TABLES];
  vs_sqlite *sqlite;
  vs_error error;
  char name[VS_OUTFILE_PATH]; /* of the file that failed */
} vs_merge_files;

VS_MUST_CHECK vs_status vs_merge_files_begin(vs_merge_files *files, const vs_host *host,
                                             vs_merge_format format, const char *path, bool may_replace);
VS_MUST_CHECK vs_status vs_merge_files_put(vs_merge_files *files, const vs_records *records);
VS_MUST_CHECK vs_status vs_merge_files_end(vs_merge_files *files);
void vs_merge_files_deinit(vs_merge_files *files);

#endif
