/* vramscope merge: the recordings of all ranks of a job as tables (ranks/tables.h), written to files. */
#include "faces/cli/merge_files.h"
#include "faces/cli/rank_files.h"
#include "ranks/tables.h"

typedef struct merging {
  vs_cli *cli;
  vs_merge_files files;
  vs_rank_tables_result result;
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

static void say_written(const merging *m) {
  char what[120];
  const uint64_t all = m->result.read + m->result.not_read;
  vs_format(what, sizeof what, " with %U rank%s", all, all == 1 ? "" : "s");
  if (m->result.not_read != 0)
    vs_format(what, sizeof what, " with %U rank%s, %U of them not read (column error)", all,
              all == 1 ? "" : "s", m->result.not_read);
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

static vs_status read_ranks(merging *m, const vs_rank_files *ranks) {
  const vs_rank_tables_options options = {
      .device = m->cli->line->values[VS_OPTION_DEVICE], .ctx = m, .put = put};
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
  if (status == VS_OK) say_written(m);
  const vs_exit code = status == VS_OK ? VS_EXIT_OK : say_failure(m, status);
  vs_merge_files_deinit(&m->files);
  if (m->result.not_read != 0) m->cli->program_exit = VS_EXIT_FILE; /* the tables have the other ranks */
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
  code = vs_cli_list_ranks(cli, cli->line->arguments, cli->line->argument_count, &ranks);
  if (code == VS_EXIT_OK) code = merge(m, &ranks, format);
  vs_rank_files_deinit(&ranks);
  vs_host_free(cli->host, m, sizeof *m);
  return code;
}
