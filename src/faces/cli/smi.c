/* vramscope smi: the GPUs of this machine, as nvidia-smi tells of them and as people like to see them. */
#include "faces/cli/smi.h"
#include "os/clock.h"
#include "os/process.h"

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

/* False, with *code, where there is no going on. */
static bool read_query(vs_smi *smi, vs_exit *code) {
  static const vs_option_id options[] = {VS_OPTION_QUERY_GPU, VS_OPTION_QUERY_COMPUTE_APPS,
                                         VS_OPTION_QUERY_ACCOUNTED_APPS};
  const vs_cli *cli = smi->cli;
  const char *format = cli->line->values[VS_OPTION_FORMAT];
  const uint64_t queries =
      cli->line->given & (VS_OPTION_BIT(VS_OPTION_QUERY_GPU) | VS_OPTION_BIT(VS_OPTION_QUERY_COMPUTE_APPS) |
                          VS_OPTION_BIT(VS_OPTION_QUERY_ACCOUNTED_APPS));
  *code = VS_EXIT_OK;
  if ((queries & (queries - 1)) != 0) *code = vs_smi_fail_usage(smi, "Only one --query at a time.");
  else if (format != NULL && !read_format(smi, format))
    *code = vs_smi_fail_usage(
        smi, "--format takes csv, and behind it noheader and nounits, with commas between them.");
  else if (vs_cli_has(cli, VS_OPTION_LOOP) && vs_cli_has(cli, VS_OPTION_LOOP_MS))
    *code = vs_smi_fail_usage(smi, "Only one of --loop and --loop-ms.");
  if (cli->program_exit != 0) return false;
  if (smi->query == VS_SMI_QUERY_COUNT) return true;
  vs_str unknown;
  const vs_status status = vs_smi_fields_parse(
      cli->host, smi->query, vs_str_from(cli->line->values[options[smi->query]]), &smi->fields, &unknown);
  if (status == VS_BAD_ARGUMENT) *code = vs_smi_fail_field(smi, unknown);
  else if (status != VS_OK) *code = vs_exit_for(status);
  return status == VS_OK;
}

/* ---- the GPUs */

/* Those that --id names, or all cards. Afterwards cli->program_exit is 0 if there are some that can be asked. */
static vs_exit choose(vs_smi *smi) {
  vs_error error = {.status = VS_OK, .offset = VS_NO_OFFSET};
  const vs_host *host = smi->cli->host;
  const uint32_t all = vs_devices_count(smi->devices);
  size_t count = 0;
  if (all == 0) return vs_smi_fail_none(smi, NULL);
  smi->units.count = 0;
  if (vs_vec_reserve(host, &smi->units, all) != VS_OK) return vs_exit_for(VS_NO_MEMORY);
  const vs_status status = vs_devices_select(smi->devices, smi->cli->line->values[VS_OPTION_ID],
                                             smi->units.data, all, &count, &error);
  if (status == VS_NO_MEMORY) return vs_exit_for(status);
  if (status != VS_OK || count == 0) return vs_smi_fail_none(smi, &error);
  smi->units.count = count;
  for (size_t i = 0; i < count; i++) {
    char name[VS_METRIC_TEXT_SIZE];
    const vs_metric known = vs_devices_text(smi->devices, smi->units.data[i], VS_METRIC_TEXT_ID_NAME, name);
    if (known.reason == VS_REASON_LOST) return vs_smi_fail_lost(smi, smi->units.data[i]);
  }
  return VS_EXIT_OK;
}

/* The driver may have been loaded anew since the last look, or a GPU have come back. */
static vs_exit come_back(vs_smi *smi) {
  vs_devices_failure failure;
  if (!vs_devices_is_stale(smi->devices)) return VS_EXIT_OK;
  const vs_status status = vs_devices_refresh(smi->devices, &failure);
  if (status == VS_NO_MEMORY) return vs_exit_for(status);
  return status == VS_OK ? choose(smi) : vs_smi_fail_open(smi, &failure);
}

/* ---- looking again and again */

/* Nanoseconds between looks, 0: one look only. */
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

static vs_status put_look(vs_smi *smi, bool is_first) {
  if (smi->query != VS_SMI_QUERY_COUNT) return vs_smi_put_rows(smi, is_first);
  return smi->is_json ? vs_smi_put_json_table(smi) : vs_smi_put_table(smi, is_first);
}

/* What was found goes out at once: somebody reads along. */
static vs_status pass_on(vs_smi *smi) {
  VS_TRY(vs_text_finish(&smi->cli->screen.text));
  return vs_outfile_flush(&smi->cli->out);
}

/* The looks are at fixed moments, so that how long one takes does not shift the next. Moments that have passed meanwhile
 * are left out. */
static vs_exit loop(vs_smi *smi) {
  const uint64_t period = period_of(smi->cli), most = period == 0 ? 1 : count_of(smi->cli);
  uint64_t next = vs_clock_ns();
  for (uint64_t look = 0; look < most; look++) {
    if (look != 0) {
      const uint64_t now = vs_clock_ns();
      next += period * (1 + (now > next ? (now - next - 1) / period : 0));
      vs_clock_sleep_until_ns(next);
      const vs_exit code = come_back(smi);
      if (code != VS_EXIT_OK || smi->cli->program_exit != 0) return code;
    }
    vs_status status = put_look(smi, look == 0);
    if (status == VS_OK) status = pass_on(smi);
    if (status == VS_CANCELLED || smi->cli->out.error.status != VS_OK)
      return VS_EXIT_OK; /* said where output is finished */
    if (status != VS_OK) return vs_exit_for(status);
  }
  return VS_EXIT_OK;
}

/* ---- the command */

/* From here on what is shown goes to the file of --filename. What went wrong before was said on standard output. */
static vs_exit turn_to_file(vs_cli *cli) {
  const char *name = cli->line->values[VS_OPTION_FILENAME];
  vs_error error = {.status = VS_OK, .offset = VS_NO_OFFSET};
  if (name == NULL) return VS_EXIT_OK;
  if (vs_outfile_log(&cli->out, name, &error) != VS_OK) {
    vs_outfile_stdout(&cli->out);
    error.status = VS_IO;
    return vs_say_error(vs_str_from(name), &error);
  }
  const char *colour = cli->line->values[VS_OPTION_COLOR];
  cli->screen.has_colour = colour != NULL && vs_str_equal(vs_str_from(colour), VS_STR("always"));
  return VS_EXIT_OK;
}

static vs_exit look(vs_smi *smi) {
  const vs_devices_options options = {.host = smi->cli->host, .may_ask_cuda = true};
  vs_devices_failure failure;
  const vs_status status = vs_devices_open(&options, &smi->devices, &failure);
  if (status == VS_NO_MEMORY) return vs_exit_for(status);
  if (status != VS_OK) return vs_smi_fail_open(smi, &failure);
  vs_exit code = choose(smi);
  if (code == VS_EXIT_OK && smi->cli->program_exit == 0) code = turn_to_file(smi->cli);
  if (code == VS_EXIT_OK && smi->cli->program_exit == 0) code = loop(smi);
  vs_devices_close(smi->devices);
  return code;
}

vs_exit vs_cli_smi(vs_cli *cli) {
  vs_smi smi = {.cli = cli,
                .query = query_of(cli),
                .has_header = true,
                .has_units = true,
                .is_json = vs_cli_has(cli, VS_OPTION_JSON)};
  vs_smi_query query;
  if (has_help(cli, &query)) {
    vs_smi_fields_help(&cli->screen.text, query);
    return VS_EXIT_OK;
  }
  vs_exit code;
  if (read_query(&smi, &code)) code = look(&smi);
  vs_vec_free(cli->host, &smi.fields);
  vs_vec_free(cli->host, &smi.units);
  return code;
}
