/* vramscope merge: the recordings of all ranks of a job as tables (ranks/tables.h), written to files. */
#include "faces/cli/merge_files.h"
#include "faces/cli/rank_files.h"
#include "ranks/tables.h"

enum { MOST_NAMED = 3 }; /* files that could not be read */

typedef struct merging {
  vs_cli *cli;
  vs_merge_files files;
  vs_rank_tables_result result;
  vs_text failures; /* of MOST_NAMED files at most: name, sentence; each ends in 0 */
} merging;

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

/* The files that could not be read by their names, the first ones of many; the table has all of them. */
static void say_not_read(const merging *m) {
  const char *at = m->failures.bytes.data;
  const uint64_t left = m->result.not_read > MOST_NAMED ? m->result.not_read - MOST_NAMED : 0;
  vs_error error;
  for (size_t i = 0; i < m->result.not_read && i < MOST_NAMED; i++) {
    const vs_str name = vs_str_from(at), why = vs_str_from(at + name.size + 1);
    vs_fail(&error, VS_IO, VS_NO_OFFSET, "%S", why);
    (void)vs_print_error(name, &error);
    at = why.data + why.size + 1;
  }
  if (left == 0) return;
  vs_fail(&error, VS_IO, VS_NO_OFFSET, "%U more file%s could not be read (column error)", left,
          left == 1 ? "" : "s");
  (void)vs_print_error(VS_STR(""), &error);
}

static void say_written(const merging *m) {
  char what[160];
  vs_text text;
  const vs_rank_tables_result *result = &m->result;
  const uint64_t all = result->read + result->not_read;
  vs_text_init(&text, m->cli->host, NULL);
  vs_text_format(&text, " with %U rank%s", all, all == 1 ? "" : "s");
  if (result->not_read != 0) vs_text_format(&text, ", %U of them not read (column error)", result->not_read);
  if (result->incomplete != 0)
    vs_text_format(&text, ", %U%s incomplete (column findings)", result->incomplete,
                   result->not_read == 0 ? " of them" : "");
  vs_format(what, sizeof what, "%S", vs_text_view(&text));
  vs_text_deinit(&text);
  for (size_t i = 0; i < m->files.count; i++)
    vs_cli_say_written(m->cli, m->files.of[i]->name, i == 0 ? what : "",
                       vs_merge_formats[m->files.format].opens_in);
}

static vs_exit say_failure(const merging *m, vs_status status) {
  vs_error error = m->files.error;
  if (error.status == VS_OK) vs_fail(&error, status, VS_NO_OFFSET, "%s", vs_status_text(status));
  return vs_cli_say_output(vs_str_from(m->files.name), &error);
}

static vs_status put(void *ctx, const vs_records *records) {
  merging *m = ctx;
  return vs_merge_files_put(&m->files, records);
}

static void keep_failure(void *ctx, const char *name, const char *why) {
  merging *m = ctx;
  if (m->result.not_read > MOST_NAMED) return;
  vs_text_cstr(&m->failures, name);
  vs_text_byte(&m->failures, 0);
  vs_text_cstr(&m->failures, why);
  vs_text_byte(&m->failures, 0);
}

static vs_status read_ranks(merging *m, const vs_rank_files *ranks) {
  const vs_rank_tables_options options = {
      .device = m->cli->line->values[VS_OPTION_DEVICE], .ctx = m, .put = put, .fail = keep_failure};
  vs_rank_terminal terminal;
  const vs_rank_face face = vs_rank_terminal_begin(&terminal, m->cli);
  const vs_status status = vs_rank_tables_read(ranks, &face, &options, &m->result);
  vs_rank_terminal_end(&terminal);
  return status;
}

static vs_exit merge(merging *m, const vs_rank_files *ranks, vs_merge_format format) {
  vs_status status =
      vs_merge_files_begin(&m->files, m->cli->host, format, m->cli->line->values[VS_OPTION_MERGED],
                           vs_cli_has(m->cli, VS_OPTION_FORCE));
  if (status == VS_OK) status = read_ranks(m, ranks);
  if (status == VS_OK) status = vs_merge_files_end(&m->files);
  if (status == VS_OK) status = m->failures.status;
  if (status == VS_OK) {
    say_not_read(m);
    say_written(m);
  }
  const vs_exit code = status == VS_OK ? VS_EXIT_OK : say_failure(m, status);
  vs_merge_files_deinit(&m->files);
  if (m->result.not_read != 0) m->cli->program_exit = VS_EXIT_FILE; /* the tables have the other ranks */
  return code;
}

vs_exit vs_cli_merge(vs_cli *cli) {
  vs_merge_format format = VS_MERGE_FORMATS;
  vs_rank_files ranks;
  vs_exit code = choose_format(cli, &format);
  if (code != VS_EXIT_OK) return code;
  merging *m = vs_host_alloc(cli->host, sizeof *m);
  if (m == NULL) return VS_EXIT_NO_MEMORY;
  *m = (merging){.cli = cli};
  vs_text_init(&m->failures, cli->host, NULL);
  code = vs_cli_list_ranks(cli, cli->line->arguments, cli->line->argument_count, &ranks);
  if (code == VS_EXIT_OK) code = merge(m, &ranks, format);
  vs_rank_files_deinit(&ranks);
  vs_text_deinit(&m->failures);
  vs_host_free(cli->host, m, sizeof *m);
  return code;
}
