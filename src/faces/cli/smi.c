/* vramscope smi: the command line of faces/smi, its loop and its failures. Failures are reported as by nvidia-smi, with its
 * sentences on standard output and the driver's number as exit status; with --json, by one line on standard error. */
#include "faces/smi/smi.h"
#include "base/check.h"
#include "faces/cli/cli.h"
#include "faces/smi/table.h"
#include "os/clock.h"
#include "os/process.h"

/* VS_DEVICE of a function below: `failure` says what went wrong. */
typedef struct vs_smi_command {
  vs_cli *cli;
  vs_smi smi;
  bool is_json;
  vs_smi_failure failure;
} vs_smi_command;

/* ---- the command line */

static vs_smi_query query_of(const vs_cli *cli) {
  if (vs_cli_has(cli, VS_OPTION_QUERY_GPU)) return VS_SMI_QUERY_GPU;
  if (vs_cli_has(cli, VS_OPTION_QUERY_COMPUTE_APPS)) return VS_SMI_QUERY_APPS;
  if (vs_cli_has(cli, VS_OPTION_QUERY_ACCOUNTED_APPS)) return VS_SMI_QUERY_ACCOUNTED;
  return VS_SMI_QUERY_COUNT;
}

static bool has_help(const vs_cli *cli, vs_smi_query *query) {
  static const vs_option_id options[VS_SMI_QUERY_COUNT] = {
      [VS_SMI_QUERY_GPU] = VS_OPTION_HELP_QUERY_GPU,
      [VS_SMI_QUERY_APPS] = VS_OPTION_HELP_QUERY_COMPUTE_APPS,
      [VS_SMI_QUERY_ACCOUNTED] = VS_OPTION_HELP_QUERY_ACCOUNTED_APPS,
  };
  for (unsigned i = 0; i < VS_SMI_QUERY_COUNT; i++) {
    *query = (vs_smi_query)i;
    if (vs_cli_has(cli, options[i])) return true;
  }
  return false;
}

/* "csv,noheader,nounits" in any order; false where it is anything else. */
static bool read_format(vs_smi *smi, const char *format) {
  bool is_csv = false;
  for (const char *at = format;; at++) {
    size_t size = 0;
    while (at[size] != 0 && at[size] != ',') size++;
    const vs_str word = {at, size};
    if (vs_str_equal(word, VS_STR("csv"))) is_csv = true;
    else if (vs_str_equal(word, VS_STR("noheader"))) smi->has_header = false;
    else if (vs_str_equal(word, VS_STR("nounits"))) smi->has_units = false;
    else return false;
    at += size;
    if (*at == 0) return is_csv;
  }
}

static vs_status refuse(vs_smi_command *c, const char *sentence) {
  vs_smi_fail_usage(&c->failure, sentence);
  return VS_DEVICE;
}

static vs_status read_query(vs_smi_command *c) {
  static const vs_option_id options[] = {VS_OPTION_QUERY_GPU, VS_OPTION_QUERY_COMPUTE_APPS,
                                         VS_OPTION_QUERY_ACCOUNTED_APPS};
  const vs_line *line = c->cli->line;
  const char *format = line->values[VS_OPTION_FORMAT];
  const vs_option_set queries =
      line->given & (VS_OPTION_BIT(VS_OPTION_QUERY_GPU) | VS_OPTION_BIT(VS_OPTION_QUERY_COMPUTE_APPS) |
                     VS_OPTION_BIT(VS_OPTION_QUERY_ACCOUNTED_APPS));
  VS_ASSERT((queries != 0) == (c->smi.query != VS_SMI_QUERY_COUNT));
  if ((queries & (queries - 1)) != 0) return refuse(c, "Only one --query at a time.");
  if (format != NULL && !read_format(&c->smi, format))
    return refuse(c, "--format takes csv, and behind it noheader and nounits, with commas between them.");
  if (vs_cli_has(c->cli, VS_OPTION_LOOP) && vs_cli_has(c->cli, VS_OPTION_LOOP_MS))
    return refuse(c, "Only one of --loop and --loop-ms.");
  if (c->smi.query == VS_SMI_QUERY_COUNT) return VS_OK;
  vs_str unknown;
  const vs_status status = vs_smi_fields_parse(
      c->smi.host, c->smi.query, vs_str_from(line->values[options[c->smi.query]]), &c->smi.fields, &unknown);
  if (status != VS_BAD_ARGUMENT) return status;
  vs_smi_fail_field(&c->failure, c->smi.query, unknown);
  return VS_DEVICE;
}

/* ---- the GPUs */

/* The GPUs that --id names, or all cards. */
static vs_status choose(vs_smi_command *c) {
  vs_error error = {.status = VS_OK, .offset = VS_NO_OFFSET};
  const vs_status status = vs_smi_choose(&c->smi, c->cli->line->values[VS_OPTION_ID], &error);
  if (status == VS_NO_MEMORY) return status;
  if (status != VS_OK) vs_smi_fail_none(&c->failure, error.text);
  return status != VS_OK || vs_smi_fail_lost(&c->failure, &c->smi) ? VS_DEVICE : VS_OK;
}

static vs_status choose_again(vs_smi_command *c, vs_status opened, const vs_devices_failure *failure) {
  if (opened == VS_OK) return choose(c);
  if (opened == VS_NO_MEMORY) return opened;
  vs_smi_fail_open(&c->failure, failure);
  return VS_DEVICE;
}

/* The driver may have been reloaded since the last sample, or a GPU have come back. */
static vs_status come_back(vs_smi_command *c) {
  vs_devices_failure failure;
  if (!vs_devices_is_stale(c->smi.devices)) return VS_OK;
  return choose_again(c, vs_devices_refresh(c->smi.devices, &failure), &failure);
}

/* ---- the loop */

/* Nanoseconds between samples; 0: only one. */
static uint64_t period_of(const vs_cli *cli) {
  enum { USUAL_SECONDS = 5 };
  const char *milliseconds = cli->line->values[VS_OPTION_LOOP_MS],
             *seconds = cli->line->values[VS_OPTION_LOOP];
  uint64_t number = USUAL_SECONDS;
  if (milliseconds != NULL && vs_parse_u64(vs_str_from(milliseconds), &number) && number < UINT32_MAX)
    return (number == 0 ? 1 : number) * 1000000;
  if (!vs_cli_has(cli, VS_OPTION_LOOP)) return 0;
  if (seconds != NULL && !vs_parse_u64(vs_str_from(seconds), &number)) return 0;
  return (number == 0 || number > UINT32_MAX ? USUAL_SECONDS : number) * 1000000000;
}

static uint64_t count_of(const vs_cli *cli) {
  const char *text = cli->line->values[VS_OPTION_ROUNDS];
  uint64_t count;
  return text != NULL && vs_parse_u64(vs_str_from(text), &count) && count != 0 ? count : UINT64_MAX;
}

/* The text is made from the bytes that --json prints. */
static vs_status put_overview(vs_smi_command *c, bool is_first) {
  vs_text bytes;
  if (!c->is_json && !is_first) vs_text_byte(&c->cli->screen.text, '\n');
  vs_text_init(&bytes, c->smi.host, NULL);
  const vs_status status = vs_smi_put_overview(&c->smi, &bytes);
  if (status == VS_OK) vs_cli_put_document(c->cli, &bytes, vs_smi_table_put);
  vs_text_deinit(&bytes);
  return status;
}

static vs_status put_look(vs_smi_command *c, bool is_first) {
  vs_text *text = &c->cli->screen.text;
  if (c->smi.query == VS_SMI_QUERY_COUNT) return put_overview(c, is_first);
  return c->is_json ? vs_smi_put_reply(&c->smi, text) : vs_smi_put_csv(&c->smi, text, is_first);
}

/* Flushed after each sample, because another program may read it line by line. */
static vs_status pass_on(vs_cli *cli) {
  VS_TRY(vs_text_finish(&cli->screen.text));
  return vs_outfile_flush(&cli->out);
}

/* Samples are taken at fixed moments, so that the duration of one does not shift the next. Moments that passed during a
 * sample are skipped. */
static vs_status loop(vs_smi_command *c) {
  const uint64_t period = period_of(c->cli), most = period == 0 ? 1 : count_of(c->cli);
  uint64_t next = vs_clock_ns();
  for (uint64_t look = 0; look < most; look++) {
    if (look != 0) {
      const uint64_t now = vs_clock_ns();
      VS_ASSERT(period != 0);
      next += period * (1 + (now > next ? (now - next - 1) / period : 0));
      VS_ASSERT(next >= now); /* a moment in the past would shift all later ones */
      vs_clock_sleep_until_ns(next);
      VS_TRY(come_back(c));
    }
    vs_status status = put_look(c, look == 0);
    if (status == VS_OK) status = pass_on(c->cli);
    if (status == VS_CANCELLED || c->cli->out.error.status != VS_OK)
      return VS_OK; /* finish_output (main.c) prints the failure */
    VS_TRY(status);
  }
  return VS_OK;
}

/* ---- the command */

/* From here on output goes to the file of --filename. Earlier failures went to standard output. */
static vs_status turn_to_file(vs_cli *cli) {
  const char *name = cli->line->values[VS_OPTION_FILENAME], *colour = cli->line->values[VS_OPTION_COLOR];
  vs_error error = {.status = VS_OK, .offset = VS_NO_OFFSET};
  if (name == NULL) return VS_OK;
  if (vs_outfile_log(&cli->out, name, &error) != VS_OK) {
    vs_outfile_stdout(&cli->out);
    error.status = VS_IO;
    (void)vs_print_error(vs_str_from(name), &error);
    return VS_IO;
  }
  cli->screen.has_colour = colour != NULL && vs_str_equal(vs_str_from(colour), VS_STR("always"));
  return VS_OK;
}

static vs_status look(vs_smi_command *c) {
  const vs_devices_options options = {.host = c->smi.host, .may_ask_cuda = true};
  vs_devices_failure failure;
  VS_TRY(read_query(c));
  vs_status status = choose_again(c, vs_devices_open(&options, &c->smi.devices, &failure), &failure);
  if (status == VS_OK) status = turn_to_file(c->cli);
  if (status == VS_OK) status = loop(c);
  vs_devices_close(c->smi.devices);
  return status;
}

static void say(const char *sentence) {
  vs_error error = {.status = VS_DEVICE, .offset = VS_NO_OFFSET};
  vs_format(error.text, sizeof error.text, "%s", sentence);
  (void)vs_print_error(VS_STR(""), &error);
}

/* Prints our sentence below the vendor's where scripts do not expect only that, or on standard error of a terminal. */
static void say_failure(vs_smi_command *c) {
  const vs_smi_failure *failure = &c->failure;
  vs_text *text = &c->cli->screen.text;
  const bool is_query = c->smi.query != VS_SMI_QUERY_COUNT;
  c->cli->program_exit = failure->status;
  if (c->is_json) {
    say(failure->ours[0] == 0 ? failure->words : failure->ours);
    return;
  }
  vs_text_format(text, "%s\n", failure->words);
  if (is_query && failure->is_hint && vs_stream_is_terminal(VS_STDERR)) say(failure->ours);
  if (is_query || failure->ours[0] == 0) return;
  vs_screen_safe(text, vs_str_from(failure->ours));
  vs_text_byte(text, '\n');
}

vs_exit vs_cli_smi(vs_cli *cli) {
  vs_smi_command c = {
      .cli = cli,
      .smi = {.host = cli->host, .query = query_of(cli), .has_header = true, .has_units = true},
      .is_json = vs_cli_has(cli, VS_OPTION_JSON)};
  vs_smi_query query;
  if (has_help(cli, &query)) {
    vs_smi_fields_help(&cli->screen.text, query);
    return VS_EXIT_OK;
  }
  const vs_status status = look(&c);
  if (status == VS_DEVICE) say_failure(&c);
  vs_smi_deinit(&c.smi);
  return status == VS_OK || status == VS_DEVICE ? VS_EXIT_OK : vs_exit_for(status);
}
