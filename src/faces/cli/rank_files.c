#include "faces/cli/rank_files.h"

bool vs_cli_names_ranks(const vs_cli *cli) {
  return cli->line->argument_count > 1 ||
         (cli->line->argument_count == 1 && vs_rank_files_is_folder(cli->line->arguments[0]));
}

vs_exit vs_cli_list_ranks(const vs_cli *cli, const char *const *paths, size_t count, vs_rank_files *files) {
  vs_error error = {.status = VS_OK, .offset = VS_NO_OFFSET};
  const vs_status status = vs_rank_files_list(files, cli->host, paths, count, &error);
  if (status == VS_OK) return VS_EXIT_OK;
  return status == VS_NO_MEMORY ? VS_EXIT_NO_MEMORY : vs_print_error(vs_str_from(files->failed), &error);
}

/* ---- reading */

static vs_status open_file(void *ctx, const char *path, vs_engine **engine, vs_error *error) {
  const vs_rank_terminal *terminal = ctx;
  const vs_intake intake = {.name = vs_str_from(path)};
  return vs_intake_open(terminal->host, &intake, path, engine, error);
}

static vs_status show(void *ctx, size_t number, size_t count, const char *path) {
  vs_rank_terminal *terminal = ctx;
  char text[300];
  vs_format(text, sizeof text, "file %U of %U: %s", (uint64_t)number + 1, (uint64_t)count, path);
  vs_statusline_draw(&terminal->line, vs_str_from(text));
  return VS_OK;
}

vs_rank_face vs_rank_terminal_begin(vs_rank_terminal *terminal, const vs_cli *cli) {
  terminal->host = cli->host;
  vs_statusline_begin(&terminal->line, !vs_cli_has(cli, VS_OPTION_QUIET));
  return (vs_rank_face){.ctx = terminal, .open = open_file, .wait = show};
}

void vs_rank_terminal_end(vs_rank_terminal *terminal) { vs_statusline_end(&terminal->line); }

vs_status vs_cli_read_ranks(const vs_cli *cli, const vs_rank_files *files, const vs_rank_reader *reader) {
  vs_rank_terminal terminal;
  const vs_rank_face face = vs_rank_terminal_begin(&terminal, cli);
  const vs_status status = vs_rank_files_read(files, &face, reader);
  vs_rank_terminal_end(&terminal);
  return status;
}

vs_status vs_cli_ask_rank(const vs_cli *cli, vs_engine *engine, const char *method, const char *more,
                          vs_rank_replies *replies, vs_error *error) {
  return vs_rank_ask(cli->host, cli->line->values[VS_OPTION_DEVICE], engine, method, more, replies, error);
}
