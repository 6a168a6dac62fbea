/* vramscope view: a page in the browser, and the local server that answers it; or one page that contains
 * everything (view_html.c). */
#include "faces/cli/view.h"
#include "base/check.h"
#include "faces/cli/words.h"
#include "faces/server/server.h"
#include "os/process.h"
#include <string.h>

typedef struct viewing {
  vs_cli *cli;
  size_t count;
  vs_page_file files[VS_MAX_ARGUMENTS];
  bool is_said[VS_MAX_ARGUMENTS]; /* the failure to load it was printed */
  vs_text page, policy;
  vs_server *server;
  vs_progress progress;
} viewing;

/* ---- loading, for the server */

typedef struct reading {
  vs_server *server;
  size_t file;
} reading;

static bool tell(void *ctx, uint64_t bytes_read, uint64_t bytes) {
  const reading *now = ctx;
  return vs_server_reading(now->server, now->file, bytes_read, bytes);
}

/* Called on a thread of the server; the main thread shows the progress of all files. */
static vs_status load(void *ctx, vs_server *server, size_t file, vs_engine **engine, vs_error *error) {
  const viewing *view = ctx;
  VS_ASSERT(file < view->count);
  const char *path = view->cli->line->arguments[file];
  reading now = {.server = server, .file = file};
  const vs_intake intake = {.name = vs_str_from(path), .input = {.watch = {.ctx = &now, .reading = tell}}};
  return vs_intake_open(view->cli->host, &intake, path, engine, error);
}

/* ---- what is printed */

/* The last two words of SSH_CONNECTION are this machine's address and port, as the user's machine knows them. */
static void put_tunnel(viewing *view, const char *connection) {
  vs_text *text = &view->cli->screen.text;
  const char *words[4] = {"", "", "", ""}, *user = vs_process_variable("USER");
  size_t sizes[4] = {0};
  for (size_t i = 0; i < 4; i++) {
    words[i] = connection;
    sizes[i] = strcspn(connection, " ");
    connection += sizes[i] + strspn(connection + sizes[i], " ");
  }
  const vs_str machine = {words[2], sizes[2]}, port = {words[3], sizes[3]};
  const unsigned own = vs_server_port(view->server);
  vs_text_format(text,
                 "You are here over SSH. On the machine in front of you type\n\n  ssh -N -L %u:127.0.0.1:%u ",
                 own, own);
  if (port.size != 0 && !vs_str_equal(port, VS_STR("22"))) {
    vs_text_cstr(text, "-p ");
    vs_screen_safe(text, port);
    vs_text_byte(text, ' ');
  }
  if (user != NULL && *user != 0) {
    vs_screen_safe(text, vs_str_from(user));
    vs_text_byte(text, '@');
  }
  if (machine.size != 0) vs_screen_safe(text, machine);
  else vs_text_cstr(text, "THIS-MACHINE");
  vs_text_cstr(text, "\n\nand open the address there.\n\n");
}

static void put_names(viewing *view) {
  vs_text *text = &view->cli->screen.text;
  if (view->count == 1) vs_screen_safe(text, vs_str_from(view->files[0].name));
  else vs_words_count(text, view->count, "file");
}

/* Flushed at once, because the user waits for the address. */
static vs_exit print_address(viewing *view) {
  vs_cli *cli = view->cli;
  vs_text *text = &cli->screen.text;
  const char *address = vs_server_address(view->server), *ssh = vs_process_variable("SSH_CONNECTION");
  if (vs_cli_has(cli, VS_OPTION_QUIET)) {
    vs_text_format(text, "%s\n", address);
  } else {
    vs_text_cstr(text, "Open this address in a browser to look at ");
    put_names(view);
    vs_text_format(text, ":\n\n  %s\n\n", address);
    if (ssh != NULL && *ssh != 0) put_tunnel(view, ssh);
    vs_text_cstr(text, "Ctrl-C ends it.\n");
  }
  vs_status status = vs_text_finish(text);
  if (status == VS_OK) status = vs_outfile_flush(&cli->out);
  return status == VS_OK || status == VS_CANCELLED
             ? VS_EXIT_OK
             : vs_exit_for(status); /* finish_output (main.c) prints it */
}

static void open_browser(const viewing *view) {
  vs_error error;
  if (!vs_cli_has(view->cli, VS_OPTION_OPEN)) return;
  if (vs_process_launch("xdg-open", vs_server_address(view->server), &error) != VS_OK)
    (void)vs_print_error(VS_STR("--open"), &error);
}

static void say_end(const viewing *view) {
  if (vs_cli_has(view->cli, VS_OPTION_QUIET)) return;
  const vs_str line = vs_stream_is_terminal(VS_STDERR) ? VS_STR("\nEnded.\n")
                                                       : VS_STR("Ended.\n"); /* the terminal shows ^C */
  vs_stderr_put(line.data, line.size);
}

/* ---- until a signal ends it */

/* Prints new failures and the progress of the other files. Returns true if no file is being read any more. */
static bool follow(viewing *view) {
  uint64_t done = 0, total = 0;
  bool is_over = true;
  for (size_t i = 0; i < view->count; i++) {
    vs_served_view file;
    vs_server_look(view->server, i, &file);
    done += file.bytes_read;
    total = file.bytes == VS_BYTES_UNKNOWN || total == VS_NO_SIZE ? VS_NO_SIZE : total + file.bytes;
    is_over &= file.state != VS_SERVED_READING;
    if (file.state != VS_SERVED_FAILED || view->is_said[i]) continue;
    view->is_said[i] = true;
    vs_progress_end(&view->progress);
    (void)vs_print_error(vs_client_shown_name(vs_str_from(view->cli->line->arguments[i])), &file.error);
  }
  if (is_over) vs_progress_end(&view->progress);
  else vs_progress_bytes(&view->progress, done, total);
  return is_over;
}

static void wait_for_end(viewing *view) {
  enum { LOOK_US = 50 * 1000 };
  const uint64_t long_us = UINT64_C(3600) * 1000 * 1000;
  char files[32];
  vs_format(files, sizeof files, "%U files", (uint64_t)view->count);
  vs_progress_begin(&view->progress, !vs_cli_has(view->cli, VS_OPTION_QUIET),
                    view->count == 1 ? vs_str_from(view->files[0].name) : vs_str_from(files));
  bool is_over = follow(view);
  while (!vs_process_wait_end(is_over ? long_us : LOOK_US)) is_over = follow(view);
  (void)follow(view); /* prints failures since the last call */
  vs_progress_end(&view->progress);
}

/* ---- the whole */

static vs_status make_page(viewing *view) {
  vs_page page;
  vs_page_open(&page);
  vs_text_init(&view->page, view->cli->host, NULL);
  vs_text_init(&view->policy, view->cli->host, NULL);
  vs_page_put_served(&view->page, page.before);
  vs_page_put_boot(&view->page, VS_PAGE_SERVER, view->files, view->count);
  vs_text_str(&view->page, page.between);
  vs_text_str(&view->page, page.after);
  vs_page_put_served(&view->policy, page.policy);
  vs_text_cstr(&view->policy, "; frame-ancestors 'none'");
  vs_text_byte(&view->policy, 0);
  return view->page.status != VS_OK ? view->page.status : view->policy.status;
}

/* What the page asks of a file before it has a picture (viewer/page/files.js, viewer/timeline/lane.js), with the settings that it
 * begins with. A reply of one pixel needs the tables of any other. */
static const char *const first_requests[] = {
    "{\"method\":\"info\"}",
    "{\"method\":\"marks\"}",
    "{\"method\":\"picture\",\"params\":{\"by\":\"line\",\"columns\":1,\"rows\":1}}",
};

static vs_status start(viewing *view, uint16_t port, vs_error *error) {
  VS_ASSERT(view->count != 0 && view->count <= VS_MAX_ARGUMENTS && view->server == NULL);
  const vs_status status = make_page(view);
  if (status != VS_OK) return vs_fail(error, status, VS_NO_OFFSET, "%s", vs_status_text(status));
  const vs_server_plan plan = {.host = view->cli->host,
                               .port = port,
                               .has_token = !vs_cli_has(view->cli, VS_OPTION_NO_TOKEN),
                               .page = vs_text_view(&view->page),
                               .policy = view->policy.bytes.data,
                               .file_count = view->count,
                               .ctx = view,
                               .load = load,
                               .prepared = first_requests,
                               .prepared_count = sizeof first_requests / sizeof first_requests[0]};
  return vs_server_start(&plan, &view->server, error);
}

static vs_exit serve(viewing *view, uint16_t port) {
  vs_error error = {.status = VS_OK, .offset = VS_NO_OFFSET};
  vs_process_hold_end();
  if (start(view, port, &error) != VS_OK) return vs_print_error(VS_STR(""), &error);
  const vs_exit code = print_address(view);
  if (code == VS_EXIT_OK) {
    open_browser(view);
    wait_for_end(view);
    say_end(view);
  }
  /* Threads of the server that still run use the page until the process exits. */
  if (!vs_server_stop(view->server)) return code;
  vs_text_deinit(&view->page);
  vs_text_deinit(&view->policy);
  return code;
}

/* Stores the port of --port, or 0 (any free port) without the option. Returns false if it is not a port. */
static bool port_of(const vs_cli *cli, uint16_t *port) {
  const char *value = cli->line->values[VS_OPTION_PORT];
  uint64_t number = 0;
  if (value != NULL && (!vs_parse_u64(vs_str_from(value), &number) || number == 0 || number > UINT16_MAX))
    return false;
  *port = (uint16_t)number;
  return true;
}

vs_exit vs_cli_view(vs_cli *cli) {
  static viewing view; /* outlives this function if the server does */
  uint16_t port;
  if (vs_cli_has(cli, VS_OPTION_HTML)) return vs_view_write_page(cli);
  if (cli->line->argument_count == 0) return vs_view_refuse("view needs a file: vramscope view FILE");
  if (!port_of(cli, &port)) return vs_view_refuse("--port takes 1 to 65535");
  view = (viewing){.cli = cli, .count = cli->line->argument_count};
  const vs_exit code = vs_view_files(cli, view.files);
  return code == VS_EXIT_OK ? serve(&view, port) : code;
}
