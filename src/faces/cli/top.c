/* vramscope top: the GPUs, how full they are and were, and the processes that use their memory; as a screen, text, or
 * JSON. */
#include "faces/tui/top.h"
#include "faces/cli/cli.h"
#include "faces/cli/top_recordings.h"
#include "os/process.h"

static vs_exit refuse(const char *sentence) {
  vs_error error;
  vs_fail(&error, VS_BAD_ARGUMENT, VS_NO_OFFSET, "%s", sentence);
  return vs_print_error(VS_STR(""), &error);
}

/* "0.5", "2s", "250ms". */
static bool read_interval(const char *value, uint64_t *interval_us) {
  const vs_str text = vs_str_from(value);
  uint64_t ms;
  if (text.size > 2 && memcmp(text.data + text.size - 2, "ms", 2) == 0) {
    if (!vs_parse_u64((vs_str){text.data, text.size - 2}, &ms)) return false;
    *interval_us = ms > VS_TOP_MOST_INTERVAL_MS ? UINT64_MAX : ms * 1000;
    return ms >= VS_TOP_LEAST_INTERVAL_MS && ms <= VS_TOP_MOST_INTERVAL_MS;
  }
  const bool has_unit = text.size > 1 && text.data[text.size - 1] == 's';
  return vs_top_parse_interval((vs_str){text.data, text.size - has_unit}, interval_us);
}

/* Text if standard input or standard output is not a terminal. */
static vs_top_shape shape_of(const vs_cli *cli) {
  if (vs_cli_has(cli, VS_OPTION_NDJSON)) return VS_TOP_NDJSON;
  if (vs_cli_has(cli, VS_OPTION_JSON)) return VS_TOP_JSON;
  if (vs_cli_has(cli, VS_OPTION_ONCE)) return VS_TOP_ONCE;
  return vs_stream_is_terminal(VS_STDIN) && vs_stream_is_terminal(VS_STDOUT) ? VS_TOP_SCREEN : VS_TOP_ONCE;
}

/* The Linux console decodes UTF-8, but its fonts lack most of the characters. */
static bool has_unicode(const vs_cli *cli) {
  const char *terminal = vs_process_variable("TERM");
  if (vs_cli_has(cli, VS_OPTION_ASCII) || !cli->screen.has_unicode) return false;
  return terminal == NULL || !vs_str_equal(vs_str_from(terminal), VS_STR("linux"));
}

/* Output to a file is wider than the usual 80 columns, so that command lines fit. */
static uint32_t columns_of(const vs_cli *cli) {
  enum { LOG = 120 };
  const bool is_known = vs_stream_is_terminal(VS_STDOUT) || vs_process_variable("COLUMNS") != NULL;
  return is_known ? cli->screen.columns : LOG;
}

static vs_status flush(void *ctx) {
  vs_cli *cli = ctx;
  VS_TRY(vs_text_finish(&cli->screen.text));
  return vs_outfile_flush(&cli->out);
}

static void say_waiting(void *ctx) {
  (void)ctx;
  const vs_str line = VS_STR("vramscope: the driver has not answered yet; Ctrl-C ends\n");
  vs_stderr_put(line.data, line.size);
}

static void say_no_screen(void *ctx, const vs_error *error) {
  (void)ctx;
  vs_error said = *error;
  vs_fail(&said, error->status, VS_NO_OFFSET, "%s; this is one look as text", error->text);
  (void)vs_print_error(VS_STR(""), &said);
}

vs_exit vs_cli_top(vs_cli *cli) {
  const char *const *values = cli->line->values;
  vs_top_plan plan = {.host = cli->host,
                      .shape = shape_of(cli),
                      .selection = values[VS_OPTION_ID],
                      .wanted = {.users = values[VS_OPTION_USER], .pids = values[VS_OPTION_PID]},
                      .interval_us = 1000000,
                      .has_unicode = has_unicode(cli),
                      .has_colour = cli->screen.has_colour,
                      .columns = columns_of(cli),
                      .ctx = cli,
                      .text = &cli->screen.text,
                      .flush = flush,
                      .waiting = say_waiting,
                      .no_screen = say_no_screen};
  if (values[VS_OPTION_INTERVAL] != NULL && !read_interval(values[VS_OPTION_INTERVAL], &plan.interval_us))
    return refuse("--interval takes seconds from 0.1 to 3600, such as 0.5 or 250ms");
  const char *rounds = values[VS_OPTION_ROUNDS];
  if (rounds != NULL && (!vs_parse_u64(vs_str_from(rounds), &plan.rounds) || plan.rounds == 0))
    return refuse("--count takes a number from 1 on");
  const bool is_repeated = plan.shape == VS_TOP_SCREEN || plan.shape == VS_TOP_NDJSON;
  plan.recordings = vs_top_recordings_begin(cli->host, is_repeated, false);
  vs_error error = {.status = VS_OK, .offset = VS_NO_OFFSET};
  vs_process_hold_end();
  const vs_status status = vs_top_run(&plan, &error);
  if (status == VS_CANCELLED || cli->out.error.status != VS_OK)
    return VS_EXIT_OK;         /* finish_output (main.c) prints the failure */
  error.offset = VS_NO_OFFSET; /* of a selection: the sentence quotes it */
  return status == VS_OK ? VS_EXIT_OK : vs_print_error(VS_STR(""), &error);
}
