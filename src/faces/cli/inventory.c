#include "faces/cli/inventory.h"
#include "codec/json_reply.h"
#include "diff/side.h"
#include "faces/cli/textfile.h"

/* A written inventory is smaller: one of 100,000 stacks has about 30 MB. */
enum { MOST_BYTES = 1 << 30 };

/* ---- files of JSON */

static vs_exit refuse(const char *path, const char *sentence) {
  vs_error error;
  vs_fail(&error, VS_BAD_ARGUMENT, VS_NO_OFFSET, "%s", sentence);
  return vs_print_error(vs_str_from(path), &error);
}

/* The inventory of the document that --device names. */
static vs_exit choose(const vs_cli *cli, const char *path, const vs_json_doc *document, vs_json *inventory) {
  const char *value = cli->line->values[VS_OPTION_DEVICE];
  int64_t device = 0;
  if (value != NULL && !vs_parse_i64(vs_str_from(value), &device))
    return refuse(path, "the file has inventories of GPUs: --device takes a number");
  *inventory = vs_inventory_in(vs_json_root(document), value == NULL ? NULL : &device);
  if (!vs_json_is_absent(*inventory)) return VS_EXIT_OK;
  return refuse(path, value == NULL ? "the file is a reply of vramscope without an inventory (a dry run "
                                      "needs PyTorch and its history for it)"
                                    : "the file has no inventory of that GPU");
}

static vs_exit open_reply(vs_cli *cli, const char *path, const char *at, vs_json_doc *document,
                          vs_json *inventory) {
  vs_error error;
  if (at != NULL)
    return refuse(path, "the file has the inventory of one moment: --at cannot choose another one");
  if (vs_textfile_json(cli->host, path, MOST_BYTES, document, &error) != VS_OK)
    return vs_print_error(vs_str_from(path), &error);
  const vs_exit code = choose(cli, path, document, inventory);
  if (code != VS_EXIT_OK) vs_json_doc_deinit(document);
  return code;
}

/* ---- snapshots and recordings */

static vs_exit ask(vs_cli *cli, vs_client *client, const char *at, vs_json_doc *document) {
  vs_client_begin(client, "inventory");
  vs_cli_pass_options(cli, client, VS_OPTION_BIT(VS_OPTION_DEVICE));
  if (at != NULL) vs_client_param(client, "at", at);
  return vs_client_ask(client, document);
}

vs_exit vs_cli_inventory(vs_cli *cli, const char *path, const char *at, vs_json_doc *document,
                         vs_json *inventory) {
  vs_client client;
  if (vs_textfile_is_reply(path)) return open_reply(cli, path, at, document, inventory);
  vs_exit code = vs_client_open(&client, cli->host, path, path, !vs_cli_has(cli, VS_OPTION_QUIET));
  if (code != VS_EXIT_OK) return code;
  code = vs_client_need_pytorch(&client);
  if (code == VS_EXIT_OK) code = ask(cli, &client, at, document);
  if (code == VS_EXIT_OK) *inventory = vs_json_root(document);
  vs_client_close(&client);
  return code;
}
