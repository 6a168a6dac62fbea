/* vramscope where: the ledger of a GPU's memory, of a dry run, of a snapshot or a recording, or of this machine now. */
#include "faces/cli/where.h"
#include "faces/cli/textfile.h"
#include "faces/cli/words.h"

enum { MOST_REPLY = 1 << 30 };

typedef struct job {
  vs_cli *cli;
  vs_ledger ledger;
  const char *of; /* "dryrun", "file", "process" or "machine" */
} job;

static vs_exit refuse(const char *subject, const char *sentence) {
  vs_error error;
  vs_fail(&error, VS_BAD_ARGUMENT, VS_NO_OFFSET, "%s", sentence);
  return vs_print_error(vs_str_from(subject), &error);
}

/* ---- a dry run ------------------------------------------------------------------------------------------ */

static vs_exit add_reply(job *j, const char *path) {
  vs_json_doc document;
  vs_error error;
  uint64_t device = VS_LEDGER_ALL;
  j->of = "dryrun";
  if (vs_cli_has(j->cli, VS_OPTION_DEVICE) &&
      !vs_parse_u64(vs_str_from(j->cli->line->values[VS_OPTION_DEVICE]), &device))
    return refuse("", "--device takes the number of a GPU");
  if (vs_cli_has(j->cli, VS_OPTION_AT))
    return refuse(path,
                  "a dry run's JSON is about the peak of each GPU: --at is for snapshots and recordings");
  if (vs_textfile_json(j->cli->host, path, MOST_REPLY, &document, &error) != VS_OK)
    return vs_print_error(vs_str_from(path), &error);
  const vs_json reply = vs_json_root(&document);
  vs_exit code = VS_EXIT_OK;
  if (!vs_str_equal(vs_reply_str(reply, "method"), VS_STR("dryrun")))
    code = refuse(path, "this JSON is not that of one dry run (vramscope dryrun --json)");
  else if (vs_ledger_add_dryrun(&j->ledger, reply, device, &error) != VS_OK)
    code = vs_print_error(vs_str_from(path), &error);
  vs_json_doc_deinit(&document);
  return code;
}

/* ---- a snapshot or a recording --------------------------------------------------------------------------- */

static void put_moment(const vs_cli *cli, vs_text *text, vs_json reply) {
  vs_words_moment(cli, text, "peak", vs_json_i64(vs_reply_at(vs_reply_at(reply, "at"), "event"), -1));
}

/* device < 0: that of the options. */
static vs_exit add_device(job *j, vs_client *client, int64_t device) {
  vs_json_doc reply;
  vs_text moment;
  vs_error error;
  vs_client_begin(client, "reserved");
  vs_cli_pass_options(j->cli, client, VS_OPTION_BIT(VS_OPTION_DEVICE) | VS_OPTION_BIT(VS_OPTION_AT));
  if (!vs_cli_has(j->cli, VS_OPTION_AT)) vs_client_param(client, "at", "peak");
  if (device >= 0) vs_client_param_i64(client, "device", device);
  vs_exit code = vs_client_ask(client, &reply);
  if (code != VS_EXIT_OK) return code;
  vs_text_init(&moment, j->cli->host, NULL);
  put_moment(j->cli, &moment, vs_json_root(&reply));
  if (vs_ledger_check_division(vs_json_root(&reply), &error) != VS_OK)
    code = vs_print_error(vs_str_from(client->name), &error);
  else code = vs_exit_for(vs_ledger_add_recorded(&j->ledger, vs_json_root(&reply), vs_text_view(&moment)));
  vs_text_deinit(&moment);
  vs_json_doc_deinit(&reply);
  return code;
}

/* ---- GPUs of which PyTorch's allocator has no memory: what libraries took of them */

/* PyTorch's events are not there to name moments by. */
static vs_exit choose_moment(const job *j, const char *name, vs_library_moment *moment) {
  const vs_str at = vs_str_from(vs_words_at(j->cli, "peak"));
  *moment = vs_str_equal(at, VS_STR("end")) ? VS_LIBRARIES_AT_END : VS_LIBRARIES_AT_PEAK;
  if (*moment == VS_LIBRARIES_AT_END || vs_str_equal(at, VS_STR("peak"))) return VS_EXIT_OK;
  return refuse(name, "without events of PyTorch's allocator --at takes peak (of all libraries) or end");
}

static vs_exit add_libraries(job *j, const vs_client *client, vs_json device) {
  vs_library_moment moment;
  const vs_exit code = choose_moment(j, client->name, &moment);
  if (code != VS_EXIT_OK) return code;
  const vs_str words =
      moment == VS_LIBRARIES_AT_END ? VS_STR("at the end") : VS_STR("at the peak of the libraries");
  return vs_exit_for(vs_ledger_add_recorded_libraries(&j->ledger, device, moment, words));
}

/* ---- all GPUs of a file */

typedef struct file {
  vs_json info, libraries; /* "devices" of the replies of these methods */
} file;

static bool is_wanted(const job *j, int64_t device) {
  const char *word = j->cli->line->values[VS_OPTION_DEVICE];
  uint64_t number;
  return word == NULL || !vs_parse_u64(vs_str_from(word), &number) || (int64_t)number == device;
}

/* Those without PyTorch's memory behind the others. */
static vs_exit add_all_libraries(job *j, const vs_client *client, const file *f, size_t *count) {
  vs_exit code = VS_EXIT_OK;
  for (size_t i = 0; code == VS_EXIT_OK && i < vs_json_count(f->libraries); i++) {
    const vs_json device = vs_json_at(f->libraries, i);
    if (vs_reply_bool(device, "has_pytorch") || !is_wanted(j, vs_reply_i64(device, "device"))) continue;
    code = add_libraries(j, client, device);
    ++*count;
  }
  return code;
}

static bool has_device(vs_json devices, const job *j) {
  for (size_t i = 0; i < vs_json_count(devices); i++)
    if (is_wanted(j, vs_reply_i64(vs_json_at(devices, i), "device"))) return true;
  return false;
}

/* All GPUs, each at its own peak; with --at or --device one of them. */
static vs_exit add_file_devices(job *j, vs_client *client, const file *f) {
  const bool has_at = vs_cli_has(j->cli, VS_OPTION_AT),
             has_device_option = vs_cli_has(j->cli, VS_OPTION_DEVICE);
  size_t count = 0;
  vs_exit code = VS_EXIT_OK;
  if (has_device(f->info, j) && (has_at || has_device_option)) return add_device(j, client, -1);
  for (size_t i = 0; !has_device_option && code == VS_EXIT_OK && i < vs_json_count(f->info); i++)
    code = add_device(j, client, vs_reply_i64(vs_json_at(f->info, i), "device"));
  if (code == VS_EXIT_OK) code = add_all_libraries(j, client, f, &count);
  if (code != VS_EXIT_OK || count != 0) return code;
  if (vs_json_count(f->info) == 0 && vs_json_count(f->libraries) == 0)
    return refuse(client->name, "the file has no memory of a GPU");
  return has_device_option ? add_device(j, client, -1) : VS_EXIT_OK; /* which says that it is not there */
}

static vs_exit add_devices(job *j, vs_client *client) {
  vs_json_doc info, libraries;
  vs_client_begin(client, "info");
  vs_client_param_u64(client, "top", 1);
  vs_exit code = vs_client_ask(client, &info);
  if (code != VS_EXIT_OK) return code;
  vs_client_begin(client, "libraries");
  code = vs_client_ask(client, &libraries);
  if (code == VS_EXIT_OK) {
    const file f = {.info = vs_reply_at(vs_json_root(&info), "devices"),
                    .libraries = vs_reply_at(vs_json_root(&libraries), "devices")};
    code = add_file_devices(j, client, &f);
    vs_json_doc_deinit(&libraries);
  }
  vs_json_doc_deinit(&info);
  return code;
}

static vs_exit add_file(job *j) {
  vs_client client;
  j->of = "file";
  vs_exit code = vs_cli_load(j->cli, &client);
  if (code != VS_EXIT_OK) return code;
  code = add_devices(j, &client);
  vs_client_close(&client);
  return code;
}

/* ---- the command ----------------------------------------------------------------------------------------- */

static vs_exit add_live(job *j, uint64_t pid) {
  j->of = pid == 0 ? "machine" : "process";
  if (vs_cli_has(j->cli, VS_OPTION_AT))
    return refuse("", "a process is shown as it is now: --at is for snapshots and recordings");
  return vs_where_add_live(j->cli, pid, &j->ledger);
}

/* A number is that of a process. */
static vs_exit add_rows(job *j) {
  const char *word = j->cli->line->arguments[0], *device = j->cli->line->values[VS_OPTION_DEVICE];
  uint64_t pid = 0;
  if (device != NULL && vs_str_equal(vs_str_from(device), VS_STR("host")))
    return refuse("", "pinned host memory is not a GPU's: see vramscope blocks --device host");
  if (word == NULL) return add_live(j, 0);
  if (vs_parse_u64(vs_str_from(word), &pid))
    return pid == 0 || pid > INT32_MAX ? refuse(word, "not the number of a process") : add_live(j, pid);
  return vs_textfile_is_reply(word) ? add_reply(j, word) : add_file(j);
}

static void put_document(vs_text *text, const job *j) {
  vs_jsonw w;
  const char *word = j->cli->line->arguments[0];
  vs_jsonw_begin(&w, text, 0);
  vs_jsonw_object_begin(&w);
  vs_jsonw_member_u64(&w, "schema", 1);
  vs_jsonw_member_str(&w, "method", VS_STR("where"));
  vs_jsonw_member_str(&w, "of", vs_str_from(j->of));
  if (word == NULL) vs_jsonw_member_null(&w, "name");
  else vs_jsonw_member_str(&w, "name", vs_client_shown_name(vs_str_from(word)));
  vs_ledger_put(&w, &j->ledger);
  vs_jsonw_object_end(&w);
  vs_jsonw_end(&w);
}

static vs_exit show(job *j) {
  vs_cli *cli = j->cli;
  vs_text bytes;
  vs_json_doc document;
  vs_error error;
  vs_text_init(&bytes, cli->host, NULL);
  put_document(&bytes, j);
  vs_status status = bytes.status;
  if (status == VS_OK && vs_cli_has(cli, VS_OPTION_JSON)) {
    vs_text_str(&cli->screen.text, vs_text_view(&bytes));
    vs_text_byte(&cli->screen.text, '\n');
  } else if (status == VS_OK) {
    status = vs_json_doc_init(&document, cli->host, vs_text_view(&bytes), &error);
    if (status == VS_OK) {
      vs_where_put(cli, vs_json_root(&document));
      vs_json_doc_deinit(&document);
    }
  }
  vs_text_deinit(&bytes);
  return vs_exit_for(status);
}

vs_exit vs_cli_where(vs_cli *cli) {
  vs_error error;
  job j = {.cli = cli};
  vs_ledger_init(&j.ledger, cli->host);
  vs_exit code = add_rows(&j);
  const bool is_one_moment = j.of != NULL && (j.of[0] == 'd' || j.of[0] == 'f');
  if (code == VS_EXIT_OK && vs_ledger_complete(&j.ledger, is_one_moment, &error) != VS_OK)
    code = vs_print_error(
        vs_client_shown_name(vs_str_from(cli->line->arguments[0] == NULL ? "" : cli->line->arguments[0])),
        &error);
  if (code == VS_EXIT_OK) code = show(&j);
  vs_ledger_deinit(&j.ledger);
  return code;
}
