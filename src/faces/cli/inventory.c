#include "faces/cli/inventory.h"
#include "codec/json_reply.h"
#include "diff/side.h"
#include "os/infile.h"

/* A written inventory is smaller: one of 100,000 stacks has about 30 MB. */
enum { MOST_BYTES = 1 << 30, CHUNK = 1 << 16 };

/* ---- files of JSON */

static vs_status read_all(vs_infile *file, size_t most, vs_text *bytes, vs_error *error) {
  static uint8_t chunk[CHUNK];
  const vs_reader reader = vs_infile_reader(file);
  for (;;) {
    size_t got = 0;
    const vs_status status = reader.read(reader.ctx, chunk, sizeof chunk, &got);
    if (status != VS_OK) {
      *error = file->error;
      return status;
    }
    if (got == 0) return bytes->status;
    vs_text_put(bytes, chunk, got);
    if (bytes->bytes.count > most)
      return vs_fail(error, VS_LIMIT, most, "the file is too large for an inventory of vramscope");
  }
}

/* Replies begin with their schema; snapshots as JSON do not have such a member. */
static bool begins_as_reply(vs_str head) {
  size_t at = 0;
  const vs_str key = VS_STR("\"schema\"");
  if (head.size == 0 || head.data[at++] != '{') return false;
  while (at < head.size && (head.data[at] == ' ' || head.data[at] == '\n' || head.data[at] == '\r')) at++;
  return vs_str_starts((vs_str){head.data + at, head.size - at}, key);
}

/* Whether the file is a reply. A pipe is not looked into, because it can be read only once. */
static bool is_reply(const char *path) {
  uint8_t head[32];
  size_t got = 0;
  vs_infile file;
  vs_error error;
  if (!vs_infile_is_regular(path) || vs_infile_open(&file, path, &error) != VS_OK) return false;
  const vs_reader reader = vs_infile_reader(&file);
  const vs_status status = reader.read(reader.ctx, head, sizeof head, &got);
  vs_infile_close(&file);
  return status == VS_OK && begins_as_reply((vs_str){(const char *)head, got});
}

static vs_status load_reply(vs_cli *cli, const char *path, vs_json_doc *inventory, vs_error *error) {
  vs_infile file;
  vs_text bytes;
  VS_TRY(vs_infile_open(&file, path, error));
  vs_text_init(&bytes, cli->host, NULL);
  vs_status status = read_all(&file, MOST_BYTES, &bytes, error);
  if (status == VS_OK) status = vs_json_doc_init(inventory, cli->host, vs_text_view(&bytes), error);
  vs_text_deinit(&bytes);
  vs_infile_close(&file);
  return status;
}

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
  vs_error error = {.status = VS_OK, .offset = VS_NO_OFFSET};
  if (at != NULL)
    return refuse(path, "the file has the inventory of one moment: --at cannot choose another one");
  const vs_status status = load_reply(cli, path, document, &error);
  if (status != VS_OK) {
    if (error.status == VS_OK) vs_fail(&error, status, VS_NO_OFFSET, "%s", vs_status_text(status));
    return vs_print_error(vs_str_from(path), &error);
  }
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
  if (is_reply(path)) return open_reply(cli, path, at, document, inventory);
  vs_exit code = vs_client_open(&client, cli->host, path, path, !vs_cli_has(cli, VS_OPTION_QUIET));
  if (code != VS_EXIT_OK) return code;
  code = ask(cli, &client, at, document);
  if (code == VS_EXIT_OK) *inventory = vs_json_root(document);
  vs_client_close(&client);
  return code;
}
