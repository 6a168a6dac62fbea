#include "base/nearest.h"
#include "faces/cli/cli.h"
#include "faces/commands/help.h"
#include "intake/linked/sqlite.h"
#include "os/process.h"

static const char sqlite_name[] = "sqlite";

static bool is_format(const char *a, const char *b) { return vs_str_equal(vs_str_from(a), vs_str_from(b)); }

static vs_exit refuse(const char *format, const char *text) {
  vs_error error;
  vs_fail(&error, VS_BAD_ARGUMENT, VS_NO_OFFSET, format, text);
  return vs_print_error(VS_STR(""), &error);
}

/* NULL for an unknown format: then the error with a suggestion was printed. */
static const vs_export_format *find_format(const char *typed) {
  vs_nearest nearest = vs_nearest_to(vs_str_from(typed));
  for (size_t i = 0; i < vs_export_format_count; i++) {
    if (is_format(vs_export_formats[i].name, typed)) return &vs_export_formats[i];
    vs_nearest_offer(&nearest, vs_str_from(vs_export_formats[i].name));
  }
  vs_error error;
  if (nearest.best.size != 0)
    vs_fail(&error, VS_BAD_ARGUMENT, VS_NO_OFFSET, "unknown format \"%S\"; did you mean %S?",
            vs_str_from(typed), nearest.best);
  else
    vs_fail(&error, VS_BAD_ARGUMENT, VS_NO_OFFSET, "unknown format \"%S\" (see: vramscope export --help)",
            vs_str_from(typed));
  (void)vs_print_error(VS_STR(""), &error);
  return NULL;
}

static void begin_request(const vs_cli *cli, vs_client *client, const char *format) {
  vs_client_begin(client, "export");
  vs_client_param(client, "format", format);
  if (vs_cli_has(cli, VS_OPTION_TABLE)) vs_client_param(client, "what", cli->line->values[VS_OPTION_TABLE]);
  if (vs_cli_has(cli, VS_OPTION_AXIS)) vs_client_param(client, "axis", cli->line->values[VS_OPTION_AXIS]);
  vs_cli_pass_options(cli, client, VS_EVERY_OPTION);
}

static vs_exit export_sqlite(vs_cli *cli, vs_client *client) {
  vs_sqlite *sqlite = NULL;
  vs_error error = {.status = VS_OK, .offset = VS_NO_OFFSET};
  const vs_str name = vs_str_from(cli->line->values[VS_OPTION_OUTPUT]);
  if (vs_outfile_name(&cli->out, &error) != VS_OK) return vs_cli_say_output(name, &error);
  if (vs_sqlite_create(cli->host, cli->out.temporary, &error, &sqlite) != VS_OK)
    return vs_print_error(name, &error);
  begin_request(cli, client, "sql");
  vs_exit code = vs_client_pass(client, vs_sqlite_writer(sqlite));
  if (code == VS_EXIT_OK || error.status != VS_OK)
    if (vs_sqlite_finish(sqlite) != VS_OK) code = vs_print_error(name, &error);
  vs_sqlite_destroy(sqlite);
  return code;
}

/* The database is written by SQLite itself, so it needs a file with a name. */
static bool has_file(const vs_cli *cli) { return cli->out.path[0] != 0; }

vs_exit vs_cli_export(vs_cli *cli) {
  const vs_export_format *format = find_format(cli->line->arguments[1]);
  if (format == NULL) return VS_EXIT_USAGE;
  if (!vs_cli_has(cli, VS_OPTION_OUTPUT) && vs_stream_is_terminal(VS_STDOUT))
    return refuse("binary output to a terminal: name a file, for example -o memory%s", format->extension);
  const bool is_sqlite = is_format(format->name, sqlite_name);
  if (is_sqlite && !has_file(cli))
    return refuse("an SQLite database needs a file: -o memory%s", format->extension);
  vs_client client;
  vs_exit code = vs_cli_load(cli, &client);
  if (code != VS_EXIT_OK) return code;
  if (is_sqlite) {
    code = export_sqlite(cli, &client);
  } else {
    begin_request(cli, &client, format->name);
    code = vs_client_pass(&client, vs_outfile_writer(&cli->out));
  }
  vs_client_close(&client);
  if (code == VS_EXIT_OK && has_file(cli))
    vs_cli_say_written(cli, cli->line->values[VS_OPTION_OUTPUT], "", format->opens_in);
  return code;
}
