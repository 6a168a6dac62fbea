/* vramscope exporter: the metrics of this machine over HTTP, in a file for node_exporter, or once on standard output. */
#include "faces/cli/cli.h"
#include "faces/cli/textfile.h"
#include "faces/cli/top_recordings.h"
#include "faces/exporter/endpoint.h"
#include "os/process.h"

enum { MOST_TOKEN = 4096, MOST_PEM = 1 << 20, SECOND_US = 1000 * 1000, MOST_SECONDS = 24 * 3600 };

typedef struct exporting {
  vs_cli *cli;
  vs_exporter *exporter;
  vs_endpoint_plan plan;
  vs_text token, certificate, key;
  uint64_t every_us;
} exporting;

static vs_exit refuse(const char *subject, const char *sentence) {
  vs_error error;
  vs_fail(&error, VS_BAD_ARGUMENT, VS_NO_OFFSET, "%s", sentence);
  return vs_print_error(vs_str_from(subject), &error);
}

/* ---- what was asked for */

static bool read_number(const vs_cli *cli, vs_option_id id, uint64_t most, uint64_t *number) {
  const char *value = cli->line->values[id];
  return value == NULL || (vs_parse_u64(vs_str_from(value), number) && *number <= most);
}

/* The text of the file, with a NUL behind it. */
static vs_exit read_file(const exporting *x, vs_option_id id, size_t most, vs_text *text) {
  const char *path = x->cli->line->values[id];
  vs_error error = {.status = VS_OK, .offset = VS_NO_OFFSET};
  if (path == NULL) return VS_EXIT_OK;
  if (vs_textfile_read(path, most, text, &error) != VS_OK) {
    (void)vs_print_error(vs_str_from(path), &error);
    return VS_EXIT_FILE;
  }
  vs_text_byte(text, 0);
  return text->status == VS_OK ? VS_EXIT_OK : vs_exit_for(text->status);
}

/* The first line, without blanks at its ends. */
static vs_exit read_token(exporting *x) {
  const vs_exit code = read_file(x, VS_OPTION_TOKEN_FILE, MOST_TOKEN, &x->token);
  const char *path = x->cli->line->values[VS_OPTION_TOKEN_FILE];
  if (code != VS_EXIT_OK || path == NULL) return code;
  const char *begin = x->token.bytes.data + strspn(x->token.bytes.data, " \t");
  size_t size = strcspn(begin, "\r\n");
  while (size != 0 && (begin[size - 1] == ' ' || begin[size - 1] == '\t')) size--;
  x->plan.token = (vs_str){begin, size};
  return size != 0 ? VS_EXIT_OK : refuse(path, "its first line is empty: a token is expected there");
}

static vs_exit read_certificate(exporting *x) {
  const bool has_cert = vs_cli_has(x->cli, VS_OPTION_TLS_CERT),
             has_key = vs_cli_has(x->cli, VS_OPTION_TLS_KEY);
  if (has_cert != has_key) return refuse("", "--tls-cert and --tls-key belong together");
  vs_exit code = read_file(x, VS_OPTION_TLS_CERT, MOST_PEM, &x->certificate);
  if (code == VS_EXIT_OK) code = read_file(x, VS_OPTION_TLS_KEY, MOST_PEM, &x->key);
  x->plan.certificate = has_cert ? x->certificate.bytes.data : NULL;
  x->plan.key = has_key ? x->key.bytes.data : NULL;
  return code;
}

static vs_exit read_listening(exporting *x) {
  const char *value = x->cli->line->values[VS_OPTION_LISTEN];
  vs_error error;
  if (vs_listening_parse(&x->plan.where, value == NULL ? "127.0.0.1:9836" : value, &error) != VS_OK)
    return vs_print_error(VS_STR(""), &error);
  vs_exit code = read_token(x);
  if (code == VS_EXIT_OK) code = read_certificate(x);
  if (code != VS_EXIT_OK) return code;
  const bool is_safe = x->plan.where.is_loopback || (x->plan.token.size != 0 && x->plan.certificate != NULL);
  return is_safe || vs_cli_has(x->cli, VS_OPTION_INSECURE)
             ? VS_EXIT_OK
             : refuse("",
                      "--listen beyond loopback wants --token-file, --tls-cert and --tls-key, because the "
                      "metrics tell who uses the GPUs; --insecure does without");
}

static vs_exit read_options(exporting *x, vs_exporter_plan *plan) {
  const char *file = x->cli->line->values[VS_OPTION_TEXTFILE];
  uint64_t seconds = 15;
  if (!read_number(x->cli, VS_OPTION_PROCESSES, UINT32_MAX, &plan->most_processes))
    return refuse("", "--processes takes a number");
  if (!read_number(x->cli, VS_OPTION_EVERY, MOST_SECONDS, &seconds) || seconds == 0)
    return refuse("", "--every takes seconds, from 1 to 86400");
  x->every_us = seconds * SECOND_US;
  if (file != NULL && vs_cli_has(x->cli, VS_OPTION_LISTEN))
    return refuse("", "--textfile writes a file and --listen answers requests: one of the two");
  if (file == NULL && vs_cli_has(x->cli, VS_OPTION_EVERY)) return refuse("", "--every belongs to --textfile");
  if (file != NULL && !vs_str_ends(vs_str_from(file), VS_STR(".prom")))
    return refuse(file, "its name has to end with .prom: node_exporter reads no other files");
  return read_listening(x);
}

/* ---- the three ways out */

static vs_status render(const exporting *x, vs_text *text, vs_error *error) {
  vs_text_init(text, x->cli->host, NULL);
  const vs_status status = vs_exporter_read(x->exporter, VS_EXPOSITION_TEXT, text);
  if (status == VS_OK) return VS_OK;
  return vs_fail(error, status, VS_NO_OFFSET, "%s",
                 status == VS_DEVICE ? "the driver does not answer" : vs_status_text(status));
}

static vs_exit print_once(exporting *x) {
  vs_text text;
  vs_error error;
  const vs_status status = render(x, &text, &error);
  if (status == VS_OK) vs_text_str(&x->cli->screen.text, vs_text_view(&text));
  vs_text_deinit(&text);
  return status == VS_OK ? VS_EXIT_OK : vs_print_error(VS_STR(""), &error);
}

/* The file is replaced as a whole, so that node_exporter never reads half of one. */
static vs_status write_file(const exporting *x, const char *path, vs_error *error) {
  vs_text text;
  vs_outfile file;
  vs_status status = render(x, &text, error);
  if (status == VS_OK) status = vs_outfile_create(&file, path, true, error);
  if (status == VS_OK) {
    const vs_writer writer = vs_outfile_writer(&file);
    const vs_str bytes = vs_text_view(&text);
    status = writer.write(writer.ctx, bytes.data, bytes.size);
    if (status == VS_OK) status = vs_outfile_finish(&file, error);
    else vs_outfile_abandon(&file);
  }
  vs_text_deinit(&text);
  return status;
}

/* A driver that hangs leaves the file as it is; node_exporter tells its age (node_textfile_mtime_seconds). */
static vs_exit write_files(exporting *x, const char *path) {
  vs_error error = {.status = VS_OK, .offset = VS_NO_OFFSET};
  bool is_said = false;
  do {
    const vs_status status = write_file(x, path, &error);
    if (status != VS_OK && (status != VS_DEVICE || vs_cli_has(x->cli, VS_OPTION_ONCE)))
      return vs_print_error(vs_str_from(path), &error);
    if (status != VS_OK && !is_said) (void)vs_print_error(vs_str_from(path), &error);
    is_said = status != VS_OK;
  } while (!vs_cli_has(x->cli, VS_OPTION_ONCE) && !vs_process_wait_end(x->every_us));
  return VS_EXIT_OK;
}

static vs_exit serve(exporting *x) {
  vs_endpoint *endpoint;
  vs_error error = {.status = VS_OK, .offset = VS_NO_OFFSET};
  vs_cli *cli = x->cli;
  x->plan.exporter = x->exporter;
  if (vs_endpoint_start(&endpoint, &x->plan, &error) != VS_OK) return vs_print_error(VS_STR(""), &error);
  vs_text_format(&cli->screen.text, "%s%s\n", vs_cli_has(cli, VS_OPTION_QUIET) ? "" : "The metrics are at ",
                 vs_endpoint_address(endpoint));
  if (!vs_cli_has(cli, VS_OPTION_QUIET)) vs_text_cstr(&cli->screen.text, "Ctrl-C ends it.\n");
  vs_status status = vs_text_finish(&cli->screen.text);
  if (status == VS_OK) status = vs_outfile_flush(&cli->out);
  const uint64_t long_us = UINT64_C(3600) * SECOND_US;
  while (status == VS_OK && !vs_process_wait_end(long_us)) {
  }
  vs_endpoint_stop(endpoint);
  return VS_EXIT_OK; /* finish_output (main.c) prints a failure of the output */
}

/* ---- the whole */

static vs_exit run(exporting *x, const vs_exporter_plan *plan) {
  const char *file = x->cli->line->values[VS_OPTION_TEXTFILE];
  vs_error error = {.status = VS_OK, .offset = VS_NO_OFFSET};
  vs_process_hold_end();
  const vs_status status = vs_exporter_start(&x->exporter, plan, &error);
  error.offset = VS_NO_OFFSET; /* of a selection: the sentence quotes it */
  if (status != VS_OK) return vs_print_error(VS_STR(""), &error);
  vs_exit code;
  if (file != NULL) code = write_files(x, file);
  else if (vs_cli_has(x->cli, VS_OPTION_ONCE)) code = print_once(x);
  else code = serve(x);
  if (!vs_exporter_stop(x->exporter)) vs_process_leave((int)code);
  return code;
}

vs_exit vs_cli_exporter(vs_cli *cli) {
  exporting x = {.cli = cli, .plan = {.host = cli->host}};
  vs_exporter_plan plan = {.host = cli->host,
                           .selection = cli->line->values[VS_OPTION_ID],
                           .most_processes = 32,
                           .has_dcgm_names = vs_cli_has(cli, VS_OPTION_DCGM_NAMES),
                           .has_xids = !vs_cli_has(cli, VS_OPTION_ONCE),
                           .recordings = vs_top_recordings_begin(cli->host, true, true)};
  vs_text_init(&x.token, cli->host, NULL);
  vs_text_init(&x.certificate, cli->host, NULL);
  vs_text_init(&x.key, cli->host, NULL);
  vs_exit code = read_options(&x, &plan);
  if (code == VS_EXIT_OK) code = run(&x, &plan);
  vs_text_deinit(&x.token);
  vs_text_deinit(&x.certificate);
  vs_text_deinit(&x.key);
  return code;
}
