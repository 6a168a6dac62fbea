#include "faces/cli/cli.h"
#include "base/check.h"
#include "os/process.h"

vs_exit vs_cli_load(vs_cli *cli, vs_client *client) {
  const char *name = cli->line->arguments[0];
  VS_ASSERT(name != NULL);
  return vs_client_open(client, cli->host, name, cli->shown_name == NULL ? name : cli->shown_name,
                        !vs_cli_has(cli, VS_OPTION_QUIET));
}

vs_exit vs_cli_answer(vs_cli *cli, vs_exit (*ask)(vs_cli *cli, vs_client *client)) {
  vs_client client;
  vs_exit code = vs_cli_load(cli, &client);
  if (code != VS_EXIT_OK) return code;
  if (cli->line->command != VS_COMMAND_report) code = vs_client_need_pytorch(&client);
  if (code == VS_EXIT_OK) code = ask(cli, &client);
  vs_client_close(&client);
  return code;
}

static const char *value_of(const vs_cli *cli, vs_option_id id, vs_option_set options) {
  return (options >> id & 1) != 0 ? cli->line->values[id] : NULL;
}

void vs_cli_pass_options(const vs_cli *cli, vs_client *client, vs_option_set options) {
  const char *device = value_of(cli, VS_OPTION_DEVICE, options), *at = value_of(cli, VS_OPTION_AT, options);
  const char *by = value_of(cli, VS_OPTION_BY, options), *top = value_of(cli, VS_OPTION_TOP, options);
  const char *filter = value_of(cli, VS_OPTION_FILTER, options);
  uint64_t number;
  if (device != NULL && vs_parse_u64(vs_str_from(device), &number))
    vs_client_param_u64(client, "device", number);
  else if (device != NULL) vs_client_param(client, "device", device);
  if (at != NULL) vs_client_param(client, "at", at);
  if (by != NULL) vs_client_param(client, "by", by);
  if (top != NULL && vs_parse_u64(vs_str_from(top), &number)) vs_client_param_u64(client, "top", number);
  if (filter != NULL) vs_client_param(client, "filter", filter);
}

void vs_cli_pass_unit(const vs_cli *cli, vs_client *client) {
  if (cli->screen.unit != VS_UNIT_BINARY)
    vs_client_param(client, "unit", cli->screen.unit == VS_UNIT_SI ? "si" : "bytes");
}

vs_exit vs_cli_say_output(vs_str name, vs_error *error) {
  if (vs_str_equal(vs_str_from(error->text), VS_STR("file exists")))
    vs_fail(error, VS_IO, VS_NO_OFFSET, "%s", "file exists; use --force to overwrite it");
  if (error->status != VS_NO_MEMORY) error->status = VS_IO;
  return vs_print_error(name, error);
}

void vs_cli_say_written(const vs_cli *cli, const char *name, const char *what, const char *opens_in) {
  vs_text note;
  if (vs_cli_has(cli, VS_OPTION_QUIET)) return;
  vs_text_init(&note, cli->host, NULL);
  vs_text_format(&note, "Wrote %S%s: opens in %s\n", vs_str_from(name), what, opens_in);
  const vs_str view = vs_text_view(&note);
  if (note.status == VS_OK) vs_stderr_put(view.data, view.size);
  vs_text_deinit(&note);
}

vs_exit vs_cli_pass_reply(vs_cli *cli, vs_client *client) {
  const vs_writer writer = vs_outfile_writer(&cli->out);
  const vs_exit code = vs_client_pass(client, writer);
  if (code != VS_EXIT_OK) return code;
  vs_text_byte(&cli->screen.text, '\n');
  return VS_EXIT_OK;
}

void vs_cli_put_document(vs_cli *cli, const vs_text *bytes,
                         void (*put_text)(vs_screen *screen, vs_json document)) {
  vs_json_doc document;
  vs_error error;
  vs_status status = bytes->status;
  if (status == VS_OK && vs_cli_has(cli, VS_OPTION_JSON)) {
    vs_text_str(&cli->screen.text, vs_text_view(bytes));
    return;
  }
  if (status == VS_OK) status = vs_json_doc_init(&document, cli->host, vs_text_view(bytes), &error);
  if (status != VS_OK) {
    cli->screen.text.status = status;
    return;
  }
  put_text(&cli->screen, vs_json_root(&document));
  vs_json_doc_deinit(&document);
}
