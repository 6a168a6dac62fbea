#include "faces/cli/merge_files.h"

const vs_merge_format_row vs_merge_formats[VS_MERGE_FORMATS] = {
    [VS_MERGE_SQLITE] = {"sqlite", ".sqlite", "sqlite3, DuckDB, pandas"},
    [VS_MERGE_ARROW] = {"arrow", ".arrow", "pyarrow, pandas, polars, DuckDB"},
    [VS_MERGE_PARQUET] = {"parquet", ".parquet", "DuckDB, pandas, polars, Spark, Dask"},
};

/* ---- names */

static bool holds_all_tables(vs_merge_format format) { return format == VS_MERGE_SQLITE; }

/* Where the table's name goes: before the ending of the format, else at the end of the name. */
static size_t stem_of(const vs_merge_files *files, vs_str path) {
  const vs_str ending = vs_str_from(vs_merge_formats[files->format].ending);
  return vs_str_ends(path, ending) ? path.size - ending.size : path.size;
}

/* Sets `name` to the file of a table. */
static vs_status name_file(vs_merge_files *files, const char *path, size_t table) {
  const vs_str given = vs_str_from(path), type = vs_str_from(vs_job_table_types[table].name);
  const char *ending = vs_merge_formats[files->format].ending;
  const size_t stem = stem_of(files, given);
  if (given.size + type.size + strlen(ending) + 2 > sizeof files->name)
    return vs_fail(&files->error, VS_IO, VS_NO_OFFSET, "the name is too long");
  memcpy(files->name, path, given.size + 1);
  if (!holds_all_tables(files->format))
    vs_format(files->name + stem, sizeof files->name - stem, ".%s%s", type.data, ending);
  return VS_OK;
}

/* ---- beginning */

static vs_status open_file(vs_merge_files *files, const char *path, size_t table, bool may_replace) {
  VS_TRY(name_file(files, path, table));
  vs_merge_file *file = vs_host_alloc(files->host, sizeof *file);
  if (file == NULL) return VS_NO_MEMORY;
  const vs_status status = vs_outfile_create(&file->out, files->name, may_replace, &files->error);
  if (status != VS_OK) {
    vs_host_free(files->host, file, sizeof *file);
    return status;
  }
  memcpy(file->name, files->name, sizeof file->name);
  file->writer = vs_outfile_writer(&file->out);
  vs_text_init(&file->text, files->host, &file->writer);
  files->of[files->count++] = file;
  if (files->format == VS_MERGE_ARROW) vs_arrow_begin(&file->arrow, &file->text, &vs_job_table_types[table]);
  if (files->format == VS_MERGE_PARQUET)
    vs_parquet_begin(&file->parquet, &file->text, &vs_job_table_types[table]);
  return VS_OK;
}

static vs_status begin_sqlite(vs_merge_files *files) {
  vs_merge_file *file = files->of[0];
  if (file->out.path[0] == 0)
    return vs_fail(&files->error, VS_IO, VS_NO_OFFSET,
                   "an SQLite database needs a file, not a pipe or a device");
  VS_TRY(vs_outfile_name(&file->out, &files->error));
  VS_TRY(vs_sqlite_create(files->host, file->out.temporary, &files->error, &files->sqlite));
  file->writer = vs_sqlite_writer(files->sqlite);
  vs_text_cstr(&file->text, "BEGIN;\n");
  for (size_t i = 0; i < VS_JOB_TABLES; i++) vs_sql_table(&file->text, &vs_job_table_types[i]);
  return file->text.status;
}

vs_status vs_merge_files_begin(vs_merge_files *files, const vs_host *host, vs_merge_format format,
                               const char *path, bool may_replace) {
  *files =
      (vs_merge_files){.host = host, .format = format, .error = {.status = VS_OK, .offset = VS_NO_OFFSET}};
  const size_t count = holds_all_tables(format) ? 1 : VS_JOB_TABLES;
  for (size_t i = 0; i < count; i++) VS_TRY(open_file(files, path, i, may_replace));
  return files->format == VS_MERGE_SQLITE ? begin_sqlite(files) : VS_OK;
}

/* ---- rows */

static size_t table_of(const vs_records *records) {
  size_t table = 0;
  while (&vs_job_table_types[table] != records->type) table++;
  return table;
}

/* The failure of a text: the cause is that of the file below it. */
static vs_status failed(vs_merge_files *files, const vs_merge_file *file, vs_status status) {
  if (status == VS_OK) return VS_OK;
  memcpy(files->name, file->name, sizeof files->name);
  if (files->error.status == VS_OK) files->error = file->out.error;
  return status;
}

vs_status vs_merge_files_put(vs_merge_files *files, const vs_records *records) {
  vs_merge_file *file = files->of[holds_all_tables(files->format) ? 0 : table_of(records)];
  switch (files->format) {
    case VS_MERGE_SQLITE: vs_sql_records(&file->text, records); break;
    case VS_MERGE_ARROW: vs_arrow_records(&file->arrow, records); break;
    case VS_MERGE_PARQUET: vs_parquet_records(&file->parquet, records); break;
    case VS_MERGE_FORMATS: break;
  }
  return failed(files, file, file->text.status);
}

/* ---- the end */

static vs_status end_sqlite(vs_merge_files *files) {
  vs_merge_file *file = files->of[0];
  vs_text_cstr(&file->text, "COMMIT;\n");
  VS_TRY(vs_text_finish(&file->text));
  return vs_sqlite_finish(files->sqlite);
}

static vs_status end_file(vs_merge_files *files, vs_merge_file *file) {
  if (files->format == VS_MERGE_SQLITE) return end_sqlite(files);
  if (files->format == VS_MERGE_ARROW) vs_arrow_end(&file->arrow);
  if (files->format == VS_MERGE_PARQUET) vs_parquet_end(&file->parquet);
  return vs_text_finish(&file->text);
}

/* All bytes are written before the first file gets its name. */
vs_status vs_merge_files_end(vs_merge_files *files) {
  vs_status status = VS_OK;
  for (size_t i = 0; i < files->count && status == VS_OK; i++) {
    status = end_file(files, files->of[i]);
    if (status == VS_OK) status = vs_outfile_flush(&files->of[i]->out);
    status = failed(files, files->of[i], status);
  }
  for (size_t i = 0; i < files->count && status == VS_OK; i++)
    status = failed(files, files->of[i], vs_outfile_finish(&files->of[i]->out, &files->error));
  return status;
}

void vs_merge_files_deinit(vs_merge_files *files) {
  vs_sqlite_destroy(files->sqlite);
  for (size_t i = 0; i < files->count; i++) {
    vs_outfile_abandon(&files->of[i]->out);
    if (files->format == VS_MERGE_ARROW) vs_arrow_deinit(&files->of[i]->arrow);
    if (files->format == VS_MERGE_PARQUET) vs_parquet_deinit(&files->of[i]->parquet);
    vs_text_deinit(&files->of[i]->text);
    vs_host_free(files->host, files->of[i], sizeof *files->of[i]);
  }
}
