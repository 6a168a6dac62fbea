/* vramscope merge: the recordings of all ranks of a job as tables. Each file is forgotten once its rows are there, so the memory is that of a few
 * files. */
#include "faces/cli/merge_files.h"
#include "faces/cli/rank_files.h"

typedef struct merging {
  vs_cli *cli;
  vs_job_tables tables;
  vs_merge_files files;
  bool cannot_write;
  uint64_t read, not_read;
} merging;

/* ---- rows */

/* Writes the tables that have enough rows, or all of them. */
static vs_status write_tables(merging *m, bool are_all) {
  vs_status status = VS_OK;
  for (size_t i = 0; i < VS_JOB_TABLES && status == VS_OK; i++) {
    vs_records *records = &m->tables.of[i];
    if (!are_all && !vs_records_is_full(records)) continue;
    status = vs_merge_files_put(&m->files, records);
    vs_records_clear(records);
  }
  m->cannot_write = status != VS_OK;
  return status;
}

enum { INVENTORY, REPORT, STEPS };

static vs_status ask(const void *ctx, size_t number, const char *name, vs_engine *engine,
                     vs_rank_replies *replies, vs_error *error) {
  const merging *m = ctx;
  (void)number, (void)name;
  VS_TRY(vs_rank_ask(m->cli, engine, "inventory", "", replies, error));
  VS_TRY(vs_rank_ask(m->cli, engine, "report", "\"top\": 0, \"frames\": 1, ", replies, error));
  return vs_rank_ask(m->cli, engine, "steps", "", replies, error);
}

static vs_status take(void *ctx, size_t number, const char *name, const vs_rank_replies *replies,
                      vs_engine **engine, vs_error *error) {
  merging *m = ctx;
  const vs_job_replies of_job = {.inventory = vs_rank_reply(replies, INVENTORY),
                                 .report = vs_rank_reply(replies, REPORT),
                                 .steps = vs_rank_reply(replies, STEPS)};
  (void)number, (void)engine, (void)error;
  VS_TRY(vs_job_tables_add(&m->tables, vs_str_from(name), &of_job));
  m->read++;
  return write_tables(m, false);
}

/* Also called where the tables cannot be written: then reading ends. */
static vs_status fail(void *ctx, size_t number, const char *name, bool was_asked, const char *why) {
  merging *m = ctx;
  (void)number, (void)was_asked;
  if (m->cannot_write) return VS_IO;
  m->not_read++;
  VS_TRY(vs_job_tables_add_failed(&m->tables, vs_str_from(name), vs_str_from(why)));
  return write_tables(m, false);
}

/* ---- the command line */

static vs_exit refuse(vs_error *error) { return vs_print_error(VS_STR(""), error); }

/* That of --format, else that of the ending. Prints a failure. */
static vs_exit choose_format(const vs_cli *cli, vs_merge_format *format) {
  const char *typed = cli->line->values[VS_OPTION_MERGE_FORMAT], *path = cli->line->values[VS_OPTION_MERGED];
  vs_error error;
  if (path == NULL || *path == 0 || vs_str_equal(vs_str_from(path), VS_STR("-"))) {
    vs_fail(&error, VS_BAD_ARGUMENT, VS_NO_OFFSET, "name the file to write: -o job.sqlite");
    return refuse(&error);
  }
  for (size_t i = 0; i < VS_MERGE_FORMATS; i++) {
    *format = (vs_merge_format)i;
    if (typed != NULL ? vs_str_equal(vs_str_from(typed), vs_str_from(vs_merge_formats[i].name))
                      : vs_str_ends(vs_str_from(path), vs_str_from(vs_merge_formats[i].ending)))
      return VS_EXIT_OK;
  }
  vs_fail(&error, VS_BAD_ARGUMENT, VS_NO_OFFSET,
          "the format follows from the ending of %S: .sqlite, .arrow or .parquet; or name it with --format",
          vs_str_from(path));
  return refuse(&error);
}

/* ---- the command */

static void say_written(const merging *m) {
  char what[120];
  const uint64_t all = m->read + m->not_read;
  vs_format(what, sizeof what, " with %U rank%s", all, all == 1 ? "" : "s");
  if (m->not_read != 0)
    vs_format(what, sizeof what, " with %U rank%s, %U of them not read (column error)", all,
              all == 1 ? "" : "s", m->not_read);
  for (size_t i = 0; i < m->files.count; i++)
    vs_cli_say_written(m->cli, m->files.of[i]->name, i == 0 ? what : "",
                       vs_merge_formats[m->files.format].opens_in);
}

static vs_exit say_failure(const merging *m, vs_status status) {
  vs_error error = m->files.error;
  if (error.status == VS_OK) vs_fail(&error, status, VS_NO_OFFSET, "%s", vs_status_text(status));
  return vs_cli_say_output(vs_str_from(m->files.name), &error);
}

static vs_exit merge(merging *m, const vs_rank_files *ranks, vs_merge_format format) {
  const vs_rank_reader reader = {.ctx = m, .ask = ask, .take = take, .fail = fail};
  vs_status status =
      vs_merge_files_begin(&m->files, m->cli->host, format, m->cli->line->values[VS_OPTION_MERGED],
                           vs_cli_has(m->cli, VS_OPTION_FORCE));
  if (status == VS_OK) status = vs_rank_files_read(ranks, &reader);
  if (status == VS_OK) status = write_tables(m, true);
  if (status == VS_OK) status = vs_merge_files_end(&m->files);
  if (status == VS_OK) say_written(m);
  const vs_exit code = status == VS_OK ? VS_EXIT_OK : say_failure(m, status);
  vs_merge_files_deinit(&m->files);
  if (m->not_read != 0) m->cli->program_exit = VS_EXIT_FILE; /* the tables have the other ranks */
  return code;
}

vs_exit vs_cli_merge(vs_cli *cli) {
  vs_merge_format format;
  vs_rank_files ranks;
  vs_exit code = choose_format(cli, &format);
  if (code != VS_EXIT_OK) return code;
  merging *m = vs_host_alloc(cli->host, sizeof *m);
  if (m == NULL) return VS_EXIT_NO_MEMORY;
  *m = (merging){.cli = cli};
  code = vs_rank_files_list(cli, cli->line->arguments, cli->line->argument_count, &ranks);
  if (code == VS_EXIT_OK) {
    vs_job_tables_init(&m->tables, cli->host);
    code = merge(m, &ranks, format);
    vs_job_tables_deinit(&m->tables);
  }
  vs_rank_files_deinit(&ranks);
  vs_host_free(cli->host, m, sizeof *m);
  return code;
}
